"""Variables in lower case, in a text that has its variables in upper case: strings, and hardly ever meant so.

`reach(x, y) :- link(x, y).` beside `reach(X, Y) :- link(X, Z), reach(Z, Y).` says something about the strings "x" and
"y" only. A rule without variables whose head repeats such a name is refused; a name that stands in several places of
another rule is told as a warning. Strings in quotes are always meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headwater.errors import HeadwaterWarning, LanguageError
from headwater.language.datalog.dialect import argument_names, capital
from headwater.language.datalog.trees import trees
from headwater.language.program import Rule

if TYPE_CHECKING:
    from lark import Token, Tree

    from headwater.language.datalog.trees import Node

WORDS = ("true", "false", "nil", "null")
"""Bare names that are values of their own."""


def small_variables(rule: Rule, parts: Sequence[Node]) -> Iterator[LanguageError | HeadwaterWarning]:
    """What is doubtful about a rule of a text with variables in upper case; `parts` are its heads and conditions."""
    names = [list(argument_names(part)) for part in parts]
    small = [{name for name in found if not capital(name) and name not in WORDS} for found in names]
    repeated = sorted(name for name in set().union(*small) if sum(name in found for found in small) > 1)
    if not repeated:
        return
    variables = any(capital(name) and name != "_" for found in names for name in found)
    one = len(repeated) == 1
    are = "is a string, not a variable" if one else "are strings, not variables"
    message = f"in {rule.text!r} {_list(repeated)} {are}: variables of this text start in upper case"
    capitals, quoted = [name[0].upper() + name[1:] for name in repeated], [f'"{name}"' for name in repeated]
    meant = "the string is" if one else "the strings are"
    hint = f"write {_list(capitals)}; or {_list(quoted)}, if {meant} meant"
    heads = set().union(*small[: len(rule.heads)])
    kind = HeadwaterWarning if variables or not heads.intersection(repeated) else LanguageError
    yield kind("lower-case", message, place=rule.place, hint=hint)


def null_variables(rule: Rule, parts: Sequence[Node]) -> Iterator[LanguageError]:
    """`NULL` is a variable like any other, and never meant to be one."""
    for name in dict.fromkeys(name for part in parts for name in argument_names(part)):
        if name in ("NULL", "Null"):
            yield LanguageError(
                "lower-case",
                f"in {rule.text!r} {name} is a variable: the value is written null",
                place=rule.place,
                hint="write X = null, or X is null",
            )


def conditions(body: Tree[Token]) -> list[Node]:
    """The conditions of a body, whatever alternatives they belong to."""
    return [condition for conjunction in trees(body) for condition in conjunction.children]


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
