"""One numbering for the fragments of all slots of a sketch, so that a row's annotation is a set of numbers.

>>> from headwater.sketch.ranges import Ranges
>>> by_a, by_b = Ranges("a", (5,)), Ranges("b", ())
>>> numbers = FragmentNumbers((SlotRanges(Slot("r", "a"), by_a), SlotRanges(Slot("s", "b"), by_b)))
>>> numbers.total, numbers.first(Slot("s", "b"))
(5, 3)
>>> numbers.by_slot({0, 4})
{Slot(table='r', attribute='a'): frozenset({0}), Slot(table='s', attribute='b'): frozenset({1})}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Sketch, SketchPart, Slot


@dataclass(frozen=True)
class SlotRanges:
    """A table's partition by one attribute."""

    slot: Slot
    ranges: Ranges


@dataclass(frozen=True)
class FragmentNumbers:
    """The slots of a sketch in order; the fragments of one come after those of the slots before it."""

    slots: tuple[SlotRanges, ...]

    @cached_property
    def _firsts(self) -> dict[Slot, int]:
        firsts, total = {}, 0
        for each in self.slots:
            firsts[each.slot] = total
            total += each.ranges.count
        return firsts

    @cached_property
    def _by_table(self) -> dict[str, tuple[SlotRanges, ...]]:
        tables = {each.slot.table for each in self.slots}
        return {name: tuple(each for each in self.slots if each.slot.table == name) for name in tables}

    @cached_property
    def total(self) -> int:
        """How many fragments there are in all."""
        return sum(each.ranges.count for each in self.slots)

    @cached_property
    def ranges(self) -> Mapping[Slot, Ranges]:
        """The ranges of each slot."""
        return {each.slot: each.ranges for each in self.slots}

    def first(self, slot: Slot) -> int:
        """The number of a slot's fragment 0."""
        return self._firsts[slot]

    def of_table(self, table: str) -> tuple[SlotRanges, ...]:
        """The partitions of one table."""
        return self._by_table.get(table, ())

    def by_slot(self, numbers: Iterable[int]) -> dict[Slot, frozenset[int]]:
        """The fragments of each slot that are among these numbers."""
        found: dict[Slot, set[int]] = {each.slot: set() for each in self.slots}
        ordered = list(reversed(self._firsts.items()))
        for number in numbers:
            slot, first = next((slot, first) for slot, first in ordered if first <= number)
            found[slot].add(number - first)
        return {slot: frozenset(fragments) for slot, fragments in found.items()}

    def sketch(
        self, numbers: Iterable[int], versions: Mapping[str, int], doubtful: Iterable[int] = ()
    ) -> Sketch:
        """The sketch of these fragments, of which some may be needless."""
        fragments, doubted = self.by_slot(numbers), self.by_slot(doubtful)
        parts = (
            SketchPart(each.slot.table, each.ranges, fragments[each.slot], doubted[each.slot])
            for each in self.slots
        )
        return Sketch(tuple(parts), dict(versions))
