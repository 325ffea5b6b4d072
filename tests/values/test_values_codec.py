"""The codec: what goes in comes out, and what does not fit is refused by name."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import DataError
from headwater.values.codec import Codec, infer_types
from headwater.values.dictionary import Dictionary
from headwater.values.nanosecond import NanosecondDatetime
from headwater.values.record import FrozenMap, Months, Struct
from headwater.values.types import (
    BINARY,
    BOOL,
    DATE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMP_NTZ,
    TIMESTAMP_NTZ_NS,
    Type,
    decimal_of,
    list_of,
    map_of,
    struct_of,
)

EXACT = decimal.Context(prec=60)
EAST = dt.timezone(dt.timedelta(hours=2))

VALUES = {
    INT: st.integers(-(2**63), 2**63 - 1),
    FLOAT: st.floats(),
    STRING: st.text(st.characters(exclude_categories=["Cs"])),
    BOOL: st.booleans(),
    DATE: st.dates(),
    TIMESTAMP: st.datetimes(timezones=st.just(dt.timezone.utc)),
    TIMESTAMP_NTZ: st.datetimes(),
    TIMESTAMP_NTZ_NS: st.integers(-(2**63), 2**63 - 1).map(NanosecondDatetime.at),
    TIMESTAMP_NS: st.integers(-(2**63), 2**63 - 1).map(
        lambda count: NanosecondDatetime.at(count, dt.timezone.utc)
    ),
    TIME: st.times(),
    INTERVAL: st.integers(-(2**63), 2**63 - 1).map(lambda count: dt.timedelta(microseconds=count)),
    INTERVAL_MONTHS: st.builds(Months, st.integers(-(2**31), 2**31 - 1)),
    BINARY: st.binary(),
    decimal_of(38, 5): st.integers(-(10**38) + 1, 10**38 - 1).map(lambda units: EXACT.scaleb(units, -5)),
    decimal_of(5, 2): st.integers(-99999, 99999).map(lambda units: EXACT.scaleb(units, -2)),
}
RECORDS = {
    struct_of({"a": type, "b c": STRING}): st.fixed_dictionaries(
        {"a": values | st.none(), "b c": VALUES[STRING]}
    ).map(Struct)
    for type, values in VALUES.items()
}
MAPS = {
    map_of(STRING, type): st.dictionaries(VALUES[STRING], values | st.none(), max_size=3).map(FrozenMap)
    for type, values in VALUES.items()
}
LISTS = {
    list_of(type): st.lists(values | st.none()).map(tuple) for type, values in (VALUES | RECORDS).items()
}
NESTED = {list_of(type): st.lists(values).map(tuple) for type, values in LISTS.items()}
ALL = {**VALUES, **LISTS, **NESTED, **RECORDS, **MAPS}


def plain(value):
    """A value in which equal means the same: NaN and zeros have one spelling, ints are not floats."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, FrozenMap):
        return (
            type(value).__name__,
            sorted(((plain(key), plain(item)) for key, item in value.items()), key=repr),
        )
    if isinstance(value, decimal.Decimal):
        return value.as_tuple()
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else value + 0.0)
    return (type(value).__name__, value)


@st.composite
def tables(draw, kinds=tuple(ALL)):
    types = tuple(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4)))
    rows = draw(st.lists(st.tuples(*(ALL[type] for type in types)), max_size=5))
    return types, rows


def names(types) -> tuple[str, ...]:
    return tuple(f"c{i}" for i in range(len(types)))


# ------------------------------------------------------------------ round trips


@given(tables())
def test_rows_come_back(table):
    types, rows = table
    codec = Codec()
    matrix = codec.encode_rows(rows, types, relation="r", columns=names(types))
    assert matrix.dtype == np.int64 and matrix.flags.c_contiguous and matrix.shape == (len(rows), len(types))
    assert [plain(row) for row in codec.decode_rows(matrix, types)] == [plain(row) for row in rows]


@settings(deadline=None)
@given(tables())
def test_arrow_tables_come_back(table):
    types, rows = table
    codec = Codec()
    matrix = codec.encode_rows(rows, types, relation="r", columns=names(types))
    for dictionary in (False, True):
        arrow = codec.to_table(matrix, names(types), types, dictionary=dictionary)
        assert codec.from_table(arrow, types, "r", names(types)).tolist() == matrix.tolist()
        again = Codec()
        into = again.from_table(arrow, types, "r", names(types))
        assert [plain(row) for row in again.decode_rows(into, types)] == [plain(row) for row in rows]


