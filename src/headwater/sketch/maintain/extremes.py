"""`min(x)` and `max(x)` of groups, each with a bounded buffer of its smallest or greatest values.

A group whose buffer has run dry though it has values is named by `dry`; nothing is guessed. How often a value occurs is
known (the paper's ordered map has no multiplicities: deleting one of two equal values would lose both).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headwater.sketch.maintain.aggregates import Counted
from headwater.sketch.maintain.buffers import BoundedBuffer, order_key
from headwater.sketch.maintain.fragment_sets import Ints

if TYPE_CHECKING:
    import pyarrow as pa

VALUE_BYTES = 200
"""About what a value in a buffer takes."""


class Extreme:
    """The least value of each group by an order."""

    def __init__(self, function: str, most: int | None):
        self.descending = function == "max"
        self.most = most
        self.count = Counted()
        self.buffers: dict[int, BoundedBuffer] = {}
        self._type: pa.DataType | None = None

    def change(self, groups: Ints, column: pa.Array | None, counts: Ints) -> None:
        assert column is not None
        self.settle_type(column)
        self.count.change(groups, column, counts)
        touched = set()
        for group, value, count in zip(groups.tolist(), column.to_pylist(), counts.tolist(), strict=True):
            if value is not None:
                self.buffer(group).change(self.key(value), value, count)
                touched.add(group)
        which = np.array(sorted(touched), np.int64)
        for group, values in zip(which.tolist(), self.count.values(which).tolist(), strict=True):
            if values:
                self.buffers[group].trim()
            else:  # nothing lies above the limit either: the next value begins a new buffer
                del self.buffers[group]

    def settle_type(self, column: pa.Array) -> None:
        """Columns have the type of the first that came."""
        if self._type is None:
            self._type = column.type

    def key(self, value: object) -> object:
        """What values are ordered by."""
        return order_key(value, descending=self.descending)

    def buffer(self, group: int) -> BoundedBuffer:
        """A group's buffer."""
        found = self.buffers.get(group)
        if found is None:
            found = self.buffers[group] = BoundedBuffer(self.most)
        return found

    def dry(self, groups: Ints) -> Ints:
        """Those of the groups that have values, none of which is known."""
        filled = groups[self.count.values(groups) > 0]
        empty = [group for group in filled.tolist() if self.buffers[group].is_dry(1)]
        return np.array(empty, np.int64)

    def column(self, groups: Ints) -> pa.Array:
        import pyarrow as pa

        there = self.count.values(groups) > 0
        values = [
            self.buffers[group].first(1)[0][1] if filled else None
            for group, filled in zip(groups.tolist(), there.tolist(), strict=True)
        ]
        return pa.array(values, self._type)

    def commit(self) -> None:
        """Nothing is left over."""

    @property
    def nbytes(self) -> int:
        return self.count.nbytes + VALUE_BYTES * sum(
            len(buffer.items()) if buffer.size < VALUE_BYTES else buffer.size
            for buffer in self.buffers.values()
        )
