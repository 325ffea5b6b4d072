"""Where the rows of a relation live when several nodes share them. Data only.

A relation is split by the value of one column, or every node has all of it, or the first node has all of it.
A rule runs at its *site*: on the nodes where all its premises meet. `Route` says, for one rule, what becomes of
the derivations found there and whom to ask for derivations of a given row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.rules.checked import Checked


@dataclass(frozen=True)
class Placement:
    """Split by `column`, or `EVERYWHERE`, or `ONE`."""

    kind: str
    column: int = -1

    @property
    def split(self) -> bool:
        """Whether each node holds a part."""
        return self.kind == "split"

    def to_json(self) -> list[object]:
        return [self.kind, self.column]


def by(column: int) -> Placement:
    """Split by the hash of a column."""
    return Placement("split", column)


EVERYWHERE = Placement("everywhere")
"""Every node has every row."""
ONE = Placement("one")
"""The first node has every row."""

HERE = -1
"""Derivations of a row are found on the node that holds the row."""
ALL = -2
"""Derivations of a row may be found on any node."""


@dataclass(frozen=True)
class Route:
    """What becomes of a rule's derivations.

    `home` is where the head's rows live. `local` means that the node that finds a derivation holds the row
    as well. `shared` means that every node finds every derivation, and keeps only those of rows that it holds.
    `ask` says who can derive a given row: `HERE`, `ALL`, or the owner of the value in that column of the row.
    """

    home: Placement
    local: bool
    shared: bool
    ask: int

    @property
    def quiet(self) -> bool:
        """Whether no other node has to hear of anything."""
        return (self.local or self.shared) and self.ask == HERE


@dataclass(frozen=True)
class Localised:
    """A program whose premises meet, rule by rule; the home of each relation and the route of each rule."""

    checked: Checked
    homes: Mapping[str, Placement]
    routes: Mapping[str, Route]
    notes: tuple[str, ...] = field(default=())
