"""Joins by lists of rows, a piece at a time; pieces may be joined ahead by another thread.

What a join reads must stay as it is while a piece is joined ahead: whoever lends a thread (`beside`) knows that what
is done with pieces does not change it. Pieces come in the same order, and are the same, with and without. Where a
plan is nothing but such joins, each takes pieces of the one before (`JoinChain`), and all of them are joined ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.kernel import list_join, near_join
from headwater.kernel.beside import SecondThread
from headwater.kernel.list_join import MOST_NUMBERS_NEAR
from headwater.kernel.lists import Lists
from headwater.kernel.near_join import NearRows, near_rows
from headwater.kernel.prefetch import BLOCK
from headwater.kernel.relation import Relation, Stored
from headwater.kernel.states import Accept
from headwater.kernel.version_change import NO_ROWS
from headwater.plan.steps import Ints, Join

ROWS_A_PIECE = 1 << 14
"""How many rows a piece has at the most."""
FEWEST_STARTS_LAID_NEAR = 1 << 12
"""From how many rows a run must begin that it is worth laying rows of another relation side by side."""


class JoinLeft(NamedTuple):
    """What a join extends: bindings, or rows of a relation, of which `which` are meant; and the column of ranks."""

    matrix: Stored
    which: npt.NDArray[np.int32]
    rank_column: int

    @classmethod
    def of_bindings(cls, bindings: Ints) -> JoinLeft:
        return cls(bindings, NO_ROWS, bindings.shape[1] - 1)

    @property
    def length(self) -> int:
        return int(self.which.shape[0] or self.matrix.shape[0])

    def widened(self) -> JoinLeft:
        """The same rows with numbers of 64 bits."""
        wide = np.ascontiguousarray(self.matrix[self.which], np.int64)
        return JoinLeft(wide, np.arange(wide.shape[0], dtype=np.int32), self.rank_column)


NOTHING_LEFT = JoinLeft(np.empty((0, 1), np.int64), NO_ROWS, 0)


class SeenRows(NamedTuple):
    """Which rows of a premise count by their state, the column of ranks if these matter, and the highest rank."""

    accept: Accept
    rank_column: int
    limit: int


@dataclass
class ListJoin:
    """A join that is under way, by lists or by rows that were laid side by side."""

    step: Join
    relation: Relation
    rows: Lists | NearRows
    seen: SeenRows
    outputs: Ints
    constants: Ints
    left: JoinLeft
    cursor: Ints = field(default_factory=lambda: np.zeros(5, np.int64))

    @property
    def over(self) -> bool:
        """Whether all has been joined."""
        return bool(self.cursor[0] >= self.left.length)

    @property
    def width(self) -> int:
        """How many columns the pieces have, ranks included."""
        return int(self.outputs.shape[0]) + 1

    def begin(self, left: JoinLeft) -> None:
        """Go on with other bindings; rows that were looked at stay counted."""
        self.left = left
        self.cursor[:2] = self.cursor[3:] = 0

    def next(self, out: Ints, scratch: Ints) -> int:
        """Join one more piece; how many rows it has."""
        if isinstance(self.rows, NearRows):
            return self._next_near(self.rows, out)
        left, relation, step, index = self.left, self.relation, self.step, self.rows
        rows = relation.rows
        if not left.which.shape[0]:
            join_left = list_join.join_bindings
        else:
            join_left = list_join.join_rows
            if rows.dtype != left.matrix.dtype:  # some number that came in needs more bits
                left = self.left = left.widened()
        found: int = join_left(
            left.which, left.matrix, left.rank_column, step.sources, step.constants, index.columns,
            index.slots, index.pool, rows, relation.state, self.seen.accept, step.equalities,
            self.seen.rank_column, self.seen.limit, self.outputs, self.constants, self.cursor, out, scratch,
        )  # fmt: skip
        return found

    def _next_near(self, near: NearRows, out: Ints) -> int:
        left = self.left
        found: int = near_join.join_near(
            left.which, left.matrix, left.rank_column, self.step.sources[0], *near, self.outputs, self.constants,
            self.cursor, out,
        )  # fmt: skip
        return found


@dataclass
class JoinChain:
    """Joins of which each extends what the one before has found, a piece at a time."""

    first: ListJoin | JoinChain
    last: ListJoin
    buffer: Ints
    """Where the pieces go that the last one extends."""

    @property
    def over(self) -> bool:
        """Whether all has been joined."""
        return self.last.over and self.first.over

    def next(self, out: Ints, scratch: Ints) -> int:
        """Join one more piece; how many rows it has, which may be none though there is more to join."""
        if self.last.over:
            found = self.first.next(self.buffer, scratch)
            self.last.begin(JoinLeft.of_bindings(self.buffer[:found]) if found else NOTHING_LEFT)
        return self.last.next(out, scratch)


class LaidNear:
    """Rows of relations that were laid side by side. While nobody changes lower strata they are kept, since every
    round of a fixpoint asks for the same ones."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int, bytes, bytes], NearRows | None] | None = None

    def keep(self) -> None:
        """Keep them from now on: relations of lower strata stay as they are until somebody says `forget`."""
        self._kept = {}

    def forget(self) -> None:
        """Keep nothing any more: relations may change."""
        self._kept = None

    def of(
        self, step: Join, relation: Relation, seen: SeenRows, starts: int, look: Callable[[str, int], None]
    ) -> NearRows | None:
        """The rows that a join finds, laid side by side, where it is worth that in a run from so many rows: more than
        the relation has, which is small and of a lower stratum. `look` is told if they are looked at for it."""
        size = int(relation.sizes[0])
        if starts < max(FEWEST_STARTS_LAID_NEAR, size) or size * relation.width > MOST_NUMBERS_NEAR:
            return None
        if step.own or len(step.key) > 1 or step.sources[0] < 0:
            return None
        kept = {} if self._kept is None else self._kept
        key = (step.relation, step.key[0], seen.accept.tobytes(), step.equalities.tobytes())
        if key not in kept:
            look(step.relation, size)
            kept[key] = near_rows(relation, step.key[0], seen.accept, step.equalities)
        return kept[key]


def pieces(
    join: ListJoin | JoinChain,
    buffer: Ints,
    scratch: Ints,
    between: Callable[[], None],
    ahead: JoinedAhead | None = None,
) -> Iterator[Ints]:
    """All that a join finds, a piece at a time, in a buffer that is used again; those that are empty are left out.
    `between` is called before each but the first."""
    count = join.next(buffer, scratch)
    while True:
        over = join.over
        errand = None if over or ahead is None else ahead.beside.hand(partial(join.next, *ahead.into))
        if count:
            yield buffer[:count]
        if over:
            return
        between()
        if errand is None or ahead is None:
            count = join.next(buffer, scratch)
        else:
            count = errand.outcome()
            buffer, ahead = ahead.buffer, replace(ahead, buffer=buffer)


@dataclass(frozen=True)
class JoinedAhead:
    """Who joins pieces ahead, and where to."""

    beside: SecondThread
    buffer: Ints
    scratch: Ints = field(default_factory=lambda: np.empty(2 * BLOCK, np.int64))

    @property
    def into(self) -> tuple[Ints, Ints]:
        return self.buffer, self.scratch
