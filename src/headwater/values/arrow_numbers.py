"""Numbers of Arrow arrays as arrays of numpy, where they lie; numbers, strings and single values as Arrow has them.

That is what pyarrow's own `to_numpy`, `array` and `scalar` give. But these load pandas, where it is installed, before
they look at anything: that takes longer than most commands take in all, and 50 MB.

>>> import pyarrow as pa
>>> numbers_of(pa.array([7, 8, 9])[1:]).tolist(), numbers_of(pa.array([True, False, True])[1:]).tolist()
([8, 9], [False, True])
>>> numbers_of(pa.chunked_array([[1.5], [], [2.5]])).tolist()
[1.5, 2.5]
>>> array_of(np.array([7, 8, 9]), np.array([False, True, False])).to_pylist()
[7, None, 9]
>>> text_array(["a", "", "bä"]).to_pylist()
['a', '', 'bä']
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUL = "\0"
"""Put between strings, so that their ends are found all at once: few have it."""
VALUES_READ_AT_ONCE = 1 << 13
"""How many strings are joined at a time."""


def numbers_of(array: Any) -> NDArray[Any]:
    """The values of an array, in one piece or in chunks. Of anything but numbers and booleans without nulls, what
    pyarrow makes of them."""
    if hasattr(array, "chunks"):
        parts = [numbers_of(chunk) for chunk in array.chunks]
        return np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else array.to_numpy()
    dtype = _dtypes().get(array.type)
    if dtype is None or array.null_count:
        return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if not len(array):
        return np.empty(0, dtype)
    buffer = array.buffers()[1]
    if dtype == np.bool_:
        first = array.offset // 8
        bits = np.frombuffer(buffer, np.uint8, (array.offset + len(array) + 7) // 8 - first, first)
        return np.unpackbits(bits, bitorder="little")[array.offset - 8 * first :][: len(array)].view(np.bool_)
    return np.frombuffer(buffer, dtype, len(array), array.offset * dtype.itemsize)


def array_of(numbers: NDArray[Any], nulls: NDArray[np.bool_] | None = None) -> Any:
    """Numbers or booleans as an array of Arrow's, where they lie if they can; null where `nulls` says so."""
    import pyarrow as pa

    valid = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    boolean = numbers.dtype == np.bool_
    kind = _types()[numbers.dtype]
    data = np.packbits(numbers, bitorder="little") if boolean else np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(kind, len(numbers), [valid, pa.py_buffer(data)])


def text_array(values: Sequence[str]) -> Any:
    """Strings as an array of Arrow's (`large_string`); raises `UnicodeEncodeError` for half a surrogate pair.

    Arrow's own way is the quicker one, but not by what pandas takes to load.
    """
    import pyarrow as pa

    if "pandas" in sys.modules:
        return pa.array(values, pa.large_string())
    ends, parts = np.zeros(len(values) + 1, np.int64), []
    for start in range(0, len(values), VALUES_READ_AT_ONCE):
        some = values[start : start + VALUES_READ_AT_ONCE]
        joined = NUL.join(some).encode()
        between = np.flatnonzero(np.frombuffer(joined, np.uint8) == 0)
        if between.shape[0] == len(some) - 1:
            parts.append(joined.replace(NUL.encode(), b""))
            own = np.append(between - np.arange(len(some) - 1), len(parts[-1]))
        else:  # some strings have this character
            each = [value.encode() for value in some]
            parts.append(b"".join(each))
            own = np.cumsum(np.fromiter(map(len, each), np.int64, len(each)))
        ends[start + 1 : start + len(some) + 1] = own + ends[start]
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.large_string(), len(values), buffers)


def scalar_of(value: str | float) -> Any:
    """A string, bool, int of 64 bits or float as Arrow has it.

    >>> [scalar_of(value).as_py() for value in ("ä", True, False, -7, 0.5)]
    ['ä', True, False, -7, 0.5]
    """
    import pyarrow as pa

    if isinstance(value, str):
        text = value.encode()
        ends = np.array([0, len(text)], np.int64)
        return pa.Array.from_buffers(pa.large_string(), 1, [None, pa.py_buffer(ends), pa.py_buffer(text)])[0]
    if isinstance(value, bool):
        return pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(bytes([value]))])[0]
    one = np.array([value], np.float64 if isinstance(value, float) else np.int64)
    return pa.Array.from_buffers(pa.type_for_alias(one.dtype.name), 1, [None, pa.py_buffer(one)])[0]


@cache
def _types() -> dict[np.dtype[Any], Any]:
    """How Arrow names the numbers that lie as they are."""
    return {dtype: kind for kind, dtype in _dtypes().items()}


@cache
def _dtypes() -> dict[Any, np.dtype[Any]]:
    """How numpy names the numbers that lie as they are."""
    import pyarrow as pa

    names = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
    return {pa.type_for_alias(name): np.dtype(name) for name in names} | {pa.bool_(): np.dtype(np.bool_)}
