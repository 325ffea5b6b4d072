"""The names of what we keep beside a table: its edit log, the triggers that fill it, a copy to compare with."""

from __future__ import annotations

import zlib

MOST_BYTES = 63
"""Of a name, in PostgreSQL and in what speaks as it does."""


def beside(prefix: str, table: str) -> str:
    """The name of something that we keep for a table. A long one is cut, and told from others by a checksum:
    PostgreSQL cuts what is longer without a word, and two tables would share what each needs for itself.

    >>> beside("headwater_edits_", "B")
    'headwater_edits_B'
    >>> len(beside("headwater_edits_", "ü" * 60).encode()) <= MOST_BYTES
    True
    """
    if len((prefix + table).encode()) <= MOST_BYTES:
        return prefix + table
    checked = f"_{zlib.crc32(table.encode()):08x}"
    room = MOST_BYTES - len(prefix) - len(checked)
    return prefix + table.encode()[:room].decode(errors="ignore") + checked
