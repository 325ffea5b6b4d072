"""From a pipeline's file to a pipeline that can run, or be looked at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headwater.calls import public
from headwater.database import Database
from headwater.errors import DataError, HeadwaterError
from headwater.language.datalog.preprocess import preprocess
from headwater.pipeline.fields import checked_text
from headwater.pipeline.kinds import SINKS, SOURCES
from headwater.pipeline.pipeline import Pipeline
from headwater.pipeline.settings import Part, Settings, read_settings
from headwater.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@public
def load(file: str | os.PathLike[str] | Settings, *, mode: Literal["w", "r"] = "w") -> Pipeline:
    """The pipeline of a file. Its database is opened (and closed by `Pipeline.close`); Spark starts when needed."""
    settings = file if isinstance(file, Settings) else read_settings(Path(checked_text("file", file)))
    sources = [part.make(SOURCES) for part in settings.sources]
    sinks = [part.make(SINKS) for part in settings.sinks]

    def session() -> SparkSession:
        return spark_session(settings.master, conf=settings.conf, log_level=settings.log_level)

    where: dict[str, Any] = {}
    if settings.run != "local" and mode == "w":
        where = {"run": settings.run, "nodes": settings.nodes, "spark": session()}
    database = Database(settings.state, mode=mode, memory=settings.memory, **where)
    try:
        _define(database, settings)
        for part in (*settings.sources, *settings.sinks):
            _known(database, part)
        return Pipeline(
            database,
            sources,
            sinks,
            spark=session,
        )
    except BaseException:
        database.close()
        raise


def _define(database: Database, settings: Settings) -> None:
    """Give a new state the program; an old one must have it already."""
    text = preprocess(
        settings.program.read_text(encoding="utf-8"), str(settings.program), folder=settings.program.parent
    )
    if database.version == 0 and database.options.mode == "w":
        database.define(text, source=str(settings.program))
    elif all(known != text for known, _ in database.texts):
        raise DataError(
            "other-program",
            f"{settings.state} holds another program than {settings.program}",
            hint=f"add rules with `headwater define -s {settings.state}`, or give a new folder",
        )


def _known(database: Database, part: Part) -> None:
    """Refuse a relation that is not there, at its place in the file."""
    try:
        database.info(part.values.get("relation") or part.values["view"])
    except HeadwaterError as error:
        raise type(error)(error.code, error.message, place=part.place, hint=error.hint) from None
