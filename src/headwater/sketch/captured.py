"""Capturing: one run of a capture plan gives the query's answer and its sketch.

Where a database may round an average in one of two ways, it may do so in the capture plan in the other way than in
the query. Then the query is run for its answer, and the capture plan for its sketch only, with conditions that hold
where they may hold (`average_bounds`). Where something else than such a condition decides by an average, both have to
give the same rows; if they do not, the sketch has all fragments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.language.sql.algebra import Operator, scans
from headwater.sketch.average_bounds import with_average_bounds
from headwater.sketch.capture import Accesses, CapturePlan, Carried, capture_plan
from headwater.sketch.own_averages import averages_of, deciding, rounds_in_two_ways
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Sketch, SketchPart, Slot
from headwater.sketch.tables.backend import Backend

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class CapturedAnswer:
    """An answer, and what it rests on."""

    answer: Any
    """An Arrow table, or a DataFrame that stays with Spark."""
    sketch: Sketch


def captured(
    backend: Backend, plan: Operator, accesses: Accesses, versions: Mapping[str, int] | None = None
) -> CapturedAnswer:
    """The answer of a query at some versions (default: the newest), with its accurate sketch."""
    is_apart = rounds_in_two_ways(plan, backend.dialect)
    bounded = with_average_bounds(plan, backend.dialect)
    instrumented = capture_plan(bounded, accesses, backend.dialect, answers=not is_apart)
    with backend.moment():
        tables = sorted({scan.table for scan in scans(plan)})
        at = dict(versions) if versions is not None else backend.versions(tables)
        found = backend.run(instrumented.plan, versions=at, fragments=slots_of(plan, accesses))
        own = backend.run(plan, versions=at) if is_apart else None
    both = split(found, instrumented, slots_of(plan, accesses), at)
    if own is None:
        return both
    if averages_of(bounded) & deciding(bounded) and _rows(own) != _rows(both.answer):
        return CapturedAnswer(own, Sketch(tuple(map(_whole, both.sketch.parts)), at))
    return CapturedAnswer(own, both.sketch)


def _rows(answer: pa.Table) -> Counter[str]:
    """The rows of an answer without their floats, which may be rounded in two ways."""
    import pyarrow as pa

    places = [at for at, column in enumerate(answer.columns) if not pa.types.is_floating(column.type)]
    if not places:
        return Counter({"": answer.num_rows})
    columns = (answer.column(place).to_pylist() for place in places)
    return Counter(map(repr, zip(*columns, strict=True)))


def _whole(part: SketchPart) -> SketchPart:
    return SketchPart(part.table, part.ranges, frozenset(range(part.ranges.count)))


def slots_of(plan: Operator, accesses: Accesses) -> dict[Slot, Ranges]:
    """What is sketched: all accesses of a table that are have the same ranges."""
    return {
        Slot(scan.table, ranges.attribute): ranges
        for scan in scans(plan)
        for ranges in accesses.get(scan.access, ())
    }


def split(
    found: pa.Table, instrumented: CapturePlan, slots: Mapping[Slot, Ranges], versions: Mapping[str, int]
) -> CapturedAnswer:
    """The columns of the query, and all fragments that the others name."""
    own = found.num_columns - len(instrumented.carried)
    named: dict[Slot, set[int]] = {slot: set() for slot in slots}
    for carried, column in zip(instrumented.carried, found.columns[own:], strict=True):
        named[carried.slot] |= fragments_in(column, carried)
    parts = (SketchPart(slot.table, ranges, frozenset(named[slot])) for slot, ranges in slots.items())
    return CapturedAnswer(found.select(list(range(own))), Sketch(tuple(parts), dict(versions)))


def fragments_in(column: Any, carried: Carried) -> set[int]:
    """The fragments that a carried column names: numbers, arrays, or texts like `3,17`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.combine_chunks()
    if not carried.is_set:
        return {int(number) for number in pc.unique(column).to_pylist() if number is not None}
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return {int(number) for number in pc.unique(column.flatten()).to_pylist() if number is not None}
    texts = (text for text in column.to_pylist() if text)
    return {int(number) for text in texts for number in text.split(",") if number}
