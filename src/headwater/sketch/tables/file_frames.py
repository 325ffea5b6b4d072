"""DataFrames over Parquet files that are named one by one.

Spark lists the files it is given, and from 33 on by a job of its own, though there is one status to ask for each.
Of files on this machine the driver asks itself, which takes a fraction of that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

LISTED_BY_A_JOB = "spark.sql.sources.parallelPartitionDiscovery.threshold"
"""Spark's setting: from how many paths on a job lists them."""
_listing = threading.Lock()


def frame_of_files(
    session: SparkSession, schema: pa.Schema, files: Sequence[str], root: str | None
) -> DataFrame:
    """The rows of files, in these columns: files never change, so Spark lists them once.

    `root`: where directories begin whose names have values of columns.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    if not files:
        return session.createDataFrame([], columns)
    reader = session.read.schema(columns)
    if root is not None:
        reader = reader.option("basePath", root)
    with _listed_by_the_driver(session, len(files), is_here="://" not in files[0]):
        return reader.parquet(*files)


@contextmanager
def _listed_by_the_driver(session: SparkSession, files: int, *, is_here: bool) -> Iterator[None]:
    """The session's own setting is back afterwards."""
    if not is_here:
        yield
        return
    with _listing:
        before = str(session.conf.get(LISTED_BY_A_JOB))
        if files <= int(before):
            yield
            return
        session.conf.set(LISTED_BY_A_JOB, str(files))
        try:
            yield
        finally:
            session.conf.set(LISTED_BY_A_JOB, before)
