"""What is on the disk: a version is in the log before it is committed; checkpoints; where both are kept."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.active.cascade import Transition
from headwater.active.watch import WatchLine
from headwater.catalog.rule_ids import ids_of
from headwater.database.outbox import Outbox
from headwater.database.progress import Progress, Subscription
from headwater.database.standing import Standing
from headwater.errors import StoreError
from headwater.local import persist
from headwater.local.at_rest import ACTIVE, told_active
from headwater.local.runner import Runner
from headwater.plan.steps import Ints
from headwater.store import Record, Store
from headwater.values.codec import Codec
from headwater.version.changes import shown_changes
from headwater.version.version import Version

CHECKPOINT_BYTES = 16 << 20
CHECKPOINT_RECORDS = 1000


class Durability:
    """A database's store, if it has one, and what is written to it."""

    def __init__(self, codec: Codec, standing: Standing, progress: Progress, outbox: Outbox):
        self.store: Store | None = None
        self.records = 0
        """How many versions are in the log."""
        self._codec = codec
        self._standing = standing
        self._progress = progress
        self._outbox = outbox
        self._logged = standing.catalog
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def open(self, path: Path, *, mode: str, sync: bool) -> Store:
        """Keep everything in a folder."""
        self.store = Store.open(path, mode=mode, sync=sync)  # type: ignore[arg-type]
        return self.store

    def open_temporary(self) -> Store:
        """A store for nodes to recover from, gone when the database is closed."""
        self._temporary = tempfile.TemporaryDirectory(prefix="headwater-")
        self.store = Store.open(self._temporary.name, sync=False)
        return self.store

    def close(self) -> None:
        """Give the folder back."""
        store, self.store = self.store, None
        if store is not None:
            store.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    @property
    def recorded(self) -> int:
        """The number of the last record. Subscriptions have records too, so that it runs ahead of versions."""
        return self.store.version if self.store is not None else 0

    # ------------------------------------------------------------------ the log

    def log_definition(
        self,
        version: Version,
        inserts: Mapping[str, Ints],
        cascade: Sequence[Transition] = (),
        *,
        whole: bool = False,
    ) -> None:
        """The last text, whether it is the whole definition, the rows it came with, and what active rules did."""
        catalog = self._standing.coming
        last = catalog.definitions.programs[-1]
        learned = catalog.definitions.to_json() if inserts else {}
        meta = {"text": last.text, "source": last.source, "rules": ids_of(last), **learned}
        if whole:
            meta["whole"] = True
        self._log(version, "define", meta, self._tables("insert", inserts), {}, cascade)

    def log_change(
        self,
        version: Version,
        deletes: Mapping[str, Ints],
        inserts: Mapping[str, Ints],
        marks: Mapping[str, Any],
        cascade: Sequence[Transition] = (),
    ) -> None:
        """Rows, the types they told, and what active rules did."""
        catalog = self._standing.coming
        learned = {} if catalog is self._logged else catalog.definitions.to_json()
        tables = {**self._tables("delete", deletes), **self._tables("insert", inserts)}
        self._log(version, "apply", learned, tables, marks, cascade)
        self._logged = catalog

    def log_time(self, version: Version, cascade: Sequence[Transition] = ()) -> None:
        """That time has gone on, and what active rules did."""
        self._log(version, "advance", {}, {}, {}, cascade)

    def log_subscription(
        self, version: Version, name: str, subscription: Subscription | None, table: Any
    ) -> None:
        """That somebody subscribes, and to which rows there are; or does so no more."""
        version.join(self._progress)
        meta, tables = self._progress.stage_subscription(name, subscription, table)
        self._append(version, "subscribe", meta, tables)

    def log_watch(self, version: Version, name: str, line: WatchLine | None) -> None:
        """That somebody watches, or does so no more; if that is to outlive the process."""
        meta = self._outbox.define(version, name, line)
        if meta is not None:
            self._append(version, "watch", meta, {})

    def _log(
        self,
        version: Version,
        kind: str,
        meta: Mapping[str, Any],
        tables: Mapping[str, Any],
        marks: Mapping[str, Any],
        cascade: Sequence[Transition] = (),
    ) -> None:
        """Write the open version to the log, with what is owed for it; only then may it be committed."""
        if self.store is None and not marks and not self._progress.subscriptions:
            return
        version.join(self._progress)
        shown = {}
        if self._progress.subscriptions:
            shown = shown_changes(self._codec, self._standing.described(), version.changes)
        more, owed = self._progress.stage(version.number, marks, shown)
        if cascade:
            more = {**more, "transitions": len(cascade)}
            for number, one in enumerate(cascade):
                owed = {**owed, **self._tables(f"delete{number}", one.deletes)}
                owed |= self._tables(f"insert{number}", one.inserts)
        told, events = self._outbox.record()
        self._append(version, kind, {**meta, **more, **told}, {**tables, **owed, **events})

    def _append(
        self, version: Version, kind: str, meta: Mapping[str, Any], tables: Mapping[str, Any]
    ) -> None:
        if self.store is not None:
            known = {"version": version.number, "now": version.now}
            self.store.append(Record(self.store.version + 1, kind, {**known, **meta}, tables))
            self.records += 1

    def _tables(self, kind: str, rows: Mapping[str, Ints]) -> dict[str, Any]:
        """Rows as tables of a record, if there is anywhere to write it."""
        if self.store is None:
            return {}
        infos = self._standing.coming.program.relations
        return {
            f"{kind}/{name}": persist.to_table(self._codec, matrix, infos[name])
            for name, matrix in rows.items()
            if matrix.shape[0]
        }

    # ------------------------------------------------------------------ checkpoints

    def due(self) -> bool:
        """Whether the log has grown so long that a checkpoint should be written."""
        return self.store is not None and (
            self.records >= CHECKPOINT_RECORDS or self.store.stats().log_bytes > CHECKPOINT_BYTES
        )

    def checkpoint(self, runner: Runner) -> None:
        """Write the relations that changed, and start an empty log. (In an open version: with its catalog.)"""
        if self.store is None:
            raise StoreError("not-durable", "this database lives in memory only", hint="connect with a path")
        progress, owed = self._progress.dump()
        watches, events = self._outbox.dump()
        catalog = self._standing.coming
        meta = {
            "version": self._standing.number,
            "now": self._standing.now,
            "progress": progress,
            "watches": watches,
            "texts": [list(text) for text in catalog.texts],
            "rules": catalog.definitions.rules(),
            ACTIVE: told_active(catalog.active),
            **catalog.definitions.to_json(),
        }
        runner.write_checkpoint(self.store, self.recorded or self._standing.number, meta, {**owed, **events})
        self.records = 0
