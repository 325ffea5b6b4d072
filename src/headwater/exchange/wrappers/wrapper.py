"""What a wrapper is, and what passes through it.

Users edit their tables as ever; a wrapper *captures* what they do as edits, and *applies* what an exchange did to
the peer's instance, in one transaction, together with the version of the instance that the tables show from then on.

Nothing is lost or taken twice when the process is killed between two steps. What is captured comes with a mark; who
keeps it (edits and mark together, durably) gives the mark back the next time, and only then does the wrapper forget.
What is applied has a version; applying it again does nothing. What users do meanwhile stays: it is captured the next
time, and says then what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.exchange.edit import Edit
from headwater.values.types import Type

CaptureMark = Mapping[str, Any]
"""How far a database was captured, as JSON; empty before the first time."""


@dataclass(frozen=True)
class WrappedColumn:
    """A column of a relation, its type, whether mappings can put labelled nulls into it, whether it takes NULL."""

    name: str
    type: Type
    labelled: bool = False
    nullable: bool = True


@dataclass(frozen=True)
class WrappedTable:
    """A relation of a peer, and the table that shows it."""

    relation: str
    table: str
    columns: tuple[WrappedColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True)
class Captured:
    """What users did since the mark before: transactions of edits, in order; and the mark to keep with them."""

    transactions: tuple[tuple[Edit, ...], ...]
    mark: CaptureMark


@dataclass(frozen=True)
class InstanceChange:
    """What an exchange did to one relation."""

    inserted: Sequence[tuple[Any, ...]] = field(default_factory=tuple)
    deleted: Sequence[tuple[Any, ...]] = field(default_factory=tuple)


class Wrapper(Protocol):
    """A database that shows a peer's relations."""

    @property
    def what(self) -> str:
        """Where it is, for errors; without passwords."""
        ...

    def capture(self, mark: CaptureMark) -> Captured:
        """What users did since this mark; without one, all rows that are there, as insertions."""
        ...

    def apply(self, changes: Mapping[str, InstanceChange], version: int) -> None:
        """Change the tables and note the version, all or nothing; nothing if they show it already."""
        ...

    def rows(self) -> Mapping[str, set[tuple[Any, ...]]]:
        """All rows that are there now, by relation."""
        ...

    def shown(self) -> int:
        """The version of the instance that the tables show; 0 before the first."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
