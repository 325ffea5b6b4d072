"""The table over whole rows: rows that crowd into a part of it, tables that grow and shrink, large numbers."""

from __future__ import annotations

import random

import numpy as np
import pytest
from kernel_model import assert_indexed, assert_table, matrix, stored_rows, tags
from oracle_lockstep import examples

from headwater.kernel import compiled, journal, row_table, version_end
from headwater.kernel.memory import FirstLoad
from headwater.kernel.relation import Relation
from headwater.kernel.row_table import TOLD, fitting_size, has_room, table_size


def crowded(count: int, part: float) -> list[int]:
    """Numbers whose homes are all in the first part of any table, and its last slot."""
    numbers = np.arange(4_000_000)[:, None]
    homes = tags(numbers) / 2**32
    chosen = np.flatnonzero((homes < part) | (homes > 1 - part / 8))
    assert chosen.shape[0] >= count
    return chosen[:count].tolist()


def add(relation: Relation, rows: list[tuple[int, ...]]) -> None:
    relation.show(relation.add(matrix([(*row, 0) for row in rows], relation.arity + 1), 1), 1)


def delete(relation: Relation, rows: list[tuple[int, ...]]) -> None:
    fallen = relation.kill(relation.find(matrix(rows, relation.arity)))
    relation.fall(fallen.falling)
    relation.settle(fallen.falling)


