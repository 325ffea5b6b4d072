"""Lists made at once beside lists made row by row; indexes that wait; joins with rows that were laid side by side."""

from __future__ import annotations

import random

import numpy as np
import pytest
from kernel_model import assert_indexed, lists
from kernel_stream import Stream
from oracle_lockstep import examples

import headwater as hw
from headwater.kernel import indexing, list_building
from headwater.kernel.list_building import lists_of
from headwater.kernel.lists import Lists
from headwater.kernel.near_join import near_rows
from headwater.kernel.relation import Relation
from headwater.kernel.states import NEW
from headwater.plan import execute, list_pieces

SHAPES = {
    "few codes": lambda rng: rng.randrange(30),
    "codes below 0": lambda rng: rng.randrange(-700, 50),
    "most codes once": lambda rng: rng.randrange(700) if rng.random() < 0.2 else 3,
    "one far from the others": lambda rng: 900_000 if rng.random() < 0.0005 else rng.randrange(90),
    "all far apart": lambda rng: rng.randrange(10**6),
    "64 bits": lambda rng: 2**40 + rng.randrange(200),
    "the lowest codes": lambda rng: -(2**63) + rng.randrange(20),
    "the highest codes": lambda rng: 2**63 - 1 - rng.randrange(20),
    "the lowest and one of the highest": lambda rng: (
        2**63 - 1 if rng.random() < 0.0005 else -(2**63) + rng.randrange(20)
    ),
    "the highest and one of the lowest": lambda rng: (
        -(2**63) if rng.random() < 0.0005 else 2**63 - 1 - rng.randrange(20)
    ),
}
PROGRAM = """
same(X, Y) :- parent(P, X), parent(P, Y).
same(X, Y) :- parent(A, X), same(A, B), parent(B, Y).
met(X, Y) :- same(X, Y), X != Y.
"""


@pytest.fixture
def few_wait(monkeypatch: pytest.MonkeyPatch):
    """Indexes wait, and are made at once, where there are few rows already."""
    monkeypatch.setattr(indexing, "FEWEST_ROWS_WAITING", 4)
    monkeypatch.setattr(list_building, "FEWEST_ROWS_COUNTED", 8)
    monkeypatch.setattr(list_building, "ROWS_LOOKED_AT", 8)


def filled(rows: list[tuple[int, int]]) -> Relation:
    made = Relation("r", 2)
    made.show(made.add(np.array([(*row, 0) for row in rows], np.int64), 1), 1)
    return made


@pytest.mark.parametrize("shape", SHAPES)
def test_lists_made_at_once_are_those_made_row_by_row(shape: str):
    """Of every length, in the order in which rows are given; then they grow and are taken back as others are."""
    rng = random.Random(shape)
    made = filled([(SHAPES[shape](rng), number) for number in range(6000)])
    which = np.array(rng.sample(range(6000), 5000), np.int32)
    one = Lists((0,))
    one.insert(made, which)
    made.indexes[0,] = one
    expected = lists(made, (0,))
    other = made.indexes[0,] = lists_of(made, (0,), which)
    assert lists(made, (0,)) == expected
    assert other.sizes.tolist() == one.sizes.tolist()
    rest = np.setdiff1d(np.arange(6000, dtype=np.int32), which)
    for index in (one, other):
        index.insert(made, rest)
    made.indexes[0,] = one
    longer = lists(made, (0,))
    made.indexes[0,] = other
    assert lists(made, (0,)) == longer
    other.retract(made, rest)
    assert {key: rows for key, rows in lists(made, (0,)).items() if rows} == expected


@pytest.mark.usefixtures("few_wait")
@pytest.mark.parametrize("seed", range(examples(12)))
def test_random_versions_of_indexes_that_wait(seed: int):
    """Asked for at any time, kept and undone, with rows from before and without."""
    stream = Stream(seed, 2, domain=5, counts=(1, 7, 60))
    stream.relation = Relation("r", 2, pinned=seed % 3 == 0)
    stream.values = list(range(-3, 25))
    for key in ((0,), (1,), (1, 0)):
        stream.relation.index(key)
    asking = random.Random(seed)
    waited = 0
    for number in range(10):
        for _ in range(4):
            stream.add()
            waited += len(stream.relation.waiting)
            if asking.random() < 0.4:
                stream.relation.index(asking.choice(list(stream.relation.indexes)))
        if asking.random() < 0.5:
            indexing.complete(stream.relation)
            assert_indexed(stream.relation)
        stream.version(2, keep=number % 3 != 0)
        assert not stream.relation.waiting
        assert_indexed(stream.relation)
    assert waited


@pytest.mark.usefixtures("few_wait")
def test_an_index_that_is_asked_for_again_and_again_waits_no_more():
    made = Relation("r", 2)
    made.index((0,))
    for number in range(6):
        made.add(np.array([(number, each, 0) for each in range(10)], np.int64), 1)
        assert bool(made.waiting) is (number < indexing.MOST_TIMES_ASKED)
        made.index((0,))
        assert not made.waiting
    assert_indexed(made)


