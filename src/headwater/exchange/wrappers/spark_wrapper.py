"""A peer's relations as Spark's own tables: directories of Parquet files in one folder, which Spark reads and writes.

Tables of Spark's catalog are such directories with a name (`LOCATION`); no session is needed to read and change them
here. Parquet has no versions, so these are kept beside (`sketch/tables/parquet_table`): what we do is a version that
is marked as ours, prepared, written down and carried out, so that a table has all of it or nothing after a crash.

What users did, by appending or by overwriting, is what differs: a copy of the rows is kept with each capture, what we
applied since is added to it, and the rest is theirs. What came and went between two captures was never seen. Whether
their tools are quicker than ours cannot be known, since Parquet has no transactions: nobody else should write to a
table while an exchange applies to it.

Labelled nulls are as in other databases: NULL, and their text in a column beside (`stored_rows`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from headwater.errors import ExchangeError, SketchError
from headwater.exchange.edit import Edit
from headwater.exchange.wrappers.stored_rows import from_stored, stored_schema, to_stored
from headwater.exchange.wrappers.wrapper import Captured, CaptureMark, InstanceChange, WrappedTable
from headwater.pipeline.delta import plain
from headwater.sketch.tables.parquet_table import ParquetTable
from headwater.store.durable import make_folder, put, sync_folder
from headwater.store.failure import failed

RECORDS = "_headwater"
"""The folder beside the tables in which their versions are; Spark passes over names that begin so."""
EMPTY = "part-headwater-empty.parquet"
"""The file of a table that we make: it has the columns and no rows."""

Row = tuple[Any, ...]


class SparkWrapper:
    """Directories of Parquet files in a folder, one a relation."""

    def __init__(self, peer: str, folder: str, tables: Sequence[WrappedTable]):
        self.peer = peer
        self.what = f"parquet://{folder}"
        self._folder = Path(folder)
        self._tables = {table.relation: table for table in tables}
        self._opened = {table.relation: self._open(table) for table in tables}

    def capture(self, mark: CaptureMark) -> Captured:
        edits: list[Edit] = []
        versions: dict[str, int] = {}
        for name in self._tables:
            newest, now = self._now(name)
            before = self._left(name, int(mark[name]), newest) if name in mark else set()
            edits += [Edit("-", name, row) for row in before - now]
            edits += [Edit("+", name, row) for row in now - before]
            self._keep_copy(name, newest, now, int(mark.get(name, 0)))
            versions[name] = newest
        return Captured((tuple(edits),) if edits else (), versions)

    def apply(self, changes: Mapping[str, InstanceChange], version: int) -> None:
        for name, wrapped in self._tables.items():
            if self._shown(name) >= version:
                continue
            change = changes.get(name, InstanceChange())
            _, now = self._now(name)  # what was done before a crash is not done again
            gone = [row for row in dict.fromkeys(change.deleted) if row in now]
            come = [row for row in dict.fromkeys(change.inserted) if row not in now]
            stored = [to_stored(wrapped, row) for row in (*gone, *come)]
            signs = np.array([-1] * len(gone) + [1] * len(come), np.int64)
            self._update(name, pa.Table.from_pylist(stored, schema=stored_schema(wrapped)), signs)
            self._note_shown(self._record(wrapped) / "shown.json", version)

    def rows(self) -> dict[str, set[Row]]:
        return {name: self._now(name)[1] for name in self._tables}

    def shown(self) -> int:
        """The version that all tables show."""
        return min((self._shown(name) for name in self._tables), default=0)

    def close(self) -> None:
        """Nothing is held."""

    # ------------------------------------------------------------------ tables

    def _record(self, wrapped: WrappedTable) -> Path:
        return self._folder / RECORDS / quote(self.peer, safe=" ") / wrapped.table

    def _open(self, wrapped: WrappedTable) -> ParquetTable:
        """The table, made if there is none."""
        if "/" in wrapped.table or wrapped.table.startswith((".", "_")):
            raise ExchangeError(
                "bad-database",
                f"{wrapped.table} cannot be the name of a directory that Spark reads",
                hint="give the relation another name, or another kind of database to the peer",
            )
        path = self._folder / wrapped.table
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not any(path.rglob("*.parquet")):
                pq.write_table(stored_schema(wrapped).empty_table(), path / EMPTY)
        except OSError as error:
            raise ExchangeError(
                "unreachable", f"{path}: {error.strerror or error}", hint="nothing was changed"
            ) from error
        make_folder(self._record(wrapped))
        return ParquetTable(path, self._record(wrapped))

    def _now(self, name: str) -> tuple[int, set[Row]]:
        """The newest version of a table, and its rows."""
        wrapped, table = self._tables[name], self._opened[name]
        try:
            version = table.version()
            found = plain(table.rows())
        except (SketchError, OSError, pa.ArrowInvalid) as error:
            said = error.message if isinstance(error, SketchError) else str(error).splitlines()[0]
            raise ExchangeError(
                "unreachable", f"{table.path}: {said}", hint="nothing was changed; is somebody writing to it?"
            ) from error
        there = {field.name: field.type for field in found.schema}
        for field in stored_schema(wrapped):
            kind = there.get(field.name)
            if kind is None and field.name in wrapped.names or kind not in (None, field.type):
                what = f"no column {field.name}" if kind is None else f"a column {field.name} of {kind}"
                raise ExchangeError(
                    "schema-drift",
                    f"{table.path} does not fit {self.peer}.{name}: it has {what}",
                    hint=f"the peer's is {field.type}; change the table back, or the peer's schema",
                )
        return version, {from_stored(wrapped, row) for row in found.to_pylist()}

    def _update(self, name: str, rows: pa.Table, signs: Any) -> None:
        table = self._opened[name]
        if rows.num_rows:
            table.update(rows.cast(table.schema()) if rows.schema != table.schema() else rows, signs)

    # ------------------------------------------------------------------ what is remembered

    def _shown(self, name: str) -> int:
        path = self._record(self._tables[name]) / "shown.json"
        return int(json.loads(path.read_text(encoding="utf-8"))["shown"]) if path.exists() else 0

    @staticmethod
    def _note_shown(path: Path, version: int) -> None:
        try:
            put(path, json.dumps({"shown": version}).encode())
        except OSError as error:
            raise failed("cannot write", path, error) from error

    def _copy(self, name: str, version: int) -> Path:
        return self._record(self._tables[name]) / f"captured-{version:08d}.arrow"

    def _keep_copy(self, name: str, version: int, rows: set[Row], kept: int) -> None:
        """Keep the rows of a version that is captured; those before the last one that is known to be kept go."""
        wrapped = self._tables[name]
        table = pa.Table.from_pylist([to_stored(wrapped, row) for row in rows], schema=stored_schema(wrapped))
        path = self._copy(name, version)
        try:
            feather.write_feather(table, str(path.with_suffix(".new")))
            os.replace(path.with_suffix(".new"), path)
            sync_folder(path.parent)
        except OSError as error:
            raise failed("cannot write", path, error) from error
        for old in path.parent.glob("captured-*.arrow"):
            if int(old.stem.removeprefix("captured-")) < kept:
                old.unlink(missing_ok=True)

    def _left(self, name: str, after: int, newest: int) -> set[Row]:
        """The rows of a version that was captured, with what we did since."""
        wrapped, table, path = self._tables[name], self._opened[name], self._copy(name, after)
        if not path.exists():
            raise ExchangeError(
                "damaged",
                f"{path} is missing: what users did since it was captured is not known",
                hint="restore the folder; or open the confederation with another folder, which imports all rows",
            )
        found = {from_stored(wrapped, row) for row in feather.read_table(str(path)).to_pylist()}
        for version in range(after + 1, newest + 1):
            ours = table.own_changes(version)
            if ours is not None:
                rows = [from_stored(wrapped, row) for row in plain(ours[0]).to_pylist()]
                found -= {row for row, sign in zip(rows, ours[1], strict=True) if sign < 0}
                found |= {row for row, sign in zip(rows, ours[1], strict=True) if sign > 0}
        return found
