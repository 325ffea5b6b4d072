"""Rows from Arrow, pandas, polars and numpy."""

from __future__ import annotations

import datetime as dt
import decimal
import random

import numpy as np
import pytest

import headwater as hw
from headwater.errors import DataError
from headwater.values.arrow import arrow_type, type_from_arrow
from headwater.values.arrow_values import arrow_values
from headwater.values.codec import Codec, infer_types
from headwater.values.data_frames import to_pandas
from headwater.values.record import Months, Struct
from headwater.values.sources import (
    FEWEST_COLUMNS_FLATTENED,
    FEWEST_ROWS_IN_COLUMNS,
    ROWS_FLATTENED,
    in_columns,
)
from headwater.values.types import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    INTERVAL_MONTHS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    list_of,
    parse_type,
)
from headwater.values.value_column import classes_of

pa = pytest.importorskip("pyarrow")

DAY, NOON = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12)
ROWS = [("a", 1, 0.5, True, DAY, NOON, ("x",)), ("b", 2, 1.5, False, DAY, NOON, ())]
TYPES = (STRING, INT, FLOAT, BOOL, DATE, TIMESTAMP_NTZ, list_of(STRING))
COLUMNS = ("name", "count", "weight", "open", "day", "at", "tags")


def rows_of(data, types, columns) -> list[tuple]:
    codec = Codec()
    return codec.decode_rows(codec.to_matrix(data, types, "r", columns), types)


def table() -> pa.Table:
    return pa.table({c: [row[i] for row in ROWS] for i, c in enumerate(COLUMNS)})


# ------------------------------------------------------------------ forms


def test_arrow_in_all_its_forms():
    one = table()
    assert rows_of(one, TYPES, COLUMNS) == ROWS
    assert rows_of(one.to_batches()[0], TYPES, COLUMNS) == ROWS
    assert rows_of(one.to_reader(max_chunksize=1), TYPES, COLUMNS) == ROWS
    assert rows_of(pa.concat_tables([one, one]), TYPES, COLUMNS) == ROWS * 2
    assert rows_of(one.slice(1), TYPES, COLUMNS) == ROWS[1:]
    assert rows_of(one.slice(0, 0), TYPES, COLUMNS) == []


def test_columns_go_by_name_or_else_by_position():
    mixed = pa.table({"dst": ["b"], "src": ["a"]})
    assert rows_of(mixed, (STRING, STRING), ("src", "dst")) == [("a", "b")]
    assert rows_of(mixed, (STRING, STRING), ("x", "y")) == [("b", "a")]
    assert rows_of([{"dst": "b", "src": "a"}, ("c", "d")], (STRING, STRING), ("src", "dst")) == [
        ("a", "b"),
        ("c", "d"),
    ]


def test_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({c: [row[i] for row in ROWS] for i, c in enumerate(COLUMNS)})
    assert rows_of(frame, TYPES, COLUMNS) == ROWS
    assert rows_of(frame[list(reversed(COLUMNS))], TYPES, COLUMNS) == ROWS
    assert infer_types(frame) == (TYPES, COLUMNS)
    assert rows_of(frame.astype({"name": "category", "count": "Int64"}), TYPES, COLUMNS) == ROWS
    nan = pandas.DataFrame({"x": [float("nan")]})
    assert Codec().to_matrix(nan, (FLOAT,), "r", ("x",)).tolist() == [[0x7FF8000000000000]]
    for missing in (
        pandas.DataFrame({"x": ["a", None]}),
        pandas.DataFrame({"x": ["a", None]}, dtype=object),
        pandas.DataFrame({"x": pandas.array([1, None], dtype="Int64")}),
        pandas.DataFrame({"x": pandas.to_datetime(["2024-01-01", None])}),
    ):
        types = infer_types(missing[:1])[0]
        with pytest.raises(DataError, match="r, row 2, column x: there is no value") as caught:
            Codec().to_matrix(missing, types, "r", ("x",))
        assert caught.value.code == "null-value"


def test_months_that_are_all_zero_come_back_from_pandas():
    pytest.importorskip("pandas")
    type = parse_type("{m: interval_months, l: list[interval_months]}")
    rows = [(Months(0), Struct({"m": Months(0), "l": (Months(0), None)})), (None, None)]
    types = (INTERVAL_MONTHS, type)
    columns = [
        pa.array(arrow_values(column, kind), arrow_type(kind))
        for column, kind in zip(zip(*rows, strict=True), types, strict=True)
    ]
    frame = to_pandas(pa.table(columns, names=["x", "y"]))
    assert list(frame["x"]) == [Months(0), None] and frame["y"][0] == {"m": Months(0), "l": [Months(0), None]}


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({c: [row[i] for row in ROWS] for i, c in enumerate(COLUMNS)})
    assert rows_of(frame, TYPES, COLUMNS) == ROWS
    assert rows_of(frame.lazy(), TYPES, COLUMNS) == ROWS
    assert infer_types(frame) == (TYPES, COLUMNS)
    categories = frame.with_columns(polars.col("name").cast(polars.Categorical))
    assert rows_of(categories, TYPES, COLUMNS) == ROWS


