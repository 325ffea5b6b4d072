"""Tables on Spark: plans are Spark SQL over temporary views of DataFrames, one for each table at a version.

A scan of a table that is to be annotated reads a view with one column more. Spark has a binary search in arrays
that pandas on Spark uses, and SQL cannot name: it costs a few comparisons a row inside generated code. Where a
Spark lacks it, a tree of CASEs does the same more slowly.
"""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from headwater.errors import SketchError, SparkError
from headwater.language.sql.algebra import Operator, scans
from headwater.language.sql.scalars import Scalar
from headwater.language.sql.tables import TableColumn, TableSchema
from headwater.pipeline.refusals import refusals
from headwater.sketch.ranges import Ranges, RangeValue
from headwater.sketch.sketch import Sketch, SketchPart, Slot
from headwater.sketch.tables.analysed_plans import AnalysedPlan, AnalysedPlans
from headwater.sketch.tables.backend import (
    CountsKeys,
    News,
    TableDelta,
    WantedRows,
    fragment_column,
    news_by_table,
    other_table,
)
from headwater.sketch.tables.bags import Numbers, netted, signed
from headwater.sketch.tables.key_lookup import KeyLookup
from headwater.sketch.tables.layout import TableLayout
from headwater.sketch.tables.one_task import is_soon_done
from headwater.spark.frames import arrow_of, frame_of, quoted
from headwater.spark.interrupts import ended_by_interrupt
from headwater.values.arrow_types import type_from_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession


class SparkTable(Protocol):
    """A table that Spark reads: files of a format, at a place."""

    @property
    def what(self) -> str:
        """Format and place, for errors and reports."""
        ...

    @property
    def identity(self) -> str:
        """What another table at its place does not have; empty where there is no such thing."""
        ...

    def schema(self, version: int | None = None) -> pa.Schema:
        """Its columns: those it has now, or of a version if these are known."""
        ...

    def version(self) -> int:
        """The version it has now."""
        ...

    def mark(self, version: int) -> int | None:
        """What tells a version from another one with its number, if there may be such a one."""
        ...

    def frame(self, session: SparkSession, version: int, parts: Sequence[SketchPart]) -> DataFrame:
        """Its rows at a version; those that are in none of the parts' fragments may be missing."""
        ...

    def gives_again(self, frame: DataFrame) -> bool:
        """Whether `frame` will give this very one, so that plans over it are worth keeping."""
        ...

    def rows_read(self, version: int, parts: Sequence[SketchPart]) -> int | None:
        """How many rows `frame` reads, those that it skips by blocks not counted; `None` where nobody knows."""
        ...

    def changes(self, after: int, upto: int) -> tuple[pa.Table, Numbers]:
        """Rows that came or went between two versions, netted."""
        ...

    def layout(self, attribute: str, version: int) -> TableLayout | None:
        """How its rows lie."""
        ...

    def update(self, rows: pa.Table, signs: Numbers) -> int:
        """Change it by netted rows; the version it has then."""
        ...

    def cluster(self, session: SparkSession, attribute: str, files: int) -> int:
        """Sort its rows by an attribute, into about so many files; the version it has then, with the same rows."""
        ...


