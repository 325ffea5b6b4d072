"""Use: the plan that reads only what a sketch says (imp-provenance-sketches, example 1.1).

Each access that the sketch is safe for gets a selection right above it: half-open ranges, adjacent ones merged, and
NULL by its own test. Where fragments lie so scattered that there would be very many ranges, the narrowest gaps
between them are read too: a sketch of more fragments is a sketch, and a reader that compares every row with a
thousand ranges is slower than one that reads a little more.

>>> from headwater.language.sql.scalars import Attribute
>>> condition(Attribute(1, "x"), Ranges("x", (10, 20, 30)), {1, 2, 4})
Or(parts=(And(parts=(Compare(operator='>=', left=Attribute(id=1, name='x', type=None, nullable=True),
right=Value(value=10, type=Type(name='int', parts=(), fields=(), precision=0, scale=0))),
Compare(operator='<', left=Attribute(id=1, name='x', type=None, nullable=True),
right=Value(value=30, type=Type(name='int', parts=(), fields=(), precision=0, scale=0))))),
IsNull(argument=Attribute(id=1, name='x', type=None, nullable=True))))
"""

from __future__ import annotations

import itertools
from collections.abc import Collection

from headwater.language.sql.algebra import Operator, Scan, Select, transform
from headwater.language.sql.scalars import (
    And,
    Attribute,
    Compare,
    Function,
    IsNull,
    Not,
    Or,
    Scalar,
    Value,
    conjunction,
)
from headwater.sketch.ranges import Interval, Ranges
from headwater.sketch.sketch import Sketch
from headwater.values.types import BOOL, FLOAT, type_of

MOST_INTERVALS = 100
"""So many ranges a reader is given at most."""


def sketched_plan(plan: Operator, sketch: Sketch, accesses: Collection[int]) -> Operator:
    """The plan whose accesses of these numbers read the rows of a sketch only."""

    def read_less(operator: Operator) -> Operator:
        if not isinstance(operator, Scan) or operator.access not in accesses:
            return operator
        conditions = [
            condition(attribute, part.ranges, part.fragments)
            for part in sketch.of_table(operator.table)
            for attribute in operator.attributes
            if attribute.name.lower() == part.ranges.attribute.lower()
        ]
        return Select(operator, conjunction(tuple(conditions))) if conditions else operator

    return transform(plan, read_less)


def condition(attribute: Attribute, ranges: Ranges, fragments: Collection[int]) -> Scalar:
    """Whether a row is in one of these fragments."""
    if len(set(fragments)) == ranges.count:
        return Value(True, BOOL)
    parts = [
        _within(attribute, interval) for interval in ranges.intervals(with_narrow_gaps(fragments, ranges))
    ]
    if ranges.null_fragment in fragments:
        parts.append(IsNull(attribute))
    if not parts:
        return Value(False, BOOL)
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _within(attribute: Attribute, interval: Interval) -> Scalar:
    compared: Scalar = attribute
    if interval.upper is None and (attribute.type or type_of(interval.lower)) == FLOAT:
        # NaN is in here, above all numbers, but in no file's statistics: readers must not skip by these
        compared = Function("add", (attribute, Value(0.0, FLOAT)), FLOAT)
    ends = [
        Compare(operator, compared, Value(bound, attribute.type or type_of(bound)))
        for operator, bound in ((">=", interval.lower), ("<", interval.upper))
        if bound is not None
    ]
    if not ends:
        return Not(IsNull(attribute))
    return ends[0] if len(ends) == 1 else And(tuple(ends))


def with_narrow_gaps(fragments: Collection[int], ranges: Ranges, most: int = MOST_INTERVALS) -> set[int]:
    """The fragments, and those in the narrowest gaps between them, so that they make up at most so many ranges.

    >>> ranges = Ranges("x", tuple(range(20)))
    >>> sorted(with_narrow_gaps({1, 3, 4, 9, 15}, ranges, most=3))
    [1, 2, 3, 4, 9, 15]
    """
    found = sorted(set(fragments) - {ranges.null_fragment})
    gaps = [
        (after - before, before, after) for before, after in itertools.pairwise(found) if after > before + 1
    ]
    narrow = sorted(gaps)[: max(0, len(gaps) + 1 - most)]
    between = (number for _, before, after in narrow for number in range(before + 1, after))
    return {*fragments, *between}