def longest_run(relation: Relation) -> int:
    taken = np.tile(relation.slots != 0, 2)
    runs = np.split(taken, np.flatnonzero(np.diff(taken)) + 1)
    return max((run.shape[0] for run in runs if run[0]), default=0)


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("seed", range(examples(4)))
@pytest.mark.parametrize("part", [0.001, 0.02])
def test_rows_that_crowd_together_come_and_go(seed: int, part: float, fitted: bool):
    """Entries are so far from their homes that they do not tell how far; in tables of any length."""
    rng = random.Random(seed)
    numbers = [(number,) for number in crowded(300, part)]
    relation = Relation("r", 1)
    there: set[tuple[int, ...]] = set()
    longest = 0
    for _ in range(30):
        before = set(there)
        new = set(rng.sample(numbers, rng.randint(0, 120))) - there
        add(relation, sorted(new))
        old = set(rng.sample(sorted(there | new), rng.randint(0, len(there | new) // 2)))
        delete(relation, sorted(old))
        there = (there | new) - old
        longest = max(longest, longest_run(relation))
        assert_indexed(relation)
        if fitted:
            relation.slots = relation.table(fitting_size(relation.stored, int(relation.sizes[0])))
            assert_indexed(relation)
        if rng.random() < 0.3:
            relation.rollback()
            there = before
        else:
            relation.commit()
        assert_indexed(relation)
        assert {tuple(row) for row in relation.matrix().tolist()} == there
    assert longest > 2 * TOLD


@pytest.mark.parametrize("by_python", [False, True])
@pytest.mark.parametrize("load", [0.5, 0.7, 0.8])
def test_what_is_left_takes_the_slots_that_it_would_take_alone(load: float, by_python: bool):
    """Rows are taken out of runs of any length: which slots are taken then does not depend on who came first."""
    rng = random.Random(int(load * 10))
    size = 64 * TOLD
    relation = Relation("r", 1)
    add(relation, [(number,) for number in rng.sample(range(10**6), int(size * load))])
    relation.slots = relation.table(size)
    relation.commit()
    kernel = compiled.kernel_of(journal.remove)
    assert kernel is not None
    take_out = kernel.as_python if by_python else journal.remove
    for _ in range(20):
        gone = np.array(rng.sample(stored_rows(relation), 20), np.int32)
        with np.errstate(over="ignore"):
            take_out(
                gone, relation.columns, relation.rows, relation.state, relation.slots,
                np.empty(size, np.int32), relation.sizes, relation.scratch, relation.count_column, 1,
            )  # fmt: skip
        assert ((relation.slots != 0) == (relation.table(size) != 0)).all()
        assert_table(relation, stored_rows(relation))


def test_growing_and_shrinking(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(version_end, "MOST_ROWS_REMOVED", 8)
    relation = Relation("r", 2)
    sizes = set()
    for count in (10, 40, 100, 700, 3000):
        add(relation, [(count, row) for row in range(count)])
        sizes.add(relation.slots.shape[0])
        assert_indexed(relation)
    assert len(sizes) >= 4
    relation.rollback()
    assert_indexed(relation)
    add(relation, [(0, row) for row in range(20)])
    relation.commit()
    add(relation, [(1, row) for row in range(20_000)])
    large = relation.slots.nbytes
    relation.rollback()
    assert relation.slots.nbytes * 4 <= large
    assert_indexed(relation)
    assert sorted(map(tuple, relation.matrix().tolist())) == [(0, row) for row in range(20)]


def test_numbers_are_below_the_size_of_the_table(monkeypatch: pytest.MonkeyPatch):
    """Few rows with large numbers: places of those that went are kept for long."""
    monkeypatch.setattr(version_end, "FEWEST_ROWS_REBUILT_WITHOUT", 10**9)
    relation = Relation("r", 1)
    relation.index([0])
    add(relation, [(row,) for row in range(1000)])
    relation.commit()
    delete(relation, [(row,) for row in range(990)])
    relation.commit()
    del relation.slots
    assert relation.find(matrix([(995,), (3,)], 1)).tolist() == [995, -1]
    assert relation.slots.shape[0] > 999
    add(relation, [(row,) for row in range(2000, 2100)])
    assert_indexed(relation)
    relation.rollback()
    assert_indexed(relation)


def test_a_relation_whose_copy_was_made_takes_more_rows_than_its_table():
    """What is derived again after `kill_all` has a place; rows that come beside it make room as they are added."""
    relation = Relation("r", 1)
    add(relation, [(row,) for row in range(100)])
    relation.commit()
    relation.kill_all()
    add(relation, [(row,) for row in range(50, 3000)])
    assert_indexed(relation)
    relation.rollback()
    assert_indexed(relation)
    assert sorted(map(tuple, relation.matrix().tolist())) == [(row,) for row in range(100)]


@pytest.mark.parametrize("rows", [0, 1, 19, 20, 1000, 10**6, 1_677_721, 10**8])
def test_sizes_of_tables(rows: int):
    size = table_size(rows, rows)
    assert size & (size - 1) == 0 and rows * 5 <= size * 3
    assert size == row_table.SHORTEST_TABLE or rows * 5 > size // 2 * 3
    assert table_size(rows, 5 * size) == 8 * size
    empty = np.broadcast_to(np.uint32(0), (size,))
    assert has_room(empty, rows, rows) and not has_room(empty, rows, size) and not has_room(empty, size, 0)


@pytest.mark.parametrize("rows", [0, 1, 24, 25, 1000, 947_515, 1_677_721, 10**8])
def test_sizes_of_tables_that_fit(rows: int):
    """They have room for some rows more, and no more than a third beyond what the rows take."""
    size = fitting_size(rows, rows)
    assert size % TOLD == 0 and (size == row_table.SHORTEST_TABLE or rows * 4 > (size - TOLD) * 3)
    assert has_room(np.broadcast_to(np.uint32(0), (size,)), rows + rows // 16, rows + rows // 16)
    assert fitting_size(rows, 3 * size) > 3 * size


def test_a_large_load_ends_with_a_table_that_fits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(version_end, "FEWEST_ROWS_LOADED", 1000)
    monkeypatch.setattr(
        version_end, "first_load", FirstLoad()
    )  # as in a process in which nothing was loaded yet
    relation = Relation("r", 2)
    relation.index([1])
    add(relation, [(row, row % 7) for row in range(1400)])
    loose = relation.slots.shape[0]
    relation.commit()
    assert relation.slots.shape[0] == fitting_size(1400, 1400) < loose
    assert_indexed(relation)
    delete(relation, [(row, row % 7) for row in range(0, 1400, 3)])
    add(relation, [(row, 0) for row in range(2000, 2300)])
    assert_indexed(relation)
    relation.rollback()
    assert_indexed(relation)
    add(relation, [(row, 0) for row in range(2000, 4000)])
    assert_indexed(relation)
    relation.commit()
    assert relation.stored == 3400 and relation.find(matrix([(3999, 0), (5, 6)], 2)).tolist() == [3399, -1]


def test_a_large_load_ends_where_there_is_no_memory_for_another_table(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(version_end, "FEWEST_ROWS_LOADED", 1000)
    monkeypatch.setattr(
        version_end, "first_load", FirstLoad()
    )  # as in a process in which nothing was loaded yet
    relation = Relation("r", 1)
    add(relation, [(row,) for row in range(1400)])
    loose = relation.slots.shape[0]

    def refuse(needed: int, what: str) -> None:
        raise MemoryError(what)

    monkeypatch.setattr(relation, "ask", refuse)
    relation.commit()
    assert relation.slots.shape[0] == loose and relation.stored == 1400
    assert_indexed(relation)


@pytest.mark.parametrize("arity", [3, 7, 8, 9, 11, 12, 40])
def test_rows_of_any_width_are_found(arity: int):
    """Rows that have the same values in other columns are others, and their places in the table differ."""
    rng = random.Random(arity)
    values = [rng.randrange(-(2**31), 2**31) for _ in range(arity)]
    rows = [tuple(values[n:] + values[:n]) for n in range(arity)]
    rows += [tuple(rng.randrange(3) for _ in range(arity)) for _ in range(200)]
    rows = list(dict.fromkeys(rows))
    relation = Relation("r", arity)
    relation.index(tuple(range(arity - 1)))
    add(relation, rows)
    assert_indexed(relation)
    relation.commit()
    delete(relation, rows[::2])
    relation.commit()
    assert_indexed(relation)
    assert np.unique(tags(matrix(rows, arity))).shape[0] == len(rows)