@pytest.mark.parametrize(
    "array, types, expected",
    [
        (np.array([[1, 2]], dtype=np.int16), (INT, INT), [(1, 2)]),
        (np.array([[1, 2]], dtype=np.uint64), (INT, FLOAT), [(1, 2.0)]),
        (np.array([[-5]]), (FLOAT,), [(-5.0,)]),
        (np.array([[2**60]]), (FLOAT,), [(2.0**60,)]),
        (np.array([[0.5]], dtype=np.float32), (FLOAT,), [(0.5,)]),
        (np.array([[True]]), (BOOL,), [(True,)]),
        (np.array([["a", "b"]]), (STRING, STRING), [("a", "b")]),
        (np.array([["a", 1]], dtype=object), (STRING, INT), [("a", 1)]),
        (np.array([["2024-02-29"]], dtype="datetime64[D]"), (DATE,), [(DAY,)]),
        (np.array([["2024-02-29T12"]], dtype="datetime64[ns]"), (TIMESTAMP_NTZ,), [(NOON,)]),
        (np.empty((0, 2)), (INT, STRING), []),
    ],
)
def test_numpy(array, types, expected):
    assert rows_of(array, types, tuple("ab"[: len(types)])) == expected
    assert rows_of(np.asfortranarray(array), types, tuple("ab"[: len(types)])) == expected


def test_iterables_of_rows():
    columns, types = ("a", "b"), (INT, INT)
    assert rows_of((row for row in [(1, 2), [3, 4]]), types, columns) == [(1, 2), (3, 4)]
    assert rows_of({(1, 2)}, types, columns) == [(1, 2)]
    assert rows_of([np.array([1, 2])], types, columns) == [(1, 2)]


# ------------------------------------------------------------------ Arrow types

CASTS = [
    (pa.array([1, 2], pa.int8()), INT, [1, 2]),
    (pa.array([1], pa.uint64()), INT, [1]),
    (pa.array([decimal.Decimal("12.00")]), INT, [12]),
    (pa.array([1, 2], pa.int32()), FLOAT, [1.0, 2.0]),
    (pa.array([2**60]), FLOAT, [2.0**60]),
    (pa.array([0.5], pa.float32()), FLOAT, [0.5]),
    (pa.array([decimal.Decimal("0.5")]), FLOAT, [0.5]),
    (pa.array(["a", "b"], pa.large_string()), STRING, ["a", "b"]),
    (pa.array(["a", "b", "a"]).dictionary_encode(), STRING, ["a", "b", "a"]),
    (pa.array([1, 2, 1]).dictionary_encode(), INT, [1, 2, 1]),
    (pa.array([DAY], pa.date64()), DATE, [DAY]),
    (pa.array([NOON], pa.timestamp("s")), TIMESTAMP_NTZ, [NOON]),
    (pa.array([NOON], pa.timestamp("ns")), TIMESTAMP_NTZ, [NOON]),
    (pa.array([NOON], pa.timestamp("ms", tz="Europe/Paris")), TIMESTAMP, [NOON.replace(tzinfo=dt.timezone.utc)]),
    (pa.array([[1, 2]], pa.list_(pa.int16())), list_of(INT), [(1, 2)]),
    (pa.array([[1, 2]], pa.list_(pa.int16(), 2)), list_of(INT), [(1, 2)]),
    (pa.array([[["a"], []]], pa.large_list(pa.list_(pa.string()))), list_of(list_of(STRING)), [(("a",), ())]),
    (pa.array([[NOON]], pa.list_(pa.timestamp("ns"))), list_of(TIMESTAMP_NTZ), [(NOON,)]),
    (pa.chunked_array([["a"], [], ["b"]]), STRING, ["a", "b"]),
    (pa.chunked_array([], pa.string()), STRING, []),
]  # fmt: skip


@pytest.mark.parametrize("array, type, expected", CASTS)
def test_arrow_types_are_taken(array, type, expected):
    data = pa.table({"c": array})
    assert rows_of(data, (type,), ("c",)) == [(value,) for value in expected]


MISFITS = [
    (pa.array([1, 2**63], pa.uint64()), INT, "wrong-type", "row 2, column c: 9223372036854775808"),
    (pa.array([decimal.Decimal("12"), decimal.Decimal("12.5")]), INT, "wrong-type", "row 2"),
    (pa.array([1.0]), INT, "wrong-type", "1.0 is a float, expected int"),
    (pa.array([2**53 + 1]), FLOAT, "wrong-type", "no 64-bit float equals"),
    (pa.array(["1"]), INT, "wrong-type", "'1' is a str, expected int"),
    (pa.array([1]), STRING, "wrong-type", "1 is an int, expected string"),
    (pa.array([b"x"]), STRING, "wrong-type", "is a bytes"),
    (pa.array([True]), INT, "wrong-type", "True is a bool"),
    (pa.array([1], pa.timestamp("ns")), TIMESTAMP, "wrong-type", "not a whole number of microseconds"),
    (pa.array([2**62], pa.timestamp("us")), TIMESTAMP, "wrong-type", "outside the years 1 to 9999"),
    (pa.array([2**30], pa.date32()), DATE, "wrong-type", "outside the years 1 to 9999"),
    (pa.array([DAY]), TIMESTAMP, "wrong-type", "is a date"),
    (pa.array([{"x": 1}]), INT, "wrong-type", "is a dict"),
]  # fmt: skip


