"""NULL, labelled nulls and numbers near the ends of their range: in, through and out."""

from __future__ import annotations

import datetime as dt
import math
import pickle
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import DataError
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.label_text import literal, parse_label
from headwater.values.labelled import LabelledNull
from headwater.values.nanosecond import NanosecondDatetime
from headwater.values.ordering import compare, order_keys
from headwater.values.record import FrozenMap, Months, Struct
from headwater.values.scalars import canonical_label
from headwater.values.special import FIRST, LAST, LAST_PLAIN, NULL, has_special
from headwater.values.types import BOOL, DATE, FLOAT, INT, STRING, TIMESTAMP_NTZ, list_of

DAY, NOON = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12)
TYPES = (STRING, INT, FLOAT, BOOL, DATE, TIMESTAMP_NTZ, list_of(STRING))
ALL = (True,) * len(TYPES)
COLUMNS = ("name", "count", "weight", "open", "day", "at", "tags")
FULL = ("a", 1, 0.5, True, DAY, NOON, ("x", None))
EMPTY = (None,) * len(TYPES)
LABEL = LabelledNull("f", (1, "a"))
LABELS = (LABEL,) * len(TYPES)


def tiny(steps: int) -> float:
    """The negative float so many steps below 0.0, whose bits are near the bottom of the int64 range."""
    return struct.unpack("<d", struct.pack("<q", FIRST + steps))[0]


ints = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3).flatmap(
    lambda near: st.sampled_from(
        [FIRST + near, LAST - near, LAST + near, LAST_PLAIN - near, LAST_PLAIN + near, 2**63 - 1 - near]
    )
)
floats = (
    st.floats(allow_nan=False) | st.integers(1, 5).map(tiny) | st.just(tiny(2**47 - 1)) | st.just(tiny(2**47))
)
moments = st.datetimes() | st.datetimes(timezones=st.just(dt.timezone.utc))
clocks = st.times() | st.timedeltas() | st.integers(-50, 50).map(Months)
plain_values = (
    st.none() | st.booleans() | ints | floats | st.just(math.nan) | st.text() | st.dates() | moments | clocks
    | st.binary() | st.decimals(allow_nan=False, allow_infinity=False, places=2)
    | st.dictionaries(st.text(), st.integers()).map(FrozenMap)
    | st.dictionaries(st.text(min_size=1), st.none() | st.floats(allow_nan=False), min_size=1).map(Struct)
)  # fmt: skip
labels = st.recursive(
    st.builds(LabelledNull, st.sampled_from(["f", "g_2", "é"]), st.lists(plain_values, max_size=2)),
    lambda inner: st.builds(
        LabelledNull, st.just("h"), st.lists(inner | st.lists(st.integers()) | plain_values, max_size=2)
    ),
    max_leaves=4,
)

# ------------------------------------------------------------------ labelled nulls


@given(labels)
def test_the_text_of_a_labelled_null_tells_all_of_it(label):
    assert parse_label(str(label)) == label and hash(parse_label(str(label))) == hash(label)
    assert "\n" not in str(label)
    assert pickle.loads(pickle.dumps(label)) == label


def test_labelled_nulls_are_told_apart_by_function_arguments_and_types():
    different = [
        LabelledNull("f"), LabelledNull("f", (None,)), LabelledNull("f", ("null",)), LabelledNull("f", (1,)),
        LabelledNull("f", (1.0,)), LabelledNull("f", (True,)), LabelledNull("f", ("1",)), LabelledNull("g", (1,)),
        LabelledNull("f", (1, 2)), LabelledNull("f", ((1, 2),)), LabelledNull("f", (LabelledNull("f", (1,)),)),
        LabelledNull("f", (dt.date(2024, 1, 1),)), LabelledNull("f", (dt.datetime(2024, 1, 1),)),
    ]  # fmt: skip
    assert len(set(different)) == len({str(each) for each in different}) == len(different)
    assert LabelledNull("f", (-0.0,)) == LabelledNull("f", (0.0,))
    assert LabelledNull("f", (math.nan,)) == LabelledNull("f", (float("nan"),))
    assert LabelledNull("f", ([1],)) == LabelledNull("f", ((1,),))
    with pytest.raises(AttributeError):
        LABEL.function = "g"


