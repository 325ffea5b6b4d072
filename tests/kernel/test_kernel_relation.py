"""A relation and its indexes against a dictionary, under random operations and in the corners."""

from __future__ import annotations

import itertools
import sys
from types import FrameType

import numpy as np
import pytest
from kernel_model import Model, assert_indexed, assert_same, matrix, stored_rows, values_of
from kernel_stream import Stream

from headwater.kernel import memory, room, version_change, version_end
from headwater.kernel.memory import FirstLoad
from headwater.kernel.prefetch import BLOCK
from headwater.kernel.relation import Relation

SEEDS = range(6)


def filled(rows: list[tuple[int, ...]], arity: int, *, rank: int = 1) -> Relation:
    """A relation in which these rows have been there since the last version."""
    relation = Relation("r", arity)
    insert(relation, rows, rank=rank)
    relation.commit()
    return relation


def insert(relation: Relation, rows: list[tuple[int, ...]], *, rank: int = 1) -> None:
    relation.show(relation.add(matrix([(*row, 0) for row in rows], relation.arity + 1), rank), rank)


def delete(relation: Relation, rows: list[tuple[int, ...]]) -> None:
    fallen = relation.kill(relation.find(matrix(rows, relation.arity)))
    relation.fall(fallen.falling)
    relation.settle(fallen.falling)


def contents(relation: Relation) -> list[tuple[int, ...]]:
    return sorted(map(tuple, relation.matrix().tolist()))


# ------------------------------------------------------------------ random versions


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("expected", [0, 1, 100])
def test_random_versions_of_a_successor(seed: int, expected: int):
    """An empty relation that takes the place of another has its indexes, and is as good as any."""
    stream = Stream(seed, 2, selected=seed % 2 == 1)
    stream.relation.index([1])
    stream.version(12)
    stream.relation = room.successor(stream.relation, expected)
    stream.model = Model(seed % 2 == 1)
    assert list(stream.relation.indexes) == [(1,)] and stream.relation.stored == 0
    for number in range(4):
        stream.version(12, keep=number != 2)
    assert_indexed(stream.relation)


