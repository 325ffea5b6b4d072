"""What is on the disk: a version is in the log before it is committed; checkpoints; moving to nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater import persist
from headwater.database.opened import Opened
from headwater.errors import HeadwaterError, StoreError
from headwater.events import CheckpointFailed, MovedToNodes
from headwater.maintain.row_change import RowChange
from headwater.plan.steps import Ints
from headwater.run.one_process import OneProcess
from headwater.store import Record
from headwater.version.guard import changes

CHECKPOINT_BYTES = 16 << 20
CHECKPOINT_RECORDS = 1000


class Durable(Opened):
    """A database that writes versions to its store, if it has one."""

    def _log_definition(self, inserts: Mapping[str, Ints], changes: Mapping[str, RowChange]) -> None:
        """The last text, and the rows it came with."""
        text, source = self._catalog.texts[-1]
        learned = self._catalog.definitions.to_json() if inserts else {}
        rules = self._catalog.definitions.rules()[-1]
        meta = {"text": text, "source": source, "rules": rules, "now": self.now, **learned}
        self._log("define", meta, self._tables("insert", inserts), changes)

    def _log_change(
        self,
        deletes: Mapping[str, Ints],
        inserts: Mapping[str, Ints],
        changes: Mapping[str, RowChange],
        marks: Mapping[str, Any],
    ) -> None:
        tables = {**self._tables("delete", deletes), **self._tables("insert", inserts)}
        learned = {} if self._catalog is self._logged else self._catalog.definitions.to_json()
        self._log("apply", {"now": self.now, **learned}, tables, changes, marks)
        self._logged = self._catalog

    def _tables(self, kind: str, rows: Mapping[str, Ints]) -> dict[str, Any]:
        """Rows as tables of a record, if there is anywhere to write it."""
        if self._store is None:
            return {}
        infos = self._catalog.program.relations
        return {
            f"{kind}/{name}": persist.to_table(self.codec, matrix, infos[name])
            for name, matrix in rows.items()
            if matrix.shape[0]
        }

    def _log(
        self,
        kind: str,
        meta: Mapping[str, Any],
        tables: Mapping[str, Any],
        changes: Mapping[str, RowChange],
        marks: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the open version to the log, with what is owed for it; only then may it be committed."""
        shown = self._shown(changes) if self._progress.subscriptions else {}
        more, owed = self._progress.stage(self.version + 1, marks or {}, shown)
        self._append(kind, {**meta, **more}, {**tables, **owed})

    def _append(self, kind: str, meta: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
        if self._store is not None:
            self._store.append(Record(self.version + 1, kind, meta, tables))
            self._records += 1

    def _committed(self) -> bool:
        """Whether the open version is on the disk already, though something came in between afterwards."""
        return self._store is not None and self._store.version > self.version

    @changes
    def checkpoint(self) -> None:
        """Write the relations that changed as new segments and start an empty log; old files are removed."""
        self._checkpoint()

    def _checkpoint(self) -> None:
        self._check_writable()
        if self._store is None:
            raise StoreError("not-durable", "this database lives in memory only", hint="connect with a path")
        progress, owed = self._progress.dump()
        meta = {
            "now": self.now,
            "progress": progress,
            "texts": [list(text) for text in self._catalog.texts],
            "rules": self._catalog.definitions.rules(),
            **self._catalog.definitions.to_json(),
        }
        self.runner.write_checkpoint(self._store, self.version, meta, owed)
        self._records = 0

    def _checkpoint_if_due(self) -> None:
        """Write a checkpoint when the log has grown long. The version is committed: that it fails is a note."""
        if self._store is not None and (
            self._records >= CHECKPOINT_RECORDS or self._store.stats().log_bytes > CHECKPOINT_BYTES
        ):
            try:
                self._checkpoint()
            except HeadwaterError as error:
                self.statistics.events.append(CheckpointFailed(error.code, error.message))

    def _outgrown(self) -> None:
        """Move to nodes if `run` is "auto" and the state has outgrown its budget."""
        if self._place.run != "auto" or not isinstance(self.runner, OneProcess):
            return
        size, limit = self.runner.nbytes + self.codec.nbytes, self._place.limit()
        if size <= limit:
            return
        moved = MovedToNodes(self.version, size, limit)
        if self._store is None:
            self._store = self._temporary_store()
        self._checkpoint()
        assert self._store.checkpoint is not None
        nodes = self._place.start(self.codec, self._store, self._options, self._python, str(moved))
        try:
            nodes.load(self._store.checkpoint, self._catalog.definitions, self._catalog.program)
        except BaseException:
            nodes.close()
            raise
        self.runner = nodes
        self.statistics.events.append(moved)