NO_LABELS = [
    "",
    "?",
    "f(1)",
    "?f",
    "?f(",
    "?f(1",
    "?f(1,)",
    "?f(1 2)",
    "?f(x)",
    "?f(1)x",
    "null",
    "?f('a)",
    "?1(1)",
]


@pytest.mark.parametrize("text", NO_LABELS)
def test_what_is_not_the_text_of_a_labelled_null(text):
    with pytest.raises(ValueError):
        parse_label(text)


# ------------------------------------------------------------------ in and out


WHOLE = NanosecondDatetime.at(1_000)
"""A whole microsecond, in the class that has nanoseconds."""


@pytest.mark.parametrize(
    "value", [WHOLE, (WHOLE, None), Struct({"t": WHOLE}), WHOLE.replace(tzinfo=dt.timezone.utc)]
)
def test_what_a_labelled_null_is_made_of_is_the_same_time_with_and_without_room_for_nanoseconds(value):
    """As it was made by a rule over a column of nanoseconds, as it is read from a file, and as a user writes it."""
    label = LabelledNull("f", (value,))
    assert parse_label(literal(label)) == canonical_label(label) == label
    assert hash(parse_label(literal(label))) == hash(label)
    assert LabelledNull("f", (WHOLE.replace(nanosecond=1),)) != LabelledNull("f", (WHOLE,))


def test_times_with_nanoseconds_are_moved_and_copied_with_them():
    moment = NanosecondDatetime.at(1_700_000_000_123_456_789, dt.timezone.utc)
    second, east = dt.timedelta(seconds=1), dt.timezone(dt.timedelta(hours=2))
    for found in (moment + second - second, second + moment - second, moment.astimezone(east)):
        assert found == moment and hash(found) == hash(moment) and found.nanoseconds == moment.nanoseconds
    assert str(moment.astimezone(east)) == "2023-11-15T00:13:20.123456789+02:00"
    assert (
        pickle.loads(pickle.dumps(moment.astimezone(east))).isoformat() == moment.astimezone(east).isoformat()
    )
    assert str(moment.replace(tzinfo=None, year=2001)) == "2001-11-14T22:13:20.123456789"
    assert str(NanosecondDatetime(2024, 1, 31)) == "2024-01-31T00:00:00.000000000"
    assert moment - moment.replace(nanosecond=0) == dt.timedelta(0)
    with pytest.raises(TypeError):
        moment + 1


def test_nulls_go_in_and_out_of_every_type():
    codec = Codec()
    rows = [FULL, EMPTY, FULL, LABELS]
    matrix = codec.to_matrix(rows, TYPES, "r", COLUMNS, nullable=ALL)
    assert (matrix[1] == NULL).all() and len(set(matrix[3].tolist())) == 1
    assert codec.decode_rows(matrix, TYPES) == rows
    assert codec.find_rows(rows, TYPES, relation="r", columns=COLUMNS, nullable=ALL)[1] == 0
    one_by_one = [
        [codec.encode_value(value, type) for value, type in zip(row, TYPES, strict=True)] for row in rows
    ]
    assert one_by_one == matrix.tolist()
    assert [codec.decode_value(code, type) for code, type in zip(matrix[3], TYPES, strict=True)] == list(
        LABELS
    )


def test_a_column_whose_type_is_not_known_holds_nulls():
    codec = Codec()
    matrix = codec.to_matrix([(None,), (LABEL,)], (None,), "r", ("c",), nullable=(True,))
    assert codec.decode_rows(matrix, (None,)) == codec.decode_rows(matrix, (STRING,)) == [(None,), (LABEL,)]
    with pytest.raises(DataError) as caught:
        codec.to_matrix([(None,), (1,)], (None,), "r", ("c",), nullable=(True,))
    assert caught.value.code == "unknown-type"


