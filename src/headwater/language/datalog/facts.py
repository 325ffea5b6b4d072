"""Plain facts, taken out of a text before the grammar sees it.

A text may state many thousands of rows. Facts whose arguments are bare names, numbers and strings are regular
enough to be found by one expression, which is some ten times faster than parsing them. Everything else,
mistakes included, is left to the grammar, so a text means the same with this and without.

>>> rest, facts = take_facts('a(1). b("x", -2.5). c(X) :- a(X).')
>>> rest
'                    c(X) :- a(X).'
>>> [fact.relation for fact in facts]
['a', 'b']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_STRING = r'"(?:\\.|[^"\\\n])*"'
_FLOAT = r"\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)(?!\w)"
_INT = r"(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUiI]?(?!\w)"
_NAME = r"[^\W\d]\w*"
_ITEM = rf"-?(?:{_FLOAT}|{_INT})|@?(?:{_NAME}|{_STRING})"

_WORD = re.compile(rf"([@-]?)(?:({_NAME})|({_STRING})|({_FLOAT}|{_INT}))")
_FACT = re.compile(rf"({_NAME})\(\s*((?:{_ITEM})(?:\s*,\s*(?:{_ITEM}))*)\s*\)\.(?=\s|\Z)")
_STOP = re.compile(rf"{_STRING}|\.\s+|\Z")
_SPACE = re.compile(r"\s*")
_NOT_FACTS = ("materialize", "watch", "watchmod", "watchfine")


@dataclass(frozen=True)
class PlainFact:
    """A fact as it is written: the offsets of its start and its end, and of its arguments."""

    relation: str
    start: int
    end: int
    arguments: tuple[Word, ...]


@dataclass(frozen=True)
class Word:
    """One argument: `kind` is name, string or number; `mark` is `@`, `-` or nothing."""

    kind: str
    mark: str
    text: str
    start: int
    end: int


def take_facts(text: str) -> tuple[str, list[PlainFact]]:
    """The text with its plain facts blanked, and these. The text has no comments any more."""
    facts: list[PlainFact] = []
    pieces: list[str] = []
    done = 0
    position = _end(_SPACE.match(text))
    while position < len(text):
        first = position
        while (match := _FACT.match(text, position)) is not None and match[1] not in _NOT_FACTS:
            facts.append(PlainFact(match[1], position, match.end(), tuple(_words(text, *match.span(2)))))
            position = _end(_SPACE.match(text, match.end()))
        if position > first:
            pieces += [text[done:first], re.sub(r"[^\n]", " ", text[first:position])]
            done = position
        # On to the next full stop that ends a clause: one with a blank behind it, outside strings.
        while (stop := _STOP.search(text, position)) is not None and stop[0].startswith('"'):
            position = stop.end()
        position = _end(stop)
    return "".join(pieces) + text[done:], facts


def _words(text: str, start: int, end: int) -> Iterator[Word]:
    for match in _WORD.finditer(text, start, end):
        kind = "name" if match[2] is not None else "string" if match[3] is not None else "number"
        yield Word(kind, match[1], match[2] or match[3] or match[4], match.start(), match.end())


def _end(match: re.Match[str] | None) -> int:
    assert match is not None  # both expressions match everywhere
    return match.end()
