"""A peer's instance and a database of its own: what users do there comes in as edits, what becomes of it goes out.

What was captured is taken in the same version as the mark of the wrapper (`database/progress`), so it is taken
exactly once. What a version does to the peer's relations is owed to the database (the instance's own outbox) until
the database shows it, and the database notes which version it shows in the transaction that shows it. So after a
kill anywhere the next call goes on where the last one stood.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from headwater.errors import ExchangeError
from headwater.exchange.border import Border
from headwater.exchange.description import PeerDescription
from headwater.exchange.edit import Edit
from headwater.exchange.instance import PeerInstance
from headwater.exchange.wrappers.open import CaptureName, open_wrapper
from headwater.exchange.wrappers.stored_rows import from_stored
from headwater.exchange.wrappers.wrapper import InstanceChange, WrappedColumn, WrappedTable
from headwater.language.mappings.mapping import PeerRelation
from headwater.language.mappings.weak_acyclicity import Position, unknown_positions
from headwater.pipeline.sink import together

MARK = "captured from the database"
"""The name of the mark; no peer's, since it has spaces."""


class AttachedDatabase:
    """The database of one peer, and what it is owed."""

    def __init__(self, described: PeerDescription, instance: PeerInstance):
        assert described.database is not None
        self._instance = instance
        instance.written_out = True
        self._follows = False
        """Whether the tables hold what users are shown but for what the instance has not written yet."""
        self._touched: list[Edit] = []
        unknown = unknown_positions(instance.mappings, instance.schemas)
        self._tables = {
            relation: _wrapped(
                instance, relation, described.tables.get(relation.name, relation.name), unknown
            )
            for relation in instance.schemas.of(described.name)
        }
        capture: CaptureName = described.capture  # type: ignore[assignment]
        self._wrapper = open_wrapper(described.name, described.database, list(self._tables.values()), capture)
        try:
            self._check_version()
            for relation in self._tables:
                self._subscribe(relation)
        except BaseException:
            self._wrapper.close()
            raise

    @property
    def what(self) -> str:
        """Where it is, without passwords."""
        return self._wrapper.what

    @property
    def shown(self) -> int:
        """The version of the instance that the database shows."""
        return self._wrapper.shown()

    @property
    def behind(self) -> int:
        """How many versions it is still owed."""
        return len({one.version for relation in self._tables for one in self._owed(relation, self.shown)})

    def capture(self, take: Callable[[tuple[tuple[Edit, ...], ...], dict[str, Any]], None]) -> None:
        """Hand what users did since the last time to `take`, with the mark to keep in the same version."""
        before = self._instance.database.marks.get(MARK, {})
        captured = self._wrapper.capture(before)
        if captured.transactions or dict(captured.mark) != before:
            self._touched += [edit for edits in captured.transactions for edit in edits]
            take(captured.transactions, {MARK: dict(captured.mark)})

    def show(self) -> None:
        """Bring the database's tables up to date with the instance."""
        version, shown = self._instance.database.version, self._wrapper.shown()
        owed = {relation: self._owed(relation, shown) for relation in self._tables}
        border = self._instance.border
        if border is not None:
            changes = self._followed(border) if self._follows else self._compared(border)
        else:
            changes = {
                relation.name: self._change(relation, together(each))
                for relation, each in owed.items()
                if each
            }
        self._follows = False  # unless this comes to its end
        if changes:
            self._wrapper.apply(changes, version)
        self._follows, self._touched = True, []
        for relation in self._tables:
            self._instance.database.acknowledge(_subscriber(relation), version)

    def close(self) -> None:
        """Let go of the database."""
        self._wrapper.close()

    # ------------------------------------------------------------------ what it is owed

    def _subscribe(self, relation: PeerRelation) -> None:
        database = self._instance.database
        if _subscriber(relation) not in database.subscriptions:
            database.subscribe(
                _subscriber(relation), self._instance.compiled.names.output(relation), labels=True
            )

    def _owed(self, relation: PeerRelation, shown: int) -> list[Any]:
        owed = self._instance.database.owed(_subscriber(relation))
        return [one for one in owed if one.version > shown and one.table is not None]

    def _change(self, relation: PeerRelation, table: Any) -> InstanceChange:
        """Rows of the instance's relation, whose columns are the peer's by another name."""
        wrapped = self._tables[relation]
        inside = self._instance.database.info(self._instance.compiled.names.output(relation)).columns
        names = dict(zip(inside, wrapped.names, strict=True))
        renamed = [
            names.get(n) or (names[n[:-1]] + "?" if n[:-1] in names else n) for n in table.column_names
        ]
        inserted: list[tuple[Any, ...]] = []
        deleted: list[tuple[Any, ...]] = []
        for row in table.rename_columns(renamed).to_pylist():
            side = inserted if row["_change_type"] == "insert" else deleted
            side.append(from_stored(wrapped, row))
        return InstanceChange(inserted, deleted)

    def _followed(self, border: Border) -> dict[str, InstanceChange]:
        """What became of what users see since the last time, where that is not simply what is stored: values that
        nobody knew may have become known in all rows. Rows that users edited in the tables are looked at too: what
        they deleted may be there all the same."""
        net = self._instance.not_written()
        changes = {}
        for relation in self._tables:
            rows = {edit.row for edit in self._touched if edit.relation == relation.name}
            rows |= net.gained.get(relation, frozenset()) | net.lost.get(relation, frozenset())
            come = [row for row in rows if border.holds(relation, row)]
            go = [row for row in rows if not border.holds(relation, row)]
            if come or go:
                changes[relation.name] = InstanceChange(come, go)
        return changes

    def _compared(self, border: Border) -> dict[str, InstanceChange]:
        """The same by a look at all of the tables, unless they were last written at this version."""
        self._instance.not_written()
        database = self._instance.database
        known = [database.subscriptions[_subscriber(relation)].acknowledged for relation in self._tables]
        if min(known, default=database.version) >= database.version:
            return {}
        there = self._wrapper.rows()
        changes = {}
        for relation in self._tables:
            stored = self._instance.database[self._instance.compiled.names.output(relation)].where()
            wanted = set(border.shown(relation, stored).rows())
            found = there[relation.name]
            changes[relation.name] = InstanceChange(list(wanted - found), list(found - wanted))
        return changes

    def _check_version(self) -> None:
        shown, version = self._wrapper.shown(), self._instance.database.version
        if shown > version:
            raise ExchangeError(
                "other-state",
                f"{self.what} shows version {shown} of {self._instance.name}, and its state here is at {version}",
                hint="it belongs to another state folder, or this one is an old copy: open the right one; to begin"
                " anew, delete the peer's row in the table headwater_exchange",
            )


def _subscriber(relation: PeerRelation) -> str:
    return f"the database's {relation.name}"


def _wrapped(
    instance: PeerInstance, relation: PeerRelation, table: str, unknown: Collection[Position]
) -> WrappedTable:
    columns = []
    for number, column in enumerate(instance.schemas.columns[relation]):
        assert column.type is not None
        labelled = (relation, number) in unknown
        columns.append(WrappedColumn(column.name, column.type, labelled, column.nullable))
    return WrappedTable(relation.name, table, tuple(columns))
