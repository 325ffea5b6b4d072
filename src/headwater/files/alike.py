"""Types that nobody declared, for all files at once.

Rules can make two columns have one type without saying which: in `reach(X, Y) :- link(X, Z), reach(Z, Y).`
both columns of `link`. If all texts of the first look like ints and one of the second does not, both are
strings. Which columns go together is asked of the rule checker: give one of them a type, see who gets it too.

>>> from headwater.language.datalog import parse
>>> from headwater.rules.check import check
>>> from headwater.values.functions import Functions
>>> program = parse("reach(X, Y) :- link(X, Y, _). reach(X, Y) :- link(X, Z, _), reach(Z, Y).")
>>> def types(known):
...     return {name: info.types for name, info in check(program, Functions(), known=known).relations.items()}
>>> groups(types, {}, [("link", 0), ("link", 1), ("link", 2)])
[[('link', 0), ('link', 1)], [('link', 2)]]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from headwater.errors import RuleError
from headwater.values.types import BOOL, FLOAT, INT, STRING, Type

Types: TypeAlias = tuple[Type | None, ...]
TypesOf: TypeAlias = Callable[[Mapping[str, Types]], Mapping[str, Types]]
"""The types of all relations, where those of some are known; raises `RuleError` if they cannot be."""

ColumnAt: TypeAlias = tuple[str, int]


def groups(
    types_of: TypesOf, known: Mapping[str, Types], columns: Sequence[ColumnAt]
) -> list[list[ColumnAt]]:
    """The columns (of no known type) in groups whose members must have the same type."""
    before = types_of(known)
    found: list[list[ColumnAt]] = []
    placed: set[ColumnAt] = set()
    for column in columns:
        if column not in placed:
            group = _group(types_of, known, before, column, [c for c in columns if c not in placed])
            placed.update(group)
            found.append(group)
    return found


def _group(
    types_of: TypesOf,
    known: Mapping[str, Types],
    before: Mapping[str, Types],
    column: ColumnAt,
    others: Sequence[ColumnAt],
) -> list[ColumnAt]:
    relation, position = column
    for probe in (STRING, INT, FLOAT, BOOL):
        given = list(before[relation])
        given[position] = probe
        try:
            after = types_of({**known, relation: tuple(given)})
        except RuleError:
            continue  # some rule computes with the column: it cannot have this type
        return [(name, at) for name, at in others if after[name][at] is not None]
    return [column]
