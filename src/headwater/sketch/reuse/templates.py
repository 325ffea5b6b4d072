"""Templates: a plan with the constants of its conditions, and of its last limit, left open.

Two queries of one template differ in these constants only. Constants anywhere else (in columns, joins, keys of
groups, limits of subqueries) belong to the template.

>>> from headwater.language.sql.parser import parse
>>> from headwater.language.sql.tables import table_schema
>>> tables = {"t": table_schema("t", "g int, v int")}
>>> first, second = (
...     template_of(parse(f"SELECT g FROM t WHERE v > {least} GROUP BY g HAVING sum(v + 1) > {sum}", tables).plan)
...     for least, sum in ((3, 100), (5, 700))
... )
>>> first == second, first.constants, second.constants
(True, (100, 3), (700, 5))
>>> print(first.text)
SELECT t1.`g` AS `g` FROM `t` AS t1 WHERE t1.`v` > :2 GROUP BY t1.`g` HAVING SUM(t1.`v` + 1) > :1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headwater.language.sql.algebra import Operator, Project, Select, TopK, children, with_children
from headwater.language.sql.render import render
from headwater.language.sql.scalars import And, Compare, InList, Not, Or, Parameter, Scalar, Value


@dataclass(frozen=True)
class QueryTemplate:
    """A plan with parameters in the place of constants. Templates are equal if they differ in constants only."""

    plan: Operator
    constants: tuple[Any, ...] = field(compare=False)

    @property
    def text(self) -> str:
        """The template as SQL: the same for equal templates, in any process."""
        return render(self.plan, "spark")


def template_of(plan: Operator) -> QueryTemplate:
    """The template of a plan, with the constants that it has there."""
    opening = _Opening()
    opened = opening.root(plan)
    return QueryTemplate(opened, tuple(opening.constants))


class _Opening:
    """Puts parameters in the place of constants, and remembers these."""

    def __init__(self) -> None:
        self.constants: list[Any] = []

    def root(self, plan: Operator) -> Operator:
        """The last limit may be below the columns only."""
        if isinstance(plan, Project):
            return replace(plan, input=self.root(plan.input))
        if isinstance(plan, TopK) and isinstance(plan.limit, Value):
            limit = self._parameter(plan.limit)
            return replace(plan, limit=limit, input=self.operator(plan.input))
        return self.operator(plan)

    def operator(self, plan: Operator) -> Operator:
        if isinstance(plan, Select):
            plan = replace(plan, condition=self._condition(plan.condition))
        return with_children(plan, tuple(self.operator(each) for each in children(plan)))

    def _parameter(self, value: Value) -> Parameter:
        self.constants.append(value.value)
        return Parameter(str(len(self.constants)), None, value.place)

    def _condition(self, condition: Scalar) -> Scalar:
        match condition:
            case And(parts=parts) | Or(parts=parts):
                return replace(condition, parts=tuple(map(self._condition, parts)))
            case Not(argument=argument):
                return replace(condition, argument=self._condition(argument))
            case Compare(left=left, right=Value() as right) if not isinstance(left, Value):
                return replace(condition, right=self._parameter(right))
            case Compare(left=Value() as left, right=right) if not isinstance(right, Value):
                return replace(condition, left=self._parameter(left))
            case InList(items=items) if all(isinstance(item, Value) for item in items):
                return replace(condition, items=(self._listed(items),))
            case _:
                return condition

    def _listed(self, items: Sequence[Scalar]) -> Parameter:
        values = tuple(item.value for item in items if isinstance(item, Value))
        self.constants.append(values)
        return Parameter(str(len(self.constants)))
