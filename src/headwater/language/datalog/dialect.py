"""Which bare names are variables: decided once for each text.

- Souffle: with any `.decl` (or `.type`, `.pragma`), every bare name is a variable.
- NDlog: else, with any argument in a rule with a body that starts upper-case, names that start upper-case or
  with `_` are variables and the others are strings.
- Plain, as the papers write `reachable(x,y) :- link(x,y).`: else, names in rules with bodies are variables.

Facts of the last two take lower-case names for strings and others for variables (which makes them unsafe). So
do queries of a plain text, if they have an upper-case name or there is no rule to go by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from headwater.language.datalog.trees import is_word, trees

if TYPE_CHECKING:
    from lark import Token, Tree

    from headwater.language.datalog.trees import Node

IsVariable: TypeAlias = Callable[[str], bool]
HEAD_AGGREGATE = re.compile(r"(\w+)\s*<\s*(?:\*|(@?)\s*([^\W\d]\w*)((?:\s*,\s*@?\s*[^\W\d]\w*)*))\s*>")
"""The function, the mark of an address, the variable, and further ones with their commas."""


class Dialect(Enum):
    """How a text writes its variables."""

    SOUFFLE = "souffle"
    NDLOG = "ndlog"
    PLAIN = "plain"


def decide(tree: Tree[Token]) -> Dialect:
    """The dialect of a whole text."""
    if any(child.data in ("declaration", "type_alias", "pragma") for child in trees(tree)):
        return Dialect.SOUFFLE
    for clause in trees(tree):
        if has_body(clause) and any(name[0].isupper() for name in argument_names(clause)):
            return Dialect.NDLOG
    return Dialect.PLAIN


def variables_of(statement: Tree[Token], dialect: Dialect, any_rules: bool) -> IsVariable:
    """The test that tells the variables of one clause or query from its strings."""
    if dialect is Dialect.SOUFFLE or (dialect is Dialect.PLAIN and has_body(statement)):
        return _always
    if dialect is Dialect.PLAIN and any_rules and statement.data == "query":
        return capital if any(name[0].isupper() for name in argument_names(statement)) else _always
    return capital


def fact_variables(dialect: Dialect) -> IsVariable:
    """The same for a fact."""
    return _always if dialect is Dialect.SOUFFLE else capital


def capital(name: str) -> bool:
    """Whether NDlog takes a bare name for a variable."""
    return name[0].isupper() or name[0] in "_?"


def has_body(statement: Tree[Token]) -> bool:
    """Whether a statement is a rule with a body, or an active one."""
    return (
        statement.data == "active"
        or statement.data == "clause"
        and any(child.data == "body" for child in trees(statement))
    )


def argument_names(node: Node) -> Iterator[str]:
    """Every bare name that stands for a value, below `node`."""
    todo: list[Node] = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            yield from _name_in(part)
        elif part.data in ("clause", "active"):
            todo += reversed(trees(part))
        elif part.data not in ("label", "column"):
            children = part.children
            if part.data in ("head", "call"):  # the first name is the relation's or the function's
                children = children[2 if is_word(children[0], "HASH") else 1 :]
            elif part.data == "field":  # its name
                children = children[1:]
            todo += reversed(children)


def _name_in(word: Token) -> Iterator[str]:
    if word.type == "IDENT":
        yield word
    elif word.type == "HEAD_AGGREGATE":
        match = HEAD_AGGREGATE.fullmatch(word)
        if match is not None and match[3] is not None:
            yield match[3]


def _always(name: str) -> bool:
    return True