@given(st.data(), st.sampled_from(list(ALL)))
def test_codes_are_equal_exactly_when_values_are(data, type):
    left, right = data.draw(ALL[type]), data.draw(ALL[type])
    codec = Codec()
    codes = codec.encode_value(left, type), codec.encode_value(right, type)
    assert (codes[0] == codes[1]) == (plain(left) == plain(right))
    assert plain(codec.decode_value(codes[0], type)) == plain(left)
    assert codec.find_value(right, type) == codes[1]


@given(tables())
def test_one_value_and_whole_rows_get_the_same_codes(table):
    types, rows = table
    codec = Codec()
    matrix = codec.encode_rows(rows, types, relation="r", columns=names(types))
    one_by_one = [[codec.encode_value(v, t) for v, t in zip(row, types, strict=True)] for row in rows]
    assert matrix.tolist() == one_by_one


@given(tables())
def test_finding_never_interns(table):
    types, rows = table
    codec = Codec()
    matrix, unknown = codec.find_rows(rows, types, relation="r", columns=names(types))
    assert len(codec.strings) == len(codec.lists) == 0
    assert len(matrix) + unknown == len(rows)
    known = codec.encode_rows(rows, types, relation="r", columns=names(types))
    found, unknown = codec.find_rows(rows, types, relation="r", columns=names(types))
    assert found.tolist() == known.tolist() and unknown == 0


def test_find_drops_rows_with_unknown_values():
    codec = Codec()
    types, columns = (STRING, list_of(INT)), ("name", "path")
    codec.encode_rows([("a", (1,)), ("b", (2,))], types, relation="r", columns=columns)
    rows = [("a", (1,)), ("z", (1,)), ("b", (3,)), ("b", (1,))]
    matrix, unknown = codec.find_rows(rows, types, relation="r", columns=columns)
    assert codec.decode_rows(matrix, types) == [("a", (1,)), ("b", (1,))]
    assert unknown == 2
    assert codec.find_value("z", STRING) is None
    assert codec.to_matrix(rows, types, "r", columns, intern=False).tolist() == matrix.tolist()


def test_long_columns_take_the_same_way_out():
    codec = Codec()
    rows = [(f"n{i % 7}", i) for i in range(30_000)]
    matrix = codec.encode_rows(rows, (STRING, INT), relation="r", columns=("a", "b"))
    assert len(codec.strings) == 7
    assert codec.decode_rows(matrix, (STRING, INT)) == rows
    found, unknown = codec.find_rows(
        [("n1", 1), ("zz", 1)] * 20_000, (STRING, INT), relation="r", columns="ab"
    )
    assert (len(found), unknown) == (20_000, 20_000)


def test_rows_without_columns():
    codec = Codec()
    matrix = codec.encode_rows([(), ()], (), relation="flag", columns=())
    assert matrix.shape == (2, 0)
    assert codec.decode_rows(matrix, ()) == [(), ()]


def test_a_dictionary_keeps_its_codes():
    dictionary = Dictionary()
    dictionary.encode(["b", "a", "b"])
    assert dictionary.code("c") == 2 and dictionary.code("a") == 1
    assert dictionary.encode(["d", "a", "e", "d"]).tolist() == [3, 1, 4, 3]
    assert dictionary.find_all(["e", "f"]).tolist() == [4, -1]
    assert dictionary.since(3) == ["d", "e"] and "e" in dictionary and "f" not in dictionary
    assert dictionary.nbytes > 0


# ------------------------------------------------------------------ canonical forms

