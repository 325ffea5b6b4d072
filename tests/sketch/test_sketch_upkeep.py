"""When sketches are maintained, where their state is meanwhile, and what past queries say for an attribute."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headwater as hw
from headwater.errors import SketchError

BY_GROUP = "SELECT g, sum(v) AS total FROM t GROUP BY g HAVING sum(v) > {}"
BY_KIND = "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) < {}"


def opened(folder: Path, **options: Any) -> Any:
    sketches = hw.sketches(f"duckdb:///{folder}/t.db", folder / "state", **options)
    with sketches.backend.engine.begin() as connection:
        text = "SELECT i % 10 AS g, i % 7 AS v, i % 4 AS k, i AS x FROM range(200) AS r(i)"
        connection.exec_driver_sql(f"CREATE TABLE IF NOT EXISTS t AS {text}")
    return sketches


def rows(answer: Any) -> list[str]:
    return sorted(map(str, answer.rows.to_pylist()))


def test_changes_are_followed_when_they_are_made(tmp_path: Path):
    """Three rows are enough; what was maintained then is used, and not maintained again."""
    with opened(tmp_path, eager=3) as sketches:
        sketches.table("t", partition="x", ranges=10)
        text = BY_GROUP.format(62)
        sketches.ask(text, way="capture")
        sketches.maintain()
        sketches.update("t", insert=[(3, 50, 1, 205)])
        (kept,) = sketches.list()
        assert kept.newest.versions == {"t": 0}
        sketches.update("t", insert=[(4, 60, 1, 206)], delete=[(0, 0, 0, 0)])
        (kept,) = sketches.list()
        assert kept.newest.versions == {"t": 2}
        answer = sketches.ask(text, way="use")
        assert rows(answer) == rows(sketches.ask(text, way="plain"))
        sketches.update(
            "t", insert=[(5, -900, 1, 207)] * 3
        )  # a fact breaks: that is found when it is asked for
        assert rows(sketches.ask(text)) == rows(sketches.ask(text, way="plain"))


def test_state_that_was_not_used_for_long_is_in_the_folder(tmp_path: Path):
    texts = [BY_GROUP.format(bound) for bound in (60, 61, 62)]
    with opened(tmp_path, memory=0) as sketches:
        sketches.table("t", partition="x", ranges=10)
        for text in texts:
            sketches.ask(text, way="capture")
            sketches.ask(text, way="maintain")
        for turn in range(3):
            sketches.update("t", insert=[(turn, 30, 1, 200 + turn)])
            for text in texts:
                answer = sketches.ask(text, way="maintain")
                assert rows(answer) == rows(sketches.ask(text, way="plain"))
                assert answer.decision.changed == 1  # it went on from what was written
                assert list(sketches._book._maintainers) == [answer.decision.query]


def test_past_queries_speak_for_an_attribute(tmp_path: Path):
    """g and k are both safe for the query; what was asked before is safe by k alone."""
    text = "SELECT g, k, count(*) AS n FROM t GROUP BY g, k HAVING count(*) < 5"
    with opened(tmp_path) as sketches:
        sketches.table("t")
        before = {str(each.slot): each for each in sketches.advise(text)}
        assert before["t.g"].is_useful and before["t.k"].is_useful and before["t.k"].asked == 0
        for _ in range(3):
            sketches.ask(BY_KIND.format(51))
        best = sketches.advise(text)[0]
        assert (str(best.slot), best.asked) == ("t.k", 3)
        assert "safe for what was asked 3 times before" in str(best)


def test_past_queries_may_read_other_tables(tmp_path: Path):
    """Of these tables nothing is known at the versions that are asked for."""
    with duckdb.connect(str(tmp_path / "two.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS k, range % 5 AS g FROM range(50)")
        connection.execute("CREATE TABLE u AS SELECT range % 5 AS g, range AS v FROM range(50)")
    with hw.sketches(f"duckdb:///{tmp_path}/two.db", tmp_path / "two") as sketches:
        sketches.table("t")
        sketches.table("u")
        sketches.ask("SELECT t.g FROM t JOIN u ON t.g = u.g GROUP BY t.g HAVING sum(u.v) > 10")
        text = "SELECT g, count(*) AS n FROM t GROUP BY g HAVING count(*) > 5"
        assert rows(sketches.ask(text, way="capture")) == rows(sketches.ask(text, way="plain"))


@pytest.mark.parametrize("wrong", [{"eager": -1}, {"memory": -1}])
def test_bounds_are_numbers_from_0_on(tmp_path: Path, wrong: dict[str, int]):
    with pytest.raises(SketchError, match="bad-bound"):
        hw.sketches("duckdb:///x", tmp_path / "state", **wrong)


def test_maintenance_writes_nothing_and_a_lost_process_loses_nothing_but_work(tmp_path: Path):
    """What was captured is in the folder at once; what was maintained since is maintained again."""
    text = BY_GROUP.format(62)
    with opened(tmp_path) as sketches:
        sketches.table("t", partition="x", ranges=10)
        sketches.ask(text, way="capture")
        sketches.maintain()
        (name,) = (kept.name for kept in sketches.list())
        file = tmp_path / "state" / "queries" / f"{name}.json"
        written = file.stat().st_mtime_ns, file.read_bytes()
        for number in range(3):
            sketches.update("t", insert=[(3, 50 + number, 1, 205 + number)])
            assert sketches.ask(text, way="maintain").decision.changed == 1
        assert (file.stat().st_mtime_ns, file.read_bytes()) == written
        plain = rows(sketches.ask(text, way="plain"))
        (kept,) = sketches.list()
        lost = tmp_path / "lost"
        shutil.copytree(tmp_path / "state", lost, ignore=shutil.ignore_patterns("lock"))
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", lost) as again:  # as a process that was killed left it
        (old,) = again.list()
        assert (old.newest.versions, kept.newest.versions) == ({"t": 0}, {"t": 3})
        answer = again.ask(text, way="maintain")
        assert rows(answer) == plain
        (now,) = again.list()
        assert now.newest == kept.newest
    with hw.sketches(
        f"duckdb:///{tmp_path}/t.db", tmp_path / "state"
    ) as closed:  # and as it left it in peace
        (now,) = closed.list()
        assert now.newest == kept.newest
