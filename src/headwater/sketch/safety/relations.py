"""Ψ: how a value over the sketched data is to the value it stands for over all data.

For each operator, R is its result over all data, R' its result over the sketched data, and m maps rows of R' to
rows of R, each to another one. For a column, Ψ says what holds between a row of R' and the row that it is mapped to:

- EQUAL: the same value (also NULL).
- AT_MOST: if the value over the sketch is not NULL, neither is the other, and it is at most the other.
- AT_LEAST: likewise, at least.
- ANYTHING: nothing is known.

From relations of columns follow those of expressions that grow or fall with them, and which conditions are *kept*:
true for the row of R whenever they are true for the row of R'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from headwater.language.sql.scalars import (
    OPPOSITE,
    And,
    Attribute,
    Cast,
    Compare,
    Function,
    IsNull,
    Not,
    Or,
    Scalar,
    Value,
    attributes_in,
)


class Psi(Enum):
    """What holds between a value over the sketched data and the value over all data."""

    EQUAL = "="
    AT_MOST = "<="
    AT_LEAST = ">="
    ANYTHING = "?"

    def __or__(self, other: Psi) -> Psi:
        """What is known of a value of which one or the other is known."""
        if self == other or other == Psi.EQUAL:
            return self
        return other if self == Psi.EQUAL else Psi.ANYTHING

    def __neg__(self) -> Psi:
        """What is known of the negative of a value."""
        return {Psi.AT_MOST: Psi.AT_LEAST, Psi.AT_LEAST: Psi.AT_MOST}.get(self, self)


Relations = Mapping[int, Psi]
"""Ψ of the columns of an operator, by the ids of attributes."""
IsSigned = Callable[[Scalar], bool]
"""Whether a scalar is never negative."""


def psi_of(scalar: Scalar, relations: Relations, is_positive: IsSigned) -> Psi:
    """Ψ of a scalar: sums grow with their parts, products with parts whose other factor is never negative."""
    if all(relations[attribute.id] == Psi.EQUAL for attribute in attributes_in(scalar)):
        return Psi.EQUAL

    def part(each: Scalar) -> Psi:
        return psi_of(each, relations, is_positive)

    match scalar:
        case Attribute(id=id):
            return relations[id]
        case Function(name="add", arguments=(left, right)):
            return part(left) | part(right)
        case Function(name="subtract", arguments=(left, right)):
            return part(left) | -part(right)
        case Function(name="negate", arguments=(argument,)):
            return -part(argument)
        case Function(name="multiply" | "divide" as name, arguments=(left, right)):
            if part(right) == Psi.EQUAL and _constant(right) and is_positive(right):
                return part(left)
            if name == "multiply" and part(left) == Psi.EQUAL and _constant(left) and is_positive(left):
                return part(right)
            return Psi.ANYTHING
        case Cast(argument=argument) if scalar.type.name in ("float", "decimal"):
            return part(argument)
        case _:
            return Psi.ANYTHING


def _constant(scalar: Scalar) -> bool:
    return isinstance(scalar, Value)


def is_kept(condition: Scalar, relations: Relations, is_positive: IsSigned) -> bool:
    """Whether a condition that is true over the sketched data is true over all data."""
    if all(relations[attribute.id] == Psi.EQUAL for attribute in attributes_in(condition)):
        return True
    match condition:
        case And(parts=parts) | Or(parts=parts):
            return all(is_kept(part, relations, is_positive) for part in parts)
        case Compare(operator=operator, left=left, right=right):
            return _compared(
                operator, psi_of(left, relations, is_positive), psi_of(right, relations, is_positive)
            )
        case Not(argument=Compare(operator=operator, left=left, right=right)) if operator in OPPOSITE:
            return is_kept(Compare(OPPOSITE[operator], left, right), relations, is_positive)
        case Not(argument=IsNull(argument=argument)):
            return psi_of(argument, relations, is_positive) != Psi.ANYTHING
        case _:
            return False


def _compared(operator: str, left: Psi, right: Psi) -> bool:
    """Whether a comparison is kept: the left side may only move on from the right one, in its direction."""
    if operator in (">", ">="):
        return left in (Psi.EQUAL, Psi.AT_MOST) and right in (Psi.EQUAL, Psi.AT_LEAST)
    if operator in ("<", "<="):
        return left in (Psi.EQUAL, Psi.AT_LEAST) and right in (Psi.EQUAL, Psi.AT_MOST)
    return left == right == Psi.EQUAL
