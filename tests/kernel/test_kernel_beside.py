"""A second thread that enters rows in indexes: what comes out is what one thread makes, to the bit."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from kernel_model import assert_indexed, lists
from oracle_lockstep import examples

import headwater as hw
from headwater.errors import OutOfMemory
from headwater.kernel import beside
from headwater.kernel.beside import Beside, Helper
from headwater.kernel.memory import Reserved
from headwater.kernel.relation import Relation
from headwater.maintain import fixpoint

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
        pieces = [tuples(rng, rng.choice((0, 1, 50, 3000)), rng.choice((4, 60, 300))) for _ in range(6)]
        if version == 5:  # numbers of 64 bits, in the middle of a run
            pieces[3] = np.array([(2**40, 1, 0)], np.int64)
        shown = [alone.add(piece, version + 1) for piece in pieces]
        with Beside(helped):
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
    with pytest.raises(OutOfMemory), Beside(relation):
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


PROGRAM = """
reach(X, Y) :- link(X, Y).
reach(X, Y) :- link(X, Z), reach(Z, Y).
far(X, Y) :- reach(X, Z), reach(Z, Y).
"""


def dumped(db: hw.Database) -> list[list[object]]:
    relations = db.engine.workspace.relations
    return [[part.tolist() for part in relations[name].dump()] for name in ("reach", "far")]


def graph(nodes: int, edges: int, seed: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(edges)]


def test_databases_with_one_core_and_with_two_are_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(beside, "FEWEST_ROWS_HANDED_OVER", 16)
    monkeypatch.setattr(fixpoint, "FEWEST_STARTS_HELPED", 16)
    edges = graph(150, 260, 3)
    found = []
    for cores in (1, 2):
        with hw.connect(cores=cores) as db:
            db.define(PROGRAM)
            for change in ({"insert": edges[:200]}, {"insert": edges[200:]}, {"delete": edges[50:60]}):
                db.apply(**{kind: {"link": rows} for kind, rows in change.items()})
                found.append(dumped(db))
    assert found[:3] == found[3:]


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
