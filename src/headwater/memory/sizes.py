"""Sizes as people write and read them.

>>> size_in_bytes("8 GB"), size_in_bytes("512MiB"), size_in_bytes("50%", of=1000), size_in_bytes(4096)
(8000000000, 536870912, 500, 4096)
>>> shown_size(17_612_345_678), shown_size(999)
('17.6 GB', '999 bytes')
"""

from __future__ import annotations

import re

from headwater.errors import DataError

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
HINT = 'bytes as a whole number, or a text such as "8 GB", "512 MiB" or "75%" (of what this process may have)'


def size_in_bytes(size: object, *, of: int = 0) -> int:
    """The bytes that a number or a text means; a percentage is one `of` so many bytes."""
    if isinstance(size, str):
        found = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*(?:([kmgt]?)(i?)b?|(%))\s*", size.lower())
        if found is not None and not (found[3] and not found[2]):
            number, unit, binary, percent = found.groups()
            factor = of / 100 if percent else (BINARY_UNITS if binary else UNITS)[unit]
            if not percent or float(number) <= 100:
                return _positive(int(float(number) * factor), size)
    elif isinstance(size, int) and not isinstance(size, bool):
        return _positive(size, size)
    told = repr(size) if isinstance(size, (str, int, float)) else f"of the class {type(size).__name__}"
    raise DataError("unknown-option", f"memory is {told}", hint=HINT)


def _positive(size: int, given: object) -> int:
    if size < 1:
        raise DataError("unknown-option", f"memory is {given!r}", hint=HINT)
    return size


def shown_size(size: int) -> str:
    """A size in the largest unit of which there is one."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"
