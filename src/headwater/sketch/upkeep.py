"""A sketch of a query, maintained up to other versions of its tables: by what changed, or by state made again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from headwater.errors import SketchError
from headwater.events import Event
from headwater.sketch.asking_context import AskingContext
from headwater.sketch.cost import loss_by_maintaining
from headwater.sketch.kept import KeptQuery
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.safety.checking import broken_facts
from headwater.sketch.safety.outcome import SafetyProof
from headwater.sketch.tables.backend import TableDelta

MOST_STATE = 512 * 2**20
"""Bytes that the state of one sketch may take."""
FEWEST_RANGES = 8
"""With fewer ranges a sketch is not worth its state."""


@dataclass(frozen=True)
class UpkeepOutcome:
    """What is kept of the query now, by how many rows its sketch was maintained, and what that took."""

    kept: KeptQuery
    changed: int
    reason: str
    seconds: float
    events: tuple[Event, ...]


@dataclass
class Upkeep:
    """Maintains the sketch of a query, which is safe by a proof, up to some versions; given what ways are `predicted`
    to take, only if so many changes are worth it."""

    context: AskingContext
    kept: KeptQuery
    proof: SafetyProof
    at: Mapping[str, int]
    predicted: Mapping[str, float] | None = None

    @cached_property
    def maintainer(self) -> Maintainer:
        """What maintains the sketch: in memory, or from the state folder, or without state yet."""
        if self.kept.newest is None:
            raise SketchError("no-sketch", "there is no sketch to maintain", hint="capture it first")
        return self.context.book.maintainer(self.kept.name, self._new_maintainer)

    def _new_maintainer(self) -> Maintainer:
        ranges = self.context.prover.ranges(self.proof, self.kept, {})
        numbers = FragmentNumbers(tuple(SlotRanges(slot, each) for slot, each in ranges.items()))
        return Maintainer(
            self.proof.plan, numbers, self.context.tables.backend, switches=self.context.switches
        )

    def done(self) -> UpkeepOutcome:
        """Maintain it."""
        started = time.perf_counter()
        maintainer, deltas = self.maintainer, self.deltas()
        changed, reason = 0, "its state was made from the tables"
        events: tuple[Event, ...] = ()
        if maintainer.is_lost:
            with self.context.shown(f"making the state of {self.kept.name}"):
                maintainer.capture(dict(self.at))
                maintainer = self._fitting(maintainer)
        else:
            changed = sum(delta.size for delta in deltas.values())
            done = maintainer.apply(deltas, dict(self.at))
            events = done.events
            said = "its tables changed" if changed else "nothing that it reads has changed"
            reason = "; ".join((said, *(f"{each} was filled anew" for each in done.refilled)))
        kept = self.kept.with_sketch(maintainer.sketch)
        seconds = time.perf_counter() - started
        if changed:
            kept = replace(kept, costs=kept.costs.observed("maintain", changed, seconds))
        return UpkeepOutcome(kept, changed, reason, seconds, events)

    def deltas(self) -> dict[str, TableDelta]:
        """What changed since the sketch was maintained; refused where it breaks facts or is not worth it."""
        maintainer, newest = self.maintainer, self.kept.newest
        assert newest is not None
        seen = dict(newest.versions if maintainer.versions is None else maintainer.versions)
        deltas = self._deltas_since(seen, {} if maintainer.is_lost else maintainer.columns_read)
        self._check_facts(deltas)
        if not maintainer.is_lost:
            self._refuse_loss(sum(delta.size for delta in deltas.values()))
        return deltas

    def _deltas_since(
        self, seen: Mapping[str, int], read: Mapping[str, frozenset[str]]
    ) -> dict[str, TableDelta]:
        """What has changed since some versions, of columns that are read and of those that facts are about."""
        backend = self.context.tables.backend
        wanted = {table: set(columns) for table, columns in read.items()}
        for fact in self.kept.facts:
            columns = backend.schemas()[fact.table].columns
            named = {each.name for each in columns if each.name.lower() == fact.column.lower()}
            wanted.setdefault(fact.table, set()).update(named)
        return {
            table: backend.changes(table, seen[table], self.at[table], columns=sorted(wanted[table]))
            for table in self.at
            if seen[table] != self.at[table] and table in wanted
        }

    def _check_facts(self, deltas: Mapping[str, TableDelta]) -> None:
        """Refuse if rows that have come break what the sketch rests on."""
        broken = [fact for delta in deltas.values() for fact in sorted(broken_facts(self.kept.facts, delta))]
        if broken:
            self.context.book.forget_maintainer(self.kept.name)
            raise SketchError("fact-broken", f"the sketch rested on {broken[0]}, which no longer holds")

    def _refuse_loss(self, changed: int) -> None:
        """Refuse to maintain the sketch by more rows than is worth it, now that they are known."""
        seconds = self.kept.costs.predicted("maintain", changed)
        if self.predicted is None or seconds is None:
            return
        once = {**self.predicted, "maintain": seconds}
        loss = loss_by_maintaining(once, self.kept.to_come(self.at), changed)
        if loss:
            raise SketchError("not-worth-it", loss)

    def _fitting(self, maintainer: Maintainer) -> Maintainer:
        """What maintains the sketch in bounded memory: where its state is too large, ranges are made coarser."""
        book, backend = self.context.book, self.context.tables.backend
        while maintainer.nbytes > MOST_STATE:
            slots = tuple(
                SlotRanges(each.slot, each.ranges.coarser(each.ranges.count // 4))
                for each in maintainer.numbers.slots
            )
            if max(each.ranges.count for each in slots) < FEWEST_RANGES:
                book.forget_maintainer(self.kept.name)
                raise SketchError(
                    "state-too-large", f"what maintains the sketch would take {maintainer.nbytes:,} bytes"
                )
            numbers, switches = FragmentNumbers(slots), maintainer.switches
            maintainer = Maintainer(maintainer.plan, numbers, backend, switches=switches)
            maintainer.capture(dict(self.at))
            book.keep_maintainer(self.kept.name, maintainer)
        return maintainer
