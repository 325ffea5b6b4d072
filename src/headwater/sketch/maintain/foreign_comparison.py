"""Columns whose values only their database can compare (`own_comparison`), in plans that are to be maintained here.

Strings of a fixed length (PostgreSQL's `char(n)`) come without the blanks at their end, which count for nothing when
two of them are compared. So they can be grouped by and compared for equality here, with constants that have no such
blanks either; their order and patterns are left to the database. Of all other such columns only whether they are NULL
is known. A plan that does more with one of them is refused, unless nothing that the sketch depends on reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from headwater.errors import SketchError
from headwater.language.sql.algebra import (
    Distinct,
    GroupBy,
    NamedAggregate,
    Operator,
    Project,
    Scan,
    UnionAll,
    children,
    map_scalars,
    scalars_of,
    transform,
)
from headwater.language.sql.scalars import (
    Attribute,
    Compare,
    InList,
    IsNull,
    Scalar,
    Value,
    parts_of,
    transform_scalar,
)
from headwater.language.sql.tables import TableSchemas

_EQUALITIES = ("=", "<>", "<=>")


def without_blanks(plan: Operator, schemas: TableSchemas) -> Operator:
    """The plan with constants as padded strings come here: without blanks at the end."""
    columns = _ForeignColumns(schemas)
    columns.collect(plan)
    return _rewritten(plan, columns.padded) if columns.padded else plan


def refuse_foreign_comparisons(
    plan: Operator, schemas: TableSchemas, read: Mapping[str, Iterable[str]]
) -> None:
    """Refuse a plan that compares here what only the backend can compare, of columns that are read."""
    columns = _ForeignColumns(schemas, {table: frozenset(names) for table, names in read.items()})
    columns.collect(plan)
    if columns.padded or columns.others:
        columns.check(plan)


@dataclass
class _ForeignColumns:
    """The attributes of a plan that are such columns, by their ids, with the columns that they are."""

    schemas: TableSchemas
    read: Mapping[str, frozenset[str]] | None = None
    padded: dict[int, str] = field(default_factory=dict)
    others: dict[int, str] = field(default_factory=dict)

    def collect(self, plan: Operator) -> None:
        for child in children(plan):
            self.collect(child)
        match plan:
            case Scan():
                self._scan(plan)
            case Project(columns=named) | GroupBy(keys=named):
                for each in named:
                    if isinstance(each.expression, Attribute):
                        self._pass_on(each.expression.id, each.attribute.id)
            case UnionAll():
                for place, attribute in enumerate(plan.attributes):
                    self._unite([each.attributes[place].id for each in plan.inputs], attribute.id)

    def _scan(self, plan: Scan) -> None:
        schema = self.schemas.get(plan.table)
        for attribute in plan.attributes if schema is not None else ():
            column = schema.column(attribute.name) if schema is not None else None
            is_read = self.read is None or attribute.name in self.read.get(plan.table, ())
            if column is None or not is_read:
                continue
            if column.padded:
                self.padded[attribute.id] = f"{plan.table}.{column.name}"
            elif column.compared_there:
                self.others[attribute.id] = f"{plan.table}.{column.name}"

    def _pass_on(self, one: int, other: int) -> None:
        for known in (self.padded, self.others):
            if one in known:
                known[other] = known[one]

    def _unite(self, ids: list[int], made: int) -> None:
        """Columns of one kind stay of that kind; what databases make of several kinds differs."""
        if all(each in self.padded for each in ids):
            self.padded[made] = self.padded[ids[0]]
            return
        for each in ids:
            known = self.padded.get(each) or self.others.get(each)
            if known is not None:
                self.others[made] = known

    # ------------------------------------------------------------------ what is done with them

    def check(self, plan: Operator) -> None:
        for child in children(plan):
            self.check(child)
        match plan:
            case Project(columns=named):
                for each in named:
                    if not isinstance(each.expression, Attribute):
                        self._check(each.expression)
            case GroupBy(keys=named, aggregates=aggregates):
                for each in named:
                    self._check_key(each.expression)
                for item in aggregates:
                    self._check_aggregate(item)
            case Distinct():
                for attribute in plan.attributes:
                    self._check_key(attribute)
            case _:
                for scalar in scalars_of(plan):
                    self._check(scalar)

    def _check_key(self, scalar: Scalar) -> None:
        if not (isinstance(scalar, Attribute) and scalar.id in self.padded):
            self._check(scalar)

    def _check_aggregate(self, item: NamedAggregate) -> None:
        argument, call = item.call.argument, item.call
        is_counted = call.function == "count" and isinstance(argument, Attribute)
        if is_counted and (not call.distinct or self._is_padded(argument)):
            return
        if argument is not None:
            self._check(argument)

    def _check(self, scalar: Scalar) -> None:
        match scalar:
            case IsNull(argument=Attribute()):
                return
            case Compare(operator=operator, left=left, right=right) if operator in _EQUALITIES:
                sides = left, right
                if any(self._is_padded(side) for side in sides) and all(map(self._is_equal_here, sides)):
                    return
            case InList(argument=argument, items=items) if self._is_padded(argument):
                if all(map(self._is_equal_here, items)):
                    return
            case Attribute(id=id) if id in self.padded or id in self.others:
                raise SketchError(
                    "not-maintained",
                    f"only the database can compare values of {self.padded.get(id) or self.others[id]}",
                    place=scalar.place,
                    hint="strings without collation and padding, and floats of 64 bits, can be followed;"
                    " padded ones where they are grouped by, or equal to something",
                )
        for part in parts_of(scalar):
            self._check(part)

    def _is_padded(self, scalar: Scalar | None) -> bool:
        return isinstance(scalar, Attribute) and scalar.id in self.padded

    def _is_equal_here(self, scalar: Scalar) -> bool:
        """Whether values of it can be compared for equality here."""
        match scalar:
            case Value(value=str() | None):
                return True
            case Attribute(id=id, type=kind):
                return id not in self.others and kind is not None and kind.name == "string"
            case _:
                return False


def _rewritten(plan: Operator, padded: Mapping[int, str]) -> Operator:
    def change(scalar: Scalar) -> Scalar:
        match scalar:
            case Compare(operator=operator, left=left, right=right) if operator in _EQUALITIES:
                if _is_one(left, padded) or _is_one(right, padded):
                    return replace(scalar, left=_bare(left), right=_bare(right))
            case InList(argument=argument, items=items) if _is_one(argument, padded):
                return replace(scalar, items=tuple(map(_bare, items)))
        return scalar

    def changed(scalar: Scalar) -> Scalar:
        return transform_scalar(scalar, change)

    return transform(plan, lambda operator: map_scalars(operator, changed))


def _is_one(scalar: Scalar, padded: Mapping[int, str]) -> bool:
    return isinstance(scalar, Attribute) and scalar.id in padded


def _bare(scalar: Scalar) -> Scalar:
    if isinstance(scalar, Value) and isinstance(scalar.value, str):
        return replace(scalar, value=scalar.value.rstrip(" "))
    return scalar
