"""A part of a plan without state: selections, projections and inner joins over accesses of tables, seen as one block.

All of it can be said by conditions that must hold together and by columns, both over the attributes of accesses: the
order of joins and selections does not matter. So what a condition says about one access can be asked of that table's
delta before anything else (section 9.4.2), and an equality between two accesses is a key that a Bloom filter can be
built on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from headwater.language.sql.algebra import Operator, Project, Scan, Select, ThetaJoin, children, scans, walk
from headwater.language.sql.scalars import (
    Attribute,
    Cast,
    Compare,
    Function,
    Or,
    Scalar,
    attributes_in,
    conjunction,
    conjuncts,
    substitute,
    walk_scalar,
)


def tested_together(conditions: Iterable[Scalar]) -> list[Scalar]:
    """The conditions, those that have a value for every row as one: they come first, so that others are computed for
    rows that pass them (a quotient, say, which fails for some)."""
    simple: list[Scalar] = []
    others: list[Scalar] = []
    for each in conditions:
        computed = (part for part in walk_scalar(each) if isinstance(part, Function | Cast))
        (others if any(any(attributes_in(part)) for part in computed) else simple).append(each)
    return [conjunction(tuple(simple)), *others] if simple else others


def is_stateless(plan: Operator) -> bool:
    """Whether a plan is such a block, and reads tables at all."""
    match plan:
        case Scan():
            return True
        case Select() | Project():
            return is_stateless(plan.input)
        case ThetaJoin(kind="inner"):
            return is_stateless(plan.left) and is_stateless(plan.right)
        case _:
            return False


@dataclass(frozen=True)
class KeyPair:
    """Two attributes of different accesses that are equal in every row of the block."""

    access: int
    attribute: Attribute
    other: int
    other_attribute: Attribute


@dataclass(frozen=True)
class StatelessBlock:
    """A plan for which `is_stateless` holds."""

    plan: Operator

    @cached_property
    def scans(self) -> tuple[Scan, ...]:
        return scans(self.plan)

    @cached_property
    def _access_of(self) -> dict[int, int]:
        return {attribute.id: scan.access for scan in self.scans for attribute in scan.attributes}

    @cached_property
    def _meanings(self) -> dict[int, Scalar]:
        """What computed attributes are, in terms of those of accesses."""
        found: dict[int, Scalar] = {}

        def collect(operator: Operator) -> None:
            for child in children(operator):
                collect(child)
            if isinstance(operator, Project):
                found.update(
                    {each.attribute.id: substitute(each.expression, found) for each in operator.columns}
                )

        collect(self.plan)
        return found

    def meaning(self, scalar: Scalar) -> Scalar:
        """A scalar over attributes of accesses."""
        return substitute(scalar, self._meanings)

    @cached_property
    def conditions(self) -> tuple[Scalar, ...]:
        """What must hold of every row, over attributes of accesses."""
        found: list[Scalar] = []
        for operator in walk(self.plan):
            if isinstance(operator, Select | ThetaJoin) and operator.condition is not None:
                found += conjuncts(self.meaning(operator.condition))
        return tuple(found)

    @cached_property
    def _implied(self) -> tuple[Scalar, ...]:
        """The conditions, and what follows from alternatives: what all of them say, and what they say of one
        access."""
        found = list(self.conditions)
        for each in self.conditions:
            if isinstance(each, Or):
                parts = [conjuncts(part) for part in each.parts]
                found += [said for said in parts[0] if all(said in others for others in parts[1:])]
                for scan in self.scans:
                    local = [
                        [said for said in part if self.accesses_of(said) == {scan.access}] for part in parts
                    ]
                    if all(local) and self.accesses_of(each) != {scan.access}:
                        found.append(Or(tuple(conjunction(tuple(said)) for said in local)))
        return tuple(found)

    def about(self, scan: Scan) -> tuple[Scalar, ...]:
        """The conditions that read nothing but this access."""
        return tuple(each for each in self._implied if self.accesses_of(each) == {scan.access})

    def accesses_of(self, scalar: Scalar) -> set[int]:
        """The accesses whose attributes it reads."""
        return {self._access_of[attribute.id] for attribute in attributes_in(scalar)}

    @cached_property
    def key_pairs(self) -> tuple[KeyPair, ...]:
        """Attributes that are equal across accesses, in both directions."""
        found = []
        for each in self._implied:
            if isinstance(each, Compare) and each.operator == "=":
                left, right = each.left, each.right
                if isinstance(left, Attribute) and isinstance(right, Attribute):
                    a, b = self._access_of[left.id], self._access_of[right.id]
                    if a != b:
                        found += [KeyPair(a, left, b, right), KeyPair(b, right, a, left)]
        return tuple(found)

    def read(self, wanted: Iterable[int]) -> dict[int, set[int]]:
        """Which attributes of each access are read for these columns and for the conditions."""
        found: dict[int, set[int]] = {scan.access: set() for scan in self.scans}
        columns = (
            self.meaning(attribute) for attribute in self.plan.attributes if attribute.id in set(wanted)
        )
        for scalar in (*columns, *self.conditions):
            for attribute in attributes_in(scalar):
                found[self._access_of[attribute.id]].add(attribute.id)
        return found

    def condition_for(self, table: str) -> Scalar | None:
        """What rows of a table's delta must fulfil to matter to any access of it; `None` if nothing is known.

        Attributes are those of the first access, by their names.
        """
        accesses = [scan for scan in self.scans if scan.table == table]
        if len(accesses) != 1:
            return None
        about = self.about(accesses[0])
        return conjunction(about) if about else None
