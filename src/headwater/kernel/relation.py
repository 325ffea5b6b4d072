"""A relation's rows in memory, with a hash index over whole rows.

Rows live in one matrix: the columns' codes, then the row's *rank*, its *count* of supports and, for a
relation of which only the best rows count, the *head rank* (when the row became a candidate; the rank is then
when it became visible). Slots of removed rows are used again, so no row moves until `compact`.

The matrix is of 32-bit numbers until one comes that needs more, and of 64-bit ones from then on (`widen`): most codes
are places in dictionaries or small integers. Codes are int64 wherever they go in or out.

A row's state is a set of bits:

| bit | holds when |
|---|---|
| `LIVE` | the row has support (a base row: it was inserted and not deleted) |
| `VISIBLE` | premises see the row: it is live, it has been propagated and it is a best row where that matters |
| `WAS` | the row was visible when this version began, or its present transition (see `proceed`) |
| `DYING` | the row stopped being visible in the present round of going down |
| `TOUCHED` | the row is in this version's journal |
| `WANTED` | scratch: the row is among the best of its group |
| `STORED` | the slot is in use |
| `LEADING` | the row is the best of its group, comes first in its chain, and waits to be shown |

Old rows are therefore `WAS`, new ones `VISIBLE`, and those that stay are both. The journal keeps rank, count
and state from before the version, so that a version can be taken back at the cost of what it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.kernel import indexing, room, rowops, version_change, version_end
from headwater.kernel.appending import appended
from headwater.kernel.beside import SecondThread
from headwater.kernel.index import Index
from headwater.kernel.lists import Lists
from headwater.kernel.memory import Room, Unbounded, empty, zeros
from headwater.kernel.prefetch import BLOCK
from headwater.kernel.room import NARROW, WIDE
from headwater.kernel.row_table import (
    ENTRY_BYTES,
    SHORTEST_TABLE,
    Slots,
    fill_table,
    fitting_size,
    table_size,
)
from headwater.kernel.states import (
    KILLED,
    LEADING,
    LIVE,
    STORED,
    TOUCHED,
    VISIBLE,
    WAS,
    translate,
)

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Stored = npt.NDArray[np.int32] | npt.NDArray[np.int64]
INT64 = np.dtype(np.int64)
CHUNK = 1 << 16
SMALL = 16
MOST_ENTRIES_KEPT, ROWS_AN_ENTRY_KEPT = 1 << 11, 1 << 6
"""How long the journal of a relation is at most after a version that needed a much longer one, and how many rows it
must have for each entry of that."""


def least_bytes(arity: int) -> int:
    """The bytes that a row with so many codes takes at the least, as part of a large relation."""
    return NARROW.itemsize * (arity + 2) + 1 + ENTRY_BYTES


def _contiguous(tuples: Ints) -> Ints:
    """Tuples as kernels take them."""
    if tuples.flags.carray and tuples.dtype is INT64:
        return tuples
    return np.require(tuples, np.int64, ("C", "W"))


def _fits(numbers: Ints) -> bool:
    """Whether all these can be stored as narrow numbers."""
    bounds = np.iinfo(NARROW)
    return not numbers.size or bool(numbers.min() >= bounds.min and numbers.max() <= bounds.max)


class Fallen(NamedTuple):
    """Rows that died, those of them that are still visible and have yet to fall, and how many of them may have
    derivations which were not counted."""

    falling: Rows
    dead: Rows
    doubtful: int


class Backup(NamedTuple):
    """Ranks, counts and states from before `kill_all`, and how long the journal was then."""

    ranks: Stored
    state: npt.NDArray[np.uint8]
    journal: int


class _Arrays:
    """The arrays of a relation without rows."""

    def __init__(self, width: int):
        self.rows: Stored = np.zeros((SMALL, width), NARROW)
        self.state: npt.NDArray[np.uint8] = np.zeros(SMALL, np.uint8)
        self.slots: Slots = np.zeros(SHORTEST_TABLE, np.uint32)
        self.free: Rows = np.zeros(SMALL, np.int32)
        self.journal_rows: Rows = np.zeros(SMALL, np.int32)
        self.journal: Ints = np.zeros((SMALL, 4), np.int64)
        self.created: Rows = np.zeros(SMALL, np.int32)
        self.ghosts: Rows = np.empty(0, np.int32)
        self.sizes: Ints = np.zeros(6, np.int64)
        """Slots ever used, rows stored, entries of `free`, of the journal, of `created`; tuples dealt with."""


class Relation:
    """Rows, the index over whole rows, secondary indexes on demand, and the journal of the open version."""

    def __init__(
        self,
        name: str,
        arity: int,
        *,
        selected: bool = False,
        pinned: bool = False,
        room: Room | None = None,
    ):
        self.room = room or Unbounded()
        self.name = name
        self.arity = arity
        self.selected = selected
        self.pinned = pinned
        self.width = arity + (3 if selected else 2)
        self.rank_column = arity
        self.count_column = arity + 1
        self.head_rank_column = arity + 2 if selected else arity
        self.columns: Ints = np.arange(arity, dtype=np.int64)
        self.scratch: Ints = np.empty(2 * BLOCK, np.int64)
        self.index_scratch: Ints = np.empty(BLOCK, np.int64)
        """Another, since indexes may be another thread's for a while."""
        self.beside: SecondThread | None = None
        """Who enters rows in indexes, if it is not left to this thread."""
        self.indexes: dict[tuple[int, ...], Index | Lists] = {}
        """On which columns there are some: chains where only the best rows count, lists elsewhere."""
        self.clear()
        self.room.keep(self)

    def clear(self) -> None:
        """Drop all rows, as if there had never been any. All of it or, for want of memory, nothing."""
        fresh = _Arrays(self.width)
        indexes = {columns: indexing.empty_index(self, columns) for columns in self.indexes}
        self.rows, self.state, self.free = fresh.rows, fresh.state, fresh.free
        self.slots = fresh.slots
        self.journal_rows, self.journal, self.created = fresh.journal_rows, fresh.journal, fresh.created
        self.sizes, self.ghosts, self.indexes = fresh.sizes, fresh.ghosts, indexes
        self.backup: Backup | None = None
        self.largest = int(np.iinfo(NARROW).max)
        """The largest number that can be stored."""
        self.supports = 0
        """No row has more supports than this."""
        self.lossy = False
        """Whether the open version has made a row dead."""
        self.once = True
        """Whether no live row has ever had a second support (not always told where that is so)."""
        self.entered = 0
        """How many of the rows that the open version has created are in the indexes, those that wait left out."""
        self.all_new = False
        """Whether the open version has created all rows; told where there are many."""
        self.waiting: dict[tuple[int, ...], int] = {}
        """Indexes that have only the first so many of these: see `enter`."""
        self.asked: dict[tuple[int, ...], int] = {}
        """How often they have been asked for."""
        self.lost_indexes = False
        """Whether indexes that lacked rows of the open version had to go."""
        self.distinct = False
        """Whether whoever fills it has promised that no tuple will be added twice in the open transition."""
        self.ready = False
        """Whether all is loaded that ends a version which changes earlier rows (few rows have no need of it)."""
        self.lifted = 0
        self.proceeded = False
        """Whether the open version has had more than one transition."""
        self.plan: version_end.CommitPlan | None = None

    # ------------------------------------------------------------------ size

    @property
    def stored(self) -> int:
        """How many rows are stored, candidates and not yet removed ones included."""
        return int(self.sizes[1])

    @property
    def visible(self) -> int:
        """How many rows are in the relation now (exact between versions)."""
        if self.selected or self.sizes[3] or self.sizes[4] or self.ghosts.shape[0]:
            return int(np.count_nonzero(self.state[: self.sizes[0]] & VISIBLE))
        return self.stored

    @property
    def nbytes(self) -> int:
        """Bytes allocated for rows, states and indexes."""
        own = self.rows.nbytes + self.state.nbytes + self.free.nbytes
        own += self.slots.nbytes if "slots" in self.__dict__ else 0
        own += self.journal_rows.nbytes + self.journal.nbytes + self.created.nbytes
        return own + sum(index.nbytes for index in self._all_indexes)

    @property
    def _all_indexes(self) -> tuple[Index | Lists, ...]:
        """As they are at one moment: another thread may ask for memory while this one makes an index."""
        return tuple(self.indexes.values())

    @cached_property
    def slots(self) -> Slots:
        """The table over whole rows. One that was loaded is made when somebody first looks for a row."""
        size = table_size(self.stored, int(self.sizes[0]))
        self.ask(size * ENTRY_BYTES, f"finding {self.stored:,} rows of {self.name}")
        return self.table(size)

    def table(self, size: int) -> Slots:
        """A new table of so many slots with all rows."""
        slots: Slots = zeros((size,), np.uint32)
        fill_table(slots, self.rows, self.columns, self.state, self.sizes[0], self.scratch)
        return slots

    def fit_table(self) -> None:
        """Have a table with room for the rows and a few more, if that is much less."""
        size = fitting_size(self.stored, int(self.sizes[0]))
        if "slots" in self.__dict__ and size * 3 <= self.slots.shape[0] * 2:
            self.ask(size * ENTRY_BYTES, f"finding {self.stored:,} rows of {self.name}")
            self.slots = self.table(size)

    def empty_journal(self) -> None:
        """Let go of a long journal that nobody needs any more, for one with room for what most versions do."""
        entries = min(max(SMALL, self.stored // ROWS_AN_ENTRY_KEPT), MOST_ENTRIES_KEPT)
        rows, created = np.empty(entries, np.int32), np.empty(entries, np.int32)
        self.journal, self.journal_rows, self.created = np.empty((entries, 4), np.int64), rows, created

    @property
    def row_bytes(self) -> int:
        """Bytes that room for one more row takes."""
        indexes = sum(index.row_bytes for index in self._all_indexes)
        return self.rows.itemsize * self.width + 1 + indexes

    def ask(self, needed: int, what: str) -> None:
        """Have it refused, if there is no room for so many bytes more."""
        if needed >= self.room.least:
            self.room.ask(needed, what)

    # ------------------------------------------------------------------ indexes

    def index(self, columns: Sequence[int]) -> Index | Lists:
        """The index on exactly these columns, built on first use."""
        return indexing.index_on(self, tuple(columns))

    def chains(self, columns: Sequence[int]) -> Index:
        """The index of a relation of which only the best rows count."""
        found = self.index(columns)
        assert isinstance(found, Index)
        return found

    # ------------------------------------------------------------------ changes

    def add(self, tuples: Ints, rank: int) -> Rows:
        """Add one support for each tuple (its last column: the highest rank among its premises).

        A tuple that is not live enters with the given rank and is returned (as a row number); it is not
        visible yet. A live row's count grows where the premises' rank is below the row's own.
        """
        return self._entered(tuples, rank, visible=False)

    def insert(self, tuples: Ints, rank: int) -> Rows:
        """As `add`; those that are returned are visible at once."""
        if self.distinct:
            return self.show(self.add(tuples, rank), rank)
        return self._entered(tuples, rank, visible=True)

    def _entered(self, tuples: Ints, rank: int, *, visible: bool) -> Rows:
        """Add tuples, a chunk at a time, and enter new rows in the indexes."""
        try:
            if tuples.shape[0] <= CHUNK:
                return self._add(tuples, rank, visible=visible)
            chunks = range(0, tuples.shape[0], CHUNK)
            return np.concatenate([self._add(tuples[i : i + CHUNK], rank, visible=visible) for i in chunks])
        finally:
            upto = int(self.sizes[4])
            if upto >= indexing.FEWEST_ROWS_WAITING:
                # Told here, since another thread that enters rows would read sizes while more are added.
                self.all_new = int(self.sizes[1]) == upto
            if self.beside is None:
                indexing.enter(self, upto)
            else:
                self.beside.enter(upto)

    def _add(self, tuples: Ints, rank: int, *, visible: bool) -> Rows:
        """Add tuples of one chunk, as far as they fit; the rest once there is room for their numbers."""
        if self.distinct:
            return appended(self, tuples, rank)
        if self.backup is None:
            room.adding(self, tuples.shape[0])
        else:  # most of what is derived again has its place
            room.journal(self, tuples.shape[0])
        room.numbers(self, tuples.shape[0], rank)
        fresh = np.empty(tuples.shape[0], np.int32)
        n = rowops.add(
            tuples, self.arity, self.rows, self.state, self.slots, self.free, self.sizes, self.journal_rows,
            self.journal, self.created, self.count_column, self.head_rank_column, rank, visible, fresh, self.scratch,
        )  # fmt: skip
        done = int(self.sizes[5])
        self.once = self.once and n == done
        if done == tuples.shape[0]:
            return fresh[:n]
        if not room.adding(self, tuples.shape[0] - done):
            room.widen(self)
        return np.concatenate((fresh[:n], self._add(tuples[done:], rank, visible=visible)))

    def subtract(self, tuples: Ints) -> Fallen:
        """Take one support from each tuple whose premises' rank is below its own."""
        room.journal(self, tuples.shape[0])
        falling = np.empty(tuples.shape[0], np.int32)
        dead = np.empty(tuples.shape[0], np.int32)
        n, m, doubtful = rowops.subtract(
            tuples, self.arity, self.rows, self.state, self.slots, self.sizes, self.journal_rows, self.journal,
            self.rank_column, self.count_column, self.head_rank_column, falling, dead, self.scratch,
        )  # fmt: skip
        self.lossy = self.lossy or m > 0
        return Fallen(falling[:n], dead[:m], doubtful)

    def delete(self, tuples: Ints) -> int:
        """Make the rows of tuples dead, whatever their count, and invisible at once; how many were live."""
        room.journal(self, tuples.shape[0])
        dead = int(
            rowops.delete(
                _contiguous(tuples), self.arity, self.rows, self.state, self.slots, self.sizes, self.journal_rows,
                self.journal, self.rank_column, self.count_column, self.head_rank_column, self.scratch,
            )
        )  # fmt: skip
        self.lossy = self.lossy or dead > 0
        return dead

    def kill(self, rows: Rows) -> Fallen:
        """Make live rows dead whatever their count."""
        room.journal(self, rows.shape[0])
        falling = np.empty(rows.shape[0], np.int32)
        dead = np.empty(rows.shape[0], np.int32)
        n, m = rowops.kill(
            rows, self.rows, self.state, self.sizes, self.journal_rows, self.journal,
            self.rank_column, self.count_column, self.head_rank_column, falling, dead,
        )  # fmt: skip
        self.lossy = self.lossy or m > 0
        return Fallen(falling[:n], dead[:m], m)

    def fall(self, rows: Rows) -> None:
        """Make visible rows invisible; they are `DYING` until `settle`."""
        room.journal(self, rows.shape[0])
        rowops.fall(
            rows, self.rows, self.state, self.sizes, self.journal_rows, self.journal,
            self.rank_column, self.count_column, self.head_rank_column,
        )  # fmt: skip

    def hide(self, rows: Rows) -> None:
        """Make dead rows invisible at once, where no round of going down follows."""
        rowops.clear_bits(rows, self.state, rowops.NOT_VISIBLE)

    def kill_all(self) -> None:
        """Make every row dead and invisible at once. Rows keep their places, so what comes back costs little."""
        if not self.sizes[0]:
            return
        if self.backup is None:
            top = int(self.sizes[0])
            own = self.rows.itemsize * (self.width - self.arity) + 1
            self.ask(top * own, f"a copy of what {self.name} was before")
            room.ready_to_end(self, self.state.shape[0], self.rows.dtype)
            self.backup = Backup(
                self.rows[:top, self.arity :].copy(), self.state[:top].copy(), int(self.sizes[3])
            )
        self.lossy = True
        translate(self.state[: self.sizes[0]], KILLED)

    def lift(self, ranks: int) -> None:
        """Raise the ranks of all rows, so that they are above those of another relation. Nothing is journaled: taking
        it back is lowering them."""
        columns = {self.rank_column, self.head_rank_column}
        top = int(self.sizes[0])
        if ranks + max(int(self.rows[:top, column].max(initial=0)) for column in columns) > self.largest:
            room.widen(self)
        self.lifted += ranks
        for column in columns:
            self.rows[:top, column] += ranks
            if self.backup is not None:
                self.backup.ranks[:, column - self.arity] += ranks
        self.journal[: self.sizes[3], (0, 2)] += ranks

    def revive(self, origins: Ints, rank: int) -> Rows:
        """Add one support for each row number given; those that were dead enter with the given rank."""
        room.journal(self, origins.shape[0])
        room.numbers(self, origins.shape[0], rank)
        out = np.empty(origins.shape[0], np.int32)
        n = rowops.revive(
            origins, self.rows, self.state, self.sizes, self.journal_rows, self.journal,
            self.rank_column, self.count_column, self.head_rank_column, rank, out,
        )  # fmt: skip
        self.once = self.once and n == origins.shape[0]
        return out[:n]

    def show(self, rows: Rows, rank: int) -> Rows:
        """Make live rows visible from the given rank on; return those that were not visible before."""
        room.journal(self, rows.shape[0])
        room.numbers(self, 0, rank)
        out = empty((rows.shape[0],), np.int32)
        n = rowops.show(
            rows, self.rows, self.state, self.sizes, self.journal_rows, self.journal,
            self.rank_column, self.count_column, self.head_rank_column, rank, out,
        )  # fmt: skip
        return out[:n]

    def lead(self, rows: Rows) -> None:
        """Mark live rows as the best of their groups that wait to be shown."""
        room.journal(self, rows.shape[0])
        rowops.lead(
            rows, self.rows, self.state, self.sizes, self.journal_rows, self.journal,
            self.rank_column, self.count_column, self.head_rank_column,
        )  # fmt: skip

    def settle(self, rows: Rows) -> None:
        """Clear `DYING`: the present round of going down is over for these rows."""
        rowops.clear_bits(rows, self.state, rowops.NOT_DYING)

    def find(self, tuples: Ints) -> Rows:
        """The row number of each tuple, -1 where it is not stored."""
        out = np.empty(tuples.shape[0], np.int32)
        rowops.find(_contiguous(tuples), self.arity, self.rows, self.state, self.slots, out, self.scratch)
        return out

    def count(self, row: int) -> int:
        """How many derivations support a row."""
        return abs(int(self.rows[row, self.count_column]))

    def in_doubt(self, rows: Rows) -> Rows:
        """Those of some dead rows that may have derivations which were not counted."""
        unsure: Rows = rows[self.rows[rows, self.count_column] >= 0]
        return unsure

    def leaders(self, rows: Rows) -> Rows:
        """Those of some rows that are visible or lead their groups: that others die makes no other row best."""
        leading: Rows = rows[(self.state[rows] & (VISIBLE | LEADING)) != 0]
        return leading

    def doubt(self, rows: Rows) -> None:
        """Suppose of live rows that not all their derivations are counted."""
        self.once = self.once and not rows.shape[0]
        self.rows[rows, self.count_column] = np.abs(self.rows[rows, self.count_column])

    def live(self, rows: Ints) -> bool:
        """Whether all these stored rows are live."""
        return bool((self.state[rows] & LIVE).all())

    # ------------------------------------------------------------------ versions

    def change(self) -> tuple[Rows, Rows]:
        """The rows that were in the relation when the version, or its present transition, began and are not now;
        and those that are in it now and were not."""
        return version_change.since_transition(self)

    def whole_change(self) -> tuple[Rows, Rows]:
        """The rows lost and gained since the version began, over all its transitions."""
        return version_change.since_version(self)

    def proceed(self) -> None:
        """End a transition of the open version: what is visible now `WAS` there when the next one begins. All of it
        can still be taken back."""
        version_change.proceed(self)

    def live_rows(self) -> Rows:
        """The numbers of all visible rows: a scan of the relation."""
        return np.flatnonzero(self.state[: self.sizes[0]] & VISIBLE).astype(np.int32)

    def earlier_rows(self) -> Rows:
        """The numbers of all rows that were visible when the version began: a scan of the relation."""
        return np.flatnonzero(self.state[: self.sizes[0]] & WAS).astype(np.int32)

    def matrix(self) -> Ints:
        """The codes of all visible rows, as a copy: a scan of the relation."""
        mask = (self.state[: self.sizes[0]] & VISIBLE) != 0
        return np.ascontiguousarray(self.rows[: self.sizes[0], : self.arity][mask], WIDE)

    def codes(self, rows: Rows) -> Ints:
        """The codes of the given rows."""
        return np.ascontiguousarray(self.rows[rows, : self.arity], WIDE)

    def ranks(self, rows: Rows) -> Ints:
        """The ranks of the given rows."""
        ranks: Ints = self.rows[rows, self.rank_column].astype(np.int64)
        return ranks

    def rank(self, rows: Rows, rank: int) -> None:
        """Give rows another rank. Nothing is journaled."""
        room.numbers(self, 0, rank)
        self.rows[rows, self.rank_column] = rank

    def prepare(self) -> None:
        """Get ready to commit: what takes memory is done here, where the version can still be refused."""
        self.plan = version_end.planned(self)

    def commit(self) -> bool:
        """Forget the journal and remove dead rows; return whether the relation was compacted."""
        plan, self.plan, self.distinct = self.plan or version_end.planned(self), None, False
        return version_end.commit(self, plan)

    def rollback(self) -> None:
        """Put every touched row back as it was when the version began. Takes no memory to speak of."""
        self.plan = None
        version_end.rollback(self)

    def compact(self) -> None:
        """Move all live rows together and build the indexes anew; rows get new numbers."""
        keep = np.flatnonzero(self.state[: self.sizes[0]] & LIVE)
        self.ask(keep.shape[0] * 2 * (self.row_bytes + 16), f"compacting {self.name}")
        rows, state, supports = self.rows[keep], self.state[keep], self.supports
        n = rows.shape[0]
        before = dict(self.__dict__)
        try:
            self.clear()
            self.once = before["once"]
            room.numbers(self, supports, 0)
            if rows.dtype == WIDE:
                room.widen(self)
            self.journal_rows, self.journal = before["journal_rows"], before["journal"]
            self.created = before["created"]
            room.rows(self, n)
            self.rows[:n] = rows
            self.state[:n] = state & np.uint8(0xFF ^ TOUCHED)
            indexing.fill(self, n)
            self.slots = self.table(table_size(n, n))
        except BaseException:
            self.__dict__.update(before)
            raise

    # ------------------------------------------------------------------ in and out whole

    def dump(self) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
        """All live rows: codes, the columns of rank and count, and which are visible."""
        live = np.flatnonzero(self.state[: self.sizes[0]] & LIVE)
        visible = (self.state[live] & VISIBLE) != 0
        rows = np.ascontiguousarray(self.rows[live], WIDE)
        return rows[:, : self.arity], rows[:, self.arity :], visible

    def load(self, codes: Ints, ranks: Ints, visible: npt.NDArray[np.bool_]) -> None:
        """Take what `dump` gave into an empty relation; the rows were there before any version."""
        n = codes.shape[0]
        self.clear()
        room.numbers(self, int(ranks[:, 1].max(initial=0)), 0)
        self.once = bool((ranks[:, 1] == rowops.ALL_COUNTED).all())
        if not _fits(codes) or not _fits(ranks):
            room.widen(self)
        room.rows(self, n)
        self.rows[:n, : self.arity] = codes
        self.rows[:n, self.arity :] = ranks
        self.state[:n] = np.where(visible, LIVE | STORED | VISIBLE | WAS, LIVE | STORED)
        indexing.fill(self, n)
        del self.slots
