"""The first rows of an order, of which only some are kept (section 9.4.3, as it is right).

A buffer holds *all* input whose key is not above a limit, with how often each entry occurs, and nothing above it. The
limit never grows: what lies above it was never seen, or was let go, and cannot be known again. So a buffer is valid
while it holds as many rows as are asked for, or has no limit (it holds everything); else it has run dry, and somebody
has to fill it anew. Inserts and deletes above the limit cost nothing. A buffer that has grown to twice what it should
hold lowers its limit.

>>> buffer = BoundedBuffer(2)
>>> for key in (5, 3, 9, 3, 7):
...     buffer.change(key, "row", 1)
>>> buffer.trim()
>>> buffer.limit, buffer.size, buffer.first(1)
(3, 2, [(3, 'row', 2)])
>>> buffer.change(3, "row", -2)
>>> buffer.first(1), buffer.is_dry(1)
([], True)
"""

from __future__ import annotations

import bisect
import decimal
from dataclasses import dataclass
from functools import total_ordering
from typing import TYPE_CHECKING, Any

from headwater.sketch.maintain.merge import negative_count

if TYPE_CHECKING:
    import pyarrow as pa

Key = Any
"""Something ordered; all keys of a buffer can be compared."""


@total_ordering
@dataclass(frozen=True)
class Reversed:
    """A value in the opposite order."""

    value: Any

    def __lt__(self, other: Reversed) -> bool:
        return bool(other.value < self.value)


def order_key(value: object, *, descending: bool = False, nulls_first: bool = False) -> Key:
    """What a value is ordered by: NULL where it is said to be, NaN after all other numbers."""
    if value is None:
        return (0 if nulls_first else 3,)
    if isinstance(value, float) and value != value:
        return (1 if descending else 2, 0 if descending else 1)
    if not descending:
        return (2, 0, value) if isinstance(value, float) else (2, value)
    if isinstance(value, bool | int | float | decimal.Decimal):
        return (2, 0, -value) if isinstance(value, float) else (2, -value)
    return (2, Reversed(value))


class BoundedBuffer:
    """Rows by key, the smallest first; `most` is how many it should hold, `None` for all."""

    def __init__(self, most: int | None):
        self.most = most
        self.limit: Key | None = None
        """No input above this is here; `None` if all of it is."""
        self.at_limit: Any = None
        """An entry with the key `limit`."""
        self.size = 0
        self._keys: list[Key] = []
        self._entries: dict[Key, dict[Any, int]] = {}

    def wants(self, key: Key) -> bool:
        """Whether a key is not above the limit."""
        return self.limit is None or not self.limit < key

    def change(self, key: Key, entry: Any, count: int) -> None:
        """Add to how often an entry occurs; nothing happens above the limit. Counts may be negative for a while."""
        if not self.wants(key):
            return
        entries = self._entries.get(key)
        if entries is None:
            entries = self._entries[key] = {}
            bisect.insort(self._keys, key)
        entries[entry] = entries.get(entry, 0) + count
        self.size += count
        if not entries[entry]:
            del entries[entry]
            if not entries:
                del self._entries[key]
                del self._keys[bisect.bisect_left(self._keys, key)]

    def first(self, rows: int) -> list[tuple[Key, Any, int]]:
        """The first so many rows, and all that are equal to the last of them."""
        found, taken = [], 0
        for key in self._keys:
            if taken >= rows:
                break
            for entry, count in self._entries[key].items():
                if count < 0:
                    raise negative_count("a row of an ordered input")
                found.append((key, entry, count))
                taken += count
        return found

    def is_dry(self, rows: int) -> bool:
        """Whether it can no longer tell the first so many rows."""
        return self.limit is not None and self.size < rows

    def trim(self) -> None:
        """Let go of what is above the row at which it holds enough, if it holds twice as much."""
        if self.most is None or self.size <= 2 * self.most:
            return
        held = keys = 0
        while held < self.most:
            held += sum(self._entries[self._keys[keys]].values())
            keys += 1
        self._cut(keys)

    def end_before(self, keys: int | None) -> None:
        """Let the limit be the key before this one, if there are more keys; what comes after it was cut off
        somewhere."""
        if keys is None or len(self._keys) <= keys:
            return
        self._cut(keys)

    def _cut(self, keys: int) -> None:
        """Hold so many keys, and let the last of them be the limit if there are others."""
        if len(self._keys) <= keys:
            return
        for gone in self._keys[keys:]:
            self.size -= sum(self._entries.pop(gone).values())
        self._keys = self._keys[:keys]
        self.limit = self._keys[-1]
        self.at_limit = next(iter(self._entries[self.limit]))

    def items(self) -> list[tuple[Key, Any, int]]:
        """All that it holds, in order."""
        return [(key, entry, count) for key in self._keys for entry, count in self._entries[key].items()]


def settled_type(known: pa.DataType | None, type: pa.DataType) -> pa.DataType | None:
    """The type of values that came in columns of these: of decimals the widest, as databases say of a few values no
    more digits than these have. A column of NULLs says nothing.

    >>> import pyarrow as pa
    >>> settled_type(settled_type(None, pa.decimal128(3, 2)), pa.decimal128(4, 2))
    Decimal128Type(decimal128(4, 2))
    """
    import pyarrow as pa

    if pa.types.is_null(type):
        return known
    if known is None:
        return type
    if known != type and pa.types.is_decimal(known):
        both = [pa.schema([pa.field("x", each)]) for each in (known, type)]
        return pa.unify_schemas(both, promote_options="permissive").field("x").type
    return known
