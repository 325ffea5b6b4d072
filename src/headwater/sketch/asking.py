"""One query on the way to its answer: what can be done about it, what that will cost, and doing it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.errors import HeadwaterError, SketchError, SqlError
from headwater.events import Event
from headwater.language.sql.algebra import scans
from headwater.language.sql.query import SqlQuery
from headwater.sketch.advice import DEFAULT_RANGES, advise, make_ranges
from headwater.sketch.answers import AnswerDestination, CollectedAnswers
from headwater.sketch.cost import Way
from headwater.sketch.decision import SketchAnswer, SketchDecision
from headwater.sketch.kept import KeptQuery
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.progress import shown
from headwater.sketch.ranges import Ranges
from headwater.sketch.reuse.reuse import Reusable, reusable
from headwater.sketch.safety.checking import broken_facts
from headwater.sketch.safety.explain import explain_safety
from headwater.sketch.safety.facts import KnownFacts, declared
from headwater.sketch.safety.outcome import SafetyProof, SafetyRefusal
from headwater.sketch.safety.rules import prove
from headwater.sketch.sketch import Sketch, Slot
from headwater.sketch.tables.backend import Backend, TableDelta
from headwater.sketch.use import sketched_plan

if TYPE_CHECKING:
    from headwater.sketch.sketches import Sketches

GAIN = 0.95
"""A way is taken instead of the plain one if it is expected to take less than this share of its time."""
MOST_STATE = 512 * 2**20
"""Bytes that the state of one sketch may take."""
FEWEST_RANGES = 8
"""With fewer ranges a sketch is not worth its state."""
GIVEN_UP = ("no-capture", "not-maintained", "no-changes", "state-lost", "fact-broken", "negative-count")
"""What ends a way without ending the query: another way is taken."""


class AskedQuery:
    """One query at some versions, on the way to its answer."""

    def __init__(
        self,
        owner: Sketches,
        query: SqlQuery,
        kept: KeptQuery,
        at: dict[str, int],
        *,
        is_past: bool = False,
        answers: AnswerDestination | None = None,
    ):
        self.owner, self.query, self.kept, self.at, self.is_past = owner, query, kept, at, is_past
        self.backend: Backend = owner.backend
        self.answers = answers or CollectedAnswers(self.backend)
        self._proof: SafetyProof | SafetyRefusal | None = None
        self._lent: Sketch | None = None
        self.borrowed = ""
        self._cut_before: dict[Slot, Ranges] = {}

    # -------------------------------------------------------------- deciding

    def answered(self, forced: Way | None) -> SketchAnswer:
        way, reason, predicted = (forced, "asked for", self._predicted()) if forced else self._decided()
        if way == "capture":
            self._forget_broken()
        if way != "plain" and isinstance(self.proof, SafetyRefusal):
            if forced:
                raise SketchError(
                    "not-safe", explain_safety(self.proof), hint="ask for the plain way, or none"
                )
            way, reason = "plain", f"no sketch is safe ({self.proof.code})"
        if way == "capture" and not forced and not any(map(self.backend.rows, self.at)):
            way, reason = "plain", "its tables have no rows, which says nothing of where to cut them"
        try:
            match way:
                case "capture":
                    return self._capture(reason, predicted)
                case "use":
                    return self._use(reason, predicted)
                case "maintain":
                    return self._maintain_and_use(reason, predicted)
        except HeadwaterError as error:
            if forced or error.code not in GIVEN_UP:
                raise
            self._forget_sketches()
            reason = error.message
            if error.code == "no-capture":
                self.kept = replace(self.kept, refused=error.message)
            elif error.code != "fact-broken" and isinstance(self.proof, SafetyProof):
                return self._capture(reason, predicted)
        return self._plain(reason, predicted)

    def _decided(self) -> tuple[Way, str, dict[str, float]]:
        predicted = self._predicted()
        if self.kept.refused:
            return "plain", self.kept.refused, predicted
        stored = self.kept.at(self.at)
        plain = predicted.get("plain")
        if stored is not None:
            use = predicted.get("use")
            if plain is not None and use is not None and use > plain * GAIN:
                return "plain", f"the sketch would save nothing ({use:.3f} s of {plain:.3f} s)", predicted
            return "use", "the sketch is of these versions", predicted
        if self.is_past:
            return "plain", "no sketch of these versions is kept", predicted
        if self.kept.newest is None and self._borrow():
            return "use", f"the sketch of query {self.borrowed} answers it, too", predicted
        if self.kept.newest is not None:
            both = predicted.get("maintain", 0.0) + predicted.get("use", 0.0)
            if plain is not None and "maintain" in predicted and both > plain * GAIN:
                return "plain", f"maintaining and using take {both:.3f} s, plain {plain:.3f} s", predicted
            return "maintain", "the sketch is of older versions", predicted
        if self.kept.asked < 2:
            return "plain", "asked for the first time", predicted
        return "capture", self._why_captured(predicted), predicted

    def _why_captured(self, predicted: Mapping[str, float]) -> str:
        """A capture takes longer than the plain query, once: later queries are to make up for that."""
        why = f"asked for the {self.kept.asked}. time, and a sketch is safe"
        if not {"capture", "plain"} <= predicted.keys():
            return why
        return (
            f"{why}; once {predicted['capture']:.3f} s beside {predicted['plain']:.3f} s for the plain query"
        )

    def _predicted(self) -> dict[str, float]:
        costs, share = self.kept.costs, self._share(self.kept.newest)
        sizes: dict[Way, float] = {"plain": 1.0, "capture": 1.0, "use": share, "maintain": 0.0}
        found = {way: costs.predicted(way, size) for way, size in sizes.items()}
        return {way: seconds for way, seconds in found.items() if seconds is not None}

    def _share(self, sketch: Sketch | None) -> float:
        """Which share of the rows of sketched tables lies in blocks that must be read."""
        if sketch is None:
            return 1.0
        wanted = total = 0.0
        for part in sketch.parts:
            layout = self.backend.layout(part.table, part.ranges.attribute, sketch.versions.get(part.table))
            rows = layout.rows if layout else 1
            share = layout.share_read(part.ranges, part.fragments) if layout else part.share
            wanted, total = wanted + share * rows, total + rows
        return wanted / total if total else 1.0

    def _surplus(self, sketch: Sketch | None) -> float:
        """Which share of the rows is read, at most, for fragments that an exact sketch would not have."""
        if sketch is None or not any(part.doubtful for part in sketch.parts):
            return 0.0
        return self._share(sketch) - self._share(sketch.certain())

    def _borrow(self) -> bool:
        """Whether the sketch of a query that differs in constants answers this one: it is maintained, and taken."""
        for other in self.owner.list():
            if other.newest is None or other.name == self.kept.name:
                continue
            try:
                query = self.owner._parsed(other.text)
            except SqlError:  # of columns that are gone: that is for whoever asks it
                continue
            known = declared(self.backend.schemas(), other.facts.__contains__)
            slots = [part.slot for part in other.newest.parts]
            first, second = prove(query.plan, slots, known), prove(self.query.plan, slots, known)
            if isinstance(first, SafetyRefusal) or isinstance(second, SafetyRefusal):
                continue
            if isinstance(reusable(first, second, known), Reusable):
                lender = AskedQuery(self.owner, query, other, self.at)
                if lender.kept.at(self.at) is None and not lender.can_be_brought_up():
                    continue
                self._proof, self.borrowed = second, other.name
                self._lent = lender.kept.at(self.at)
                return True
        return False

    # -------------------------------------------------------------- proofs

    @property
    def proof(self) -> SafetyProof | SafetyRefusal:
        """Whether sketches on the chosen attributes are safe; those of a sketch that there is, or advised ones."""
        if self._proof is None:
            self._proof = self._proved()
        return self._proof

    @property
    def _known(self) -> KnownFacts:
        """What holds at the versions asked for."""
        return declared(self.backend.schemas(), self.owner._facts.at(self.at))

    def _forget_sketches(self) -> None:
        """Begin again: what the sketches rested on is looked up anew."""
        if self.kept.newest is not None:
            self._cut_before = {part.slot: part.ranges for part in self.kept.newest.parts}
        self.owner._state.drop_state(self.kept.name)  # of a version from which no known changes lead to these
        self.kept = replace(self.kept, sketches=(), facts=frozenset())
        self._proof = None

    def _forget_broken(self) -> None:
        """Before a capture: nobody has looked yet whether what older sketches rest on holds at these versions."""
        broken = [fact for fact in sorted(self.kept.facts) if not self._known(fact)]
        if broken and self.is_past:
            raise SketchError(
                "not-safe",
                f"sketches of this query rest on {broken[0]}, which does not hold at these versions",
                hint="ask for the plain way, or none",
            )
        if broken:
            self._forget_sketches()

    def _proved(self) -> SafetyProof | SafetyRefusal:
        known = self._known
        if self.kept.newest is not None:  # what it rests on is checked with every delta
            kept = declared(self.backend.schemas(), self.kept.facts.__contains__)
            return prove(self.query.plan, [part.slot for part in self.kept.newest.parts], kept)
        slots: list[Slot] = []
        first: SafetyRefusal | None = None
        for slot in (slot for table in sorted(self.at) for slot in self._candidates(table)):
            outcome = prove(self.query.plan, [*slots, slot], known)
            if isinstance(outcome, SafetyProof):
                slots.append(slot)
            else:
                first = first or outcome
        if slots:
            return prove(self.query.plan, slots, known)
        return first or SafetyRefusal("no-access", "Scan", "no table is clustered by a safe attribute")

    def _candidates(self, table: str) -> list[Slot]:
        """The attributes that were chosen for a table, or the one that is advised."""
        chosen = self.owner._tables[table].partition
        if chosen:
            return [Slot(table, name) for name in chosen]
        past = self.owner._past(self.kept.name)
        found = advise(self.backend, self.query.plan, self._known, [table], past)
        return [each.slot for each in found if each.is_useful][:1]

    def _ranges(self, proof: SafetyProof) -> dict[Slot, Ranges]:
        newest = self.kept.newest
        made = {part.slot: part.ranges for part in newest.parts} if newest is not None else {}
        counts = {slot: self.owner._tables[slot.table].ranges or DEFAULT_RANGES for slot in proof.slots}
        return {slot: made.get(slot) or self._cut(slot, counts[slot]) for slot in sorted(proof.slots)}

    def _cut(self, slot: Slot, count: int) -> Ranges:
        """New ranges; a table that has lost all its rows is cut as it was before, for those that will come."""
        found = make_ranges(self.backend, slot, count)
        return found if found.bounds else self._cut_before.get(slot, found)

    def _safe(self) -> SafetyProof:
        if isinstance(self.proof, SafetyRefusal):
            raise SketchError("not-safe", explain_safety(self.proof))
        return self.proof

    # -------------------------------------------------------------- the ways

    def _plain(self, reason: str, predicted: dict[str, float]) -> SketchAnswer:
        started = time.perf_counter()
        rows = self.answers.rows(self.query.plan, self.at)
        seconds = self._observed("plain", 1.0, started)
        return SketchAnswer(rows, self._decision("plain", reason, predicted, seconds))

    def _capture(self, reason: str, predicted: dict[str, float]) -> SketchAnswer:
        proof = self._safe()
        ranges = self._ranges(proof)
        accesses = {
            scan.access: tuple(ranges[slot] for slot in ranges if slot.table == scan.table)
            for scan in scans(proof.plan)
            if scan.access in proof.accesses
        }
        started = time.perf_counter()
        with self._shown("capturing"):
            found = self.answers.captured(proof.plan, accesses, self.at)
        seconds = self._observed("capture", 1.0, started)
        self.kept = replace(self.kept.with_sketch(found.sketch), facts=proof.facts)
        self.owner._maintainers.pop(self.kept.name, None)
        said = self._decision("capture", reason, predicted, seconds, found.sketch)
        return SketchAnswer(found.answer, said)

    def _use(
        self, reason: str, predicted: dict[str, float], way: Way = "use", changed: int = 0, spent: float = 0.0
    ) -> SketchAnswer:
        proof = self._safe()
        sketch = self.kept.at(self.at) or self._lent
        if sketch is None:
            raise SketchError(
                "no-sketch", "no sketch of these versions is kept", hint="capture or maintain it first"
            )
        plan = sketched_plan(proof.plan, sketch, proof.accesses)
        started = time.perf_counter()
        rows = self.answers.rows(plan, self.at, self._for_files(sketch, proof))
        seconds = self._observed("use", self._share(sketch), started)
        said = self._decision(way, reason, predicted, seconds + spent, sketch)
        return SketchAnswer(rows, replace(said, changed=changed, maintaining=spent))

    def _for_files(self, sketch: Sketch, proof: SafetyProof) -> Sketch:
        """The parts of tables that are read through the sketch everywhere: their files can be left out."""
        whole = {scan.table for scan in scans(proof.plan) if scan.access not in proof.accesses}
        return replace(sketch, parts=tuple(part for part in sketch.parts if part.table not in whole))

    def _maintain_and_use(self, reason: str, predicted: dict[str, float]) -> SketchAnswer:
        done = self.brought_up()
        answer = self._use(f"{reason}; {done.reason}", predicted, "maintain", done.changed, done.seconds)
        return replace(answer, decision=replace(answer.decision, events=done.events))

    def can_be_brought_up(self) -> bool:
        """Maintain the sketch for another query's sake, and keep that; whether it could be."""
        try:
            self.brought_up()
        except HeadwaterError as error:
            if error.code not in GIVEN_UP:
                raise
            return False
        self.owner._learned.append(self.kept)
        return True

    def renewed(self) -> SketchDecision:
        """The sketch at the versions asked for: maintained, or captured anew where that cannot be; one that rested on
        a fact that broke is dropped."""
        try:
            return self.brought_up()
        except HeadwaterError as error:
            if error.code not in GIVEN_UP:
                raise
            self._forget_sketches()
            if error.code in ("fact-broken", "no-capture") or isinstance(self.proof, SafetyRefusal):
                return self._decision("plain", error.message, {}, 0.0)
            captured: SketchDecision = self._capture(error.message, {}).decision
            return captured

    def brought_up(self) -> SketchDecision:
        """The sketch, maintained up to the versions asked for."""
        proof = self._safe()
        newest = self.kept.newest
        if newest is None:
            raise SketchError("no-sketch", "there is no sketch to maintain", hint="capture it first")
        started = time.perf_counter()
        maintainer = self._maintainer(proof)
        seen = dict(newest.versions if maintainer.versions is None else maintainer.versions)
        deltas = self._deltas(seen, {} if maintainer.is_lost else maintainer.columns_read)
        self._check_facts(deltas)
        events: tuple[Event, ...] = ()
        if maintainer.is_lost:
            with self._shown("making the state of"):
                maintainer.capture(self.at)
                maintainer = self._fitting(maintainer)
            changed, reason = 0, "its state was made from the tables"
        else:
            done = maintainer.apply(deltas, self.at)
            changed, events = sum(delta.size for delta in deltas.values()), done.events
            reason = "; ".join(("its tables changed", *(f"{each} was filled anew" for each in done.refilled)))
        self.kept = self.kept.with_sketch(maintainer.sketch)
        seconds = time.perf_counter() - started
        if changed:
            self.kept = replace(self.kept, costs=self.kept.costs.observed("maintain", changed, seconds))
        said = self._decision("maintain", reason, {}, seconds, maintainer.sketch)
        return replace(said, changed=changed, maintaining=seconds, events=events)

    def _deltas(self, seen: Mapping[str, int], read: Mapping[str, frozenset[str]]) -> dict[str, TableDelta]:
        """What has changed since some versions, of columns that are read and of those that facts are about."""
        wanted = {table: set(columns) for table, columns in read.items()}
        for fact in self.kept.facts:
            columns = self.backend.schemas()[fact.table].columns
            named = {each.name for each in columns if each.name.lower() == fact.column.lower()}
            wanted.setdefault(fact.table, set()).update(named)
        return {
            table: self.backend.changes(table, seen[table], self.at[table], columns=sorted(wanted[table]))
            for table in self.at
            if seen[table] != self.at[table] and table in wanted
        }

    def _check_facts(self, deltas: Mapping[str, TableDelta]) -> None:
        """Drop the sketch if rows that have come break what it rests on."""
        broken = [fact for delta in deltas.values() for fact in sorted(broken_facts(self.kept.facts, delta))]
        if broken:
            self._proof = None
            self.owner._maintainers.pop(self.kept.name, None)
            raise SketchError("fact-broken", f"the sketch rested on {broken[0]}, which no longer holds")

    def _maintainer(self, proof: SafetyProof) -> Maintainer:
        """What maintains the sketch: in memory, or from the state folder, or without state yet."""
        known = self.owner._maintainers.pop(self.kept.name, None)
        if known is None:
            slots = tuple(SlotRanges(slot, ranges) for slot, ranges in self._ranges(proof).items())
            known = Maintainer(
                proof.plan, FragmentNumbers(slots), self.backend, switches=self.owner._switches
            )
            try:
                known.restore(self.owner._state.state_of(self.kept.name))
            except HeadwaterError as error:
                known.forget()
                if error.code == "damaged":  # it could not be written either
                    self.owner._state.drop_state(self.kept.name)
        self.owner._maintainers[self.kept.name] = known  # the last of all, of which the first go
        return known

    def _fitting(self, maintainer: Maintainer) -> Maintainer:
        """What maintains the sketch in bounded memory: where its state is too large, ranges are made coarser."""
        while maintainer.nbytes > MOST_STATE:
            slots = tuple(
                SlotRanges(each.slot, each.ranges.coarser(each.ranges.count // 4))
                for each in maintainer.numbers.slots
            )
            if max(each.ranges.count for each in slots) < FEWEST_RANGES:
                self.owner._maintainers.pop(self.kept.name, None)
                raise SketchError(
                    "not-maintained", f"what maintains the sketch would take {maintainer.nbytes:,} bytes"
                )
            numbers, switches = FragmentNumbers(slots), maintainer.switches
            maintainer = Maintainer(maintainer.plan, numbers, self.backend, switches=switches)
            maintainer.capture(self.at)
            self.owner._maintainers[self.kept.name] = maintainer
        return maintainer

    # -------------------------------------------------------------- saying it

    def _shown(self, doing: str) -> AbstractContextManager[None]:
        """Show how far the backend is with something that reads whole tables."""
        return shown(self.owner._screen, f"{doing} {self.kept.name}", self.backend.tasks)

    def _observed(self, way: Way, size: float, started: float) -> float:
        seconds = time.perf_counter() - started
        self.kept = replace(self.kept, costs=self.kept.costs.observed(way, size, seconds))
        return seconds

    def _decision(
        self, way: Way, reason: str, predicted: dict[str, float], seconds: float, sketch: Sketch | None = None
    ) -> SketchDecision:
        read = self._share(sketch) if sketch is not None and way != "capture" else 1.0
        said = str(sketch) if sketch is not None else ""
        surplus = self._surplus(sketch) if way != "capture" else 0.0
        at = dict(self.at)
        return SketchDecision(
            way, reason, self.kept.name, at, seconds, predicted, read, said, surplus=surplus
        )

    def explained(self) -> str:
        """The proof or the refusal, the sketches there are, and what each way is expected to cost."""
        lines = [f"query {self.kept.name}, asked {self.kept.asked} times", explain_safety(self.proof)]
        for sketch in self.kept.sketches:
            at = ", ".join(f"{table} at {version}" for table, version in sorted(sketch.versions.items()))
            said = f"sketch of {at}: {sketch}; {self._share(sketch):.1%} of the rows would be read"
            surplus = self._surplus(sketch)
            lines.append(said + (f", at most {surplus:.1%} of the rows needlessly" if surplus else ""))
        if self.kept.refused:
            lines.append(f"no sketch: {self.kept.refused}")
        way, reason, predicted = self._decided()
        if way != "plain" and isinstance(self.proof, SafetyRefusal):
            way, reason = "plain", f"no sketch is safe ({self.proof.code})"
        costs = ", ".join(f"{each} {seconds:.3f} s" for each, seconds in predicted.items())
        lines.append(f"next: {way}: {reason}" + (f" (expected: {costs})" if costs else ""))
        return "\n".join(lines)
