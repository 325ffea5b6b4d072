"""What is written in any format is read as the same."""

import datetime
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from headwater.errors import DataError
from headwater.files.contents import FactFile
from headwater.files.formats import SOUFFLE, WRITTEN, Format, with_options
from headwater.files.list_cells import read_list, write_list
from headwater.files.read import read
from headwater.files.typed import typed
from headwater.files.write import encode, write
from headwater.values.arrow import arrow_type
from headwater.values.arrow_values import arrow_values, python_values
from headwater.values.nanosecond import NanosecondDatetime
from headwater.values.record import Months
from headwater.values.scalars import canonical
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
    TIMESTAMP_NTZ,
    TIMESTAMP_NTZ_NS,
    Type,
    decimal_of,
    list_of,
    map_of,
    struct_of,
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    [
        "",
        " ",
        "\t",
        "\n",
        "\r\n",
        '"',
        'a"b',
        "a,b",
        "[x]",
        "NULL",
        "nan",
        "0x1F",
        "\\",
        "é😀",
        "\ufeff",
        "()",
    ]
)
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    INT: st.integers(-(2**63), 2**63 - 1),
    FLOAT: st.floats(allow_subnormal=True) | st.sampled_from([1e-300, 1e300, 5e-324, 1.0, 0.1]),
    STRING: TEXT,
    BOOL: st.booleans(),
    DATE: st.dates(),
    TIMESTAMP: st.datetimes(timezones=st.just(datetime.timezone.utc)),
    TIMESTAMP_NTZ: st.datetimes(),
    TIMESTAMP_NTZ_NS: st.integers(-(2**62), 2**62).map(NanosecondDatetime.at),
    TIME: st.times(),
    INTERVAL: st.timedeltas(datetime.timedelta(-9999), datetime.timedelta(9999)),
    BINARY: st.binary(max_size=3),
    decimal_of(20, 2): st.decimals(-(10**17), 10**17, places=2),
    list_of(decimal_of(5, 2)): st.lists(st.none() | st.decimals(-999, 999, places=2), max_size=3),
    struct_of({"a": STRING, "b c": TIME}): st.builds(
        lambda a, b: {"a": a, "b c": b}, st.none() | TEXT, st.times()
    ),
    map_of(INT, FLOAT): st.dictionaries(st.integers(-5, 5), st.floats(), max_size=2),
    map_of(STRING, DATE): st.dictionaries(TEXT, st.dates(), max_size=2),
    list_of(STRING): st.lists(TEXT, max_size=3),
    list_of(INT): st.lists(st.integers(-5, 5), max_size=3),
    list_of(list_of(STRING)): st.lists(st.lists(TEXT, max_size=2), max_size=2),
}
FORMATS: dict[str, Format] = {
    **WRITTEN,
    "semicolon": with_options(None, {"rfc4180": "true", "delimiter": ";"}),
    "long delimiter": with_options(None, {"rfc4180": "true", "delimiter": "<>"}),
}


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or math.isnan(left) and math.isnan(right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


@st.composite
def tables(draw: st.DrawFn, nulls: bool = False) -> tuple[tuple[Type, ...], list[tuple[Any, ...]]]:
    types = tuple(draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3)))
    values = [st.none() | VALUES[type] if nulls else VALUES[type] for type in types]
    return types, draw(st.lists(st.tuples(*values), max_size=4))


def to_table(types: tuple[Type, ...], rows: list[tuple[Any, ...]]) -> Any:
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    pairs = list(zip(columns, types, strict=True))
    arrays = [pa.array(arrow_values(column, type), arrow_type(type)) for column, type in pairs]
    return pa.table(arrays, names=[f"c{i}" for i in range(len(types))])


