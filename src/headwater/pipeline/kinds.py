"""The kinds of sources and sinks a pipeline file can name: the keys of each, and how to make one.

A kind is data: which keys it needs, which it may have, and a function from their values. Adding a kind is adding an
entry here and a row to the tables in docs/pipeline.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from headwater.errors import PipelineError
from headwater.pipeline.callback import Callback
from headwater.pipeline.delta import delta_table
from headwater.pipeline.delta_sink import DeltaSink
from headwater.pipeline.feed import Feed, Reading, complete_version, feed_folder, feed_stream, table_changes
from headwater.pipeline.file_source import Files
from headwater.pipeline.folders import FeedFolder, RowsFolder
from headwater.pipeline.history import History
from headwater.pipeline.iceberg import Iceberg
from headwater.pipeline.snapshot import Snapshot, Table
from headwater.pipeline.sql_sink import SqlSink
from headwater.pipeline.sql_tables import Jdbc, SqlAlchemy
from headwater.pipeline.stream import Stream
from headwater.pipeline.table_sink import TableSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TYPES: Mapping[str, type] = {
    "relation": str, "view": str, "kind": str, "name": str, "path": str, "table": str, "query": str, "url": str,
    "format": str, "schema": str, "where": str, "mode": str, "checkpoint": str, "call": str,
    "columns": dict, "options": dict, "on_null": str, "nan": str, "header": bool,
}  # fmt: skip
"""The type of each key, wherever it is used. The values in `columns` and `options` are strings."""
PATHS = ("path", "checkpoint")
"""Keys whose values are relative to the pipeline's file."""

Values = Mapping[str, Any]


@dataclass(frozen=True)
class EndpointKind:
    """What a kind needs besides `relation` (or `view`) and `kind`; what it may have besides `name`."""

    make: Callable[[Values], Any]
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()


CHOICE = ("columns", "where", "on_null", "nan")
"""What every source may say of its rows."""


def _common(values: Values) -> dict[str, Any]:
    return {key: values[key] for key in ("relation", "name", *CHOICE) if key in values}


def _files(format: str) -> EndpointKind:
    def make(values: Values) -> Files:
        own = {key: values[key] for key in ("options", "header") if key in values}
        return Files(path=values["path"], format=format, **own, **_common(values))

    return EndpointKind(make, ("path",), (*CHOICE, "options", *(("header",) if format == "csv" else ())))


def _query(values: Values) -> Snapshot:
    text = values["query"]

    def frame(session: SparkSession) -> DataFrame:
        return session.sql(text)

    return Snapshot(frame=frame, **_common(values))


def _header(values: Values) -> dict[str, str]:
    """Spark's option for what `header` says; only CSV files have one."""
    if values.get("format") != "csv":
        if "header" in values:
            raise PipelineError("bad-source", "only CSV files have a header", hint="leave header out")
        return {}
    return {"header": str(values.get("header", True)).lower()}


def _feed(values: Values) -> Feed:
    path, format, options = values["path"], values.get("format"), values.get("options", {})
    common = {"name": f"feed:{path}", **_common(values)}
    header = _header(values)
    if format is None:
        return Feed(frame=feed_folder(path), newest=partial(complete_version, path), **common)

    def frame(session: SparkSession, last: int | None) -> DataFrame:
        text = {**header, "inferSchema": "true"} if format == "csv" else {}
        return session.read.format(format).options(**{**text, **options}).load(path)

    reading: Reading = frame
    return Feed(frame=reading, **common)


def _stream(values: Values) -> Stream:
    path, format = values["path"], values.get("format")
    common = {"name": f"stream:{path}", **_common(values)}
    header = _header(values)
    if (format is None) != ("schema" not in values):
        raise PipelineError(
            "missing-key",
            f"a stream of {path} has {'a schema and no format' if format is None else 'a format and no schema'}",
            hint="give both: format = 'csv', schema = 'src string, dst string'; or none, for a feed of Headwater's",
        )

    def frame(session: SparkSession) -> DataFrame:
        if format is None:
            return feed_stream(session, path)
        reader = session.readStream.format(format).schema(values["schema"])
        return reader.options(**{**header, **values.get("options", {})}).load(path)

    return Stream(frame=frame, checkpoint=values.get("checkpoint"), **common)


def _jdbc(values: Values) -> Jdbc:
    options = values.get("options", {})
    return Jdbc(url=values["url"], table=values["table"], options=options, **_common(values))


def _sqlalchemy(values: Values) -> SqlAlchemy:
    table, query = values.get("table"), values.get("query")
    return SqlAlchemy(url=values["url"], table=table, query=query, **_common(values))


def _history(values: Values) -> History:
    table = delta_table(values["path"]) if values["kind"] == "delta" else Iceberg(values["table"])
    return History(table=table, **_common(values))


SOURCES: Mapping[str, EndpointKind] = {
    "csv": _files("csv"),
    "parquet": _files("parquet"),
    "json": _files("json"),
    "orc": _files("orc"),
    "table": EndpointKind(lambda v: Table(table=v["table"], **_common(v)), ("table",), CHOICE),
    "query": EndpointKind(_query, ("query",), CHOICE),
    "feed": EndpointKind(_feed, ("path",), (*CHOICE, "format", "header", "options")),
    "changes": EndpointKind(
        lambda v: Feed(frame=table_changes(v["table"]), **{"name": f"changes:{v['table']}", **_common(v)}),
        ("table",),
        CHOICE,
    ),
    "delta": EndpointKind(_history, ("path",), CHOICE),
    "iceberg": EndpointKind(_history, ("table",), CHOICE),
    "stream": EndpointKind(
        _stream, ("path",), (*CHOICE, "format", "schema", "header", "options", "checkpoint")
    ),
    "jdbc": EndpointKind(_jdbc, ("url", "table"), (*CHOICE, "options")),
    "sqlalchemy": EndpointKind(_sqlalchemy, ("url",), (*CHOICE, "table", "query")),
}


def _python(values: Values) -> Callback:
    module, _, name = values["call"].partition(":")
    try:
        call = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise PipelineError(
            "bad-sink",
            f"there is no function {values['call']!r}: {error}",
            hint="call = 'module:function', of a module that Python can import",
        ) from None
    return Callback(values["view"], call, values.get("name") or f"python:{values['call']}")


def _with_mode(make: Any, place: str) -> Callable[[Values], Any]:
    def sink(values: Values) -> Any:
        keys = {key: values[key] for key in ("view", "name", "mode", place) if key in values}
        return make(**keys)

    return sink


SINKS: Mapping[str, EndpointKind] = {
    "feed": EndpointKind(_with_mode(FeedFolder, "path"), ("path",)),
    "rows": EndpointKind(_with_mode(RowsFolder, "path"), ("path",)),
    "delta": EndpointKind(_with_mode(DeltaSink, "path"), ("path",), ("mode",)),
    "table": EndpointKind(_with_mode(TableSink, "table"), ("table",), ("mode",)),
    "sql": EndpointKind(
        lambda v: SqlSink(v["view"], v["url"], v["table"], v.get("name", "")), ("url", "table")
    ),
    "python": EndpointKind(_python, ("call",)),
}
