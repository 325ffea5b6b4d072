"""Sources, a database and sinks, run together.

One turn: every source is asked what has changed; all of it becomes one version, with the sources' marks; then each
sink publishes what it is owed. A stream makes a version of each micro-batch, and publishes it, in its own thread. A
version and its publication are never interrupted by another.

What holds, wherever the process stops: a source's rows and its mark are applied together or not at all, so nothing is
read twice and nothing is skipped; what was committed is owed to the sinks until it is published, so nothing is lost;
sinks know what they have, so nothing is there twice.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headwater.calls import public_class
from headwater.errors import DataError, HeadwaterError, PipelineError
from headwater.files.missing import RefusedRow
from headwater.files.quarantine import put_aside
from headwater.language.datalog import parse
from headwater.pipeline.callback import Callback
from headwater.pipeline.refusals import refusals
from headwater.pipeline.report import Report, SinkReport, SourceReport
from headwater.pipeline.sink import Publication, Sink, refuse_reserved
from headwater.pipeline.source import Batch, Source
from headwater.pipeline.stream import Stream
from headwater.spark.session import running_session, spark_session, stop_embedded
from headwater.values.scalars import show

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headwater.database import Database

Watcher = Callable[[Report], None]
_LEAST = 0.02  # seconds between two turns: where there is nothing to do, nothing is to be busy


@public_class
class Pipeline:
    """Made by `Database.pipeline`, or from a TOML file by `headwater.pipeline.load`."""

    def __init__(
        self,
        database: Database,
        sources: Sequence[Source | Stream],
        sinks: Sequence[Sink] = (),
        *,
        spark: SparkSession | Callable[[], SparkSession] | None = None,
    ):
        """Check that all fit together; nothing is read or written yet."""
        sources, sinks = _parts("source", sources, "poll"), _parts("sink", sinks, "publish")
        if spark is not None and not callable(spark) and not hasattr(spark, "sparkContext"):
            raise PipelineError("wrong-type", f"spark is {show(spark)}", hint="a SparkSession, or a function")
        self.database = database
        self.polled = tuple(source for source in sources if not isinstance(source, Stream))
        self.streams = tuple(source for source in sources if isinstance(source, Stream))
        self.sinks = tuple(sinks)
        self._check(sources)
        self._given = spark if spark is not None else database.spark
        self._session: SparkSession | None = None
        self._started = False
        self._turn = threading.RLock()
        self._stop = threading.Event()
        self._ending = False
        self._failed: BaseException | None = None
        self._watch: Watcher | None = None
        self._begin_report()

    def _begin_report(self) -> None:
        """Nothing was done yet in this run."""
        self._versions, self._lag = 0, 0.0
        self._notes: list[str] = []
        marks = self.database.marks
        self._sources = {
            source.name: SourceReport(source.name, source.relation, mark=marks.get(source.name))
            for source in (*self.polled, *self.streams)
        }
        self._published: dict[str, tuple[int, int]] = {}

    def _check(self, sources: Sequence[Source | Stream]) -> None:
        for kind, names in (
            ("source", [source.name for source in sources]),
            ("sink", [sink.name for sink in self.sinks]),
        ):
            for name, count in Counter(names).items():
                if count > 1:
                    raise PipelineError("same-name", f"two {kind}s are called {name}", hint="give one a name")
        filled = Counter(source.relation for source in sources)
        stated = _stated(self.database)
        for source in sources:
            info = self.database.info(source.relation)
            if not info.base and source.relation not in self.database.program.facades:
                raise DataError(
                    "derived-relation",
                    f"{source.relation} is derived by rules; {source.name} cannot fill it",
                    hint=f"fill the relations it is derived from, or declare `.input {source.relation}`",
                )
            if getattr(source, "whole", False) and (filled[source.relation] > 1 or source.relation in stated):
                other = (
                    "another source fills it"
                    if filled[source.relation] > 1
                    else "the program has facts for it"
                )
                raise PipelineError(
                    "two-sources",
                    f"{source.name} says what all of {source.relation} is, and {other}, too",
                    hint="one relation for each, and a rule that joins them",
                )
        for sink in self.sinks:
            if not self.database.info(sink.view).columns:
                raise PipelineError(
                    "bad-sink", f"{sink.view} has no columns", hint="a view needs one to be published"
                )
            refuse_reserved(sink, self.database.info(sink.view).columns)

    # ------------------------------------------------------------------ running

    @property
    def session(self) -> SparkSession:
        """The session given, the database's, the running one, or an embedded one, which starts now."""
        if self._session is None:
            given = self._given
            self._started = running_session() is None
            self._session = given() if callable(given) else given if given is not None else spark_session()
        return self._session

    def run(self, *, continuous: bool = False, every: float = 1.0, watch: Watcher | None = None) -> Report:
        """Read all that is there, apply it and publish; with `continuous`, until `stop` is called.

        `every` is the least time between two turns, in seconds. `watch` is called with a report at the start,
        and after each version, once it is published.
        """
        self._stop.clear()
        self._failed, self._watch, self._ending = None, watch, False
        self._begin_report()
        self._open()
        _ = self.session  # starting Spark is no lag of any version
        queries: list[StreamingQuery] = []
        try:
            with self._turn:
                self._publish(time.monotonic())
            if continuous:
                queries = [self._start(stream, every) for stream in self.streams]
            while True:
                begun = time.monotonic()
                self._poll(begun)
                if not continuous:
                    for stream in self.streams if not self._stop.is_set() else ():
                        queries = [self._start(stream, None)]
                        self._await(queries)
                    break
                left = max(_LEAST, every - (time.monotonic() - begun))
                if self._stop.wait(left) or self._check_streams(queries):
                    break
        finally:
            self._end(queries)
        self._raise()
        return self.report()

    def stop(self) -> None:
        """Let `run` return once the version at hand is committed and published. Safe in a signal handler."""
        self._stop.set()

    def close(self) -> None:
        """Close the database, and stop Spark if it was started for this pipeline."""
        self.database.close()
        if self._started:
            stop_embedded(self._session)

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> None:
        for sink in self.sinks:
            self.database.subscribe(sink.name, sink.view, rows=sink.rows)

    def _poll(self, begun: float) -> None:
        """One version of all that the polled sources have."""
        with self._turn:
            batches: dict[str, tuple[str, Batch]] = {}
            for source in self.polled:
                if self._stop.is_set():
                    return
                batch = source.poll(self.session, self.database, self.database.marks.get(source.name))
                if batch is not None:
                    batches[source.name] = source.relation, batch
            if batches:
                self._apply(batches, begun)

    def _apply(self, batches: Mapping[str, tuple[str, Batch]], begun: float) -> None:
        import pyarrow as pa

        insert: dict[str, Any] = {}
        delete: dict[str, Any] = {}
        for relation, batch in batches.values():
            for into, table in ((insert, batch.insert), (delete, batch.delete)):
                if table is not None and table.num_rows:
                    into[relation] = pa.concat_tables([into[relation], table]) if relation in into else table
        marks = {name: batch.mark for name, (_, batch) in batches.items()}
        self._put_aside([batch for _, batch in batches.values()])
        with _named_sources(batches):
            self.database.apply(insert=insert, delete=delete, marks=marks)
        self._versions += 1
        for name, (_, batch) in batches.items():
            known = self._sources[name]
            self._sources[name] = known.with_batch(batch)
            self._notes = [*dict.fromkeys([*self._notes, *batch.notes])][-20:]
        self._publish(begun)

    def _put_aside(self, batches: Sequence[Batch]) -> None:
        """Write rows that are left out of the version that is about to be made."""
        files: dict[str, list[RefusedRow]] = {}
        for batch in batches:
            if batch.quarantine is not None and batch.refused:
                files.setdefault(batch.quarantine, []).extend(batch.refused)
        for path, rows in files.items():
            put_aside(Path(path), self.database.version + 1, rows)

    def _publication(self, sink: Sink, identity: str) -> Publication:
        acknowledge = partial(self.database.acknowledge, sink.name)
        return Publication(self.database, lambda: self.session, sink.view, identity, acknowledge)

    def _publish(self, begun: float) -> None:
        for sink in self.sinks:
            owed = self.database.owed(sink.name)
            typed = None not in self.database.info(sink.view).types  # else there never was a row to publish
            if owed and typed:
                identity = self.database.subscriptions[sink.name].identity
                with _writing(sink):
                    sink.publish(owed, self._publication(sink, identity))
                self.database.acknowledge(sink.name, owed[-1].version)
                versions, changes = self._published.get(sink.name, (0, 0))
                rows = sum(one.table.num_rows for one in owed if one.table is not None)
                self._published[sink.name] = versions + len(owed), changes + rows
        self._lag = time.monotonic() - begun
        if self._watch is not None:
            self._watch(self.report())

    # ------------------------------------------------------------------ streams

    def _start(self, stream: Stream, every: float | None) -> StreamingQuery:
        frame = stream.open(self.session, self.database)

        def take(batch: DataFrame, number: int) -> None:
            begun = time.monotonic()
            query = self.session.sparkContext.getLocalProperty("sql.streaming.queryId")
            with self._turn:
                if self._ending:
                    raise InterruptedError("the pipeline is stopping; this batch comes again")
                try:
                    found = stream.batch(batch, number, str(query), self.database)
                    if found is not None:
                        self._apply({stream.name: (stream.relation, found)}, begun)
                except BaseException as error:
                    self._failed = self._failed or error
                    raise

        writer = frame.writeStream.foreachBatch(take).queryName(f"headwater {stream.name}")
        writer = writer.option("checkpointLocation", stream.checkpoint_folder(self.database))
        trigger: dict[str, Any] = {"availableNow": True}
        if every is not None:
            trigger = {"processingTime": f"{max(0, round(every * 1000))} milliseconds"}
        with refusals(stream.name):
            return writer.trigger(**trigger).start()

    def _await(self, queries: Sequence[StreamingQuery]) -> None:
        """Wait until the queries have read all there is, or we are to stop."""
        from pyspark.errors import PySparkException

        while not self._stop.is_set() and any(query.isActive for query in queries):
            for query in queries:
                try:
                    query.awaitTermination(1)
                except PySparkException as error:  # says only in Java's words what we may know better
                    self._failed = self._failed or error
                self._raise()

    def _check_streams(self, queries: Sequence[StreamingQuery]) -> bool:
        """Whether a stream has ended, which it does only if it failed."""
        for query in queries:
            if not query.isActive:
                error = query.exception()
                if self._failed is None and error is not None:
                    self._failed = error
                return True
        return self._failed is not None

    def _end(self, queries: Sequence[StreamingQuery]) -> None:
        """Stop the streams, each between two batches: a version at hand is finished first."""
        with self._turn:
            self._ending = True
        for query in queries:
            query.stop()

    def _raise(self) -> None:
        failed, self._failed = self._failed, None
        if isinstance(failed, (HeadwaterError, KeyboardInterrupt)):
            raise failed
        if failed is not None:
            with refusals("stream"):
                raise failed

    # ------------------------------------------------------------------ reporting

    def report(self, *, look: bool = False) -> Report:
        """What the last run did, or this one so far, and where the pipeline stands.

        With `look`, sources are asked what is there and not read yet, as far as that can be told without Spark.
        """
        sources = dict(self._sources)
        for source in self.polled if look else ():
            known_source = sources[source.name]
            sources[source.name] = replace(known_source, behind=source.behind(known_source.mark))
        sinks = []
        known = self.database.subscriptions
        for sink in self.sinks:
            versions, changes = self._published.get(sink.name, (0, 0))
            there = known.get(sink.name)
            owed = len(self.database.owed(sink.name)) if there is not None else 0
            published = there.acknowledged if there is not None else 0
            sinks.append(SinkReport(sink.name, sink.view, versions, changes, published, owed))
        return Report(
            self.database.version,
            self._versions,
            self._lag,
            tuple(sources.values()),
            tuple(sinks),
            tuple(self._notes),
        )


