"""Whether a scalar is always at least or at most a number, or never NULL: from the plan, or from facts about data.

What WHERE and inner joins enforce below comes first, then facts, each of which is asked for by name. Bounds are about
values that are not NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from headwater.language.sql.algebra import (
    AggregateCall,
    Except,
    GroupBy,
    Intersect,
    Operator,
    Project,
    Scan,
    ThetaJoin,
    UnionAll,
    walk,
)
from headwater.language.sql.scalars import (
    FLIPPED,
    Attribute,
    Case,
    Cast,
    Compare,
    Function,
    InList,
    IsNull,
    Like,
    Not,
    Scalar,
    Value,
)
from headwater.sketch.safety.facts import DataFact, KnownFacts
from headwater.values.types import BOOL, Type

Number = int | float | Decimal


@dataclass(frozen=True)
class BaseColumn:
    """An attribute that is a column of a table, of a type if that is known."""

    table: str
    column: str
    type: Type | None = None


@dataclass(frozen=True)
class AggregateOf:
    """An attribute that is an aggregate; one over all rows (not `grouped`) may be over none."""

    call: AggregateCall
    grouped: bool


Meaning = BaseColumn | Scalar | AggregateOf | tuple[Attribute, ...]
"""What an attribute is: a column, a scalar or aggregate of attributes below, or (of a union) one of several."""


def meanings(plan: Operator) -> dict[int, Meaning]:
    """What each attribute of a plan is."""
    found: dict[int, Meaning] = {}
    for operator in walk(plan):
        match operator:
            case Scan(table=table, attributes=attributes):
                found |= {each.id: BaseColumn(table, each.name, each.type) for each in attributes}
            case Project(columns=columns):
                found |= {each.attribute.id: each.expression for each in columns}
            case GroupBy(keys=keys, aggregates=aggregates):
                found |= {each.attribute.id: each.expression for each in keys}
                found |= {each.attribute.id: AggregateOf(each.call, bool(keys)) for each in aggregates}
            case UnionAll() | Except() | Intersect():
                inputs = operator.inputs if isinstance(operator, UnionAll) else (operator.left,)
                for at, attribute in enumerate(operator.attributes):
                    found[attribute.id] = tuple(each.attributes[at] for each in inputs)
    return found


def padded(plan: Operator) -> frozenset[int]:
    """The attributes that outer joins of a plan fill with NULLs."""
    sides: list[Operator] = []
    for operator in walk(plan):
        if isinstance(operator, ThetaJoin):
            sides += [operator.right] if operator.kind in ("left", "full") else []
            sides += [operator.left] if operator.kind in ("right", "full") else []
    return frozenset(attribute.id for side in sides for attribute in side.attributes)


@dataclass
class Bounds:
    """Answers questions about scalars of a plan, and remembers the facts that answers rested on."""

    meanings: Mapping[int, Meaning]
    padded: frozenset[int]
    known: KnownFacts
    relied: set[DataFact] = field(default_factory=set)
    wanted: set[DataFact] = field(default_factory=set)

    def is_bounded(self, scalar: Scalar, operator: str, bound: Number, enforced: tuple[Scalar, ...]) -> bool:
        """Whether `scalar operator bound` (`>=` or `<=`) holds for all values of a scalar that are not NULL."""
        before = frozenset(self.relied)
        found = self._is_bounded(scalar, operator, bound, enforced)
        if not found:
            self.relied.intersection_update(before)
        return found

    def _is_bounded(self, scalar: Scalar, operator: str, bound: Number, enforced: tuple[Scalar, ...]) -> bool:
        def also(each: Scalar, other: str, limit: Number) -> bool:
            return self.is_bounded(each, other, limit, enforced)

        if any(_implies(condition, scalar, operator, bound) for condition in enforced):
            return True
        match scalar:
            case Value(value=value):
                return value is None or (_is_number(value) and _holds(value, operator, bound))
            case Attribute(id=id):
                return self._attribute(self.meanings.get(id), operator, bound, enforced)
            case Function(name="negate", arguments=(argument,)):
                return also(argument, FLIPPED[operator], -bound)
            case Function(name="absolute") if operator == ">=" and bound <= 0:
                return True
            case Function(name="add" | "subtract" | "multiply" as name, arguments=(left, right)):
                return self._arithmetic(name, left, right, operator, bound, enforced)
            case Function(name="coalesce", arguments=arguments):
                return all(also(each, operator, bound) for each in arguments)
            case Case(branches=branches, otherwise=otherwise):
                return all(
                    also(each, operator, bound) for each in (*(result for _, result in branches), otherwise)
                )
            case Cast(argument=argument) if scalar.type.name in ("int", "float", "decimal") and bound == 0:
                return also(argument, operator, bound)
            case _:
                return False

    def _attribute(
        self, meaning: Meaning | None, operator: str, bound: Number, enforced: tuple[Scalar, ...]
    ) -> bool:
        match meaning:
            case None:
                return False
            case BaseColumn(table=table, column=column, type=type):
                if type == BOOL:  # cast to a number
                    return _holds(0, operator, bound) and _holds(1, operator, bound)
                if type is not None and type.name not in ("int", "float", "decimal"):
                    return False  # strings that are read as numbers are in another order
                return self._asked(DataFact(table, column, ">=" if operator == ">=" else "<=", bound))
            case AggregateOf(call=AggregateCall(function="count")):
                return operator == ">=" and bound <= 0
            case AggregateOf(call=call):
                sums = call.function == "sum" and bound != 0
                return (
                    not sums
                    and call.argument is not None
                    and self.is_bounded(call.argument, operator, bound, enforced)
                )
            case tuple():
                return all(self.is_bounded(each, operator, bound, enforced) for each in meaning)
            case _:
                return self.is_bounded(meaning, operator, bound, enforced)

    def _arithmetic(
        self,
        name: str,
        left: Scalar,
        right: Scalar,
        operator: str,
        bound: Number,
        enforced: tuple[Scalar, ...],
    ) -> bool:
        def also(each: Scalar, other: str, limit: Number) -> bool:
            return self.is_bounded(each, other, limit, enforced)

        one, other = _number(left), _number(right)
        if name == "multiply":
            if bound != 0:
                return False
            return any(
                all([also(left, first, 0), also(right, second, 0)])
                for first, second in _signs_of_product(operator)
            )
        if name == "subtract" and one is not None:
            return also(right, FLIPPED[operator], one - bound)  # type: ignore[operator]
        if other is not None:
            limit = bound - other if name == "add" else bound + other  # type: ignore[operator]
            return also(left, operator, limit)
        if name == "add" and one is not None:
            return also(right, operator, bound - one)  # type: ignore[operator]
        if bound != 0:
            return False
        return also(left, operator, 0) and also(right, operator if name == "add" else FLIPPED[operator], 0)

    def is_never_null(self, scalar: Scalar, enforced: tuple[Scalar, ...]) -> bool:
        """Whether a scalar is never NULL."""
        if any(_rejects_null(condition, scalar) for condition in enforced):
            return True
        match scalar:
            case Value(value=value):
                return value is not None
            case Attribute(id=id):
                return id not in self.padded and self._never_null(self.meanings.get(id), enforced)
            case Function(name="add" | "subtract" | "multiply" | "negate" | "absolute", arguments=arguments):
                return all(self.is_never_null(each, enforced) for each in arguments)
            case Function(name="coalesce", arguments=arguments):
                return any(self.is_never_null(each, enforced) for each in arguments)
            case Case(branches=branches, otherwise=otherwise):
                results = (*(result for _, result in branches), otherwise)
                return all(self.is_never_null(each, enforced) for each in results)
            case _:
                return False

    def _never_null(self, meaning: Meaning | None, enforced: tuple[Scalar, ...]) -> bool:
        match meaning:
            case None:
                return False
            case BaseColumn(table=table, column=column):
                return self._asked(DataFact(table, column, "not null"))
            case AggregateOf(call=call, grouped=grouped):
                if call.function == "count":
                    return True
                return grouped and call.argument is not None and self.is_never_null(call.argument, enforced)
            case tuple():
                return all(self.is_never_null(each, enforced) for each in meaning)
            case _:
                return self.is_never_null(meaning, enforced)

    def _asked(self, fact: DataFact) -> bool:
        if self.known(fact):
            self.relied.add(fact)
            return True
        self.wanted.add(fact)
        return False


def _signs_of_product(operator: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """The signs of two factors whose product is never negative (`>=`) or never positive (`<=`)."""
    if operator == ">=":
        return (">=", ">="), ("<=", "<=")
    return (">=", "<="), ("<=", ">=")


def _number(scalar: Scalar) -> Number | None:
    if isinstance(scalar, Value) and _is_number(scalar.value):
        return scalar.value  # type: ignore[return-value]
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _holds(value: Any, operator: str, bound: Number) -> bool:
    return bool(value >= bound if operator == ">=" else value <= bound)


def _implies(condition: Scalar, scalar: Scalar, operator: str, bound: Number) -> bool:
    """Whether a condition that holds for all rows bounds a scalar."""
    if not isinstance(condition, Compare):
        return False
    for left, said, right in (
        (condition.left, condition.operator, condition.right),
        (condition.right, FLIPPED[condition.operator], condition.left),
    ):
        limit = _number(right)
        if left == scalar and limit is not None and said in ("=", operator, operator[0]):
            return _holds(limit, operator, bound)
    return False


def _rejects_null(condition: Scalar, scalar: Scalar) -> bool:
    """Whether a condition that is true says that a scalar is not NULL."""
    match condition:
        case Compare(operator=operator, left=left, right=right):
            return operator != "<=>" and scalar in (left, right)
        case Not(argument=IsNull(argument=argument)):
            return argument == scalar
        case Like(argument=argument) | InList(argument=argument):
            return argument == scalar
        case _:
            return False
