"""A peer's relations as tables of SQLite, PostgreSQL, DuckDB, or what else SQLAlchemy reaches.

Tables that are missing are made; tables that are there must have the relation's columns, in types that hold the same
values (they may have others, if these take NULL or a default). They are looked at before each use: a table that was
changed meanwhile is refused, with what changed.

The version that the tables show is in `headwater_exchange`, a row a peer. What is applied is one transaction with it.
Rows are sets here: a row that is there is not inserted again, and deleting one deletes its copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from headwater.errors import ExchangeError
from headwater.exchange.wrappers.stored_rows import from_stored, stored_columns, to_stored
from headwater.exchange.wrappers.wrapper import Captured, CaptureMark, InstanceChange, WrappedTable
from headwater.foreign.engine import open_engine, said_by, without_password
from headwater.foreign.rows import bound, delete_row, insert_new
from headwater.foreign.schema import columns_of, split_name
from headwater.values.labelled import LABEL
from headwater.values.types import Type

NOTES = "headwater_exchange"
_HINT = "nothing was changed there; what was captured or computed before is kept: correct it and try again"


class CaptureWay(Protocol):
    """How a kind of database tells what its users do. All calls are inside of a transaction."""

    def install(self, connection: Any, tables: Sequence[tuple[WrappedTable, Any]]) -> None:
        """Begin to capture; does nothing the second time."""
        ...

    def take(
        self, connection: Any, tables: Sequence[tuple[WrappedTable, Any]], mark: CaptureMark
    ) -> Captured:
        """What users did since the mark, which is kept by now; what came before it can be forgotten."""
        ...

    def everything(self, connection: Any, tables: Sequence[tuple[WrappedTable, Any]]) -> Captured:
        """All rows as insertions; what users do from this transaction on is captured."""
        ...

    def applying(self, connection: Any, tables: Sequence[tuple[WrappedTable, Any]], on: bool) -> None:
        """What this transaction does between `on` and not `on` is ours, not a user's."""
        ...


class SqlWrapper:
    """The tables of one peer in one database."""

    def __init__(self, peer: str, url: str, tables: Sequence[WrappedTable], way: CaptureWay):
        from sqlalchemy import BigInteger, Column, MetaData, String, Table

        self.peer = peer
        self.what = without_password(url)
        self._engine = open_engine(url, ExchangeError)
        self._way = way
        metadata = MetaData()
        self._notes = Table(
            NOTES,
            metadata,
            Column("peer", String(200), primary_key=True),
            Column("version", BigInteger, nullable=False),
        )
        self._tables = [(table, _sql_table(table, metadata)) for table in tables]

    def prepare(self) -> None:
        """Make what is missing, check what is there, and begin to capture."""
        from sqlalchemy.schema import CreateTable

        with self.transaction("prepare") as connection:
            for wrapped, table in self._tables:
                there = columns_of(connection, wrapped.table)
                if there is None:
                    connection.execute(CreateTable(table, if_not_exists=True))
                else:
                    self._add_labels(connection, wrapped, there)
                self._check(connection, wrapped)
            connection.execute(CreateTable(self._notes, if_not_exists=True))
            self._way.install(connection, self._tables)

    def capture(self, mark: CaptureMark) -> Captured:
        with self.transaction("capture changes of") as connection:
            for wrapped, _ in self._tables:
                self._check(connection, wrapped)
            if not mark:
                return self._way.everything(connection, self._tables)
            return self._way.take(connection, self._tables, mark)

    def apply(self, changes: Mapping[str, InstanceChange], version: int) -> None:
        with self.transaction("apply an exchange to") as connection:
            shown = self._shown(connection)
            if shown >= version:
                return
            for wrapped, _ in self._tables:
                self._check(connection, wrapped)
            self._way.applying(connection, self._tables, True)
            for wrapped, table in self._tables:
                if wrapped.relation in changes:
                    _change(connection, wrapped, table, changes[wrapped.relation])
            self._way.applying(connection, self._tables, False)
            self._note(connection, version, new=shown == 0)

    def rows(self) -> dict[str, set[tuple[Any, ...]]]:
        from sqlalchemy import select

        with self.transaction("read") as connection:
            return {
                wrapped.relation: {
                    from_stored(wrapped, row) for row in connection.execute(select(table)).mappings()
                }
                for wrapped, table in self._tables
            }

    def shown(self) -> int:
        with self.transaction("read") as connection:
            return self._shown(connection)

    def close(self) -> None:
        self._engine.dispose()

    # ------------------------------------------------------------------ inside of a transaction

    def _shown(self, connection: Any) -> int:
        from sqlalchemy import select

        mine = select(self._notes.c.version).where(self._notes.c.peer == self.peer)
        return int(connection.execute(mine).scalar() or 0)

    def _note(self, connection: Any, version: int, new: bool) -> None:
        if new:
            connection.execute(self._notes.insert().values(peer=self.peer, version=version))
        else:
            mine = self._notes.c.peer == self.peer
            connection.execute(self._notes.update().where(mine).values(version=version))

    def _add_labels(self, connection: Any, wrapped: WrappedTable, there: Mapping[str, Any]) -> None:
        """Columns for the texts of labelled nulls, in a table that somebody else made."""
        from sqlalchemy.schema import CreateColumn

        preparer = connection.dialect.identifier_preparer
        _, table = next(pair for pair in self._tables if pair[0] is wrapped)
        for name in stored_columns(wrapped):
            if name.endswith(LABEL) and name not in there:
                column = CreateColumn(table.c[name]).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {preparer.format_table(table)} ADD COLUMN {column}")

    def _check(self, connection: Any, wrapped: WrappedTable) -> None:
        """Refuse a table that is not what the relation needs."""
        there = columns_of(connection, wrapped.table)
        if there is None:
            raise self._drift(wrapped, "the table is gone")
        for column in wrapped.columns:
            found = there.get(column.name)
            if found is None:
                shown = ", ".join(name for name in there if not name.endswith(LABEL))
                raise self._drift(wrapped, f"it has no column {column.name}: it has {shown}")
            if not _holds(found.type, column.type, connection.dialect.name):
                raise self._drift(
                    wrapped, f"its column {column.name} is {found.declared}, and the peer's is {column.type}"
                )
            if column.labelled and not found.nullable:
                raise self._drift(
                    wrapped,
                    f"its column {column.name} takes no NULL, and mappings can put unknown values there",
                )

    def _drift(self, wrapped: WrappedTable, what: str) -> ExchangeError:
        return ExchangeError(
            "schema-drift",
            f"{wrapped.table} in {self.what} does not fit {self.peer}.{wrapped.relation}: {what}",
            hint="change the table back, or the peer's schema; nothing was read or written",
        )

    @contextmanager
    def transaction(self, doing: str) -> Iterator[Any]:
        """A transaction of the database; what it refuses is our error, and leaves nothing behind."""
        from sqlalchemy.exc import DBAPIError, SQLAlchemyError

        try:
            with self._engine.begin() as connection:
                if connection.dialect.name == "sqlite":
                    connection.exec_driver_sql(
                        "BEGIN IMMEDIATE"
                    )  # Python's driver begins later, with the first write
                yield connection
        except SQLAlchemyError as error:
            code = _kind_of(error) if isinstance(error, DBAPIError) else "database-failed"
            raise ExchangeError(
                code, f"cannot {doing} {self.what} for {self.peer}: {said_by(error)}", hint=_HINT
            ) from error


