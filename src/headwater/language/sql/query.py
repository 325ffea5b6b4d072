"""A query: its plan, beside the text that it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from headwater.language.source import SourceText
from headwater.language.sql.algebra import Operator, scans
from headwater.language.sql.scalars import Attribute, Parameter


@dataclass(frozen=True)
class SqlQuery:
    """What `parse` makes of a text. The plan's attributes are the columns of the answer, named as the text says."""

    plan: Operator
    parameters: tuple[Parameter, ...] = ()
    dialect: str = "spark"
    source: SourceText = field(default=SourceText("<text>", ""), compare=False, repr=False)

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return self.plan.attributes

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables that it reads."""
        return tuple({scan.table: None for scan in scans(self.plan)})
