"""Many rows of Python's integers as numbers, with one look at each.

Asking each value for its class and then for its number, a column at a time, goes through memory twice and in an order
in which no processor expects it; with rows of many columns that takes longer than deriving something from them. The
interpreter's own `marshal` walks through rows in order and writes the same: for an `int` of 32 bits, and for no other
value, an `i` and four bytes; for a tuple, a `(`, its length and its values. So rows that are all as long are records
of one size, and a look at the marks tells whether all values are such integers. (This is its format 2, which has been
the same since Python 2.5. `integer_columns` compares every mark, so another one would only be slower.)

>>> integer_columns([(1, 2), (3, -4)])
[array([1, 3]), array([ 2, -4])]
>>> integer_columns([(1, 2), (3, True)]) is None
True
"""

from __future__ import annotations

import marshal
from typing import Any

import numpy as np
import numpy.typing as npt

FORMAT = 2
LIST_MARK = 5
"""What comes before the first row: a mark, and how many there are."""
ROWS_READ_AT_ONCE = 1 << 12
"""How many rows are looked at together: if there are others, it is soon known."""


def integer_columns(rows: list[Any]) -> list[npt.NDArray[np.int64]] | None:
    """The columns of tuples that are all as long and have nothing but integers of 32 bits; `None` for other rows."""
    first = rows[0]
    if type(first) is not tuple or not first or set(map(type, first)) != {int}:
        return None
    value = np.dtype([("mark", "u1"), ("number", "<i4")])
    record = np.dtype([("mark", "u1"), ("length", "<i4"), ("values", value, (len(first),))])
    columns = np.empty((len(first), len(rows)), np.int64)
    for start in range(0, len(rows), ROWS_READ_AT_ONCE):
        piece = rows[start : start + ROWS_READ_AT_ONCE]
        try:
            written = marshal.dumps(piece, FORMAT)
        except ValueError:  # some class that it does not know
            return None
        if len(written) != LIST_MARK + len(piece) * record.itemsize:
            return None
        records = np.frombuffer(written, record, offset=LIST_MARK)
        if (
            (records["mark"] != ord("(")).any()
            or (records["length"] != len(first)).any()
            or (records["values"]["mark"] != ord("i")).any()
        ):
            return None
        columns[:, start : start + len(piece)] = records["values"]["number"].T
    return list(columns)
