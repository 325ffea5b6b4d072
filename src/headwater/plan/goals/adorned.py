"""A relation as it is called: with values for some of its columns, at some level of negation.

>>> call = Adorned("reach", 2, (0,), 0)
>>> call.name, call.asked
('reach^bf', 'ask reach^bf')
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from headwater.rules.checked import Kind, RelationInfo


@dataclass(frozen=True)
class Adorned:
    """The rows of a relation that agree with values asked for in the `bound` columns; all if none is bound.

    `level` tells apart what is called by a relation from what is called by those that it negates or aggregates: these
    have to be complete before it. So a relation may be evaluated once at each level.
    """

    relation: str
    arity: int
    bound: tuple[int, ...]
    level: int

    @property
    def pattern(self) -> str:
        """The adornment: `b` for a bound column, `f` for a free one."""
        return "".join("b" if column in self.bound else "f" for column in range(self.arity))

    @property
    def name(self) -> str:
        """The name of the relation that holds these rows."""
        return f"{self.relation}^{self.pattern}{chr(39) * self.level}"

    @property
    def asked(self) -> str:
        """The name of the relation that holds the values asked for."""
        return f"ask {self.name}"

    @property
    def seeded(self) -> str:
        """The name of the relation of values asked for, each with those that every recursive call led to."""
        return f"from {self.name}"


def asked_info(name: str, info: RelationInfo, columns: Sequence[int]) -> RelationInfo:
    """A relation of values that stand in some columns of another one; a column may be there twice."""
    again = ["~" * list(columns[:place]).count(column) for place, column in enumerate(columns)]
    return RelationInfo(
        name,
        tuple(info.columns[column] + mark for column, mark in zip(columns, again, strict=True)),
        tuple(info.types[column] for column in columns),
        Kind.HELPER,
        owner=info.name,
        nullable=tuple(info.nullable[column] for column in columns) if info.nullable else (),
        labelled=tuple(info.labelled[column] for column in columns) if info.labelled else (),
    )


def bindable(info: RelationInfo) -> Collection[int]:
    """The columns whose values may be passed into a relation: a group must stay whole.

    The best row of a group is known only from the whole group, and so is a count: only columns that all of a
    relation's selections group by, and those without the aggregate, can be bound.
    """
    columns = set(range(info.arity))
    for selection in info.selections:
        columns &= set(selection.group)
    if info.aggregate is not None:
        columns.discard(info.aggregate.position)
    return columns
