"""`Sketches`: tables, queries over them, and for each query the way that costs least (figure 2 of the paper).

A query is run plainly, captured, answered over a sketch of the very versions that it reads, or answered after
its sketch was maintained. The first time it is run plainly; from the second time on it is captured if a proof
says that this is safe. What each way costs is learned from what it has cost (`cost`); whenever the plain way is
expected to be as fast, it is taken. Nothing is used for a version that it was not made for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from threading import TIMEOUT_MAX, RLock
from typing import TYPE_CHECKING, Any, TypeVar

from headwater.calls import public
from headwater.errors import SketchError, SqlError
from headwater.language.sql.query import SqlQuery
from headwater.notebook import paragraph
from headwater.sketch.advice import DEFAULT_RANGES, advise
from headwater.sketch.answers import AnswerDestination, CollectedAnswers, StayingAnswers
from headwater.sketch.asking import AskedQuery
from headwater.sketch.asking_context import AskingContext
from headwater.sketch.decision import SketchAnswer, SketchDecision
from headwater.sketch.kept import KeptQuery, KeptState, KeptTable, query_name
from headwater.sketch.maintain.switches import Switches
from headwater.sketch.named_tables import GONE, NamedTables
from headwater.sketch.outcome_tables import AdviceTable, DecisionTable
from headwater.sketch.query_book import QueryBook
from headwater.sketch.query_table import QueryTable
from headwater.sketch.tables.opening import FORMATS, given_changes, given_rows, unknown_format
from headwater.sketch.tables.spark_backend import SparkBackend
from headwater.sketch.tables.sql_backend import SqlBackend
from headwater.store.patience import PATIENCE
from headwater.values import arguments
from headwater.version.spectator import screen_of
from headwater.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


ATTEMPTS = 10
"""So often a query is answered anew because a table that keeps no old versions was changed meanwhile."""
OVERTAKEN = ("no-such-version", "table-replaced", "conflict")
"""What is said where a table was changed meanwhile."""

MOST_MEMORY = 2**30
"""Bytes that the state of all sketches may take in memory."""


Method = TypeVar("Method", bound=Callable[..., Any])


def alone(method: Method) -> Method:
    """A method in which one thread is at a time: what maintains a sketch takes in a change once."""

    @wraps(method)
    def run(self: Sketches, *given: Any, **options: Any) -> Any:
        with self._inside:
            return method(self, *given, **options)

    return run  # type: ignore[return-value]


class Sketches:
    """Sketches of the queries over some tables; `hw.sketches(spark, "state/")`. A context manager."""

    def __init__(
        self,
        backend: SparkSession | str,
        path: str | os.PathLike[str],
        *,
        progress: bool | None = None,
        shrink: bool = True,
        eager: int = 0,
        memory: int = MOST_MEMORY,
        patience: float = PATIENCE,
    ):
        if not isinstance(backend, str) and not hasattr(backend, "createDataFrame"):
            raise arguments.wrong("backend", backend, "a Spark session, or the address of a database")
        self._eager = _number("eager", eager, 0, "bad-bound")
        memory = _number("memory", memory, 0, "bad-bound")
        switches = Switches(shrink=arguments.flag("shrink", shrink))
        screen = screen_of(None if progress is None else arguments.flag("progress", progress))
        if not isinstance(patience, int | float) or isinstance(patience, bool) or not patience >= 0:
            raise SketchError("bad-patience", f"{patience!r} is no number of seconds", hint="0 or more")
        patience = float(min(patience, TIMEOUT_MAX))
        self._state = KeptState(arguments.folder("path", path), patience)
        self._is_closed = False
        self._inside = RLock()
        try:
            self.backend: SparkBackend | SqlBackend = (
                SqlBackend(backend, patience) if isinstance(backend, str) else SparkBackend(backend)
            )
            address = backend if isinstance(backend, str) else "spark"
            self._book = QueryBook(self._state, self.backend, memory)
            self._tables = NamedTables(self.backend, address, self._state, self._book)
        except BaseException:
            self._state.close()
            raise
        self._context = AskingContext(self._tables, self._book, switches, screen)
        self._changed: dict[str, int] = {}
        """How many rows of tables have changed since their sketches were last maintained because of that."""
        self.last: SketchDecision | None = None
        """What was decided about the last query."""

    # ------------------------------------------------------------------ tables

    @public
    @alone
    def table(
        self,
        name: str,
        path: str | os.PathLike[str] | None = None,
        format: str = "delta",
        *,
        partition: str | Sequence[str] | None = None,
        ranges: int = DEFAULT_RANGES,
    ) -> None:
        """Name a table: of Spark a `path` and a `format` (delta, parquet, table), of a database its name.

        `partition` is the attribute to sketch it by, or several (default: advised, query by query), `ranges` how
        many there are of each.
        """
        self._refuse_closed()
        name = arguments.name("name", name)
        if not isinstance(path, str | os.PathLike | None):
            raise arguments.wrong("path", path, "a path, or the name of a table of the catalog")
        if format not in FORMATS:
            raise unknown_format(format)
        if isinstance(self.backend, SqlBackend) and path is not None and str(path) != name:
            raise SketchError(
                "bad-name",
                f"the table {path} cannot be called {name}: tables of databases have the names that they have there",
                hint=f"name it {path}",
            )
        count = _number("ranges", ranges, 1, "bad-ranges")
        self._tables.name(KeptTable(name, str(path or name), format, (), count), partition)

    @public
    @alone
    def update(self, table: str, insert: Any = None, delete: Any = None, *, changes: Any = None) -> int:
        """Change a table by rows that come and go (DataFrames, Arrow, pandas, tuples); the version it has then.

        `changes`: rows of a change feed, such as Delta's, with a column `_change_type`.
        """
        self._refuse_closed()
        schema = self._tables.row_schema(arguments.text("table", table))
        come, gone = given_changes(changes, schema)
        inserted, deleted = (
            _together(given_rows(insert, schema), come),
            _together(given_rows(delete, schema), gone),
        )
        with self._tables.told_of_others([table]):
            version = self.backend.update(table, inserted, deleted)
        if self._eager:
            rows = sum(part.num_rows for part in (inserted, deleted) if part is not None)
            self._follow_soon(table, rows)
        return version

    def _follow_soon(self, table: str, rows: int) -> None:
        """Maintain the sketches of a table of which so many rows have changed, if that is enough; those that cannot
        be maintained wait until they are asked for."""
        self._changed[table] = self._changed.get(table, 0) + rows
        if self._changed[table] < self._eager:
            return
        self._changed[table] = 0
        for kept in self._book:
            if kept.newest is not None and table in kept.newest.versions:
                query = self._context.prover.plan_of(kept)
                if query is None:  # that, too, is for the next who asks
                    continue
                try:
                    with self._moment(query):
                        self._at_newest(query, kept).was_brought_up()
                except SketchError as error:
                    if error.code not in (
                        *OVERTAKEN,
                        *GONE,
                    ):  # that is for the next who asks: the change is done
                        raise
        self._book.fit_memory()

    @contextmanager
    def _moment(self, query: SqlQuery) -> Iterator[None]:
        """One moment of the tables of a query; what is learned meanwhile is kept when it has ended well."""
        with self._tables.told_of_others(query.tables), self._book.moment():
            yield

    def _at_newest(self, query: SqlQuery, kept: KeptQuery, *, is_explained: bool = False) -> AskedQuery:
        """A query at the newest versions of its tables."""
        at = self._tables.versions(query)
        return AskedQuery(self._context, query, kept, at, is_explained=is_explained)

    @public
    @alone
    def cluster(self, table: str, attribute: str, *, files: int = 16) -> int:
        """Sort a table of Spark by an attribute, into about so many files; the version it has then.

        Its rows stay the same, and so do its sketches.
        """
        self._refuse_closed()
        if isinstance(self.backend, SqlBackend):
            raise SketchError(
                "not-clustered",
                "tables of databases are clustered by the database",
                hint="CLUSTER, or ORDER BY",
            )
        count = _number("files", files, 1, "bad-ranges")
        self._tables.find(arguments.text("table", table))
        return self.backend.cluster(table, arguments.text("attribute", attribute), count)

    # ------------------------------------------------------------------ queries

    @public
    @alone
    def sql(
        self, text: str, *, way: str | None = None, versions: Mapping[str, int] | None = None
    ) -> DataFrame | Any:
        """The answer of a query: a DataFrame whose rows stay with Spark (of a database, an Arrow table).

        What was decided about it is its `decision`, and `last`. `way` forces one: plain, capture, use or maintain.
        `versions` asks for tables as they were.
        """
        if isinstance(self.backend, SqlBackend):
            return self.ask(text, way=way, versions=versions).rows
        answer = self._asked(text, way, versions, StayingAnswers(self.backend))
        answer.rows.decision = answer.decision
        return answer.rows

    @public
    @alone
    def ask(
        self, text: str, *, way: str | None = None, versions: Mapping[str, int] | None = None
    ) -> SketchAnswer:
        """The rows of a query as an Arrow table, and what was decided about it."""
        return self._asked(text, way, versions, CollectedAnswers(self.backend))

    def _asked(
        self, text: str, way: str | None, versions: Mapping[str, int] | None, answers: AnswerDestination
    ) -> SketchAnswer:
        self._refuse_closed()
        if way not in (None, "plain", "capture", "use", "maintain"):
            raise SketchError("unknown-way", f"there is no way {way}", hint="plain, capture, use or maintain")
        if not isinstance(versions, Mapping | None):
            raise arguments.wrong("versions", versions, 'versions of tables: {"sales": 3}')
        query = self._tables.parsed_anew(text)
        if query.parameters:
            raise SketchError(
                "unbound-parameter",
                f"the parameter {query.parameters[0].name} has no value",
                hint="write values into the text: queries that differ in them share a sketch",
            )
        for attempt in range(ATTEMPTS):
            try:
                with self._moment(query):
                    answer = self._answered(query, text, way, versions, answers)
                self._book.fit_memory()
                self.last = answer.decision
                return answer
            except SketchError as error:
                if error.code not in OVERTAKEN or versions or attempt == ATTEMPTS - 1:
                    raise
                if error.code == "table-replaced":
                    self._tables.name_again(query)
                    query = self._tables.parsed(text)
        raise AssertionError("unreachable")

    def _answered(
        self,
        query: SqlQuery,
        text: str,
        way: str | None,
        versions: Mapping[str, int] | None,
        answers: AnswerDestination,
    ) -> SketchAnswer:
        """The answer at the newest versions; refused if somebody changes a table meanwhile that keeps no old one."""
        at = self._tables.versions(query)
        named = self._tables.chosen_versions(versions or {})
        chosen = {table: version for table, version in named.items() if table in at}
        at |= chosen
        kept = self._book.of(text)
        kept = replace(kept, asked=kept.asked + 1) if chosen else kept.counted(at)
        asked = AskedQuery(self._context, query, kept, at, is_past=bool(chosen), answers=answers)
        answer = asked.answered(way)  # type: ignore[arg-type]
        asked.learn()
        return answer

    @public
    @alone
    def explain(self, text: str) -> str:
        """What is known of a query: whether a sketch is safe and why, what it would read, what ways cost."""
        self._refuse_closed()
        query = self._tables.parsed_anew(text)
        if self._tables.name_altered(query.tables):
            query = self._tables.parsed(text)
        with self._moment(query):
            found = self._at_newest(query, self._book.of(text), is_explained=True).explained()
        self._book.fit_memory()
        return found

    @public
    @alone
    def advise(self, text: str) -> AdviceTable:
        """Attributes to sketch a query's tables by, the best first."""
        self._refuse_closed()
        plan = self._tables.parsed_anew(text).plan
        prover = self._context.prover
        return AdviceTable(advise(self.backend, plan, prover.known(), past=prover.past(query_name(text))))

    @public
    @alone
    def list(self) -> QueryTable:
        """All queries that were asked, with their sketches."""
        return QueryTable(self._book)

    @public
    @alone
    def maintain(self, name: str | None = None) -> DecisionTable:
        """Bring sketches (default: all) to the newest versions. Those that cannot be maintained are captured anew, or
        dropped if what they rested on no longer holds: their decisions say so."""
        self._refuse_closed()
        chosen = None if name is None else self._named(name).name
        self._tables.name_altered()
        done = DecisionTable()
        for kept in self._book:
            if kept.newest is None or chosen not in (None, kept.name):
                continue
            try:
                query = self._tables.parsed(kept.text)
                with self._moment(query):
                    asked = self._at_newest(query, kept)
                    done[kept.name] = asked.renewed()
                    asked.learn()
            except (SqlError, SketchError) as error:  # its tables have other columns now, or one is gone
                if name is not None or (isinstance(error, SketchError) and error.code not in GONE):
                    raise
                done[kept.name] = SketchDecision("plain", error.message, kept.name, {}, 0.0, {})
                self._book.write(replace(kept, sketches=(), facts=frozenset()))
                continue
            self._book.fit_memory()
        return done

    @public
    @alone
    def drop(self, name: str) -> None:
        """Forget a query's sketches; the beginning of its name will do, if no other begins so."""
        self._refuse_closed()
        self._book.drop(self._named(name).name)

    def _named(self, name: str) -> KeptQuery:
        return self._book.find(arguments.text("name", name))

    @alone
    def close(self) -> None:
        """Keep what maintains sketches, and let other processes have the folder and the database."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._book.save()
        finally:
            try:
                if isinstance(self.backend, SqlBackend):
                    self.backend.close()
            finally:
                self._state.close()

    def __enter__(self) -> Sketches:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def __repr__(self) -> str:
        tables, queries = counted(len(self._tables), "table"), len(self._book)
        asked = f"{queries:,} {'query' if queries == 1 else 'queries'}"
        return f"<sketches {self._state.folder}: {tables}, {asked}{', closed' if self._is_closed else ''}>"

    def _repr_html_(self) -> str:
        return paragraph(repr(self)) + QueryTable(self._book)._repr_html_()

    # ------------------------------------------------------------------ inside

    def _refuse_closed(self) -> None:
        """The folder may be another process's by now."""
        if self._is_closed:
            raise SketchError("closed", "these sketches are closed", hint="open them again: hw.sketches(...)")


def _number(argument: str, value: int, least: int, code: str) -> int:
    """A whole number that is at least so large."""
    if isinstance(value, int) and value < least:
        raise SketchError(code, f"{argument} is {value}", hint=f"a whole number from {least}")
    return arguments.whole_number(argument, value, least=least)


def _together(*parts: pa.Table | None) -> pa.Table | None:
    """Rows of all parts that there are."""
    import pyarrow as pa

    found = [part for part in parts if part is not None]
    return pa.concat_tables(found) if found else None
