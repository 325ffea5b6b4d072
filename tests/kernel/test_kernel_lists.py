"""Lists of rows by key: long ones and short ones, through versions that are kept or undone, and joins over them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from kernel_model import assert_indexed, lists, matrix
from kernel_stream import Stream

from headwater.kernel import list_join
from headwater.kernel.list_join import CONSTANT
from headwater.kernel.lists import HEAD, Lists
from headwater.kernel.memory import Reserved
from headwater.kernel.prefetch import BLOCK
from headwater.kernel.relation import Relation
from headwater.kernel.states import NEW
from headwater.kernel.version_change import NO_ROWS

ANY_RANK = np.iinfo(np.int64).max
NO_PAIRS = np.empty((0, 2), np.int64)
NOTHING = np.empty(0, np.int64)
LENGTHS = (1, 2, 5, 6, 12, 13, 27, 28, 42, 43, 73, 74, 104, 105, 167, 168, 300)
"""Where a list gets another block, and before."""


def insert(relation: Relation, rows: list[tuple[int, ...]]) -> None:
    """Rows from lower strata, visible at once."""
    fresh = relation.add(matrix([(*row, 0) for row in rows], relation.arity + 1), 1)
    relation.show(fresh, 1)


def delete(relation: Relation, rows: list[tuple[int, ...]]) -> None:
    relation.fall(relation.kill(relation.find(matrix(rows, relation.arity))).falling)


def members(relation: Relation, key: int) -> list[int]:
    return [int(relation.rows[row, 1]) for row in lists(relation, (0,)).get((key,), [])]


@pytest.mark.parametrize("seed", range(4))
def test_random_versions_with_long_lists(seed: int):
    """Hundreds of rows by key, made, removed, undone; an index made in the middle of a version."""
    stream = Stream(seed, 2, domain=3, counts=(1, 7, 60, 200))
    stream.values = list(range(60)) if seed % 2 else list(range(12))
    relation = stream.relation
    relation.index((0,))
    for number in range(14):
        stream.add()
        if number == 7:
            relation.index((1,))
            assert_indexed(relation)
        stream.version(3, keep=number % 3 != 2)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_version_that_is_undone_leaves_lists_as_they_were(length: int):
    relation = Relation("r", 2)
    relation.index((0,))
    insert(relation, [(1, i) for i in range(length)])
    relation.commit()
    index = relation.indexes[0,]
    assert isinstance(index, Lists)
    used, before = int(index.sizes[1]), members(relation, 1)
    insert(relation, [(key, i) for i in range(400, 700) for key in (1, 2)])
    relation.rollback()
    assert members(relation, 1) == before == list(range(length))
    assert index.sizes[1] <= used + HEAD, "a list of one row may stay a list"
    assert index.keys == 1
    assert_indexed(relation)


@pytest.mark.parametrize("length", LENGTHS)
def test_rows_that_go_are_swept_out_once_they_are_half_of_a_list(length: int):
    relation = Relation("r", 2, pinned=True)  # one that is not built anew instead
    relation.index((0,))
    insert(relation, [(1, i) for i in range(length)])
    insert(relation, [(2, 0)])
    relation.commit()
    order = random.Random(length).sample(range(length), length)
    for gone, value in enumerate(order, 1):
        delete(relation, [(1, value)])
        relation.commit()
        assert_indexed(relation)
        assert 2 * len(members(relation, 1)) <= 4 * (length - gone) + 1
    assert relation.indexes[0,].keys == 1
    assert relation.sizes[2] == length, "all places are free"
    insert(relation, [(3, i) for i in range(length)])
    assert relation.sizes[0] == length + 1, "and used again"


def test_places_are_not_used_again_before_all_lists_have_let_go_of_them():
    relation = Relation("r", 2)
    relation.index((0,))
    relation.index((1,))
    insert(relation, [(key, value) for key in range(2) for value in range(40)])
    relation.commit()
    delete(relation, [(0, value) for value in range(10)])
    relation.commit()
    assert relation.sizes[2] == 0, "those of the first column have 30 rows left in 40"
    insert(relation, [(5, value) for value in range(10)])
    relation.commit()
    assert_indexed(relation)
    delete(relation, [(0, value) for value in range(10, 20)])
    relation.commit()
    assert relation.sizes[2] == 20
    assert_indexed(relation)


def joined(
    relation: Relation, other: Relation, piece: int, *, by_rows: bool, between=lambda: None
) -> list[tuple[int, ...]]:
    """left(X, Y), other(Y, Z) as (Z, X, 7) and the highest rank, in pieces of some length."""
    index = other.index((0,))
    assert isinstance(index, Lists)
    which = relation.live_rows()
    sources, constants = np.array([1]), np.array([5, 7])
    outputs = np.array([-2, 0, CONSTANT + 1])
    bindings = np.column_stack((relation.codes(which), relation.ranks(which)))
    cursor, out, scratch = (
        np.zeros(5, np.int64),
        np.empty((piece, 4), np.int64),
        np.empty(2 * BLOCK, np.int64),
    )
    found: list[tuple[int, ...]] = []
    while cursor[0] < which.shape[0]:
        rest = (
            index.columns, index.slots, index.pool, other.rows, other.state, NEW, NO_PAIRS, 2, ANY_RANK, outputs,
            constants, cursor, out,
        )  # fmt: skip
        if by_rows:
            n = list_join.join_rows(which, relation.rows, 2, sources, NOTHING, *rest, scratch)
        else:
            n = list_join.join_bindings(NO_ROWS, bindings, 2, sources, NOTHING, *rest, scratch)
        found += map(tuple, out[:n].tolist())
        between()
    return found


@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_joins_in_pieces_of_any_length(piece: int, by_rows: bool):
    """Lists of all lengths and single rows, some of them removed; pieces end anywhere."""
    rng = random.Random(piece)
    left, right = Relation("left", 2), Relation("right", 2)
    insert(left, [(rng.randrange(100), key) for key in range(30) for _ in range(rng.randint(0, 3))])
    right.index((0,))
    sized = [(key, value) for key, length in enumerate(LENGTHS) for value in range(length)]
    insert(right, sized)
    right.commit()
    gone = rng.sample(sized, len(sized) // 3)
    delete(right, gone)
    right.commit()
    expected = [
        (z, x, 7, 1) for x, y in left.matrix().tolist() for key, z in right.matrix().tolist() if y == key
    ]
    assert sorted(joined(left, right, piece, by_rows=by_rows)) == sorted(expected)


@pytest.mark.parametrize("by_rows", [True, False])
def test_rows_that_come_in_between_pieces_are_not_seen(by_rows: bool):
    """A recursive rule adds to the relation that it joins: lists grow, single rows become lists, tables move."""
    left, right = Relation("left", 2), Relation("right", 2)
    insert(left, [(0, key) for key in range(20)])
    insert(right, [(key, value) for key in range(20) for value in range(1 + 3 * key)])
    expected = [(z, 0, 7, 1) for _, z in right.matrix().tolist()]
    fresh = iter(range(1000, 100_000))

    def grow() -> None:
        tuples = [(key, next(fresh), 0) for key in range(40)]
        right.add(matrix(tuples, 3), 2)

    assert sorted(joined(left, right, 3, by_rows=by_rows, between=grow)) == sorted(expected)


class Refusing:
    """Room for nothing more, once it is said so."""

    least = 0
    full = False

    def keep(self, holder: Reserved) -> None:
        pass

    def ask(self, needed: int, what: str) -> None:
        if self.full and what.startswith("an index"):
            raise MemoryError(what)


def test_places_of_dead_rows_are_used_again_though_a_refusal_took_the_index_they_were_in():
    room = Refusing()
    relation = Relation("r", 2, room=room)
    relation.index((0,))
    relation.index((1,))
    insert(relation, [(key, value) for key in range(2) for value in range(40)])
    relation.commit()
    delete(relation, [(0, value) for value in range(10)])
    relation.commit()
    assert relation.sizes[2] == 0
    room.full = True
    with pytest.raises(MemoryError):
        insert(relation, [(key, key) for key in range(1000, 3000)])
    relation.rollback()
    room.full = False
    insert(relation, [(key, 0) for key in range(100, 110)])
    assert relation.sizes[0] == 80, "the places of rows that went"
    relation.commit()
    relation.index((0,))
    relation.index((1,))
    assert_indexed(relation)
    delete(relation, [(0, value) for value in range(10, 40)])
    relation.commit()
    assert relation.sizes[2] == 30
    assert_indexed(relation)
