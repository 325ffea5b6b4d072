"""Texts of actions in single quotes: `do run 'notify "ops"'`. Elsewhere strings stand in double quotes.

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

INNER = "\ue000"
"""Stands for a double quote in a text that was written in single ones; of no meaning to anybody else."""

ACTION_TEXT = r"\b(?:append|run|refuse)\s+'(?:\\.|[^'\\\n])*'"
"""An action and its text in single quotes."""

_WRITTEN = re.compile(rf'"(?:\\.|[^"\\\n])*"|({ACTION_TEXT})')


def double_quoted(blanked: str) -> str:
    """A text without comments, with the texts of actions in double quotes."""
    return _WRITTEN.sub(_converted, blanked) if "'" in blanked else blanked


def _converted(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    before, inside = match[1][:-1].split("'", 1)
    return f'{before}"{inside.replace(chr(34), INNER)}"'


def text_of(written: str) -> str:
    """The text that a string in double quotes stands for; `ValueError` with words if there is none."""
    return string(written).replace(INNER, '"')
