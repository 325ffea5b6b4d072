"""Which column of some rows is which of the relation's: by name wherever the rows have names.

Rows with all of the relation's names, in any order, go by name. Other names are refused where the relation's are
*declared*: by a text, or by the first rows that had names. Names that only rules' variables gave, or that were made
up (`c0`, `c1`), are no promise. Rows then go by position, unless a name they share stands at another place.
Names that a library made up for rows without any (`_1`, `column_0`, `f0`) count as none.

>>> where = {"declared": True, "relation": "link", "found": "links.csv: its columns are"}
>>> order_by_name(("dst", "src"), ("src", "dst"), **where), order_by_name(("_c0", "_c1"), ("src", "dst"), **where)
((1, 0), None)
>>> order_by_name(("Src", "dst"), ("src", "dst"), **where)
Traceback (most recent call last):
headwater.errors.DataError: error[column-names]: links.csv: its columns are Src, dst; link has src, dst
  = hint: src is written Src there; names are compared letter by letter
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from headwater.errors import DataError

_MADE_UP = re.compile(r"(_|_c|c|f|col|column|column_)?(\d+)")
"""Spark's `_1` and `_c0`, our `c0`, Arrow's `f0`, DuckDB's `col0` and `column0`, polars' `column_0`, pandas' `0`."""
_INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")


def order_by_name(
    names: Sequence[str],
    columns: Sequence[str],
    *,
    declared: bool,
    relation: str,
    found: str,
    index: Sequence[str] = (),
    shown: Sequence[str] | None = None,
) -> tuple[int, ...] | None:
    """Where each of the relation's columns is among columns with these names; `None`: go by position.

    `found` begins the message of an error, before the names, or those that are to be `shown`. `index` has names that
    the rows carry beside those of their columns (pandas).
    """
    listed = ", ".join(names if shown is None else shown)
    places = {name: place for place, name in reversed(list(enumerate(names)))}
    if len(places) < len(names):
        twice = [name for place, name in enumerate(names) if places[name] != place]
        raise DataError(
            "duplicate-column",
            f"{found} {listed}; two are called {twice[0]}",
            hint="give each column a name of its own",
        )
    if set(names) == set(columns):
        return tuple(places[column] for column in columns)
    shared = set(names) & set(columns)
    if made_up(names) and not shared:
        return None
    if declared or any(names.index(name) != columns.index(name) for name in shared):
        raise DataError(
            "column-names",
            f"{found} {listed}; {relation} has {', '.join(columns)}",
            hint=name_hint(names, columns, index)
            or f"rename {', '.join(n for n in names if n not in columns)}",
        )
    return None


def made_up(names: Sequence[str]) -> bool:
    """Whether these are a library's names for columns without any: one prefix, counted from 0 or 1.

    >>> made_up(("_1", "_2")), made_up(("column_0",)), made_up(("c1", "c2")), made_up(("q1", "q2")), made_up(())
    (True, True, True, False, False)
    """
    matches = [_MADE_UP.fullmatch(name) for name in names]
    if not matches or None in matches or len({match[1] for match in matches if match is not None}) > 1:
        return False
    numbers = [match[2] for match in matches if match is not None]
    return any(numbers == [str(start + i) for i in range(len(names))] for start in (0, 1))


def name_hint(names: Sequence[str], columns: Sequence[str], index: Sequence[str] = ()) -> str | None:
    """What is likely wrong with names that do not fit, if anything is likely."""
    missing = [column for column in columns if column not in names]
    others = [name for name in names if name not in columns]
    for column in missing:
        if column in index:
            return f"{column} is the frame's index; reset_index() makes it a column"
        for name in others:
            if name.strip().casefold() == column.casefold():
                return f"{column} is written {name} there; names are compared letter by letter"
    written = [name for name in others if _INDEX.fullmatch(name)]
    if written:
        return (
            f"{written[0]} is the index of a pandas frame: write files with index=False, or drop the column"
        )
    if not missing:
        return f"leave out {', '.join(others)}"
    if not others:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    for column in missing:
        near = get_close_matches(column, others, n=1)
        if near:
            return f"is {near[0]} meant to be {column}? Then give it that name"
    return None
