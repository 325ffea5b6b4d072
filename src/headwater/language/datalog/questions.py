"""The text of a question: a goal alone, or rules of its own and a goal at the end.

>>> question = parse_question("reach('a', X), !blocked(X)")
>>> len(question.rules), len(question.queries[0].body)
(0, 2)
>>> question = parse_question("far(X) :- reach('a', X), X != 'b'.  ?- far(X).")
>>> len(question.rules), len(question.queries[0].body)
(1, 1)

Here, and only here, a string may also stand in single quotes, since the whole is mostly a string in double ones.
"""

from __future__ import annotations

import re
from dataclasses import replace

from headwater.errors import LanguageError
from headwater.language.datalog.parser import parse
from headwater.language.program import Program

_WRITTEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|\'((?:\\.|[^\'\\\n])*)\'', re.DOTALL)
"""Strings and comments; the group is what stands in single quotes."""


def parse_question(text: str, source: str = "<question>") -> Program:
    """What a question says: a `Program` with one query."""
    text = _WRITTEN.sub(_in_double_quotes, text)
    bare = _WRITTEN.sub("", text)
    if "?-" not in bare and ":-" in bare:
        raise LanguageError(
            "syntax", "found rules and no goal", hint="end with what is asked for: ?- far(X)."
        )
    if "?-" not in bare:
        text = f"?- {text.strip()}"
    program = _parsed(text, source, ended=bare.rstrip().endswith("."))
    if len(program.queries) != 1:
        raise LanguageError(
            "syntax",
            f"found {len(program.queries)} goals, expected one",
            place=program.queries[1].place if program.queries else None,
            hint="ask for several things at once with commas between them: ?- p(X), q(X, Y).",
        )
    return program


def _parsed(text: str, source: str, *, ended: bool) -> Program:
    """The text, with a full stop at the end if it has none; nobody is told of that."""
    if ended:
        return parse(text, source)
    text = f"{text}\n." if "//" in text else f"{text}."
    try:
        return parse(text, source)
    except LanguageError as error:
        place = error.place
        if place is None or not error.message.startswith("found '.'") or not place.text.endswith("."):
            raise
        message = error.message.replace("found '.'", "found the end of the goal", 1)
        shown = replace(place, text=place.text.removesuffix("."))
        raise LanguageError(error.code, message, place=shown, hint=error.hint) from None


def _in_double_quotes(written: re.Match[str]) -> str:
    inside = written[1]
    if inside is None:
        return written[0]
    return '"' + inside.replace("\\'", "'").replace('"', '\\"') + '"'
