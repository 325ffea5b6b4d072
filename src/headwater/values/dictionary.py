"""An append-only dictionary: every value gets the next free position as its code, and keeps it.

What holds: codes are 0, 1, 2, ... in the order in which values were first seen; a code never changes and is
never reused; two values have one code exactly when their keys are equal (a value is its own key unless the
dictionary was given a `key` function). What does not: values that no row uses any more are not forgotten, and
two threads must not add values at the same time.

>>> names = Dictionary()
>>> names.encode(["b", "a", "b"]).tolist(), names.find("z"), len(names)
([0, 1, 0], -1, 2)
>>> names.decode([1, 0, 0])
['a', 'b', 'b']
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.values.arrow_numbers import array_of, text_array

Codes = NDArray[np.int64]
SAMPLE = 1000
MOST_ARROW_BYTES = 2**31 - 1
"""What one Arrow array of strings holds at most."""
ENTRY = 120
"""About what a short value takes, with its places in the table and in the list."""


class Dictionary:
    """Values to codes and back."""

    def __init__(
        self,
        key: Callable[[Any], Hashable] | None = None,
        ask: Callable[[int, str], None] = lambda needed, what: None,
    ):
        """Start empty; `key` gives what a value is known by, where that is not the value itself.

        `ask` is told what many new values would take, about, and may refuse.
        """
        self._key = key
        self._ask = ask
        self._codes: dict[Hashable, int] = {}
        self._values: list[Any] = []
        self._measured = 0
        self._measured_bytes = 0

    def __len__(self) -> int:
        """How many values there are; the next new one gets this code."""
        return len(self._values)

    def __contains__(self, value: object) -> bool:
        """Whether the value has a code."""
        return self.find(value) >= 0

    def code(self, value: Any) -> int:
        """The code of `value`, which is added if it is new."""
        key = value if self._key is None else self._key(value)
        code = self._codes.get(key)
        if code is None:
            self._ask(sys.getsizeof(value), "a new string or list")
            code = len(self._values)
            self._values.append(value)
            self._codes[key] = code
        return code

    def find(self, value: Any) -> int:
        """The code of `value`, or -1; nothing is added."""
        return self._codes.get(value if self._key is None else self._key(value), -1)

    def encode(self, values: Sequence[Any], keys: Sequence[Hashable] | None = None) -> Codes:
        """The codes of all `values`; new ones are added in the order given. `keys` saves computing them."""
        keys = self._keys(values) if keys is None else keys
        codes = self._find_keys(keys)
        missing = np.flatnonzero(codes < 0)
        if missing.size:
            places = missing.tolist()
            codes[missing] = self._add([keys[i] for i in places], [values[i] for i in places])
        return codes

    def encode_texts(self, array: Any, *, intern: bool) -> Codes:
        """The codes of an Arrow array of strings without nulls; without `intern`, -1 for those not here."""
        values = array.to_pylist()
        return self.encode(values) if intern else self.find_all(values)

    def takes_columns(self, count: int) -> bool:
        """Whether so many strings at once are looked up as a column, at no cost for each."""
        return False

    def texts(self, codes: Codes, nulls: NDArray[np.bool_] | None = None) -> Any:
        """The strings with these codes as an Arrow array, null where `nulls` says so; an array of chunks, if they
        are too long for one."""
        import pyarrow as pa

        used, places = np.unique(codes, return_inverse=True)
        places = places.reshape(-1)
        values = self.decode(used)
        lengths = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
        if 4 * int(lengths[places].sum()) > MOST_ARROW_BYTES:
            return pa.array(list(map(values.__getitem__, places.tolist())), pa.string(), mask=nulls)
        return text_array(values).take(array_of(places, nulls)).cast(pa.string())

    def find_all(self, values: Sequence[Any], keys: Sequence[Hashable] | None = None) -> Codes:
        """The codes of all `values`, -1 for those not here; nothing is added."""
        return self._find_keys(self._keys(values) if keys is None else keys)

    def decode(self, codes: Iterable[int] | Codes) -> list[Any]:
        """The values at `codes`."""
        if isinstance(codes, np.ndarray):
            codes = codes.tolist()
        return list(map(self._values.__getitem__, codes))

    def since(self, start: int) -> list[Any]:
        """The values with codes `start` and above, in order: what a copy of length `start` lacks."""
        return self._values[start:]

    @property
    def nbytes(self) -> int:
        """About how much memory the dictionary takes; of many new values, some are measured, once."""
        new = len(self._values) - self._measured
        if new:
            some = self._values[self._measured :: max(1, new // SAMPLE)]
            self._measured_bytes += (sum(map(sys.getsizeof, some)) + 32 * len(some)) * new // len(some)
            self._measured = len(self._values)
        return self._measured_bytes + sys.getsizeof(self._codes) + sys.getsizeof(self._values)

    def _keys(self, values: Sequence[Any]) -> Sequence[Any]:
        return values if self._key is None else list(map(self._key, values))

    def _add(self, keys: Sequence[Hashable], values: Sequence[Any]) -> list[int]:
        """The codes of values given with their keys, most of them new: one look-up each."""
        self._ask(ENTRY * len(keys) + _text_bytes(values), f"{len(keys):,} new strings or lists")
        codes: list[int] = []
        add_value, code_of, add_code = self._values.append, self._codes.setdefault, codes.append
        next_code = len(self._values)
        try:
            for key, value in zip(keys, values, strict=True):
                code = code_of(key, next_code)
                if code == next_code:
                    add_value(value)
                    next_code += 1
                add_code(code)
        except MemoryError:
            if self._codes.get(key) == len(self._values):  # there was no room for its value
                del self._codes[key]
            raise
        return codes

    def _find_keys(self, keys: Sequence[Any]) -> Codes:
        return np.fromiter(map(self._codes.get, keys, repeat(-1)), dtype=np.int64, count=len(keys))


def _text_bytes(values: Sequence[Any]) -> int:
    """At least so many bytes the texts among the values take, beyond an entry each. Lists are only counted."""
    return sum(map(len, values)) if values and isinstance(values[0], str) else 0
