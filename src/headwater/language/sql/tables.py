"""What a caller tells about tables: their columns, in order, with types and whether they take NULLs.

Names are compared without regard to case, as Spark does; what is shown keeps the case that the catalog has.

>>> sales = table_schema("sales", "sid int not null, brand string, price decimal(12,2)")
>>> [(column.name, str(column.type), column.nullable) for column in sales.columns]
[('sid', 'int', False), ('brand', 'string', True), ('price', 'decimal(12,2)', True)]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from headwater.values.types import Type, parse_type


@dataclass(frozen=True)
class TableColumn:
    """A column of a table; `type` is `None` where it has one that we do not know."""

    name: str
    type: Type | None = None
    nullable: bool = True
    compared_there: bool = False
    """Whether only its system knows which of its values are equal: it has a collation, pads or rounds them."""
    padded: bool = False
    """Whether blanks at the end of its strings count for nothing; they come without them."""


@dataclass(frozen=True)
class TableSchema:
    """A table by the name that queries use (`sales`, `shop.sales`), and its columns."""

    name: str
    columns: tuple[TableColumn, ...]

    def column(self, name: str) -> TableColumn | None:
        """The column of that name, whatever its case."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


TableSchemas = Mapping[str, TableSchema]
"""The tables that a query may read, by any name."""


def table_schema(name: str, columns: str) -> TableSchema:
    """A schema in one line: `name type [not null]`, separated by commas."""
    described = re.split(r",(?![^(\[{]*[)\]}])", columns)
    return TableSchema(name, tuple(_column(each) for each in described if each.strip()))


def _column(described: str) -> TableColumn:
    name, _, rest = described.strip().partition(" ")
    spelled, required, _ = rest.lower().partition("not null")
    return TableColumn(name, parse_type(spelled.strip()), nullable=not required)
