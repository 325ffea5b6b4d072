"""Operators are applied in the order of how tightly they bind (precedence climbing).

The grammar leaves an expression as a flat run: operands, the operators between them, and minus, `bnot` or
`lnot` before them. `-2` is a constant and `-2^2` is minus the square.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.language.nodes import end_of, is_word, start_of
from headwater.language.operators import BINARY, UNARY
from headwater.language.program import Call, Term
from headwater.language.source import Source

if TYPE_CHECKING:
    from lark import Token

    from headwater.language.nodes import Node


@dataclass
class Expression:
    """Reads one run from left to right; `operand` and `negative` turn its parts into terms."""

    source: Source
    run: list[Node]
    operand: Callable[[Node], Term]
    negative: Callable[[Token, int], Term]
    position: int = 0

    def read(self, least: int = 0) -> tuple[Term, int, int]:
        """The longest term from here on whose operators bind at least so tightly, with its start and end."""
        term, start, end = self._prefixed()
        while self.position < len(self.run):
            operator = str(self.run[self.position])
            level = BINARY[operator]
            if level < least:
                break
            self.position += 1
            right, _, end = self.read(level if operator == "^" else level + 1)
            term = Call(operator, (term, right), self.source.place(start, end))
        return term, start, end

    def _prefixed(self) -> tuple[Term, int, int]:
        node = self.run[self.position]
        start = start_of(node)
        self.position += 1
        if not isinstance(node, str) or node.type not in ("MINUS", "PREFIX"):
            return self.operand(node), start, end_of(node)
        following = self.run[self.position]
        if isinstance(following, str) and node.type == "MINUS" and self._is_lone_number():
            self.position += 1
            return self.negative(following, start), start, end_of(following)
        term, _, end = self.read(UNARY)
        function = "neg" if node.type == "MINUS" else str(node)
        return Call(function, (term,), self.source.place(start, end)), start, end

    def _is_lone_number(self) -> bool:
        """Whether a number is next, and not the base of a power."""
        number, *behind = self.run[self.position : self.position + 2]
        return is_word(number, "INT", "FLOAT") and behind != ["^"]
