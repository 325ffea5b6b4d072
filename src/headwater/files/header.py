"""Which cell of a record belongs to which column.

A file without column names has the relation's columns in their order. Names that are the relation's, in any
order, say where each column is. Names that are the relation's in part are refused. So are others in a file that
always has names (Parquet, Arrow, objects in JSON), where the relation's are declared (see `values/names`).

Whether the first line of a text is names at all is decided by the same comparison, unless it was said. A first
line that does not match but could be names is refused until somebody says: as a header it is then left out, whatever
it names.

Columns of a change feed (`_change_type`, `_commit_version`, `_commit_timestamp`) stand beside the others.

>>> arrange(("dst", "_change_type", "src"), ("src", "dst"), named=True, relation="link", path="link.csv")
Arrangement(order=(2, 0), change_type=1, commit_version=None)
>>> is_header(("dst", "src"), ("src", "dst")), is_header(("a", "b"), ("src", "dst"))
(True, False)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError
from headwater.files.formats import SOUFFLE, Format
from headwater.files.text import first_record
from headwater.values.names import name_hint, order_by_name

CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
FEED = (CHANGE_TYPE, COMMIT_VERSION, "_commit_timestamp")
_WORDS = re.compile(r"(?!(true|false|nan|inf|infinity)\s*$)\s*[^\W\d][\w .:/#()-]*", re.IGNORECASE)
"""Texts that could be a column's name, and are no number, date or bool."""


@dataclass(frozen=True)
class Arrangement:
    """Where each column of the relation is in a record, and where a change feed's own columns are."""

    order: tuple[int, ...]
    change_type: int | None = None
    commit_version: int | None = None


def is_header(cells: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether a first line is names: those of the relation's columns, or of a change feed."""
    rest = [cell for cell in cells if cell in columns or cell not in FEED]
    return CHANGE_TYPE in cells or (len(rest) == len(columns) > 0 and set(rest) == set(columns))


def are_words(cells: Sequence[str]) -> bool:
    """Whether cells could be names."""
    return bool(cells) and all(_WORDS.fullmatch(cell) for cell in cells)


def are_repeated(cells: Sequence[str], columns: Sequence[Any]) -> bool:
    """Whether any of the words in a first line is in the rows after it, too, as names hardly are.

    `columns` are Arrow columns of strings that begin with these cells.
    """
    words = pa.array(cells, pa.string())
    return any(pc.any(pc.is_in(column.slice(1), value_set=words)).as_py() for column in columns)


def refuse_header(path: str, cells: Sequence[str], relation: str, columns: Sequence[str]) -> NoReturn:
    """Refuse a first line that was taken for a row, and hardly is one."""
    if any(cell in columns for cell in cells):
        found = f"{path}, line 1: the columns are"
        try:
            order_by_name(cells, columns, declared=True, relation=relation, found=found)
        except DataError as error:
            row = f"{error.hint}; or, if this line is a row: --no-header, or headers=false in `.input`"
            raise DataError(error.code, error.message, hint=row) from None
    raise likely_header(path, cells, relation, columns)


def likeness(cells: Sequence[str], columns: Sequence[str]) -> int:
    """How many cells are names of columns but for capitals and blanks."""
    plain = {column.casefold() for column in columns}
    return sum(cell.strip().casefold() in plain for cell in cells)


def arrange(
    names: Sequence[str],
    columns: Sequence[str],
    *,
    named: bool,
    relation: str,
    path: str,
    said: bool = False,
) -> Arrangement:
    """Where the columns are in a file with these names; refuses those that do not fit.

    `named` tells whether the relation's names are declared. With `said`, somebody vouched for a header, which may
    then have nothing in common with the relation's names.
    """
    own = [i for i, name in enumerate(names) if name in columns or name not in FEED]
    given = tuple(names[i] for i in own)
    found = f"{path}: its columns are"
    fits = len(own) == len(columns)
    declared = not fits or named and not (said and not likeness(given, columns))
    order = order_by_name(given, columns, declared=declared, relation=relation, found=found, shown=names)
    if not fits:
        raise DataError("wrong-arity", f"{found} {', '.join(given)}; {relation} has {', '.join(columns)}")

    def at(name: str) -> int | None:
        return names.index(name) if name in names and name not in columns else None

    places = tuple(own) if order is None else tuple(own[i] for i in order)
    return Arrangement(places, at(CHANGE_TYPE), at(COMMIT_VERSION))


def likely_header(path: str, cells: Sequence[str], relation: str, columns: Sequence[str]) -> DataError:
    """The error for a first line that is a row by the rule, but hardly in fact."""
    told = name_hint(cells, columns) if likeness(cells, columns) else None
    near = f"{told}; " if told else ""
    return DataError(
        "likely-header",
        f"{path}, line 1: {', '.join(cells)} looks like names of columns, but those of {relation} are"
        f" {', '.join(columns)}",
        hint=f"{near}if this line is a header, let it name the columns: {', '.join(columns)};"
        " or say what it is: --header or --no-header, or headers= in `.input`",
    )


def settle(format: Format, data: bytes, path: str, columns: Sequence[str]) -> tuple[Format, tuple[str, ...]]:
    """The text format with nothing left open, as the first line has it, and that line's cells."""
    candidates = [format]
    if format.either:
        candidates.append(replace(SOUFFLE, header=format.header))
    settled = []
    for candidate in candidates:
        cells, _ = first_record(data, path, candidate.delimiter, candidate.quoted)
        header = candidate.header if candidate.header is not None else is_header(cells, columns)
        settled.append((replace(candidate, header=header, either=False), cells))
        if len(cells) == len(columns) or header and is_header(cells, columns):
            return settled[-1]
    return settled[0]