MADE_CANONICAL = [
    (np.int32(7), INT, 7),
    (decimal.Decimal("12"), INT, 12),
    (3, FLOAT, 3.0),
    (2**60, FLOAT, 2.0**60),
    (np.float32(0.5), FLOAT, 0.5),
    (decimal.Decimal("0.5"), FLOAT, 0.5),
    (-0.0, FLOAT, 0.0),
    (np.bool_(True), BOOL, True),
    (np.str_("x"), STRING, "x"),
    (np.datetime64("2024-02-29"), DATE, dt.date(2024, 2, 29)),
    (np.datetime64("2024-02-29T01:00", "ns"), TIMESTAMP_NTZ, dt.datetime(2024, 2, 29, 1)),
    (np.datetime64(1001, "ns"), TIMESTAMP_NTZ_NS, NanosecondDatetime.at(1001)),
    (dt.datetime(2024, 1, 1), TIMESTAMP, dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)),
    (np.timedelta64(5, "ms"), INTERVAL, dt.timedelta(milliseconds=5)),
    (bytearray(b"x"), BINARY, b"x"),
    (3, decimal_of(5, 2), decimal.Decimal("3.00")),
    (decimal.Decimal("1e2"), decimal_of(5, 2), decimal.Decimal("100.00")),
    ({"b": 1}, struct_of({"a": STRING, "b": FLOAT}), Struct({"a": None, "b": 1.0})),
    ({"b": 1, "a": 2}, map_of(STRING, INT), FrozenMap({"a": 2, "b": 1})),
    ([("b", 1)], map_of(STRING, INT), FrozenMap({"b": 1})),
    (dt.datetime(2024, 1, 1, 1, tzinfo=EAST), TIMESTAMP, dt.datetime(2023, 12, 31, 23, tzinfo=dt.timezone.utc)),
    ([1, 2.5], list_of(FLOAT), (1.0, 2.5)),
    (np.array([1, 2]), list_of(INT), (1, 2)),
    ([["a"], []], list_of(list_of(STRING)), (("a",), ())),
    ([1, 2.5], list_of(None), (1.0, 2.5)),
    ([], list_of(None), ()),
]  # fmt: skip


@pytest.mark.parametrize("value, type, expected", MADE_CANONICAL)
def test_values_are_made_canonical(value, type, expected):
    codec = Codec()
    assert plain(codec.decode_value(codec.encode_value(value, type), type)) == plain(expected)
    matrix = codec.encode_rows([(value,), (value,)], (type,), relation="r", columns=("c",))
    assert [plain(row) for row in codec.decode_rows(matrix, (type,))] == [plain((expected,))] * 2


def test_lists_of_ints_floats_and_bools_are_different_lists():
    codec = Codec()
    one = decimal.Decimal(1)
    lists = [
        ((1,), INT),
        ((1.0,), FLOAT),
        ((True,), BOOL),
        ((one,), decimal_of(5, 0)),
        ((one,), decimal_of(5, 1)),
    ]
    codes = [codec.encode_value(value, list_of(element)) for value, element in lists]
    assert len(set(codes)) == 5
    lists[-1] = ((decimal.Decimal("1.0"),), None)
    assert [plain(value) for value in codec.lists.decode(codes)] == [plain(value) for value, _ in lists]


# ------------------------------------------------------------------ refusals

