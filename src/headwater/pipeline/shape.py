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


def fits(found: Any, type_: Type | None) -> bool:
    """Whether all values of a Spark type are values of ours, with nothing lost and nothing guessed."""
    from pyspark.sql import types as spark

    if type_ is None:
        return True
    if isinstance(found, spark.NullType):
        return True
    name = type_.name
    if name == "int":
        whole = isinstance(found, spark.DecimalType) and found.scale == 0 and found.precision <= 18
        return whole or isinstance(
            found, (spark.ByteType, spark.ShortType, spark.IntegerType, spark.LongType)
        )
    if name == "float":
        narrow = (spark.ByteType, spark.ShortType, spark.IntegerType)
        return isinstance(found, (spark.FloatType, spark.DoubleType, *narrow))
    if name == "decimal":
        return _fits_decimal(found, type_)
    if name in ("list", "map", "struct"):
        return _parts_fit(found, type_)
    return type(found).__name__ in _HELD.get(name.removesuffix("_ns"), ())


_HELD = {
    "string": ("StringType", "CharType", "VarcharType"),
    "binary": ("BinaryType",),
    "bool": ("BooleanType",),
    "date": ("DateType",),
    "time": ("TimeType",),
    "timestamp": ("TimestampType", "TimestampNTZType"),
    "timestamp_ntz": ("TimestampNTZType",),
    "interval": ("DayTimeIntervalType",),
    "interval_months": ("YearMonthIntervalType",),
}
"""The types of Spark whose values one of ours holds."""
_DIGITS = {"ByteType": 3, "ShortType": 5, "IntegerType": 10, "LongType": 19}


def _fits_decimal(found: Any, type: Type) -> bool:
    scale = getattr(found, "scale", 0)
    digits = _DIGITS.get(found.__class__.__name__) or getattr(found, "precision", None)
    whole = digits is not None and digits - scale <= type.precision - type.scale
    return whole and scale <= type.scale and not found.__class__.__name__.startswith("Time")


def _parts_fit(found: Any, type: Type) -> bool:
    from pyspark.sql import types as spark

    if isinstance(found, spark.ArrayType):
        return type.name == "list" and fits(found.elementType, type.element)
    if isinstance(found, spark.MapType):
        return type.name == "map" and all(map(fits, (found.keyType, found.valueType), type.parts))
    if isinstance(found, spark.StructType):
        same = type.name == "struct" and tuple(found.fieldNames()) == type.fields
        return same and all(
            fits(field.dataType, part) for field, part in zip(found.fields, type.parts, strict=True)
        )
    return False
