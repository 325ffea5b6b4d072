"""Tables of DuckDB and PostgreSQL, through SQLAlchemy.

Versions and changes are in the database itself, in tables that begin with `headwater_`: a change of a table and
its record are one transaction. In PostgreSQL triggers write them, whoever changes the table; writers of a table
wait for each other, so versions come in the order of commits. DuckDB has no triggers: its tables must be changed
by `update`, and a number of rows that nobody recorded counts as a change that is not known.

Only the newest version can be read: neither system keeps old ones. A plan and the versions that it reads are one
transaction too, so what is read is what the sketch is about (section 11.2).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from headwater.errors import SketchError
from headwater.foreign.engine import open_engine, without_password
from headwater.foreign.schema import ForeignColumn, columns_of
from headwater.language.sql.algebra import Operator
from headwater.language.sql.render import render
from headwater.language.sql.scalars import Attribute, Scalar
from headwater.language.sql.tables import TableColumn, TableSchema
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.backend import CountsKeys, News, TableDelta, WantedRows, other_table
from headwater.sketch.tables.bags import Numbers, net_change, signed
from headwater.sketch.tables.key_lookup import KeyLookup, is_dense
from headwater.sketch.tables.known_versions import KnownVersions
from headwater.sketch.tables.layout import TableLayout
from headwater.sketch.tables.own_comparison import OwnComparisons, own_comparisons, refuse_other_order
from headwater.sketch.tables.recent_changes import RecentChange, RecentChanges
from headwater.sketch.tables.sql_changes import RecordedChanges
from headwater.sketch.tables.sql_records import RecordedVersion, SqlRecords
from headwater.sketch.tables.sql_rows import fetched, holds_exactly, sources, staged
from headwater.sketch.tables.sql_statements import do, quoted, quoted_column, quoted_text
from headwater.sketch.tables.sql_transactions import SqlTransactions
from headwater.store.patience import PATIENCE
from headwater.values.arrow_types import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Engine

MOST_TEXTS_KEPT = 256
"""How many rendered plans are kept for when they are run again."""
SECONDS_A_KEY = 1e-5
"""What fetching a value takes from PostgreSQL, which gives rows one by one."""
DIALECTS = {"duckdb": "duckdb", "postgresql": "postgres"}


class SqlBackend:
    """The tables of one database. `address` is SQLAlchemy's: `duckdb:///shop.db`, `postgresql://user@host/shop`."""

    def __init__(self, address: str, patience: float = PATIENCE):
        kind = re.match(r"(\w+)(\+\w+)?:", address)
        if kind is not None and kind[1] not in DIALECTS:  # before a driver is asked for
            raise SketchError(
                "unknown-backend",
                f"{without_password(address)} is neither DuckDB nor PostgreSQL",
                hint="a Spark session, duckdb:///file or postgresql://user@host/database",
            )
        self.engine = open_engine(address, SketchError)
        self.dialect = DIALECTS[self.engine.dialect.name]
        self._tables: dict[str, TableSchema] = {}
        self._names = itertools.count()
        self._records = SqlRecords(self.dialect)
        self._recent = RecentChanges()
        self._known = KnownVersions(_file_of(self.engine))
        self._stored_as_given: set[str] = set()
        """Tables whose columns hold values as they are given: of others a change must be read back."""
        self._transactions = SqlTransactions(self.engine, patience)
        self._texts: dict[tuple[Operator, tuple[tuple[str, str], ...]], str] = {}
        self._lookups: WeakKeyDictionary[KeyLookup, dict[tuple[bool, ...], str]] = WeakKeyDictionary()
        self._changes = RecordedChanges(self._tables, self._records, self._rendered)

    def close(self) -> None:
        """Close the connections: DuckDB lets no other process have a file that one has open."""
        self._transactions.close()

    def schemas(self) -> Mapping[str, TableSchema]:
        return self._tables

    def table(self, name: str) -> TableSchema:
        """Take in a table by its name; from now on its changes are recorded."""
        found, apart = self._transactions.until_done(lambda: self._taken_in(name))
        columns = tuple(
            TableColumn(
                one.name, one.type, one.nullable, one.name in apart.compared_there, one.name in apart.padded
            )
            for one in found.values()
        )
        self._recent.forget(name)  # it may have other columns now
        self._changes.begin(name)
        self._tables[name] = TableSchema(name, columns)
        self._stored_as_given.discard(name)
        if self.dialect == "duckdb" and self._stores_as_given(name):
            self._stored_as_given.add(name)
        return self._tables[name]

    def _taken_in(self, name: str) -> tuple[Mapping[str, ForeignColumn], OwnComparisons]:
        """The columns of a table, whose changes are recorded now; those that only the database can compare."""
        with self._transactions.refusals(), self.engine.begin() as connection:
            self._transactions.wait_patiently(connection)
            found = columns_of(connection, name)
            if found is None:
                raise SketchError("unknown-table", f"there is no table {name}", hint="is its name right?")
            self._records.prepare(connection, name, list(found))
            return found, own_comparisons(self.dialect, connection, name)

    def origin(self) -> str:
        """What tells the database from another one with tables of the same names, once a table was taken in."""
        with self._transactions.refusals(), self.engine.begin() as connection:
            return self._records.origin(connection)

    def marks(self, versions: Mapping[str, int]) -> dict[str, int]:
        """What the writers of versions left with them: another writer's version has another mark."""
        with self._transactions.transaction() as connection:
            recorded = self._recorded(connection, tuple(versions))
            newest = {table: now.mark for table, now in recorded.items() if now.version == versions[table]}
            earlier = {table: version for table, version in versions.items() if table not in newest}
            return newest | self._records.history.marks(connection, earlier)

    def refuse_others(self, tables: Iterable[str]) -> None:
        with self._transactions.refusals(), self.engine.begin() as connection:
            for name in tables:
                found = columns_of(connection, name)
                if found is None:
                    raise SketchError(
                        "unknown-table",
                        f"there is no table {name} any more",
                        hint="was it dropped, or renamed?",
                    )
                now = [(one.name, one.type, one.nullable) for one in found.values()]
                if now != [(one.name, one.type, one.nullable) for one in self._schema(name).columns]:
                    raise other_table(name, "has other columns than it had")
                self._records.refuse_unwatched(connection, name)

    def _stores_as_given(self, table: str) -> bool:
        """Whether what `update` gives is what the columns hold: floats of 32 bits, say, hold less."""
        attributes = [Attribute(0, column.name) for column in self._tables[table].columns]
        with self._transactions.transaction() as connection:
            held = fetched(connection, f"SELECT * FROM {quoted(table)} LIMIT 0", attributes).schema
        return all(
            holds_exactly(field.type, arrow_type(column.type))
            for field, column in zip(held, self._tables[table].columns, strict=True)
        )

    def version(self, table: str) -> int:
        self._schema(table)
        with self._transactions.transaction() as connection:
            return self._recorded(connection, (table,))[table].version

    def versions(self, tables: Sequence[str]) -> dict[str, int]:
        for table in tables:
            self._schema(table)
        with self._transactions.transaction() as connection:
            return {table: now.version for table, now in self._recorded(connection, tables).items()}

    @contextmanager
    def moment(self) -> Iterator[None]:
        with self._transactions.in_a_moment():
            yield
        self._forget_changes()

    def _forget_changes(self) -> None:
        """Keep no more changes than are of use; where the database refuses that, it is done another time."""
        if self._transactions.moment is not None:
            return
        for table in self._changes.take_due():
            with suppress(SketchError), self._transactions.refusals(), self.engine.begin() as connection:
                self._records.history.cut(connection, table)

    def _recorded(self, connection: Any, tables: Sequence[str]) -> dict[str, RecordedVersion]:
        """What is recorded of tables; asked for once a moment."""
        moment = self._transactions.moment
        known = {} if moment is None else moment.recorded
        unknown = [table for table in tables if table not in known]
        known |= self._records.recorded(connection, unknown)
        return {table: known[table] for table in tables}

    def rows(self, table: str) -> int:
        self._schema(table)
        with self._transactions.transaction() as connection:
            return int(_one(connection, f"SELECT count(*) FROM {quoted(table)}"))

    def seconds_for_keys(self, table: str) -> float:
        self._schema(table)
        if self.dialect == "duckdb":
            return 0.0
        with self._transactions.transaction() as connection:
            said = f"SELECT reltuples FROM pg_class WHERE oid = to_regclass({quoted_text(quoted(table))})"
            return max(0.0, float(_one(connection, said)) * SECONDS_A_KEY)

    @property
    def counts_keys(self) -> CountsKeys:
        return "here" if self.dialect == "duckdb" else "there"

    def layout(self, table: str, attribute: str, version: int | None = None) -> TableLayout | None:
        return None

    def sample(self, table: str, attribute: str, most: int) -> pa.ChunkedArray:
        column = self._column(table, attribute)
        with self._transactions.transaction() as connection:
            refuse_other_order(self.dialect, connection, table, column)
        rows = self.rows(table)
        part = ""
        if rows > most:
            percent = "%" if self.dialect == "duckdb" else ""
            part = f" TABLESAMPLE BERNOULLI ({100.0 * most / rows:.6f}{percent})"
            part += " REPEATABLE (1)"
        with self._transactions.transaction() as connection:
            found = fetched(
                connection,
                f"SELECT {quoted_column(attribute)} FROM {quoted(table)}{part}",
                (Attribute(0, attribute, column.type),),
            )
        return found.column(0)

    def tasks(self) -> tuple[int, int] | None:
        return None

    def run(
        self,
        plan: Operator,
        *,
        versions: Mapping[str, int] | None = None,
        given: Mapping[str, pa.Table] | None = None,
        fragments: Mapping[Slot, Ranges] | None = None,
    ) -> pa.Table:
        with (
            self._transactions.transaction() as connection,
            sources(self.dialect, connection, given, fragments) as named_so,
        ):
            if versions:
                self._check_versions(connection, versions)
            named = {name: quoted(name) for name in self._tables} | named_so
            return fetched(connection, self._rendered(plan, named), plan.attributes)

    def lookup(
        self, asked: KeyLookup, keys: Sequence[pa.Array], *, versions: Mapping[str, int], most: int
    ) -> pa.Table | None:
        import pyarrow.compute as pc

        distinct = [pc.unique(column).to_pylist() for column in keys]
        dense = tuple(map(is_dense, distinct))
        texts = self._lookups.setdefault(asked, {})
        if dense not in texts:
            rendered = self._rendered(asked.plan, {name: quoted(name) for name in self._tables})
            texts[dense] = asked.text(self.dialect, rendered, quoted_column, dense)
        with self._transactions.transaction() as connection:
            self._check_versions(connection, versions)
            values = asked.values(self.dialect, distinct, dense)
            found = fetched(connection, f"{texts[dense]} LIMIT {most + 1}", asked.columns, values)
        return found if found.num_rows <= most else None

    def _check_versions(self, connection: Any, versions: Mapping[str, int]) -> None:
        for table, now in self._recorded(connection, tuple(versions)).items():
            if now.version != versions[table]:
                raise SketchError(
                    "no-such-version",
                    f"{table} has version {now.version}, not {versions[table]}",
                    hint="databases keep their newest version only",
                )

    def _rendered(self, plan: Operator, named: Mapping[str, str]) -> str:
        """The text of a plan: those that are run again, as maintenance does, are rendered once."""
        key = (plan, tuple(sorted(named.items())))
        text = self._texts.pop(key, None) or render(plan, self.dialect, named)
        self._texts[key] = text  # the last of all, of which the first go
        if len(self._texts) > MOST_TEXTS_KEPT:
            del self._texts[next(iter(self._texts))]
        return text

    def changes(
        self,
        table: str,
        after: int,
        upto: int,
        *,
        columns: Sequence[str] | None = None,
        condition: Scalar | None = None,
    ) -> TableDelta:
        wanted = WantedRows(None if columns is None else frozenset(columns), condition)
        with self._transactions.transaction() as connection:
            seen = (
                self._transactions.moment.recorded.get(table)
                if self._transactions.moment is not None
                else None
            )
            at_hand = None
            if seen is not None and seen.version == upto and seen.unknown <= after:
                at_hand = self._at_hand(table, after, seen, wanted)
            if at_hand is not None:
                return at_hand
            self._records.check_known(connection, table, after, upto)
            return self._changes.read(connection, table, after, upto, wanted)

    def news(self, seen: Mapping[str, int], wanted: Mapping[str, WantedRows]) -> News:
        if not seen.keys() <= self._tables.keys():
            for table in seen:
                self._schema(table)
        if self._transactions.moment is None and self.dialect == "duckdb":
            found = self._news_at_hand(seen, wanted)
            if found is not None:
                return found
        with self._transactions.transaction() as connection:
            recorded = self._recorded(connection, tuple(seen))
            changed = [table for table, now in recorded.items() if now.version != seen[table]]
            for table in changed:
                self._records.refuse_unknown(table, seen[table], recorded[table])
            deltas = {
                table: self._at_hand(table, seen[table], recorded[table], wanted[table])
                or self._changes.read(connection, table, seen[table], recorded[table].version, wanted[table])
                for table in changed
            }
        self._forget_changes()
        return News({table: now.version for table, now in recorded.items()}, deltas)

    def _news_at_hand(self, seen: Mapping[str, int], wanted: Mapping[str, WantedRows]) -> News | None:
        """The same by one statement or none, if all that changed went through this process."""
        recorded = self._known.of(seen) or self._glanced(tuple(seen))
        if recorded is None:
            return None
        deltas = {}
        for table, now in recorded.items():
            if now.version != seen[table]:
                known = now.unknown <= seen[table] < now.version
                delta = self._at_hand(table, seen[table], now, wanted[table]) if known else None
                if delta is None:
                    return None
                deltas[table] = delta
        return News({table: now.version for table, now in recorded.items()}, deltas)

    def _glanced(self, tables: Sequence[str]) -> dict[str, RecordedVersion] | None:
        """What is recorded of tables, by one statement; known from now on if nobody else is at the database."""
        mark = self._known.mark()
        with self._transactions.refusals():
            if mark is not None and not self._transactions.is_alone():
                mark = None
            recorded = self._records.glance(self._transactions.direct(), tables)
        if recorded is not None and mark is not None:
            self._known.learn(mark, recorded)
        return recorded

    def _at_hand(self, table: str, after: int, now: RecordedVersion, wanted: WantedRows) -> TableDelta | None:
        """What changed up to now, if all of it went through this process and is at hand."""
        found = self._recent.between(table, after, now.version, now.mark)
        if found is None:
            return None
        if len(found) == 1 and found[0].delta.is_one_way:
            return found[0].delta
        import pyarrow as pa

        names = self._changes.names_of(table, wanted)
        rows = pa.concat_tables([change.delta.rows.select(names) for change in found])
        net = net_change(rows, np.concatenate([change.delta.signs for change in found]))
        return TableDelta(table, after, now.version, *net)

    def update(self, table: str, insert: pa.Table | None, delete: pa.Table | None) -> int:
        import pyarrow as pa

        schema = self._schema(table)
        arrow = pa.schema([(column.name, arrow_type(column.type)) for column in schema.columns])
        rows, signs = signed(_as_held(insert, schema), _as_held(delete, schema), arrow)
        counted = rows.append_column("_sign", pa.array(signs))
        change = self._transactions.until_done(lambda: self._changed(table, rows, signs, counted))
        self._changes.count(table, change.delta.rows.num_rows)
        self._forget_changes()
        if table in self._stored_as_given:
            self._recent.remember(table, change)
            if self._known.is_wanted(table) and self._transactions.moment is None:
                self._glanced((table,))
        return change.version

    def _changed(self, table: str, rows: pa.Table, signs: Numbers, counted: pa.Table) -> RecentChange:
        with self._transactions.transaction() as connection:
            given = staged(connection, counted, f"headwater_given_{next(self._names)}")
            change = self._records.apply(connection, table, rows, signs, given)
            do(connection, f"DROP TABLE {quoted(given)}")
            if self._transactions.moment is not None:
                self._transactions.moment.recorded.pop(table, None)
        return change

    # -------------------------------------------------------------- inside

    def _schema(self, table: str) -> TableSchema:
        if table not in self._tables:
            raise SketchError(
                "unknown-table", f"no table {table} was named", hint="name it: sketches.table(...)"
            )
        return self._tables[table]

    def _column(self, table: str, attribute: str) -> TableColumn:
        column = self._schema(table).column(attribute)
        if column is None:
            raise SketchError("unknown-column", f"{table} has no column {attribute}")
        return column


def _as_held(rows: pa.Table | None, schema: TableSchema) -> pa.Table | None:
    """Rows as they come out again: padded strings without blanks at their end."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for column in schema.columns:
        if not column.padded or rows is None or column.name not in rows.column_names:
            continue
        if not pa.types.is_null(rows.column(column.name).type):
            place = rows.schema.get_field_index(column.name)
            rows = rows.set_column(place, column.name, pc.utf8_rtrim(rows.column(column.name), " "))
    return rows


def _file_of(engine: Engine) -> str | None:
    """The file of a DuckDB database."""
    path = engine.url.database if engine.dialect.name == "duckdb" else None
    return path if path and not path.startswith(":memory:") else None


def _one(connection: Any, text: str) -> Any:
    return do(connection, text)[0][0]
