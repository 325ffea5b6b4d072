"""`min(x)` and `max(x)` of groups, each with a bounded buffer of its smallest or greatest values.

A group whose buffer has run dry though it has values is named by `dry`; nothing is guessed. How often a value occurs
is known (the paper's ordered map has no multiplicities: deleting one of two equal values would lose both).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headwater.sketch.maintain.aggregates import GroupCount, SavedState
from headwater.sketch.maintain.buffers import BoundedBuffer, order_key, settled_type
from headwater.sketch.maintain.fragment_sets import Ints

VALUE_BYTES = 200
"""About what a value in a buffer takes."""


class Extreme:
    """The least value of each group by an order."""

    def __init__(self, function: str, most: int | None):
        self.descending = function == "max"
        self.most = None if most is None else max(1, most)
        self.count = GroupCount()
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

    def begin(self, groups: Ints, column: pa.Array, counts: Ints) -> None:
        """Begin buffers with the first values of groups, of which there are more where one has more than it should
        hold."""
        self.settle_type(column)
        for group, value, count in zip(groups.tolist(), column.to_pylist(), counts.tolist(), strict=True):
            self.buffer(group).change(self.key(value), value, count)
        for buffer in self.buffers.values():
            buffer.end_before(self.most)

    def refill(self, dry: Ints, groups: Ints, column: pa.Array, counts: Ints) -> None:
        """Begin the buffers of some groups anew: these are all their values. How many there are is known already."""
        self.settle_type(column)
        for group in dry.tolist():
            self.buffers[group] = BoundedBuffer(self.most)
        for group, value, count in zip(groups.tolist(), column.to_pylist(), counts.tolist(), strict=True):
            if value is not None:
                self.buffers[group].change(self.key(value), value, count)
        for group in dry.tolist():
            self.buffers[group].trim()

    def settle_type(self, column: pa.Array) -> None:
        """Columns have the type of those that came."""
        self._type = settled_type(self._type, column.type)

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
        there = self.count.values(groups) > 0
        values = [
            self.buffers[group].first(1)[0][1] if filled else None
            for group, filled in zip(groups.tolist(), there.tolist(), strict=True)
        ]
        return pa.array(values, self._type)

    @property
    def nbytes(self) -> int:
        return self.count.nbytes + VALUE_BYTES * sum(
            len(buffer.items()) if buffer.size < VALUE_BYTES else buffer.size
            for buffer in self.buffers.values()
        )

    def save(self, groups: Ints) -> SavedState:
        held, limits = [], []
        for number, group in enumerate(groups.tolist()):
            buffer = self.buffers.get(group)
            if buffer is not None:
                held += [(number, value, count) for _, value, count in buffer.items()]
                limits += [] if buffer.limit is None else [(number, buffer.at_limit)]
        values = _table(held, self._type, ("group", "value", "count"))
        return SavedState(
            {
                **self.count.save(groups).tables,
                "held": values,
                "limits": _table(limits, self._type, ("group", "value")),
            }
        )

    def load(self, saved: SavedState) -> None:
        self.count.load(saved)
        held, limits = saved.tables["held"], saved.tables["limits"]
        self._type = None if pa.types.is_null(held.column(1).type) else held.column(1).type
        for group, value, count in zip(*(column.to_pylist() for column in held.columns), strict=True):
            self.buffer(group).change(self.key(value), value, count)
        for group, value in zip(*(column.to_pylist() for column in limits.columns), strict=True):
            buffer = self.buffer(group)
            buffer.limit, buffer.at_limit = self.key(value), value


def _table(rows: Sequence[tuple[object, ...]], type: pa.DataType | None, names: tuple[str, ...]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    types = [type or pa.null() if name == "value" else pa.int64() for name in names]
    return pa.table(
        [pa.array(column, each) for column, each in zip(columns, types, strict=True)], list(names)
    )
