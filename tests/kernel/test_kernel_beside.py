"""A second thread that joins pieces ahead and enters rows in indexes: what comes out is what one thread makes, to the
bit."""

from __future__ import annotations

import os
import random
import threading

import numpy as np
import pytest
from kernel_model import assert_indexed, lists
from oracle_lockstep import examples

import headwater as hw
from headwater.errors import OutOfMemory
from headwater.kernel import beside
from headwater.kernel.beside import Errand, Helper, SecondThread
from headwater.kernel.memory import Reserved
from headwater.kernel.relation import Relation
from headwater.maintain import fixpoint
from headwater.plan import execute, list_pieces

KEYS = ((0,), (1,), (1, 0))


@pytest.fixture(autouse=True)
def no_small_rounds(monkeypatch: pytest.MonkeyPatch):
    """Changes as small as these would be left to one call of the kernel."""
    monkeypatch.setattr(fixpoint, "small_rounds", lambda _: None)


def tuples(rng: random.Random, count: int, domain: int) -> np.ndarray:
    made = np.array([(rng.randrange(domain), rng.randrange(domain), 0) for _ in range(count)], np.int64)
    return made.reshape(-1, 3)


def insides(relation: Relation) -> list[object]:
    """All that there is in a relation and its indexes, place by place."""
    top = int(relation.sizes[0])
    found = [relation.rows[:top].ravel(), relation.state[:top], relation.slots, relation.sizes]
    of_indexes = [(index.slots, index.sizes) for index in relation.indexes.values()]
    found += [array for arrays in of_indexes for array in arrays]
    return [*(array.tolist() for array in found), *(lists(relation, key) for key in relation.indexes)]


