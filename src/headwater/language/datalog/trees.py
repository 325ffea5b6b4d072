"""Small questions to parse trees: where a node starts and ends, what it has below it.

A node is a word (lark's `Token`, a `str`) or a tree of nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from lark import Token, Tree

    Node: TypeAlias = Token | Tree[Token]


def start_of(node: Node) -> int:
    """The offset of a node's first character."""
    return (node.start_pos if isinstance(node, str) else node.meta.start_pos) or 0


def end_of(node: Node) -> int:
    """The offset just behind a node's last character."""
    return (node.end_pos if isinstance(node, str) else node.meta.end_pos) or 0


def trees(node: Tree[Token]) -> list[Tree[Token]]:
    """The children that are trees."""
    return [child for child in node.children if not isinstance(child, str)]


def words(node: Tree[Token]) -> list[Token]:
    """The children that are words."""
    return [child for child in node.children if isinstance(child, str)]


def is_word(node: Node, *kinds: str) -> bool:
    """Whether a node is a word of one of these kinds (names of terminals)."""
    return isinstance(node, str) and node.type in kinds


def application(node: Tree[Token]) -> tuple[bool, str, list[Node]]:
    """Of an atom or a call: whether `#` stands before it, its name, its arguments."""
    link = is_word(node.children[0], "HASH")
    first = (2 if link else 1) + (located(node) is not None)
    return link, str(node.children[1 if link else 0]), node.children[first:]


def located(node: Tree[Token]) -> Tree[Token] | None:
    """Where an atom lives that says so before its arguments, `succ@N(N, S)`: `@N`."""
    for child in node.children[1:3]:
        if not isinstance(child, str) and child.data == "located":
            return child
    return None
