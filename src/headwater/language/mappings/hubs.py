"""Equalities by keys as rules, through a hub for each key: a class of k equal values costs k² derivations.

    member_1_e(n, ?key(i)) :- C_o(i, n).                            the hub of i: what stands beside it
    open_1_e(h) :- member_1_e(n, h), n is unknown.                  constants alone do not become equal
    linked_1_e(n, h) :- member_1_e(n, h), open_1_e(h).
    same_1_e(a, c) :- member_1_e(a, h), member_1_e(c, h), a != c.   if one of them is unknown; else they clash
    reached_1_e(a, h) :- same_1_e(a, b), linked_1_e(b, h).          hubs that share a member are one class
    same_1_e(a, c) :- reached_1_e(a, h), linked_1_e(c, h), a != c.

What holds is what `rules_of_equality` says of the pairs that the dependencies equate (see `equalities`). Hubs are
labelled nulls that occur in these relations alone: none is a value of a row, nor equal to one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from headwater.errors import RuleError
from headwater.language.mappings.equalities import (
    MOST_JOINS_BY_EQUALITY,
    Equalities,
    KeyDependency,
    is_known,
    is_unknown,
)
from headwater.language.mappings.internal import Exclusion, InternalNames
from headwater.language.program import Atom, Call, Comparison, Literal, Positive, Term, Variable

A, B, C, H = Variable("a"), Variable("b"), Variable("c"), Variable("h")


@dataclass(frozen=True)
class Membership:
    """A rule of `member`: the value that a row has beside a key is a member of the key's hub, and of those of keys
    that are equal to it."""

    row: tuple[Variable, ...]
    value: Variable
    hub: Term
    equal: tuple[tuple[int, Variable, Variable], ...]
    """Values that have to be equal, with the number of their class."""


def keys_of(equalities: Equalities, number: int) -> tuple[KeyDependency, ...] | None:
    """The keys that equate the values of a class; `None` if a dependency of another form does so too."""
    labels = {egd.label for egd in equalities.mappings.egds if equalities.of(egd) == number}
    keys = tuple(key for key in equalities.key_dependencies() if key.label in labels)
    return keys if len(keys) == len(labels) else None


def memberships(equalities: Equalities, key: KeyDependency) -> Iterator[Membership]:
    """The rules of one key: each of its columns whose values may be equal to others is taken as it is, or by
    equality."""
    row = tuple(Variable(f"x{i}") for i in range(len(equalities.schemas.columns[key.relation])))
    loose = [column for column in key.key if (key.relation, column) in equalities.classes]
    if len(loose) > MOST_JOINS_BY_EQUALITY:
        raise RuleError(
            "too-many-joins",
            f"{key.label} joins more than {MOST_JOINS_BY_EQUALITY} times where values may be equal",
            hint="a key of fewer columns does",
        )
    for chosen in product((False, True), repeat=len(loose)):
        others = {column: Variable(f"y{column}") for column, by in zip(loose, chosen, strict=True) if by}
        hub = Call(f"?{key.label}", tuple(others.get(column, row[column]) for column in key.key))
        equal = tuple(
            (equalities.classes[key.relation, column], row[column], other) for column, other in others.items()
        )
        yield Membership(row, row[key.column], hub, equal)


def rules_of_hubs(
    names: InternalNames, number: int, exclusion: Exclusion
) -> Iterator[tuple[Atom, list[Literal]]]:
    """What is equal and what clashes, from the members of hubs."""
    member, linked = names.members(number, exclusion), names.linked(number, exclusion)
    reached, same = names.reached(number, exclusion), names.same(number, exclusion)
    opened = Atom(names.open_hubs(number, exclusion), (H,))
    yield opened, [Positive(Atom(member, (B, H))), *is_unknown(B)]
    yield Atom(linked, (A, H)), [Positive(Atom(member, (A, H))), Positive(opened)]
    yield Atom(reached, (A, H)), [Positive(Atom(same, (A, B))), Positive(Atom(linked, (B, H)))]
    for mine, its in ((member, member), (reached, linked)):
        pair: list[Literal] = [
            Positive(Atom(mine, (A, H))),
            Positive(Atom(its, (C, H))),
            Comparison("!=", A, C),
        ]
        yield Atom(same, (A, C)), [*pair, *is_unknown(A)]
        yield Atom(same, (A, C)), [*pair, is_known(A), *is_unknown(C)]
        yield Atom(names.clash(number, exclusion), (A, C)), [*pair, is_known(A), is_known(C)]
