"""Facts about data that a proof rests on: values of a column that are never below or above a bound, or never NULL.

A proof asks for facts, and whoever has the data says whether they hold. A fact must be checked again on every row
that is inserted (deleting rows breaks none); a sketch whose proof rested on one that broke is dropped.

>>> fact = DataFact("sales", "price", ">=", 0)
>>> str(fact), fact.holds(5), fact.holds(None), fact.holds(-1)
('sales.price >= 0', True, True, False)
>>> str(DataFact("sales", "brand", "not null")), DataFact("sales", "brand", "not null").holds(None)
('sales.brand is not null', False)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from headwater.language.sql.scalars import OPPOSITE, Attribute, Compare, IsNull, Scalar, Value
from headwater.language.sql.tables import TableSchemas

FactKind = OneOf[">=", "<=", "not null"]


@dataclass(frozen=True, order=True)
class DataFact:
    """What holds for all rows of a table: a column is at least or at most `bound` (or NULL), or never NULL."""

    table: str
    column: str
    kind: FactKind
    bound: Any = None

    def holds(self, value: Any) -> bool:
        """Whether it holds for a row with this value. NaN is above all numbers."""
        if self.kind == "not null":
            return value is not None
        if value is None:
            return True
        if value != value:
            return self.kind == ">="
        return bool(value >= self.bound if self.kind == ">=" else value <= self.bound)

    def broken(self, attribute: Attribute) -> Scalar:
        """The condition that is true for the rows for which it does not hold."""
        if self.kind == "not null":
            return IsNull(attribute)
        return Compare(OPPOSITE[self.kind], attribute, Value(self.bound, attribute.type))

    def __str__(self) -> str:
        said = "is not null" if self.kind == "not null" else f"{self.kind} {self.bound}"
        return f"{self.table}.{self.column} {said}"


KnownFacts = Callable[[DataFact], bool]
"""What says whether a fact holds. It is asked only for facts that a proof would rest on."""


def nothing_known(fact: DataFact) -> bool:
    """What is said of data that nobody has looked at."""
    return False


def declared(tables: TableSchemas, others: KnownFacts = nothing_known) -> KnownFacts:
    """The facts that schemas declare (NOT NULL), and those that something else knows."""

    def known(fact: DataFact) -> bool:
        if fact.kind == "not null":
            schema = tables.get(fact.table)
            column = None if schema is None else schema.column(fact.column)
            if column is not None and not column.nullable:
                return True
        return others(fact)

    return known