def test_the_journal_has_room_for_rows_from_before_the_version_and_no_more():
    relation = filled([(i,) for i in range(1000)], 1)
    room_before = relation.journal_rows.shape[0]
    insert(relation, [(i,) for i in range(1000, 50_000)])
    assert relation.journal_rows.shape[0] <= max(1000, room_before)
    delete(relation, [(i,) for i in range(40_000)])
    assert relation.journal_rows.shape[0] <= max(1000, room_before)
    relation.rollback()
    assert contents(relation) == [(i,) for i in range(1000)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("selected", [False, True])
@pytest.mark.parametrize("arity", [0, 1, 2, 3])
def test_random_versions(seed: int, selected: bool, arity: int):
    """Every operation, commit and rollback; indexes made at the start, in between and at the end."""
    stream = Stream(seed, arity, selected=selected)
    columns = list(range(arity))
    stream.relation.index(columns[:1])
    for version in range(25):
        stream.version(stream.rng.randint(1, 6), keep=stream.rng.random() < 0.7)
        if version == 12:
            stream.relation.index(columns[1:])
    stream.relation.index(columns[::-1])
    assert_indexed(stream.relation)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sweep", [1, 2, 5])
def test_random_versions_that_leave_dead_rows_behind(seed: int, sweep: int, monkeypatch: pytest.MonkeyPatch):
    """A version removes at most `sweep` dead rows; the others are invisible, may come back, and go later."""
    monkeypatch.setattr(version_end, "MOST_ROWS_REMOVED", sweep)
    stream = Stream(seed, 2, selected=seed % 2 == 1, domain=7)
    stream.relation.index([1])
    stream.operations.append(stream.kill_all)
    for _ in range(40):
        stream.version(stream.rng.randint(1, 5), keep=stream.rng.random() < 0.8)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_versions_that_start_over(seed: int):
    """`kill_all` in the middle of a version, once or several times, kept or taken back."""
    stream = Stream(seed, 2, selected=seed % 2 == 0)
    stream.relation.index([0])
    stream.operations += [stream.kill_all, stream.kill_all]
    for _ in range(30):
        stream.version(stream.rng.randint(2, 7), keep=stream.rng.random() < 0.5)


@pytest.mark.parametrize("arity", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(2))
def test_random_versions_of_several_blocks(seed: int, arity: int):
    """Rows are looked for in blocks: what comes twice in one, or just before its end, is found like all else."""
    counts = (1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK)
    stream = Stream(seed, arity, selected=seed == 1, domain=30 if arity < 3 else 5, counts=counts)
    stream.relation.index((0,))
    for number in range(6):
        stream.version(4, keep=number % 3 != 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_versions_with_wide_keys(seed: int):
    """Seven columns, and keys of six and seven of them."""
    stream = Stream(seed, 7, domain=2)
    stream.values = stream.values[:2]
    stream.relation.index([6, 5, 4, 3, 2, 1])
    stream.relation.index([0, 2, 3, 4, 5, 6])
    for version in range(15):
        stream.version(stream.rng.randint(1, 5), keep=version % 4 != 3)
        if version == 7:
            stream.relation.index(range(7))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("selected", [False, True])
def test_whole_relations_in_and_out(seed: int, selected: bool):
    """Compacting, and loading what was dumped, between versions: the next ones notice nothing."""
    stream = Stream(seed, 2, selected=selected)
    stream.relation.index([1])
    for version in range(20):
        stream.version(stream.rng.randint(1, 5), keep=stream.rng.random() < 0.8)
        if version % 3 == 0:
            stream.relation.compact()
            assert stream.relation.stored == len(stream.model.rows) == int(stream.relation.sizes[0])
        elif version % 3 == 1:
            codes, ranks, visible = stream.relation.dump()
            stream.relation = Relation("r", 2, selected=selected)
            stream.relation.index([0])
            stream.relation.load(codes, ranks, visible)
        assert_same(stream.relation, stream.model, between=True)


# ------------------------------------------------------------------ growth


@pytest.mark.parametrize("arity", [1, 2, 6])
def test_growth_by_thousands_of_rows(arity: int):
    """Batches of all sizes, larger than one chunk too; indexes with few and with many keys."""
    relation = Relation("r", arity)
    relation.index([arity - 1])
    rows: list[tuple[int, ...]] = []
    for size in (1, 15, 1, 100, 3000, 70_000):
        new = [
            (*(number % 97 for _ in range(arity - 1)), number)
            for number in range(len(rows), len(rows) + size)
        ]
        insert(relation, new)
        relation.commit()
        rows += new
        assert relation.visible == relation.stored == len(rows)
    many = matrix(rows, arity)
    assert (relation.codes(relation.find(many)) == many).all()
    few = relation.index([0])
    assert relation.index([arity - 1]).keys == len(rows)
    assert few.keys == (len(rows) if arity == 1 else 97)
    gone = rows[::2]
    delete(relation, gone)
    relation.commit()
    assert relation.visible == len(rows) - len(gone)
    assert (relation.find(matrix(rows[1::2], arity)) >= 0).all()


def test_removed_slots_are_used_again():
    relation = filled([(number, number) for number in range(100)], 2)
    for start in range(0, 1000, 50):
        delete(relation, [(number, number) for number in range(start, start + 50)])
        relation.commit()
        insert(relation, [(number, number) for number in range(start + 100, start + 150)])
        relation.commit()
    assert relation.sizes[0] == 100
    assert contents(relation) == [(number, number) for number in range(1000, 1100)]
    assert_indexed(relation)


# ------------------------------------------------------------------ supports


def test_a_support_counts_only_from_below():
    """Of the premises' ranks 4, 5 and 6, only the first is below the row's own rank of 5."""
    relation = Relation("r", 1)
    relation.show(relation.add(matrix([(7, 0)], 2), 5), 5)
    assert relation.add(matrix([(7, 4), (7, 5), (7, 6)], 2), 9).size == 0
    assert relation.count(0) == 2
    assert relation.subtract(matrix([(7, 5), (7, 6), (8, 0)], 2)).dead.size == 0
    assert relation.count(0) == 2
    fallen = relation.subtract(matrix([(7, 0), (7, 4)], 2))
    assert fallen.dead.tolist() == fallen.falling.tolist() == [0]


def test_rows_that_do_not_exist_are_not_killed():
    relation = filled([(1,)], 1)
    fallen = relation.kill(relation.find(matrix([(5,), (1,), (1,)], 1)))
    assert values_of(relation, fallen.dead) == [(1,)]


# ------------------------------------------------------------------ versions


def test_a_row_that_goes_and_comes_back_is_no_change():
    relation = filled([(1, 2), (3, 4)], 2)
    delete(relation, [(1, 2), (3, 4)])
    insert(relation, [(3, 4), (5, 6)], rank=2)
    assert values_of(relation, relation.change()[0]) == [(1, 2)]
    assert values_of(relation, relation.change()[1]) == [(5, 6)]


def test_what_was_rolled_back_never_was():
    relation = filled([(1, 2), (3, 4)], 2)
    before = relation.rows[:2].copy(), relation.state[:2].copy()
    delete(relation, [(1, 2)])
    relation.kill_all()
    insert(relation, [(3, 4), (5, 6), (7, 8)], rank=9)
    relation.rollback()
    assert (relation.rows[:2] == before[0]).all() and (relation.state[:2] == before[1]).all()
    assert relation.find(matrix([(5, 6), (7, 8)], 2)).tolist() == [-1, -1]
    assert version_change.touched(relation).size == 0
    assert_indexed(relation)


def test_rows_are_in_doubt_once_a_derivation_was_not_counted():
    relation = Relation("r", 1)
    relation.show(relation.add(np.array([[1, 2], [2, 2]]), 5), 5)
    relation.add(np.array([[2, 7]]), 8)  # from above: not counted
    fallen = relation.subtract(np.array([[1, 2], [2, 2]]))
    assert fallen.dead.tolist() == [0, 1] and fallen.doubtful == 1
    assert relation.in_doubt(fallen.dead).tolist() == [1]
    relation.rollback()
    relation.hide(relation.kill(np.array([0], np.int32)).falling)
    assert relation.in_doubt(np.array([0], np.int32)).tolist() == [0]


def test_where_most_died_the_others_move_together():
    relation = filled([(number,) for number in range(1000)], 1)
    relation.index((0,))
    delete(relation, [(number,) for number in range(900)])
    assert relation.commit() is False  # it cost less than the deletion: nothing to tell
    assert relation.stored == relation.sizes[0] == 100 and relation.sizes[2] == 0
    assert sorted(contents(relation)) == [(number,) for number in range(900, 1000)]
    assert_indexed(relation)
    delete(relation, [(number,) for number in range(900, 1000)])
    relation.commit()
    assert relation.stored == 0


def test_dead_rows_are_swept_by_later_versions(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(version_end, "MOST_ROWS_REMOVED", 10)
    relation = filled([(number,) for number in range(100)], 1)
    delete(relation, [(number,) for number in range(35)])
    left = []
    for _ in range(5):
        assert relation.commit() is False
        assert relation.visible == 65 and len(contents(relation)) == 65
        left.append(relation.stored - relation.visible)
    assert left == [25, 15, 5, 0, 0]
    assert_indexed(relation)


def test_a_dead_row_that_comes_back_is_not_swept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(version_end, "MOST_ROWS_REMOVED", 3)
    relation = filled([(number,) for number in range(100)], 1)
    delete(relation, [(number,) for number in range(20)])
    relation.commit()
    insert(relation, [(number,) for number in range(10)], rank=5)
    for _ in range(10):
        relation.commit()
    assert contents(relation) == [(number,) for number in (*range(10), *range(20, 100))]
    assert relation.stored == 90


def test_rows_that_go_and_come_back_again_and_again_are_dead_once(monkeypatch: pytest.MonkeyPatch):
    """Of 1,000 rows, 300 go and come back in turns: they are never most of the rows."""
    monkeypatch.setattr(version_end, "MOST_ROWS_REMOVED", 10)
    rows = [(i, i) for i in range(1000)]
    relation = filled(rows, 2)
    for turn in range(5):
        delete(relation, rows[:300])
        assert relation.commit() is False
        assert np.unique(relation.ghosts).shape == relation.ghosts.shape == (290,)
        insert(relation, rows[:300], rank=turn + 2)
        assert relation.commit() is False
    assert sorted(contents(relation)) == rows
    assert_indexed(relation)


def test_mostly_dead_relations_are_compacted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(version_end, "MOST_ROWS_REMOVED", 10)
    relation = filled([(number, 1) for number in range(100)], 2)
    relation.index([1])
    delete(relation, [(number, 1) for number in range(60)])
    assert relation.commit() is True
    assert stored_rows(relation) == list(range(40)) and relation.index([1]).keys == 1
    assert contents(relation) == [(number, 1) for number in range(60, 100)]
    assert_indexed(relation)


@pytest.mark.parametrize("sweep", [4, 1000])
def test_a_relation_that_loses_all_rows_starts_anew(sweep: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(version_end, "MOST_ROWS_REMOVED", sweep)
    relation = filled([(number,) for number in range(500)], 1)
    relation.index([0])
    large = relation.nbytes
    delete(relation, [(number,) for number in range(500)])
    relation.commit()
    assert relation.stored == relation.sizes[0] == relation.index([0]).keys == 0
    assert relation.nbytes < large / 5
    insert(relation, [(3,)])
    assert contents(relation) == [(3,)]


def test_pinned_rows_keep_their_places(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(version_end, "MOST_ROWS_REMOVED", 1)
    relation = Relation("r", 1, pinned=True)
    insert(relation, [(number,) for number in range(50)])
    relation.commit()
    delete(relation, [(number,) for number in range(49)])
    assert relation.commit() is False
    assert relation.find(matrix([(49,)], 1)).tolist() == [49]
    assert relation.stored == 1
    delete(relation, [(49,)])
    relation.commit()
    insert(relation, [(8,)])
    assert relation.stored == 1 and relation.sizes[0] == 50


def test_clearing_keeps_the_indexes():
    relation = filled([(1, 2), (1, 3)], 2)
    relation.index([0])
    relation.clear()
    assert_same(relation, Model(), between=True)
    insert(relation, [(4, 5)])
    assert relation.indexes[(0,)].keys == 1
    assert_indexed(relation)


def test_what_ends_a_version_is_loaded_for_all_numbers_that_there_are(monkeypatch: pytest.MonkeyPatch):
    """Before there are many rows; what few rows need can be interpreted until then. A version that made all rows is
    undone by clearing the relation, so what puts rows back is loaded by the first that finds some."""
    loaded: list[tuple[int, int, str]] = []
    monkeypatch.setattr(
        room, "load_endings", lambda rows, width, where="any": loaded.append((rows, width, where))
    )
    relation = Relation("r", 2, selected=True)
    relation.add(np.array([(row, 1, 0) for row in range(1000)], np.int64), 1)
    assert {(width, where) for _, width, where in loaded} == {(4, "any")}
    assert max(rows for rows, _, _ in loaded) >= 1000
    relation.commit()
    for change in (
        lambda: relation.add(np.array([(1000, 1, 0)], np.int64), 1),
        lambda: relation.fall(np.array([1], np.int32)),
        relation.kill_all,
    ):
        loaded.clear()
        relation.ready = False
        change()
        everything = {(4, "any"), (4, "earlier"), (4, "chains")}
        assert {(width, where) for rows, width, where in loaded if rows >= 1000} == everything
        relation.rollback()
    loaded.clear()
    relation.add(np.array([(1, 1 << 40, 0)], np.int64), 1)
    everything = {(8, "any"), (8, "earlier"), (8, "chains")}
    assert {(width, where) for rows, width, where in loaded if rows >= 1000} == everything


def test_what_removes_rows_is_loaded_before_a_version_that_made_and_lost_them_ends(
    monkeypatch: pytest.MonkeyPatch,
):
    relation = Relation("r", 1)
    relation.add(np.array([(row, 0) for row in range(1000)], np.int64), 1)
    relation.kill(np.arange(10, dtype=np.int32))
    loaded: list[str] = []
    monkeypatch.setattr(room, "load_endings", lambda rows, width, where="any": loaded.append(where))
    relation.prepare()
    assert loaded == ["any", "earlier"]
    relation.commit()
    assert relation.stored == 990


def test_a_version_that_made_all_rows_is_undone_without_machine_code(monkeypatch: pytest.MonkeyPatch):
    relation = Relation("r", 1)
    relation.index([0])
    relation.add(np.array([(row, 0) for row in range(1000)], np.int64), 1)
    for name in ("restore", "uncreate", "remove"):
        monkeypatch.setattr(version_end.journal, name, None)
    relation.rollback()
    assert_same(relation, Model(), between=True)
    assert relation.state.shape[0] < 100


def test_the_one_row_without_columns():
    relation = Relation("r", 0)
    assert relation.find(np.zeros((1, 0), np.int64)).tolist() == [-1]
    insert(relation, [(), ()])
    relation.commit()
    assert relation.visible == 1 and relation.find(np.zeros((2, 0), np.int64)).tolist() == [0, 0]
    delete(relation, [()])
    relation.commit()
    assert relation.visible == relation.stored == 0


def test_a_version_that_is_undone_gives_its_room_back():
    relation = Relation("r", 2)
    relation.index((1,))
    few = np.array([[i, i % 7, 0] for i in range(1000)], np.int64)
    relation.show(relation.add(few, 1), 1)
    relation.commit()
    before, size = sorted(map(tuple, relation.matrix().tolist())), relation.nbytes
    many = np.zeros((400_000, 3), np.int64)
    many[:, 0] = np.arange(400_000) + 500
    many[:, 1] = many[:, 0] % 1007
    relation.show(relation.add(many, 2), 2)
    relation.kill(np.arange(0, 1000, 3, dtype=np.int32))
    assert relation.nbytes > 20 * size
    relation.rollback()
    assert relation.nbytes < 2 * size
    assert sorted(map(tuple, relation.matrix().tolist())) == before
    relation.show(relation.add(many, 2), 2)
    relation.commit()
    assert relation.visible == 1000 + 400_000 - 500 + sum(row % 7 != row % 1007 for row in range(500, 1000))
    found = relation.find(np.array([[700, 0], [700, 700], [90_000, 90_000 % 1007], [1, 5]], np.int64))
    assert (found >= 0).tolist() == [True, True, True, False]


@pytest.mark.parametrize("call", range(60))
def test_rows_can_be_taken_back_wherever_memory_ran_out(call):
    """At each call that adding rows makes in the kernel, whatever the indexes have by then."""
    relation = filled([(1, 1), (2, 2)], 2)
    relation.index((0,))
    relation.index((1,))
    calls = itertools.count()

    def refuse(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and "/kernel/" in frame.f_code.co_filename and next(calls) == call:
            raise MemoryError

    outer = sys.gettrace()
    sys.settrace(refuse)
    try:
        relation.add(matrix([(row, row, 0) for row in range(3, 90)], 3), 1)
    except MemoryError:
        pass
    finally:
        sys.settrace(outer)
    relation.rollback()
    assert contents(relation) == [(1, 1), (2, 2)]
    for columns in ((0,), (1,)):
        relation.index(columns)
    assert_indexed(relation)


def test_the_first_large_load_of_a_process_keeps_no_memory_that_nothing_uses(monkeypatch: pytest.MonkeyPatch):
    held = []

    def load(count: int) -> None:
        relation = Relation("r", 2)
        held.append(relation)
        relation.index([0])
        rows = np.arange(count, dtype=np.int64)
        relation.add(np.column_stack((rows, rows % 7, np.zeros_like(rows))), 1)
        kept = memory.zeros((memory.LARGE,), np.uint8)
        del kept
        assert any(area.idle() for area in memory._areas)
        relation.commit()
        if memory.first_load.ending:
            memory.first_load.ended()

    monkeypatch.setattr(memory, "first_load", FirstLoad())  # as in a process in which nothing was loaded yet
    monkeypatch.setattr(version_end, "first_load", memory.first_load)
    load(version_end.FEWEST_ROWS_LOADED - 1)
    assert any(area.idle() for area in memory._areas)
    load(version_end.FEWEST_ROWS_LOADED)
    assert not any(area.idle() for area in memory._areas)
    load(version_end.FEWEST_ROWS_LOADED)
    assert any(area.idle() for area in memory._areas)
