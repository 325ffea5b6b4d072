"""Regular expressions, in RE2's dialect: the time to match is linear in the text, whatever the pattern.

A pattern matches the whole text, as in Souffle. There are groups, alternatives, repetition (greedy or not, counts
up to 1000), classes (`[a-z]`, `[[:alpha:]]`, `\\d \\w \\s` of ASCII, `\\pL` of Unicode), anchors and flags such as
`(?i)`. What cannot be matched in linear time, references back and looking around, is no pattern here. `.` is any
code point but a line break.

>>> matches("[[:alpha:]]+", "abc"), matches("(a+)+b", "a" * 1000), matches("b", "abc")
(True, False, False)
>>> matches("a(?=b)", "ab")
Traceback (most recent call last):
headwater.errors.EvaluationError: error[bad-pattern]: 'a(?=b)' is not a regular expression: invalid perl operator: (?=
 = hint: patterns are RE2's: no references back, no looking ahead or behind, counts up to 1000
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import re2

from headwater.errors import EvaluationError
from headwater.values.scalars import show

_PATTERNS_KEPT = 1024
_HINT = "patterns are RE2's: no references back, no looking ahead or behind, counts up to 1000"


class Pattern(Protocol):
    """What RE2 makes of a pattern."""

    def fullmatch(self, text: str) -> object | None:
        """Something, if the whole text matches."""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern matches the whole text; raises `bad-pattern` where it is none."""
    return compiled(pattern).fullmatch(text) is not None


@lru_cache(_PATTERNS_KEPT)
def compiled(pattern: str) -> Pattern:
    """A pattern ready to match, or the error `bad-pattern`."""
    options = re2.Options()
    options.log_errors = False
    try:
        ready: Pattern = re2.compile(pattern, options)
        return ready
    except re2.error as problem:
        (reason,) = problem.args
        words = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        message = f"{show(pattern)} is not a regular expression: {words}"
        raise EvaluationError("bad-pattern", message, hint=_HINT) from None