def _parts(kind: str, given: Any, method: str) -> tuple[Any, ...]:
    """Sources or sinks, each with what the protocols `Source` and `Sink` ask for."""
    if not isinstance(given, (list, tuple)):
        raise PipelineError("wrong-type", f"{kind}s are {show(given)}", hint=f"a list of {kind}s")
    for part in given:
        whole = isinstance(part, Stream) or callable(getattr(part, method, None))
        if isinstance(part, type) or not whole or not isinstance(getattr(part, "name", None), str):
            raise PipelineError(
                "wrong-type", f"{show(part)} is not a {kind}", hint="one of those in headwater.pipeline"
            )
    return tuple(given)


@contextmanager
def _writing(sink: Sink) -> Iterator[None]:
    """What the file system refuses is an error about the sink. A callback's own errors are its caller's."""
    try:
        yield
    except OSError as error:
        if isinstance(sink, Callback):
            raise
        said = str(error).partition(" Detail:")[0].rstrip(".")
        hint = "what could not be published is owed, and published by the next run"
        raise PipelineError("cannot-write", f"{sink.name}: {said}", hint=hint) from error


@contextmanager
def _named_sources(batches: Mapping[str, tuple[str, Batch]]) -> Iterator[None]:
    """Errors about rows name the source that they came from."""
    try:
        yield
    except DataError as error:
        for name, (relation, _) in batches.items():
            if error.message.startswith(f"{relation}, row "):
                raise DataError(
                    error.code, f"{name}: {error.message}", place=error.place, hint=error.hint
                ) from None
        raise


def _stated(database: Database) -> set[str]:
    """The relations that the program itself states facts for."""
    programs = (parse(text, source) for text, source in database.texts)
    return {head.relation for p in programs for rule in p.rules if not rule.body for head in rule.heads}
