"""Which attribute to sketch a table by: one that is safe for the query, and by which the table is clustered.

A sketch of a table saves what its readers can skip, so the advice follows the layout: among attributes that a
proof accepts, the one whose fragments are found in the fewest blocks. Where that does not tell (nobody knows the
layout of databases), attributes come first that are safe for queries that were asked before, and then keys: columns
that end with `id` or `key`, or that the query groups or joins by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headwater.language.sql.algebra import GroupBy, Operator, Scan, ThetaJoin, scans, walk
from headwater.language.sql.scalars import attributes_in
from headwater.language.sql.tables import TableSchema
from headwater.sketch.ranges import Ranges, equi_depth
from headwater.sketch.safety.facts import KnownFacts
from headwater.sketch.safety.outcome import SafetyRefusal
from headwater.sketch.safety.rules import prove
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.backend import Backend
from headwater.wording import counted

ORDERED = ("int", "float", "decimal", "string", "date", "timestamp", "timestamp_ntz")
"""Types whose values ranges are made of."""
MOST_SAMPLED = 50_000
"""So many values are looked at to make ranges."""
UNCLUSTERED = 0.7
"""From which depth on an attribute's blocks are of no use: most fragments are in most blocks."""
DEFAULT_RANGES = 1000
MOST_PAST = 8
"""So many queries that were asked before are looked at for an attribute."""


@dataclass(frozen=True)
class PastQuery:
    """A query that was asked so often."""

    plan: Operator
    asked: int


@dataclass(frozen=True)
class Advice:
    """An attribute for a table, and what speaks for it. `depth`: in which share of the blocks a fragment is."""

    slot: Slot
    depth: float | None
    is_safe: bool
    reason: str
    asked: int = 0
    """How often queries were asked, before, that it is safe for, too."""

    @property
    def is_useful(self) -> bool:
        return self.is_safe and (self.depth is None or self.depth < UNCLUSTERED)

    @property
    def layout(self) -> str:
        if self.depth is None:
            return "layout unknown"
        return f"a fragment is in {self.depth:.0%} of the blocks"

    @property
    def why(self) -> str:
        said = [self.reason] if self.reason else []
        said += [f"safe for what was asked {counted(self.asked, 'time')} before"] if self.asked else []
        return "; ".join(said)

    def __str__(self) -> str:
        why = f" ({self.why})" if self.why else ""
        return f"{self.slot}: {'safe' if self.is_safe else 'not safe'}, {self.layout}{why}"


def make_ranges(backend: Backend, slot: Slot, count: int) -> Ranges:
    """Equi-depth ranges of a table's attribute, from a sample of its values."""
    return equi_depth(slot.attribute, backend.sample(slot.table, slot.attribute, MOST_SAMPLED), count)


def ordered_columns(schema: TableSchema) -> list[str]:
    """The columns that ranges can be made of."""
    return [
        column.name for column in schema.columns if column.type is not None and column.type.name in ORDERED
    ]


def advise(
    backend: Backend,
    plan: Operator,
    known: KnownFacts,
    tables: Iterable[str] | None = None,
    past: Sequence[PastQuery] = (),
) -> list[Advice]:
    """What speaks for and against each attribute of each table that a plan reads, the best first."""
    found = []
    for table in sorted(set(tables or {scan.table for scan in scans(plan)})):
        for name in ordered_columns(backend.schemas()[table]):
            judged = _judged(backend, plan, known, Slot(table, name))
            asked = _asked_before(judged.slot, known, past) if judged.is_useful else 0
            found.append(replace(judged, asked=asked))
    return sorted(found, key=_rank)


def _rank(advice: Advice) -> tuple[bool, float, int, bool]:
    return not advice.is_useful, advice.depth or 0.0, -advice.asked, advice.reason != "a key"


def _asked_before(slot: Slot, known: KnownFacts, past: Sequence[PastQuery]) -> int:
    """How often queries were asked that an attribute is safe for; of those that were asked most."""
    reading = [each for each in past if any(scan.table == slot.table for scan in scans(each.plan))]
    most = sorted(reading, key=lambda each: -each.asked)[:MOST_PAST]
    return sum(each.asked for each in most if not isinstance(prove(each.plan, (slot,), known), SafetyRefusal))


def _judged(backend: Backend, plan: Operator, known: KnownFacts, slot: Slot) -> Advice:
    outcome = prove(plan, (slot,), known)
    if isinstance(outcome, SafetyRefusal):
        return Advice(slot, None, is_safe=False, reason=outcome.code)
    layout = backend.layout(slot.table, slot.attribute)
    if layout is None:
        return Advice(slot, None, is_safe=True, reason="a key" if _is_key(plan, slot) else "")
    ends = [value for block in layout.blocks for value in (block.lower, block.upper) if value is not None]
    if not ends:
        return Advice(slot, 1.0, is_safe=True, reason="no statistics")
    import pyarrow as pa

    ranges = equi_depth(slot.attribute, pa.array(ends), 100)
    return Advice(slot, layout.depth(ranges), is_safe=True, reason="a key" if _is_key(plan, slot) else "")


def _is_key(plan: Operator, slot: Slot) -> bool:
    if slot.attribute.lower().endswith(("id", "key")):
        return True
    own = {
        each.id
        for scan in walk(plan)
        if isinstance(scan, Scan) and scan.table == slot.table
        for each in scan.attributes
        if each.name == slot.attribute
    }
    read = {
        each.id
        for operator in walk(plan)
        if isinstance(operator, GroupBy | ThetaJoin)
        for scalar in (
            [key.expression for key in operator.keys]
            if isinstance(operator, GroupBy)
            else ([operator.condition] if operator.condition is not None else [])
        )
        for each in attributes_in(scalar)
    }
    return bool(own & read)
