"""Macros: names that stand for pieces of text, with arguments or without.

>>> macros = Macros()
>>> macros.define("LIMIT 10")
>>> macros.define("edge(x, y) link(x, y, _), x != y")
>>> macros.expand('p(X) :- edge(X, "LIMIT"), q(LIMIT).')
'p(X) :- link(X, "LIMIT", _), X != "LIMIT", q(10).'

As in C: an argument is expanded before it is put in, `#x` is it as a string, `a ## b` is one word, and a macro is not
expanded inside itself. Unlike in C, what stands behind an expansion is never taken for its arguments. An expansion
has as many line breaks as what it replaces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MOST_NESTED = 100
MOST_CHARACTERS = 1 << 20
"""What the expansion of one use may have, counting as well what was expanded on the way to it."""
_COST = 64  # of each use inside another, in characters

_WORD = re.compile(r'"(?:\\.|[^"\\\n])*"|[^\W\d]\w*|\d\w*')
_NAME = re.compile(r"[^\W\d]\w*")
_HEAD = re.compile(r"\s*([^\W\d]\w*)(?:\(([^()]*)\))?(?=\s|$)")
_BODY = re.compile(r'("(?:\\.|[^"\\\n])*")|\#\s*([^\W\d]\w*)|(\#\#\s*)?([^\W\d]\w*)(?=(\s*\#\#)?)')
_BRACKET = re.compile(r'"(?:\\.|[^"\\\n])*"|[()\[\]{},]')


class MacroProblem(Exception):  # noqa: N818
    """What is wrong with a macro or its use; callers turn it into an error with a place."""


@dataclass(frozen=True)
class Macro:
    """A name, the names of its parameters (`None`: it takes no arguments), and what it stands for."""

    name: str
    parameters: tuple[str, ...] | None
    body: str

    def filled(self, raw: Mapping[str, str], expanded: Mapping[str, str]) -> str:
        """The body with arguments in place of parameters."""

        def fill(match: re.Match[str]) -> str:
            text, quoted, pasted, name, pastes = match.groups()
            if text is not None:
                return str(text)
            if quoted is not None:
                return _string(raw[quoted]) if quoted in raw else match[0]
            known = raw if pasted or pastes else expanded
            return (pasted or "") + known.get(name, name)

        return re.sub(r"\s*\#\#\s*", "", _BODY.sub(fill, self.body))


class Macros:
    """The macros defined so far."""

    def __init__(self, *, last_holds: bool = False) -> None:
        """Start without any. `last_holds`: of several definitions in a text the last one does, as in C."""
        self._macros: dict[str, Macro] = {}
        self._last_holds = last_holds
        self._given: set[str] = set()
        self._left = MOST_CHARACTERS

    def __contains__(self, name: str) -> bool:
        return name in self._macros

    def define(self, written: str, *, given: bool = False) -> None:
        """Take `NAME body` or `NAME(a, b) body`; raise `MacroProblem` if it is none, or defined otherwise already.

        What is `given` by the user of a text is not defined otherwise by it.
        """
        match = _HEAD.match(written)
        if match is None:
            raise MacroProblem("expected a name, and what it stands for")
        name, parameters = match[1], None
        if match[2] is not None:
            parameters = tuple(part.strip() for part in match[2].split(",")) if match[2].strip() else ()
            if not all(map(_NAME.fullmatch, parameters)) or len(set(parameters)) < len(parameters):
                raise MacroProblem(f"the parameters of {name} are names, each once")
        macro = Macro(name, parameters, " ".join(written[match.end() :].split("\n")).strip())
        if given:
            self._given.add(name)
        elif self._last_holds and name not in self._given:
            self._macros[name] = macro
        if self._macros.setdefault(name, macro) != macro:
            raise MacroProblem(f"{name} is defined already, and stands for something else")

    def forget(self, name: str) -> None:
        """Define a name no longer, if it was."""
        self._macros.pop(name, None)

    def expand(self, text: str, hidden: frozenset[str] = frozenset()) -> str:
        """The text with macros replaced by what they stand for; those in `hidden` are left."""
        pieces: list[str] = []
        done = 0
        while (found := self.find(text, done, hidden)) is not None:
            start, end, macro, arguments = found
            pieces += [text[done:start], self.replaced(macro, arguments, hidden)]
            pieces.append("\n" * text.count("\n", start, end))
            done = end
        return "".join([*pieces, text[done:]])

    def find(
        self, text: str, position: int, hidden: frozenset[str] = frozenset()
    ) -> tuple[int, int, Macro, list[str]] | None:
        """The first use of a macro from `position` on: where it starts and ends, the macro, its arguments."""
        for match in _WORD.finditer(text, position):
            macro = self._macros.get(match[0])
            if macro is None or macro.name in hidden:
                continue
            if macro.parameters is None:
                return match.start(), match.end(), macro, []
            opened = re.compile(r"\s*\(").match(text, match.end())
            if opened is not None:
                arguments, end = _arguments(macro, text, opened.end())
                return match.start(), end, macro, arguments
        return None

    def replaced(self, macro: Macro, arguments: list[str], hidden: frozenset[str] = frozenset()) -> str:
        """What a use of a macro stands for."""
        if not hidden:
            self._left = MOST_CHARACTERS
        if len(hidden) >= MOST_NESTED:
            raise MacroProblem(f"more than {MOST_NESTED} macros use each other")
        raw = dict(zip(macro.parameters or (), arguments, strict=True))
        expanded = {name: self.expand(argument, hidden) for name, argument in raw.items()}
        filled = macro.filled(raw, expanded)
        self._left -= len(filled) + _COST
        if self._left < 0:
            raise MacroProblem(f"{macro.name} expands to more than {MOST_CHARACTERS:,} characters")
        return self.expand(filled, hidden | {macro.name})


def _arguments(macro: Macro, text: str, position: int) -> tuple[list[str], int]:
    """The arguments from behind the opening parenthesis on, and where the closing one ends."""
    assert macro.parameters is not None
    arguments: list[str] = []
    depth, start = 0, position
    for match in _BRACKET.finditer(text, position):
        if match[0] in "([{":
            depth += 1
        elif match[0] in ")]}" and depth:
            depth -= 1
        elif not depth and match[0] in (",", ")"):
            arguments.append(" ".join(text[start : match.start()].split("\n")).strip())
            start = match.end()
            if match[0] == ")":
                break
    else:
        raise MacroProblem(f"the arguments of {macro.name} are not closed")
    if arguments == [""] and not macro.parameters:
        arguments = []
    if len(arguments) != len(macro.parameters):
        raise MacroProblem(f"{macro.name} takes {len(macro.parameters)} arguments, given {len(arguments)}")
    return arguments, start


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
