"""Recursive min and max by the definition, in plain Python: choices of best rows, replaced until they stay.

A state has the rows of all relations of a stratum. The next state has what the rules derive from this one, of
relations with best rows only those; the first state is empty. Nothing is incremental, nothing has ranks.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oracle_programs import Atom, Compare, Compute, Literal, Stratum, Term

Row = tuple[int, ...]
State = dict[str, frozenset[Row]]
_COMPARE = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_FUNCTIONS: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "min": min, "max": max,
}  # fmt: skip


class Oscillates(Exception):
    """A state has come a second time."""


def iterated(stratum: Stratum, base: Mapping[str, frozenset[Row]]) -> State:
    """The state that stays, reached from nothing."""
    state: State = {name: frozenset() for name in stratum.relations}
    seen = {tuple(state.values())}
    while True:
        following = derived(stratum, {**base, **state})
        if following == state:
            return state
        if tuple(following.values()) in seen:
            raise Oscillates
        seen.add(tuple(following.values()))
        state = following


def derived(stratum: Stratum, known: Mapping[str, frozenset[Row]]) -> State:
    """What the rules derive from these rows, each once; the best of it where only those count."""
    found: dict[str, set[Row]] = {name: set() for name in stratum.relations}
    for rule in stratum.rules:
        for binding in _bindings(rule.body, known, {}):
            found[rule.head.relation].add(tuple(_value(arg, binding) for arg in rule.head.args))
    return {name: frozenset(_best(rows, stratum.best.get(name))) for name, rows in found.items()}


def _best(rows: set[Row], selection: tuple[int, str] | None) -> set[Row]:
    if selection is None:
        return rows
    column, best = selection
    groups: dict[Row, list[Row]] = {}
    for row in rows:
        groups.setdefault((*row[:column], *row[column + 1 :]), []).append(row)
    choose = min if best == "min" else max
    return {choose(group, key=lambda row: row[column]) for group in groups.values()}


def _bindings(
    body: Sequence[Literal], known: Mapping[str, frozenset[Row]], binding: dict[str, int]
) -> Iterator[dict[str, int]]:
    if not body:
        yield binding
        return
    literal, rest = body[0], body[1:]
    if isinstance(literal, Atom):
        for row in known[literal.relation]:
            extended = dict(binding)
            if all(_matches(arg, value, extended) for arg, value in zip(literal.args, row, strict=True)):
                yield from _bindings(rest, known, extended)
    elif isinstance(literal, Compare):
        if _COMPARE[literal.op](_value(literal.left, binding), _value(literal.right, binding)):
            yield from _bindings(rest, known, binding)
    else:
        assert isinstance(literal, Compute), "no other literals here"
        value = _FUNCTIONS[literal.op](_value(literal.left, binding), _value(literal.right, binding))
        yield from _bindings(rest, known, {**binding, literal.variable: value})


def _matches(arg: Term, value: int, binding: dict[str, int]) -> bool:
    if isinstance(arg, str):
        return binding.setdefault(arg, value) == value
    return arg is None or arg == value


def _value(term: Term, binding: Mapping[str, int]) -> int:
    assert term is not None
    return binding[term] if isinstance(term, str) else term
