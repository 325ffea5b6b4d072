"""Which sketches are safe for a query, and by which ranges: on the attributes of the sketches that it has, on those
that were chosen for its tables, or on advised ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headwater.errors import SqlError
from headwater.language.sql.query import SqlQuery
from headwater.sketch.advice import DEFAULT_RANGES, PastQuery, advise, make_ranges, ordered_columns
from headwater.sketch.kept import KeptQuery
from headwater.sketch.named_tables import NamedTables
from headwater.sketch.query_book import QueryBook
from headwater.sketch.ranges import Ranges
from headwater.sketch.reuse.templates import QueryTemplate, template_of
from headwater.sketch.safety.facts import KnownFacts, declared
from headwater.sketch.safety.outcome import SafetyProof, SafetyRefusal
from headwater.sketch.safety.rules import prove
from headwater.sketch.sketch import Slot


@dataclass(frozen=True)
class Prover:
    """Proves that sketches are safe, from the schemas of tables and from facts about their data."""

    tables: NamedTables
    book: QueryBook
    _templates: dict[str, tuple[SqlQuery, QueryTemplate]] = field(default_factory=dict)
    """The templates of queries that were asked, with the plans of which they are."""

    def known(self, versions: Mapping[str, int] | None = None) -> KnownFacts:
        """What holds at these versions of the tables (default: now)."""
        facts = self.book.facts
        return declared(self.tables.backend.schemas(), facts if versions is None else facts.at(versions))

    def proved(
        self, query: SqlQuery, kept: KeptQuery, versions: Mapping[str, int]
    ) -> SafetyProof | SafetyRefusal:
        """Whether the sketches that a query has are safe; of one that has none, by which attributes they are."""
        if kept.newest is not None:  # what it rests on is checked with every delta
            rested_on = declared(self.tables.backend.schemas(), kept.facts.__contains__)
            return prove(query.plan, [part.slot for part in kept.newest.parts], rested_on)
        known = self.known(versions)
        slots: list[Slot] = []
        first: SafetyRefusal | None = None
        for slot in (
            slot for table in sorted(versions) for slot in self._candidates(table, query, kept, known)
        ):
            outcome = prove(query.plan, [*slots, slot], known)
            if isinstance(outcome, SafetyProof):
                slots.append(slot)
            else:
                first = first or outcome
        if slots:
            return prove(query.plan, slots, known)
        return first or self._why_none(query, versions, known)

    def _why_none(self, query: SqlQuery, tables: Iterable[str], known: KnownFacts) -> SafetyRefusal:
        """Why no attribute is advised for any of the tables: none is safe, or those that are save nothing."""
        schemas = self.tables.backend.schemas()
        slots = [Slot(table, name) for table in sorted(tables) for name in ordered_columns(schemas[table])]
        outcomes = {slot: prove(query.plan, [slot], known) for slot in slots}
        safe = [str(slot) for slot, outcome in outcomes.items() if isinstance(outcome, SafetyProof)]
        if safe:
            return SafetyRefusal("unclustered", "Scan", ", ".join(safe))
        refusals = [outcome for outcome in outcomes.values() if isinstance(outcome, SafetyRefusal)]
        return next(iter(refusals), SafetyRefusal("no-access", "Scan"))

    def _candidates(self, table: str, query: SqlQuery, kept: KeptQuery, known: KnownFacts) -> list[Slot]:
        """The attributes that were chosen for a table, or the one that is advised."""
        chosen = self.tables[table].partition
        if chosen:
            return [Slot(table, name) for name in chosen]
        found = advise(self.tables.backend, query.plan, known, [table], self.past(kept.name))
        return [each.slot for each in found if each.is_useful][:1]

    def past(self, but: str) -> list[PastQuery]:
        """All queries that were asked, but for one; those that cannot be read any more say nothing."""
        found = []
        for kept in self.book:
            if kept.name != but and kept.asked:
                plan = self.plan_of(kept)
                found += [] if plan is None else [PastQuery(plan.plan, kept.asked)]
        return found

    def plan_of(self, kept: KeptQuery) -> SqlQuery | None:
        """The plan of a query that was asked; none if its columns are gone: that is for whoever asks it."""
        try:
            return self.tables.parsed(kept.text)
        except SqlError:
            return None

    def template(self, kept: KeptQuery, query: SqlQuery) -> QueryTemplate:
        """The template of a query that was asked, made once for its plan."""
        found = self._templates.get(kept.name)
        if found is None or found[0] is not query:
            found = self._templates[kept.name] = (query, template_of(query.plan))
        return found[1]

    def ranges(
        self, proof: SafetyProof, kept: KeptQuery, before: Mapping[Slot, Ranges]
    ) -> dict[Slot, Ranges]:
        """The ranges of a query's sketches: those that they have, or new ones. A table that has lost all its rows is
        cut as it was `before`, for those that will come."""
        made = {part.slot: part.ranges for part in kept.newest.parts} if kept.newest is not None else {}
        return {slot: made.get(slot) or self._cut(slot, before) for slot in sorted(proof.slots)}

    def _cut(self, slot: Slot, before: Mapping[Slot, Ranges]) -> Ranges:
        count = self.tables[slot.table].ranges or DEFAULT_RANGES
        found = make_ranges(self.tables.backend, slot, count)
        return found if found.bounds else before.get(slot, found)
