"""Definitions and changes in, views and their changes out; a version is applied whole or not at all.

Relations that no text declares take their types from the first rows they get.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from headwater import persist
from headwater.changes import Changes, EmptyChanges
from headwater.database.durable import Durable
from headwater.database.rows import by_relation
from headwater.definitions import Definitions
from headwater.errors import DataError
from headwater.language.datalog import parse
from headwater.maintain.row_change import RowChange
from headwater.maintain.statistics import VersionStatistics
from headwater.plan.steps import Ints
from headwater.progress import OWED
from headwater.rules.checked import Checked
from headwater.store import Record, Store
from headwater.values import arguments

Method = TypeVar("Method", bound=Callable[..., Any])


def uninterrupted(method: Method) -> Method:
    """A method of the database that Ctrl-C stops only where all can be taken back, or once it is done."""

    @wraps(method)
    def run(self: Versions, *args: Any, **options: Any) -> Any:
        with self.runner.interrupts:
            return method(self, *args, **options)

    return run  # type: ignore[return-value]


class Versions(Durable):
    """A database that goes from version to version."""

    @uninterrupted
    def define(self, text: str, *, source: str = "<text>") -> Changes:
        """Add rules, declarations and facts, as Datalog text; one version.

        Views that the new rules do not concern keep their rows. If anything is refused, nothing changes.
        """
        self._check_writable()
        arguments.text("define", text)
        arguments.text("source", source)
        if self.clock == "real":
            self.now = max(self.now, time.time())
        changes = self._define(text, source, log=True)
        self._checkpoint_if_due()
        self._outgrown()
        return changes

    def _define(self, text: str, source: str, *, log: bool) -> Changes:
        started = time.perf_counter()
        definitions = self._definitions.with_program(parse(text, source))
        checked = self._check(definitions)
        statistics = VersionStatistics(self.version + 1)
        facts = {
            name: self.codec.encode_rows(
                rows, checked.relations[name].types, relation=name, columns=checked.relations[name].columns
            )
            for name, rows in checked.facts.items()
        }
        settled = definitions.settled({name: checked.relations[name].types for name in facts})
        before = self._definitions, self._checked, self.now
        try:
            changes = self.runner.define(settled, checked, facts, self.now, statistics)
            self._definitions, self._checked = settled, checked
            if log:
                self._log("define", {"text": text, "source": source, "now": self.now}, {}, changes)
        except BaseException as error:
            self._interrupted(error, statistics, before, logged=log)
            raise
        self._commit(statistics)
        statistics.seconds = time.perf_counter() - started
        return self._finish(changes, statistics)

    @uninterrupted
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
        self._check_writable()
        insert = {name: rows for name, rows in by_relation("insert", insert).items() if len(rows)}
        delete = by_relation("delete", delete)
        marks = arguments.mapping("marks", marks, '{"links": 3}')
        started = time.perf_counter()
        if self.clock == "real":
            self.now = max(self.now, time.time())
        statistics = VersionStatistics(self.version + 1)
        before = self._definitions, self._checked, self.now
        try:
            self._learn(insert)
            deletes, inserts = self._encode(insert, delete, statistics)
            if self.runner.must_move(inserts):
                self.checkpoint()
            changes = self.runner.change(deletes, inserts, self.now, statistics)
            self._log_change(deletes, inserts, changes, marks)
        except BaseException as error:
            self._interrupted(error, statistics, before)
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
        before = self._definitions, self._checked, self.now
        try:
            self.now = to
            changes = self.runner.change({}, {}, to, statistics)
            self._log("advance", {"now": to}, {}, changes)
        except BaseException as error:
            self._interrupted(error, statistics, before)
            raise
        self._commit(statistics)
        statistics.seconds = time.perf_counter() - started
        done = self._finish(changes, statistics)
        self._checkpoint_if_due()
        self._outgrown()
        return done

    def _interrupted(
        self,
        error: BaseException,
        statistics: VersionStatistics,
        before: tuple[Definitions, Checked, float],
        *,
        logged: bool = True,
    ) -> None:
        """A version did not come to its end: keep it if it is on the disk already, else undo all of it.

        One that is not to be `logged` is only done again, and undone whatever is on the disk.
        """
        if logged and self._committed():
            self._commit(statistics)
            self.version += 1
            return
        self._rollback(error)
        self._definitions, self._checked, self.now = before

    def _encode(
        self, insert: Mapping[str, Any], delete: Mapping[str, Any], statistics: VersionStatistics
    ) -> tuple[dict[str, Ints], dict[str, Ints]]:
        deletes: dict[str, Ints] = {}
        inserts: dict[str, Ints] = {}
        for name, rows in delete.items():
            info = self._base(name)
            if info is None and self.strict:
                raise self._unknown(name)
            if info is None or None in info.types:
                statistics.no_ops += len(rows)
                continue
            matrix, unknown = self.codec.find_rows(rows, info.types, relation=name, columns=info.columns)
            statistics.no_ops += unknown
            deletes[info.name] = matrix
        for name, rows in insert.items():
            info = self._base(name)
            assert info is not None
            inserts[info.name] = self.codec.to_matrix(rows, info.types, name, info.columns)
        return deletes, inserts

    def _learn(self, insert: Mapping[str, Any]) -> None:
        """Take types from rows where nothing else tells, and take on relations never heard of."""
        definitions = self._definitions
        for name, rows in insert.items():
            info = self._base(name)
            if info is None and self.strict:
                raise self._unknown(name)
            if info is None and not name.isidentifier():
                raise DataError(
                    "unknown-relation", f"{name!r} cannot name a relation", hint="letters, digits and _ only"
                )
            definitions = definitions.with_rows(name, rows, info)
        if definitions is not self._definitions:
            self._redefine(definitions)

    def _redefine(self, definitions: Definitions) -> None:
        """Go by what is known now; rows stay."""
        checked = self._check(definitions)
        self.runner.learn(definitions, checked, self.now)
        self._definitions, self._checked = definitions, checked

    def _rollback(self, error: BaseException | None) -> None:
        self.runner.rollback(error)
        self._progress.rollback()

    def _commit(self, statistics: VersionStatistics) -> None:
        self.runner.commit(statistics)
        self._progress.commit()

    def _finish(self, changes: Mapping[str, RowChange], statistics: VersionStatistics) -> Changes:
        self.version += 1
        self.statistics = statistics
        for follower in self._followers.values():
            follower.follow(changes)
        return Changes(self.version, self._shown(changes), EmptyChanges(self), statistics)

    def _recover(self, store: Store) -> None:
        """Load the checkpoint and apply the versions after it."""
        checkpoint = store.checkpoint
        if checkpoint is not None:
            meta: Any = checkpoint.meta
            self.now = meta["now"]
            definitions = Definitions(Definitions.parsed(meta["texts"])).learned(meta)
            checked = self._check(definitions)
            self.runner.load(checkpoint, definitions, checked)
            self._definitions, self._checked = definitions, checked
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
            self._define(meta["text"], meta["source"], log=False)
            return
        if record.kind == "apply" and "known" in meta:
            definitions = self._definitions.learned(meta)
            if definitions != self._definitions:
                self._redefine(definitions)
        if record.kind == "subscribe":
            self.version = record.version
            return
        changes: dict[str, dict[str, Ints]] = {"delete": {}, "insert": {}}
        for key, table in record.tables.items():
            if key.startswith(OWED):
                continue
            kind, name = key.split("/", 1)
            info = self._checked.relations[name]
            changes[kind][name] = persist.from_table(self.codec, table, info)
        self.runner.change(changes["delete"], changes["insert"], self.now, statistics)
        self._commit(statistics)
        self.version = record.version
