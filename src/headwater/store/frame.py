"""One frame of the log: a fixed header, then the payload.

    magic  payload crc32  payload length  version  header crc32  payload ...
      4          4               8           8          4

A frame is *intact* when its header checksum, its length and its payload checksum all hold. Both checksums
start from a seed that belongs to the log file, so bytes of another log (or a payload that quotes one) are
never taken for a frame of this log. Being intact says nothing about the order of versions; the log checks it.

>>> seal = seal_frame(7, [b"pay", b"load"], seed=99)
>>> header = read_header(seal, seed=99)
>>> header.version, header.length, header.fits(b"payload", 99), header.fits(b"pAyload", 99)
(7, 7, True, False)
>>> read_header(seal, seed=98) is None
True
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

MAGIC = b"HWf1"
_FIELDS = struct.Struct("<4sIQQ")
_CHECK = struct.Struct("<I")
HEADER_SIZE = _FIELDS.size + _CHECK.size


class Header(NamedTuple):
    """What an intact header says about the payload after it."""

    checksum: int
    length: int
    version: int

    def fits(self, payload: bytes | memoryview, seed: int) -> bool:
        """Whether this is the payload that the header was made for."""
        return len(payload) == self.length and zlib.crc32(payload, seed) == self.checksum


def seal_frame(version: int, parts: Sequence[bytes | memoryview], seed: int) -> bytes:
    """The header of a frame whose payload is the parts one after another."""
    checksum, length = seed, 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
        length += len(part)
    fields = _FIELDS.pack(MAGIC, checksum, length, version)
    return fields + _CHECK.pack(zlib.crc32(fields, seed))


def read_header(data: bytes | memoryview, seed: int) -> Header | None:
    """The header at the start of `data`, or `None` if there is no intact one."""
    if len(data) < HEADER_SIZE:
        return None
    magic, checksum, length, version = _FIELDS.unpack_from(data)
    if magic != MAGIC or _CHECK.unpack_from(data, _FIELDS.size)[0] != zlib.crc32(data[: _FIELDS.size], seed):
        return None
    return Header(checksum, length, version)
