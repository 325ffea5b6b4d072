"""A memory budget: what would pass it is refused, with sizes, and leaves everything as it was."""

from __future__ import annotations

import re
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from database_support import chain, in_child, reach, state

import headwater as hw
from headwater.database import Database
from headwater.kernel.memory import release_idle

MB = 10**6


def seen(db: Database) -> dict[str, Any]:
    """All that a user can see; for as long as that takes, there is room."""
    limit, db.budget.limit = db.budget.limit, 1 << 40
    try:
        return state(db)
    finally:
        db.budget.limit = limit


def refused(db: Database, call: Callable[[], Any], *words: str) -> hw.OutOfMemory:
    """The error of a call that passes the budget; all is as before, and goes on."""
    before = seen(db)
    with pytest.raises(hw.OutOfMemory) as caught:
        call()
    assert caught.value.code == "out-of-memory" and caught.value.hint
    for word in words:
        assert word in str(caught.value), str(caught.value)
    assert seen(db) == before
    return caught.value


def goes_on(db: Database) -> None:
    """A small version is applied, and is right."""
    changes = db.apply(insert={"link": [(-1, -2), (-2, -3)]})
    assert sorted(changes["reach"].inserted) == [(-2, -3), (-1, -3), (-1, -2)]
    assert sorted(db.apply(delete={"link": [(-1, -2)]})["reach"].deleted) == [(-1, -3), (-1, -2)]
    db.apply(delete={"link": [(-2, -3)]})


def pairs(count: int) -> np.ndarray:
    return np.arange(2 * count, dtype=np.int64).reshape(-1, 2)


# ------------------------------------------------------------------ what passes the budget


def test_rows_that_are_inserted():
    db = reach(chain(0, 5), memory="8 MB")
    refused(db, lambda: db.apply(insert={"link": pairs(200_000)}), "link", "MB of 8.0 MB")
    goes_on(db)


def test_a_view():
    db = reach(chain(0, 5), memory="20 MB")
    error = refused(db, lambda: db.apply(insert={"link": chain(5, 3000)}), "rows of reach", "20.0 MB")
    assert error.place is not None and "in rule" in error.message
    goes_on(db)


def test_a_watched_view():
    """What failed is forgotten with its version: what fits then is not refused for it."""
    db = hw.connect(memory="6 MB")
    db.define("link(a: int, b: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), link(Z, Y).")
    db.keep("reach", "watched")
    for _ in range(3):
        error = refused(db, lambda: db.apply(insert={"link": chain(0, 300)}), "of reach", "of 6.0 MB")
        assert "@" not in error.message and "^" not in error.message
    assert db.apply(insert={"link": chain(0, 100)})["reach"].counts == (5050, 0)


def test_a_product():
    db = reach(strict=False, memory="16 MB")
    db.apply(insert={"n": [(i,) for i in range(3000)]})
    refused(db, lambda: db.define("all(X, Y) :- n(X), n(Y)."), "rows of all", "rule")
    assert "all" not in db
    goes_on(db)


def test_an_index():
    """The rows fit, and what finds them by a column does not."""
    db = reach(strict=False, memory="1 TB")
    db.apply(insert={"big": pairs(200_000), "few": [(0,)]})
    db.budget.limit = db.memory.used + 3 * MB
    refused(db, lambda: db.define("hit(X, Y) :- few(X), big(X, Y)."), "an index of big")
    db.budget.limit = db.memory.used + 12 * MB
    db.define("hit(X, Y) :- few(X), big(X, Y).")
    assert db["hit"].rows() == [(0, 1)]
    db.budget.limit = db.memory.used + MB // 4
    refused(db, lambda: db.apply(insert={"big": -pairs(100_000)}), "rows of big")
    goes_on(db)


def test_new_strings():
    db = reach(strict=False, memory="8 MB")
    db.apply(insert={"name": [("first",)]})
    names = [(f"name {i}" * 10,) for i in range(100_000)]
    refused(db, lambda: db.apply(insert={"name": names}), "new strings")
    goes_on(db)


def test_new_strings_that_come_a_few_at_a_time():
    """No piece is large, and all of them together are: what is full lets rows be read and deleted."""
    db = reach(strict=False, memory="8 MB")
    with pytest.raises(hw.OutOfMemory, match="with others that came before, would take"):
        for start in range(0, 100_000, 50):
            db.apply(insert={"name": [(f"{i}" * 200,) for i in range(start, start + 50)]})
    assert 7 * MB < db.memory.used <= 8 * MB
    before = len(db["name"])
    with pytest.raises(hw.OutOfMemory):
        db.apply(insert={"name": [("new" * 20_000,)]})
    assert len(db["name"]) == before and ("0" * 200,) in db["name"]
    assert db.apply(delete={"name": [("0" * 200,)]})["name"].counts == (0, 1)


@pytest.mark.parametrize("form", ["rows", "arrow"])
def test_reading(form: str):
    db = reach(strict=False, memory="24 MB")
    db.apply(insert={"big": pairs(120_000)})
    db.budget.limit = db.memory.used + MB
    view = db["big"]
    for read in (getattr(view, form), lambda: list(view)):
        with pytest.raises(hw.OutOfMemory) as caught:
            read()
        assert "120,000 rows" in str(caught.value)
    db.budget.limit = 10**9
    assert len(view.rows()) == 120_000


