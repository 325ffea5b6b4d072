"""The rows from which a row on nodes follows, fetched level by level, for whoever explains it here.

Rules are run backwards: the row is a head, so some columns of the premises are known; rows that agree are asked of
whoever holds them, and so on for those that are derived themselves. Tests and computations are left out, so that too
many rows may be fetched, never too few; what is then searched here is the same as where all rows are in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from headwater.language.program import Variable
from headwater.local.one_process import OneProcess
from headwater.maintain.engine import Engine
from headwater.plan.steps import Ints
from headwater.plan.stored_rows import Key
from headwater.plan.templates import atom_codes
from headwater.rules.checked import UNIT, Absent, Checked, CheckedRule, Premise
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.version import Version

Codes = tuple[int, ...]
Fetch = Callable[[str, tuple[int, ...], Ints | None], Ints]
"""Rows of a relation: all, or those that have one of the given combinations of codes in some columns."""
Binding = dict[str, int]


class Searched:
    """The rows that were fetched, and those whose derivations are still to be looked for."""

    def __init__(self, checked: Checked, codec: Codec, fetch: Fetch):
        self._checked = checked
        self._codec = codec
        self._fetch = fetch
        self.rows: dict[str, set[Codes]] = {}
        self._asked: dict[tuple[str, tuple[int, ...]], set[Codes]] = {}
        self._rules: dict[str, list[CheckedRule]] = {}
        for stratum in checked.strata:
            for rule in stratum.rules:
                self._rules.setdefault(rule.relation, []).append(rule)

    def search(self, key: Key) -> None:
        """Fetch all that the row follows from, and what that follows from."""
        self._bring(key[0], tuple(range(len(key[1]))), {key[1]})
        todo = {key[0]: self.rows[key[0]] & {key[1]}}
        while todo:
            before = {name: set(rows) for name, rows in self.rows.items()}
            for name, rows in todo.items():
                for rule in self._rules.get(name, ()):
                    self._backwards(rule, rows)
            todo = {
                name: rows - before.get(name, set())
                for name, rows in self.rows.items()
                if name in self._rules and rows - before.get(name, set())
            }

    def _backwards(self, rule: CheckedRule, heads: Iterable[Codes]) -> None:
        """Fetch the rows of a rule's premises that agree with the heads, one premise after the other."""
        skipped = {rule.aggregate.position} if rule.aggregate is not None else set()
        head = atom_codes(rule.head, self._codec)
        bindings = [
            found
            for row in heads
            if (found := _matched({}, [code for i, code in enumerate(head) if i not in skipped],
                                  [code for i, code in enumerate(row) if i not in skipped])) is not None
        ]  # fmt: skip
        items = [item for item in rule.body if isinstance(item, Premise) and item.relation != UNIT]
        while items and bindings:
            item = max(items, key=lambda one: self._known(one, bindings[0]))
            items.remove(item)
            bindings = self._joined(item, bindings)
        for absent in rule.body:
            if isinstance(absent, Absent) and bindings and absent.relation != UNIT:
                self._joined(absent, bindings)

    def _known(self, item: Premise, binding: Binding) -> int:
        return sum(not isinstance(arg, Variable) or arg.name in binding for arg in item.args)

    def _joined(self, item: Premise | Absent, bindings: Sequence[Binding]) -> list[Binding]:
        """Fetch the rows of a premise that agree with bindings, and extend those by them."""
        codes = atom_codes(item.args, self._codec)
        columns = tuple(
            column
            for column, code in enumerate(codes)
            if isinstance(code, int) or (code is not None and code in bindings[0])
        )
        wanted = {_key(codes, columns, binding) for binding in bindings}
        self._bring(item.relation, columns, wanted)
        by_key: dict[Codes, list[Codes]] = {}
        for row in self.rows.get(item.relation, ()):
            by_key.setdefault(tuple(row[column] for column in columns), []).append(row)
        joined: dict[tuple[tuple[str, int], ...], Binding] = {}
        for binding in bindings:
            for row in by_key.get(_key(codes, columns, binding), ()):
                found = _matched(binding, codes, row)
                if found is not None:
                    joined[tuple(sorted(found.items()))] = found
        return list(joined.values())

    def _bring(self, relation: str, columns: tuple[int, ...], wanted: set[Codes]) -> None:
        known = self._asked.setdefault((relation, columns), set())
        new = wanted - known
        if not new:
            return
        known |= new
        values = np.array(sorted(new), np.int64).reshape(len(new), len(columns)) if columns else None
        found = self._fetch(relation, columns, values)
        self.rows.setdefault(relation, set()).update(map(tuple, found.tolist()))


def _key(codes: Sequence[int | str | None], columns: tuple[int, ...], binding: Binding) -> Codes:
    return tuple(code if isinstance(code := codes[column], int) else binding[str(code)] for column in columns)


def _matched(binding: Binding, codes: Sequence[int | str | None], row: Sequence[int]) -> Binding | None:
    """The binding extended by a row, if they agree."""
    found = dict(binding)
    for code, value in zip(codes, row, strict=True):
        if isinstance(code, int):
            if code != value:
                return None
        elif code is not None and found.setdefault(code, value) != value:
            return None
    return found


def engine_with_derivations(
    key: Key, checked: Checked, codec: Codec, functions: Functions, fetch: Fetch
) -> Engine:
    """An engine whose relations have the rows that a row's derivations use, and those of these, and so on."""
    searched = Searched(checked, codec, fetch)
    searched.search(key)
    here = OneProcess(codec, functions)
    version = Version(0, 0.0)
    here.learn_program(version, checked)
    version.keep()
    for name, rows in searched.rows.items():
        relation = here.engine.workspace.relations[name]
        matrix = np.array(sorted(rows), np.int64).reshape(len(rows), relation.arity)
        ranks = np.zeros((len(rows), relation.width - relation.arity), np.int64)
        relation.load(matrix, ranks, np.ones(len(rows), bool))
    return here.engine
