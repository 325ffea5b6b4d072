"""Text as records of cells, each with its place: the straightforward way to read it.

`text` reads the same much faster but cannot say where a cell stands; it comes here for the first record, for
delimiters of more than one character, and when something is wrong. Both agree on what the cells are:
- a line ends with LF, CR LF or CR; the last line may lack its end;
- with quotes, a cell that starts with `"` goes on to the next `"` that is not doubled, line ends included,
  and what follows that quote up to the delimiter is taken as it is. Elsewhere quotes are plain characters;
- empty lines are no records, unless they are kept.

>>> for record in records('a,"b, c"\\n\\nd,"e""\\nf"\\n', ",", quoted=True):
...     print(record.line, [(cell.text, cell.line, cell.column) for cell in record.cells])
1 [('a', 1, 1), ('b, c', 1, 3)]
3 [('d', 3, 1), ('e"\\nf', 3, 3)]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_LINE_END = re.compile(r"\r\n|\n|\r")
_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"(?!")')


class OpenQuote(Exception):  # noqa: N818
    """A quote that nothing closes."""

    def __init__(self, line: int, column: int):
        """Keep where it was opened."""
        super().__init__(f"line {line}, column {column}")
        self.line = line
        self.column = column


@dataclass(frozen=True)
class Cell:
    """A cell's text without its quotes; the line and column where it starts, and how long it is there."""

    text: str
    line: int
    column: int
    length: int


@dataclass(frozen=True)
class TextRecord:
    """The cells of one record, the line it starts in, and where in the text it ends (past the line's end)."""

    cells: tuple[Cell, ...]
    line: int
    end: int

    @property
    def blank(self) -> bool:
        """Whether there is nothing in its line."""
        return len(self.cells) == 1 and not self.cells[0].length


def records(text: str, delimiter: str, *, quoted: bool, keep_blank: bool = False) -> Iterator[TextRecord]:
    """The records of `text`, in order; raises `OpenQuote`."""
    plain = _plain(delimiter)
    position, line, start = 0, 1, 0  # `start` is where the line starts
    while position < len(text):
        cells = []
        first = line
        while True:
            begin, at = position, (line, position - start + 1)
            if quoted and text.startswith('"', position):
                closed = _QUOTED.match(text, position)
                if closed is None:
                    raise OpenQuote(*at)
                rest = _end(plain, text, closed.end())
                value = closed[0][1:-1].replace('""', '"') + text[closed.end() : rest]
                for line_end in _LINE_END.finditer(closed[0]):
                    line += 1
                    start = begin + line_end.end()
            else:
                rest = _end(plain, text, position)
                value = text[position:rest]
            position = rest
            cells.append(Cell(value, *at, rest - begin))
            if not text.startswith(delimiter, position):
                break
            position += len(delimiter)
        ended = _LINE_END.match(text, position)
        position = ended.end() if ended is not None else position
        line, start = line + 1, position
        record = TextRecord(tuple(cells), first, position)
        if keep_blank or not record.blank:
            yield record


def line_of(text: str, number: int) -> str:
    """Line `number` (from 1) without its end.

    >>> line_of("a\\r\\nb", 2)
    'b'
    """
    start = 0
    for _ in range(number - 1):
        found = _LINE_END.search(text, start)
        if found is None:
            return ""
        start = found.end()
    end = _LINE_END.search(text, start)
    return text[start : end.start() if end is not None else len(text)]


@cache
def _plain(delimiter: str) -> re.Pattern[str]:
    """All up to the delimiter or the end of the line."""
    if len(delimiter) == 1:
        return re.compile(rf"[^{re.escape(delimiter)}\r\n]*")
    return re.compile(rf"(?:(?!{re.escape(delimiter)})[^\r\n])*")


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    assert found is not None  # the pattern matches nothing, too
    return found.end()