def test_an_order_of_strings():
    db = reach(strict=False, memory="1 GB")
    db.apply(insert={"word": [(i % 10, f"w{i}") for i in range(60_000)]})
    db.budget.limit = db.memory.used + 2 * MB
    refused(db, lambda: db.define("first(G, min<W>) :- word(G, W)."))
    db.budget.limit = 10**9
    db.define("first(G, min<W>) :- word(G, W).")
    assert sorted(db["first"].rows())[0] == (0, "w0")
    goes_on(db)


def test_deleting_never_needs_what_there_is_not():
    """However little room is left, rows can go: what undoes the version is all it needs."""
    db = reach(chain(0, 900), memory="1 GB")
    db.budget.limit = db.memory.used + 30 * MB
    db.apply(delete={"link": chain(0, 900)})
    assert len(db["reach"]) == 0


def test_what_if():
    db = reach(chain(0, 5), memory="20 MB")
    refused(db, lambda: db.what_if(insert={"link": chain(5, 3000)}), "rows of reach")
    goes_on(db)


# ------------------------------------------------------------------ ranges


def test_a_range_that_no_budget_could_hold_is_refused_at_once():
    db = reach(memory="4 GB")
    error = refused(db, lambda: db.define("n(X) :- X = range(0, 1000000000)."), "1,000,000,000 rows", "range")
    assert error.place is not None and error.place.line == 1 and "in rule" in error.message
    goes_on(db)


@pytest.mark.parametrize(
    "fact",
    ["p(range(0, 1000000000)).", "p(range(0, 1000), range(0, 1000)).", "p(range(0, 9999) + range(0, 9999))."],
)
def test_a_fact_that_stands_for_very_many(fact: str):
    db = reach(chain(0, 5))
    before = state(db)
    with pytest.raises(hw.EvaluationError) as caught:
        db.define(fact)
    assert caught.value.code == "range-too-long" and caught.value.place is not None
    assert state(db) == before


def test_a_range_of_a_row():
    db = reach(strict=False, memory="16 MB")
    db.define("n(X) :- top(T), X = range(0, T).")
    assert len(db.apply(insert={"top": [(10,)]})["n"].inserted) == 10
    refused(db, lambda: db.apply(insert={"top": [(600_000,)]}), " of n ", "n(X) :- top(T)")
    db.apply(delete={"top": [(10,)]})
    assert len(db["n"]) == 0


def test_a_long_range_of_which_little_is_kept():
    """Values come in pieces: only what is kept has to fit."""
    db = reach(memory="2 MB")
    db.define("n(X) :- X = range(0, 3000000), X % 1000000 = 7.")
    assert sorted(db["n"].rows()) == [(7,), (1_000_007,), (2_000_007,)]


# ------------------------------------------------------------------ states


def test_a_state_that_does_not_fit(tmp_path: Path):
    with reach(strict=False, path=tmp_path / "s") as db:
        db.apply(insert={"big": pairs(200_000)})
        db.checkpoint()
    with pytest.raises(hw.OutOfMemory) as caught:
        hw.connect(tmp_path / "s", memory="4 MB")
    assert "big" in str(caught.value) and "4.0 MB" in str(caught.value)
    with hw.connect(tmp_path / "s") as db:
        assert len(db["big"]) == 200_000


def test_a_checkpoint_is_not_held_to_the_budget(tmp_path: Path):
    with reach(chain(0, 5), strict=False, path=tmp_path / "s") as db:
        db.apply(insert={"big": pairs(100_000)})
        limit = db.budget.limit = db.memory.used
        db.checkpoint()
        assert db.budget.limit == limit, "only for as long as it takes"
        before = seen(db)
    with hw.connect(tmp_path / "s") as db:
        assert seen(db) == before


def test_a_refused_version_is_not_on_the_disk(tmp_path: Path):
    with reach(chain(0, 5), path=tmp_path / "s", memory="8 MB") as db:
        refused(db, lambda: db.apply(insert={"link": pairs(200_000)}))
        goes_on(db)
        before = state(db)
    with hw.connect(tmp_path / "s") as db:
        assert state(db) == before


@pytest.mark.parametrize("memory", [0, -5, True, 1.5, "much", "8 XB", "200%"])
def test_budgets_that_are_none(memory: Any):
    with pytest.raises(hw.DataError, match="memory is"):
        hw.connect(memory=memory)


def test_use_is_shown():
    db = reach(chain(0, 300), memory="1 GB")
    assert db.memory.budget == 10**9 and 10**5 < db.memory.used < 10**8
    assert abs(db.memory.used - db.nbytes) < 10**5
    assert str(db.memory).endswith("MB of 1.0 GB")
    assert any(line.startswith("memory: ") and line.endswith("of 1.0 GB") for line in db.explain().lines)


# ------------------------------------------------------------------ every place that asks


