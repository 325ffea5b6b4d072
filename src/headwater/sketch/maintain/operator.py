"""What an incremental operator is: it takes the changes of tables and gives those of its annotated result (section
5).

Operators form a tree like the plan's. `change` is asked once a version, of the root, which asks its inputs; then
either `commit` follows, or the whole tree is thrown away: a version that fails half-way is not taken back here, its
owner goes back to what is stored or captures anew (`maintainer`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from headwater.events import Event
from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.tables.backend import Backend, TableDelta

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class TableChanges:
    """What a version brings: the deltas of tables, from the versions that the state knows to those of `versions`.

    `deltas` is `None` for the first version of all: every row of every table has come. The backend holds the tables
    as they are at `versions`, after the deltas.
    """

    backend: Backend
    versions: Mapping[str, int]
    deltas: Mapping[str, TableDelta] | None = None
    refilled: list[str] = field(default_factory=list)
    """The buffers that ran dry and were filled anew: what cost more than the change."""
    events: list[Event] = field(default_factory=list)
    """What else did: tables that were read as a whole."""

    @property
    def is_first(self) -> bool:
        """Whether state is made from nothing."""
        return self.deltas is None


class Incremental(Protocol):
    """An operator with its state, if it has any, and its inputs."""

    def change(self, changes: TableChanges) -> AnnotatedRows:
        """Follow changes of tables; what that does to the annotated result."""
        ...

    def current(self, changes: TableChanges) -> AnnotatedRows:
        """All rows of the annotated result as it is now: after `change`, while the version is open."""
        ...

    def matching(
        self, changes: TableChanges, columns: Sequence[int], keys: Sequence[pa.Array]
    ) -> AnnotatedRows:
        """As `current`, of rows that have in these columns one of these combinations of values; others may be among
        them."""
        ...

    def commit(self) -> None:
        """End the version, here and in all inputs."""
        ...

    @property
    def inputs(self) -> tuple[Incremental, ...]:
        """The operators that it reads."""
        ...

    @property
    def nbytes(self) -> int:
        """About how much memory its own state takes."""
        ...

    def save(self) -> Mapping[str, pa.Table]:
        """Its own state as tables, between versions."""
        ...

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Take over state that `save` gave; this operator is new."""
        ...


class Stateless:
    """What operators without state have in common."""

    nbytes = 0

    def __init__(self, *inputs: Incremental):
        self.inputs = inputs

    def commit(self) -> None:
        for each in self.inputs:
            each.commit()

    def save(self) -> Mapping[str, pa.Table]:
        return {}

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """There is nothing to take over."""
