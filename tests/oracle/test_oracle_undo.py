"""Memory that runs out at any point of a version: the version is undone without any, and leaves no trace."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.database import Database
from headwater.kernel import index, relation
from headwater.maintain import engine, fixpoint, grouping, selection
from headwater.maintain.base import base_changes, soft_state
from headwater.values import exact_sum
from headwater.version import row_change

MODULES = (
    relation, index, engine, fixpoint, grouping, selection, soft_state, base_changes, row_change, exact_sum,
)  # fmt: skip
TEXT = """
    materialize(ping, 50, 6, keys(1)).
    link(x: int, y: int, c: float).
    ping(x: int, y: int).
    reach(X, Y) :- link(X, Y, _).
    reach(X, Y) :- reach(X, Z), link(Z, Y, _).
    best(X, Y, min<C>) :- link(X, Y, C).
    best(X, Y, min<C>) :- best(X, Z, A), link(Z, Y, B), C = A + B, C < 60.0.
    degree(X, count<Y>) :- reach(X, Y).
    total(X, sum<C>) :- best(X, Y, C).
    quiet(X) :- ping(X, _), !reach(X, X).
"""


ACTIVE = """
    loop(x: int). marked(x: int).
    on +reach(X, X) do insert loop(X), insert link(X, X + 9, 1.25).
    on -reach(X, X) do delete loop(X), delete link(X, _, 1.25).
    on +loop(X), X > 2 do delete ping(X, _), insert ping(X + 1, 7), insert marked(X).
    on +degree(X, N), N > 3 do delete marked(X).
"""


class Ration:
    """numpy for a module, in which every array that is made counts, and none is made once the ration is used up."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.refused = 0

    def take(self) -> None:
        if self.left is not None:
            if self.left <= 0:
                self.refused += 1
                raise MemoryError
            self.left -= 1

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if name not in (
            "empty",
            "zeros",
            "full",
            "concatenate",
            "unique",
            "flatnonzero",
            "ascontiguousarray",
        ):
            return found

        def rationed(*args: Any, **options: Any) -> Any:
            self.take()
            return found(*args, **options)

        return rationed


@pytest.fixture
def ration(monkeypatch: pytest.MonkeyPatch) -> Ration:
    ration = Ration()
    for module in MODULES:
        monkeypatch.setattr(module, "np", ration)
        for name in ("grown", "zeros"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, rationed(ration, getattr(module, name)))
    return ration


def rationed(ration: Ration, function: Any) -> Any:
    def run(*args: Any) -> Any:
        ration.take()
        return function(*args)

    return run


@contextmanager
def unlimited(ration: Ration) -> Iterator[None]:
    left, ration.left = ration.left, None
    try:
        yield
    finally:
        ration.left = left


def everything(db: Database) -> dict[str, Any]:
    """All rows with ranks and counts, soft state, groups and the clock. (The sign of a count, by which a row need not
    be asked for other derivations, may be lost with a version that is undone: that costs a look, and no more.)"""
    workspace = db.engine.workspace
    found: dict[str, Any] = {"clock": workspace.clock, "relations": tuple(workspace.relations)}
    for name, stored in workspace.relations.items():
        codes, ranks, visible = stored.dump()
        found[name] = sorted(zip(codes.tolist(), np.abs(ranks).tolist(), visible.tolist(), strict=True))
        assert stored.visible == sum(visible)
    for name, soft in db.runner.base_changes.soft.items():  # type: ignore[attr-defined]
        rows, times = soft.dump()
        found[f"soft {name}"] = (rows.tolist(), times, len(soft))
    for view in db.engine.views:
        if view.grouping is not None:
            groups = view.grouping.groups
            numbers = groups.live_rows()
            keys = groups.codes(numbers).tolist()
            values = view.grouping.counts[numbers], view.grouping.values[numbers]
            found[f"groups {view.stratum.relations}"] = sorted(zip(keys, *map(list, values), strict=True))
            assert not view.grouping._dirty.any()
    return found


