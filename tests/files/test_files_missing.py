"""Rows without a value where one is needed, and the file that they are put aside in."""

import json
from pathlib import Path

import pytest

from headwater.errors import DataError
from headwater.files.missing import RefusedRow, on_null
from headwater.files.quarantine import put_aside


def row(number: int, source: str = "links") -> RefusedRow:
    return RefusedRow(source, "link", number, "dst", {"src": "ä", "dst": None})


def versions(path: Path) -> list[tuple[int, int]]:
    return [(line["version"], line["row"]) for line in map(json.loads, path.read_text().splitlines())]


@pytest.mark.parametrize("said", ["dorp", "FAIL", "", None, 3, True, "a\0.b"])
def test_ways_that_do_not_exist_are_refused(said: object) -> None:
    with pytest.raises(DataError) as caught:
        on_null(said, "--on-null")
    assert caught.value.code == "unknown-option" and "--on-null is" in caught.value.message
    assert "fail, drop, keep" in str(caught.value.hint)


def test_paths_are_told_from_words() -> None:
    assert on_null(Path("a/b")).path == "a/b"
    assert [on_null(said).path for said in ("./drop", "refused.jsonl", "drop")] == [
        "./drop",
        "refused.jsonl",
        None,
    ]


def test_a_version_is_written_once_however_often_it_is_tried(tmp_path: Path) -> None:
    path = tmp_path / "new" / "refused.jsonl"
    put_aside(path, 1, [row(1), row(2)])
    put_aside(path, 2, [row(3)])
    put_aside(path, 2, [row(4), row(5)])
    assert versions(path) == [(1, 1), (1, 2), (2, 4), (2, 5)]
    put_aside(path, 1, [row(9)])  # a state that was begun anew
    assert versions(path) == [(1, 9)]


def test_lines_of_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "refused.jsonl"
    put_aside(path, 5, [row(1, "other")])
    put_aside(path, 3, [row(2)])
    put_aside(path, 3, [row(3)])
    assert versions(path) == [(5, 1), (3, 3)]


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_line_that_was_cut_off_is_replaced(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "refused.jsonl"
    put_aside(path, 1, [row(1)])
    put_aside(path, 2, [row(2)])
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    put_aside(path, 2, [row(2)])
    assert path.read_bytes() == data


def test_long_rows_are_found_from_the_end(tmp_path: Path) -> None:
    path = tmp_path / "refused.jsonl"
    long = RefusedRow("links", "link", 1, "dst", {"src": "x" * 200_000, "dst": None})
    put_aside(path, 1, [row(1)])
    for _ in range(2):
        put_aside(path, 2, [long, long])
    assert versions(path) == [(1, 1), (2, 1), (2, 1)]


def test_a_file_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text("src,dst\na,b")
    with pytest.raises(DataError) as caught:
        put_aside(path, 1, [row(1)])
    assert caught.value.code == "overwrite" and path.read_text() == "src,dst\na,b"


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "refused.jsonl"):
        with pytest.raises(DataError, match="cannot write"):
            put_aside(place, 1, [row(1)])
