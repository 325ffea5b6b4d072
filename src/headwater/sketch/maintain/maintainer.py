"""A sketch that follows its tables: the incremental operators of its query, μ above them, and the versions they have
seen.

What holds: `sketch` is what a capture at `versions` would give, or covers it where the query's order has ties or
sketches do not shrink (`growing`). A
version is taken in whole or not at all: if anything fails on the way, the state is *lost*, the sketch stays what it
was at the versions it was made for, and `capture` (or `persisted` state) has to begin again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from headwater.errors import DataError, EvaluationError, SketchError
from headwater.events import Event
from headwater.language.sql.algebra import Operator, scans
from headwater.sketch.maintain.block_delta import BlockDelta
from headwater.sketch.maintain.compiling import compile_plan
from headwater.sketch.maintain.foreign_comparison import refuse_foreign_comparisons, without_blanks
from headwater.sketch.maintain.group_by import GroupByDelta
from headwater.sketch.maintain.growing import GrowingMerge
from headwater.sketch.maintain.merge import Merge, SketchDelta
from headwater.sketch.maintain.numbering import FragmentNumbers
from headwater.sketch.maintain.operator import Incremental, Stateless, TableChanges
from headwater.sketch.maintain.stateless import ProjectionDelta, SelectionDelta, UnionDelta
from headwater.sketch.maintain.switches import Switches
from headwater.sketch.sketch import Sketch
from headwater.sketch.tables.backend import Backend, TableDelta, WantedRows
from headwater.store import Checkpoint, Store

FEWEST_PAIRS_REFUSED = 100_000
"""State of so few pairs is kept whatever the size of tables."""
MOST_PAIRS_PER_ROW = 0.5
"""How many pairs a row of the tables may stand for."""


@dataclass(frozen=True)
class Maintained:
    """What a version did to a sketch, and what it cost."""

    delta: SketchDelta
    rows: int
    """How many rows of tables had changed (of those that were fetched)."""
    seconds: float
    asked: int
    """How often the backend was asked to join."""
    refilled: tuple[str, ...]
    events: tuple[Event, ...] = ()
    """What was done once, beyond the change."""


class Maintainer:
    """The state of one sketch."""

    def __init__(
        self,
        plan: Operator,
        numbers: FragmentNumbers,
        backend: Backend,
        *,
        switches: Switches | None = None,
    ):
        self.plan = without_blanks(plan, backend.schemas())
        self.numbers = numbers
        self.backend = backend
        self.switches = switches or Switches()
        self.tables = tuple(sorted({scan.table for scan in scans(plan)}))
        self.versions: Mapping[str, int] | None = None
        """The versions of tables that the state has seen; `None` while there is none."""
        self._begin()
        self._sketch: Sketch | None = None
        refuse_foreign_comparisons(self.plan, backend.schemas(), self.columns_read)

    # ------------------------------------------------------------------ what there is

    @property
    def sketch(self) -> Sketch:
        """The sketch at the versions that it was last brought to."""
        if self._sketch is None:
            raise SketchError(
                "not-captured", "the sketch has not been captured yet", hint="call capture first"
            )
        return self._sketch

    @property
    def counts(self) -> Mapping[int, int]:
        """For each fragment of the sketch, by its number, how many rows of the answer rest on it; not counted if
        sketches do not shrink."""
        if not self.switches.shrink:
            return {}
        return {number: int(self._merge.state[number]) for number in self._merge.present()}

    @property
    def is_lost(self) -> bool:
        """Whether there is no state, so that only a capture can go on."""
        return self.versions is None

    @property
    def nbytes(self) -> int:
        """About how much memory the state takes."""
        return self._merge.state.nbytes + sum(each.nbytes for each in self.operators())

    def operators(self) -> Iterator[Incremental]:
        """All operators, the root first."""
        pending = [self._root]
        while pending:
            operator = pending.pop()
            yield operator
            pending += operator.inputs

    # ------------------------------------------------------------------ versions

    def capture(self, versions: Mapping[str, int] | None = None) -> Sketch:
        """Make the state from the tables as they are: what maintenance begins with, and what it costs without."""
        at = dict(versions if versions is not None else self.backend.versions(self.tables))
        self.forget()
        self._follow(TableChanges(self.backend, at))
        self._refuse_large_state()
        return self.sketch

    @property
    def pairs(self) -> int:
        """How many pairs of a group and a fragment the state counts: what decides how much memory it takes."""
        return sum(len(each.groups.pairs) for each in self.operators() if isinstance(each, GroupByDelta))

    def _refuse_large_state(self) -> None:
        """Let go of state that nears the size of the tables: reading these again costs no more than keeping it."""
        pairs = self.pairs
        if pairs <= FEWEST_PAIRS_REFUSED:
            return
        rows = sum(self.backend.rows(table) for table in self.tables)
        if pairs > MOST_PAIRS_PER_ROW * rows:
            self.forget()
            raise SketchError(
                "state-too-large",
                f"the state would have {pairs:,} pairs of a group and a fragment, for tables of {rows:,} rows",
                hint="take fewer ranges (Ranges.coarser), or an attribute that goes with the groups",
            )

    def forget(self) -> None:
        """Let go of the state; the sketch stays what it was."""
        self.versions = None
        self._begin()

    def _begin(self) -> None:
        """Operators without state."""
        self._root: Incremental = compile_plan(self.plan, self.numbers, self.switches, self.backend.dialect)
        self._blocks = tuple(each for each in self.operators() if isinstance(each, BlockDelta))
        self._asking = tuple(block for block in self._blocks if not block.computes_here)
        self._merge = Merge(self.numbers.total) if self.switches.shrink else GrowingMerge(self.numbers.total)
        self._few_rows = self._root.few_rows() if isinstance(self._root, BlockDelta) else None

    def maintain(self, versions: Mapping[str, int] | None = None) -> Maintained:
        """Bring the sketch to other versions (default: the newest), by what changed since those it has seen."""
        if self.versions is None:
            raise SketchError(
                "state-lost", "the sketch has no state to maintain it by", hint="capture it again"
            )
        if versions is None and self._asks_nothing:
            news = self.backend.news(self.versions, self._wanted)
            return self.apply(news.deltas, news.versions)
        with self.backend.moment():
            if versions is None:
                news = self.backend.news(self.versions, self._wanted)
                return self.apply(news.deltas, news.versions)
            at = {**self.versions, **versions}
            deltas = {
                table: self._fetch(table, self.versions[table], at[table])
                for table in self.tables
                if at[table] != self.versions[table]
            }
            return self.apply(deltas, at)

    def apply(self, deltas: Mapping[str, TableDelta], versions: Mapping[str, int]) -> Maintained:
        """Take in changes that lead from the versions seen to these."""
        started = time.perf_counter()
        if isinstance(self._merge, GrowingMerge):
            deltas = self._without_deletions(deltas, self._merge)
        changes = TableChanges(self.backend, versions, deltas)
        asked = self._asked
        delta = self._follow(changes)
        return Maintained(
            delta,
            sum([each.size for each in deltas.values()]),
            time.perf_counter() - started,
            self._asked - asked,
            tuple(changes.refilled),
            tuple(changes.events),
        )

    @property
    def _asked(self) -> int:
        """How often the backend was asked to join, since the state was made."""
        return sum([block.asked for block in self._asking])

    def _without_deletions(
        self, deltas: Mapping[str, TableDelta], merge: GrowingMerge
    ) -> Mapping[str, TableDelta]:
        """Where nothing has state, deletions can only make the sketch smaller: they leave doubt, and that is all.

        Without state the plan is monotone: of the tables as they are now, rows that were not there before account for
        all rows of the answer that are new.
        """
        if not all(isinstance(each, Stateless) for each in self.operators()):
            return deltas
        gone = [delta for delta in deltas.values() if (delta.signs < 0).any()]
        if len(scans(self.plan)) > 1 and gone:
            merge.doubt()
        else:
            for delta in gone:
                merge.doubt(self._fragments_of(delta.only(delta.signs < 0)))
        return {table: delta.only(delta.signs > 0) for table, delta in deltas.items()}

    def _fragments_of(self, delta: TableDelta) -> Iterator[int]:
        for each in self.numbers.of_table(delta.table):
            found = each.ranges.fragments(delta.rows.column(each.slot.attribute))
            yield from (np.unique(found) + self.numbers.first(each.slot)).tolist()

    def _fetch(self, table: str, after: int, upto: int) -> TableDelta:
        wanted = self._wanted[table]
        columns = None if wanted.columns is None else tuple(wanted.columns)
        return self.backend.changes(table, after, upto, columns=columns, condition=wanted.condition)

    @property
    def columns_read(self) -> dict[str, frozenset[str]]:
        """The columns of tables that are read of their deltas."""
        return {table: wanted.columns or frozenset() for table, wanted in self._wanted.items()}

    @cached_property
    def _wanted(self) -> dict[str, WantedRows]:
        """What of tables' deltas the operators read: the columns of all blocks, and of rows those that pass the
        condition on them, where one block alone reads the table."""
        found = {}
        for table in self.tables:
            reading = [
                block for block in self._blocks if any(scan.table == table for scan in block.block.scans)
            ]
            columns = {each.slot.attribute for each in self.numbers.of_table(table)}
            columns |= {name for block in reading for name in block.columns_of(table)}
            alone = self.switches.push_selections and len(reading) == 1
            condition = reading[0].block.condition_for(table) if alone else None
            found[table] = WantedRows(frozenset(columns), condition)
        return found

    @cached_property
    def _asks_nothing(self) -> bool:
        """Whether the backend is asked for nothing but what changed, so that nothing else need be of one moment."""
        return all(
            each.computes_here
            if isinstance(each, BlockDelta)
            else isinstance(each, SelectionDelta | ProjectionDelta | UnionDelta)
            or (isinstance(each, GroupByDelta) and each.groups.are_counted)
            for each in self.operators()
        )

    def _follow(self, changes: TableChanges) -> SketchDelta:
        versions, self.versions = self.versions, None  # lost, unless all goes well
        try:
            delta = self._changed_by_few(changes)
            if delta is None:
                delta = self._merge.change(self._root.change(changes))
        except (EvaluationError, DataError, pa.ArrowException) as error:
            if isinstance(error, DataError) and error.code == "negative-count":
                raise
            said = getattr(error, "message", error)
            raise SketchError(
                "not-maintained",
                f"something in the query is not computed here as the database does: {said}",
                hint="the sketch is captured anew when its tables change",
            ) from error
        self._root.commit()
        at = dict(changes.versions)
        if self._sketch is None or versions is None or not self.switches.shrink:
            self._sketch = self._merged(at)
        else:
            self._sketch = self._changed(self._sketch.at(at), delta)
        self.versions = at  # last: Ctrl-C comes anywhere
        return delta

    def _changed_by_few(self, changes: TableChanges) -> SketchDelta | None:
        """What deltas of few rows do, if nothing but μ has state."""
        if self._few_rows is None or changes.deltas is None or not isinstance(self._merge, Merge):
            return None
        delta = changes.deltas.get(self._few_rows.table)
        added = {} if delta is None else self._few_rows.added(delta)
        return None if added is None else self._merge.add(added)

    def _changed(self, sketch: Sketch, delta: SketchDelta) -> Sketch:
        """A sketch with what it gains and loses: most changes touch few of its fragments, if any."""
        if not (delta.gained or delta.lost):
            return sketch
        gained, lost = self.numbers.by_slot(delta.gained), self.numbers.by_slot(delta.lost)
        for slot in gained:
            if gained[slot] or lost[slot]:
                sketch = sketch.changed(slot, gained[slot], lost[slot])
        return sketch

    def _merged(self, versions: Mapping[str, int]) -> Sketch:
        return self.numbers.sketch(self._merge.present(), versions, self._merge.doubtful())

    # ------------------------------------------------------------------ at rest

    def save(self, folder: Path) -> int:
        """Write the state to a folder, with the versions that it has seen: all of it, or the old one stays. The
        bytes."""
        if self.versions is None:
            raise SketchError("state-lost", "the sketch has no state to keep", hint="capture it again")
        tables = {"merge": pa.table({"count": self._merge.state})}
        for number, operator in enumerate(self.operators()):
            tables |= {f"{number}/{name}": table for name, table in operator.save().items()}
        with Store.open(folder) as store:
            store.write_checkpoint(
                Checkpoint(1, {"sketch": self.digest, "versions": dict(self.versions)}, tables)
            )
            return store.stats().segment_bytes

    def restore(self, folder: Path) -> bool:
        """Take over the state of a folder; whether there was one of this query, these ranges and these switches."""
        if not folder.exists():
            return False
        with Store.open(folder) as store:
            kept = store.checkpoint
            if kept is None or kept.meta.get("sketch") != self.digest:
                return False
            self.forget()
            self._merge.state = np.asarray(kept.tables["merge"].column(0)).copy()
            for number, operator in enumerate(self.operators()):
                head = f"{number}/"
                own = {name[len(head) :]: kept.tables[name] for name in kept.tables if name.startswith(head)}
                operator.load(own)
            versions = kept.meta["versions"]
            assert isinstance(versions, Mapping)
            at = {str(table): int(version) for table, version in versions.items()}
        self._sketch = self._merged(at)
        self.versions = at
        return True

    @property
    def digest(self) -> str:
        """What state is of: the query, the ranges and the switches. State of another one is of no use."""
        said = repr((self.plan, self.numbers.slots, self.switches))
        return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()