class SparkBackend:
    """Tables by the names that queries use, and a session to read them with."""

    dialect = "spark"

    def __init__(self, session: SparkSession):
        self.session = session
        self.tables: dict[str, SparkTable] = {}
        self._schemas: dict[str, TableSchema] = {}
        self._checked: dict[str, tuple[int, int | None]] = {}
        """The versions of tables whose columns were looked at last, with their marks."""
        self._plans = AnalysedPlans(session)

    def table(self, name: str, table: SparkTable) -> TableSchema:
        """Take in a table under a name."""
        self.tables[name] = table
        self._schemas[name] = TableSchema(name, _columns(table.schema()))
        self._checked.pop(name, None)
        return self._schemas[name]

    def schemas(self) -> Mapping[str, TableSchema]:
        return self._schemas

    def marks(self, versions: Mapping[str, int]) -> dict[str, int]:
        found = {table: self._table(table).mark(version) for table, version in versions.items()}
        return {table: mark for table, mark in found.items() if mark is not None}

    def refuse_others(self, tables: Iterable[str]) -> None:
        for table in tables:
            self.version(table)

    def version(self, table: str) -> int:
        """Refused with the code `table-replaced` where the columns are others than those that were taken in."""
        found = self._table(table)
        version = found.version()
        checked = version, found.mark(version)
        if self._checked.get(table) != checked:
            if _columns(found.schema(version)) != self._schemas[table].columns:
                raise other_table(found.what, "has other columns than it had")
            self._checked[table] = checked
        return version

    def versions(self, tables: Sequence[str]) -> dict[str, int]:
        return {table: self.version(table) for table in tables}

    def moment(self) -> AbstractContextManager[None]:
        return nullcontext()

    def rows(self, table: str) -> int:
        found = self._table(table)
        column = found.schema().names[0]
        layout = found.layout(column, found.version())
        if layout:
            return layout.rows
        with self.working(table):
            return found.frame(self.session, found.version(), ()).count()

    def seconds_for_keys(self, table: str) -> float:
        return 0.0

    @property
    def counts_keys(self) -> CountsKeys:
        return "never"

    def layout(self, table: str, attribute: str, version: int | None = None) -> TableLayout | None:
        found = self._table(table)
        return found.layout(attribute, found.version() if version is None else version)

    def sample(self, table: str, attribute: str, most: int) -> pa.ChunkedArray:
        found = self._table(table)
        if attribute not in found.schema().names:
            raise SketchError("unknown-column", f"{table} has no column {attribute}")
        rows = self.rows(table)
        with self.working(table):
            frame = found.frame(self.session, found.version(), ()).select(quoted(attribute))
            if rows > most:
                frame = frame.sample(fraction=most / rows, seed=1)
            return arrow_of(frame).column(0)

    @contextmanager
    def working(self, source: str) -> Iterator[None]:
        """Jobs of Spark's: what it refuses is our error, and Ctrl-C ends them."""
        if self.session.sparkContext._jsc is None:
            raise SparkError(
                "spark-failed", "the Spark session was stopped", hint="open the sketches with another one"
            )
        with refusals(source), ended_by_interrupt(self.session):
            yield

    def tasks(self) -> tuple[int, int] | None:
        """Of all jobs that the session runs, those of others included."""
        from py4j.protocol import Py4JError

        try:
            tracker = self.session.sparkContext.statusTracker()
            jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
            numbers = {stage for job in jobs if job is not None for stage in job.stageIds}
            stages = [tracker.getStageInfo(number) for number in sorted(numbers)]
        except Py4JError:  # Spark is going
            return None
        known = [stage for stage in stages if stage is not None]
        return (sum(s.numCompletedTasks for s in known), sum(s.numTasks for s in known)) if known else None

    def run(
        self,
        plan: Operator,
        *,
        versions: Mapping[str, int] | None = None,
        given: Mapping[str, pa.Table] | None = None,
        fragments: Mapping[Slot, Ranges] | None = None,
    ) -> pa.Table:
        return self.collected(plan, versions=versions, given=given, fragments=fragments)

    def lookup(
        self, asked: KeyLookup, keys: Sequence[pa.Array], *, versions: Mapping[str, int], most: int
    ) -> pa.Table | None:
        return None  # every statement is a job of Spark's, which takes longer than a join of several tables

    def collected(
        self,
        plan: Operator,
        *,
        versions: Mapping[str, int] | None = None,
        given: Mapping[str, pa.Table] | None = None,
        fragments: Mapping[Slot, Ranges] | None = None,
        sketch: Sketch | None = None,
    ) -> pa.Table:
        """The rows of a plan, two columns of which may have one name; see `frame`."""
        with self.working("a plan"):
            analysed = self._understood(plan, versions, given, fragments, sketch)
            found = arrow_of(analysed.numbered)
        return found.rename_columns(list(analysed.columns))

    def frame(
        self,
        plan: Operator,
        *,
        versions: Mapping[str, int] | None = None,
        given: Mapping[str, pa.Table] | None = None,
        fragments: Mapping[Slot, Ranges] | None = None,
        sketch: Sketch | None = None,
    ) -> DataFrame:
        """The rows of a plan as a DataFrame that nothing was computed for yet.

        `sketch`: the tables that all accesses of the plan read through a sketch need not be read further.
        """
        analysed = self._understood(plan, versions, given, fragments, sketch)
        with refusals("a plan"):
            return analysed.numbered.toDF(*analysed.columns)

    def _understood(
        self,
        plan: Operator,
        versions: Mapping[str, int] | None,
        given: Mapping[str, pa.Table] | None,
        fragments: Mapping[Slot, Ranges] | None,
        sketch: Sketch | None,
    ) -> AnalysedPlan:
        """A plan over tables at some versions; the next one to ask may be given it again."""
        frames = {name: frame_of(self.session, rows) for name, rows in (given or {}).items()}
        is_kept = not given and not fragments
        read: int | None = None
        for name in {scan.table for scan in scans(plan)} - set(frames):
            table = self._table(name)
            version = (versions or {}).get(name)
            version = table.version() if version is None else version
            parts = sketch.of_table(name) if sketch is not None else ()
            with refusals(name):
                frame = table.frame(self.session, version, parts)
            is_kept = is_kept and table.gives_again(frame)
            read = table.rows_read(version, parts) if is_kept else None
            frames[name] = self._annotated(frame, name, fragments or {})
        is_small = len(scans(plan)) == 1 and read is not None and is_soon_done(read, self._cores)
        with refusals("a plan"):
            return self._plans.analysed(plan, frames, is_kept=is_kept, is_small=is_small)

    def changes(
        self,
        table: str,
        after: int,
        upto: int,
        *,
        columns: Sequence[str] | None = None,
        condition: Scalar | None = None,
    ) -> TableDelta:
        rows, signs = self._table(table).changes(after, upto)
        if columns is not None and len(columns) < rows.num_columns:
            wanted = WantedRows(frozenset(columns))
            rows, signs = netted(rows.select(wanted.among(rows.column_names)), signs)
        return TableDelta(table, after, upto, rows, signs)

    def news(self, seen: Mapping[str, int], wanted: Mapping[str, WantedRows]) -> News:
        return news_by_table(self, seen, wanted)

    def update(self, table: str, insert: pa.Table | None, delete: pa.Table | None) -> int:
        found = self._table(table)
        return found.update(*signed(insert, delete, found.schema()))

    def cluster(self, table: str, attribute: str, files: int) -> int:
        """Sort a table by an attribute, so that sketches by it let readers skip; the version it has then."""
        found = self._table(table)
        if attribute not in found.schema().names:
            raise SketchError("unknown-column", f"{table} has no column {attribute}")
        with self.working(table):
            return found.cluster(self.session, attribute, files)

    # -------------------------------------------------------------- inside

    @cached_property
    def _cores(self) -> int:
        """How many tasks run at once."""
        return int(self.session.sparkContext.defaultParallelism)

    def _table(self, name: str) -> SparkTable:
        if name not in self.tables:
            raise SketchError(
                "unknown-table", f"no table {name} was named", hint="name it: sketches.table(...)"
            )
        return self.tables[name]

    def _annotated(self, frame: DataFrame, table: str, fragments: Mapping[Slot, Ranges]) -> DataFrame:
        for slot, ranges in fragments.items():
            if slot.table == table:
                frame = frame.withColumn(fragment_column(slot), fragment_of(frame[slot.attribute], ranges))
        return frame


