"""What ranked support promises about its own numbers, recomputed by brute force.

For every stored row of a derived relation: its count is the number of derivations from visible rows whose
highest rank (over the premises of the same stratum; 0 if there are none) is below the row's head rank. A row is
stored exactly if it has a derivation at all, and visible exactly if it is among the best of its group where
that matters. Nothing here uses joins, indexes or plans: rules are run by nested loops over decoded rows.
"""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwater.database import Database
from headwater.kernel.states import LIVE, VISIBLE
from headwater.language.program import Call, Constant, Term, Variable
from headwater.maintain.view import View
from headwater.rules.checked import Absent, CheckedRule, Compute, Item, Premise, Selection, Test

Row = tuple[Any, ...]
_COMPARE = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_FUNCTIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "min": min, "max": max}


@dataclass(frozen=True)
class Stored:
    rank: int
    count: int
    head_rank: int
    visible: bool
    sure: bool


def stored_rows(db: Database, name: str) -> dict[Row, Stored]:
    """All live rows of a relation, with what is kept about each."""
    relation = db.engine.workspace.relations[name]
    info = db.engine.workspace.infos[name]
    found: dict[Row, Stored] = {}
    live = [i for i in range(int(relation.sizes[0])) if relation.state[i] & LIVE]
    values = db.codec.decode_rows(relation.codes(live), info.types) if live else []  # type: ignore[arg-type]
    for i, row in zip(live, values, strict=True):
        assert row not in found, f"{name} stores {row} twice"
        found[row] = Stored(
            int(relation.rows[i, relation.rank_column]),
            relation.count(i),
            int(relation.rows[i, relation.head_rank_column]),
            bool(relation.state[i] & VISIBLE),
            relation.in_doubt(np.array([i], np.int32)).size == 0,
        )
    return found


def assert_support(db: Database) -> None:
    """Every count of every derived relation is what brute force says, unless it is known to be derived anew."""
    stored = {name: stored_rows(db, name) for name in db.engine.workspace.relations}
    visible = {
        name: {row: kept.rank for row, kept in rows.items() if kept.visible} for name, rows in stored.items()
    }
    for view in db.engine.views:
        if view.grouping is None and view.anew is None:
            _assert_view(db, view, stored, visible)


def _assert_view(
    db: Database, view: View, stored: Mapping[str, dict[Row, Stored]], visible: Mapping[str, dict[Row, int]]
) -> None:
    derivations: dict[str, dict[Row, list[int]]] = {
        name: defaultdict(list) for name in view.stratum.relations
    }
    for rule in view.stratum.rules:
        for row, rank in _derive(rule, visible, set(view.stratum.relations)):
            derivations[rule.relation][row].append(rank)
    for name in view.stratum.relations:
        assert set(stored[name]) == set(derivations[name]), f"{name}: what is stored is what can be derived"
        for row, kept in stored[name].items():
            expected = sum(rank < kept.head_rank for rank in derivations[name][row])
            assert kept.count == expected, (
                f"{name}{row}: {kept}, derivations of rank {derivations[name][row]}"
            )
            assert expected > 0, f"{name}{row} rests on itself"
            assert not kept.sure or expected == len(derivations[name][row]), f"{name}{row}: more than counted"
        selections = db.engine.workspace.infos[name].selections
        assert set(visible[name]) == _best(set(stored[name]), selections), (
            f"{name}: the best rows are visible"
        )


def _best(rows: set[Row], selections: Sequence[Selection]) -> set[Row]:
    if not selections:
        return rows
    kept: set[Row] = set()
    for selection in selections:
        groups: dict[Row, list[Row]] = defaultdict(list)
        for row in rows:
            groups[tuple(row[i] for i in selection.group)].append(row)
        for group in groups.values():
            best = (min if selection.best == "min" else max)(row[selection.value] for row in group)
            kept |= {row for row in group if row[selection.value] == best}
    return kept


# ------------------------------------------------------------------ nested loops


def _derive(
    rule: CheckedRule, visible: Mapping[str, dict[Row, int]], own: set[str]
) -> Iterator[tuple[Row, int]]:
    """The row and the highest own rank of every derivation."""
    for binding, rank in _bindings(rule.body, visible, own, {}, 0):
        yield tuple(_value(term, binding) for term in rule.head), rank


def _bindings(
    body: Sequence[Item],
    visible: Mapping[str, dict[Row, int]],
    own: set[str],
    binding: dict[str, Any],
    rank: int,
) -> Iterator[tuple[dict[str, Any], int]]:
    if not body:
        yield binding, rank
        return
    item, rest = body[0], body[1:]
    if isinstance(item, Premise):
        for row, row_rank in visible[item.relation].items():
            extended = _match(item.args, row, binding)
            if extended is not None:
                higher = max(rank, row_rank) if item.relation in own else rank
                yield from _bindings(rest, visible, own, extended, higher)
    elif isinstance(item, Absent):
        if tuple(_value(arg, binding) for arg in item.args) not in visible[item.relation]:
            yield from _bindings(rest, visible, own, binding, rank)
    elif isinstance(item, Test):
        if _COMPARE[item.op](_value(item.left, binding), _value(item.right, binding)):
            yield from _bindings(rest, visible, own, binding, rank)
    else:
        assert isinstance(item, Compute)
        value = _value(item.value, binding)
        if binding.get(item.variable.name, value) == value:
            yield from _bindings(rest, visible, own, {**binding, item.variable.name: value}, rank)


def _match(args: Sequence[Term], row: Row, binding: dict[str, Any]) -> dict[str, Any] | None:
    extended = dict(binding)
    for arg, value in zip(args, row, strict=True):
        if isinstance(arg, Constant):
            if arg.value != value:
                return None
        elif isinstance(arg, Variable) and extended.setdefault(arg.name, value) != value:
            return None
    return extended


def _value(term: Term, binding: Mapping[str, Any]) -> Any:
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Variable):
        return binding[term.name]
    assert isinstance(term, Call)
    return _FUNCTIONS[term.function](*(_value(arg, binding) for arg in term.args))


def ranks(db: Database, name: str) -> Counter[int]:
    """How many visible rows there are of each rank."""
    return Counter(kept.rank for kept in stored_rows(db, name).values() if kept.visible)
