"""How numbers are said, and how rows of text are shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def counted(number: int, word: str) -> str:
    """A number and its noun.

    >>> counted(1, "row"), counted(1234, "row")
    ('1 row', '1,234 rows')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def aligned(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()) -> str:
    """Rows of text as a table, some columns by their right edge.

    >>> print(aligned(("name", "rows"), [("link", "400"), ("reach", "10,000")], right={1}))
    name     rows
    link      400
    reach  10,000
    """
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if place in right else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
