"""Versions and changes of a database's tables, in tables of that database.

`headwater_versions` has a row for each table: its version, the number of rows then (where no trigger counts
changes), and up to which version changes are not known. `headwater_changes_<table>` has each row that came or
went, with its version and sign; what else is kept of earlier versions is said in `sql_history`. `headwater_origin`
has a number that no other database has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.errors import SketchError
from headwater.foreign.own_names import beside
from headwater.foreign.schema import columns_of
from headwater.sketch.tables.backend import TableDelta, other_table
from headwater.sketch.tables.recent_changes import RecentChange, new_mark
from headwater.sketch.tables.sql_history import SqlHistory
from headwater.sketch.tables.sql_statements import do, quoted, quoted_column, quoted_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

_MAKING = 7_201_553_310_442
"""The number of the lock that whoever makes records holds."""
_TRIGGER = """
CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = {schemas} AS $$
-- columns {written};
DECLARE at bigint;
DECLARE mark bigint;
BEGIN
  UPDATE headwater_versions SET version = version + 1,
    writer = floor(random() * {others})::bigint * {transactions} + txid_current() % {transactions}
    WHERE name = {name} AND writer % {transactions} <> txid_current() % {transactions}
    RETURNING version, writer INTO at, mark;
  IF FOUND THEN
    INSERT INTO headwater_marks VALUES ({name}, at, mark);
  ELSE
    SELECT version INTO at FROM headwater_versions WHERE name = {name};
  END IF;
  IF TG_OP = 'TRUNCATE' OR TG_RELID <> {oid} THEN
    UPDATE headwater_versions SET unknown = at WHERE name = {name};
    RETURN NULL;
  END IF;
  IF TG_OP IN ('DELETE', 'UPDATE') THEN
    INSERT INTO {log} (_version, _sign, {columns}) SELECT at, -1, {columns} FROM gone;
  END IF;
  IF TG_OP IN ('INSERT', 'UPDATE') THEN
    INSERT INTO {log} (_version, _sign, {columns}) SELECT at, 1, {columns} FROM come;
  END IF;
  RETURN NULL;
