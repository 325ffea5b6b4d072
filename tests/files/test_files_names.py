"""Names in files: which column is which, and whether a first line is names or a row."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from files_support import file, rows
from pyarrow import feather, parquet

from headwater.errors import DataError
from headwater.files.contents import FactFile
from headwater.files.formats import CSV
from headwater.files.read import read


def table_of(path: Path, columns: str, *, named: bool, header: bool | None = None) -> list[Any]:
    names = tuple(columns.split())
    format = replace(CSV, header=header) if header is not None else None
    contents = read(FactFile(path, format), "r", names, (None,) * len(names), named=named)
    return [list(column) if contents.kind == "values" else column.to_pylist() for column in contents.columns]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    "text", ["from,to\na,b\nb,c\n", "from,to\n", "one two,to\na,b\n", "a,b\nc,d\n", "größe,b\nc,d\n"]
)
def test_a_first_line_that_could_be_names_is_refused_until_somebody_says(
    tmp_path: Path, text: str, named: bool
) -> None:
    path = file(tmp_path, "r.csv", text)
    with pytest.raises(DataError) as caught:
        table_of(path, "src dst", named=named)
    assert caught.value.code == "likely-header" and "those of r are src, dst" in caught.value.message
    assert "--header or --no-header" in str(caught.value.hint)
    first, *rest = (line.split(",") for line in text.splitlines())
    assert (
        table_of(path, "src dst", named=named, header=True) == [list(c) for c in zip(*rest, strict=True)]
        or not rest
    )
    assert table_of(path, "src dst", named=named, header=False)[0][0] == first[0]


@pytest.mark.parametrize(
    "text",
    [
        "a,b\nb,c\n",
        "a,b\na,c\n",
        "a,1\nc,2\n",
        "true,b\nfalse,c\n",
        "2024-01-01,b\nc,d\n",
        "a,a\nc,d\n",
        ",b\nc,d\n",
    ],
)
def test_a_first_line_that_can_only_be_a_row_is_one(tmp_path: Path, text: str) -> None:
    first = text.splitlines()[0].split(",")
    assert [column[0] for column in table_of(file(tmp_path, "r.csv", text), "src dst", named=True)] == first


def test_text_that_souffle_wrote_has_no_header(tmp_path: Path) -> None:
    assert table_of(file(tmp_path, "r.csv", "from\tto\n"), "src dst", named=True) == [["from"], ["to"]]
    assert table_of(file(tmp_path, "r.facts", "from\tto\n"), "src dst", named=True) == [["from"], ["to"]]


@pytest.mark.parametrize(
    "text", ["src,cost\na,b\n", "dst,Src\na,b\n", "Dst,Src\na,b\n", "src,dst,cost\na,b,c\n", "src\na\n"]
)
def test_a_header_that_matches_in_part_is_refused_whatever_was_said(tmp_path: Path, text: str) -> None:
    path = file(tmp_path, "r.csv", text)
    with pytest.raises(DataError) as caught:
        table_of(path, "src dst", named=True, header=True)
    names = text.splitlines()[0].replace(",", ", ")
    assert caught.value.code == "column-names"
    assert f"its columns are {names}; r has src, dst" in caught.value.message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("src,dst,price\na,b,1\n", "column-names"),
        ("src,dst,cost,note\na,b,1,x\n", "column-names"),
        ("src,dst\na,b\n", "column-names"),
        ("src,src,cost\na,b,1\n", "duplicate-column"),
        ("Src,Dst,Cost\na,b,1\n", "likely-header"),
        ("from,to,price\na,b,1\n", "likely-header"),
        ("a,b,nan\nc,d,1\n", None),
        ("src,b,1\nc,d,1\n", None),
    ],
)
def test_names_among_other_types_are_told_from_rows(tmp_path: Path, text: str, code: str | None) -> None:
    path = file(tmp_path, "r.csv", text)
    columns = "src: string, dst: string, cost: float"
    if code is None:
        assert len(rows(path, columns)) == 2
        return
    with pytest.raises(DataError) as caught:
        rows(path, columns)
    assert caught.value.code == code and "--no-header" in str(caught.value.hint)
    assert text.splitlines()[0].replace(",", ", ") in caught.value.message


def test_a_name_twice_in_a_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two are called src"):
        table_of(file(tmp_path, "r.csv", "src,src\na,b\n"), "src dst", named=True, header=True)


@pytest.mark.parametrize(
    "names", [("src", "cost"), ("from", "to"), ("Src", "dst"), ("src", "dst", "cost"), ("src",)]
)
def test_names_in_other_formats_are_the_relations(tmp_path: Path, names: tuple[str, ...]) -> None:
    table = pa.table({name: ["a"] for name in names})
    parquet.write_table(table, tmp_path / "r.parquet")
    feather.write_feather(table, str(tmp_path / "r.feather"))
    file(tmp_path, "r.json", json.dumps(table.to_pylist()))
    file(tmp_path, "r.jsonl", json.dumps(table.to_pylist()[0]))
    for name in ("r.parquet", "r.feather", "r.json", "r.jsonl"):
        with pytest.raises(DataError) as caught:
            table_of(tmp_path / name, "src dst", named=True)
        assert caught.value.code == "column-names" and caught.value.hint
        assert f"its columns are {', '.join(names)}; r has src, dst" in caught.value.message


def test_names_that_promise_nothing_leave_files_to_their_order(tmp_path: Path) -> None:
    file(tmp_path, "r.json", '[{"from": "a", "to": "b"}]')
    assert table_of(tmp_path / "r.json", "X Y", named=False) == [["a"], ["b"]]
    file(tmp_path, "r.json", '[{"Y": "a", "to": "b"}]')
    with pytest.raises(DataError, match="its columns are Y, to; r has X, Y"):
        table_of(tmp_path / "r.json", "X Y", named=False)