def _columns(schema: pa.Schema) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(field.name, type_from_arrow(field.type), field.nullable) for field in schema)


def fragment_of(column: Column, ranges: Ranges) -> Column:
    """The fragment of each row, in Spark."""
    from pyspark.sql import functions as F

    if not ranges.bounds:
        return F.when(column.isNull(), F.lit(1).cast("bigint")).otherwise(F.lit(0).cast("bigint"))
    place = _binary_search(column, ranges)
    if place is None:
        from headwater.sketch.tables.fragment_sql import fragment_expression

        return F.expr(fragment_expression(ranges, "spark")).cast("bigint")
    number = F.when(place >= 0, place + 1).otherwise(-place - 1)
    return F.when(column.isNull(), F.lit(ranges.null_fragment)).otherwise(number).cast("bigint")


def _binary_search(column: Column, ranges: Ranges) -> Column | None:
    """Where a value is among the bounds (below 0: -1 minus where it would be); `None` without such a search."""
    from pyspark.sql import functions as F

    try:
        from pyspark.sql.internal import InternalFunction

        search: Any = InternalFunction.array_binary_search
    except (ImportError, AttributeError):
        return None
    value, bounds, kind = _searchable(column, ranges.bounds)
    return search(F.from_json(F.lit(json.dumps(bounds)), f"array<{kind}>"), value)  # type: ignore[no-any-return]


def _searchable(column: Column, bounds: Sequence[RangeValue]) -> tuple[Column, list[Any], str]:
    """Values and bounds as something that JSON has, ordered alike, and Spark's name for its type."""
    first = bounds[0]
    if isinstance(first, datetime.datetime):
        instants = [
            bound.isoformat(timespec="microseconds")
            for bound in bounds
            if isinstance(bound, datetime.datetime)
        ]
        return column, instants, "timestamp" if first.tzinfo else "timestamp_ntz"
    if isinstance(first, datetime.date):
        return column, [str(bound) for bound in bounds], "date"
    if isinstance(first, decimal.Decimal):
        texts = [format(bound, "f") for bound in bounds]
        return column.cast("decimal(38,10)"), texts, "decimal(38,10)"
    if isinstance(first, bool):
        return column.cast("bigint"), [int(bool(bound)) for bound in bounds], "bigint"
    if isinstance(first, str):
        return column, list(bounds), "string"
    if all(isinstance(bound, int) for bound in bounds):
        return column.cast("bigint"), list(bounds), "bigint"
    return column.cast("double"), [float(bound) for bound in bounds], "double"  # type: ignore[arg-type]
