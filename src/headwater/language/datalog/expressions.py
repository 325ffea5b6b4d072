"""Operators are applied in the order of how tightly they bind (a shunting yard).

The grammar leaves an expression as a flat run: operands, the operators between them, and minus, `bnot` or
`lnot` before them. `-2` is a constant and `-2^2` is minus the square.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.language.datalog.operators import BINARY, UNARY, WRITTEN
from headwater.language.datalog.trees import end_of, is_word, start_of
from headwater.language.program import Call, Term
from headwater.language.source import SourceText

if TYPE_CHECKING:
    from lark import Token

    from headwater.language.datalog.trees import Node


@dataclass
class _Operator:
    """An operator that waits for its right operand."""

    function: str
    level: int
    operands: int
    start: int


@dataclass
class Expression:
    """Reads one run from left to right; `operand` and `negative` turn its parts into terms.

    Operators and operands wait on two stacks, so a run may be longer than Python's own stack is deep.
    """

    source: SourceText
    run: list[Node]
    operand: Callable[[Node], Term]
    negative: Callable[[Token, int], Term]
    position: int = 0
    _operators: list[_Operator] = field(default_factory=list)
    _operands: list[tuple[Term, int, int]] = field(default_factory=list)

    def read(self) -> Term:
        """The term that the run stands for."""
        self._prefixed()
        while self.position < len(self.run):
            operator = str(self.run[self.position])
            level = BINARY[operator]
            self._apply(level + 1 if operator == "^" else level)
            self._operators.append(_Operator(WRITTEN.get(operator, operator), level, 2, 0))
            self.position += 1
            self._prefixed()
        self._apply(0)
        ((term, _, _),) = self._operands
        return term

    def _prefixed(self) -> None:
        """Take an operand and the operators before it."""
        while is_word(node := self.run[self.position], "MINUS", "PREFIX"):
            self.position += 1
            following = self.run[self.position]
            if isinstance(following, str) and is_word(node, "MINUS") and self._is_lone_number():
                self.position += 1
                start = start_of(node)
                self._operands.append((self.negative(following, start), start, end_of(following)))
                return
            function = "neg" if is_word(node, "MINUS") else str(node)
            self._operators.append(_Operator(function, UNARY, 1, start_of(node)))
        self.position += 1
        self._operands.append((self.operand(node), start_of(node), end_of(node)))

    def _apply(self, least: int) -> None:
        """Give the operators that bind at least so tightly their operands, the last one first."""
        while self._operators and self._operators[-1].level >= least:
            operator = self._operators.pop()
            taken = self._operands[-operator.operands :]
            del self._operands[-operator.operands :]
            start = operator.start if operator.operands == 1 else taken[0][1]
            end = taken[-1][2]
            terms = tuple(term for term, _, _ in taken)
            self._operands.append((Call(operator.function, terms, self.source.place(start, end)), start, end))

    def _is_lone_number(self) -> bool:
        """Whether a number is next, and not the base of a power."""
        number, *behind = self.run[self.position : self.position + 2]
        return is_word(number, "INT", "FLOAT") and behind != ["^"]
