"""One query on the way to its answer: what can be done about it, what that will cost, and doing it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from headwater.errors import HeadwaterError, SketchError
from headwater.language.sql.algebra import scans
from headwater.language.sql.query import SqlQuery
from headwater.sketch.answers import AnswerDestination, CollectedAnswers
from headwater.sketch.asking_context import AskingContext
from headwater.sketch.cost import GAIN, Way, loss_by_capturing, loss_by_maintaining
from headwater.sketch.decision import SketchAnswer, SketchDecision
from headwater.sketch.kept import KeptQuery
from headwater.sketch.ranges import Ranges
from headwater.sketch.reuse.reuse import Reusable, reusable
from headwater.sketch.reuse.templates import template_of
from headwater.sketch.safety.explain import explain_safety
from headwater.sketch.safety.facts import declared
from headwater.sketch.safety.outcome import SafetyProof, SafetyRefusal
from headwater.sketch.safety.rules import prove
from headwater.sketch.sketch import Sketch, Slot
from headwater.sketch.tables.backend import Backend
from headwater.sketch.upkeep import Upkeep
from headwater.sketch.use import sketched_plan
from headwater.wording import counted

CAPTURED_AGAIN = (
    "not-maintained",
    "state-too-large",
    "no-changes",
    "state-lost",
    "negative-count",
    "not-worth-it",
)
"""What ends maintenance, so that a sketch is captured again, if that pays."""
GIVEN_UP = (*CAPTURED_AGAIN, "no-capture", "fact-broken")
"""What ends a way without ending the query: another way is taken."""


class AskedQuery:
    """One query at some versions, on the way to its answer; one that is only explained leaves what is kept alone."""

    def __init__(
        self,
        context: AskingContext,
        query: SqlQuery,
        kept: KeptQuery,
        at: dict[str, int],
        *,
        is_past: bool = False,
        is_explained: bool = False,
        answers: AnswerDestination | None = None,
    ):
        self.context, self.query, self.kept, self.at = context, query, kept, at
        self.is_past, self.is_explained = is_past, is_explained
        self.backend: Backend = context.tables.backend
        self.answers = answers or CollectedAnswers(self.backend)
        self._proof: SafetyProof | SafetyRefusal | None = None
        self._lent: Sketch | None = None
        self.borrowed = ""
        self._cut_before: dict[Slot, Ranges] = {}
        if self._is_of_others():
            context.book.forget_maintainer(kept.name)
            self._forget_sketches()

    def _is_of_others(self) -> bool:
        """Whether a sketch that could be used or maintained is of other rows than its versions are of now."""
        newest, now = self.kept.newest, self.kept.at(self.at)
        if newest is None:
            return False
        if not self.is_past and any(newest.versions.get(table, 0) > self.at[table] for table in self.at):
            return True  # a table went back, and goes on from there in another way
        wanted = [newest] if now is None or now is newest else [newest, now]
        return any(self.kept.is_of_others(each, self.backend.marks(each.versions)) for each in wanted)

    # -------------------------------------------------------------- deciding

    def answered(self, forced: Way | None) -> SketchAnswer:
        way, reason, predicted = self._chosen(forced)
        try:
            match way:
                case "capture":
                    return self._capture(reason, predicted)
                case "use":
                    return self._use(reason, predicted)
                case "maintain":
                    return self._maintain_and_use(reason, predicted, is_forced=bool(forced))
        except HeadwaterError as error:
            if forced or error.code not in GIVEN_UP:
                raise
            way, reason = self._chosen_after(error, predicted)
            if way == "capture":
                return self._capture(reason, predicted)
        return self._plain(reason, predicted)

    def _chosen(self, forced: Way | None = None) -> tuple[Way, str, dict[str, float]]:
        """The way to begin with, why, and what ways are predicted to take."""
        way, reason, predicted = (forced, "asked for", self._predicted()) if forced else self._decided()
        if way == "capture":
            self._forget_broken()
            if self.kept.unmaintained and not forced:  # it is cut by the rows of now
                self._forget_sketches()
        if way != "plain" and isinstance(self.proof, SafetyRefusal):
            if forced:
                raise SketchError(
                    "not-safe", explain_safety(self.proof), hint="ask for the plain way, or none"
                )
            is_useless = self.proof.code == "unclustered"
            way, reason = "plain", f"no sketch is {'of use' if is_useless else 'safe'} ({self.proof.code})"
        if way == "capture" and not forced and not any(map(self.backend.rows, self.at)):
            way, reason = "plain", "its tables have no rows, which says nothing of where to cut them"
        return way, reason, predicted

    def _chosen_after(self, error: HeadwaterError, predicted: Mapping[str, float]) -> tuple[Way, str]:
        """The way to go on where one was given up: by a new sketch, if that pays, or plainly."""
        reason = error.message
        loss = ""
        self._note_unmaintained(error)
        if error.code in CAPTURED_AGAIN:
            loss = loss_by_capturing(predicted, self.kept.to_come(self.at))
        if loss and error.code != "negative-count":  # which says that the state is of other rows
            return "plain", f"{reason}; {loss}"
        self._forget_sketches()
        if error.code == "no-capture":
            self.kept = replace(self.kept, refused=error.message)
        elif error.code in CAPTURED_AGAIN and not loss and isinstance(self.proof, SafetyProof):
            return "capture", reason
        return "plain", f"{reason}; {loss}" if loss else reason

    def _note_unmaintained(self, error: HeadwaterError) -> None:
        """Remember that what maintains a sketch is too large: to find that out, whole tables were read."""
        if error.code == "state-too-large":
            self.kept = replace(self.kept, unmaintained=error.message)

    def _decided(self) -> tuple[Way, str, dict[str, float]]:
        predicted = self._predicted()
        if self.kept.refused:
            return "plain", self.kept.refused, predicted
        plain, use = predicted.get("plain"), predicted.get("use")
        is_useless = plain is not None and use is not None and use > plain * GAIN
        if is_useless and self.kept.newest is not None:
            said = f"using the sketch would save nothing: {use:.3f} s, plain {plain:.3f} s"
            return "plain", said, predicted
        if self.kept.at(self.at) is not None:
            return "use", "the sketch is of these versions", predicted
        if self.is_past:
            return "plain", "no sketch of these versions is kept", predicted
        if self.kept.newest is None and self._borrow():
            return "use", f"the sketch of query {self.borrowed} answers it, too", predicted
        if self.kept.newest is not None:
            to_come = self.kept.to_come(self.at)
            loss = self.kept.unmaintained or loss_by_maintaining(predicted, to_come)
            if loss:
                worse = loss_by_capturing(predicted, to_come)
                said = f"{loss}; {worse}" if worse and self.kept.unmaintained else loss
                return "plain" if worse else "capture", said, predicted
            return "maintain", "the sketch is of older versions", predicted
        if self.kept.asked < 2:
            return "plain", "asked for the first time", predicted
        return "capture", self._why_captured(predicted), predicted

    def _why_captured(self, predicted: Mapping[str, float]) -> str:
        """A capture takes longer than the plain query, once: later queries are to make up for that."""
        why = f"asked {counted(self.kept.asked, 'time')}, and a sketch is safe"
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
        template = template_of(self.query.plan)
        for other in self.context.book:
            if other.newest is None or other.name == self.kept.name:
                continue
            query = self.context.prover.plan_of(other)
            if query is None or self.context.prover.template(other, query) != template:
                continue  # known before anything is proved, which takes longer
            known = declared(self.backend.schemas(), other.facts.__contains__)
            slots = [part.slot for part in other.newest.parts]
            first, second = prove(query.plan, slots, known), prove(self.query.plan, slots, known)
            if isinstance(first, SafetyRefusal) or isinstance(second, SafetyRefusal):
                continue
            if isinstance(reusable(first, second, known), Reusable):
                lender = AskedQuery(self.context, query, other, self.at, is_explained=self.is_explained)
                brought_up = lender.could_be_brought_up if self.is_explained else lender.was_brought_up
                if lender.kept.at(self.at) is None and not brought_up():
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
            self._proof = self.context.prover.proved(self.query, self.kept, self.at)
        return self._proof

    def _forget_sketches(self) -> None:
        """Begin again: what the sketches rested on is looked up anew."""
        if self.kept.newest is not None:
            self._cut_before = {part.slot: part.ranges for part in self.kept.newest.parts}
        if not self.is_explained:  # the state is of a version from which no known changes lead to these
            self.context.book.forget_state(self.kept.name)
        self.kept = replace(self.kept, sketches=(), facts=frozenset())
        self._proof = None

    def _forget_broken(self) -> None:
        """Before a capture: nobody has looked yet whether what older sketches rest on holds at these versions."""
        holds = self.context.prover.known(self.at)
        broken = [fact for fact in sorted(self.kept.facts) if not holds(fact)]
        if broken and self.is_past:
            raise SketchError(
                "not-safe",
                f"sketches of this query rest on {broken[0]}, which does not hold at these versions",
                hint="ask for the plain way, or none",
            )
        if broken:
            self._forget_sketches()

    def _ranges(self, proof: SafetyProof) -> dict[Slot, Ranges]:
        return self.context.prover.ranges(proof, self.kept, self._cut_before)

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
        with self.context.shown(f"capturing {self.kept.name}"):
            found = self.answers.captured(proof.plan, accesses, self.at)
        seconds = self._observed("capture", 1.0, started)
        if self.is_past or self.kept.newest is None:  # the state that there may be is of no earlier version
            self.context.book.forget_state(self.kept.name)
        self.kept = replace(self.kept.with_sketch(found.sketch), facts=proof.facts)
        self.context.book.forget_maintainer(self.kept.name)
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

    def _maintain_and_use(
        self, reason: str, predicted: dict[str, float], *, is_forced: bool = False
    ) -> SketchAnswer:
        done = self.brought_up(None if is_forced else predicted)
        answer = self._use(f"{reason}; {done.reason}", predicted, "maintain", done.changed, done.seconds)
        return replace(answer, decision=replace(answer.decision, events=done.events))

    def was_brought_up(self) -> bool:
        """Maintain the sketch for another query's sake, and keep that; whether it could be."""
        done = self._is_done(self.brought_up)
        if done:
            self.learn()
        return done

    def learn(self) -> None:
        """Keep what is known of the query now, if the present moment ends well."""
        if self.kept.newest is not None and self.kept.newest.versions == self.at:
            self.kept = self.kept.with_marks(self.at, self.backend.marks(self.at))
        self.context.book.learn(self.kept)

    def could_be_brought_up(self) -> bool:
        """Whether the sketch could be maintained, without doing it."""
        return self._is_done(lambda: self._upkeep(None).deltas())

    def _is_done(self, upkeep: Callable[[], object]) -> bool:
        """Whether something about maintaining the sketch was done, and not given up."""
        if self.kept.unmaintained or self.kept.newest is None:
            return False
        try:
            upkeep()
        except HeadwaterError as error:
            if error.code not in GIVEN_UP:
                raise
            return False
        return True

    def renewed(self) -> SketchDecision:
        """The sketch at the versions asked for: maintained, or captured anew where that cannot be; one that rested on
        a fact that broke is dropped."""
        try:
            if self.kept.unmaintained:
                raise SketchError("state-too-large", self.kept.unmaintained)
            if self.kept.newest is None:
                raise SketchError("no-changes", "the sketch was of other rows with these versions")
            return self.brought_up()
        except HeadwaterError as error:
            if error.code not in GIVEN_UP:
                raise
            self._note_unmaintained(error)
            self._forget_sketches()
            if error.code in ("fact-broken", "no-capture") or isinstance(self.proof, SafetyRefusal):
                return self._decision("plain", error.message, {}, 0.0)
            captured: SketchDecision = self._capture(error.message, {}).decision
            return captured

    def brought_up(self, predicted: Mapping[str, float] | None = None) -> SketchDecision:
        """The sketch, maintained up to the versions asked for; given what ways are predicted to take, only if so many
        changes are worth it."""
        done = self._upkeep(predicted).done()
        self.kept = replace(done.kept, unmaintained="")
        said = self._decision("maintain", done.reason, {}, done.seconds, done.kept.newest)
        return replace(said, changed=done.changed, maintaining=done.seconds, events=done.events)

    def _upkeep(self, predicted: Mapping[str, float] | None) -> Upkeep:
        return Upkeep(self.context, self.kept, self._safe(), self.at, predicted)

    # -------------------------------------------------------------- saying it

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
        lines = [
            f"query {self.kept.name}, asked {counted(self.kept.asked, 'time')}",
            explain_safety(self.proof),
        ]
        for sketch in self.kept.sketches:
            at = ", ".join(f"{table} at {version}" for table, version in sorted(sketch.versions.items()))
            said = f"sketch of {at}: {sketch}; {self._share(sketch):.1%} of the rows would be read"
            surplus = self._surplus(sketch)
            lines.append(said + (f", at most {surplus:.1%} of the rows needlessly" if surplus else ""))
        if self.kept.refused:
            lines.append(f"no sketch: {self.kept.refused}")
        way, reason, predicted = self._next()
        costs = ", ".join(f"{each} {seconds:.3f} s" for each, seconds in predicted.items())
        lines.append(f"next: {way}: {reason}" + (f" (expected: {costs})" if costs else ""))
        return "\n".join(lines)

    def _next(self) -> tuple[Way, str, dict[str, float]]:
        """What would be done if it were asked now. What changed is read for that, as it would be then: by how many
        rows a sketch must be maintained decides."""
        self.kept = self.kept.counted(self.at)
        way, reason, predicted = self._chosen()
        if way != "maintain" or self.kept.newest is None:
            return way, reason, predicted
        try:
            upkeep = self._upkeep(predicted)
            changed = sum(delta.size for delta in upkeep.deltas().values())
        except HeadwaterError as error:
            if error.code not in GIVEN_UP:
                raise
            return (*self._chosen_after(error, predicted), predicted)
        if upkeep.maintainer.is_lost:
            return way, f"{reason}; its state is made from the tables", predicted
        seconds = self.kept.costs.predicted("maintain", changed)
        expected = predicted if seconds is None else {**predicted, "maintain": seconds}
        return way, f"{reason}, by {counted(changed, 'row')} that changed", expected