half_a_pair = "\ud800"
REFUSED = [
    (True, INT, "wrong-type", "True is a bool, expected int"),
    (1.0, INT, "wrong-type", "1.0 is a float, expected int"),
    (2**63, INT, "wrong-type", "9223372036854775808 does not fit 64 bits"),
    (np.uint64(2**63), INT, "wrong-type", "does not fit 64 bits"),
    (decimal.Decimal("1.5"), INT, "wrong-type", "is a Decimal"),
    ("1", INT, "wrong-type", "'1' is a str, expected int"),
    (True, FLOAT, "wrong-type", "True is a bool, expected float"),
    (2**53 + 1, FLOAT, "wrong-type", "no 64-bit float equals 9007199254740993"),
    (10**400, FLOAT, "wrong-type", "no 64-bit float equals"),
    (decimal.Decimal("0.1"), FLOAT, "wrong-type", "no 64-bit float equals"),
    (decimal.Decimal("sNaN"), FLOAT, "wrong-type", "no 64-bit float equals"),
    ("x", FLOAT, "wrong-type", "'x' is a str"),
    (1, STRING, "wrong-type", "1 is an int, expected string"),
    (b"x", STRING, "wrong-type", "is a bytes"),
    (half_a_pair, STRING, "wrong-type", "not valid Unicode"),
    (1, BOOL, "wrong-type", "1 is an int, expected bool"),
    (dt.datetime(2024, 1, 1), DATE, "wrong-type", "is a datetime, expected date"),
    (dt.date(2024, 1, 1), TIMESTAMP, "wrong-type", "is a date, expected timestamp"),
    (np.datetime64(1, "ns"), TIMESTAMP, "wrong-type", "not a whole number of microseconds"),
    (dt.datetime(2024, 1, 1, tzinfo=EAST), TIMESTAMP_NTZ, "wrong-type", "has a zone"),
    (dt.datetime(1, 1, 1), TIMESTAMP_NTZ_NS, "wrong-type", "outside the years 1677 to 2262"),
    (dt.time(1, tzinfo=EAST), TIME, "wrong-type", "has a zone"),
    (np.timedelta64(1, "ns"), INTERVAL, "wrong-type", "not a whole number of microseconds"),
    (dt.timedelta.max, INTERVAL, "wrong-type", "does not fit 64 bits"),
    (14, INTERVAL_MONTHS, "wrong-type", "14 is an int"),
    ("x", BINARY, "wrong-type", "'x' is a str"),
    (0.5, decimal_of(5, 2), "wrong-type", "0.5 is a float"),
    (decimal.Decimal("0.005"), decimal_of(5, 2), "wrong-type", "more than 2 digits after the point"),
    (decimal.Decimal("1000"), decimal_of(5, 2), "wrong-type", "more digits than decimal(5,2)"),
    (decimal.Decimal("1e999999"), decimal_of(5, 2), "wrong-type", "more than 38 digits"),
    (decimal.Decimal("NaN"), decimal_of(5, 2), "wrong-type", "is not a number"),
    ({"x": 1}, struct_of({"a": INT}), "wrong-type", "has a field x"),
    ({"a": "y"}, struct_of({"a": INT}), "wrong-type", "'y' is a str"),
    ({None: 1}, map_of(STRING, INT), "wrong-type", "has a key that is null"),
    ([("a", 1), ("a", 2)], map_of(STRING, INT), "wrong-type", "has a key twice"),
    (dt.datetime.min.replace(tzinfo=EAST), TIMESTAMP, "wrong-type", "in UTC is outside"),
    ("ab", list_of(STRING), "wrong-type", "'ab' is a str, expected list[string]"),
    ((1, "a"), list_of(INT), "wrong-type", "'a' is a str, expected list[int]"),
    ((1, True), list_of(INT), "wrong-type", "True is a bool, expected list[int]"),
    ((1, 2**63), list_of(INT), "wrong-type", "does not fit 64 bits"),
    ((1, "a"), list_of(None), "wrong-type", "int and string do not go together"),
    ((half_a_pair,), list_of(STRING), "wrong-type", "not valid Unicode"),
    (Fraction(1, 2), FLOAT, "wrong-type", "Fraction(1, 2) is a Fraction"),
]  # fmt: skip

FILLERS: dict[Type, object] = {
    INT: 1, FLOAT: 1.5, STRING: "a", BOOL: True, DATE: dt.date(2024, 1, 1),
    TIMESTAMP: dt.datetime(2024, 1, 1), TIMESTAMP_NTZ: dt.datetime(2024, 1, 1), TIME: dt.time(1),
    TIMESTAMP_NTZ_NS: dt.datetime(2024, 1, 1), INTERVAL: dt.timedelta(1), INTERVAL_MONTHS: Months(1), BINARY: b"",
    decimal_of(5, 2): 1, struct_of({"a": INT}): {"a": 1}, map_of(STRING, INT): {"a": 1}, list_of(INT): (1,),
    list_of(STRING): ("a",), list_of(None): (),
}  # fmt: skip


@pytest.mark.parametrize("value, type, code, message", REFUSED)
def test_values_are_refused(value, type, code, message):
    codec = Codec()
    with pytest.raises(DataError) as caught:
        codec.encode_value(value, type)
    assert caught.value.code == code and message in caught.value.message
    rows = [(1, FILLERS[type]), (2, value)]
    for encode in (codec.encode_rows, codec.find_rows):
        with pytest.raises(DataError) as caught:
            encode(rows, (INT, type), relation="stock", columns=("id", "held"))
        assert caught.value.code == code
        assert (
            caught.value.message.startswith("stock, row 2, column held: ") and message in caught.value.message
        )
    assert half_a_pair not in codec.strings


