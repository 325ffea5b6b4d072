"""What strategies with provenance keep about the derivations of a stratum's rows.

A rule instance rests on rows of its own stratum, on rows of lower strata, on the absence of rows there, and, where
only the best rows of a group count, on the choice of rows; an aggregate by demand rests on its value. All these are
*grounds*.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Ground(NamedTuple):
    """A row by its codes; with `absent`, that there is no such row."""

    relation: str
    codes: tuple[int, ...]
    absent: bool = False


@dataclass(frozen=True)
class Instance:
    """One way to derive `head`. `position` tells which of the grounds the search started from, if it was a row."""

    rule: str
    head: Ground
    premises: tuple[Ground, ...]
    position: int


CHOICE = "~best of "


def chosen(row: Ground) -> Ground:
    """That a row is among the best of its group, as a premise."""
    return Ground(CHOICE + row.relation, row.codes)


VALUE = "~value of "


def looked_up(relation: str, codes: tuple[int, ...]) -> Ground:
    """That an aggregate by demand has the value that this row of it says, as a premise."""
    return Ground(VALUE + relation, codes)


class TooLarge(Exception):
    """Keeping this stratum's provenance would take more than the ledger allows itself."""


class Ledger(Protocol):
    """What is known about the derivations of a stratum's rows. `enter` may raise `TooLarge`.

    `forgets` says that it knows which rule each derivation is by, so that it can `forget` some. Another one can only
    `release` all that rows which may rest on them are known to rest on; these are then derived again.
    """

    forgets: bool = False

    def clear(self) -> None:
        """Forget everything."""
        ...

    def enter(self, instance: Instance) -> None:
        """Take note of a rule instance."""
        ...

    def lose(self, gone: Iterable[Ground]) -> tuple[list[Ground], int]:
        """These premises do not hold any more: the rows that fall with them, and how many entries were seen."""
        ...

    def forget(self, instances: Iterable[Instance]) -> tuple[list[Ground], int]:
        """These instances are none any more: the rows that fall with them, and how many entries were seen."""
        ...

    def release(self, rows: Iterable[Ground]) -> int:
        """Nothing is known of these rows any more; of how many something was."""
        ...

    def news(self) -> list[Ground]:
        """Rows whose consequences are to be looked for (again), since this was last asked; all derivable."""
        ...

    def waiting(self) -> bool:
        """Whether there is news."""
        ...

    def derivable(self, row: Ground) -> bool:
        """Whether the row can be derived."""
        ...

    def announce(self, row: Ground) -> None:
        """The row has just become visible: consequences do not know any of its derivations yet."""
        ...

    def describe(self) -> str:
        """How much is kept, in words."""
        ...

    def commit(self) -> None:
        """The version stands."""
        ...

    def rollback(self) -> None:
        """Undo the version."""
        ...