def test_a_labelled_null_never_seen_is_in_no_row():
    codec = Codec()
    for type in (INT, STRING, FLOAT):
        given_rows = [(LabelledNull("new"),), (None,), (2**63 - 1,) if type == INT else (None,)]
        found, unknown = codec.find_rows(given_rows, (type,), relation="r", columns=("c",), nullable=(True,))
        assert unknown == (2 if type == INT else 1) and found[0].tolist() == [NULL]
    assert codec.find_value(LabelledNull("new"), INT) is None and len(codec.specials) == 0


def test_a_null_is_refused_with_its_row():
    for row in ((1, None), (1, LABEL)):
        with pytest.raises(DataError) as caught:
            Codec().to_matrix([(0, "a"), row], (INT, STRING), "r", ("n", "s"))
        assert caught.value.code == "null-value"
        shown = "null" if row[1] is None else "?f(1, 'a')"
        assert (
            f"r, row 2, column s: there is no value (null), expected string; the row is (1, {shown})"
            in str(caught.value)
        )


def test_arrow_has_nulls_and_texts_of_labelled_ones():
    codec = Codec()
    rows = [FULL, EMPTY, LABELS]
    matrix = codec.to_matrix(rows, TYPES, "r", COLUMNS, nullable=ALL)
    table = codec.to_table(matrix, COLUMNS, TYPES, labels=range(len(TYPES)))
    assert table.column_names == [*COLUMNS, *(f"{column}?" for column in COLUMNS)]
    for column in COLUMNS:
        assert table[column].null_count == 2
        assert table[f"{column}?"].to_pylist() == [None, None, "?f(1, 'a')"]
    again = Codec()
    back = again.from_table(table.select(COLUMNS), TYPES, "r", COLUMNS)
    assert again.decode_rows(back, TYPES) == [FULL, EMPTY, EMPTY]
    strings = codec.to_table(matrix[:, :1], ("name",), (STRING,), dictionary=True)
    assert strings["name"].to_pylist() == ["a", None, None]
    assert codec.to_table(matrix[1:, :1], ("name",), (STRING,))["name"].type == pa.string()


ARROW = [
    (pa.array([1, None]), INT, [1, None]),
    (pa.array([None]), STRING, [None]),
    (pa.array(["a", None]).dictionary_encode(), STRING, ["a", None]),
    (pa.DictionaryArray.from_arrays([0, 1], ["a", None]), STRING, ["a", None]),
    (pa.array([[1], [None], None]), list_of(INT), [(1,), (None,), None]),
    (pa.array([[[1]], [None]]), list_of(list_of(INT)), [((1,),), (None,)]),
    (pa.array([None, 3], pa.timestamp("ns")), TIMESTAMP_NTZ, "row 2"),
    (pa.chunked_array([["a"], ["b", None]]), STRING, ["a", "b", None]),
    (pa.array([2**63 - 1, None, -(2**63)]), INT, [2**63 - 1, None, -(2**63)]),
    (pa.array([tiny(1), None]), FLOAT, [tiny(1), None]),
]


@pytest.mark.parametrize("array, type, expected", ARROW)
def test_arrow_nulls_are_taken(array, type, expected):
    codec, data = Codec(), pa.table({"c": array})
    if isinstance(expected, str):
        with pytest.raises(DataError, match=expected):
            codec.from_table(data, (type,), "r", ("c",))
        return
    matrix = codec.from_table(data, (type,), "r", ("c",))
    assert codec.decode_rows(matrix, (type,)) == [(value,) for value in expected]


