"""Rows are stored in 32 bits until a number comes that needs more; nobody who uses a relation can tell."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_model import assert_indexed, matrix
from kernel_stream import Stream

from headwater.kernel.relation import Relation
from headwater.kernel.room import NARROW, WIDE

LEAST, MOST = -(2**31), 2**31 - 1


def filled(rows: list[tuple[int, ...]], rank: int = 1) -> Relation:
    relation = Relation("r", 2)
    relation.index([1])
    relation.show(relation.add(matrix([(*row, 0) for row in rows], 3), rank), rank)
    relation.commit()
    return relation


def contents(relation: Relation) -> list[tuple[int, ...]]:
    return sorted(map(tuple, relation.matrix().tolist()))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("values", [(-1, 0, 7, LEAST, MOST), (LEAST - 1, LEAST, -1, MOST, MOST + 1)])
def test_random_versions_beside_the_bounds(seed: int, values: tuple[int, ...]):
    stream = Stream(seed, 2)
    stream.values = list(values)
    stream.relation.index([0])
    for _ in range(20):
        stream.version(stream.rng.randint(1, 6), keep=stream.rng.random() < 0.7)
    assert_indexed(stream.relation)
    assert stream.relation.rows.dtype == (NARROW if min(values) >= LEAST else WIDE)


@pytest.mark.parametrize("seed", range(3))
def test_ranks_grow_beyond_32_bits(seed: int):
    stream = Stream(seed, 2)
    stream.values = [0, 1, 2]
    for step in (1, MOST - 3, 1, 2, 1, 2**40):
        stream.clock += step
        stream.version(4)
    assert stream.relation.rows.dtype == WIDE


@pytest.mark.parametrize("odd", [MOST + 1, LEAST - 1, 2**62, -(2**63)])
def test_one_number_among_many(odd: int):
    """Rows before it and after it, some of them known already, are added as if it were like the others."""
    rows = [(i, i % 7) for i in range(300)]
    relation = filled(rows)
    assert relation.rows.dtype == NARROW
    before = relation.nbytes
    more = [(i, i % 7) for i in range(250, 500)]
    more.insert(120, (odd, 3))
    fresh = relation.add(matrix([(*row, 0) for row in more], 3), 2)
    assert relation.rows.dtype == WIDE and relation.nbytes > before
    assert sorted(map(tuple, relation.codes(fresh).tolist())) == sorted(set(more) - set(rows))
    assert_indexed(relation)
    relation.rollback()
    assert contents(relation) == rows
    assert_indexed(relation)
    assert relation.find(matrix([(odd, 3), (299, 5)], 2)).tolist()[0] == -1


def test_numbers_that_are_looked_for_need_not_fit():
    relation = filled([(0, 1), (5, 1)])
    assert relation.find(matrix([(2**32, 1), (2**32 + 5, 1), (5, 1)], 2)).tolist()[:2] == [-1, -1]
    assert relation.subtract(matrix([(2**32 + 5, 1, 0)], 3)).dead.tolist() == []
    assert relation.rows.dtype == NARROW


def test_ranks_that_are_lifted_and_lowered():
    relation = filled([(i, 0) for i in range(20)], rank=5)
    relation.lift(MOST - 5)
    assert relation.rows.dtype == NARROW
    relation.lift(10)
    assert relation.rows.dtype == WIDE
    assert set(relation.rows[:20, relation.rank_column].tolist()) == {MOST + 10}
    relation.rollback()
    assert set(relation.rows[:20, relation.rank_column].tolist()) == {5}


def test_what_was_killed_as_a_whole_comes_back_from_before_it_was_widened():
    relation = filled([(i, 0) for i in range(20)])
    relation.kill_all()
    relation.add(matrix([(2**40, 0, 0), (3, 0, 0)], 3), 2)
    assert relation.rows.dtype == WIDE
    relation.rollback()
    assert contents(relation) == [(i, 0) for i in range(20)]


def test_supports_are_counted_beyond_32_bits():
    """That a count may pass the bound is foreseen from how many supports were added; a look at the counts decides."""
    relation = filled([(0, 0)])
    relation.supports = MOST
    relation.add(matrix([(0, 0, 0)], 3), 2)
    assert relation.rows.dtype == NARROW and relation.supports < 10
    relation.rows[0, relation.count_column] = MOST
    relation.supports = MOST
    relation.add(matrix([(0, 0, 0)], 3), 2)
    assert relation.rows[0, relation.count_column] == MOST + 1


@pytest.mark.parametrize("value", [4, 2**35])
def test_out_and_in_again(value: int):
    relation = filled([(i, value) for i in range(50)])
    codes, ranks, visible = relation.dump()
    assert codes.dtype == ranks.dtype == np.int64
    other = Relation("s", 2)
    other.load(codes, ranks, visible)
    assert contents(other) == contents(relation) and other.rows.dtype == relation.rows.dtype
    other.compact()
    assert contents(other) == contents(relation) and other.rows.dtype == relation.rows.dtype
