"""Which cell of a record belongs to which column.

A file without column names has the relation's columns in their order. Names that are the relation's, in any
order, say where each column is; other names are ignored if there are as many as the relation has columns.
Whether the first line of a text is names at all is decided by the same comparison, unless it was said.

Where that comparison says no but everything else says yes, the file is refused until somebody says.

Columns of a change feed (`_change_type`, `_commit_version`, `_commit_timestamp`) stand beside the others.

>>> arrange(("dst", "_change_type", "src"), ("src", "dst"))
Arrangement(order=(2, 0), change_type=1, commit_version=None)
>>> is_header(("dst", "src"), ("src", "dst")), is_header(("a", "b"), ("src", "dst"))
(True, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headwater.errors import DataError
from headwater.files.formats import SOUFFLE, Format
from headwater.files.text import first_record

CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
FEED = (CHANGE_TYPE, COMMIT_VERSION, "_commit_timestamp")


@dataclass(frozen=True)
class Arrangement:
    """Where each column of the relation is in a record, and where a change feed's own columns are."""

    order: tuple[int, ...]
    change_type: int | None = None
    commit_version: int | None = None


def is_almost_header(cells: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether a first line is the names of the columns but for capitals and blanks."""
    plain = sorted(cell.strip().lower() for cell in cells)
    return plain == sorted(column.lower() for column in columns) != [] and set(cells) != set(columns)


def is_header(cells: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether a first line is names: those of the relation's columns, or of a change feed."""
    rest = [cell for cell in cells if cell in columns or cell not in FEED]
    return CHANGE_TYPE in cells or (len(rest) == len(columns) > 0 and set(rest) == set(columns))


def arrange(names: Sequence[str], columns: Sequence[str]) -> Arrangement | None:
    """The arrangement of a file with these column names; `None` if their number is wrong."""
    own = [i for i, name in enumerate(names) if name in columns or name not in FEED]
    if len(own) != len(columns):
        return None
    if {names[i] for i in own} == set(columns):
        own = [names.index(column) for column in columns]

    def at(name: str) -> int | None:
        return names.index(name) if name in names and name not in columns else None

    return Arrangement(tuple(own), at(CHANGE_TYPE), at(COMMIT_VERSION))


def wrong_names(path: str, names: Sequence[str], relation: str, columns: Sequence[str]) -> DataError:
    """The error for column names that cannot be arranged."""
    return DataError(
        "wrong-arity",
        f"{path}: its columns are {', '.join(names)}; {relation} has {', '.join(columns)}",
        hint="give the file these columns, in any order",
    )


def likely_header(path: str, cells: Sequence[str], relation: str, columns: Sequence[str]) -> DataError:
    """The error for a first line that is a row by the rule, but hardly in fact."""
    return DataError(
        "likely-header",
        f"{path}, line 1: {', '.join(cells)} looks like names of columns, but those of {relation} are"
        f" {', '.join(columns)}",
        hint="say what it is: --header or --no-header, or headers= in `.input`; or write these names",
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
        if header and arrange(cells, columns) is not None or len(cells) == len(columns):
            return settled[-1]
    return settled[0]