END $$
"""
"""Writers need no rights in the records, and may look for tables elsewhere than where these are. A transaction makes
one version, which has its number in the mark; the rest is at random, since a cluster that is restored counts its
transactions again."""
_TRANSACTIONS, _OTHERS = 2**40, 2**22
"""How many transactions have marks of their own, and how many marks each may leave."""
_EVENTS = {
    "INSERT": "REFERENCING NEW TABLE AS come",
    "UPDATE": "REFERENCING NEW TABLE AS come OLD TABLE AS gone",
    "DELETE": "REFERENCING OLD TABLE AS gone",
    "TRUNCATE": "",
}


@dataclass(frozen=True)
class RecordedVersion:
    """What is recorded of a table: its version, its rows then, and up to which version changes are not known."""

    version: int
    counted: int
    unknown: int
    mark: int
    """What its writer left with it (`recent_changes`)."""


class SqlRecords:
    """The records of one database."""

    def __init__(self, dialect: str):
        self.dialect = dialect
        self.history = SqlHistory(dialect, self.log)

    def log(self, table: str) -> str:
        """The table of a table's changes."""
        return beside("headwater_changes_", table.replace(".", "_"))

    def prepare(self, connection: Any, table: str, columns: Sequence[str]) -> None:
        """Make what is missing; in PostgreSQL one after the other, since two cannot make the same at once."""
        if self.dialect == "postgres":
            do(connection, f"SELECT pg_advisory_xact_lock({_MAKING})")
            self.refuse_unseen(connection, table)
            # From here on, nobody else changes it.
            do(connection, f"LOCK TABLE {quoted(table)} IN ACCESS EXCLUSIVE MODE")
        do(
            connection,
            "CREATE TABLE IF NOT EXISTS headwater_versions (name TEXT PRIMARY KEY, version BIGINT NOT NULL,"
            " counted BIGINT NOT NULL, unknown BIGINT NOT NULL, writer BIGINT NOT NULL)",
        )
        do(connection, "CREATE TABLE IF NOT EXISTS headwater_origin (id BIGINT NOT NULL)")
        do(
            connection,
            f"INSERT INTO headwater_origin SELECT {new_mark()} WHERE NOT EXISTS (SELECT 1 FROM headwater_origin)",
        )
        self.history.make(connection)
        self._refuse_shared_record(connection, table)
        log, is_anew = quoted(self.log(table)), self._has_other_columns(connection, table)
        if is_anew:
            do(connection, f"DROP TABLE {log}")
        do(
            connection,
            f"CREATE TABLE IF NOT EXISTS {log} AS SELECT CAST(0 AS BIGINT) AS _version,"
            f" CAST(0 AS BIGINT) AS _sign, * FROM {quoted(table)} WHERE 1 = 0",
        )
        self.history.make_index(connection, table)
        known = self._row(connection, table)
        if self.dialect == "postgres":
            is_anew = is_anew or not self._is_watched(connection, table)
            self._make_triggers(connection, table, columns)
        if is_anew or known is None:
            counted = do(connection, f"SELECT count(*) FROM {quoted(table)}")[0][0]
            if known is not None:
                self._record_unknown(connection, table, known.version + 1, counted)
            else:
                mark = new_mark()
                do(
                    connection,
                    f"INSERT INTO headwater_versions VALUES ({quoted_text(table)}, 0, {counted}, 0, {mark})",
                )
                self.history.begin(connection, table, mark)

    def refuse_unseen(self, connection: Any, table: str) -> None:
        """Refuse what changes in PostgreSQL without triggers seeing it: views, partitions, tables that have some, and
        those that a subscription writes to."""
        if self.dialect == "postgres" and not do(connection, f"SELECT {_is_of_its_own(table)}")[0][0]:
            raise _unseen(table)

    def origin(self, connection: Any) -> str:
        """What tells the records from those of another database that has tables of the same names."""
        return str(do(connection, "SELECT min(id) FROM headwater_origin")[0][0])

    def _has_other_columns(self, connection: Any, table: str) -> bool:
        """Whether changes were recorded of a table with other columns than it has now."""
        recorded, now = columns_of(connection, self.log(table)), columns_of(connection, table)
        if recorded is None or now is None:
            return False
        of_rows = {name: one.declared for name, one in recorded.items() if name not in ("_version", "_sign")}
        return of_rows != {name: one.declared for name, one in now.items()}

    def _refuse_shared_record(self, connection: Any, table: str) -> None:
        """Refuse a table whose changes another one's would be taken for: `shop_sales` beside `shop.sales`."""
        for (other,) in do(connection, "SELECT name FROM headwater_versions"):
            if other != table and self.log(other) == self.log(table):
                raise SketchError(
                    "same-record",
                    f"the changes of {table} and of {other} would both be recorded in {self.log(table)}",
                    hint="rename one of them",
                )

    def _make_triggers(self, connection: Any, table: str, columns: Sequence[str]) -> None:
        function = beside("headwater_record_", table.replace(".", "_"))
        named = ", ".join(map(quoted_column, columns))
        # What writers make is in pg_temp, which would be looked in first if it were not named.
        schemas = [schema for (schema,) in do(connection, "SELECT unnest(current_schemas(false))")] + [
            "pg_temp"
        ]
        text = _TRIGGER.format(
            function=quoted(function),
            schemas=", ".join(map(quoted_column, schemas)),
            name=quoted_text(table),
            log=quoted(self.log(table)),
            columns=named,
            oid=int(do(connection, f"SELECT {_place(table)}::oid")[0][0]),
            written=do(connection, f"SELECT {_written_columns(table)}")[0][0],
            transactions=_TRANSACTIONS,
            others=_OTHERS,
        )
        do(connection, text)
        for event, trigger in _triggers(table).items():
            do(connection, f"DROP TRIGGER IF EXISTS {quoted_column(trigger)} ON {quoted(table)}")
            do(
                connection,
                f"CREATE TRIGGER {quoted_column(trigger)} AFTER {event} ON {quoted(table)} {_EVENTS[event]}"
                f" FOR EACH STATEMENT EXECUTE FUNCTION {quoted(function)}()",
            )
            do(connection, f"ALTER TABLE {quoted(table)} ENABLE ALWAYS TRIGGER {quoted_column(trigger)}")

    def _is_watched(self, connection: Any, table: str) -> bool:
        """Whether all changes of a table of PostgreSQL are recorded."""
        return bool(do(connection, f"SELECT {_watched(table)}")[0][0])

    def refuse_unwatched(self, connection: Any, table: str) -> None:
        """Refuse a table of PostgreSQL that was made anew, or whose triggers are gone: what changes it is not
        recorded."""
        self.refuse_unseen(connection, table)
        if self.dialect == "postgres" and not self._is_watched(connection, table):
            raise _unwatched(table)

    def version(self, connection: Any, table: str) -> int:
        """The version of a table; a number of rows that nobody recorded makes another one."""
        return self.recorded(connection, (table,))[table].version

    def versions(self, connection: Any, tables: Sequence[str]) -> dict[str, int]:
        """The versions of several tables, asked for together."""
        return {table: now.version for table, now in self.recorded(connection, tables).items()}

    def recorded(self, connection: Any, tables: Sequence[str]) -> dict[str, RecordedVersion]:
        """What is recorded of several tables, asked for together."""
        known, counts = self._look(connection, tables)
        for table, now in counts.items():
            if now != known[table].counted:
                known[table] = self._record_unknown(connection, table, known[table].version + 1, now)
        return known

    def glance(self, connection: Any, tables: Sequence[str]) -> dict[str, RecordedVersion] | None:
        """The same by one statement; `None` if somebody has changed a table without recording it."""
        known, counts = self._look(connection, tables)
        is_known = all(now == known[table].counted for table, now in counts.items())
        return known if is_known else None

    def _look(
        self, connection: Any, tables: Sequence[str]
    ) -> tuple[dict[str, RecordedVersion], dict[str, int]]:
        """What is recorded of tables, and how many rows they have where that tells of changes."""
        if not tables:
            return {}, {}
        recorded = "SELECT name, version, counted, unknown, writer FROM headwater_versions"
        if self.dialect == "duckdb":  # one statement of simple parts: it is what most maintenance waits for
            parts = (
                f" UNION ALL SELECT NULL, count(*), {place}, 0, 0 FROM {quoted(table)}"
                for place, table in enumerate(tables)
            )
            said = do(connection, recorded + "".join(parts))
        else:
            said = self._watched_records(connection, tables)
        known = {name: RecordedVersion(*map(int, rest)) for name, *rest in said if name is not None}
        for table in tables:
            if table not in known:
                raise SketchError(
                    "unknown-table", f"no table {table} was named", hint="name it: sketches.table(...)"
                )
        counts = {tables[place]: count for name, count, place, *_ in said if name is None}
        return {table: known[table] for table in tables}, counts

    def _watched_records(self, connection: Any, tables: Sequence[str]) -> list[Any]:
        """What is recorded of tables of PostgreSQL; refused where somebody has made one anew, or a partition of
        another, or has taken its triggers, so that changes went unnoticed.

        A transaction sees one state of rows, but names as they are now: until it ends, nobody shall rename a table
        that it has looked at, nor empty one by TRUNCATE. The lock comes before the transaction's state is fixed.
        """
        do(connection, f"LOCK TABLE {', '.join(map(quoted, tables))} IN ACCESS SHARE MODE")
        wanted = ", ".join(
            f"({quoted_text(table)}, {_is_of_its_own(table)}, {_watched(table)})" for table in tables
        )
        found = do(
            connection,
            "SELECT name, version, counted, unknown, writer, is_own, watched"
            f" FROM headwater_versions JOIN (VALUES {wanted}) AS wanted(name, is_own, watched) USING (name)",
        )
        for table, *_, is_own, is_watched in found:
            if not is_own:
                raise _unseen(table)
            if not is_watched:
                raise _unwatched(table)
        return [row[:5] for row in found]

    def _record_unknown(self, connection: Any, table: str, version: int, counted: int) -> RecordedVersion:
        """Somebody has changed the table without recording it."""
        mark = new_mark()
        do(
            connection,
            f"UPDATE headwater_versions SET version = {version}, counted = {counted}, unknown = {version},"
            f" writer = {mark} WHERE name = {quoted_text(table)}",
        )
        self.history.remember(connection, table, version, mark)
        return RecordedVersion(version, counted, version, mark)

    def check_known(self, connection: Any, table: str, after: int, upto: int) -> None:
        """Refuse changes that were not recorded, or are no more."""
        found = self._row(connection, table)
        self.refuse_unknown(table, after, found, upto)

    def refuse_unknown(
        self, table: str, after: int, recorded: RecordedVersion | None, upto: int | None = None
    ) -> None:
        """Refuse changes since a version up to another (default: the newest) that were not recorded."""
        upto = recorded.version if upto is None and recorded is not None else upto
        if recorded is None or upto is None or upto < after or recorded.unknown > after:
            raise SketchError(
                "no-changes",
                f"what changed in {table} between versions {after} and {upto} is not known",
                hint="the sketch is captured again",
            )

    def apply(
        self, connection: Any, table: str, rows: pa.Table, signs: npt.NDArray[np.int64], staged: str
    ) -> RecentChange:
        """Change the table by staged rows with a column `_sign`, and record it; what it became."""
        names = rows.column_names
        columns = ", ".join(map(quoted_column, names))
        gone = int(-signs[signs < 0].sum())
        deleted = self._delete(connection, table, rows, staged) if gone else 0
        if deleted != gone:
            raise SketchError(
                "row-not-there",
                f"{gone - deleted} of {gone} rows to delete are not in {table}",
                hint="nothing was changed",
            )
        if (signs > 0).any():
            copies = "generate_series(1, s._sign)" if self.dialect == "postgres" else "range(s._sign)"
            do(
                connection,
                f"INSERT INTO {quoted(table)} ({columns}) SELECT {columns} FROM {staged} AS s, {copies} AS copies"
                " WHERE s._sign > 0",
            )
        if self.dialect == "postgres":
            now = self.recorded(connection, (table,))[table]
            return RecentChange(0, now.mark, TableDelta(table, now.version - 1, now.version, rows, signs))
        found = self._row(connection, table)
        assert found is not None
        version, mark = found.version + 1, new_mark()
        do(
            connection,
            f"INSERT INTO {quoted(self.log(table))} (_version, _sign, {columns})"
            f" SELECT {version}, _sign, {columns} FROM {staged}",
        )
        do(
            connection,
            f"UPDATE headwater_versions SET version = {version}, counted = counted + {int(signs.sum())},"
            f" writer = {mark} WHERE name = {quoted_text(table)}",
        )
        self.history.remember(connection, table, version, mark)
        return RecentChange(found.mark, mark, TableDelta(table, found.version, version, rows, signs))

    def _delete(self, connection: Any, table: str, rows: pa.Table, staged: str) -> int:
        """As many copies of each row as are to go; says how many went."""
        row = "ctid" if self.dialect == "postgres" else "rowid"
        same = " AND ".join(
            f"t.{name} {'=' if not column.null_count else 'IS NOT DISTINCT FROM'} s.{name}"
            for name, column in zip(map(quoted_column, rows.column_names), rows.columns, strict=True)
        )
        key = ", ".join(f"t.{quoted_column(name)}" for name in rows.column_names)
        numbered = (
            f"SELECT t.{row} AS place, s._sign AS asked, row_number() OVER (PARTITION BY {key}) AS ordinal"
            f" FROM {quoted(table)} AS t JOIN {staged} AS s ON s._sign < 0 AND {same}"
        )
        gone = do(
            connection,
            f"DELETE FROM {quoted(table)} WHERE {row} IN"
            f" (SELECT place FROM ({numbered}) AS numbered WHERE ordinal <= -asked) RETURNING 1",
        )
        return len(gone)

    def _row(self, connection: Any, table: str) -> RecordedVersion | None:
        found = do(
            connection,
            f"SELECT version, counted, unknown, writer FROM headwater_versions WHERE name = {quoted_text(table)}",
        )
        return RecordedVersion(*map(int, found[0])) if found else None


