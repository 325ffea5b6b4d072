"""Text files as columns of strings, a column at a time, through Arrow's CSV reader.

What holds is said in `records`, the straightforward way of reading; this one is some fifty times faster and
gives the same cells. What is wrong with a file is found by reading it again the straightforward way, so that
the error can point at the line.

>>> file = TextFile("link.csv", b"src,dst\\na,b\\n", TextLayout(",", quoted=True, width=2, header=True))
>>> [column.to_pylist() for column in file.columns()], file.place(0, 1).line
([['a'], ['b']], 2)
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from itertools import dropwhile, islice
from typing import Any

from headwater.errors import DataError, Place
from headwater.files.records import OpenQuote, TextRecord, line_of, records

MARK = b"\xef\xbb\xbf"
"""The byte order mark, with which some programs begin a text."""

_BLOCK = 1 << 22
_PIECE = 1 << 30
_SHOWN = 120  # characters of a line that an error shows


@dataclass(frozen=True)
class TextLayout:
    """How the text is cut: `width` cells in each record, the first of which is a `header` or not.

    In the columns `nulls` an empty cell is null, and one of two quotes the empty text.
    """

    delimiter: str
    quoted: bool
    width: int
    header: bool = False
    keep_blank: bool = False
    nulls: frozenset[int] = frozenset()


class TextFile:
    """A text file that was read into memory, without the byte order mark it may have had."""

    def __init__(self, path: str, data: bytes, layout: TextLayout):
        """Take the file's bytes; `path` is what errors call it."""
        self.path = path
        self.data = data
        self.layout = layout

    def columns(self, advance: Callable[[int], None] | None = None) -> list[Any]:
        """An Arrow column of strings for each cell of a record. `advance` is told of bytes read."""
        import pyarrow as pa

        data = memoryview(self.data)[self._header_length() :]
        if data[:3] == MARK:
            data = memoryview(MARK + data)  # Arrow drops one, and this one is text
        if self.layout.quoted and data and data[-1] not in b"\r\n":
            data = memoryview(bytes(data) + b"\n")
        if not data:
            return [pa.chunked_array([], pa.string())] * self.layout.width
        if len(self.layout.delimiter) > 1:
            return self._slowly()
        try:
            found = self._quickly(data, _BLOCK, advance)
        except pa.ArrowException:
            self.check()
            return self._slowly()  # nothing is wrong but a record is longer than a block
        if self.layout.quoted and len(found[0]) and (found[-1][-1].as_py() or "").endswith(("\n", "\r")):
            self.check()  # Arrow takes a quote that nothing closes to be closed by the end of the file
        return found

    def _quickly(self, data: memoryview, block: int, advance: Callable[[int], None] | None) -> list[Any]:
        import pyarrow as pa
        from pyarrow import csv

        layout = self.layout
        names = [str(i) for i in range(layout.width)]
        table = csv.read_csv(
            pa.PythonFile(_Watched(data, advance), mode="r"),
            read_options=csv.ReadOptions(column_names=names, block_size=block),
            parse_options=csv.ParseOptions(
                delimiter=layout.delimiter,
                quote_char='"' if layout.quoted else False,
                newlines_in_values=layout.quoted,
                ignore_empty_lines=not layout.keep_blank,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=bool(layout.nulls),
                quoted_strings_can_be_null=False,
            ),
        )
        if not layout.nulls:
            return [_whole(column) for column in table.columns]
        return [
            _whole(column if place in layout.nulls else column.fill_null(""))
            for place, column in enumerate(table.columns)
        ]

    def _slowly(self) -> list[Any]:
        import pyarrow as pa

        nulls = self.layout.nulls
        rows = [
            [
                cell.text if cell.length or place not in nulls else None
                for place, cell in enumerate(record.cells)
            ]
            for record in self.check()
        ]
        columns = list(zip(*rows, strict=True)) or [()] * self.layout.width
        return [pa.chunked_array([pa.array(column, pa.string())]) for column in columns]

    # -------------------------------------------------------------- the straightforward way

    def check(self) -> list[TextRecord]:
        """All records but the header; raises `DataError` at the first that is not what it should be."""
        layout = self.layout
        found = []
        try:
            for record in self._records(self._text()):
                if len(record.cells) != layout.width:
                    raise self._wrong_width(record)
                found.append(record)
        except OpenQuote as quote:
            raise DataError(
                "open-quote",
                f"{self.path}, line {quote.line}: nothing closes this quote",
                place=self._place(quote.line, quote.column, 1),
                hint='write a quote inside a quoted cell twice: "",'
                " or use the extension .facts for text without quotes",
            ) from None
        return found

    def place(self, row: int, column: int) -> Place | None:
        """Where the cell is (both counted from 0)."""
        for record in islice(self._records(self._text()), row, row + 1):
            cell = record.cells[column]
            return self._place(cell.line, cell.column, cell.length)
        return None

    def _records(self, text: str) -> Any:
        layout = self.layout
        found = records(text, layout.delimiter, quoted=layout.quoted, keep_blank=layout.keep_blank)
        if not layout.header:
            return found
        return islice(dropwhile(lambda record: record.blank, found), 1, None)

    def _text(self) -> str:
        return decode(self.data, self.path)

    def _header_length(self) -> int:
        if not self.layout.header:
            return 0
        return first_record(self.data, self.path, self.layout.delimiter, self.layout.quoted)[1]

    def _place(self, line: int, column: int, length: int) -> Place:
        text = line_of(self._text(), line)
        if len(text) > _SHOWN:
            start = max(0, min(column - 1 - _SHOWN // 3, len(text) - _SHOWN))
            text, column = text[start : start + _SHOWN], column - start
        return Place(self.path, line, column, length, text)

    def _wrong_width(self, record: TextRecord) -> DataError:
        number = len(record.cells)
        expected = self.layout.width
        last = record.cells[-1]
        hint = None
        if number == 1:
            name = {"\t": "tabs", ",": "commas"}.get(self.layout.delimiter, repr(self.layout.delimiter))
            hint = f"cells are separated by {name} here; see delimiter= in `.input`, or the file's extension"
            others = [mark for mark in ";|\t," if mark in last.text]
            if others:
                hint = f'cells are separated by {name} here; for {others[0]!r}: delimiter="{others[0]}" in `.input`'
        return DataError(
            "wrong-arity",
            f"{self.path}, line {record.line}: {number} {'cell' if number == 1 else 'cells'}, "
            f"expected {expected}",
            place=self._place(last.line, last.column, last.length),
            hint=hint,
        )


def first_record(data: bytes, path: str, delimiter: str, quoted: bool) -> tuple[tuple[str, ...], int]:
    """The cells of the first record that is not blank (none, if all are), and the number of bytes up to the next."""
    size = 1 << 16
    while True:
        text = decode(data[:size], path, cut=size < len(data))
        try:
            for record in records(text, delimiter, quoted=quoted):
                if record.end < len(text) or size >= len(data):
                    cells = tuple(cell.text for cell in record.cells)
                    return cells, len(text[: record.end].encode())
                break
        except OpenQuote:
            if size >= len(data):
                return (), 0  # whoever reads the records will say so
        if size >= len(data):
            return (), len(data)
        size *= 16


def decode(data: bytes, path: str, *, cut: bool = False) -> str:
    """The text of a file; with `cut`, its last character may be there in part only."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if cut and error.start >= len(data) - 3:
            return data[: error.start].decode()
        line = len(data[: error.start].splitlines()) or 1
        raise DataError(
            "not-utf8",
            f"{path}, line {line}: byte {error.start + 1} ({data[error.start]:#04x}) is not UTF-8",
            hint=f"convert the file first, for example: iconv -f latin1 -t utf-8 {path}",
        ) from None


def _whole(column: Any) -> Any:
    """The column in one piece, where it fits: its distinct strings are then looked up once, not per piece."""
    return column.combine_chunks() if column.nbytes < _PIECE else column


class _Watched(io.RawIOBase):
    """Bytes in memory as a file that tells how far it was read."""

    def __init__(self, data: memoryview, advance: Callable[[int], None] | None):
        self._data = data
        self._advance = advance
        self._position = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        end = len(self._data) if size is None or size < 0 else self._position + size
        block = bytes(self._data[self._position : end])
        self._position += len(block)
        if self._advance is not None:
            self._advance(len(block))
        return block