@pytest.mark.parametrize(
    "rows, message",
    [
        ([("a", "b"), ("c",)], "link, row 2: ('c',) has 1 column, expected 2 (src, dst)"),
        ([("a", "b", "c")], "link, row 1: ('a', 'b', 'c') has 3 columns, expected 2 (src, dst)"),
        (["ab"], "link, row 1: 'ab' is not a row"),
        ([5], "link, row 1: 5 is not a row"),
        ([{"src": "a", "to": "b"}], "link, row 1: its columns are src, to, expected src, dst"),
        ("ab", "rows of link cannot be read from a str"),
        ({"src": ["a"]}, "rows of link cannot be read from a dict"),
        (7, "rows of link cannot be read from an int"),
        (np.array(["a", "b"]), "rows of link cannot be read from an array of 1 dimensions"),
        (np.array([["a"]]), "link has 2 columns (src, dst), the rows given have 1"),
    ],
)
def test_rows_of_wrong_shape_are_refused(rows, message):
    with pytest.raises(DataError) as caught:
        Codec().to_matrix(rows, (STRING, STRING), "link", ("src", "dst"))
    assert caught.value.code == "wrong-arity" and caught.value.message == message


def test_a_column_of_unknown_type_is_refused_once_there_are_rows():
    codec = Codec()
    assert codec.to_matrix([], (None,), "r", ("c",)).shape == (0, 1)
    with pytest.raises(DataError) as caught:
        codec.to_matrix([(1,)], (None,), "r", ("c",))
    assert caught.value.code == "unknown-type"


# ------------------------------------------------------------------ types of what came without any


@pytest.mark.parametrize(
    "rows, expected",
    [
        ([(1, "a"), (2, "b")], "int, string"),
        ([(1, 2.5), (2.5, 1)], "float, float"),
        ([(True, dt.date(2024, 1, 1))], "bool, date"),
        ([(dt.datetime(2024, 1, 1), [1, 2.5])], "timestamp_ntz, list[float]"),
        ([([],), (["a"],)], "list[string]"),
        ([(dt.datetime(2024, 1, 1, tzinfo=EAST), dt.time(1))], "timestamp, time"),
        (
            [(NanosecondDatetime.at(1), dt.timedelta(1)), (dt.datetime(2024, 1, 1), None)],
            "timestamp_ntz_ns, interval",
        ),
        (
            [(decimal.Decimal("1.5"), b"x"), (decimal.Decimal("0.125"), None), (2, None)],
            "decimal(38,3), binary",
        ),
        ([({"a": 1},), ({"b": [None]},)], "{a: int, b: list}"),
        (
            [({1: "a"}, FrozenMap({"a": 1.5}), Months(1))],
            "map[int, string], map[string, float], interval_months",
        ),
        ([(np.int32(1), np.float32(2))], "int, float"),
        (np.array([[1, 2]]), "int, int"),
        (np.array([[1, "a"]], dtype=object), "int, string"),
        ([{"b": 1, "a": 2}], "int, int"),
    ],
)
def test_types_are_inferred(rows, expected):
    types, columns = infer_types(rows)
    assert ", ".join(map(str, types)) == expected
    assert columns == (("b", "a") if isinstance(rows[0], dict) else None)


@pytest.mark.parametrize(
    "rows, code, message",
    [
        ([(1,), ("a",)], "wrong-type", "data, row 2, column 1: int and string do not go together"),
        ([(1,), (True,)], "wrong-type", "data, row 2, column 1: int and bool do not go together"),
        ([{"a": 1}, {"a": 1j}], "wrong-type", "data, row 2, column a: 1j is a complex"),
        ([(1,), (1, 2)], "wrong-arity", "data, row 2: (1, 2) has 2 columns, expected 1"),
        (
            iter([(1,)]),
            "wrong-type",
            "the types of data cannot be taken from an iterator, which can be read once",
        ),
    ],
)
def test_types_that_cannot_be_inferred(rows, code, message):
    with pytest.raises(DataError) as caught:
        infer_types(rows)
    assert caught.value.code == code and caught.value.message.startswith(message)


def test_without_rows_there_are_no_types():
    assert infer_types([]) == ((), None)


def test_importing_is_light():
    modules = ["codec", "dictionary", "functions", "exact_sum", "sources", "arrow"]
    imports = "; ".join(f"import headwater.values.{module}" for module in modules)
    heavy = "[m for m in ('pyarrow', 'pandas', 'polars', 'numba') if m in sys.modules]"
    result = subprocess.run(
        [sys.executable, "-c", f"import sys; {imports}; print({heavy})"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == "[]"