def test_pandas_nulls_are_taken():
    pandas = pytest.importorskip("pandas")
    for frame, type, expected in (
        (pandas.DataFrame({"x": ["a", None]}), STRING, "a"),
        (pandas.DataFrame({"x": ["a", pandas.NA]}, dtype=object), STRING, "a"),
        (pandas.DataFrame({"x": pandas.array([1, None], dtype="Int64")}), INT, 1),
        (pandas.DataFrame({"x": pandas.to_datetime(["2024-02-29T12:00", None])}), TIMESTAMP_NTZ, NOON),
    ):
        codec = Codec()
        matrix = codec.to_matrix(frame, (type,), "r", ("x",), nullable=(True,))
        assert codec.decode_rows(matrix, (type,)) == [(expected,), (None,)]
    codec = Codec()
    given_rows = [(pandas.NA,), (pandas.NaT,), (np.datetime64("NaT"),)]
    assert codec.to_matrix(given_rows, (INT,), "r", ("x",), nullable=(True,)).tolist() == [[NULL]] * 3


# ------------------------------------------------------------------ numbers that are not their own code


@given(st.lists(ints, min_size=1))
def test_all_ints_have_codes_of_their_own(values):
    codec = Codec()
    codes = codec.encode_column(values, INT)
    assert codec.decode_column(codes, INT) == values
    assert codec.encode_column(codec.decode_column(codes, INT), INT).tolist() == codes.tolist()
    assert codec.to_table(codes.reshape(-1, 1), ("c",), (INT,))["c"].to_pylist() == values
    assert len(set(codes.tolist())) == len(set(values)) and NULL not in codes
    assert (
        codec.to_matrix(np.array(values).reshape(-1, 1), (INT,), "r", ("c",))[:, 0].tolist() == codes.tolist()
    )
    keys = order_keys([codes], INT, codec)[0].tolist()
    assert sorted(range(len(values)), key=keys.__getitem__) == sorted(
        range(len(values)), key=values.__getitem__
    )


@given(st.lists(floats, min_size=1))
def test_all_floats_have_codes_of_their_own(values):
    codec = Codec()
    values = [value + 0.0 for value in values]
    codes = codec.encode_column(values, FLOAT)
    assert codec.decode_column(codes, FLOAT) == values
    assert codec.to_table(codes.reshape(-1, 1), ("c",), (FLOAT,))["c"].to_pylist() == values
    assert len(set(codes.tolist())) == len(set(values)) and NULL not in codes
    for left in range(len(values)):
        holds = compare("<", codes[left : left + 1], codes, FLOAT, FLOAT, codec)
        assert holds.tolist() == [values[left] < other for other in values]


def test_floats_computed_into_the_window_stay_floats():
    codec, functions = Codec(), Functions()
    codes = codec.encode_column([tiny(3), LABEL, None], FLOAT)
    doubled = functions.apply("+", [codes, codes], [FLOAT, FLOAT], codec)
    assert codec.decode_column(doubled, FLOAT) == [tiny(6), None, None]
    mixed = compare("<", codec.encode_column([0], INT), doubled, INT, FLOAT, codec)
    assert mixed.tolist() == [False, False, False]


# ------------------------------------------------------------------ comparing and computing


@pytest.mark.parametrize("type, value", [(INT, 5), (STRING, "a"), (FLOAT, math.nan), (list_of(INT), (1,))])
def test_nulls_are_equal_to_themselves_and_neither_below_nor_above(type, value):
    codec = Codec()
    left = codec.encode_column([value, None, LABEL, None, value], type)
    right = codec.encode_column([value, None, LABEL, LABEL, None], type)
    same = [True, True, True, False, False]
    assert compare("=", left, right, type, type, codec).tolist() == same
    assert compare("!=", left, right, type, type, codec).tolist() == [not each for each in same]
    for op in ("<", "<=", ">", ">="):
        holds = compare(op, left, right, type, type, codec).tolist()
        assert holds == [op in ("<=", ">="), False, False, False, False]