@pytest.mark.parametrize("seed", range(examples(8)))
def test_random_versions_come_out_as_with_one_thread(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(beside, "FEWEST_ROWS_HANDED_OVER", 1)
    rng = random.Random(seed)
    alone, helped = Relation("r", 2), Relation("r", 2)
    for relation in (alone, helped):
        for key in KEYS:
            relation.index(key)
    for version in range(8):
        pieces = [tuples(rng, rng.choice((0, 1, 50, 1000)), rng.choice((4, 60, 300))) for _ in range(6)]
        if version == 5:  # numbers of 64 bits, in the middle of a run
            pieces[3] = np.array([(2**40, 1, 0)], np.int64)
        shown = [alone.add(piece, version + 1) for piece in pieces]
        with SecondThread(helped):
            for piece, rows in zip(pieces, shown, strict=True):
                assert helped.add(piece, version + 1).tolist() == rows.tolist()
        for relation in (alone, helped):
            for rows in shown:
                relation.show(rows, version + 1)
            dying = relation.live_rows()[:: 7 + version]
            fallen = relation.kill(dying)
            relation.hide(fallen.falling)
        assert insides(helped) == insides(alone)
        for relation in (alone, helped):
            if version % 3 == 1:
                relation.rollback()
            else:
                relation.commit()
            assert_indexed(relation)
        assert insides(helped) == insides(alone)
    assert Helper.idle


class NoIndexes:
    """Room for rows, and none for more of an index."""

    least = 0

    def __init__(self) -> None:
        self.refuses = False

    def keep(self, holder: Reserved) -> None:
        pass

    def ask(self, needed: int, what: str) -> None:
        if self.refuses and what.startswith("an index"):
            raise OutOfMemory("out-of-memory", what)


def test_what_the_other_thread_is_refused_is_raised_here_and_can_be_undone():
    room = NoIndexes()
    relation = Relation("r", 2, room=room)
    rng = random.Random(1)
    relation.index((0,)), relation.index((1,))
    relation.show(relation.add(tuples(rng, 3000, 200), 1), 1)
    relation.commit()
    before = relation.matrix().tolist()
    room.refuses = True
    with pytest.raises(OutOfMemory), SecondThread(relation):
        for _ in range(4):
            relation.add(tuples(rng, 20_000, 2000), 2)
    assert relation.beside is None
    relation.rollback()
    room.refuses = False
    assert relation.matrix().tolist() == before
    assert_indexed(relation)
    relation.show(relation.add(tuples(rng, 3000, 200), 2), 2)
    relation.index((0,)), relation.index((1,))
    relation.commit()
    assert_indexed(relation)


def test_errands_are_done_once_in_order_and_their_errors_are_raised_where_they_are_needed():
    relation, done = Relation("r", 2), []

    def work(number: int) -> int:
        done.append(number)
        return 10 // number

    with SecondThread(relation) as beside:
        for number in (5, 2, 1):
            errand = beside.hand(lambda number=number: work(number))
            assert (errand.outcome(), errand.outcome()) == (10 // number, 10 // number)
        failing = beside.hand(lambda: work(0))
        with pytest.raises(ZeroDivisionError):
            failing.outcome()
    assert done == [5, 2, 1, 0]


def test_an_errand_is_done_here_if_the_other_thread_is_busy():
    busy, began = threading.Event(), threading.Event()

    def slow() -> int:
        began.set()
        return int(busy.wait(30))

    with SecondThread(Relation("r", 2)) as beside:
        first = beside.hand(slow)
        assert began.wait(30)
        assert beside.hand(threading.get_ident).outcome() == threading.get_ident()
        busy.set()
        assert first.outcome() == 1


def test_an_errand_is_over_when_the_run_ends_by_an_error(monkeypatch: pytest.MonkeyPatch):
    relation, busy, began = Relation("r", 2), threading.Event(), threading.Event()
    ended: list[str] = []

    def slow() -> int:
        began.set()
        busy.wait(30)
        ended.append("slow")
        return 0

    def fail() -> None:
        with SecondThread(relation) as beside:
            beside.hand(slow)
            assert began.wait(30)
            raise KeyError("what is done with a piece fails")

    drop = Errand.drop
    monkeypatch.setattr(Errand, "drop", lambda errand: busy.set() or drop(errand))
    with pytest.raises(KeyError):
        fail()
    assert ended == ["slow"]


PROGRAM = """
reach(X, Y) :- link(X, Y).
reach(X, Y) :- link(X, Z), reach(Z, Y).
far(X, Y) :- reach(X, Z), reach(Z, Y).
same(X, Y) :- link(P, X), link(P, Y).
same(X, Y) :- link(P, X), same(P, Q), link(Q, Y), not reach(Y, Q).
"""
RELATIONS = ("reach", "far", "same")
LARGE = list_pieces.ROWS_A_PIECE


def dumped(db: hw.Database) -> list[list[object]]:
    relations = db.engine.workspace.relations
    return [[part.tolist() for part in relations[name].dump()] for name in RELATIONS]


def unsigned(db: hw.Database) -> list[list[object]]:
    """As `dumped`, but for the signs of counts."""
    relations = db.engine.workspace.relations
    return [[np.abs(part.astype(int)).tolist() for part in relations[name].dump()] for name in RELATIONS]


def graph(nodes: int, edges: int, seed: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(edges)]


def small_pieces(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    for module in (execute, list_pieces):
        monkeypatch.setattr(module, "ROWS_A_PIECE", rows)
    monkeypatch.setattr(execute, "FEWEST_STARTS_CHAINED", 1)


@pytest.mark.parametrize("piece", [1, 20, 100, LARGE])
def test_databases_with_one_core_and_with_two_are_the_same(monkeypatch: pytest.MonkeyPatch, piece: int):
    monkeypatch.setattr(beside, "FEWEST_ROWS_HANDED_OVER", 16)
    monkeypatch.setattr(fixpoint, "FEWEST_STARTS_HELPED", 16)
    small_pieces(monkeypatch, piece)
    edges = graph(*((40, 60) if piece == 1 else (150, 260)), 3)
    found, handed = [], []
    hand = SecondThread.hand
    monkeypatch.setattr(SecondThread, "hand", lambda self, work: handed.append(1) or hand(self, work))
    for cores in (1, 2):
        with hw.connect(cores=cores) as db:
            db.define(PROGRAM)
            for change in ({"insert": edges[:50]}, {"insert": edges[50:]}, {"delete": edges[40:50]}):
                db.apply(**{kind: {"link": rows} for kind, rows in change.items()})
                found.append(dumped(db))
    assert found[:3] == found[3:]
    assert bool(handed) is (piece < LARGE)


@pytest.mark.parametrize("seed", range(examples(6)))
def test_a_run_that_ends_in_the_middle_leaves_no_trace(seed: int, monkeypatch: pytest.MonkeyPatch):
    """What is done between pieces fails: the piece that another thread joins meanwhile is over before all is undone.
    (Whether a count has all derivations may be known no more: its sign.)"""
    monkeypatch.setattr(beside, "FEWEST_ROWS_HANDED_OVER", 16)
    monkeypatch.setattr(fixpoint, "FEWEST_STARTS_HELPED", 16)
    small_pieces(monkeypatch, 32)
    edges, rng = graph(60, 150, seed), random.Random(seed)
    with hw.connect(cores=2) as db, hw.connect(cores=1) as other:
        for each in (db, other):
            each.define(PROGRAM)
            each.apply(insert={"link": edges[:100]})
        executor = db.engine.workspace.executor
        between = executor.between_pieces
        for _ in range(8):
            left = [rng.randrange(1, 30)]

            def interrupted() -> None:
                left[0] -= 1  # noqa: B023
                if left[0] == 0:  # noqa: B023
                    raise KeyboardInterrupt
                between()

            monkeypatch.setattr(executor, "between_pieces", interrupted)
            before = unsigned(db)
            try:
                db.apply(insert={"link": edges[100:]})
            except KeyboardInterrupt:
                assert unsigned(db) == before
            else:
                db.apply(delete={"link": edges[100:]})
            monkeypatch.setattr(executor, "between_pieces", between)
        for each in (db, other):
            each.apply(insert={"link": edges[100:]})
        assert [sorted(db[name].rows()) for name in RELATIONS] == [
            sorted(other[name].rows()) for name in RELATIONS
        ]


def test_a_process_that_was_forked_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(beside, "FEWEST_ROWS_HANDED_OVER", 16)
    monkeypatch.setattr(fixpoint, "FEWEST_STARTS_HELPED", 16)

    def load() -> int:
        with hw.connect(cores=2) as db:
            db.define(PROGRAM)
            db.apply(insert={"link": graph(150, 260, 3)})
            return len(db["reach"])

    expected = load()
    assert Helper.idle
    child = os.fork()
    if child == 0:
        os._exit(0 if not Helper.idle and load() == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("cores", [0, -1, "2", 1.5, True])
def test_cores_are_a_whole_number(cores: object):
    with pytest.raises(hw.DataError) as caught:
        hw.connect(cores=cores)  # type: ignore[arg-type]
    assert caught.value.code == "unknown-option"
