"""`NamedTables`: the tables that were named, whether they still are what they were, and the plans of texts over them.

A table may be gone, have other columns, or be another one where it was. Queries over it are refused until it is there
again, or its sketches are dropped; all other queries can be asked meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.errors import SketchError, SqlError
from headwater.language.sql.parser import parse
from headwater.language.sql.query import SqlQuery
from headwater.language.sql.tables import TableSchema
from headwater.sketch.kept import KeptState, KeptTable
from headwater.sketch.query_book import QueryBook
from headwater.sketch.tables.opening import open_spark_table
from headwater.sketch.tables.spark_backend import SparkBackend
from headwater.sketch.tables.sql_backend import SqlBackend
from headwater.values import arguments

if TYPE_CHECKING:
    import pyarrow as pa

MOST_PLANS_KEPT = 4096
"""Texts whose plans are at hand."""
GONE = ("unknown-table", "missing-source", "not-recorded")
"""What is said of a table that is not there any more, or has become a partition: its queries cannot be asked, all
others can."""


@contextmanager
def suppressed(codes: Sequence[str]) -> Iterator[None]:
    """Go on after errors with these codes."""
    try:
        yield
    except SketchError as error:
        if error.code not in codes:
            raise


class NamedTables:
    """The tables of a backend that were named, here or by the process that had the state folder before."""

    def __init__(self, backend: SparkBackend | SqlBackend, address: str, state: KeptState, book: QueryBook):
        self.backend = backend
        self._address, self._state, self._book = address, state, book
        self._tables: dict[str, KeptTable] = {}
        self._plans: dict[str, SqlQuery] = {}
        named = list(state.tables())
        for table in named:
            self._tables[table.name] = table
            with suppressed(GONE):
                self._take_over(table)
        if list(self._tables.values()) != named:  # one was made anew
            self._describe()

    def __getitem__(self, name: str) -> KeptTable:
        return self._tables[name]

    def __len__(self) -> int:
        return len(self._tables)

    # ------------------------------------------------------------------ naming

    def name(self, table: KeptTable, partition: str | Sequence[str] | None = None) -> None:
        """Take in a table, to be sketched by these attributes, and keep that."""
        self._take_over(table, partition)
        self._describe()

    def _take_over(self, table: KeptTable, partition: str | Sequence[str] | None = None) -> None:
        """Take in a table; sketches of another one that had its name, or of other columns, are of no use."""
        identity, columns = self._opened(table)
        table = replace(table, identity=identity, columns=columns)
        if partition is not None:
            table = replace(table, partition=self._attributes(table.name, partition))
        there = {column.name for column in self.backend.schemas()[table.name].columns}
        table = replace(table, partition=tuple(name for name in table.partition if name in there))
        before, self._tables[table.name] = self._tables.get(table.name), table
        self._plans.clear()
        if before is not None and table.is_another(before):
            self._book.drop_sketches_of(table.name)
        elif before is not None and (table.partition, table.ranges) != (before.partition, before.ranges):
            self._book.begin_again(table.name)

    def _describe(self) -> None:
        self._state.describe(self._address, self._tables)

    def _opened(self, table: KeptTable) -> tuple[str, tuple[str, ...]]:
        """Open a table: what tells it from others, where that is known, and its columns, if it may get more."""
        if isinstance(self.backend, SqlBackend):
            schema = self.backend.table(table.name)
            return self.backend.origin(), _said(schema)
        record = self._state.folder / "tables" / table.name
        found = open_spark_table(self.backend.session, table, record)
        return ", ".join((found.identity, *_said(self.backend.table(table.name, found)))), ()

    def _attributes(self, table: str, partition: str | Sequence[str] | None) -> tuple[str, ...]:
        """Columns by their names: one, several in a list, or several with commas between."""
        schema = self.backend.schemas()[table]
        if partition is not None and not isinstance(partition, str | Sequence):
            raise arguments.wrong("partition", partition, "the name of a column, or several")
        if isinstance(partition, str):
            is_one = schema.column(partition) is not None or "," not in partition
            partition = [partition] if is_one else [name.strip() for name in partition.split(",")]
        found = {name: schema.column(arguments.text("partition", name)) for name in partition or ()}
        for name, column in found.items():
            if column is None:
                raise SketchError("unknown-column", f"{table} has no column {name}")
        return tuple(dict.fromkeys(column.name for column in found.values() if column is not None))

    # ------------------------------------------------------------------ tables that are others now

    def name_again(self, query: SqlQuery) -> None:
        """Take in the tables of a query, one of which was made anew where it was."""
        for name in query.tables:
            self._take_over(self._tables[name])
        self._describe()

    def name_altered(self, names: Iterable[str] | None = None) -> bool:
        """Take in those tables (default: all) again that were made anew, or have other columns; whether there are
        any."""
        altered = []
        for name in self._tables if names is None else names:
            try:
                with suppressed(GONE):
                    self.backend.refuse_others([name])
            except SketchError as error:
                if error.code != "table-replaced":
                    raise
                altered.append(self._tables[name])
        for table in altered:
            self._take_over(table)
        if altered:
            self._describe()
        return bool(altered)

    def _gone(self) -> list[str]:
        """Tables that were named and could not be opened."""
        return [name for name in self._tables if name not in self.backend.schemas()]

    def _gone_of(self, message: str) -> str:
        """Those of them that a message names, perhaps without their schemas."""
        words = set(re.findall(r"\w+", message.lower()))
        return ", ".join(name for name in sorted(self._gone()) if name.rpartition(".")[2].lower() in words)

    def _name_returned(self, names: Collection[str] | None = None) -> bool:
        """Take in tables (default: all) that were gone and are there again; whether there are any."""
        gone = self._gone()
        for name in gone:
            if names is None or name in names:
                with suppressed(GONE):
                    self._take_over(self._tables[name])
        if self._gone() == gone:
            return False
        self._describe()  # they may be other ones than before
        return True

    @contextmanager
    def told_of_others(self, tables: Iterable[str]) -> Iterator[None]:
        """Say that a table of a database was dropped, or is another one now, where the database said that it cannot
        do something."""
        try:
            yield
        except SketchError as error:
            if error.code == "backend-failed":
                try:
                    self.backend.refuse_others(tables)
                except SketchError as other:
                    raise other from error
            raise

    # ------------------------------------------------------------------ what is asked of them

    def parsed(self, text: str) -> SqlQuery:
        """The plan of a text, made once while the tables are as they are."""
        found = self._plans.get(text) if isinstance(text, str) else None
        if found is None:
            found = parse(text, self.backend.schemas(), self.backend.dialect)
            if len(self._plans) >= MOST_PLANS_KEPT:
                self._plans.clear()
            self._plans[text] = found
        return found

    def parsed_anew(self, text: str) -> SqlQuery:
        """The same for somebody who may have seen columns that a table has got since it was named, or a table that is
        there again."""
        try:
            return self.parsed(text)
        except SqlError as error:
            match error.code:
                case "unknown-column" if self.name_altered():
                    return self.parsed(text)
                case "unknown-table" if self._name_returned():
                    return self.parsed(text)
                case "unknown-table" if gone := self._gone_of(error.message):
                    error.hint = f"named, but not where it was, or a partition now: {gone}"
            raise

    def versions(self, query: SqlQuery) -> dict[str, int]:
        """The versions that the tables of a query have now."""
        return self.backend.versions(query.tables)

    def chosen_versions(self, versions: Mapping[str, int]) -> dict[str, int]:
        """The versions that were asked for, by the names of tables as they were named; case does not matter."""
        names = {name.lower(): name for name in self._tables} | {name: name for name in self._tables}
        found = {}
        for table, version in versions.items():
            name = names.get(table) or names.get(str(table).lower())
            if name is None:
                raise _unknown(table)
            if not isinstance(version, int) or isinstance(version, bool) or version < 0:
                raise SketchError(
                    "no-such-version", f"{version!r} is no version of {table}", hint="a whole number"
                )
            found[name] = version
        return found

    def find(self, table: str) -> None:
        """Refuse a table that was not named, or is gone; one that was gone and is there again is taken in again."""
        if table in self.backend.schemas() or (table in self._tables and self._name_returned({table})):
            return
        if table in self._tables:
            raise SketchError(
                "unknown-table",
                f"{table} is not where it was: {self._tables[table].path}",
                hint="is it to come?",
            )
        raise _unknown(table)

    def row_schema(self, table: str) -> pa.Schema:
        """The columns that rows for a table are given in."""
        self.find(table)
        import pyarrow as pa

        from headwater.values.arrow_types import arrow_type

        if isinstance(self.backend, SparkBackend) and table in self.backend.tables:
            return self.backend.tables[table].schema()
        columns = self.backend.schemas()[table].columns
        unknown = next((column.name for column in columns if column.type is None), None)
        if unknown is not None:
            raise SketchError(
                "unknown-type",
                f"{table}.{unknown} has a type that rows cannot be given for here",
                hint="change the table in the database",
            )
        return pa.schema([(column.name, arrow_type(column.type)) for column in columns])


def _said(schema: TableSchema) -> tuple[str, ...]:
    """Columns with their types."""
    return tuple(
        f"{column.name} {column.type}{'' if column.nullable else ' not null'}" for column in schema.columns
    )


def _unknown(table: object) -> SketchError:
    return SketchError("unknown-table", f"no table {table} was named", hint="name it: sketches.table(...)")
