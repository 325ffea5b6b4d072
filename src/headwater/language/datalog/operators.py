"""Operators, how tightly they bind, and the names of aggregates. The reader and the renderer share these.

>>> BINARY["*"] > BINARY["+"] and BINARY["^"] > UNARY > BINARY["*"]
True
"""

from __future__ import annotations

BINARY = {
    "lor": 1, "lxor": 2, "land": 3, "bor": 4, "bxor": 5, "band": 6, "bshl": 7, "bshr": 7, "bshru": 7,
    "<<": 7, ">>": 7,
    "+": 8, "-": 8, "*": 9, "/": 9, "%": 9, "^": 11,
}  # fmt: skip
"""Two-place operators; all but `^` group to the left."""

WRITTEN = {"<<": "bshl", ">>": "bshr"}
"""Operators by the functions that they are."""

UNARY = 10
"""Minus and Souffle's `bnot`, `lnot`: between `*` and `^`, so `-2^2` is -4."""

COMPARISONS = {"==": "=", "<>": "!="}
"""Other spellings of the comparisons."""

OPPOSITES = {
    "=": "!=", "!=": "=", "is": "is not", "is not": "is", "<": "!<", "<=": "!<=", ">": "!>", ">=": "!>=",
    "!<": "<", "!<=": "<=", "!>": ">", "!>=": ">=",
}  # fmt: skip
"""What holds where a comparison does not. Where a value is null, neither `<` nor `>=` does, but `!<` does."""

AGGREGATES = {
    "count": "count",
    "sum": "sum",
    "min": "min",
    "max": "max",
    "avg": "avg",
    "mean": "avg",
    "list": "list",
    "mklist": "list",
    "mkset": "list",
    "countdistinct": "countdistinct",
}
"""The aggregates by the names they are written with, after the dialects' `a_`."""