def read_back(
    path: Path, format: Format | None, types: tuple[Type, ...], nulls: bool = False
) -> list[tuple[Any, ...]]:
    columns = tuple(f"c{i}" for i in range(len(types)))
    nullable = [nulls] * len(types)
    table = typed(read(FactFile(path, format), "r", columns, types, nullable=nullable), types)
    found = [
        [canonical(value, type) for value in python_values(column, type)]
        for column, type in zip(table.columns, types, strict=True)
    ]
    return list(zip(*found, strict=True))


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=tables())
@example(data=((STRING,), [("",), ("a",), ("",)]))
@example(data=((STRING,), [("\ufeff",)]))
@example(data=((STRING, STRING), [("", "")]))
def test_what_is_written_is_read(
    tmp_path: Path, name: str, data: tuple[tuple[Type, ...], list[tuple[Any, ...]]]
) -> None:
    types, rows = data
    path = tmp_path / f"r.{name if name in WRITTEN else 'txt'}"
    write(path, to_table(types, rows), len(rows), FORMATS[name])
    found = read_back(path, None if name in WRITTEN else FORMATS[name], types)
    assert same(found, [tuple(row) for row in rows])
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=tables(nulls=True))
@example(data=((STRING,), [(None,), ("",), ("a",), (None,)]))
@example(data=((STRING, STRING), [("", ""), ("a", "")]))
@example(data=((STRING, INT), [(None, None), ("", 1)]))
@example(data=((DATE,), [(None,)]))
def test_nulls_are_read_as_they_are_written(
    tmp_path: Path, name: str, data: tuple[tuple[Type, ...], list[tuple[Any, ...]]]
) -> None:
    types, rows = data
    path = tmp_path / f"r.{name if name in WRITTEN else 'txt'}"
    write(path, to_table(types, rows), len(rows), FORMATS[name])
    found = read_back(path, None if name in WRITTEN else FORMATS[name], types, nulls=True)
    assert same(found, [tuple(row) for row in rows])


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=tables())
@example(data=((STRING,), [("",), ('"',), ("",)]))
def test_plain_text_is_read_back_or_refused(
    tmp_path: Path, data: tuple[tuple[Type, ...], list[tuple[Any, ...]]]
) -> None:
    types, rows = data
    path = tmp_path / "r.facts"
    path.unlink(missing_ok=True)
    try:
        write(path, to_table(types, rows), len(rows), SOUFFLE)
    except DataError as error:
        assert error.code == "unquotable"
        assert not path.exists()
        return
    assert same(read_back(path, None, types), [tuple(row) for row in rows])


@pytest.mark.parametrize("rows", [[(Months(-14),), (Months(0),)], [(Months(0),)]], ids=["some", "none"])
@pytest.mark.parametrize("name", ["csv", "json", "arrow"])
def test_months_are_written_and_read(tmp_path: Path, name: str, rows: list[tuple[Months]]) -> None:
    path = tmp_path / f"r.{name}"
    write(path, to_table((INTERVAL_MONTHS,), rows), len(rows), WRITTEN[name])
    assert read_back(path, None, (INTERVAL_MONTHS,)) == rows


def test_parquet_has_no_months(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        write(tmp_path / "r.parquet", to_table((INTERVAL_MONTHS,), [(Months(1),)]), 1, WRITTEN["parquet"])
    assert caught.value.code == "unsupported-type"


@settings(deadline=None)
@given(
    st.recursive(TEXT, lambda inner: st.lists(inner, max_size=3), max_leaves=8).filter(
        lambda x: type(x) is list
    )
)
def test_list_cells_read_back(items: list[Any]) -> None:
    assert read_list(write_list(tuple(items))) == items


@pytest.mark.parametrize("text", ["", "a", "[", "[a", "[a,]", "[,a]", "[a] b", '["a]', "[a b] [c]", "[[a]"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        read_list(text)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("old")
    with pytest.raises(DataError, match="delimiter or a line end"):
        write(path, pa.table({"x": ["a\tb"]}), 1, SOUFFLE)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write"):
        write(tmp_path / "file" / "r.csv", pa.table({"x": [1]}), 1, SOUFFLE)


def test_floats_stay_floats_when_read_undeclared(tmp_path: Path) -> None:
    from headwater.files.load import settle_types

    path = tmp_path / "r.csv"
    write(path, pa.table({"c0": [1.0, 2.0], "c1": [datetime.date(2024, 2, 29)] * 2}), 2, WRITTEN["csv"])
    contents = read(FactFile(path), "r", ("c0", "c1"), (None, None))
    types = settle_types([contents], lambda known: {"r": known.get("r", (None, None))})
    assert types == {"r": (FLOAT, DATE)}


@pytest.mark.parametrize("kind", ["csv", "tsv", "json", "parquet", "arrow"])
def test_rows_with_nulls_are_written(kind: str) -> None:
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, ""], "c": pa.array([1.5, None, 0.0])})
    data = bytes(encode(table, 3, WRITTEN[kind]))
    if kind == "csv":  # an empty text has quotes beside nulls, which are empty cells
        assert data.splitlines()[-3:] == [b"1,x,1.5", b"2,,", b'3,"",0.0']
    elif kind == "tsv":
        assert data.count(b"\n") == 4
    elif kind == "json":
        assert b'{"a": 2, "b": null, "c": null}' in data
    else:
        buffer = pa.BufferReader(data)
        again = pa.ipc.open_file(buffer).read_all() if kind == "arrow" else parquet.read_table(buffer)
        assert again.to_pydict() == table.to_pydict()
