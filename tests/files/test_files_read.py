"""Which rows a file holds: formats, headers, types that nobody declared, and everything that is refused."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from files_support import file, rows
from pyarrow import feather, parquet

from headwater.errors import DataError, LanguageError
from headwater.files.contents import FactFile
from headwater.files.find import FactFolder
from headwater.files.formats import CSV, SOUFFLE, Format, with_options
from headwater.files.load import by_relation, load
from headwater.files.read import read
from headwater.files.typed import typed
from headwater.language.datalog import parse
from headwater.rules.check import check
from headwater.values.functions import Functions
from headwater.values.types import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    list_of,
)

# ------------------------------------------------------------------ formats and headers


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("r.facts", "a\t1\nb\t2\n", [("a", 1), ("b", 2)]),
        ("r.facts", "a\t1\r\nb\t2", [("a", 1), ("b", 2)]),
        ("r.facts", '"a"\t1\n', [('"a"', 1)]),
        ("r.csv", "a,1\nb,2\n", [("a", 1), ("b", 2)]),
        ("r.csv", "x,n\na,1\n", [("a", 1)]),
        ("r.csv", "\ufeffx,n\na,1\n", [("a", 1)]),
        ("r.facts", "\ufeffa\t1\n", [("a", 1)]),
        ("r.csv", "n,x\n1,a\n", [("a", 1)]),
        ("r.csv", '"n","x"\n1,"a, b"\n', [("a, b", 1)]),
        ("r.csv", "a\t1\nb\t2\n", [("a", 1), ("b", 2)]),
        ("r.csv", "x\tn\na,b\t1\n", [("a,b", 1)]),
        ("r.tsv", 'x\tn\n"a\tb"\t1\n', [("a\tb", 1)]),
        ("r.json", '[{"x": "a", "n": 1}, {"n": 2, "x": "b"}]', [("a", 1), ("b", 2)]),
        ("r.json", '[["a", 1]]', [("a", 1)]),
        ("r.jsonl", '{"n": 1, "x": "a"}\n\n{"n": 2, "x": "b"}\n', [("a", 1), ("b", 2)]),
        ("r.facts", "", []),
        ("r.csv", "x,n\n", []),
        ("r.csv", "\n\n", []),
        ("r.json", "[]", []),
        ("r.json", "", []),
        ("r.jsonl", "\n", []),
    ],
)
def test_formats(tmp_path: Path, name: str, text: str, expected: list[Any]) -> None:
    assert rows(file(tmp_path, name, text), "x: string, n: int") == expected


def test_packed_files_are_unpacked(tmp_path: Path) -> None:
    path = file(tmp_path, "r.csv.gz", gzip.compress(b"x,n\na,1\n"))
    assert rows(path, "x: string, n: int") == [("a", 1)]


def test_arrow_and_parquet(tmp_path: Path) -> None:
    table = pa.table({"n": [1, 2], "x": ["a", "b"]})
    parquet.write_table(table, tmp_path / "r.parquet")
    feather.write_feather(table, str(tmp_path / "r.feather"))
    with pa.ipc.new_stream(str(tmp_path / "r.arrow"), table.schema) as writer:
        writer.write_table(table)
    for name in ("r.parquet", "r.feather", "r.arrow"):
        assert rows(tmp_path / name, "x: string, n: int") == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        ({"delimiter": ","}, '"a",1\n', [('"a"', 1)]),
        ({"delimiter": ",", "rfc4180": "true"}, '"a",1\n', [("a", 1)]),
        ({"rfc4180": "true"}, '"a",1\n', [("a", 1)]),
        ({"headers": "true"}, "what\tever\na\t1\n", [("a", 1)]),
        ({"headers": "true", "delimiter": ";"}, "n;x\n1;a\n", [("a", 1)]),
        ({"delimiter": "::"}, "a::1\n", [("a", 1)]),
    ],
)
def test_souffles_options(tmp_path: Path, options: dict[str, str], text: str, expected: list[Any]) -> None:
    path = file(tmp_path, "r.txt", text)
    assert rows(path, "x: string, n: int", with_options(None, options)) == expected


@pytest.mark.parametrize(
    ("format", "options"),
    [
        (None, {"delimiter": ""}),
        (None, {"delimiter": "\n"}),
        (None, {"headers": "maybe"}),
        (Format("parquet"), {"delimiter": ","}),
    ],
)
def test_options_that_make_no_sense_are_refused(format: Format | None, options: dict[str, str]) -> None:
    with pytest.raises(LanguageError):
        with_options(format, options)


def test_an_extension_without_options_keeps_its_format() -> None:
    assert with_options(CSV, {}) == CSV
    assert with_options(None, {}) == SOUFFLE


def test_one_column_keeps_its_empty_strings(tmp_path: Path) -> None:
    assert rows(file(tmp_path, "r.facts", "a\n\nb\n"), "x: string") == [("a",), ("",), ("b",)]
    assert rows(file(tmp_path, "r.facts", "1\n\n2\n\n"), "x: int") == [(1,), (2,)]


def test_a_relation_without_columns(tmp_path: Path) -> None:
    assert rows(file(tmp_path, "r.facts", "()\n"), "") == [()]
    assert rows(file(tmp_path, "r.facts", ""), "") == []
    with pytest.raises(DataError, match="is not"):
        rows(file(tmp_path, "r.facts", "yes\n"), "")


# ------------------------------------------------------------------ cells


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (INT, "007", 7),
        (INT, "+7", 7),
        (INT, " 7 ", 7),
        (INT, "0x1F", 31),
        (INT, "-0b11", -3),
        (INT, "-9223372036854775808", -(2**63)),
        (FLOAT, "1", 1.0),
        (FLOAT, "1e-300", 1e-300),
        (FLOAT, "-inf", float("-inf")),
        (FLOAT, "Infinity", float("inf")),
        (FLOAT, ".5", 0.5),
        (BOOL, "True", True),
        (BOOL, "0", False),
        (STRING, " 7 ", " 7 "),
        (DATE, "2024-02-29", "2024-02-29"),
        (TIMESTAMP, "2024-02-29 10:00:00Z", "2024-02-29T10:00:00+00:00"),
        (TIMESTAMP, "2024-02-29T10:00:00.5+01:00", "2024-02-29T09:00:00.500000+00:00"),
        (TIMESTAMP_NTZ, "2024-02-29 10:00:00", "2024-02-29T10:00:00"),
        (list_of(INT), "[1, 2]", [1, 2]),
        (list_of(STRING), "[a b, c]", ["a b", "c"]),
    ],
)
def test_cells_are_read_by_their_type(tmp_path: Path, type: Type, text: str, value: Any) -> None:
    ((found,),) = rows(file(tmp_path, "r.facts", text + "\n"), f"x: {type}")
    assert (found.isoformat() if hasattr(found, "isoformat") else found) == value


@pytest.mark.parametrize(
    ("type", "text", "message"),
    [
        ("int", "x", "'x' is no int: it is not a whole number"),
        ("int", "1.0", "'1.0' is no int"),
        ("int", "1_000", "is no int"),
        ("int", "9223372036854775808", "it does not fit 64 bits"),
        ("float", "1e400", "it is too large for a float"),
        ("float", "1,5", "it is not a number"),
        ("bool", "yes", "it is neither true nor false"),
        ("date", "2024-02-30", "day is out of range"),
        ("date", "2024-2-3", "it is not a date"),
        ("timestamp", "noon", "it is not a time"),
        ("list[int]", "[1, x]", "it is not a whole number"),
        ("list[int]", "1", "it is not a list"),
        ("list[int]", "[[1]]", "should not be lists"),
    ],
)
def test_bad_cells_are_named_and_shown(tmp_path: Path, type: str, text: str, message: str) -> None:
    good = {"int": "1", "float": "1", "bool": "true", "date": "2024-01-01", "timestamp": "2024-01-01"}
    path = file(tmp_path, "r.tsv", f"k\tx\n\na\t{good.get(type, '[]')}\nb\t{text}\n")
    with pytest.raises(DataError) as caught:
        rows(path, f"k: string, x: {type}")
    error = caught.value
    assert error.message.startswith(f"{path}, line 4, column x: ")
    assert message in error.message
    assert error.place is not None
    assert (error.place.line, error.place.column, error.place.text) == (4, 3, f"b\t{text}")


def test_a_bad_first_line_may_be_a_header(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        rows(file(tmp_path, "r.csv", "from,cost\na,1\n"), "x: string, n: int")
    assert "if this line is a header, let it name the columns: x, n" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("r.csv", "a,1\nb\n", "line 2: 1 cell, expected 2"),
        ("r.csv", "a,1,2\n", "line 1: 3 cells, expected 2"),
        ("r.csv", 'a,1\n"b,2\n', "line 2: nothing closes this quote"),
        ("r.csv", b"a,1\nb\xff,2\n", "line 2: byte 6 (0xff) is not UTF-8"),
        ("r.json", "[1]", "not an array of objects or arrays"),
        ("r.json", "{}", "not an array"),
        ("r.json", '[["a", 1],\n["b"', "line 2: this is not JSON"),
        ("r.json", '[["a", 1], ["b"]]', "row 2: expected an array of 2 values"),
        ("r.json", '[["a", "b"]]', "row 1, column n: 'b' is a str, expected int"),
        ("r.jsonl", '{"x": "a", "n": 1}\n{"x": "b"}', "row 2: expected an object with x, n"),
        ("r.json", '[{"y": "a", "n": 1, "z": 2}]', "its columns are y, n, z; r has x, n"),
        ("r.parquet", "nothing", "cannot read"),
        ("r.arrow", "nothing", "cannot read"),
        ("r.csv.gz", b"\x1f\x8bnothing", "cannot read"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, name: str, text: str | bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        rows(file(tmp_path, name, text), "x: string, n: int")
    assert message in caught.value.message


def test_a_wrong_number_of_columns_in_a_header(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="its columns are a, b, c; r has x, n"):
        rows(
            file(tmp_path, "r.txt", "a,b,c\n1,2,3\n"),
            "x, n",
            with_options(None, {"delimiter": ",", "headers": "true"}),
        )


def test_a_missing_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read .*: No such file"):
        rows(tmp_path / "r.csv", "x")


# ------------------------------------------------------------------ types that nobody declared


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "-2", "0"], INT),
        (["1", " 2"], INT),
        (["1", "2.5"], FLOAT),
        (["1e3", "nan"], FLOAT),
        (["nan", "inf"], STRING),
        (["007"], STRING),
        (["+1"], STRING),
        (["9223372036854775808"], STRING),
        (["2024-02-29"], DATE),
        (["2024-02-30"], STRING),
        (["true", "false"], BOOL),
        (["true", "1"], STRING),
        (["1", ""], STRING),
        (["1", "x"], STRING),
    ],
)
def test_types_are_inferred_from_the_whole_column(texts: list[str], expected: Type) -> None:
    from headwater.files.infer import infer

    assert infer(pa.array(texts)) == expected


PATHS = "reach(X, Y) :- link(X, Y, _). reach(X, Y) :- link(X, Z, _), reach(Z, Y)."


def loaded(folder: Path, text: str, files: Mapping[str, str]) -> dict[str, list[tuple[Any, ...]]]:
    program = parse(text)
    relations = check(program, Functions()).relations

    def types_of(known: Mapping[str, tuple[Type | None, ...]]) -> Mapping[str, tuple[Type | None, ...]]:
        return {n: i.types for n, i in check(program, Functions(), known=known).relations.items()}

    contents = []
    for name, written in files.items():
        info = relations[name.partition(".")[0]]
        contents.append(read(FactFile(file(folder, name, written)), info.name, info.columns, info.types))
    found = by_relation(contents, load(contents, types_of))
    return {
        name: list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        for name, table in found.items()
    }


def test_columns_that_rules_join_are_inferred_together(tmp_path: Path) -> None:
    assert loaded(tmp_path, PATHS, {"link.csv": "1,2,5\n2,x,6\n"}) == {"link": [("1", "2", 5), ("2", "x", 6)]}


def test_also_across_files(tmp_path: Path) -> None:
    text = "p(X) :- a(X), b(X)."
    assert loaded(tmp_path, text, {"a.facts": "1\n", "b.facts": "2.5\n"}) == {"a": [(1.0,)], "b": [(2.5,)]}
    assert loaded(tmp_path, text, {"a.facts": "1\n", "b.facts": "x\n"}) == {"a": [("1",)], "b": [("x",)]}


def test_a_file_with_types_decides(tmp_path: Path) -> None:
    text = "p(X) :- a(X), b(X)."
    assert loaded(tmp_path, text, {"a.facts": "1\n", "b.json": '[["2"]]'}) == {"a": [("1",)], "b": [("2",)]}


def test_a_rule_decides(tmp_path: Path) -> None:
    assert loaded(tmp_path, 'p(X) :- a(X), X != "z".', {"a.facts": "1\n"}) == {"a": [("1",)]}


def test_lists_of_unknown_elements(tmp_path: Path) -> None:
    text = "a(x: list). p(X) :- a(X)."
    assert loaded(tmp_path, text, {"a.facts": "[1, 2]\n[]\n"}) == {"a": [([1, 2],), ([],)]}


@pytest.mark.parametrize("text", ["src,dst\n1,2\n2,3\n", "x, Y\na,b\n"])
def test_what_looks_like_a_header_is_not_taken_for_a_row(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError) as caught:
        loaded(tmp_path, "p(X, Y) :- a(X, Y).", {"a.csv": text})
    assert caught.value.code == "likely-header"


# ------------------------------------------------------------------ finding


def test_the_file_of_a_relation(tmp_path: Path) -> None:
    for name in ("a.facts", "b.csv", "b.parquet", "c.md", ".d.csv", "e.csv.gz", "f.parquet.gz"):
        file(tmp_path, name, "")
    folder = FactFolder(tmp_path)
    assert folder.file_of("a") == tmp_path / "a.facts"
    assert folder.file_of("e") == tmp_path / "e.csv.gz"
    assert [folder.file_of(name) for name in "cdf"] == [None, None, None]
    with pytest.raises(DataError, match="b.csv and .*b.parquet"):
        folder.file_of("b")


def test_json_numbers_that_json_lacks(tmp_path: Path) -> None:
    path = file(tmp_path, "r.json", json.dumps([[1.5], ["-inf"], [2]]))
    assert rows(path, "x") == [(1.5,), (float("-inf"),), (2.0,)]


def test_an_empty_cell_is_a_missing_value_but_where_texts_are_wanted(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text('a,b,c,d\n1,x,1.5,"[1]"\n2,,,\n3,"",0.0,[]\n')
    types = (INT, STRING, FLOAT, list_of(INT))
    contents = read(FactFile(path), "r", ("a", "b", "c", "d"), types)
    assert typed(contents, types).to_pydict() == {
        "a": [1, 2, 3], "b": ["x", "", ""], "c": [1.5, None, 0.0], "d": [[1], None, []],
    }  # fmt: skip
