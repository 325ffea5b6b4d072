"""The one shape of changes, and which Spark types hold what ours hold.

A change is a row with `_change_type` (insert, delete, update_preimage, update_postimage), `_commit_version` and
`_commit_timestamp`. Headwater's views are published in this shape and its sources are read in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headwater.spark.frames import quoted
from headwater.values.types import Type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"
SHAPE = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)
COMES = ("insert", "update_postimage", "update_after")
GOES = ("delete", "update_preimage", "update_before")
"""What a row's change means; the last of each is Iceberg's word. Upper and lower case are the same."""


def comes(kind: str = CHANGE_TYPE) -> Column:
    """Whether a change puts its row there; what is no kind of change fails when it is met."""
    from pyspark.sql import functions as F

    given = F.lower(F.col(kind))
    wrong = F.raise_error(F.concat(F.lit("change-type:"), F.coalesce(F.col(kind), F.lit("null"))))
    return F.when(given.isin(*COMES), True).when(given.isin(*GOES), False).otherwise(wrong.cast("boolean"))


def net(changes: DataFrame, columns: Sequence[str]) -> DataFrame:
    """What is left of many changes: each distinct row once, with `_comes` and the version of its last change.

    Versions come in their order; in one version, what goes is before what comes. Without `_commit_version`
    all changes count as one version.
    """
    from pyspark.sql import functions as F

    versioned = COMMIT_VERSION in changes.columns
    version = F.col(COMMIT_VERSION).cast("bigint") if versioned else F.lit(0).cast("bigint")
    last = F.max(F.struct(version.alias("version"), comes().alias("comes"))).alias("_last")
    rows = changes.groupBy(*[F.col(quoted(column)) for column in columns]).agg(last)
    kept = [F.col(quoted(column)) for column in columns]
    return rows.select(*kept, F.col("_last.comes").alias("_comes"), F.col("_last.version").alias("_version"))


def fits(found: Any, type: Type | None) -> bool:
    """Whether all values of a Spark type are values of ours, with nothing lost and nothing guessed."""
    from pyspark.sql import types as spark

    if type is None:
        return True
    if isinstance(found, spark.NullType):
        return True
    name = type.name
    if name == "int":
        whole = isinstance(found, spark.DecimalType) and found.scale == 0 and found.precision <= 18
        return whole or isinstance(
            found, (spark.ByteType, spark.ShortType, spark.IntegerType, spark.LongType)
        )
    if name == "float":
        narrow = (spark.ByteType, spark.ShortType, spark.IntegerType)
        return isinstance(found, (spark.FloatType, spark.DoubleType, *narrow))
    if name == "string":
        return isinstance(found, (spark.StringType, spark.CharType, spark.VarcharType))
    if name == "bool":
        return isinstance(found, spark.BooleanType)
    if name == "date":
        return isinstance(found, spark.DateType)
    if name == "timestamp":
        return isinstance(found, (spark.TimestampType, spark.TimestampNTZType))
    return isinstance(found, spark.ArrayType) and fits(found.elementType, type.element)
