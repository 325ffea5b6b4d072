"""Rows as users give them, in any form that databases take, as tuples of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.errors import DataError
from headwater.exchange.edit import Row
from headwater.language.program import Column
from headwater.values.codec import Codec
from headwater.values.layout import Layout


def rows_of(columns: Sequence[Column], data: Any, relation: str) -> list[Row]:
    """Rows of values of the columns' types; refuses others, and nulls where there are none."""
    layout = Layout(
        tuple(column.name for column in columns),
        tuple(column.type for column in columns),
        (True,) * len(columns),
    )
    codec = Codec()
    given = data if hasattr(data, "__len__") else list(data)
    rows = layout.decode(codec, layout.encode(codec, given, relation))
    for place, described in enumerate(columns):
        if not described.nullable and any(row[place] is None for row in rows):
            raise DataError(
                "null-value",
                f"{relation} takes no null in {described.name}",
                hint=f"declare it so: {described.name}: {described.type}?",
            )
    return rows
