"""`Sketches`: tables, queries over them, and for each query the way that costs least (figure 2 of the paper).

A query is run plainly, captured, answered over a sketch of the very versions that it reads, or answered after
its sketch was maintained. The first time it is run plainly; from the second time on it is captured if a proof
says that this is safe. What each way costs is learned from what it has cost (`cost`); whenever the plain way is
expected to be as fast, it is taken. Nothing is used for a version that it was not made for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.calls import public
from headwater.errors import SketchError, SqlError
from headwater.language.sql.algebra import scans
from headwater.language.sql.parser import parse
from headwater.language.sql.query import SqlQuery
from headwater.sketch.advice import DEFAULT_RANGES, Advice, PastQuery, advise
from headwater.sketch.answers import AnswerDestination, CollectedAnswers, StayingAnswers
from headwater.sketch.asking import AskedQuery
from headwater.sketch.decision import SketchAnswer, SketchDecision
from headwater.sketch.kept import KeptQuery, KeptState, KeptTable, query_name
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.switches import Switches
from headwater.sketch.safety.checking import FactsOfBackend
from headwater.sketch.safety.facts import declared
from headwater.sketch.tables.opening import given_changes, given_rows, open_spark_table
from headwater.sketch.tables.spark_backend import SparkBackend
from headwater.sketch.tables.sql_backend import SqlBackend
from headwater.store.patience import PATIENCE
from headwater.version.spectator import screen_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


ATTEMPTS = 10
"""So often a query is answered anew because a table that keeps no old versions was changed meanwhile."""

MOST_MEMORY = 2**30
"""Bytes that the state of all sketches may take in memory."""
MOST_PLANS_KEPT = 256
"""Texts whose plans are at hand."""


GONE = ("unknown-table", "missing-source")
"""What is said of a table that is not there any more: its queries cannot be asked, all others can."""


@contextmanager
def suppressed(codes: Sequence[str]) -> Iterator[None]:
    """Go on after errors with these codes."""
    try:
        yield
    except SketchError as error:
        if error.code not in codes:
            raise


class Sketches:
    """Sketches of the queries over some tables; `hw.sketches(spark, "state/")`. A context manager."""

    def __init__(
        self,
        backend: SparkSession | str,
        path: str | Path,
        *,
        progress: bool | None = None,
        shrink: bool = True,
        eager: int = 0,
        memory: int = MOST_MEMORY,
        patience: float = PATIENCE,
    ):
        if eager < 0 or memory < 0:
            raise SketchError("bad-bound", "`eager` and `memory` are numbers from 0 on", hint="0 or more")
        if not patience >= 0:
            raise SketchError("bad-patience", f"{patience} is no number of seconds", hint="0 or more")
        self._state = KeptState(Path(path), patience)
        self._is_closed = False
        try:
            self.backend: SparkBackend | SqlBackend = (
                SqlBackend(backend, patience) if isinstance(backend, str) else SparkBackend(backend)
            )
            self._address = backend if isinstance(backend, str) else "spark"
            self._tables: dict[str, KeptTable] = {}
            self._learned: list[KeptQuery] = []
            self._maintainers: dict[str, Maintainer] = {}
            self._plans: dict[str, SqlQuery] = {}
            self._unwritten: set[str] = set()
            self._facts = FactsOfBackend(self.backend)
            self._queries = {query.name: query for query in self._state.queries()}
            named = list(self._state.tables())
            for table in named:
                self._tables[table.name] = table
                with suppressed(GONE):
                    self._name(table)
            if list(self._tables.values()) != named:  # one was made anew
                self._state.describe(self._address, self._tables)
        except BaseException:
            self._state.close()
            raise
        self._screen = screen_of(progress)
        self._switches = Switches(shrink=shrink)
        self._eager, self._memory = eager, memory
        self._changed: dict[str, int] = {}
        """How many rows of tables have changed since their sketches were last maintained because of that."""
        self.last: SketchDecision | None = None
        """What was decided about the last query."""

    # ------------------------------------------------------------------ tables

    @public
    def table(
        self,
        name: str,
        path: str | Path | None = None,
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
        if ranges < 1:
            raise SketchError("bad-ranges", f"{ranges} ranges", hint="at least one")
        table = KeptTable(name, str(path or name), format, (), ranges)
        self._name(table, partition)
        self._state.describe(self._address, self._tables)

    def _name(self, table: KeptTable, partition: str | Sequence[str] | None = None) -> None:
        """Take in a table; sketches of another one that had its name, or of other columns, are of no use."""
        table = replace(table, identity=self._take_in(table))
        if partition is not None:
            table = replace(table, partition=self._attributes(table.name, partition))
        there = {column.name for column in self.backend.schemas()[table.name].columns}
        table = replace(table, partition=tuple(name for name in table.partition if name in there))
        before, self._tables[table.name] = self._tables.get(table.name), table
        self._plans.clear()
        if before is not None and table.is_another(before):
            self._facts.forget()
            for query in list(self._queries.values()):
                if any(table.name in sketch.versions for sketch in query.sketches):
                    self.drop(query.name)

    def _attributes(self, table: str, partition: str | Sequence[str] | None) -> tuple[str, ...]:
        """Columns by their names: one, several in a list, or several with commas between."""
        schema = self.backend.schemas()[table]
        if isinstance(partition, str):
            is_one = schema.column(partition) is not None or "," not in partition
            partition = [partition] if is_one else [name.strip() for name in partition.split(",")]
        found = {name: schema.column(name) for name in partition or ()}
        for name, column in found.items():
            if column is None:
                raise SketchError("unknown-column", f"{table} has no column {name}")
        return tuple(dict.fromkeys(column.name for column in found.values() if column is not None))

    def _take_in(self, table: KeptTable) -> str:
        """Open a table; what tells it from others, where that is known."""
        if isinstance(self.backend, SqlBackend):
            self.backend.table(table.name)
            return ""
        record = self._state.folder / "tables" / table.name
        found = open_spark_table(self.backend.session, table, record)
        schema = self.backend.table(table.name, found)
        columns = (
            f"{column.name} {column.type}{'' if column.nullable else ' not null'}"
            for column in schema.columns
        )
        return ", ".join((found.identity, *columns))

    @public
    def update(self, table: str, insert: Any = None, delete: Any = None, *, changes: Any = None) -> int:
        """Change a table by rows that come and go (DataFrames, Arrow, pandas, tuples); the version it has then.

        `changes`: rows of a change feed, such as Delta's, with a column `_change_type`.
        """
        self._refuse_closed()
        schema = self._schema_of(table)
        come, gone = given_changes(changes, schema)
        inserted, deleted = (
            _together(given_rows(insert, schema), come),
            _together(given_rows(delete, schema), gone),
        )
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
        for kept in list(self._queries.values()):
            if kept.newest is not None and table in kept.newest.versions:
                try:
                    query = self._parsed(kept.text)
                except SqlError:  # that, too, is for the next who asks
                    continue
                try:
                    with self._moment():
                        AskedQuery(self, query, kept, self._versions_of(query)).can_be_brought_up()
                except SketchError as error:
                    if error.code != "table-replaced":  # that is for the next who asks
                        raise
        self._let_go()

    @public
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
        if files < 1:
            raise SketchError("bad-ranges", f"{files} files", hint="at least one")
        return self.backend.cluster(table, attribute, files)

    def _schema_of(self, table: str) -> Any:
        import pyarrow as pa

        from headwater.values.arrow_types import arrow_type

        if isinstance(self.backend, SparkBackend) and table in self.backend.tables:
            return self.backend.tables[table].schema()
        if table not in self.backend.schemas():
            raise SketchError(
                "unknown-table", f"no table {table} was named", hint="name it: sketches.table(...)"
            )
        columns = self.backend.schemas()[table].columns
        unknown = next((column.name for column in columns if column.type is None), None)
        if unknown is not None:
            raise SketchError(
                "unknown-type",
                f"{table}.{unknown} has a type that rows cannot be given for here",
                hint="change the table in the database",
            )
        return pa.schema([(column.name, arrow_type(column.type)) for column in columns])

    # ------------------------------------------------------------------ queries

    @public
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
        query = self._parsed_anew(text)
        for attempt in range(ATTEMPTS):
            try:
                with self._moment():
                    answer = self._answered(query, text, way, versions, answers)
                self._let_go()
                self.last = answer.decision
                return answer
            except SketchError as error:
                again = ("no-such-version", "table-replaced", "conflict")
                if error.code not in again or versions or attempt == ATTEMPTS - 1:
                    raise
                if error.code == "table-replaced":
                    self._name_again(query)
                    query = self._parsed(text)
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
        at = self._versions_of(query)
        chosen = {table: version for table, version in self._chosen(versions or {}).items() if table in at}
        at |= chosen
        kept = self._queries.get(query_name(text)) or KeptQuery(query_name(text), text)
        kept = replace(kept, asked=kept.asked + 1)
        asked = AskedQuery(self, query, kept, at, is_past=bool(chosen), answers=answers)
        answer = asked.answered(way)  # type: ignore[arg-type]
        self._learned.append(asked.kept)
        return answer

    def _chosen(self, versions: Mapping[str, int]) -> dict[str, int]:
        """The versions that were asked for, by the names of tables as they were named; case does not matter."""
        names = {name.lower(): name for name in self._tables} | {name: name for name in self._tables}
        found = {}
        for table, version in versions.items():
            name = names.get(table) or names.get(str(table).lower())
            if name is None:
                raise SketchError(
                    "unknown-table", f"no table {table} was named", hint="name it: sketches.table(...)"
                )
            if not isinstance(version, int) or isinstance(version, bool) or version < 0:
                raise SketchError(
                    "no-such-version", f"{version!r} is no version of {table}", hint="a whole number"
                )
            found[name] = version
        return found

    def _name_again(self, query: SqlQuery) -> None:
        """The tables of a query, one of which was made anew where it was."""
        for name in sorted({scan.table for scan in scans(query.plan)}):
            self._name(self._tables[name])
        self._state.describe(self._address, self._tables)

    def _name_altered(self, names: Iterable[str]) -> bool:
        """Name those tables again that were made anew, or have other columns; whether there are any."""
        altered = []
        for name in names:
            try:
                with suppressed(GONE):
                    self.backend.version(name)
            except SketchError as error:
                if error.code != "table-replaced":
                    raise
                altered.append(self._tables[name])
        for table in altered:
            self._name(table)
        if altered:
            self._state.describe(self._address, self._tables)
        return bool(altered)

    @contextmanager
    def _moment(self) -> Iterator[None]:
        """One moment of the tables; what is learned of queries meanwhile is kept when it has ended well.

        A database may have given a table a new version in it, since somebody changed the table without saying so. If
        the moment ends badly that version is taken back and will be given again, to other rows: what has been
        maintained up to it, or found out about it, is of no use.
        """
        seen = {name: each.versions for name, each in self._maintainers.items()}
        self._learned = []
        try:
            with self.backend.moment():
                yield
        except BaseException:
            if isinstance(self.backend, SqlBackend):
                for name, each in list(self._maintainers.items()):
                    if each.versions is not seen.get(name):
                        del self._maintainers[name]
                self._facts.forget()
            raise
        for kept in self._learned:
            is_due = kept.must_be_written(self._queries.get(kept.name))
            self._queries[kept.name] = kept
            if is_due:
                self._state.write(kept)
                self._unwritten.discard(kept.name)
            else:
                self._unwritten.add(kept.name)

    @public
    def explain(self, text: str) -> str:
        """What is known of a query: whether a sketch is safe and why, what it would read, what ways cost."""
        self._refuse_closed()
        query = self._parsed(text)
        kept = self._queries.get(query_name(text)) or KeptQuery(query_name(text), text)
        with self._moment():
            return AskedQuery(self, query, kept, self._versions_of(query)).explained()

    @public
    def advise(self, text: str) -> list[Advice]:
        """Attributes to sketch a query's tables by, the best first."""
        self._refuse_closed()
        return advise(self.backend, self._parsed(text).plan, self._known, past=self._past(query_name(text)))

    def _past(self, but: str) -> list[PastQuery]:
        """All queries that were asked, but for one; those that cannot be read any more say nothing."""
        found = []
        for kept in self._queries.values():
            if kept.name != but and kept.asked:
                with suppress(SqlError):
                    found.append(PastQuery(self._parsed(kept.text).plan, kept.asked))
        return found

    def _let_go(self) -> None:
        """Write state that was not used for long to the folder, where it is found again, until the rest fits into
        memory; the one that was used last stays."""
        held = {name: each.nbytes for name, each in self._maintainers.items()}
        for name in list(held)[:-1]:
            if sum(held.values()) <= self._memory:
                return
            if not self._maintainers[name].is_lost:
                self._maintainers[name].save(self._state.state_of(name))
            del self._maintainers[name], held[name]

    @public
    def list(self) -> tuple[KeptQuery, ...]:
        """All queries that were asked, with their sketches."""
        return tuple(self._queries.values())

    @public
    def maintain(self, name: str | None = None) -> dict[str, SketchDecision]:
        """Bring sketches (default: all) to the newest versions. Those that cannot be maintained are captured anew, or
        dropped if what they rested on no longer holds: their decisions say so."""
        self._refuse_closed()
        chosen = [*self._queries] if name is None else [self._named(name).name]
        self._name_altered(self._tables)
        done = {}
        for kept in [self._queries[each] for each in chosen if each in self._queries]:
            if kept.newest is None:
                continue
            try:
                query = self._parsed(kept.text)
                with self._moment():
                    asked = AskedQuery(self, query, kept, self._versions_of(query))
                    done[kept.name] = asked.renewed()
                    self._learned.append(asked.kept)
            except (SqlError, SketchError) as error:  # its tables have other columns now, or one is gone
                if name is not None or (isinstance(error, SketchError) and error.code not in GONE):
                    raise
                done[kept.name] = SketchDecision("plain", error.message, kept.name, {}, 0.0, {})
                self._queries[kept.name] = replace(kept, sketches=(), facts=frozenset())
                self._state.write(self._queries[kept.name])
                continue
            self._let_go()
        return done

    @public
    def drop(self, name: str) -> None:
        """Forget a query's sketches; the beginning of its name will do, if no other begins so."""
        self._refuse_closed()
        found = self._named(name).name
        self._maintainers.pop(found, None)
        self._unwritten.discard(found)
        del self._queries[found]
        self._state.drop(found)

    def _named(self, name: str) -> KeptQuery:
        found = [kept for kept in self._queries.values() if name and kept.name.startswith(name)]
        if len(found) != 1:
            raise SketchError(
                "unknown-sketch", f"{len(found)} queries have names like {name}", hint="headwater sketch list"
            )
        return found[0]

    def close(self) -> None:
        """Keep what maintains sketches, and let other processes have the folder and the database."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            for name in sorted(self._unwritten):
                self._state.write(self._queries[name])
            self._unwritten.clear()
            for name, maintainer in self._maintainers.items():
                if not maintainer.is_lost:
                    maintainer.save(self._state.state_of(name))
        finally:
            if isinstance(self.backend, SqlBackend):
                self.backend.close()
            self._state.close()

    def __enter__(self) -> Sketches:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    # ------------------------------------------------------------------ inside

    def _refuse_closed(self) -> None:
        """The folder may be another process's by now."""
        if self._is_closed:
            raise SketchError("closed", "these sketches are closed", hint="open them again: hw.sketches(...)")

    def _parsed(self, text: str) -> SqlQuery:
        found = self._plans.get(text)
        if found is None:
            found = parse(text, self.backend.schemas(), self.backend.dialect)
            if len(self._plans) >= MOST_PLANS_KEPT:
                self._plans.clear()
            self._plans[text] = found
        return found

    def _parsed_anew(self, text: str) -> SqlQuery:
        """The same for somebody who may have seen columns that a table has got since it was named."""
        try:
            return self._parsed(text)
        except SqlError as error:
            if error.code != "unknown-column" or not self._name_altered(self._tables):
                raise
            return self._parsed(text)

    def _versions_of(self, query: SqlQuery) -> dict[str, int]:
        """The versions that the tables of a query have now."""
        return self.backend.versions(tuple({scan.table: None for scan in scans(query.plan)}))

    @property
    def _known(self) -> Any:
        return declared(self.backend.schemas(), self._facts)


def _together(*parts: pa.Table | None) -> pa.Table | None:
    """Rows of all parts that there are."""
    import pyarrow as pa

    found = [part for part in parts if part is not None]
    return pa.concat_tables(found) if found else None
