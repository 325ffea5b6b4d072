"""A sketch: for one query, the fragments of tables that its answer at some version rests on.

A sketch has a *part* for each attribute of each table by which that table is partitioned; a row is needed only if
each part of its table holds its fragment. All accesses of a table share its parts. A sketch of more fragments than
needed is a sketch too (section 4.2: over-approximated), one of fewer is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headwater.sketch.ranges import Ranges


@dataclass(frozen=True)
class SketchPart:
    """The fragments of one table by one attribute that hold provenance."""

    table: str
    ranges: Ranges
    fragments: frozenset[int]
    doubtful: frozenset[int] = frozenset()
    """Those of them that may be needless, in a sketch that does not shrink."""

    @property
    def slot(self) -> Slot:
        return Slot(self.table, self.ranges.attribute)

    @property
    def share(self) -> float:
        """Which share of the fragments is in it."""
        return len(self.fragments) / self.ranges.count

    def __str__(self) -> str:
        said = f"{self.table}.{self.ranges.attribute}: {len(self.fragments)} of {self.ranges.count} fragments"
        return f"{said} ({len(self.doubtful)} of them perhaps needless)" if self.doubtful else said


@dataclass(frozen=True, order=True)
class Slot:
    """What a part is about: a table, by the name that queries use, and an attribute of it."""

    table: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.table}.{self.attribute}"


@dataclass(frozen=True)
class Sketch:
    """What a query rests on, and at which version of each table that it reads this holds."""

    parts: tuple[SketchPart, ...]
    versions: Mapping[str, int] = field(default_factory=dict)

    def part(self, slot: Slot) -> SketchPart | None:
        return next((part for part in self.parts if part.slot == slot), None)

    def of_table(self, table: str) -> tuple[SketchPart, ...]:
        return tuple(part for part in self.parts if part.table == table)

    def covers(self, other: Sketch) -> bool:
        """Whether it holds all fragments of another with the same ranges."""
        pairs = [(part, self.part(part.slot)) for part in other.parts]
        return all(
            mine is not None and mine.ranges == part.ranges and mine.fragments >= part.fragments
            for part, mine in pairs
        )

    def changed(self, slot: Slot, add: frozenset[int], remove: frozenset[int]) -> Sketch:
        """The sketch after a delta of it (Δ𝒫): fragments that one part gains and loses."""
        parts = (
            replace(part, fragments=(part.fragments - remove) | add) if part.slot == slot else part
            for part in self.parts
        )
        return replace(self, parts=tuple(parts))

    def certain(self) -> Sketch:
        """Without the fragments that may be needless: what an exact sketch has at least, and not to be used."""
        parts = (
            replace(part, fragments=part.fragments - part.doubtful, doubtful=frozenset())
            for part in self.parts
        )
        return replace(self, parts=tuple(parts))

    def at(self, versions: Mapping[str, int]) -> Sketch:
        """The same sketch, of these versions."""
        return Sketch(self.parts, dict(versions))

    def __str__(self) -> str:
        return "; ".join(map(str, self.parts))
