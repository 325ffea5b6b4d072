"""The types of columns that came without any, from their values."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import numpy as np

from headwater.errors import DataError
from headwater.values.nanosecond import NanosecondDatetime
from headwater.values.scalars import Misfit, common_type, widen
from headwater.values.sources import columns_of
from headwater.values.special import LabelledNull
from headwater.values.types import PYTHON_TYPES, Type
from headwater.values.value_column import classes_of


def infer_types(data: Any, relation: str = "data") -> tuple[tuple[Type | None, ...], tuple[str, ...] | None]:
    """The types, and names where there are any, of the columns of `data`, from all of its rows.

    A type is `None` where no row tells. Without rows and without a schema there are no columns at all.
    The data is read to its end, so an iterator must be made a list before.

    >>> types, names = infer_types([(1, "a"), (2.5, "b")])
    >>> [str(type) for type in types], names
    (['float', 'string'], None)
    """
    if isinstance(data, Iterator):
        raise DataError(
            "wrong-type",
            f"the types of {relation} cannot be taken from an iterator, which can be read once only",
            hint="make it a list first",
        )
    source = columns_of(data, relation)
    types = []
    for i, column in enumerate(source.columns):
        try:
            types.append(_column_type(column))
        except Misfit as misfit:
            name = source.names[i] if source.names is not None else str(i + 1)
            raise DataError(
                misfit.code,
                f"{relation}, row {misfit.row + 1}, column {name}: {misfit.reason}",
                hint=misfit.hint,
            ) from None
    return tuple(types), source.names


def _column_type(column: Any) -> Type | None:
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufb":
        return common_type(column[:1])
    if isinstance(column, (list, np.ndarray)):
        return _values_type(column if isinstance(column, list) else list(column))
    from headwater.values.arrow_types import column_type

    return column_type(column)


def _values_type(values: list[Any]) -> Type | None:
    """Like `common_type`, looking at one value of each plain Python class."""
    classes = classes_of(values)
    plain: dict[type, Type | None] = {**dict(PYTHON_TYPES), type(None): None, LabelledNull: None}
    del plain[datetime.datetime], plain[NanosecondDatetime]  # which have a zone, or none
    if not plain.keys() >= classes:
        return common_type(values)
    if len(classes) == 1:
        return plain[next(iter(classes))]
    kinds = list(map(type, values))
    firsts = {kind: kinds.index(kind) for kind in dict.fromkeys(kinds)}
    common: Type | None = None
    for kind, row in firsts.items():
        try:
            common = widen(common, plain[kind])
        except Misfit as misfit:
            misfit.row = row
            raise
    return common