def _triggers(table: str) -> dict[str, str]:
    """The names of the triggers that record the changes of a table, by event."""
    bare = table.replace(".", "_")
    return {event: beside("headwater_record_", f"{bare}_{event.lower()}") for event in _EVENTS}


def _place(table: str) -> str:
    """What PostgreSQL knows a table by; NULL if there is none."""
    return f"to_regclass({quoted_text(quoted(table))})"


def _is_of_its_own(table: str) -> str:
    """Whether a table of PostgreSQL is no view and no part of another table, has no such parts, and is written to by
    no subscription, which fires triggers of rows only."""
    return (
        f"EXISTS (SELECT 1 FROM pg_class AS c WHERE c.oid = {_place(table)} AND relkind = 'r'"
        " AND NOT EXISTS (SELECT 1 FROM pg_inherits WHERE c.oid IN (inhparent, inhrelid))"
        " AND NOT EXISTS (SELECT 1 FROM pg_subscription_rel WHERE srrelid = c.oid))"
    )


def _written_columns(table: str) -> str:
    """The columns of a table of PostgreSQL, with the transactions that wrote their rows in the catalog."""
    return (
        "(SELECT string_agg(format('%s:%s ', attnum, xmin), '' ORDER BY attnum) FROM pg_attribute"
        f" WHERE attrelid = {_place(table)} AND attnum > 0)"
    )


