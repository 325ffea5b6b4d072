"""Definitions and changes in, views and their changes out; a version is applied whole or not at all.

Relations that no text declares take their types from the first rows they get.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from headwater import persist
from headwater.catalog import Catalog
from headwater.catalog.definitions import Definitions
from headwater.changes import Changes, EmptyChanges
from headwater.database.durable import Durable
from headwater.database.rows import by_relation, given_rows
from headwater.errors import DataError
from headwater.language.datalog import parse
from headwater.language.program import Program
from headwater.maintain.row_change import RowChange
from headwater.maintain.statistics import VersionStatistics
from headwater.plan.steps import Ints
from headwater.store import Record, Store
from headwater.values import arguments
from headwater.version.guard import changes as changing

Method = TypeVar("Method", bound=Callable[..., Any])


def uninterrupted(method: Method) -> Method:
    """A method that changes the database; Ctrl-C stops it only where all can be taken back, or once it is done."""

    @changing
    @wraps(method)
    def run(self: Versions, *args: Any, **options: Any) -> Any:
        with self.runner.interrupts:
            return method(self, *args, **options)

    return run  # type: ignore[return-value]


class Versions(Durable):
    """A database that goes from version to version."""

    def define(
        self,
        text: str | Program,
        *,
        source: str = "<text>",
        insert: Mapping[str, Any] | None = None,
        folder: str | Path | None = None,
    ) -> Changes:
        """Add rules, declarations and facts, as Datalog text (or parsed, as a `Program`); one version.

        Facts, and rows to `insert` as for `apply`, are there when the rules first run. Views that the new rules do
        not concern keep their rows. If anything is refused, nothing changes. Files that the text includes are looked
        for in `folder`; what is kept is the text with all of them.
        """
        if not isinstance(text, Program):
            arguments.text("define", text)
        arguments.text("source", source)
        beside = None if folder is None else arguments.folder("define(folder=...)", folder)
        program = parse(text, source, folder=beside) if isinstance(text, str) else text
        return self._define(program, given_rows("insert", insert))

    @uninterrupted
    def _define(self, program: Program, insert: Mapping[str, Any]) -> Changes:
        self._check_writable()
        if self.clock == "real":
            self.now = max(self.now, time.time())
        catalog = self._catalog.with_program(program, self._stored).with_rows(insert, self._stored)
        inserts = self._encode(catalog, insert)
        done = self._take_on(catalog, inserts, log=True)
        self._checkpoint_if_due()
        self._outgrown()
        return done

    def _take_on(self, catalog: Catalog, inserts: Mapping[str, Ints], *, log: bool) -> Changes:
        """Go on with a catalog: its last text is new, and its facts are rows to come."""
        started = time.perf_counter()
        statistics = VersionStatistics(self.version + 1)
        facts = self._facts(catalog)
        rows = {**facts, **{name: both(facts.get(name), more) for name, more in inserts.items()}}
        before = self._catalog, self.now
        try:
            settled = catalog.settled()
            changes = self.runner.define(settled.definitions, settled.program, rows, self.now, statistics)
            self._catalog = settled
            if log:
                self._log_definition(inserts, changes)
        except BaseException:
            self._interrupted(statistics, before, logged=log)
            raise
        self._commit(statistics)
        statistics.seconds = time.perf_counter() - started
        return self._finish(changes, statistics)

    def _facts(self, catalog: Catalog) -> dict[str, Ints]:
        """The rows that the last text states."""
        found = {}
        for name, rows in catalog.program.facts.items():
            info = catalog.program.relations[name]
            found[name] = info.layout.encode(self.codec, rows, name)
        return found

    def apply(
        self,
        insert: Mapping[str, Any] | None = None,
        delete: Mapping[str, Any] | None = None,
        *,
        marks: Mapping[str, Any] | None = None,
    ) -> Changes:
        """Delete and insert rows of base relations (deletes first) as one version; return what that did.

        Rows are sequences of tuples or dicts, Arrow tables, pandas or polars DataFrames, or numpy matrices.
        Inserting a row that is there, or deleting one that is not, does nothing but count. `marks` say how far
        sources were read, as JSON by source; they are kept with the version (see the property `marks`).
        """
        marks = arguments.mapping("marks", marks, '{"links": 3}')
        return self._apply(given_rows("insert", insert), by_relation("delete", delete), marks)

    @uninterrupted
    def _apply(
        self, insert: Mapping[str, Any], delete: Mapping[str, Any], marks: Mapping[str, Any]
    ) -> Changes:
        self._check_writable()
        started = time.perf_counter()
        if self.clock == "real":
            self.now = max(self.now, time.time())
        statistics = VersionStatistics(self.version + 1)
        before = self._catalog, self.now
        try:
            self._learn(insert)
            deletes = self._find(delete, statistics)
            inserts = self._encode(self._catalog, insert)
            if self.runner.must_move(inserts):
                self._checkpoint()
            changes = self.runner.change(deletes, inserts, self.now, statistics)
            self._log_change(deletes, inserts, changes, marks)
        except BaseException:
            self._interrupted(statistics, before)
            raise
        self._commit(statistics)
        statistics.seconds = time.perf_counter() - started
        done = self._finish(changes, statistics)
        self._checkpoint_if_due()
        self._outgrown()
        return done

    @uninterrupted
    def advance(self, to: float | None = None) -> Changes:
        """Set the time to `to` (seconds; now, with a real clock) and let base rows expire; one version."""
        self._check_writable()
        started = time.perf_counter()
        if to is None:
            if self.clock != "real":
                raise DataError("no-time", "a logical clock advances to a time given", hint="advance(to=...)")
            to = max(self.now, time.time())
        to = arguments.seconds("advance(to=...)", to)
        if to < self.now:
            raise DataError(
                "time-goes-back", f"it is {self.now} already", hint=f"advance to {self.now} or later"
            )
        statistics = VersionStatistics(self.version + 1)
        before = self._catalog, self.now
        try:
            self.now = to
            changes = self.runner.change({}, {}, to, statistics)
            self._log("advance", {"now": to}, {}, changes)
        except BaseException:
            self._interrupted(statistics, before)
            raise
        self._commit(statistics)
        statistics.seconds = time.perf_counter() - started
        done = self._finish(changes, statistics)
        self._checkpoint_if_due()
        self._outgrown()
        return done

    def _interrupted(
        self, statistics: VersionStatistics, before: tuple[Catalog, float], *, logged: bool = True
    ) -> None:
        """A version did not come to its end: keep it if it is on the disk already, else undo all of it.

        One that is not to be `logged` is only done again, and undone whatever is on the disk.
        """
        if logged and self._committed():
            self._commit(statistics)
            self.version += 1
            return
        self._rollback()
        self._catalog, self.now = before

    def _find(self, delete: Mapping[str, Any], statistics: VersionStatistics) -> dict[str, Ints]:
        """Rows to delete, by base relation; those that cannot be there are only counted."""
        deletes: dict[str, Ints] = {}
        for name, rows in delete.items():
            info = self._catalog.base_if_known(name)
            if info is None or None in info.types:
                statistics.no_ops += len(rows)
                continue
            matrix, unknown = info.layout.find(self.codec, rows, name)
            statistics.no_ops += unknown
            deletes[info.name] = matrix
        return deletes

    def _encode(self, catalog: Catalog, insert: Mapping[str, Any]) -> dict[str, Ints]:
        """Rows to insert, by base relation of a catalog that knows their types."""
        inserts: dict[str, Ints] = {}
        for name, rows in insert.items():
            info = catalog.base(name)
            assert info is not None
            inserts[info.name] = info.layout.encode(self.codec, rows, name)
        return inserts

    def _learn(self, insert: Mapping[str, Any]) -> None:
        """Take types from rows where nothing else tells, and take on relations never heard of."""
        catalog = self._catalog.with_rows(insert, self._stored)
        if catalog is not self._catalog:
            self._redefine(catalog)

    def _redefine(self, catalog: Catalog) -> None:
        """Go by what is known now; rows stay."""
        self.runner.learn(catalog.definitions, catalog.program, self.now)
        self._catalog = catalog

    def _rollback(self) -> None:
        """Undo the open version. If that fails, nobody may use what is in memory any more."""
        with self.guard.or_break_off():
            self.runner.rollback()
            self._progress.rollback()

    def _commit(self, statistics: VersionStatistics) -> None:
        """Keep the open version. It is on the disk: if that fails, memory is not what the disk holds."""
        with self.guard.or_break_off():
            self.runner.commit(statistics)
            self._progress.commit()

    def _finish(self, changes: Mapping[str, RowChange], statistics: VersionStatistics) -> Changes:
        self.version += 1
        self.statistics = statistics
        for follower in self._followers.values():
            follower.follow(changes)
        return Changes(self.version, self._shown(changes, self.guard), EmptyChanges(self), statistics)

    def _recover(self, store: Store) -> None:
        """Load the checkpoint and apply the versions after it."""
        checkpoint = store.checkpoint
        if checkpoint is not None:
            meta: Any = checkpoint.meta
            self.now = meta["now"]
            definitions = Definitions.of(meta["texts"], meta.get("rules")).learned(meta)
            catalog = self._catalog.following(definitions)
            self.runner.load(checkpoint, catalog.definitions, catalog.program)
            self._catalog = catalog
            if "progress" in meta:
                self._progress.load(meta["progress"], checkpoint.tables)
            self.version = checkpoint.version
        for record in store.records():
            self._replay(record)
            self._progress.replay(record.version, record.kind, record.meta, record.tables)
            self._records += 1
        self._progress.recall()

    def _replay(self, record: Record) -> None:
        meta: Any = record.meta
        statistics = VersionStatistics(record.version)
        self.now = meta["now"]
        if record.kind == "define":
            program = parse(meta["text"], meta["source"])
            catalog = self._catalog.with_program(program, self._stored, meta.get("rules"))
            if "known" in meta:
                catalog = catalog.following(catalog.definitions.learned(meta), self._stored)
            self._take_on(catalog, self._recorded(record, "insert", catalog), log=False)
            return
        if record.kind == "apply" and "known" in meta:
            definitions = self._catalog.definitions.learned(meta)
            if definitions != self._catalog.definitions:
                self._redefine(self._catalog.following(definitions, self._stored))
        if record.kind == "subscribe":
            self.version = record.version
            return
        deletes, inserts = (self._recorded(record, kind, self._catalog) for kind in ("delete", "insert"))
        self.runner.change(deletes, inserts, self.now, statistics)
        self._commit(statistics)
        self.version = record.version

    def _recorded(self, record: Record, kind: str, catalog: Catalog) -> dict[str, Ints]:
        """The rows that a version was given to insert, or to delete."""
        found = {}
        for key, table in record.tables.items():
            what, name = key.split("/", 1)
            if what == kind:
                found[name] = persist.from_table(self.codec, table, catalog.program.relations[name])
        return found


def both(rows: Ints | None, more: Ints) -> Ints:
    """The rows, and then the others."""
    return more if rows is None else np.concatenate([rows, more])
