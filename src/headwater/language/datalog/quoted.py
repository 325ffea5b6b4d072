"""Strings of active rules in single quotes: `on +alarm(X, 'high') do run 'notify "ops"'`. Elsewhere strings stand in
double quotes.

They become strings in double quotes of the same length, so that all that comes after knows one kind of string, and
every character keeps its place.

>>> double_quoted("on +p(X) do run 'say \\"hi\\"'.").replace(INNER, "?")
'on +p(X) do run "say ?hi?".'
>>> text_of(double_quoted("'it\\\\'s \\"so\\"'".join(["do run ", "."]))[7:-1])
'it\\'s "so"'
"""

from __future__ import annotations

import re

from headwater.language.datalog.constants import string

INNER = "\udc22"
"""Stands for a double quote in a string that was written in single ones; no text in Unicode has it."""

STRING = r'"(?:\\.|[^"\\\n])*"'
"""How strings are written, but in active rules."""
_WRITTEN = re.compile(rf"{STRING}|'((?:\\.|[^'\\\n])*)'")
"""Strings; the group is what stands in single quotes."""
_STOP = re.compile(rf"{_WRITTEN.pattern}|(?P<stop>\.)(?=\s|\Z)")
_BEGUN = re.compile(r"\bon\s*[+±-]|\bon\s+#?[^\W\d]")
"""How an active rule begins, after its label."""


def double_quoted(blanked: str) -> str:
    """A text without comments and with single quotes only in active rules, with all strings in double quotes."""
    return _WRITTEN.sub(_converted, blanked) if "'" in blanked else blanked


def _converted(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    return f'"{match[1].replace(chr(34), INNER)}"'


class ActiveStatements:
    """Tells which places of a text are in active rules; asked from the front to the back, it looks at all once."""

    def __init__(self) -> None:
        self._seen = 0
        self._start = 0

    def has(self, characters: list[str], place: int) -> bool:
        """Whether a place is in one. What stands before has no comments any more."""
        for match in _STOP.finditer("".join(characters[self._seen : place + 1])):
            if match["stop"] is not None:
                self._start = self._seen + match.end()
        self._seen = place
        statement = "".join(characters[self._start : place])
        return ":-" not in statement and _BEGUN.search(statement) is not None


def text_of(written: str) -> str:
    """The text that a string in double quotes stands for; `ValueError` with words if there is none."""
    return string(written.replace(INNER, r"\""))
