"""How numbers are said."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """A number and its noun.

    >>> counted(1, "row"), counted(1234, "row")
    ('1 row', '1,234 rows')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"
