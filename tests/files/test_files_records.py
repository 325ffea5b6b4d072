"""The straightforward reader of text, and that the quick one agrees with it."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwater.errors import DataError
from headwater.files.records import OpenQuote, records
from headwater.files.text import TextFile, TextLayout

ALPHABET = ["a", "b", ",", "\t", '"', '""', "\n", "\r\n", "\r", " ", "é", "\0", "\u2028", ";"]


def cells(text: str, delimiter: str = ",", quoted: bool = True, **more: bool) -> list[list[str]]:
    return [[cell.text for cell in r.cells] for r in records(text, delimiter, quoted=quoted, **more)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a,b", [["a", "b"]]),
        ("a,b\n", [["a", "b"]]),
        ("a,\n,b", [["a", ""], ["", "b"]]),
        ("a\r\nb\rc\n", [["a"], ["b"], ["c"]]),
        ("a\n\n\nb", [["a"], ["b"]]),
        ('"a,b",c', [["a,b", "c"]]),
        ('"a""b"', [['a"b']]),
        ('"a\nb",c\n', [["a\nb", "c"]]),
        ('a"b,c', [['a"b', "c"]]),
        ('"a"b,c', [["ab", "c"]]),
        ('"",""\n', [["", ""]]),
        ('""\n', [[""]]),
    ],
)
def test_quoted_text_is_cut_into_cells(text: str, expected: list[list[str]]) -> None:
    assert cells(text) == expected


def test_plain_text_knows_no_quotes() -> None:
    assert cells('"a\tb"\n"\t', "\t", quoted=False) == [['"a', 'b"'], ['"', ""]]


def test_empty_lines_can_be_kept() -> None:
    assert cells("a\n\nb\n", "\t", quoted=False, keep_blank=True) == [["a"], [""], ["b"]]


def test_a_delimiter_may_be_long() -> None:
    assert cells("a||b|c||\n", "||", quoted=False) == [["a", "b|c", ""]]


@pytest.mark.parametrize("text", ['"a', 'a","b', 'a,"b\nc,d\n', '"a""b'])
def test_a_quote_must_be_closed(text: str) -> None:
    with pytest.raises(OpenQuote):
        cells(text)


def test_places_count_lines_and_characters() -> None:
    found = [
        (cell.text, cell.line, cell.column)
        for record in records('x,"1\n2",y\n\nz,w', ",", quoted=True)
        for cell in record.cells
    ]
    assert found == [("x", 1, 1), ("1\n2", 1, 3), ("y", 2, 4), ("z", 4, 1), ("w", 4, 3)]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(ALPHABET), max_size=25).map("".join),
    st.sampled_from([",", "\t"]),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
)
@example('a,"b\n', ",", True, False, 2)
@example('"a""b', ",", True, False, 1)
@example('a",",', ",", True, False, 2)
@example('"a\n"\n', ",", True, False, 1)
@example("\r\n\r\n", ",", False, True, 1)
@example('a\n\n""\n\n', ",", True, True, 1)
def test_the_quick_reader_agrees(
    text: str, delimiter: str, quoted: bool, keep_blank: bool, width: int
) -> None:
    keep_blank = keep_blank and width == 1
    expected: object
    try:
        rows = cells(text, delimiter, quoted, keep_blank=keep_blank)
        expected = rows if all(len(row) == width for row in rows) else "wrong-arity"
    except OpenQuote:
        expected = "refused"
    layout = TextLayout(delimiter, quoted, width, keep_blank=keep_blank)
    try:
        columns = TextFile("f", text.encode(), layout).columns()
        found: object = [list(row) for row in zip(*(column.to_pylist() for column in columns), strict=True)]
    except DataError as error:
        found = error.code
    if expected == "refused":
        assert found in ("open-quote", "wrong-arity")
    else:
        assert found == expected


def test_a_record_longer_than_a_block_is_read() -> None:
    long = "x" * (5 << 20)
    columns = TextFile("f", f'a,"{long}"\nb,c\n'.encode(), TextLayout(",", True, 2)).columns()
    assert [column.to_pylist() for column in columns] == [["a", "b"], [long, "c"]]


def test_a_second_byte_order_mark_is_text() -> None:
    assert TextFile("f", "\ufeffa\n".encode(), TextLayout(",", True, 1)).columns()[0].to_pylist() == [
        "\ufeffa"
    ]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(ALPHABET), max_size=20).map("".join), st.integers(1, 3), st.booleans())
@example('a,""\n,\n"",b', 2, False)
@example('\n\n"x"\n\n""\n', 1, True)
@example("\n", 1, True)
def test_empty_cells_without_quotes_are_nulls_where_they_are_wanted(
    text: str, width: int, header: bool
) -> None:
    layout = TextLayout(",", True, width, header, keep_blank=width == 1, nulls=frozenset({0}))
    file = TextFile("f", text.encode(), layout)
    try:
        quick = [column.to_pylist() for column in file.columns()]
    except DataError:
        return
    assert [column.to_pylist() for column in file._slowly()] == quick
    for row, cell in enumerate(quick[0]):
        place = file.place(row, 0)
        assert place is not None and (cell is None) == (place.length == 0)
