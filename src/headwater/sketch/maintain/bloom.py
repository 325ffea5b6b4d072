"""Bloom filters of join keys: which rows of a delta can have no partner (section 9.4.1).

A filter answers "no" only for keys that were never added. Bits are never cleared: a filter must hold for the keys of
a table before and after a version, since rows that a delta deletes join with other deltas of the same version.

>>> import pyarrow as pa
>>> keys = BloomFilter(4)
>>> keys.add(pa.array([1, 2, None]))
>>> keys.may_hold(pa.array([2, None])).tolist()
[True, False]
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BITS_PER_KEY = 12
PROBES = 6
_MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


class BloomFilter:
    """Keys that were added, and few others."""

    def __init__(self, expected: int):
        size = 64
        while size < expected * BITS_PER_KEY:
            size *= 2
        self._bits: npt.NDArray[np.uint8] = np.zeros(size // 8, np.uint8)

    @property
    def nbytes(self) -> int:
        return self._bits.nbytes

    def add(self, column: pa.Array) -> None:
        """Add keys; NULL joins with nothing, and is left out."""
        for places in self._places(_hashed(column.drop_null())):
            np.bitwise_or.at(self._bits, places >> 3, np.uint8(1) << (places & 7).astype(np.uint8))

    def may_hold(self, column: pa.Array) -> npt.NDArray[np.bool_]:
        """Which keys may have been added."""
        found = np.asarray(column.is_valid(), dtype=bool).copy()
        if found.any():
            there = np.ones(int(found.sum()), bool)
            for places in self._places(_hashed(column.drop_null())):
                there &= (self._bits[places >> 3] >> (places & 7).astype(np.uint8)) & 1 == 1
            found[found] = there
        return found

    def _places(self, hashes: npt.NDArray[np.uint64]) -> list[npt.NDArray[np.int64]]:
        first, step = hashes, (hashes * _MIX_2) >> np.uint64(17) | np.uint64(1)
        mask = np.uint64(self._bits.shape[0] * 8 - 1)
        return [((first + np.uint64(n) * step) & mask).astype(np.int64) for n in range(PROBES)]


def can_be_hashed(type: pa.DataType) -> bool:
    """Whether equal values of this type, and of others of its kind, have equal hashes."""
    return bool(
        pa.types.is_integer(type)
        or pa.types.is_string(type)
        or pa.types.is_large_string(type)
        or pa.types.is_date32(type)
    )


def _hashed(column: pa.Array) -> npt.NDArray[np.uint64]:
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    if pa.types.is_integer(column.type):
        numbers = np.asarray(column.cast(pa.int64())).view(np.uint64)
        mixed = (numbers ^ (numbers >> np.uint64(32))) * _MIX_1
        hashed: npt.NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(29))
        return hashed
    encoded = pc.dictionary_encode(column)
    digests = [
        int.from_bytes(hashlib.blake2b(str(text).encode(), digest_size=8).digest(), "little")
        for text in encoded.dictionary.to_pylist()
    ]
    found: npt.NDArray[np.uint64] = np.array(digests, np.uint64)[np.asarray(encoded.indices)]
    return found