@pytest.mark.usefixtures("few_wait")
def test_an_index_with_rows_from_before_never_waits():
    """Also where another thread enters rows and sees sizes that are being changed."""
    made = Relation("r", 2)
    made.index((0,))
    made.insert(np.array([(1, each, 0) for each in range(20)], np.int64), 1)
    made.commit()
    handed: list[int] = []

    class Later:
        def enter(self, upto: int) -> None:
            handed.append(upto)

    made.beside = Later()  # type: ignore[assignment]
    made.insert(np.array([(2, each, 0) for each in range(20)], np.int64), 2)
    made.beside = None
    stored = int(made.sizes[1])
    made.sizes[1] = made.sizes[4]
    indexing.enter(made, *handed)
    made.sizes[1] = stored
    assert not made.waiting
    assert_indexed(made)


@pytest.mark.usefixtures("few_wait")
def test_who_looks_at_an_index_that_is_made_anew_goes_on_with_the_one_before():
    made = Relation("r", 2)
    before = made.index((0,))
    made.add(np.array([(1, each, 0) for each in range(50)], np.int64), 1)
    after = made.index((0,))
    assert after is not before
    assert before.keys == 0
    assert after.keys == 1


def test_rows_that_are_laid_side_by_side_are_those_that_count():
    made = filled([(key, value) for key in range(-5, 40, 3) for value in range(key % 4 + 1)])
    made.hide(made.kill(made.find(np.array([(1, 0), (-5, 2)]))).falling)
    near = near_rows(made, 0, NEW, np.empty((0, 2), np.int64))
    assert near is not None
    for key in range(-5, 38):
        place = key - near.least
        found = near.values[near.offsets[place] : near.offsets[place + 1]].tolist()
        assert found == [row for row in made.matrix().tolist() if row[0] == key]
    equal = near_rows(made, 0, NEW, np.array([[0, 1]]))
    assert equal is not None
    assert equal.values.tolist() == [row for row in made.matrix().tolist() if row[0] == row[1]]
    assert near_rows(filled([(0, 0), (10**9, 0)]), 0, NEW, np.empty((0, 2), np.int64)) is None
    nothing = near_rows(Relation("r", 2), 0, NEW, np.empty((0, 2), np.int64))
    assert nothing is not None
    assert nothing.offsets.tolist() == [0]


@pytest.mark.usefixtures("few_wait")
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("seed", range(examples(4)))
def test_random_changes_come_out_as_without_any_of_it(seed: int, cores: int, monkeypatch: pytest.MonkeyPatch):
    """Rows laid side by side, joins one after the other and indexes that wait, beside none of them."""
    rng = random.Random(seed)
    rows = [
        (rng.randrange(child // 3 + 1), child) for child in range(6, 70) for _ in range(rng.choice((1, 2)))
    ]
    changes = [{"insert": rows}]
    for _ in range(6):
        some = rng.sample(rows, rng.choice((1, 5, 40)))
        changes += [{"delete": some}, {"insert": some[::2] + [(rng.randrange(20), 100 + rng.randrange(20))]}]
    found = []
    for near in (True, False):
        monkeypatch.setattr(execute, "FEWEST_STARTS_CHAINED", 1 if near else 10**9)
        monkeypatch.setattr(list_pieces, "FEWEST_STARTS_LAID_NEAR", 1 if near else 10**9)
        monkeypatch.setattr(indexing, "FEWEST_ROWS_WAITING", 4 if near else 10**9)
        with hw.connect(cores=cores) as db:
            db.define(PROGRAM)
            for change in changes:
                db.apply(**{kind: {"parent": some} for kind, some in change.items()})
                found.append([sorted(db[name]) for name in ("same", "met")])
            for each in db.engine.workspace.relations.values():
                assert_indexed(each)
    assert found[: len(changes)] == found[len(changes) :]


def test_many_rows_whose_keys_are_null():
    """Codes of nulls are the lowest there are."""
    db = hw.connect()
    db.define("a(x: int, y: int?). b(y: int?, z: int). p(X, Z) :- a(X, Y), b(Y, Z).")
    db.apply(insert={"b": [(None, 1), (None, 2), (7, 3)]})
    db.apply(insert={"a": [(number, None) for number in range(6000)]})
    assert len(db["p"]) == 12_000
    db.apply(delete={"a": [(number, None) for number in range(5990)]}, insert={"a": [(1, 7)]})
    assert sorted(db["p"]) == sorted([(x, z) for x in range(5990, 6000) for z in (1, 2)] + [(1, 3)])


def test_no_index_is_made_for_a_join_that_nothing_comes_to(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(execute, "FEWEST_STARTS_CHAINED", 1)
    db = hw.connect()
    db.define("v(X, W) :- a(X, Y), b(Y, Z), c(Z, W).")
    db.apply(insert={"b": [(number, number) for number in range(9)], "c": [(z, z) for z in range(5000)]})
    db.apply(insert={"a": [(1, 77)]})
    assert [event.relation for event in db.statistics.events if event.code == "indexed"] == ["b"]
    assert not db.engine.workspace.relations["c"].indexes
    db.apply(insert={"a": [(1, 8)]})
    assert db["v"].rows() == [(1, 8)]
