"""Tables and values on the screen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from headwater.values.forms import form

if TYPE_CHECKING:
    from rich.console import Console

    from headwater.provenance.show.lines import Line

_WIDE = 10_000  # where there is no terminal, a table is as wide as it needs to be

_IN_COLOURS = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""What may tell rich that there is a terminal, in any case."""


def console(stream: TextIO | None = None) -> Console:
    """A console on the stream (default: standard output) that prints data as it is."""
    from rich.console import Console

    stream = stream or sys.stdout
    width = None if stream.isatty() else _WIDE
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Iterable[str] = (),
    stream: TextIO | None = None,
) -> None:
    """A table; the columns with these headings are numbers and stand to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in headings:
        justify: Any = "right" if heading in numbers else "left"
        table.add_column(heading, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console(stream).print(table)


def print_lines(lines: Iterable[Line]) -> None:
    """Styled lines on standard output. Where there is no terminal, styles are not seen, and rich is not imported."""
    lines = list(lines)
    texts = ["".join(text for text, _ in line) for line in lines]
    styled = sys.stdout.isatty() or any(name in os.environ for name in _IN_COLOURS)
    if not styled and all(map(str.isprintable, texts)):
        sys.stdout.write("\n".join(texts) + "\n")
        return
    from headwater.provenance.show.lines import rich_text

    console().print(rich_text(lines), soft_wrap=True)


def shown(value: object) -> str:
    """A value in a table's cell: as it is, or quoted where that would be unclear.

    >>> shown("a b"), shown(""), shown("a\\tb"), shown(1.5), shown((1, 2))
    ('a b', "''", "'a\\\\tb'", '1.5', '[1, 2]')
    """
    text = form(value)
    return text if text.isprintable() and text.strip() == text != "" else repr(text)


def written(relation: str, row: Sequence[object]) -> str:
    """A row as a fact.

    >>> written("link", ("a", 1, True))
    'link("a", 1, true)'
    """
    from headwater.language.datalog.render import render
    from headwater.language.program import Atom, Constant

    try:
        return render(Atom(relation, tuple(Constant(value) for value in row)))
    except Exception:  # a float such as inf has no constant
        return f"{relation}({', '.join(map(shown, row))})"


def seconds(duration: float) -> str:
    """A duration in words.

    >>> seconds(0.01234), seconds(2.5)
    ('12.3 ms', '2.50 s')
    """
    return f"{duration * 1e3:.1f} ms" if duration < 1 else f"{duration:.2f} s"