def _sql_table(wrapped: WrappedTable, metadata: Any) -> Any:
    from sqlalchemy import Column, Table

    schema, bare = split_name(wrapped.table)
    columns = [Column(name, kind) for name, kind in stored_columns(wrapped).items()]
    return Table(bare, metadata, *columns, schema=schema)


def _change(connection: Any, wrapped: WrappedTable, table: Any, change: InstanceChange) -> None:
    """Delete, then insert what is not there; many rows with each statement, of which there is one for each set of
    columns that are NULL."""
    insert = partial(insert_new, typed=connection.dialect.name != "sqlite")
    for rows, statement in ((change.deleted, delete_row), (change.inserted, insert)):
        alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for row in rows:
            stored = to_stored(wrapped, row)
            alike.setdefault(tuple(name for name in stored if stored[name] is None), []).append(stored)
        for absent, group in alike.items():
            present = [name for name in group[0] if name not in absent]
            nulls = [name for name in absent if name.removesuffix(LABEL) not in present]
            values = [bound(row, [*present, *nulls]) for row in group]
            connection.execute(statement(table, present, nulls), values)


def _holds(theirs: Type | None, ours: Type, dialect: str) -> bool:
    """Whether a column of their type holds the values of ours."""
    if theirs is None:
        return False
    if theirs.name == ours.name:
        return ours.name != "decimal" or (theirs.precision >= ours.precision and theirs.scale == ours.scale)
    # SQLite has no types of its own for these: a time is what it is written as, a decimal its text
    pair = (theirs.name, ours.name)
    return dialect == "sqlite" and pair in (("string", "decimal"), ("timestamp_ntz", "timestamp"))


def _kind_of(error: Any) -> str:
    """The code of our error for one of a driver."""
    state = getattr(error.orig, "sqlstate", None) or ""
    said = str(error.orig).lower()
    if state.startswith("42501") or "permission denied" in said or "readonly" in said or "read-only" in said:
        return "permission"
    if state.startswith("08") or type(error).__name__ == "OperationalError" and not state:
        return "busy" if "locked" in said else "unreachable"
    return "database-failed"
