"""A database in a folder: reopened, read by others, locked, and without room on the disk."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from database_support import REACH, chain, file_size_limit, in_child, refusal, rows, state

import headwater as hw
from headwater.database import durability as database_module

TEXT = (
    REACH
    + """
    item(name: string, n: int). materialize(item, infinity, infinity, keys(1)).
    total(sum<N>) :- item(_, N).
    least(X, min<Y>) :- link(X, Y).
    on() :- item("x", _).
"""
)


def filled(folder: Path) -> hw.database.Database:
    db = hw.connect(folder, strict=False)
    db.define(TEXT)
    db.apply(insert={"link": chain(0, 5), "item": [("a", 1), ("b", 2)]})
    db.apply(delete={"link": [(2, 3)]}, insert={"item": [("a", 5), ("x", 0)], "free": [("é", 1.5)]})
    return db


# ------------------------------------------------------------------ reopening


@pytest.mark.parametrize("checkpoint", ["never", "in the middle", "at the end"])
def test_a_state_is_the_same_when_it_is_opened_again(checkpoint: str, tmp_path: Path):
    with filled(tmp_path) as db:
        if checkpoint != "never":
            db.checkpoint()
        if checkpoint == "in the middle":
            db.apply(insert={"link": [(2, 3), (9, 9)]})
            db.define('more(X) :- free(X, _). free("z", 0.5).')
        before = state(db)
    for _ in range(2):
        with hw.connect(tmp_path) as db:
            assert state(db) == before
    with hw.connect(tmp_path) as db:
        db.apply(insert={"link": [(5, 0)]}, delete={"item": [("a", 5)]})
        assert rows(db, "total") == [(2,)]
        assert (4, 1) in db["reach"] and db.version == before["version"] + 1


def test_changes_go_on_exactly_after_opening(tmp_path: Path):
    """Supports are stored: a delete takes away what it must, and no more."""
    with hw.connect(tmp_path) as db:
        db.define(REACH)
        db.apply(insert={"link": [(1, 2), (2, 3), (1, 3), (3, 1)]})
        db.checkpoint()
    with hw.connect(tmp_path) as db:
        changes = db.apply(delete={"link": [(2, 3)]})
        assert sorted(changes["reach"].deleted) == [(2, 1), (2, 2), (2, 3)]


def test_checkpoints_are_made_when_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database_module, "CHECKPOINT_RECORDS", 5)
    with hw.connect(tmp_path) as db:
        db.define(REACH)
        for number in range(12):
            db.apply(insert={"link": [(number, number + 1)]})
        before = state(db)
    assert len(list((tmp_path / "segments").iterdir())) == 2
    with hw.connect(tmp_path, mode="r") as db:
        assert state(db) == before


def test_a_block_closes_the_folder(tmp_path: Path):
    with hw.connect(tmp_path) as db:
        db.define(REACH)
    with pytest.raises(ZeroDivisionError), hw.connect(tmp_path) as db:
        db.apply(insert={"link": [(1, 2)]})
        raise ZeroDivisionError
    with hw.connect(tmp_path) as db:
        assert rows(db, "reach") == [(1, 2)], "what was acknowledged stays"


# ------------------------------------------------------------------ several at once


def test_a_reader_stays_at_its_version(tmp_path: Path):
    writer = filled(tmp_path)
    reader = hw.connect(tmp_path, mode="r")
    before = state(reader)
    assert before == state(writer)
    writer.apply(delete={"link": chain(0, 5)})
    writer.checkpoint()
    assert state(reader) == before
    later = hw.connect(tmp_path, mode="r")
    assert state(later) == state(writer) and later.version == before["version"] + 1
    writer.close()
    assert state(reader) == before


def test_a_reader_in_another_process(tmp_path: Path):
    with filled(tmp_path) as writer:
        seen = in_child(lambda: rows(hw.connect(tmp_path, mode="r"), "reach"))
        assert [tuple(row) for row in seen] == rows(writer, "reach")


def test_a_second_writer_is_refused(tmp_path: Path):
    def write() -> str:
        return refusal(lambda: hw.connect(tmp_path))

    with filled(tmp_path):
        assert in_child(write) == write() == "locked"

    def work() -> int:
        with hw.connect(tmp_path) as db:
            return db.apply(insert={"link": [(7, 8)]}).version

    assert in_child(work) == 4
    with hw.connect(tmp_path) as db:
        assert (7, 8) in db["reach"]


# ------------------------------------------------------------------ no room

PRODUCTS = "product(Z) :- left(X), right(Y), Z = X * Y."


def noise(count: int) -> list[tuple[str, int]]:
    """Rows that cannot be compressed."""
    rng = random.Random(count)
    return [(f"{rng.getrandbits(64):x}", rng.getrandbits(40)) for _ in range(count)]


def with_a_large_view(folder: Path) -> hw.database.Database:
    """Of 240 rows in the log, a view of 14,400 follows; nothing compresses them."""
    db = hw.connect(folder)
    db.define(PRODUCTS)
    numbers = [(number,) for _, number in noise(240)]
    small = [(number % 2**20 + 1,) for (number,) in numbers]
    db.apply(insert={"left": numbers[:120], "right": small[120:]})
    return db


def test_a_version_that_does_not_fit_the_disk(tmp_path: Path):
    """It is refused and undone; what follows is right, here and after opening again."""

    def work() -> list[object]:
        db = filled(tmp_path)
        before = state(db)
        with file_size_limit(40_000):
            codes = [
                refusal(lambda: db.apply(insert={"item": noise(3000)}, delete={"link": [(0, 1)]})),
                refusal(lambda: db.apply(insert={"unheard": noise(3000)})),
            ]
            same = state(db) == before
            small = db.apply(insert={"link": [(2, 3)]}).version
        kept = db.apply(insert={"link": chain(1000, 1003)}).version
        return [codes, same, small, kept, before["version"], state(db)["rows"]["reach"]]

    codes, same, small, kept, version, seen = in_child(work)
    assert codes == ["disk-full", "disk-full"] and same
    assert (small, kept) == (version + 1, version + 2)
    with hw.connect(tmp_path) as db:
        assert db.version == kept and rows(db, "reach") == [tuple(row) for row in seen]
        assert "unheard" not in db


def test_time_that_does_not_fit_the_disk(tmp_path: Path):
    def work() -> list[object]:
        db = hw.connect(tmp_path)
        db.define("a(x: int). materialize(a, 5, infinity, keys(1)). b(X) :- a(X). a(1).")
        with file_size_limit(0):
            code = refusal(lambda: db.advance(100))
        seen = [code, db.now, rows(db, "b")]
        db.advance(100)
        return [*seen, db.now, rows(db, "b")]

    assert in_child(work) == ["disk-full", 0, [[1]], 100, []]


def test_a_checkpoint_that_does_not_fit_the_disk(tmp_path: Path):
    """Asked for, it is refused, and the log goes on."""

    def work() -> list[object]:
        db = with_a_large_view(tmp_path)
        with file_size_limit(60_000):
            code = refusal(db.checkpoint)
            version = db.apply(insert={"left": [(1,)]}).version
        db.checkpoint()
        return [code, version, len(db["product"])]

    code, version, count = in_child(work)
    assert (code, version) == ("disk-full", 3)
    with hw.connect(tmp_path) as db:
        assert db.version == 3 and len(db["product"]) == count > 14_000


def test_a_version_is_acknowledged_even_if_its_checkpoint_does_not_fit(tmp_path: Path):
    """The version is on the disk: refusing it then would be a lie. The checkpoint is tried again later."""

    def work() -> list[object]:
        database_module.CHECKPOINT_RECORDS = 3
        db = with_a_large_view(tmp_path)
        with file_size_limit(60_000):
            version = db.apply(insert={"left": [(1,)]}).version
        db.apply(insert={"left": [(2,)]})
        return [version, len(list((tmp_path / "segments").iterdir())), len(db["product"])]

    version, segments, count = in_child(work)
    assert (version, segments) == (3, 3)
    with hw.connect(tmp_path) as db:
        assert db.version == 4 and len(db["product"]) == count
