"""A workload as data: base rows, rules for us and for the rival, what is compared, and which rows come and go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Value = int | str
Row = tuple[Value, ...]


@dataclass(frozen=True)
class RecursiveWorkload:
    """What both sides are given.

    `rival_text` is Nemo's program, or the query of DuckDB's that gives the only one of the `answers`. `changed` are
    base rows of one relation that are deleted and inserted again, one after the other.
    """

    name: str
    rules: str
    base: Mapping[str, Sequence[Row]]
    answers: tuple[str, ...]
    rival: Literal["Nemo", "DuckDB"]
    rival_text: str
    relation: str
    changed: Sequence[Row]

    @property
    def size(self) -> int:
        """How many base rows there are."""
        return sum(map(len, self.base.values()))
