# ruff: noqa: E501  (a table: a row a line)
"""Every type of the systems that people have: what becomes of it, and as what it comes back.

The one list behind the tables of docs/types.md and the tests of them (`tests/docs/test_docs_types.py` compares).
A cell has a value (or several) of the type, given as its system gives it, and the values that Python sees.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headwater.values.nanosecond import NanosecondDatetime
from headwater.values.record import FrozenMap, Months, Struct

REFUSED = "refused"
UTC = dt.timezone.utc
DAY, CLOCK, HOUR = dt.date(2024, 2, 29), dt.time(10, 30, 0, 5), dt.timedelta(hours=1)
NOON = dt.datetime(2024, 2, 29, 12, 30, 0, 5)
INSTANT = NOON.replace(tzinfo=UTC)
NANOS = 1_709_209_800_000_005_001
NANO, NANO_UTC = NanosecondDatetime.at(NANOS), NanosecondDatetime.at(NANOS, UTC)
PRICE, WIDE = Decimal("12.50"), Decimal(10**37 + 1)
RECORD, MAP = Struct({"a": 1, "b": "x"}), FrozenMap({"k": 1})


@dataclass(frozen=True)
class Cell:
    """A type of a system, ours, and the one that comes back; `make` gives values, which are `values` here."""

    written: str
    ours: str
    back: str
    make: Callable[[], Any]
    values: tuple[Any, ...] = ()
    also: str = ""
    """What the table says beside our type."""

    @property
    def line(self) -> str:
        ours = REFUSED if self.ours == REFUSED else f"`{self.ours}`"
        back = f"`{self.back}`" if self.back else ""
        return f"| `{self.written}` | {ours}{f': {self.also}' if self.also else ''} | {back} |"


def refused(written: str, make: Callable[[], Any], why: str) -> Cell:
    return Cell(written, REFUSED, "", make, also=why)


# ------------------------------------------------------------------ Arrow


def arrow(
    type: pa.DataType, ours: str, back: str, given: list[Any], values: tuple[Any, ...], also: str = ""
) -> Cell:
    return Cell(str(type), ours, back, lambda: pa.array(given, type), values, also)


INTS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
LIST = "list<element: int64>"
ARROW = [
    Cell("null", "_", "null", lambda: pa.nulls(1), (None,), "a type that other rows tell"),
    arrow(pa.bool_(), "bool", "bool", [True, None], (True, None)),
    *(arrow(kind, "int", "int64", [7, None], (7, None)) for kind in INTS),
    *(arrow(kind, "float", "double", [1.5, None], (1.5, None)) for kind in (pa.float16(), pa.float32(), pa.float64())),
    arrow(pa.decimal32(7, 2), "decimal(7,2)", "decimal128(7, 2)", [PRICE], (PRICE,)),
    arrow(pa.decimal64(12, 2), "decimal(12,2)", "decimal128(12, 2)", [PRICE], (PRICE,)),
    arrow(pa.decimal128(12, 2), "decimal(12,2)", "decimal128(12, 2)", [PRICE, None], (PRICE, None)),
    arrow(pa.decimal128(38, 0), "decimal(38,0)", "decimal128(38, 0)", [WIDE, -WIDE], (WIDE, -WIDE)),
    arrow(pa.decimal128(5, -2), "decimal(7,0)", "decimal128(7, 0)", [Decimal(1200)], (Decimal(1200),)),
    arrow(pa.decimal256(20, 2), "decimal(20,2)", "decimal128(20, 2)", [PRICE], (PRICE,)),
    arrow(pa.decimal256(50, 2), "decimal(38,2)", "decimal128(38, 2)", [PRICE], (PRICE,), "values of more digits are refused"),
    *(arrow(kind, "string", "string", ["é", None], ("é", None)) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *(
        arrow(kind, "binary", "binary", [b"\0\xff"], (b"\0\xff",))
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2))
    ),
    arrow(pa.date32(), "date", "date32[day]", [DAY, None], (DAY, None)),
    arrow(pa.date64(), "date", "date32[day]", [DAY], (DAY,)),
    arrow(pa.time32("s"), "time", "time64[us]", [dt.time(10)], (dt.time(10),)),
    arrow(pa.time32("ms"), "time", "time64[us]", [dt.time(10)], (dt.time(10),)),
    arrow(pa.time64("us"), "time", "time64[us]", [CLOCK, None], (CLOCK, None)),
    arrow(pa.time64("ns"), "time", "time64[us]", [CLOCK], (CLOCK,), "a part below a microsecond is refused"),
    arrow(pa.timestamp("s"), "timestamp_ntz", "timestamp[us]", [0], (dt.datetime(1970, 1, 1),)),
    arrow(pa.timestamp("ms"), "timestamp_ntz", "timestamp[us]", [1], (dt.datetime(1970, 1, 1, 0, 0, 0, 1000),)),
    arrow(pa.timestamp("us"), "timestamp_ntz", "timestamp[us]", [NOON, None], (NOON, None)),
    arrow(pa.timestamp("ns"), "timestamp_ntz_ns", "timestamp[ns]", [NANOS, None], (NANO, None), "`timestamp_ntz` if all are whole microseconds"),
    arrow(pa.timestamp("us", "Europe/Paris"), "timestamp", "timestamp[us, tz=UTC]", [INSTANT, None], (INSTANT, None)),
    arrow(pa.timestamp("ns", "UTC"), "timestamp_ns", "timestamp[ns, tz=UTC]", [NANOS], (NANO_UTC,), "`timestamp` if all are whole microseconds"),
    *(arrow(pa.duration(unit), "interval", "duration[us]", [HOUR, None], (HOUR, None)) for unit in ("s", "ms", "us")),
    arrow(pa.duration("ns"), "interval", "duration[us]", [HOUR], (HOUR,), "a part below a microsecond is refused"),
    arrow(pa.month_day_nano_interval(), "interval_months", "month_day_nano_interval", [(14, 0, 0), None], (Months(14), None), "or `interval`, if there are no months; both in one are refused"),
    *(
        arrow(kind, "list[int]", LIST, [[1, None], None], ((1, None), None))
        for kind in (pa.list_(pa.int32()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 2), pa.list_view(pa.int64()), pa.large_list_view(pa.int64()))
    ),
    arrow(pa.list_(pa.list_(pa.timestamp("ns"))), "list[list[timestamp_ntz_ns]]", "list<element: list<element: timestamp[ns]>>", [[[NANOS], None]], (((NANO,), None),)),
    arrow(pa.struct([("a", pa.int64()), ("b", pa.string())]), "{a: int, b: string}", "struct<a: int64, b: string>", [dict(RECORD), {"a": None, "b": "y"}, None], (RECORD, Struct({"a": None, "b": "y"}), None)),
    arrow(pa.map_(pa.string(), pa.int64()), "map[string, int]", "map<string, int64>", [[("k", 1)], [], None], (MAP, FrozenMap({}), None)),
    Cell("dictionary<values=string, indices=int32, ordered=0>", "string", "string", lambda: pa.array(["a", None, "a"]).dictionary_encode(), ("a", None, "a"), "of any type: what its values are"),
    Cell("run_end_encoded<run_ends: int32, values: int64>", "int", "int64", lambda: pa.RunEndEncodedArray.from_arrays([2, 3], [7, None]), (7, 7, None), "of any type: what its values are"),
    Cell("extension<arrow.json>", "string", "string", lambda: pa.array(['{"a": 1}'], pa.json_()), ('{"a": 1}',), "an extension is what it is stored as"),
    Cell("extension<arrow.uuid>", "binary", "binary", lambda: pa.array([b"0" * 16], pa.uuid()), (b"0" * 16,)),
    refused("sparse_union<0: int64=0>", lambda: pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), "keep its parts in columns of their own"),
    refused("dense_union<0: int64=0>", lambda: pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])]), "keep its parts in columns of their own"),
    refused("extension<arrow.opaque[storage_type=null, type_name=t, vendor_name=v]>", lambda: pa.ExtensionArray.from_storage(pa.opaque(pa.null(), "t", "v"), pa.nulls(1)), "nobody but its maker knows it"),
]  # fmt: skip

# ------------------------------------------------------------------ pandas


def pandas_cell(
    written: str, ours: str, back: str, given: Callable[[Any], Any], values: tuple[Any, ...], also: str = ""
) -> Cell:
    def make() -> Any:
        import pandas

        return given(pandas)

    return Cell(written, ours, back, make, values, also)


def series(values: list[Any], dtype: Any) -> Callable[[Any], Any]:
    return lambda pandas: pandas.Series(values, dtype=dtype)


PANDAS = [
    *(pandas_cell(name, "int", "int64", series([7], name), (7,)) for name in ("int8", "int32", "int64", "uint32", "uint64")),
    *(pandas_cell(name, "int", "Int64", series([2**53 + 1, None], name), (2**53 + 1, None)) for name in ("Int64", "UInt64")),
    *(pandas_cell(name, "float", "float64", series([1.5], name), (1.5,)) for name in ("float32", "float64")),
    pandas_cell("Float64", "float", "Float64", series([1.5, None], "Float64"), (1.5, None)),
    pandas_cell("bool", "bool", "bool", series([True], "bool"), (True,)),
    pandas_cell("boolean", "bool", "boolean", series([True, None], "boolean"), (True, None)),
    pandas_cell("string", "string", "object", series(["é", None], "string"), ("é", None)),
    pandas_cell("category", "string", "object", series(["a", None], "category"), ("a", None), "of any type: what its values are"),
    pandas_cell("datetime64[ns]", "timestamp_ntz_ns", "datetime64[ns]", series([NANOS, None], "datetime64[ns]"), (NANO, None), "`timestamp_ntz` if all are whole microseconds"),
    pandas_cell("datetime64[us]", "timestamp_ntz", "datetime64[us]", series([NOON, None], "datetime64[us]"), (NOON, None)),
    pandas_cell("datetime64[us, UTC]", "timestamp", "datetime64[us, UTC]", series([INSTANT, None], "datetime64[us, UTC]"), (INSTANT, None), "in any time zone"),
    pandas_cell("timedelta64[ns]", "interval", "timedelta64[us]", series([HOUR, None], "timedelta64[ns]"), (HOUR, None), "a part below a microsecond is refused"),
    pandas_cell("int64[pyarrow]", "int", "Int64", series([7, None], "int64[pyarrow]"), (7, None)),
    pandas_cell("decimal128(12, 2)[pyarrow]", "decimal(12,2)", "object", lambda pandas: pandas.Series([PRICE, None], dtype=pandas.ArrowDtype(pa.decimal128(12, 2))), (PRICE, None), "every other Arrow type as in the table of Arrow"),
    pandas_cell("Sparse[int64, 0]", "int", "int64", series([0, 7], "Sparse[int64]"), (0, 7), "of any type: what its values are"),
    *(
        pandas_cell(f"object ({name})", ours, "object", series([value, None], object), (seen, None))
        for name, ours, value, seen in (
            ("str", "string", "é", "é"), ("bytes", "binary", b"x", b"x"), ("decimal.Decimal", "decimal(38,2)", PRICE, PRICE),
            ("datetime.date", "date", DAY, DAY), ("datetime.time", "time", CLOCK, CLOCK),
            ("list", "list[int]", [1, None], (1, None)), ("dict", "{a: int, b: string}", dict(RECORD), RECORD),
            ("FrozenMap", "map[string, int]", MAP, MAP), ("Months", "interval_months", Months(3), Months(3)),
        )
    ),
    Cell("period[D]", REFUSED, "", lambda: __import__("pandas").Series(["2024-01-01"], dtype="period[D]"), also="make it a timestamp: .dt.to_timestamp()"),
    Cell("interval[int64, right]", REFUSED, "", lambda: __import__("pandas").Series(__import__("pandas").interval_range(0, 1)), also="keep its ends in two columns"),
    Cell("complex128", REFUSED, "", lambda: __import__("pandas").Series([1j]), also="keep its parts in two columns"),
]  # fmt: skip

# ------------------------------------------------------------------ polars


def polars_cell(
    dtype: Callable[[Any], Any],
    ours: str,
    back: str,
    given: list[Any],
    values: tuple[Any, ...],
    also: str = "",
) -> Cell:
    import polars

    return Cell(
        str(dtype(polars)),
        ours,
        back,
        lambda: polars.Series("x", given, dtype=dtype(polars), strict=False),
        values,
        also,
    )


POLARS_INTS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
NAIVE, ZONED = "Datetime(time_unit='us', time_zone=None)", "Datetime(time_unit='us', time_zone='UTC')"
POLARS = [
    polars_cell(lambda pl: pl.Null, "_", "Null", [None], (None,), "a type that other rows tell"),
    polars_cell(lambda pl: pl.Boolean, "bool", "Boolean", [True, None], (True, None)),
    *(polars_cell(lambda pl, name=name: getattr(pl, name), "int", "Int64", [7, None], (7, None)) for name in POLARS_INTS),
    polars_cell(lambda pl: pl.Int128, "decimal(38,0)", "Decimal(precision=38, scale=0)", [10**37 + 1, None], (WIDE, None)),
    *(polars_cell(lambda pl, name=name: getattr(pl, name), "float", "Float64", [1.5, None], (1.5, None)) for name in ("Float32", "Float64")),
    polars_cell(lambda pl: pl.Decimal(12, 2), "decimal(12,2)", "Decimal(precision=12, scale=2)", [PRICE, None], (PRICE, None)),
    polars_cell(lambda pl: pl.String, "string", "String", ["é", None], ("é", None)),
    polars_cell(lambda pl: pl.Categorical(), "string", "String", ["a", None], ("a", None)),
    polars_cell(lambda pl: pl.Enum(["a"]), "string", "String", ["a", None], ("a", None)),
    polars_cell(lambda pl: pl.Binary, "binary", "Binary", [b"x", None], (b"x", None)),
    polars_cell(lambda pl: pl.Date, "date", "Date", [DAY, None], (DAY, None)),
    polars_cell(lambda pl: pl.Time, "time", "Time", [CLOCK, None], (CLOCK, None), "a part below a microsecond is refused"),
    polars_cell(lambda pl: pl.Datetime("ms"), "timestamp_ntz", NAIVE, [dt.datetime(2024, 1, 1)], (dt.datetime(2024, 1, 1),)),
    polars_cell(lambda pl: pl.Datetime("us"), "timestamp_ntz", NAIVE, [NOON, None], (NOON, None)),
    polars_cell(lambda pl: pl.Datetime("ns"), "timestamp_ntz_ns", "Datetime(time_unit='ns', time_zone=None)", [NANOS, None], (NANO, None), "`timestamp_ntz` if all are whole microseconds"),
    polars_cell(lambda pl: pl.Datetime("us", "UTC"), "timestamp", ZONED, [INSTANT, None], (INSTANT, None), "in any time zone"),
    polars_cell(lambda pl: pl.Duration("us"), "interval", "Duration(time_unit='us')", [HOUR, None], (HOUR, None)),
    polars_cell(lambda pl: pl.List(pl.Int64), "list[int]", "List(Int64)", [[1, None], None], ((1, None), None)),
    polars_cell(lambda pl: pl.Array(pl.Int64, 2), "list[int]", "List(Int64)", [[1, None], None], ((1, None), None)),
    polars_cell(lambda pl: pl.Struct({"a": pl.Int64, "b": pl.String}), "{a: int, b: string}", "Struct({'a': Int64, 'b': String})", [dict(RECORD)], (RECORD,)),
    Cell("Object", REFUSED, "", lambda: __import__("polars").Series("x", [object()]), also="only polars in this process knows it"),
]  # fmt: skip

# ------------------------------------------------------------------ SQL: DuckDB and Spark


def sql(written: str, ours: str, back: str, expression: str, *values: Any, also: str = "") -> Cell:
    return Cell(written, ours, back, lambda: expression, values, also)


def sql_refused(written: str, expression: str, why: str) -> Cell:
    return refused(written, lambda: expression, why)


DUCKDB = [
    sql('"NULL"', "_", '"NULL"', "NULL", None, also="a type that other rows tell"),
    sql("BOOLEAN", "bool", "BOOLEAN", "true", True),
    *(
        sql(name, "int", "BIGINT", f"7::{name}", 7)
        for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
    ),
    sql("HUGEINT", "decimal(38,0)", "DECIMAL(38,0)", f"{WIDE}::HUGEINT", WIDE, also="values of 39 digits are refused"),
    sql("UHUGEINT", "decimal(38,0)", "DECIMAL(38,0)", "7::UHUGEINT", Decimal(7), also="values of 39 digits are refused"),
    sql("FLOAT", "float", "DOUBLE", "1.5::FLOAT", 1.5),
    sql("DOUBLE", "float", "DOUBLE", "1.5::DOUBLE", 1.5),
    sql("DECIMAL(12,2)", "decimal(12,2)", "DECIMAL(12,2)", "12.50::DECIMAL(12,2)", PRICE),
    sql("VARCHAR", "string", "VARCHAR", "'é'", "é"),
    sql("ENUM('a', 'b')", "string", "VARCHAR", "'a'::ENUM('a', 'b')", "a"),
    sql("UUID", "string", "VARCHAR", "'0b87cf2b-4a50-4f2e-8a6b-3c1a2a4f5b6d'::UUID", "0b87cf2b-4a50-4f2e-8a6b-3c1a2a4f5b6d"),
    sql("JSON", "string", "VARCHAR", "'[1]'::JSON", "[1]"),
    sql("BLOB", "binary", "BLOB", "'x'::BLOB", b"x"),
    sql("BIT", "binary", "BLOB", "'101'::BIT", b"\x05\xfd", also="in DuckDB's own form"),
    sql("DATE", "date", "DATE", "DATE '2024-02-29'", DAY),
    sql("TIME", "time", "TIME", "TIME '10:30:00.000005'", CLOCK),
    sql("TIME WITH TIME ZONE", "time", "TIME", "'10:30:00.000005+00'::TIMETZ", CLOCK, also="DuckDB gives it without its zone"),
    sql("TIMESTAMP", "timestamp_ntz", "TIMESTAMP", "TIMESTAMP '2024-02-29 12:30:00.000005'", NOON),
    sql("TIMESTAMP_S", "timestamp_ntz", "TIMESTAMP", "'2024-02-29 12:30:00'::TIMESTAMP_S", NOON.replace(microsecond=0)),
    sql("TIMESTAMP_MS", "timestamp_ntz", "TIMESTAMP", "'2024-02-29 12:30:00'::TIMESTAMP_MS", NOON.replace(microsecond=0)),
    sql("TIMESTAMP_NS", "timestamp_ntz_ns", "TIMESTAMP_NS", "'2024-02-29 12:30:00.000005001'::TIMESTAMP_NS", NANO, also="`timestamp_ntz` if all are whole microseconds"),
    sql("TIMESTAMP WITH TIME ZONE", "timestamp", "TIMESTAMP WITH TIME ZONE", "'2024-02-29 12:30:00.000005Z'::TIMESTAMPTZ", INSTANT),
    sql("INTERVAL", "interval", "INTERVAL", "INTERVAL 1 HOUR", HOUR, also="or `interval_months`, if it has months; both in one are refused"),
    sql("INTEGER[]", "list[int]", "BIGINT[]", "[1, NULL]", (1, None)),
    sql("INTEGER[2]", "list[int]", "BIGINT[]", "array_value(1, 2)", (1, 2)),
    sql("STRUCT(a INTEGER, b VARCHAR)", "{a: int, b: string}", "STRUCT(a BIGINT, b VARCHAR)", "{'a': 1, 'b': 'x'}", RECORD),
    sql("MAP(VARCHAR, INTEGER)", "map[string, int]", "MAP(VARCHAR, BIGINT)", "MAP {'k': 1}", MAP),
    sql_refused("UNION(n INTEGER)", "union_value(n := 1)", "keep its parts in columns of their own"),
    sql_refused("BIGNUM", "1::BIGNUM", "cast it to HUGEINT or DECIMAL"),
]  # fmt: skip

SPARK = [
    sql("void", "_", "void", "NULL", None, also="a type that other rows tell"),
    sql("boolean", "bool", "boolean", "true", True),
    *(sql(name, "int", "bigint", f"cast(7 AS {name})", 7) for name in ("tinyint", "smallint", "int", "bigint")),
    sql("float", "float", "double", "cast(1.5 AS float)", 1.5),
    sql("double", "float", "double", "1.5D", 1.5),
    sql("decimal(12,2)", "decimal(12,2)", "decimal(12,2)", "cast(12.50 AS decimal(12,2))", PRICE),
    sql("decimal(38,0)", "decimal(38,0)", "decimal(38,0)", f"cast({WIDE} AS decimal(38,0))", WIDE),
    sql("string", "string", "string", "'é'", "é", also="`char` and `varchar` are strings to Spark, too"),
    sql("binary", "binary", "binary", "X'00FF'", b"\0\xff"),
    sql("date", "date", "date", "DATE'2024-02-29'", DAY),
    sql("time(6)", "time", "time(6)", "TIME'10:30:00.000005'", CLOCK),
    sql("timestamp", "timestamp", "timestamp", "TIMESTAMP'2024-02-29 12:30:00.000005Z'", INSTANT),
    sql("timestamp_ntz", "timestamp_ntz", "timestamp_ntz", "TIMESTAMP_NTZ'2024-02-29 12:30:00.000005'", NOON),
    sql("interval day to second", "interval", "interval day to second", "INTERVAL '0 01:00:00' DAY TO SECOND", HOUR),
    sql("interval day", "interval", "interval day to second", "INTERVAL '1' DAY", dt.timedelta(1)),
    sql("interval year to month", "interval_months", "interval year to month", "INTERVAL '1-2' YEAR TO MONTH", Months(14)),
    sql("array<int>", "list[int]", "array<bigint>", "array(1, NULL)", (1, None)),
    sql("struct<a:int,b:string>", "{a: int, b: string}", "struct<a:bigint,b:string>", "named_struct('a', 1, 'b', 'x')", RECORD),
    sql("map<string,int>", "map[string, int]", "map<string,bigint>", "map('k', 1)", MAP),
    sql_refused("interval", "make_interval(1, 2, 0, 3)", "make it an interval of days and seconds, or of years and months"),
    sql_refused("variant", "parse_json('1')", "make it a string: to_json(x)"),
    sql_refused("geometry(0)", "st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')", "make it binary: st_asbinary(x)"),
]  # fmt: skip

SYSTEMS = {"Arrow": ARROW, "pandas": PANDAS, "polars": POLARS, "DuckDB": DUCKDB, "Spark": SPARK}


def table(system: str) -> list[str]:
    """The lines of the table of a system in docs/types.md."""
    return [f"| {system} | here | comes back as |", "|---|---|---|", *(cell.line for cell in SYSTEMS[system])]