PROGRAM = """
    step(X, Y, C) :- link(X, Y, C), C > 0.
    reach(X, Y) :- step(X, Y, _).
    reach(X, Y) :- reach(X, Z), step(Z, Y, _).
    best(X, Y, min<C>) :- step(X, Y, C).
    best(X, Y, min<C>) :- best(X, Z, A), step(Z, Y, B), C = A + B, C < 60.
    degree(X, count<Y>) :- reach(X, Y).
    apart(X, Y) :- node(X), node(Y), !reach(X, Y).
    node(X) :- link(X, _, _).
    upto(X, N) :- degree(X, D), N = range(0, D).
"""


class Asked:
    """A budget whose owner refuses from a chosen request on, however small."""

    def __init__(self, db: Database):
        self.left: int | None = None
        self.asked = 0
        db.budget.least = 0
        db.budget.ask = self.ask  # type: ignore[method-assign]

    def ask(self, needed: int, what: str) -> None:
        self.asked += 1
        if self.left is not None:
            if self.left == 0:
                raise hw.OutOfMemory("out-of-memory", f"{what} would take {needed}")
            self.left -= 1


def versions() -> list[tuple[list[Any], list[Any]]]:
    rng = np.random.default_rng(5)
    rows = [tuple(map(int, row)) for row in rng.integers(1, 14, (60, 3))]
    return [([], rows[:30]), (rows[:12], rows[30:45]), (rows[20:40], rows[45:]), (rows, rows[:3])]


@pytest.mark.parametrize("strategy", ["support", "dred", "recompute", "auto"])
def test_a_refusal_anywhere_leaves_no_trace(strategy: str):
    """Each version is tried with each request refused in turn; then it is applied, and right."""
    reference = hw.connect(strategy="recompute")
    reference.define(PROGRAM)
    db = hw.connect(strategy=strategy)
    db.define(PROGRAM)
    asked = Asked(db)
    refusals = 0
    for delete, insert in versions():
        before = state(db)
        for request in range(10_000):
            asked.left = request
            try:
                db.apply(delete={"link": delete}, insert={"link": insert})
                break
            except hw.OutOfMemory:
                refusals += 1
            asked.left = None
            assert state(db) == before
        asked.left = None
        reference.apply(delete={"link": delete}, insert={"link": insert})
        assert state(db)["rows"] == state(reference)["rows"]
    assert refusals > 20


# ------------------------------------------------------------------ limits of the process


def limited(size: int, work: Callable[[], Any]) -> Any:
    """What the work gives in a process that has only so many addresses more than it has now."""

    def run() -> Any:
        release_idle()  # addresses that relations of earlier tests have left would be used again
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + size
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        return work()

    return in_child(run)


def test_the_default_budget_follows_the_limits_of_the_process():
    budget = limited(400 * MB, lambda: hw.connect().memory.budget)
    assert 200 * MB < budget <= 300 * MB


@pytest.mark.parametrize("room", [60, 120, 240])
def test_a_process_without_addresses(room: int):
    """The budget says that there is room, and the system that there is none."""

    def work() -> dict[str, Any]:
        db = reach(chain(0, 5), memory="1 TB")
        try:
            db.apply(insert={"link": np.stack([np.arange(3_000_000)] * 2, axis=1)})
        except hw.HeadwaterError as error:
            return {"code": error.code, "message": error.message}
        return {"code": "applied"}

    found = limited(room * MB, work)
    assert found["code"] == "out-of-memory", found
    assert re.search(r"\d+ bytes|\d [GM]i?B", found["message"]), found


@pytest.mark.parametrize("form", ["rows", "arrow"])
def test_reading_without_addresses(form: str):
    """Requests that are too small to be compared with what the system has left."""

    def work() -> dict[str, Any]:
        db = hw.connect(memory="1 TB")
        db.apply(insert={"link": np.stack([np.arange(300_000)] * 2, axis=1)})
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        held = []
        try:
            for _ in range(1000):
                held.append(getattr(db["link"], form)())
        except hw.HeadwaterError as error:
            return {"code": error.code}
        return {"code": "read"}

    assert in_child(work) == {"code": "out-of-memory"}


def test_a_program_without_end():
    def work() -> dict[str, Any]:
        db = hw.connect()
        db.define("n(1) :- go(1). n(2 * X) :- n(X), X < 2^60. n(2 * X + 1) :- n(X), X < 2^60.")
        try:
            db.apply(insert={"go": [(1,)]})
        except hw.HeadwaterError as error:
            return {"code": error.code, "rows": len(db["n"]), "versions": db.version}
        return {"code": "applied"}

    assert limited(500 * MB, work) == {"code": "out-of-memory", "rows": 0, "versions": 1}


def test_long_strings_are_refused_before_they_are_kept():
    db = hw.connect(memory="5 MB")
    with pytest.raises(hw.HeadwaterError) as refused:
        db.apply(insert={"s": [(f"{number}" + "x" * 1_000_000,) for number in range(20)]})
    assert refused.value.code == "out-of-memory"
    assert db.memory.used < db.memory.budget and "s" not in db