def _watched(table: str) -> str:
    """Whether a table of PostgreSQL has all triggers, they are enabled for everybody, and always were.

    Triggers are made in one transaction with the function that they call, so the rows of both in the catalog are of
    that one. Whoever disables a trigger, or enables it again, writes its row anew. A table that had this one's name
    before has triggers of these names, too, but the function was made for this one since.

    ALTER TABLE gives columns other values (`TYPE ... USING`, or as another column of that name) without a trigger,
    but writes their rows in the catalog. The function says which these were; columns that were added come after them.
    """
    names = ", ".join(map(quoted_text, _triggers(table).values()))
    return (
        f"(SELECT count(*) = {len(_EVENTS)} FROM pg_trigger AS made JOIN pg_proc AS called ON called.oid = tgfoid"
        f" WHERE tgrelid = {_place(table)} AND tgname IN ({names}) AND tgenabled = 'A'"
        " AND made.xmin = called.xmin"
        f" AND starts_with({_written_columns(table)}, substring(prosrc FROM '-- columns ([^;]*);')))"
    )


def _unseen(table: str) -> SketchError:
    return SketchError(
        "not-recorded",
        f"{table} is no table of its own: triggers do not see all that changes views, partitions, and tables that a"
        " subscription writes to",
        hint="sketch a table that holds its rows",
    )


def _unwatched(table: str) -> SketchError:
    return other_table(table, "was made anew, or has lost the triggers that record its changes")
