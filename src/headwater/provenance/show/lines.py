"""Styled lines: made once, shown as plain text or in colours.

A line is pieces of text with a style each. Trees are drawn without recursion, since proofs can be deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.text import Text

Line = list[tuple[str, str]]
Node = TypeVar("Node")


def plain(lines: Iterable[Line]) -> str:
    """The lines as text."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def rich_text(lines: Iterable[Line]) -> Text:
    """The lines as rich shows them."""
    from rich.text import Text

    shown = Text()
    for number, line in enumerate(lines):
        if number:
            shown.append("\n")
        for text, style in line:
            shown.append(text, style=style or None)
    return shown


def tree(root: Node, line: Callable[[Node], Line], below: Callable[[Node], Sequence[Node]]) -> list[Line]:
    """A tree, one line a node, branches drawn before it.

    >>> print(plain(tree(3, lambda n: [(str(n), "")], lambda n: list(range(n)) if n > 1 else [])))
    3
    ├─ 0
    ├─ 1
    └─ 2
       ├─ 0
       └─ 1
    """
    lines: list[Line] = []
    todo: list[tuple[Node, str, str]] = [(root, "", "")]
    while todo:
        node, first, rest = todo.pop()
        lines.append([(first, "dim"), *line(node)] if first else line(node))
        children = list(below(node))
        for place, child in reversed(list(enumerate(children))):
            last = place == len(children) - 1
            todo.append((child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")))
    return lines
