"""Columns of Arrow as codes and back, for state that is kept in tables of integers.

A column's type is that of its attribute, or of the first rows that come where nothing else tells; decimals are kept
with the scale that came first, and with all digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headwater.errors import DataError
from headwater.sketch.maintain.fragment_sets import Ints
from headwater.values.arrow import encode_arrow
from headwater.values.arrow_types import column_type
from headwater.values.codec import Codec
from headwater.values.misfit import Misfit
from headwater.values.types import INT, MOST_DIGITS, Type, decimal_of

if TYPE_CHECKING:
    import pyarrow as pa


class CodedColumn:
    """A column whose values are kept as codes of a codec."""

    def __init__(self, codec: Codec, name: str, type: Type | None):
        self.codec = codec
        self.name = name
        self.type = _widest(type)

    def codes(self, column: pa.Array) -> Ints:
        """The codes of values."""
        if self.type is None or (self.type.name == "decimal" and _is_decimal(column)):
            found = _widest(column_type(column))
            if self.type is None or (
                found is not None and found.scale > self.type.scale and column.null_count < len(column)
            ):
                self._settle(found)
        try:
            return encode_arrow(column, self.type or INT, self.codec.dictionaries, intern=True)
        except Misfit as misfit:
            raise DataError(
                "wrong-type",
                f"column {self.name}: {misfit}",
                hint="give rows of the types that the table has",
            ) from misfit

    def _settle(self, type: Type | None) -> None:
        if self.type is None:
            self.type = type
        elif type != self.type:
            raise DataError(
                "wrong-type",
                f"column {self.name} is {self.type}, and values of {type} came",
                hint="give rows of the types that the table has",
            )

    def column(self, codes: Ints) -> pa.Array:
        """The values with these codes."""
        return self.table([self], codes.reshape(-1, 1)).column(0).combine_chunks()

    @staticmethod
    def table(columns: Sequence[CodedColumn], rows: Ints) -> pa.Table:
        """Rows of codes as a table; names are numbers."""
        codec = columns[0].codec
        names = [str(number) for number in range(len(columns))]
        return codec.to_table(np.ascontiguousarray(rows), names, [each.type for each in columns])


def _widest(type: Type | None) -> Type | None:
    """Decimals with all digits: codes depend on the scale only."""
    return decimal_of(MOST_DIGITS, type.scale) if type is not None and type.name == "decimal" else type


def _is_decimal(column: pa.Array) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_decimal(column.type))
