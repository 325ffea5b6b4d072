"""`SqlMaintainer`: a sketch whose state is a table of the database, and follows other tables by statements of SQL.

Nothing but the sketch leaves the database. A version is taken in by one transaction, with the versions that it leads
to; so a crash leaves the state as it was, and whoever opens it again goes on from there. As an alternative to the
operators in memory (`maintain/`) it is slower for small changes (the database plans and scans for each statement) and
needs no memory here; both give the accurate sketch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headwater.errors import SketchError
from headwater.language.sql.algebra import Operator, scans
from headwater.language.sql.render import render
from headwater.sketch.in_sql.pair_plans import PairState, pair_state, source_name
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Sketch, SketchPart, Slot
from headwater.sketch.tables.backend import fragment_column
from headwater.sketch.tables.fragment_sql import fragment_expression
from headwater.sketch.tables.sql_backend import SqlBackend
from headwater.sketch.tables.sql_records import SqlRecords
from headwater.sketch.tables.sql_statements import do, quoted, quoted_column


class SqlMaintainer:
    """The state of one sketch, in tables that begin with `headwater_sketch_` and its name."""

    def __init__(
        self, name: str, plan: Operator, accesses: Mapping[int, tuple[Ranges, ...]], backend: SqlBackend
    ):
        """Sketch some accesses of a plan by ranges; the plan and accesses are those of a proof of safety."""
        if not re.fullmatch(r"[a-z0-9_]+", name):
            raise SketchError(
                "bad-name", f"a sketch cannot be called {name!r}", hint="small letters, digits and _"
            )
        self.backend = backend
        self.state: PairState = pair_state(plan, accesses, backend.dialect)
        self._ranges: dict[Slot, Ranges] = {}
        self._accesses = {scan.access: scan for scan in scans(plan)}
        for access, every in accesses.items():
            for ranges in every:
                self._ranges[Slot(self._accesses[access].table, ranges.attribute)] = ranges
        self._table, self._versions = f"headwater_sketch_{name}", f"headwater_sketch_{name}_versions"
        self._records = SqlRecords(backend.dialect)
        self._tables = sorted({scan.table for scan in self._accesses.values()})

    # -------------------------------------------------------------- what users call

    def capture(self) -> Sketch:
        """Make the state from the tables as they are."""
        with self.backend.engine.begin() as connection:
            self.drop(connection)
            versions = self._records.versions(connection, self._tables)
            self._make_views(connection, {})
            rows = self._rendered(self.state.rows())
            do(connection, f"CREATE TABLE {self._table} AS {rows}")
            do(connection, f"CREATE TABLE {self._versions} (name TEXT, version BIGINT)")
            self._remember(connection, versions)
            return self._sketch(connection, versions)

    def maintain(self) -> Sketch:
        """Bring the state to the newest versions, by what changed since those it has seen."""
        with self.backend.engine.begin() as connection:
            seen = {name: int(version) for name, version in do(connection, f"SELECT * FROM {self._versions}")}
            now = self._records.versions(connection, self._tables)
            changed = {
                table: (seen[table], now[table]) for table in self._tables if seen[table] != now[table]
            }
            for table, (after, upto) in changed.items():
                self._records.check_known(connection, table, after, upto)
            if changed:
                self._take_in(connection, changed)
                self._remember(connection, now)
            return self._sketch(connection, now)

    def drop(self, connection: Any) -> None:
        """Let go of the state."""
        for table in (self._table, self._versions):
            do(connection, f"DROP TABLE IF EXISTS {table}")

    # -------------------------------------------------------------- statements

    def _take_in(self, connection: Any, changed: Mapping[str, tuple[int, int]]) -> None:
        """Rows of the state that a version touches are replaced by their sums with what it adds."""
        accesses = frozenset(access for access, scan in self._accesses.items() if scan.table in changed)
        self._make_views(connection, changed)
        delta, merged = f"{self._table}_delta", f"{self._table}_merged"
        keys = ", ".join(self.state.known)
        added = ", ".join(f"sum({name}) AS {name}" for name in self.state.sums)
        grouped = f" GROUP BY {keys}" if keys else ""
        changes = self._rendered(self.state.delta(accesses))
        do(connection, f"CREATE TEMPORARY TABLE {delta} AS {changes}")
        same = " AND ".join(f"s.{name} IS NOT DISTINCT FROM d.{name}" for name in self.state.known) or "TRUE"
        touched = f"EXISTS (SELECT 1 FROM {delta} AS d WHERE {same})"
        columns = ", ".join((*self.state.known, *self.state.sums))
        both = f"SELECT {columns} FROM {delta} UNION ALL SELECT {columns} FROM {self._table} AS s WHERE {touched}"
        selected = f"{keys}, {added}" if keys else added
        do(connection, f"CREATE TEMPORARY TABLE {merged} AS SELECT {selected} FROM ({both}) AS b{grouped}")
        self._check(connection, merged)
        do(connection, f"DELETE FROM {self._table} AS s WHERE {touched}")
        do(connection, f"INSERT INTO {self._table} ({columns}) SELECT {columns} FROM {merged} WHERE n <> 0")
        for table in (delta, merged):
            do(connection, f"DROP TABLE {table}")

    def _check(self, connection: Any, merged: str) -> None:
        """No row can have gone more often than it came."""
        if do(connection, f"SELECT 1 FROM {merged} WHERE n < 0 LIMIT 1"):
            raise SketchError(
                "state-damaged",
                f"more rows have gone than were there, by {self._table}",
                hint="capture the sketch again",
            )

    def _make_views(self, connection: Any, changed: Mapping[str, tuple[int, int]]) -> None:
        """A view for each access, with the fragments of its rows, and one for what changed in it."""
        for access, scan in self._accesses.items():
            fragments = "".join(
                self._fragment(slot) for carried, slot in self.state.carried if carried == access
            )
            names = ", ".join(quoted_column(each.name) for each in scan.attributes)
            sources = {
                self._view(access, delta=False): f"SELECT {names}{fragments} FROM {quoted(scan.table)}"
            }
            if scan.table in changed:
                after, upto = changed[scan.table]
                log = quoted(self._records.log(scan.table))
                sources[self._view(access, delta=True)] = (
                    f"SELECT {names}, _sign{fragments} FROM {log} WHERE _version > {after} AND _version <= {upto}"
                )
            for view, text in sources.items():
                do(connection, f"DROP VIEW IF EXISTS {view}")
                do(connection, f"CREATE TEMPORARY VIEW {view} AS {text}")

    def _fragment(self, slot: Slot) -> str:
        said = fragment_expression(self._ranges[slot], self.backend.dialect)
        return f", {said} AS {quoted_column(fragment_column(slot))}"

    def _view(self, access: int, *, delta: bool) -> str:
        return f"{self._table}{source_name(access, delta=delta)}"

    def _rendered(self, plan: Operator) -> str:
        sources = {
            source_name(access, delta=delta): self._view(access, delta=delta)
            for access in self._accesses
            for delta in (False, True)
        }
        return render(plan, self.backend.dialect, {**sources, self._table: self._table})

    def _remember(self, connection: Any, versions: Mapping[str, int]) -> None:
        do(connection, f"DELETE FROM {self._versions}")
        for table, version in versions.items():
            do(connection, f"INSERT INTO {self._versions} VALUES ('{table}', {version})")

    def _sketch(self, connection: Any, versions: Mapping[str, int]) -> Sketch:
        found: dict[Slot, set[int]] = {slot: set() for slot in self._ranges}
        for at, (_, slot) in enumerate(self.state.carried):
            text = self._rendered(self.state.sketch(self._table, at))
            found[slot] |= {int(fragment) for (fragment,) in do(connection, text)}
        parts = (SketchPart(slot.table, self._ranges[slot], frozenset(each)) for slot, each in found.items())
        return Sketch(tuple(parts), dict(versions))
