"""Rows of a source that cannot be taken: without a value where the relation needs one, or of another type.

Which rows these are is asked of Spark, with their numbers, only once it is known that there are any: a source without
such rows costs nothing more. Rows are counted from 1 in the order in which Spark reads them, which for one file is
that of the file, without its header.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwater.errors import PipelineError
from headwater.files.missing import (
    OnNull,
    RefusedRow,
    complete,
    first_missing,
    incomplete,
    required_columns,
)
from headwater.pipeline.projection import ROW, Projection
from headwater.pipeline.refusals import refusals
from headwater.pipeline.source import Batch
from headwater.rules.checked import RelationInfo
from headwater.spark.frames import arrow_of, quoted, spark_type
from headwater.values.scalars import show
from headwater.values.sources import keeping_nulls

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader
    from pyspark.sql.types import StructType

_BROKEN = "_headwater_broken"
"""The column in which Spark puts a record that it cannot read."""
Choice = Callable[["DataFrame"], "DataFrame"]
_IN_PARTITION = 33
"""Bits of `monotonically_increasing_id` that count rows in a partition; those above number the partition."""


def numbered(frame: DataFrame) -> DataFrame:
    """With an id for each row, from which `_numbers` tells its number."""
    from pyspark.sql import functions as F

    return frame.withColumn(ROW, F.monotonically_increasing_id())


def _numbers(ids: Sequence[int], rows: DataFrame) -> list[int]:
    """The numbers of rows, from 1; partitions are counted only where there are several."""
    from pyspark.sql import functions as F

    before: dict[int, int] = {0: 0}
    if any(each >> _IN_PARTITION for each in ids):
        counted = rows.groupBy(F.spark_partition_id().alias("part")).count().collect()
        sizes = {row["part"]: row["count"] for row in counted}
        for part in range(max(each >> _IN_PARTITION for each in ids)):
            before[part + 1] = before[part] + sizes.get(part, 0)
    return [before[each >> _IN_PARTITION] + (each & ((1 << _IN_PARTITION) - 1)) + 1 for each in ids]


def sift(
    batch: Batch, source: str, info: RelationInfo, way: OnNull, frame: DataFrame, choose: Choice
) -> Batch:
    """The batch without rows that lack a value, which it names; refuses them if the source is to fail.

    `choose` takes the rows of the source, `numbered`, to the relation's columns of those that may come.
    """
    required = required_columns(info)
    if batch.insert is None or incomplete(batch.insert, required) is None:
        return batch
    if way.how == "keep":
        return replace(batch, insert=keeping_nulls(batch.insert))
    rows = numbered(frame)
    lacking = " OR ".join(f"{quoted(name)} IS NULL" for name in required)
    found = choose(rows).where(lacking).select(*map(quoted, (*info.columns, ROW))).orderBy(ROW)
    with refusals(source):
        table = arrow_of(found.limit(1) if way.how == "fail" else found)
        numbers = _numbers(table.column(ROW).to_pylist(), rows)
    values = table.drop_columns([ROW]).to_pylist()
    refused = tuple(
        RefusedRow(source, info.name, number, first_missing(row, required), row)
        for number, row in zip(numbers, values, strict=True)
    )
    if way.how == "fail":
        raise refused[0].error(
            'on_null = "drop" leaves such rows out, a path puts them aside, "keep" takes them'
        )
    delete = None if batch.delete is None else complete(batch.delete, required)
    insert = complete(batch.insert, required)
    return replace(batch, insert=insert, delete=delete, refused=refused, quarantine=way.path)


def told_once(batch: Batch, before: Mapping[str, Any]) -> Batch:
    """A snapshot's batch whose refused rows are named only if they are others than at the last reading."""
    if not batch.refused:
        return batch
    said = json.dumps([row.to_json() for row in batch.refused], default=str)
    digest = hashlib.sha256(said.encode()).hexdigest()
    refused = () if before.get("refused") == digest else batch.refused
    return replace(batch, mark={**batch.mark, "refused": digest}, refused=refused)


def malformed_row(
    reader: DataFrameReader, schema: StructType, path: str, error: PipelineError, source: str
) -> PipelineError:
    """The error about a record that could not be read, with the first such row, if it is found again."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StringType, StructType

    asked = StructType([*schema.fields]).add(_BROKEN, StringType())
    lenient = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", _BROKEN)
    rows = numbered(lenient.schema(asked).load(path))
    try:
        # With all columns: Spark parses those it is asked for, and takes a record for whole by these.
        first = rows.where(f"{_BROKEN} IS NOT NULL").orderBy(ROW).limit(1).collect()
        if not first:
            return error
        number = _numbers([first[0][ROW]], rows)[0]
    except PySparkException:
        return error
    what = f"{source}, row {number}: {show(first[0][_BROKEN])} is no row with {', '.join(schema.names)}"
    return PipelineError(error.code, what, hint=error.hint)


@contextmanager
def blamed_casts(frame: DataFrame, info: RelationInfo, source: str, projection: Projection) -> Iterator[None]:
    """As `refusals`; a text that is no value of its column's type is named with its row."""
    try:
        with refusals(source):
            yield
    except PipelineError as error:
        found = None
        if error.code == "bad-value" and (projection.text or projection.columns):
            found = _bad_cast(numbered(frame), info, source, projection, error)
        raise found or error from error.__cause__


def _bad_cast(
    rows: DataFrame, info: RelationInfo, source: str, projection: Projection, said: PipelineError
) -> PipelineError | None:
    """The first text that is no value of its column's type, if there is one to be found.

    Where an expression of the user's fails by itself, only its column can be told.
    """
    from pyspark.errors import PySparkException

    texts = projection.texts(rows, info, source)
    for column, type in zip(info.columns, info.types, strict=True):
        name = quoted(column)
        if not projection.text and column not in projection.columns:
            continue
        wrong = f"{name} IS NOT NULL AND try_cast({name} AS {spark_type(type)}) IS NULL"
        try:
            found = texts.where(wrong).orderBy(ROW).limit(1).select(ROW, name).collect()
            if found:
                number = _numbers([found[0][0]], rows)[0]
                return PipelineError(
                    "bad-value",
                    f"{source}, row {number}, column {column}: {show(found[0][1])} is no {type}",
                    hint="leave such rows out with where, or say what they are: "
                    f"columns = {{ {column} = 'try_cast(...)' }}",
                )
        except PySparkException:
            what = said.message.removeprefix(f"{source}: ")
            return PipelineError("bad-value", f"{source}, column {column}: {what}", hint=said.hint)
    return None
