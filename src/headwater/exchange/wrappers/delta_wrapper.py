"""A peer's relations as Delta tables of one folder, which Spark and others edit; through the `deltalake` wheel.

What users did is the change data feed of the commits that are not ours; ours carry the peer as metadata. A table that
somebody made without a feed is compared, version by version. What is applied is one commit a table: Delta has no
transactions over tables. Each commit carries the version of the instance (Delta's own transaction of an application),
so a table that has it is skipped when the process was killed between two tables, and all show it in the end.

Labelled nulls are as in other databases: NULL, and their text in a column beside (`stored_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.errors import ExchangeError
from headwater.exchange.edit import Edit
from headwater.exchange.wrappers.stored_rows import StoredEdits, from_stored, stored_schema, to_stored
from headwater.exchange.wrappers.wrapper import Captured, CaptureMark, InstanceChange, WrappedTable
from headwater.pipeline.delta import plain, require_wheel

METADATA = "headwater.peer"
"""The key of commits that are ours."""


class DeltaWrapper:
    """Delta tables in a folder, one a relation."""

    def __init__(self, peer: str, folder: str, tables: Sequence[WrappedTable]):
        self.peer = peer
        self.what = f"delta://{folder}"
        self._folder = folder
        self._deltalake = require_wheel()
        self._tables = tables
        for table in tables:
            self._make(table)

    def capture(self, mark: CaptureMark) -> Captured:
        edits: list[Edit] = []
        versions: dict[str, int] = {}
        for wrapped in self._tables:
            table = self._open(wrapped)
            newest = int(table.version())
            versions[wrapped.relation] = newest
            if wrapped.relation not in mark:
                edits += [Edit("+", wrapped.relation, row) for row in self._rows(wrapped, newest)]
            else:
                edits += self._since(wrapped, table, int(mark[wrapped.relation]), newest)
        return Captured((tuple(edits),) if edits else (), versions)

    def apply(self, changes: Mapping[str, InstanceChange], version: int) -> None:
        for wrapped in self._tables:
            table = self._open(wrapped)
            change = changes.get(wrapped.relation, InstanceChange())
            if (table.transaction_version(self._application) or 0) < version:
                self._commit(wrapped, table, change, version)

    def rows(self) -> dict[str, set[tuple[Any, ...]]]:
        return {
            table.relation: set(self._rows(table, int(self._open(table).version()))) for table in self._tables
        }

    def shown(self) -> int:
        """The version that all tables show."""
        found = [self._open(table).transaction_version(self._application) or 0 for table in self._tables]
        return int(min(found, default=0))

    def close(self) -> None:
        """Nothing is held."""

    # ------------------------------------------------------------------ tables

    @property
    def _application(self) -> str:
        return f"headwater-exchange-{self.peer}"

    def _path(self, wrapped: WrappedTable) -> str:
        return f"{self._folder.rstrip('/')}/{wrapped.table}"

    def _make(self, wrapped: WrappedTable) -> None:
        if not self._deltalake.DeltaTable.is_deltatable(self._path(wrapped)):
            if "://" not in self._folder:
                Path(self._folder).mkdir(parents=True, exist_ok=True)
            self._deltalake.DeltaTable.create(
                self._path(wrapped),
                stored_schema(wrapped),
                configuration={"delta.enableChangeDataFeed": "true"},
            )

    def _open(self, wrapped: WrappedTable, version: int | None = None) -> Any:
        """The table, if it has the relation's columns."""
        try:
            table = self._deltalake.DeltaTable(self._path(wrapped), version=version)
        except self._deltalake.exceptions.DeltaError as error:
            raise ExchangeError(
                "unreachable",
                f"{self._path(wrapped)}: {str(error).splitlines()[0]}",
                hint="nothing was changed",
            ) from error
        there = {field.name: field.type for field in pa.schema(table.schema().to_arrow())}
        for field in stored_schema(wrapped):
            found = there.get(field.name)
            if found is None or _plain_type(found) != field.type:
                what = f"no column {field.name}" if found is None else f"a column {field.name} of {found}"
                raise ExchangeError(
                    "schema-drift",
                    f"{self._path(wrapped)} does not fit {self.peer}.{wrapped.relation}: it has {what}",
                    hint=f"the peer's is {field.type}; change the table back, or the peer's schema",
                )
        return table

    # ------------------------------------------------------------------ rows

    def _rows(self, wrapped: WrappedTable, version: int) -> Iterator[tuple[Any, ...]]:
        found = plain(self._open(wrapped, version).to_pyarrow_table()).to_pylist()
        return iter(dict.fromkeys(from_stored(wrapped, row) for row in found))

    def _since(self, wrapped: WrappedTable, table: Any, after: int, newest: int) -> Iterator[Edit]:
        """What the commits after a version did that are not ours."""
        if newest < after:
            raise ExchangeError(
                "schema-drift",
                f"{self._path(wrapped)} went back from version {after} to {newest}",
                hint="restore the table; what was captured before is kept",
            )
        ours = {int(commit["version"]) for commit in table.history() if commit.get(METADATA) == self.peer}
        read = StoredEdits()
        for version in range(after + 1, newest + 1):
            if version not in ours:
                yield from self._commit_edits(read, wrapped, table, version)
        read.check()

    def _commit_edits(
        self, read: StoredEdits, wrapped: WrappedTable, table: Any, version: int
    ) -> Iterator[Edit]:
        if table.metadata().configuration.get("delta.enableChangeDataFeed") == "true":
            found = plain(table.load_cdf(starting_version=version, ending_version=version)).to_pylist()
            signs = {"insert": "+", "update_postimage": "+", "delete": "-", "update_preimage": "-"}
            changes = sorted(
                ((signs[row["_change_type"]], row) for row in found), key=lambda change: change[0] == "+"
            )
            edits = (read.edit(sign, wrapped, row) for sign, row in changes)
            yield from (edit for edit in edits if edit is not None)
            return
        before, after = set(self._rows(wrapped, version - 1)), set(self._rows(wrapped, version))
        yield from (Edit("-", wrapped.relation, row) for row in before - after)
        yield from (Edit("+", wrapped.relation, row) for row in after - before)

    def _commit(self, wrapped: WrappedTable, table: Any, change: InstanceChange, version: int) -> None:
        """Delete and insert rows, in a commit that carries the version (an empty one if nothing changed)."""
        commit = self._deltalake.CommitProperties(
            app_transactions=[self._deltalake.Transaction(self._application, version)],
            custom_metadata={METADATA: self.peer},
        )
        schema = stored_schema(wrapped)
        gone = [to_stored(wrapped, row) | {"_gone": True} for row in change.deleted]
        come = [to_stored(wrapped, row) | {"_gone": False} for row in change.inserted]
        rows = pa.Table.from_pylist([*gone, *come], schema=schema.append(pa.field("_gone", pa.bool_())))
        equal = " AND ".join(f'(t."{name}" IS NOT DISTINCT FROM s."{name}")' for name in schema.names)
        merger = table.merge(rows, equal, source_alias="s", target_alias="t", commit_properties=commit)
        merger = merger.when_matched_delete(predicate="s._gone")
        values = {f'"{name}"': f's."{name}"' for name in schema.names}
        merger.when_not_matched_insert(values, predicate="NOT s._gone").execute()


def _plain_type(kind: Any) -> Any:
    return plain(pa.table({"c": pa.array([], kind)})).schema.field("c").type
