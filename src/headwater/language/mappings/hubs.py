"""Equalities as rules, through hubs: the values that a dependency equates meet there, and are not paired one by one.

    same: R(i, n), S(i, m) -> n = m.

    member_1_e(n, ?same(i)) :- R_o(i, n).                           the hub of i: what the left side has there
    partner_1_e(m, ?same(i)) :- S_o(i, m).                          and the right side
    open_member_1_e(h) :- member_1_e(n, h), n is unknown.
    linked_1_e(n, h) :- member_1_e(n, h), n is unknown, partner_1_e(m, h).
    linked_1_e(m, h) :- partner_1_e(m, h), open_member_1_e(h).      the same with the sides exchanged
    same_1_e(a, c) :- linked_1_e(a, h), linked_1_e(c, h), a != c.   if one of them is unknown; else they clash
    reached_1_e(a, h) :- same_1_e(a, b), linked_1_e(b, h).          hubs that share a member are one class
    same_1_e(a, c) :- reached_1_e(a, h), linked_1_e(c, h), a != c.

Constants of both sides are not linked by each other: they clash (see `equalities`), and what is equal to one is not
equal to the other. All that is linked to a hub is one class: whatever is unknown there equals all of the other side.

A class of k values that are put into hubs m times costs k·m derivations, and says k² pairs. One value is put into as
many hubs as its side has values of what both sides share. A dependency whose sides cannot be told apart equates pairs
one by one: k derivations each. Hubs are labelled nulls that occur in these relations alone: none is a value of a row,
nor equal to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from headwater.errors import RuleError
from headwater.language.mappings.equalities import (
    MOST_JOINS_BY_EQUALITY,
    Equalities,
    is_known,
    is_unknown,
    names_in,
)
from headwater.language.mappings.internal import Exclusion, InternalNames
from headwater.language.mappings.mapping import Egd, fresh, variables
from headwater.language.program import (
    Atom,
    Call,
    Comparison,
    Constant,
    Literal,
    Positive,
    Term,
    Variable,
    Wildcard,
)

A, B, C, H = Variable("a"), Variable("b"), Variable("c"), Variable("h")
LEFT, RIGHT = "left", "right"


@dataclass(frozen=True)
class HubSide:
    """One side of a dependency: the part of its body that has the value, and what both sides have in common."""

    egd: Egd
    side: str
    """`left` or `right`: which of the equated values."""
    shared: tuple[str, ...]

    @property
    def value(self) -> Variable:
        """The variable of the value."""
        return Variable(self.egd.left if self.side == LEFT else self.egd.right)


@dataclass(frozen=True)
class Membership:
    """A rule by which a side puts a value into a hub."""

    body: tuple[Literal, ...]
    value: Variable
    hub: Term
    equal: tuple[tuple[int, Term, Term], ...]
    """Values that have to be equal, with the number of their class."""


def sides_of(egd: Egd) -> tuple[HubSide, HubSide] | None:
    """The sides of a dependency; `None` if they cannot be told apart: one atom has both values, or a comparison is
    about both sides."""
    sides: dict[str, list[Literal]] = {LEFT: [], RIGHT: []}
    known: dict[str, set[str]] = {LEFT: {egd.left}, RIGHT: {egd.right}}
    todo: list[Literal] = [each for each in egd.body if isinstance(each, Positive)]
    for side, other in ((LEFT, egd.right), (RIGHT, egd.left)):
        value = egd.left if side == LEFT else egd.right
        for literal in list(todo):
            names = _names(literal)
            if value in names:
                if other in names:
                    return None
                todo.remove(literal)
                sides[side].append(literal)
                known[side] |= names
    while (
        todo
    ):  # the rest goes where it is joined; what is joined nowhere is a condition for all, of any side
        joined = [(side, each) for each in todo for side in (LEFT, RIGHT) if _names(each) & known[side]]
        side, literal = joined[0] if joined else (LEFT, todo[0])
        todo.remove(literal)
        sides[side].append(literal)
        known[side] |= _names(literal)
    for literal in egd.body:
        if not isinstance(literal, Positive):
            holds = [side for side in (LEFT, RIGHT) if _names(literal) <= known[side]]
            if not holds:
                return None
            sides[holds[0]].append(literal)
    shared = tuple(sorted(known[LEFT] & known[RIGHT]))
    left, right = (replace(egd, body=tuple(sides[side])) for side in (LEFT, RIGHT))
    return HubSide(left, LEFT, shared), HubSide(right, RIGHT, shared)


def memberships(equalities: Equalities, side: HubSide) -> Iterator[Membership]:
    """The rules of one side. Of what both sides share, the left one takes each value that may be equal to others as
    it is, or by equality: if both did, a value that is equal to two constants would make these the same key."""
    names = {name for atom in side.egd.premises for name in variables(atom.args)}
    loose = [name for name in side.shared if side.side == LEFT and equalities.class_of(side.egd, name)]
    if len(loose) > MOST_JOINS_BY_EQUALITY:
        raise RuleError(
            "too-many-joins",
            f"{side.egd.label} joins more than {MOST_JOINS_BY_EQUALITY} times where values may be equal",
            place=side.egd.place,
            hint="a dependency that joins fewer columns does",
        )
    for body, _, equal in equalities.variants(side.egd):
        for chosen in product((False, True), repeat=len(loose)):
            others = {
                name: Variable(fresh(f"equal_{place}", names))
                for place, (name, by) in enumerate(zip(loose, chosen, strict=True))
                if by
            }
            hub = Call(f"?{side.egd.label}", tuple(others.get(name, Variable(name)) for name in side.shared))
            more = [
                (equalities.class_of(side.egd, name) or 0, Variable(name), it) for name, it in others.items()
            ]
            yield Membership(body, side.value, hub, (*equal, *more))


def rules_of_hubs(
    names: InternalNames, number: int, exclusion: Exclusion
) -> Iterator[tuple[Atom, list[Literal]]]:
    """What is equal and what clashes, from what sides put into hubs."""
    linked, reached = names.linked(number, exclusion), names.reached(number, exclusion)
    same, clash = names.same(number, exclusion), names.clash(number, exclusion)
    sides = [names.members(number, exclusion), names.partners(number, exclusion)]
    for mine, its in (sides, sides[::-1]):
        used = Atom(f"used_{mine}", (H,))
        opened = Atom(f"open_{mine}", (H,))
        yield used, [Positive(Atom(mine, (Wildcard(), H)))]
        yield opened, [Positive(Atom(mine, (B, H))), *is_unknown(B)]
        there = Positive(Atom(mine, (A, H)))
        yield Atom(linked, (A, H)), [there, *is_unknown(A), Positive(Atom(f"used_{its}", (H,)))]
        yield Atom(linked, (A, H)), [there, Positive(Atom(f"open_{its}", (H,)))]
    yield Atom(reached, (A, H)), [Positive(Atom(same, (A, B))), Positive(Atom(linked, (B, H)))]
    member, partner = (Positive(Atom(side, (each, H))) for side, each in zip(sides, (A, C), strict=True))
    yield Atom(clash, (A, C)), [member, partner, Comparison("!=", A, C), is_known(A), is_known(C)]
    for start in (linked, reached):
        pair: list[Literal] = [
            Positive(Atom(start, (A, H))),
            Positive(Atom(linked, (C, H))),
            Comparison("!=", A, C),
        ]
        yield from rules_of_pairs(same, clash, pair)


def rules_of_edges(
    same: str, clash: str, direct: str, sources: Sequence[str]
) -> Iterator[tuple[Atom, list[Literal]]]:
    """`same` as the closure of the pairs that `sources` equate one by one, and the pairs of constants among them."""
    for source in sources:
        given = Positive(Atom(source, (A, C)))
        for head in ((A, C), (C, A)):
            for unknown in (A, C):
                yield Atom(direct, head), [given, *is_unknown(unknown)]
        yield Atom(clash, (A, C)), [given, is_known(A), is_known(C)]
    yield Atom(same, (A, C)), [Positive(Atom(direct, (A, C)))]
    through: list[Literal] = [
        Positive(Atom(same, (A, B))),
        Positive(Atom(direct, (B, C))),
        Comparison("!=", A, C),
    ]
    yield from rules_of_pairs(same, clash, through)


def rules_of_pairs(same: str, clash: str, pair: list[Literal]) -> Iterator[tuple[Atom, list[Literal]]]:
    """A pair of one class is equal if one of it is unknown, and clashes if both are known; each by one rule."""
    nothing = Constant(None)
    yield Atom(same, (A, C)), [*pair, *is_unknown(A)]
    yield Atom(same, (A, C)), [*pair, is_known(A), *is_unknown(C)]
    yield Atom(same, (A, C)), [*pair, Comparison("is", A, nothing), *is_unknown(C)]
    yield Atom(clash, (A, C)), [*pair, is_known(A), is_known(C)]


def _names(literal: Literal) -> set[str]:
    if isinstance(literal, Positive):
        return set(variables(literal.atom.args))
    assert isinstance(literal, Comparison)
    return set(names_in(literal))
