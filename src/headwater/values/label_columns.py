"""Labelled nulls of tables: a column `x?` has the texts of those that stand in column `x`, which is null there.

Tables are given out so with `labels=True`, and taken so: a table that comes back holds what it held.

>>> merged([[1, None], ["?f(2)", None], ["a", "b"]], ("x", "x?", "y"), "r")
Traceback (most recent call last):
headwater.errors.DataError: error[wrong-type]: r, row 1, column x?: ?f(2) stands beside a value, 1
  = hint: a labelled null stands where x is null
>>> merged([[None, 1], ["?f(2)", None], ["a", "b"]], ("x", "x?", "y"), "r")
([[?f(2), 1], ['a', 'b']], ('x', 'y'))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.errors import DataError
from headwater.values.label_text import parse_label
from headwater.values.labelled import LABEL, LabelledNull
from headwater.values.misfit import show
from headwater.values.scalars import is_missing


def merged(columns: list[Any], names: tuple[str, ...], relation: str) -> tuple[list[Any], tuple[str, ...]]:
    """The columns of a table with labelled nulls in place, and their names; columns of texts are gone."""
    texts = {name for name in names if name.endswith(LABEL) and name.removesuffix(LABEL) in names}
    if not texts:
        return columns, names
    kept = [place for place, name in enumerate(names) if name not in texts]
    found = [
        _with_labels(columns[place], columns[names.index(names[place] + LABEL)], names[place], relation)
        if names[place] + LABEL in texts
        else columns[place]
        for place in kept
    ]
    return found, tuple(names[place] for place in kept)


def _with_labels(column: Any, texts: Any, name: str, relation: str) -> Any:
    labels = {row: text for row, text in enumerate(_values(texts)) if not is_missing(text)}
    if not labels:
        return column
    values = list(_values(column))
    for row, text in labels.items():
        where = f"{relation}, row {row + 1}, column {name}{LABEL}"
        if not is_missing(values[row]):
            raise DataError(
                "wrong-type",
                f"{where}: {text} stands beside a value, {show(values[row])}",
                hint=f"a labelled null stands where {name} is null",
            )
        values[row] = _label(text, where)
    return values


def _label(text: Any, where: str) -> LabelledNull:
    try:
        return parse_label(text)
    except (ValueError, TypeError):
        raise DataError(
            "wrong-type",
            f"{where}: {show(text)} is no labelled null",
            hint="it is written ?f(1, 'a'); a column of other texts needs another name",
        ) from None


def _values(column: Any) -> Sequence[Any]:
    """The values of a column: Python's own, of numpy, or of Arrow."""
    if not hasattr(column, "type"):
        return column.tolist() if hasattr(column, "tolist") else column  # type: ignore[no-any-return]
    from headwater.values.arrow_types import column_type
    from headwater.values.arrow_values import python_values

    return python_values(column, column_type(column))
