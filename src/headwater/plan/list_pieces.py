"""A join by lists of rows, a piece at a time; pieces may be joined ahead by another thread.

What a join reads must stay as it is while a piece is joined ahead: whoever lends a thread (`beside`) knows that what
is done with pieces does not change it. Pieces come in the same order, and are the same, with and without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.kernel import list_join
from headwater.kernel.beside import SecondThread
from headwater.kernel.lists import Lists
from headwater.kernel.prefetch import BLOCK
from headwater.kernel.relation import Relation, Stored
from headwater.kernel.states import Accept
from headwater.plan.steps import Ints, Join

PIECE = 1 << 14
"""How many rows a piece has at the most."""


class JoinLeft(NamedTuple):
    """What a join extends: bindings, or rows of a relation, of which `which` are meant; and the column of ranks."""

    matrix: Stored
    which: npt.NDArray[np.int32]
    rank_column: int

    @property
    def length(self) -> int:
        return int(self.which.shape[0] or self.matrix.shape[0])

    def widened(self) -> JoinLeft:
        """The same rows with numbers of 64 bits."""
        wide = np.ascontiguousarray(self.matrix[self.which], np.int64)
        return JoinLeft(wide, np.arange(wide.shape[0], dtype=np.int32), self.rank_column)


class SeenRows(NamedTuple):
    """Which rows of a premise count by their state, the column of ranks if these matter, and the highest rank."""

    accept: Accept
    rank_column: int
    limit: int


@dataclass
class ListJoin:
    """A join that is under way."""

    step: Join
    relation: Relation
    index: Lists
    seen: SeenRows
    outputs: Ints
    constants: Ints
    left: JoinLeft
    cursor: Ints = field(default_factory=lambda: np.zeros(5, np.int64))

    def pieces(
        self, buffer: Ints, scratch: Ints, between: Callable[[], None], ahead: JoinedAhead | None = None
    ) -> Iterator[Ints]:
        """All that the join finds, a piece at a time, in a buffer that is used again; those that are empty are left
        out. `between` is called before each but the first."""
        count = self._next(buffer, scratch)
        while True:
            over = count < PIECE or self.cursor[0] >= self.left.length
            errand = None if over or ahead is None else ahead.beside.hand(partial(self._next, *ahead.into))
            if count:
                yield buffer[:count]
            if over:
                return
            between()
            if errand is None or ahead is None:
                count = self._next(buffer, scratch)
            else:
                count = errand.outcome()
                buffer, ahead = ahead.buffer, replace(ahead, buffer=buffer)

    def _next(self, out: Ints, scratch: Ints) -> int:
        """Join one more piece; how many rows it has."""
        left, relation, step = self.left, self.relation, self.step
        rows = relation.rows
        if not left.which.shape[0]:
            join_left = list_join.join_bindings
        else:
            join_left = list_join.join_rows
            if rows.dtype != left.matrix.dtype:  # some number that came in needs more bits
                left = self.left = left.widened()
        found: int = join_left(
            left.which, left.matrix, left.rank_column, step.sources, step.constants, self.index.columns,
            self.index.slots, self.index.pool, rows, relation.state, self.seen.accept, step.equalities,
            self.seen.rank_column, self.seen.limit, self.outputs, self.constants, self.cursor, out, scratch,
        )  # fmt: skip
        return found


@dataclass(frozen=True)
class JoinedAhead:
    """Who joins pieces ahead, and where to."""

    beside: SecondThread
    buffer: Ints
    scratch: Ints = field(default_factory=lambda: np.empty(2 * BLOCK, np.int64))

    @property
    def into(self) -> tuple[Ints, Ints]:
        return self.buffer, self.scratch
