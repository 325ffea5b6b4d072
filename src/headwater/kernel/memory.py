"""Arrays that grow in place.

A large array is a window on an address range reserved once, several times as long as needed: growing it
moves the end of the window and copies nothing. Memory is used only as rows are written, in huge pages where
the system has them (random access then misses the processor's address cache far less often). What a reserved
range costs before it is used is addresses, of which there are plenty.
"""

from __future__ import annotations

import mmap
from functools import cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = TypeVar("Array", bound=npt.NDArray[Any])
LARGE = 1 << 22
RESERVE = 16
COUNTED = 1 << 16


def grown(array: Array, length: int) -> Array:
    """The array with `length` rows, new ones zero. The old one must not be used any more."""
    row = array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    size = length * row
    if size < LARGE:
        longer = np.zeros((length, *array.shape[1:]), array.dtype)
    else:
        area = array.base
        if isinstance(area, mmap.mmap) and len(area) >= size:
            return np.ndarray((length, *array.shape[1:]), array.dtype, area)
        longer = np.ndarray((length, *array.shape[1:]), array.dtype, _reserve(size * RESERVE))
    longer[: array.shape[0]] = array
    return longer  # type: ignore[return-value]


@cache
def _counting(length: int) -> npt.NDArray[np.int32]:
    return np.arange(length, dtype=np.int32)


def numbers(start: int, length: int) -> npt.NDArray[np.int32]:
    """The numbers from `start` on, not to be written to. Short stretches of small numbers cost nothing."""
    if start + length <= COUNTED:
        return _counting(COUNTED)[start : start + length]
    return np.arange(start, start + length, dtype=np.int32)


def _reserve(size: int) -> mmap.mmap:
    try:
        area = mmap.mmap(
            -1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        )
    except (OSError, OverflowError):
        area = mmap.mmap(-1, max(size // RESERVE * 2, mmap.PAGESIZE))
    if hasattr(mmap, "MADV_HUGEPAGE"):
        area.madvise(mmap.MADV_HUGEPAGE)
    return area
