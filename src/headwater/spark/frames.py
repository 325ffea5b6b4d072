"""Arrow tables and our types as Spark sees them, both ways.

An instant is a `timestamp`, a time without a zone a `timestamp_ntz`, whatever zone the session is in. Numbers of
months have no form that Arrow and Spark share: they cross as ints.

>>> from headwater.values.types import INT, STRING, list_of, parse_type
>>> ddl(("src", "path"), (STRING, list_of(INT)))
'`src` string, `path` array<bigint>'
>>> spark_type(parse_type("{a: decimal(12,2), b: map[string, timestamp]}"))
'struct<`a`: decimal(12,2), `b`: map<string, timestamp>>'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headwater.errors import DataError
from headwater.values.types import Type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_SPARK = {
    "int": "bigint",
    "float": "double",
    "string": "string",
    "binary": "binary",
    "bool": "boolean",
    "date": "date",
    "time": "time(6)",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "interval": "interval day to second",
    "interval_months": "interval year to month",
}
TIMES = "spark.sql.timeType.enabled"
"""The option of Spark that lets columns have times of day."""
_UNHELD = {
    "VariantType": "make it a string: to_json(x)",
    "GeometryType": "make it binary: st_asbinary(x)",
    "GeographyType": "make it binary: st_asbinary(x)",
    "CalendarIntervalType": "make it an interval of days and seconds, or of years and months",
}
"""Types of Spark that no column holds, and what to do."""


def frame_of(session: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    months = [field.name for field in table.schema if field.type == pa.month_day_nano_interval()]
    for field in table.schema:
        _check_held_by_spark(field.name, field.type, months)
    for name in months:
        place = table.schema.get_field_index(name)
        counts = [None if each is None else each.months for each in table.column(name).to_pylist()]
        table = table.set_column(place, name, pa.array(counts, pa.int32()))
    if any(pa.types.is_time(field.type) for field in table.schema):
        _check_times(session)
    frame = session.createDataFrame(table, schema=from_arrow_schema(table.schema, prefer_timestamp_ntz=True))
    if not months:
        return frame
    columns = [
        f"make_ym_interval(0, {quoted(name)}) AS {quoted(name)}" if name in months else quoted(name)
        for name in table.column_names
    ]
    return frame.selectExpr(*columns)


def _check_times(session: SparkSession) -> None:
    if session.conf.get(TIMES, "true") == "false":
        raise DataError(
            "unsupported-type", "the Spark session has no times of day", hint=f'set {TIMES} to "true" in it'
        )


def _check_held_by_spark(column: str, type: Any, months: Sequence[str]) -> None:
    import pyarrow as pa

    if pa.types.is_timestamp(type) and type.unit == "ns":
        raise DataError(
            "unsupported-type",
            f"column {column}: Spark has no times with nanoseconds",
            hint="round it in a rule: timestamp(X) or timestamp_ntz(X)",
        )
    if type == pa.month_day_nano_interval() and column not in months:
        raise DataError(
            "unsupported-type",
            f"column {column}: Arrow and Spark share no form of months in lists and records",
            hint="put them in a column of their own",
        )
    for number in range(type.num_fields):
        _check_held_by_spark(column, type.field(number).type, ())


def arrow_of(frame: DataFrame) -> pa.Table:
    """The rows of a DataFrame; refuses columns of types that no relation holds."""
    import pyarrow as pa
    from pyspark.sql.types import YearMonthIntervalType

    months = [
        field.name for field in frame.schema.fields if isinstance(field.dataType, YearMonthIntervalType)
    ]
    for field in frame.schema.fields:
        if field.name not in months:
            _check_held_here(field.name, field.dataType)
    if months:
        columns = [
            f"extract(YEAR FROM {name}) * 12 + extract(MONTH FROM {name}) AS {name}" if held else name
            for name, held in ((quoted(column), column in months) for column in frame.columns)
        ]
        frame = frame.selectExpr(*columns)
    table = _with_nullable_parts(frame).toArrow()
    for name in months:
        counts = table.column(name).to_pylist()
        made = [None if count is None else (count, 0, 0) for count in counts]
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, pa.array(made, pa.month_day_nano_interval()))
    return table


def _with_nullable_parts(frame: DataFrame) -> DataFrame:
    """The rows, in types whose parts may be null: Spark cannot give null records of other parts to Arrow."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, MapType, StructType

    if not any(isinstance(field.dataType, (StructType, ArrayType, MapType)) for field in frame.schema.fields):
        return frame
    columns = [(quoted(field.name), field) for field in frame.schema.fields]
    return frame.select(
        *[F.col(name).cast(_nullable(field.dataType)).alias(field.name) for name, field in columns]
    )


def _nullable(type: Any) -> Any:
    from pyspark.sql import types as spark

    if isinstance(type, spark.ArrayType):
        return spark.ArrayType(_nullable(type.elementType), True)
    if isinstance(type, spark.MapType):
        return spark.MapType(_nullable(type.keyType), _nullable(type.valueType), True)
    if isinstance(type, spark.StructType):
        return spark.StructType(
            [spark.StructField(field.name, _nullable(field.dataType), True) for field in type.fields]
        )
    return type


def _check_held_here(column: str, type: Any) -> None:
    from pyspark.sql import types as spark

    kind = type.__class__.__name__
    hint = _UNHELD.get(kind)
    if isinstance(type, spark.YearMonthIntervalType):
        hint = "put it in a column of its own"
    if isinstance(type, spark.UserDefinedType):
        hint = "select the fields of its storage type"
    if hint is not None:
        message = f"column {column}: a relation has no column of Spark's type {type.simpleString()}"
        raise DataError("unsupported-type", message, hint=hint)
    if isinstance(type, spark.ArrayType):
        _check_held_here(column, type.elementType)
    if isinstance(type, spark.MapType):
        _check_held_here(column, type.keyType)
        _check_held_here(column, type.valueType)
    if isinstance(type, spark.StructType):
        for field in type.fields:
            _check_held_here(column, field.dataType)


def spark_type(type: Type | None) -> str:
    """The Spark SQL type of a column; `void` where nothing tells the type."""
    if type is None:
        return "void"
    if type.name == "list":
        return f"array<{spark_type(type.element)}>"
    if type.name == "map":
        return f"map<{', '.join(map(spark_type, type.parts))}>"
    if type.name == "struct":
        fields = zip(type.fields, type.parts, strict=True)
        return f"struct<{', '.join(f'{quoted(name)}: {spark_type(part)}' for name, part in fields)}>"
    if type.name == "decimal":
        return str(type)
    return _SPARK[type.name.removesuffix("_ns")]


def quoted(name: str) -> str:
    """A column's name for Spark SQL.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def ddl(columns: Sequence[str], types: Sequence[Type | None]) -> str:
    """Columns and types as Spark writes schemas."""
    return ", ".join(f"{quoted(c)} {spark_type(t)}" for c, t in zip(columns, types, strict=True))
