"""What a notebook shows: tables and trees as HTML that goes with light and dark pages.

Colours are the page's own, lines a grey that both know. Every text is escaped, long ones and long tables are cut, and
say so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

from headwater.values.forms import form
from headwater.wording import counted

MOST_ROWS = 20
"""How many rows of a table a notebook shows."""
MOST_COLUMNS = 30
MOST_CHARACTERS = 200
"""How much of a value is shown."""
_LINE = "1px solid rgba(128,128,128,0.4)"
_CELL = f"padding:2px 12px 2px 0;text-align:{{align}};border-bottom:{_LINE};vertical-align:top;color:inherit"
_STRIP_WIDTH = 240
_STYLES = {
    "bold": "font-weight:bold",
    "dim": "opacity:0.65",
    "yellow": "color:#b58900",
    "red": "color:#dc5050",
    "green": "color:#3c9a3c",
    "cyan": "color:#2a9bb0",
}


def visible(text: str) -> str:
    """The text with every character that cannot be seen written as its escape, as HTML, XML and Graphviz need it.

    >>> visible("a\\x00b\\u202ec é")
    'a\\\\x00b\\\\u202ec é'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cell(value: object) -> str:
    """A value as text: NULL apart from the string, and what cannot be seen as its escape.

    >>> cell("a<b"), cell(None), cell(1.5), cell("a\\tb"), cell("")
    ('a&lt;b', '<i style="opacity:0.65">null</i>', '1.5', '&#x27;a\\\\tb&#x27;', '&#x27;&#x27;')
    """
    if value is None:
        return '<i style="opacity:0.65">null</i>'
    text = form(value)
    if not text.isprintable() or text.strip() != text or not text:
        text = repr(text)
    return escape(text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…")


def heading(name: str, below: object = None) -> str:
    """The name of a column, and its type in small."""
    if below is None:
        return escape(name)
    return f'{escape(name)}<br><small style="font-weight:normal;opacity:0.65">{escape(str(below))}</small>'


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = (), note: str = ""
) -> str:
    """A table of headings and cells that are HTML already; columns of `right` stand to the right.

    >>> "<th" in table(["a"], [["1"]]), "2 rows" in table(["a"], [["1"]], note="2 rows")
    (True, True)
    """
    cut = len(headings) - MOST_COLUMNS
    aligned = [_CELL.format(align="right" if place in right else "left") for place in range(len(headings))]
    aligned = aligned[:MOST_COLUMNS]
    if cut > 0:
        note = f"{note}, " * bool(note) + f"{cut:,} more columns"
    head = "".join(f'<th style="{style}">{text}</th>' for style, text in zip(aligned, headings, strict=False))
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{style}">{text}</td>' for style, text in zip(aligned, row, strict=False))
        + "</tr>"
        for row in rows
    )
    shown = (
        '<table style="border-collapse:collapse;background:transparent">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
    return shown + paragraph(note) if note else shown


def rows_table(
    columns: Sequence[str],
    types: Sequence[object],
    rows: Sequence[Sequence[object]],
    count: int,
    *,
    of: str = "",
) -> str:
    """The first rows of a relation or answer, with types, and how many there are."""
    shown = rows[:MOST_ROWS]
    right = {place for place, type in enumerate(types) if str(type).startswith(("int", "float", "decimal"))}
    note = f"{of + ': ' if of else ''}{counted(count, 'row')}"
    note += f", {len(shown):,} of them shown" if count > len(shown) and columns else ""
    if not columns:
        return paragraph(note)
    headings = [heading(name, type or "?") for name, type in zip(columns, types, strict=True)]
    return table(headings, [[cell(value) for value in row] for row in shown], right=right, note=note)


def paragraph(text: str) -> str:
    """A line of plain text."""
    return f'<div style="margin:2px 0 6px 0;opacity:0.8">{escape(visible(text))}</div>'


def lines(lines: Iterable[Iterable[tuple[str, str]]]) -> str:
    """Lines of styled text, as a terminal would show them.

    >>> lines([[("a < b", "bold")]]).endswith('<span style="font-weight:bold">a &lt; b</span></pre>')
    True
    """
    shown = "\n".join("".join(_piece(text, style) for text, style in line) for line in lines)
    return f'<pre style="line-height:1.25;background:transparent;color:inherit;overflow:auto">{shown}</pre>'


def _piece(text: str, style: str) -> str:
    known = ";".join(_STYLES[word] for word in style.split() if word in _STYLES)
    return f'<span style="{known}">{escape(visible(text))}</span>' if known else escape(visible(text))


def strip(filled: Iterable[int], count: int) -> str:
    """Which of `count` places in a row are filled, as a picture.

    >>> strip([0, 1, 3], 4).count("<rect")
    3
    """
    runs: list[list[int]] = []
    for place in sorted(filled):
        if runs and runs[-1][1] == place:
            runs[-1][1] = place + 1
        else:
            runs.append([place, place + 1])
    unit = _STRIP_WIDTH / max(1, count)
    bars = "".join(
        f'<rect x="{begin * unit:.2f}" width="{max(1.0, (end - begin) * unit):.2f}" height="12" fill="#2a9bb0"/>'
        for begin, end in runs
    )
    frame = f'<rect width="{_STRIP_WIDTH}" height="12" fill="rgba(128,128,128,0.2)"/>'
    return f'<svg width="{_STRIP_WIDTH}" height="12" style="vertical-align:middle">{frame}{bars}</svg>'


def folded(summary: str, inside: str, *, opened: bool = False) -> str:
    """Something to be opened by a click. `inside` is HTML already."""
    return (
        f"<details{' open' if opened else ''}><summary>{escape(visible(summary))}</summary>{inside}</details>"
    )
