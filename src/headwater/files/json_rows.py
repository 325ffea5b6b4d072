"""JSON as columns: an array (or a line each) of objects by column name, or of arrays in column order.

What JSON lacks is written as strings, see `json_values`.

>>> read_json(b'[{"src": "a", "dst": 1}, {"dst": 2, "src": "b"}]', "link.json", lines=False)
(('src', 'dst'), [('a', 'b'), (1, 2)], 2)
>>> print(write_json(("x", "y"), [(1.5, "a"), (NAN, "b")]), end="")
[
{"x": 1.5, "y": "a"},
{"x": "nan", "y": "b"}
]
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from headwater.errors import DataError
from headwater.files.json_values import FLOATS, from_json, to_json
from headwater.files.text import MARK, decode
from headwater.values.scalars import NAN, Misfit, canonical, common_type
from headwater.values.types import Type

__all__ = ["NAN", "read_json", "type_of_values", "values_of", "write_json"]


def read_json(data: bytes, path: str, *, lines: bool) -> tuple[tuple[str, ...] | None, list[Any], int]:
    """The names (if rows are objects), the columns and the number of rows."""
    text = decode(data.removeprefix(MARK), path)
    rows = _lines(text, path) if lines else _array(text, path)
    if not rows:
        return None, [], 0
    first = rows[0]
    names = tuple(first) if isinstance(first, dict) else None
    found = []
    for number, row in enumerate(rows, 1):
        if names is not None and isinstance(row, dict) and row.keys() == first.keys():
            found.append([row[name] for name in names])
        elif names is None and isinstance(row, list) and len(row) == len(first):
            found.append(row)
        else:
            what = f"an object with {', '.join(names)}" if names else f"an array of {len(first)} values"
            raise DataError("wrong-arity", f"{path}, row {number}: expected {what}, like the first row")
    return names, list(zip(*found, strict=True)), len(rows)


def _array(text: str, path: str) -> list[Any]:
    try:
        rows = json.loads(text) if text.strip() else []
    except (ValueError, RecursionError) as error:
        raise _broken(path, error.lineno if isinstance(error, json.JSONDecodeError) else 1, error) from None
    if not isinstance(rows, list) or (rows and not isinstance(rows[0], (dict, list))):
        hint = "use the extension .jsonl for one row a line" if isinstance(rows, dict) else None
        raise DataError("unreadable", f"{path} is not an array of objects or arrays", hint=hint)
    return rows


def _lines(text: str, path: str) -> list[Any]:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise _broken(path, number, error) from None
    if rows and not isinstance(rows[0], (dict, list)):
        raise DataError("unreadable", f"{path}, line 1 is neither an object nor an array")
    return rows


def _broken(path: str, line: int, error: Exception) -> DataError:
    """The error for what is not JSON, or is JSON of a kind that nobody means: too deep, numbers too long."""
    if isinstance(error, json.JSONDecodeError):
        return DataError("unreadable", f"{path}, line {line}: this is not JSON: {error.msg}")
    what = "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
    return DataError("unreadable", f"{path}, from line {line} on: this JSON cannot be read: {what}")


# ------------------------------------------------------------------ values


def type_of_values(values: Sequence[Any]) -> Type | None:
    """The type of a column that nobody declared; raises `Misfit`. Strings are strings here."""
    others = [value for value in values if not isinstance(value, str)]
    if others and all(value in FLOATS for value in values if isinstance(value, str)):
        return common_type(others)
    return common_type(values)


def values_of(values: Sequence[Any], type: Type) -> list[Any]:
    """The values of a column of `type`; raises `Misfit`, with its row, at the first that is none."""
    found = []
    for row, value in enumerate(values):
        try:
            found.append(canonical(from_json(value, type), type))
        except ValueError as error:
            raise Misfit(f"{value!r}: {error}", row=row) from None
        except Misfit as misfit:
            misfit.row = row
            raise
    return found


def write_json(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """An array of objects, one a line."""
    lines = (
        json.dumps(dict(zip(columns, map(to_json, row), strict=True)), ensure_ascii=False) for row in rows
    )
    body = ",\n".join(lines)
    return f"[\n{body}\n]\n" if body else "[]\n"