@pytest.mark.parametrize("array, type, code, message", MISFITS)
def test_arrow_values_are_refused(array, type, code, message):
    with pytest.raises(DataError) as caught:
        Codec().from_table(pa.table({"c": array}), (type,), "r", ("c",))
    assert caught.value.code == code and message in caught.value.message


def test_a_table_with_other_columns_is_refused():
    with pytest.raises(DataError) as caught:
        Codec().from_table(table(), (INT,), "r", ("c",))
    assert caught.value.code == "wrong-arity"


def test_only_strings_in_use_are_interned():
    codec = Codec()
    array = pa.DictionaryArray.from_arrays([2, 2], ["a", "b", "c"])
    codec.from_table(pa.table({"c": array}), (STRING,), "r", ("c",))
    assert codec.strings.since(0) == ["c"]


@pytest.mark.parametrize("type", [*TYPES, list_of(list_of(DATE))])
def test_arrow_types_map_back(type):
    assert type_from_arrow(arrow_type(type)) == type


def test_arrow_types_are_inferred():
    assert infer_types(table()) == (TYPES, COLUMNS)
    assert str(type_from_arrow(pa.decimal128(10, 2))) == "decimal(10,2)"
    assert type_from_arrow(pa.dictionary(pa.int8(), pa.string())) == STRING
    assert infer_types(pa.table({"a": pa.nulls(0)})) == ((None,), ("a",))
    with pytest.raises(DataError) as caught:
        infer_types(pa.table({"a": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])}))
    assert caught.value.code == "unsupported-type"
    assert infer_types(pa.table({"a": [1, None]})) == ((INT,), ("a",))


def test_strings_leave_as_dictionaries_on_request():
    codec = Codec()
    matrix = codec.encode_rows([("b",), ("a",), ("b",)], (STRING,), relation="r", columns=("c",))
    plain = codec.to_table(matrix, ("c",), (STRING,))
    coded = codec.to_table(matrix, ("c",), (STRING,), dictionary=True)
    assert plain.schema.field("c").type == pa.string()
    assert pa.types.is_dictionary(coded.schema.field("c").type)
    assert plain.to_pylist() == coded.to_pylist() == [{"c": "b"}, {"c": "a"}, {"c": "b"}]


def test_a_table_of_a_column_whose_type_is_unknown():
    assert Codec().to_table(np.empty((0, 1), dtype=np.int64), ("c",), (None,)).schema.names == ["c"]


@pytest.mark.parametrize("arity", [1, 2, FEWEST_COLUMNS_FLATTENED, 40])
@pytest.mark.parametrize("count", [FEWEST_ROWS_IN_COLUMNS, ROWS_FLATTENED, 3 * ROWS_FLATTENED + 5])
def test_many_rows_become_columns_once(arity: int, count: int):
    choose = random.Random(arity * count)
    values = [1, 2.5, "a", None, True, (1, 2)]
    rows = [tuple(choose.choice(values[: 1 + i % 6]) for i in range(arity)) for _ in range(count)]
    rows[7] = list(rows[7])
    found = in_columns(rows)
    assert found.count == count and found.names is None
    assert found.columns == [list(column) for column in zip(*rows, strict=True)]
    assert [classes_of(column) for column in found.columns] == [set(map(type, c)) for c in found.columns]
    assert found.nullable() == tuple(None in column for column in found.columns)


def test_rows_that_are_no_columns_stay_as_they_are():
    many = FEWEST_ROWS_IN_COLUMNS
    for rows in (
        [(1, 2)] * (many - 1),
        [(1, 2)] * many + [(1,)],
        [()] * many,
        [{"a": 1}] * many,
        [(1, 2)] * many + ["ab"],
        np.zeros((many, 2), np.int64),
    ):
        assert in_columns(rows) is rows


def test_many_rows_that_do_not_fit_are_refused_as_few_are():
    with hw.connect() as db:
        db.define("pair(a: int, b: int). both(X) :- pair(X, _).")
        for rows in ([(1, 2, 3)], [(1, 2, 3)] * 100):
            with pytest.raises(DataError) as error:
                db.apply(insert={"pair": rows})
            assert error.value.code == "wrong-arity"
        with pytest.raises(DataError, match="row 90, column b"):
            db.apply(insert={"pair": [(n, "x" if n == 89 else n) for n in range(100)]})
        with pytest.raises(DataError, match="row 90"):
            db.apply(insert={"pair": [(n,) if n == 89 else (n, n) for n in range(100)]})
        assert len(db["pair"]) == 0