def test_nulls_of_int_and_float_are_the_same():
    codec = Codec()
    left = codec.encode_column([1, None, LABEL, None, 2**63 - 1], INT)
    right = codec.encode_column([1.0, None, LABEL, 0.0, 2.0**63], FLOAT)
    assert compare("=", left, right, INT, FLOAT, codec).tolist() == [True, True, True, False, False]
    assert compare("<", left, right, INT, FLOAT, codec).tolist() == [False, False, False, False, True]
    assert compare("=", left, np.array([NULL]), INT, None, codec).tolist() == [
        False,
        True,
        False,
        True,
        False,
    ]
    assert not compare("<", left, np.array([NULL]), INT, None, codec).any()


def test_order_puts_nulls_last_then_labelled_ones():
    codec = Codec()
    other = LabelledNull("a")
    values = [LABEL, None, 2**63 - 1, other, -(2**63), 0]
    keys = order_keys([codec.encode_column(values, INT)], INT, codec)[0].tolist()
    in_order = [values[place] for place in sorted(range(len(values)), key=keys.__getitem__)]
    assert in_order == [-(2**63), 0, 2**63 - 1, None, other, LABEL]


def test_functions_of_nulls_are_null():
    codec, functions = Codec(), Functions()
    numbers = codec.encode_column([1, None, LABEL], INT)
    names = codec.encode_column(["a", None, LABEL], STRING)
    cases = [
        ("+", [numbers, numbers], [INT, INT], [2, None, None]),
        ("sqrt", [numbers], [INT], [1.0, None, None]),
        ("^", [numbers, numbers], [INT, INT], [1, None, None]),
        ("cat", [names, names], [STRING, STRING], ["aa", None, None]),
        ("strlen", [names], [STRING], [1, None, None]),
        ("min", [numbers, numbers], [INT, INT], [1, None, None]),
        ("list", [names, names], [STRING, STRING], [("a", "a"), (None, None), None]),
    ]
    for name, columns, types, expected in cases:
        result = functions.result_type(name, types)
        assert codec.decode_column(functions.apply(name, columns, types, codec), result) == expected, name
    zero = codec.encode_column([0, 0], INT)
    nothing = codec.encode_column([None, LABEL], INT)
    assert (functions.apply("/", [nothing, zero], [INT, INT], codec) == NULL).all()
    pieces = functions.expand("range", [numbers, numbers + 0 * numbers], [INT, INT], codec).pieces(10)
    assert list(pieces) == []


def test_registered_functions_see_nulls_only_when_they_ask():
    codec, functions = Codec(), Functions()
    functions.register("careless", lambda value: len(value), ["string"], "int")
    functions.register("careful", lambda value: 0 if value is None else None, ["string"], "int", nulls=True)
    column = codec.encode_column(["a", None, LABEL], STRING)
    found = {name: functions.apply(name, [column], [STRING], codec) for name in ("careless", "careful")}
    assert codec.decode_column(found["careless"], INT) == [1, None, None]
    assert codec.decode_column(found["careful"], INT) == [None, 0, None]


def test_plain_columns_have_nothing_special():
    assert not has_special(np.array([0, -1, LAST + 1])) and not has_special(np.empty(0, np.int64))
    assert has_special(np.array([1, LAST])) and has_special(np.array([FIRST]))


@pytest.mark.parametrize("value", [None, 1, "a b", "", b"f", 1.5, [("a", 1)], {1}, object()])
def test_values_are_made_of_what_they_take_or_refused_as_ours(value: object):
    makers = (
        lambda: LabelledNull(value),  # type: ignore[arg-type]
        lambda: LabelledNull("f", value) if not isinstance(value, list) else LabelledNull(1),  # type: ignore[arg-type]
        lambda: LabelledNull("f", ({1},)),
        lambda: FrozenMap(value),  # type: ignore[arg-type]
        lambda: Struct(value),  # type: ignore[arg-type]
        lambda: Months(value if value != 1 else True),  # type: ignore[arg-type]
    )
    for make in makers:
        with pytest.raises(DataError) as caught:
            make()
        assert caught.value.code == "wrong-type"
