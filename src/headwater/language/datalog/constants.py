"""Constants as they are written, and the values they stand for.

>>> string(r'"tab\\t \\"quoted\\" \\u00e9"')
'tab\\t "quoted" é'
>>> number("0x1F"), number("0b101"), number("7u"), number("0x1I"), number("2.5e3")
(31, 5, 7, 1, 2500.0)
>>> typed("date", "2024-01-31")
datetime.date(2024, 1, 31)

Each raises `ValueError` with words for the user when there is no such value.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

from headwater.values.literals import LITERALS, WrittenFloat
from headwater.values.ring import id_written

_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "0": "\0",
    '"': '"',
    "'": "'",
    "\\": "\\",
    "/": "/",
}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)

_MOST_DIGITS = 100
LEAST = -(2**63)
GREATEST = 2**63 - 1


def string(written: str) -> str:
    """The string that a quoted text stands for."""
    return _ESCAPE.sub(_unescape, written[1:-1])


def _unescape(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) > 1:
        code = int(escape[1:], 16)
        if 0xD800 <= code <= 0xDFFF:
            raise ValueError(f"\\{escape} is half of a character; write the character itself")
        return chr(code)
    if escape not in _ESCAPES:
        raise ValueError(f"\\{escape} is not an escape; for a backslash write \\\\")
    return _ESCAPES[escape]


def number(written: str, negative: bool = False) -> int | float:
    """The int or float that digits stand for; ints fit in 64 bits and floats are finite."""
    sign = -1 if negative else 1
    lower = written.lower().rstrip("ui")
    if len(lower) > _MOST_DIGITS and re.fullmatch(r"0[xb][0-9a-f]+|[0-9]+", lower):
        raise ValueError(f"an int of {len(lower)} digits does not fit in 64 bits")
    if lower.startswith(("0x", "0b")):
        value = sign * int(lower[2:], 16 if lower[1] == "x" else 2)
    elif re.fullmatch(r"\d+", lower):
        value = sign * int(lower)
    else:
        real = sign * float(written)
        if not math.isfinite(real):
            raise ValueError(f"{written[:_MOST_DIGITS]} is too large for a float")
        if Decimal(repr(abs(real))) == Decimal(written):
            return real
        return -WrittenFloat(written) if negative else WrittenFloat(written)
    if not LEAST <= value <= GREATEST:
        raise ValueError(
            f"{value} does not fit in 64 bits; the range is {LEAST} to {GREATEST}. "
            f'As a decimal it is decimal("{value}")'
        )
    return value


def identifier(written: str) -> int | str:
    """P2's `0x1I`: a number, or what one of up to 160 bits is written as where it does not fit in 64.

    >>> identifier("0x1I"), identifier("0x" + 40 * "f" + "I") == 40 * "f"
    (1, True)
    """
    digits = written.lower().rstrip("i")
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"an identifier of {len(digits)} digits does not fit in 160 bits")
    value = int(digits, 0)
    return number(digits) if value <= GREATEST else id_written(value)  # type: ignore[return-value]


def typed(name: str, written: str) -> object:
    """The value that `date("2024-01-31")` and the like stand for."""
    try:
        return LITERALS[name](written)
    except ValueError as error:
        raise ValueError(f'"{written}" is not {"an" if name[0] == "i" else "a"} {name}: {error}') from None
