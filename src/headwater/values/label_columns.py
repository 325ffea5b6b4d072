"""Labelled nulls of tables: a column `x?` has the texts of those that stand in column `x`, which is null there.

Tables are given out so with `labels=True`, and taken so: a table that comes back holds what it held. A column that is
merely called `x?`, with texts that are no labelled nulls, or beside values, is one like any other.

>>> merged([[None, 1], ["?f(2)", None], ["a", "b"]], ("x", "x?", "y"))
([[?f(2), 1], ['a', 'b']], ('x', 'y'))
>>> merged([[None, 1], ["what?", None]], ("x", "x?"))
([[None, 1], ['what?', None]], ('x', 'x?'))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.values.label_text import parse_label
from headwater.values.labelled import LABEL, LabelledNull
from headwater.values.scalars import is_missing


def merged(columns: list[Any], names: tuple[str, ...]) -> tuple[list[Any], tuple[str, ...]]:
    """The columns of a table with labelled nulls in place, and their names; columns of their texts are gone."""
    found = dict(zip(names, columns, strict=True))
    if len(found) < len(names):  # a name twice, which others refuse
        return columns, names
    for name in names:
        text = name + LABEL
        if text in found and (labelled := _with_labels(found[name], found[text])) is not None:
            found[name] = labelled
            del found[text]
    return (columns, names) if len(found) == len(names) else (list(found.values()), tuple(found))


def _with_labels(column: Any, texts: Any) -> Any:
    """The column with its labelled nulls; `None` if the texts are not all of such, each where a value is missing."""
    written = {row: text for row, text in enumerate(_values(texts)) if not is_missing(text)}
    if not written:
        return column
    values = list(_values(column))
    for row, text in written.items():
        label = _label(text)
        if label is None or not is_missing(values[row]):
            return None
        values[row] = label
    return values


def _label(text: Any) -> LabelledNull | None:
    try:
        return parse_label(text)
    except (ValueError, TypeError):
        return None


def _values(column: Any) -> Sequence[Any]:
    """The values of a column: Python's own, of numpy, or of Arrow."""
    if not hasattr(column, "type"):
        return column.tolist() if hasattr(column, "tolist") else column  # type: ignore[no-any-return]
    from headwater.values.arrow_types import column_type
    from headwater.values.arrow_values import python_values

    return python_values(column, column_type(column))
