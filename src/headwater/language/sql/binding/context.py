"""What all parts of a text share while it is bound: numbers that were given, parameters, tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from headwater.errors import Place
from headwater.language.sql.algebra import Named
from headwater.language.sql.binding.text import SqlText
from headwater.language.sql.inference import may_be_null, type_of
from headwater.language.sql.needed import exp
from headwater.language.sql.scalars import Attribute, Parameter, Scalar
from headwater.language.sql.tables import TableSchema, TableSchemas
from headwater.spelling import did_you_mean
from headwater.values.types import Type


@dataclass
class QueryContext:
    """The text, the tables it may read, and the counters of its attributes and accesses."""

    text: SqlText
    tables: TableSchemas
    parameters: dict[str, Parameter] = field(default_factory=dict)
    ids: Iterator[int] = field(default_factory=count)
    accesses: Iterator[int] = field(default_factory=count)

    def attribute(
        self, name: str, type: Type | None, nullable: bool = True, place: Place | None = None
    ) -> Attribute:
        """A new attribute."""
        return Attribute(next(self.ids), name, type, nullable, place)

    def named(self, name: str, scalar: Scalar, place: Place | None = None) -> Named:
        """A new attribute that is a scalar."""
        return Named(self.attribute(name, type_of(scalar), may_be_null(scalar), place), scalar)

    def parameter(self, node: exp.Expr, name: str) -> Parameter:
        """A parameter of the text; without a name, the next number."""
        name = name or str(len(self.parameters) + 1)
        return self.parameters.setdefault(name, Parameter(name, None, self.text.place(node)))

    def table(self, node: exp.Table) -> TableSchema:
        """The table that a node names, by its whole name or the last part of it."""
        name = ".".join(part.name for part in node.parts)
        for wanted in (name, node.name):
            for known, schema in self.tables.items():
                if known.lower() == wanted.lower():
                    return schema
        hint = did_you_mean(name, self.tables, most=2)
        raise self.text.refuse("unknown-table", f"there is no table {name}", node, hint)
