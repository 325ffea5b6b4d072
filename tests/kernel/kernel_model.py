"""What a relation should hold, as a dictionary, and the comparison of a real one with it.

The model knows a row by its values: rank, count, head rank, and whether it is live, visible, was visible when the
version began, or is dying. It forgets dead rows when a version is committed; the relation may keep some longer.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from headwater.kernel.hashing import MIX_1, MIX_2, ROW
from headwater.kernel.index import Index
from headwater.kernel.lists import HEAD, IN_CHUNK, IN_HEAD, LIST, SHORTER, Lists
from headwater.kernel.relation import Relation
from headwater.kernel.row_table import HOME_BITS
from headwater.kernel.states import DYING, LIVE, STORED, TOUCHED, VISIBLE, WANTED, WAS

Values = tuple[int, ...]


@dataclass
class Row:
    """One row of the model."""

    rank: int
    count: int
    head_rank: int
    live: bool = True
    visible: bool = False
    was: bool = False
    dying: bool = False


@dataclass
class Model:
    """Rows by their values."""

    selected: bool = False
    rows: dict[Values, Row] = field(default_factory=dict)
    before: dict[Values, Row] = field(default_factory=dict)

    def add(self, tuples: Iterable[Values], rank: int) -> list[Values]:
        fresh = []
        for *values, premises in tuples:
            row = self.rows.get(tuple(values))
            if row is None or not row.live:
                was, visible, dying = (row.was, row.visible, row.dying) if row else (False, False, False)
                self.rows[tuple(values)] = Row(rank, 1, rank, True, visible, was, dying)
                fresh.append(tuple(values))
            elif premises < (row.head_rank if self.selected else row.rank):
                row.count += 1
        return fresh

    def subtract(self, tuples: Iterable[Values]) -> tuple[list[Values], list[Values]]:
        falling, dead = [], []
        for *values, premises in tuples:
            row = self.rows.get(tuple(values))
            if row is None or not row.live or premises >= (row.head_rank if self.selected else row.rank):
                continue
            row.count -= 1
            if row.count == 0:
                row.live = False
                dead.append(tuple(values))
                if row.visible:
                    falling.append(tuple(values))
        return falling, dead

    def kill(self, which: Iterable[Values]) -> tuple[list[Values], list[Values]]:
        falling, dead = [], []
        for values in which:
            row = self.rows.get(values)
            if row is None or not row.live:
                continue
            row.live, row.count = False, 0
            dead.append(values)
            if row.visible:
                falling.append(values)
        return falling, dead

    def insert(self, tuples: Iterable[Values], rank: int) -> list[Values]:
        fresh = self.add(tuples, rank)
        self.show(fresh, rank)
        return fresh

    def delete(self, which: Iterable[Values]) -> int:
        _, dead = self.kill(which)
        for values in dead:
            self.rows[values].visible = False
        return len(dead)

    def fall(self, which: Iterable[Values]) -> None:
        for values in which:
            self.rows[values].visible, self.rows[values].dying = False, True

    def settle(self, which: Iterable[Values]) -> None:
        for values in which:
            self.rows[values].dying = False

    def revive(self, which: Iterable[Values], rank: int) -> list[Values]:
        fresh = []
        for values in which:
            row = self.rows[values]
            if row.live:
                row.count += 1
            else:
                row.live, row.rank, row.head_rank, row.count = True, rank, rank, 1
                fresh.append(values)
        return fresh

    def show(self, which: Iterable[Values], rank: int) -> list[Values]:
        shown = []
        for values in which:
            row = self.rows[values]
            if row.live and not row.visible:
                row.visible, row.rank = True, rank
                shown.append(values)
        return shown

    def kill_all(self) -> None:
        for row in self.rows.values():
            row.live = row.visible = row.dying = False

    def commit(self) -> None:
        self.rows = {values: row for values, row in self.rows.items() if row.live}
        for row in self.rows.values():
            row.was, row.dying = row.visible, False
        self.before = copy.deepcopy(self.rows)

    def rollback(self) -> None:
        self.rows = copy.deepcopy(self.before)


# ---------------------------------------------------------------- looking into a relation


def matrix(rows: Sequence[Values], width: int) -> np.ndarray:
    """Rows as the kernel takes them."""
    return np.array(list(rows), np.int64).reshape(len(rows), width)


def values_of(relation: Relation, rows: Iterable[int]) -> list[Values]:
    """The values in the given slots, in order."""
    return [tuple(map(int, relation.rows[row, : relation.arity])) for row in rows]


def stored_rows(relation: Relation) -> list[int]:
    """The slots in use."""
    return np.flatnonzero(relation.state[: relation.sizes[0]] & STORED).tolist()


def lists(relation: Relation, columns: tuple[int, ...]) -> dict[Values, list[int]]:
    """All lists of an index by key, with rows that are stored no more and have not been swept out.

    The blocks of the lists and those that are free are the whole pool.
    """
    index = relation.indexes[columns]
    assert isinstance(index, Lists)
    found: dict[Values, list[int]] = {}
    blocks: list[tuple[int, int]] = []
    for entry in index.slots[index.slots != 0].tolist():
        if not entry & LIST:
            members = [(entry & int(ROW)) - 1]
        else:
            head = (entry & (int(LIST) - 1)) * HEAD
            tail, count, dead = index.pool[head : head + 3].tolist()
            places = [IN_HEAD, *SHORTER] + [IN_CHUNK] * count
            lengths = [HEAD, *(place + 1 for place in places[1:])]
            used = next(n for n in range(1, count + 2) if sum(places[:n]) >= count)
            members, block, left = [], tail, count
            for place in range(used - 1, -1, -1):
                blocks.append((block, lengths[place]))
                size = left - sum(places[:place])
                first = block + (3 if place == 0 else 1)
                members[:0] = index.pool[first : first + size].tolist()
                left, block = left - size, int(index.pool[block])
            assert blocks[-1] == (head, HEAD) and left == 0
            assert dead == sum(not relation.state[row] & STORED for row in members)
            assert dead < count
        key = tuple(int(relation.rows[members[0], column]) for column in columns)
        assert all(tuple(relation.rows[row, list(columns)].tolist()) == key for row in members)
        assert key not in found and len(set(members)) == len(members)
        found[key] = members
    for place, length in enumerate((HEAD, 16, 32, 64)):
        block = int(index.sizes[2 + place])
        while block:
            blocks.append((block, length))
            block = int(index.pool[block])
    end = HEAD
    for block, length in sorted(blocks):
        assert block == end
        end += length
    assert end == index.sizes[1]
    return found


def chains(relation: Relation, columns: tuple[int, ...]) -> dict[Values, list[int]]:
    """All chains of an index, walked both ways, by key."""
    index = relation.indexes[columns]
    assert isinstance(index, Index)
    found: dict[Values, list[int]] = {}
    for entry in index.slots[index.slots != 0]:
        row, previous, chain = int((entry & ROW) - 1), -1, []
        while row >= 0:
            assert index.previous[row] == previous
            chain.append(row)
            previous, row = row, int(index.next[row])
        key = tuple(int(relation.rows[chain[0], column]) for column in columns)
        assert key not in found
        found[key] = chain
    return found


def tags(keys: np.ndarray) -> np.ndarray:
    """The tags of rows of codes, as numpy works them out."""
    columns = list(keys.T.astype(np.int64).view(np.uint64))
    h = np.zeros(keys.shape[0], np.uint64)
    if len(columns) >= 8:
        lanes = [np.full_like(h, lane << 61) for lane in range(4)]
        for place in range(len(columns) // 4 * 4):
            lanes[place % 4] = _mixed(lanes[place % 4], columns[place])
        h = _mixed(lanes[0] ^ lanes[1] * MIX_2, lanes[2] ^ lanes[3] * MIX_1)
        columns = columns[len(columns) // 4 * 4 :]
    for column in columns:
        h = _mixed(h, column)
    return (h & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _mixed(h: np.ndarray, column: np.ndarray) -> np.ndarray:
    h = (h ^ column) * MIX_1
    h = (h ^ (h >> np.uint64(32))) * MIX_2
    return h ^ (h >> np.uint64(29))


def assert_table(relation: Relation, stored: list[int]) -> None:
    """The table over whole rows has each stored row once: with its mark, and in one run with its home."""
    slots = relation.slots.astype(np.int64)
    size = slots.shape[0]
    places = np.flatnonzero(slots)
    bits = int(size - 1).bit_length()
    rows = (slots[places] & ((1 << bits) - 1)) - 1
    assert sorted(rows.tolist()) == stored
    tag = tags(relation.rows[rows, : relation.arity])
    homes = tag * size >> 32
    assert (slots[places] >> bits == (tag * size >> HOME_BITS + bits) & ((1 << 32 - bits) - 1)).all()
    taken = np.concatenate(([0], np.cumsum(np.tile(slots != 0, 2))))
    far = (places - homes) % size
    assert (taken[homes + far + 1] - taken[homes] == far + 1).all()


def assert_indexed(relation: Relation) -> None:
    """Slots find every stored row; each index has each stored row once, under its key; those that wait have the first
    ones of the version."""
    stored = stored_rows(relation)
    assert relation.stored == len(stored)
    assert_table(relation, stored)
    assert relation.find(matrix(values_of(relation, stored), relation.arity)).tolist() == stored
    waiting: Counter[int] = Counter()
    for columns, index in relation.indexes.items():
        expected: dict[Values, set[int]] = {}
        late = relation.created[relation.waiting.get(columns, relation.sizes[4]) : relation.sizes[4]]
        for row in sorted({*stored} - {*late.tolist()}):
            key = tuple(int(relation.rows[row, column]) for column in columns)
            expected.setdefault(key, set()).add(row)
        if isinstance(index, Lists):
            everything = lists(relation, columns)
            gone = [row for rows in everything.values() for row in rows if not relation.state[row] & STORED]
            waiting.update(gone)
            walked = {key: [row for row in rows if row not in gone] for key, rows in everything.items()}
        else:
            walked = chains(relation, columns)
        assert {key: set(chain) for key, chain in walked.items()} == expected
        assert sum(map(len, walked.values())) == sum(map(len, expected.values()))
        assert index.keys == len(expected)
    free = relation.free[: relation.sizes[2]].tolist()
    assert sorted([*free, *stored, *waiting]) == list(range(int(relation.sizes[0])))
    assert all(relation.rows[row, relation.count_column] == count for row, count in waiting.items())
    assert relation.free.shape[0] >= len(free) + len(waiting)


def facts(relation: Relation, row: int) -> Row:
    """A stored row as the model would have it."""
    state = int(relation.state[row])
    return Row(
        rank=int(relation.rows[row, relation.rank_column]),
        count=relation.count(row),
        head_rank=int(relation.rows[row, relation.head_rank_column]),
        live=bool(state & LIVE),
        visible=bool(state & VISIBLE),
        was=bool(state & WAS),
        dying=bool(state & DYING),
    )


def assert_same(relation: Relation, model: Model, *, between: bool = False) -> None:
    """The relation holds what the model does, and its indexes hold the relation."""
    assert_indexed(relation)
    numbers = dict(zip(values_of(relation, stored_rows(relation)), stored_rows(relation), strict=True))
    for values, row in model.rows.items():
        found = facts(relation, numbers[values])
        if not row.live:
            found.rank, found.count, found.head_rank = row.rank, row.count, row.head_rank
        elif not model.selected:
            found.head_rank = row.head_rank
        assert found == row, values
    for values in numbers.keys() - model.rows.keys():
        dead = facts(relation, numbers[values])
        assert not (dead.live or dead.visible or dead.was or dead.dying), values
    visible = sorted(values for values, row in model.rows.items() if row.visible)
    assert sorted(map(tuple, relation.matrix().tolist())) == visible
    assert sorted(values_of(relation, relation.live_rows())) == visible
    lost = {values for values, row in model.rows.items() if row.was and not row.visible}
    gained = {values for values, row in model.rows.items() if row.visible and not row.was}
    assert set(values_of(relation, relation.change()[0])) == lost
    assert set(values_of(relation, relation.change()[1])) == gained
    if between:
        assert relation.visible == len(visible)
        assert not (relation.state & (TOUCHED | WANTED | DYING)).any()
