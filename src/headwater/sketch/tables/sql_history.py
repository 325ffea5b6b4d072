"""What a database keeps of earlier versions of its tables: marks, and changes for as long as they are of use.

`headwater_marks` has what the writer of each version left with it: a database that is restored gives numbers of
versions again, and other marks. Changes are kept up to as many rows as the table has: a sketch that is further behind
is captured again, which takes no longer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headwater.foreign.own_names import beside
from headwater.sketch.tables.sql_statements import do, quoted, quoted_text

FEWEST_CHANGES_KEPT = 100_000
"""Rows; of small tables, too."""


class SqlHistory:
    """What one database keeps; `log` names the table of a table's changes."""

    def __init__(self, dialect: str, log: Callable[[str], str]):
        self.dialect = dialect
        self._log = log

    def make(self, connection: Any) -> None:
        """Make the table of marks, if it is missing."""
        key = ", PRIMARY KEY (name, version)" if self.dialect == "postgres" else ""
        do(
            connection,
            "CREATE TABLE IF NOT EXISTS headwater_marks"
            f" (name TEXT NOT NULL, version BIGINT NOT NULL, mark BIGINT NOT NULL{key})",
        )

    def make_index(self, connection: Any, table: str) -> None:
        """Have changes since a version found without looking at all others. In DuckDB these are skipped anyway: they
        lie in the order in which they were made."""
        if self.dialect == "postgres":
            index = quoted(beside("headwater_by_version_", table.replace(".", "_")))
            do(connection, f"CREATE INDEX IF NOT EXISTS {index} ON {quoted(self._log(table))} (_version)")

    def begin(self, connection: Any, table: str, mark: int) -> None:
        """Keep the mark of a table's first version, and none of another one's that had its name."""
        do(connection, f"DELETE FROM headwater_marks WHERE name = {quoted_text(table)}")
        self.remember(connection, table, 0, mark)

    def remember(self, connection: Any, table: str, version: int, mark: int) -> None:
        """Keep the mark of a new version. In PostgreSQL triggers do that, too."""
        do(connection, f"INSERT INTO headwater_marks VALUES ({quoted_text(table)}, {version}, {mark})")

    def marks(self, connection: Any, versions: Mapping[str, int]) -> dict[str, int]:
        """The marks of versions, where they are known."""
        if not versions:
            return {}
        wanted = " OR ".join(
            f"name = {quoted_text(table)} AND version = {version}" for table, version in versions.items()
        )
        return {
            table: int(mark)
            for table, mark in do(connection, f"SELECT name, mark FROM headwater_marks WHERE {wanted}")
        }

    def cut(self, connection: Any, table: str) -> None:
        """Forget the older half of a table's changes, if there are more than are of use.

        Who changes the table in PostgreSQL meanwhile is not waited for: it is done another time.
        """
        log, name = quoted(self._log(table)), quoted_text(table)
        kept, rows = self._sizes(connection, table)
        most = max(FEWEST_CHANGES_KEPT, rows)
        if kept <= most:
            return
        if self.dialect == "postgres" and not do(
            connection, f"SELECT 1 FROM headwater_versions WHERE name = {name} FOR UPDATE SKIP LOCKED"
        ):
            return
        middle = "percentile_disc(0.5) WITHIN GROUP (ORDER BY _version)"
        ((kept, upto),) = do(connection, f"SELECT count(*), {middle} FROM {log}")
        if kept <= most:  # PostgreSQL has not counted yet what was forgotten the last time
            return
        do(connection, f"DELETE FROM {log} WHERE _version <= {upto}")
        do(connection, f"DELETE FROM headwater_marks WHERE name = {name} AND version < {upto}")
        do(
            connection,
            f"UPDATE headwater_versions SET unknown = greatest(unknown, {upto}) WHERE name = {name}",
        )

    def _sizes(self, connection: Any, table: str) -> tuple[int, int]:
        """How many rows the changes of a table have, and the table itself: in PostgreSQL about so many."""
        log, place = quoted(self._log(table)), quoted(table)
        if self.dialect == "duckdb":
            found = do(connection, f"SELECT (SELECT count(*) FROM {log}), (SELECT count(*) FROM {place})")
        else:
            kept, rows = (f"to_regclass({quoted_text(each)})" for each in (log, place))
            found = do(
                connection,
                f"SELECT pg_stat_get_live_tuples({kept}), greatest(pg_stat_get_live_tuples({rows}),"
                f" (SELECT reltuples FROM pg_class WHERE oid = {rows})::bigint)",
            )
        return int(found[0][0] or 0), int(found[0][1] or 0)