def stream(seed: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    rng = random.Random(seed)
    links: set[tuple[int, int, float]] = set()
    while True:
        delete = set(rng.sample(sorted(links), min(len(links), rng.randint(0, 4))))
        insert = {
            (rng.randrange(9), rng.randrange(9), rng.choice([0.5, 1.25, 3.0, 1e9, 2.0**-30]))
            for _ in range(rng.randint(1, 8))
        }
        links = (links - delete) | insert
        pings = [(rng.randrange(12), rng.randrange(3)) for _ in range(rng.randint(0, 5))]
        yield {"link": sorted(insert), "ping": pings}, {"link": sorted(delete)}


STRATEGIES = ["support", "dred", "recompute", "auto", "absorption", "relative"]


@pytest.mark.parametrize(
    ("strategy", "active"), [*((name, "") for name in STRATEGIES), ("support", ACTIVE), ("relative", ACTIVE)]
)
def test_a_version_that_finds_no_memory_leaves_no_trace(strategy: str, active: str, ration: Ration):
    """Every version is tried again and again, with memory for one array more each time."""
    db, twin = hw.connect(strategy=strategy), hw.connect(strategy=strategy)
    db.define(TEXT + active)
    twin.define(TEXT + active)
    refused = 0
    for version, (insert, delete) in zip(range(5), stream(7), strict=False):
        expected = everything(twin)
        step = 13 if active else 1 if version == 3 else 7
        ration.left, done, tried = 0, None, 0
        while done is None:
            ration.left = tried
            tried += step
            try:
                done = db.apply(insert=insert, delete=delete)
            except (MemoryError, hw.HeadwaterError):
                refused += 1
                with unlimited(ration):
                    assert everything(db) == expected
        ration.left = None
        other = twin.apply(insert=insert, delete=delete)
        assert everything(db) == everything(twin)
        for name in twin.relations:
            for rows in ("inserted", "deleted"):
                assert sorted(getattr(done[name], rows)) == sorted(getattr(other[name], rows))
        db.advance(db.now + 20)
        twin.advance(twin.now + 20)
    assert refused > 60


def test_a_definition_that_finds_no_memory_leaves_no_trace(ration: Ration):
    db, twin = hw.connect(), hw.connect()
    for one in (db, twin):
        one.define(TEXT)
        one.apply(insert={"link": [(1, 2, 1.0), (2, 3, 2.0), (3, 1, 0.5)], "ping": [(1, 1), (2, 1)]})
    more = (
        "ping(3, 3). link(3, 4, 2.5). materialize(ping, 5, 1, keys(1))."
        "far(X, max<Y>) :- reach(X, Y). best(0, 0, 1.0)."
    )
    expected = everything(twin)
    for tried in range(10_000):
        ration.left = tried
        try:
            db.define(more)
            break
        except (MemoryError, hw.HeadwaterError):
            with unlimited(ration):
                assert everything(db) == expected
    ration.left = None
    twin.define(more)
    assert everything(db) == everything(twin) and tried > 20


CHILD = """
import resource
import headwater as hw

TEXT = '''%s'''
db, twin = hw.connect(strategy="%s"), hw.connect(strategy="%s")
few = [(i, i + 1, float(i %% 7)) for i in range(300, 330)]
for one in (db, twin):
    one.define(TEXT)
    one.apply(insert={"link": few, "ping": [(1, 1), (2, 2)]})
    one.apply(insert={"link": [(1, 2, 0.5)]}, delete={"link": few[:3]})
many = [(i %% 2000, i // 2000, 1.0) for i in range(400_000)]
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + (%d << 20), resource.RLIM_INFINITY))
try:
    db.apply(insert={"link": many, "ping": [(3, 3)]}, delete={"link": few[:9]})
    print("not refused")
except (MemoryError, OSError, hw.HeadwaterError) as error:
    print(type(error).__name__)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
told = [one.apply(insert={"link": [(0, 1, 1.0)]}, delete={"link": few[:5]}) for one in (db, twin)]
for name in twin.relations:
    assert sorted(db[name].rows()) == sorted(twin[name].rows()), name
    assert sorted(told[0][name].inserted) == sorted(told[1][name].inserted), name
    assert sorted(told[0][name].deleted) == sorted(told[1][name].deleted), name
print("as if it had not been")
"""


@pytest.mark.parametrize(("strategy", "megabytes"), [("support", 40), ("support", 120), ("absorption", 60)])
def test_a_process_that_may_have_no_more_memory(strategy: str, megabytes: int):
    """A version a thousand times as large as what is there, in a process with a limit just above what it uses."""
    text = TEXT.split("best(X, Y, min<C>) :- best")[0] + "degree(X, count<Y>) :- reach(X, Y)."
    run = subprocess.run(
        [sys.executable, "-c", CHILD % (text, strategy, strategy, megabytes)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.stdout.splitlines()[-1:] == ["as if it had not been"], run.stderr
    assert "not refused" not in run.stdout


def test_changes_of_a_version_that_was_rolled_back_say_so(monkeypatch: pytest.MonkeyPatch):
    db = hw.connect()
    db.define(TEXT)
    runner = db.runner
    held: list[Any] = []
    change = runner.change

    def holding(*args: Any) -> Any:
        held.append(change(*args))
        raise MemoryError

    monkeypatch.setattr(runner, "change", holding)
    with pytest.raises((MemoryError, hw.HeadwaterError)):
        db.apply(insert={"link": [(1, 2, 1.0)]})
    with pytest.raises(hw.HeadwaterError, match="rolled back"):
        held[0]["link"].resolve()


def test_a_version_that_cannot_be_undone_ends_all_use(tmp_path, monkeypatch: pytest.MonkeyPatch):
    db = hw.connect(tmp_path / "state")
    db.define(TEXT)
    db.apply(insert={"link": [(1, 2, 1.0)]})
    rollback = relation.Relation.rollback

    def failing(self: relation.Relation) -> None:
        if self.name == "link":
            raise MemoryError
        rollback(self)

    with monkeypatch.context() as patched, pytest.raises((MemoryError, hw.HeadwaterError)):
        patched.setattr(relation.Relation, "rollback", failing)
        db.define("bad(X) :- link(X, _, _), 1/(X - 2) > 0.", insert={"link": [(2, 3, 1.0)]})
    for call in (
        lambda: db.apply(insert={"link": [(5, 6, 1.0)]}),
        lambda: db.define("x(1)."),
        lambda: db.advance(3),
        lambda: db.what_if(),
        lambda: db["link"].rows(),
        lambda: db.relations,
        lambda: db.info("link"),
        lambda: db.why("reach", (1, 2)),
        lambda: db.explain(),
        lambda: db.checkpoint(),
        lambda: db.subscribe("me", "reach"),
        lambda: db.marks,
    ):
        with pytest.raises(hw.DatabaseError) as caught:
            call()
        assert caught.value.code == "not-undone" and "connect again" in str(caught.value)
    db.close()
    with hw.connect(tmp_path / "state") as again:
        assert again["link"].rows() == [(1, 2, 1.0)] and again.version == 2


@pytest.mark.parametrize("method", ["apply", "what_if"])
def test_a_version_whose_end_fails_at_any_call_is_whole_or_ends_all_use(tmp_path, method: str):
    """The end of a version decides what becomes of it, and is code like any other."""
    outcomes = Counter[str]()
    for call in range(40):
        db = hw.connect(tmp_path / f"{call}", sync=False)
        db.define("link(x: int). view(X) :- link(X).")
        calls = itertools.count()

        def refuse(frame: FrameType, event: str, arg: object, calls=calls, call=call) -> None:
            if (
                event == "call"
                and frame.f_code.co_filename.endswith("version/version.py")
                and next(calls) == call
            ):
                raise MemoryError

        outer = sys.gettrace()
        sys.settrace(refuse)
        try:
            getattr(db, method)(insert={"link": [(1,)]})
        except hw.HeadwaterError:
            outcomes["refused"] += 1
        finally:
            sys.settrace(outer)
        try:
            found = db.version, db["link"].rows(), db["view"].rows()
        except hw.DatabaseError as error:
            assert error.code == "not-undone"
            outcomes["ended"] += 1
            found = None
        db.close()
        with hw.connect(tmp_path / f"{call}") as again:
            assert found in (None, (again.version, again["link"].rows(), again["view"].rows()))
    assert outcomes["refused"] > outcomes["ended"] > 0 and outcomes["refused"] < 40
