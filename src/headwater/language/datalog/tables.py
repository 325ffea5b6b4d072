"""NDlog's `materialize(relation, lifetime, size, keys(1,2)).`

How long rows live, how many the table holds, and which columns are the key. Types of key columns, as RapidNet
writes them (`keys(1, 4:list)`), are read and say nothing: rules tell the types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.errors import LanguageError
from headwater.language.datalog.constants import number
from headwater.language.datalog.trees import end_of, start_of
from headwater.language.program import Materialize
from headwater.language.source import SourceText

if TYPE_CHECKING:
    from lark import Token, Tree

    from headwater.language.datalog.trees import Node

_FORM = "write materialize(link, 30, infinity, keys(1,2)): relation, lifetime in seconds, size, key columns"


def read_table(source: SourceText, head: Tree[Token]) -> Materialize:
    """What one `materialize` says. Keys count from 1 in the text."""

    def refuse(node: Node, message: str) -> LanguageError:
        place = source.place(start_of(node), end_of(node))
        return LanguageError("materialize", message, place=place, hint=_FORM)

    def figure(token: Token) -> int | float:
        try:
            return number(token)
        except ValueError as error:
            raise refuse(token, str(error)) from None

    def amount(node: Node, what: str) -> int | float | None:
        if node == "infinity":
            return None
        if not isinstance(node, str) or node.type not in ("INT", "FLOAT"):
            raise refuse(node, f"the {what} is a number or infinity")
        value = figure(node)
        if value <= 0:
            raise refuse(node, f"the {what} is more than 0")
        return value

    _, *arguments = head.children
    if len(arguments) != 4:
        raise refuse(head, f"materialize takes 4 arguments, found {len(arguments)}")
    relation, lifetime, size, keys = arguments
    if not isinstance(relation, str) or relation.type != "IDENT":
        raise refuse(relation, "expected the name of a relation")
    if isinstance(keys, str) or keys.data != "call" or keys.children[0] != "keys":
        raise refuse(keys, "expected keys(...)")
    positions = []
    for written in keys.children[1:]:
        key = written if isinstance(written, str) or written.data != "typed_key" else written.children[0]
        if not isinstance(key, str) or key.type != "INT" or figure(key) < 1:
            raise refuse(key, "a key is the position of a column, counted from 1")
        positions.append(int(figure(key)) - 1)
    seconds = amount(lifetime, "lifetime")
    rows = amount(size, "size")
    if isinstance(rows, float):
        raise refuse(size, "the size is a whole number or infinity")
    return Materialize(
        str(relation),
        None if seconds is None else float(seconds),
        rows,
        tuple(positions),
        source.place(start_of(head), end_of(head)),
    )
