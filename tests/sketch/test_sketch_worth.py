"""What is done once for a sketch is weighed by how often the query is asked before its tables change again.

What ways took is written into the state folder, far above what they take here, so that nothing hangs on the clock.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from sketch_queries import bag, database

import headwater as hw
from headwater.sketch.cost import MOST_OBSERVED, Costs

OUTER = "SELECT t.g, count(*) AS n FROM t LEFT JOIN d ON t.g = d.g GROUP BY t.g HAVING count(*) > 5"
INNER = OUTER.replace("LEFT ", "")
Seen = dict[str, list[tuple[float, float]]]
SEEN: Seen = {"plain": [(1, 1000)], "capture": [(1, 1500)], "use": [(0.1, 100)]}


@pytest.fixture
def asked_before(tmp_path: Path) -> Callable[..., Any]:
    """A query that was captured, as if ways had taken so long, and as if it had been asked so often at versions."""
    rows = pa.table({"g": [n // 5 for n in range(60)], "x": range(60)})
    address = database(tmp_path / "t.db", {"t": rows, "d": pa.table({"g": [1, 2, 2]})})

    @contextmanager
    def opened(text: str, seen: Seen, times: list[int]) -> Iterator[Any]:
        with hw.sketches(address, tmp_path / "state") as sketches:
            sketches.table("t", partition="x", ranges=12)
            sketches.table("d")
            sketches.ask(text, way="capture")
            sketches.ask(text, way="use")
            sketches.maintain()
        (file,) = (tmp_path / "state" / "queries").glob("*.json")
        said = json.loads(file.read_text())
        said["costs"] = {way: (pairs * MOST_OBSERVED)[:MOST_OBSERVED] for way, pairs in seen.items()}
        said["times"] = times
        del said["check"]
        file.write_text(json.dumps(said))
        with hw.sketches(address, tmp_path / "state") as sketches:
            yield sketches

    return opened


def test_a_sketch_that_is_not_maintained_is_captured_again_where_that_pays(asked_before: Callable[..., Any]):
    """Once a version: never. The second time at one version: a capture costs 500 s more and saves 900 s."""
    with asked_before(OUTER, SEEN, [1, 1, 1]) as sketches:
        ways = []
        for number in range(3):
            sketches.update("d", insert=[(3 + number,)] * 2)
            for _ in range(3 if number == 1 else 1):
                said = sketches.explain(OUTER)
                answer = sketches.ask(OUTER)
                assert f"\nnext: {answer.decision.way}: {answer.decision.reason} (" in said
                ways.append(answer.decision.way)
                assert len(answer.rows) == 2 + number
                if answer.decision.way == "plain":
                    assert "kind left is not maintained" in answer.decision.reason
                    assert "do not make up for that" in answer.decision.reason
        assert ways == ["plain", "plain", "capture", "use", "plain"]


def test_a_query_that_is_asked_often_is_captured_after_each_change(asked_before: Callable[..., Any]):
    with asked_before(OUTER, SEEN, [6, 4]) as sketches:
        sketches.update("d", insert=[(3,)] * 2)
        answers = [sketches.ask(OUTER) for _ in range(3)]
    assert [each.decision.way for each in answers] == ["capture", "use", "use"]
    assert [bag(each.rows) for each in answers] == [[(2.0, 10.0), (3.0, 10.0)]] * 3


MAINTAINED: Seen = {**SEEN, "maintain": [(10, 10), (1000, 1000)]}


@pytest.mark.parametrize(
    ("changed", "times", "way"),
    [
        (10, [1, 1], "maintain"),
        (2000, [1, 1], "plain"),  # 2000 s and 100 s, instead of 1000 s
        (2000, [6, 6], "capture"),  # 1500 s and five times 100 s, instead of 2000 s and six times
        (1000, [6, 6], "maintain"),
    ],
)
def test_how_many_rows_changed_is_weighed(
    asked_before: Callable[..., Any], changed: int, times: list[int], way: str
):
    with asked_before(INNER, MAINTAINED, times) as sketches:
        sketches.update("d", insert=[(100 + number,) for number in range(changed)])
        said = sketches.explain(INNER).splitlines()[-1]
        assert said.startswith(f"next: {way}: ")
        assert f"by {changed:,} rows" in said
        answer = sketches.ask(INNER)
        assert answer.decision.way == way
        assert bag(answer.rows) == [(2.0, 10.0)]
        if way != "maintain":
            assert f"maintaining by {changed:,} rows and using take" in answer.decision.reason
        assert bag(sketches.ask(INNER, way="maintain").rows) == [(2.0, 10.0)]


def test_state_of_other_rows_is_dropped_also_where_capturing_does_not_pay(
    asked_before: Callable[..., Any], tmp_path: Path
):
    """The tables were exchanged for others, with the records of the first ones: nothing tells that."""
    rows = pa.table({"g": [n // 5 for n in range(60)], "x": range(60)})
    address = database(tmp_path / "other.db", {"t": rows, "d": pa.table({"g": [1, 2, 2, 9, 9]})})
    with hw.sketches(address, tmp_path / "others") as sketches:
        sketches.table("t", partition="x", ranges=12)
        sketches.table("d")
        sketches.ask(INNER, way="capture")
    with asked_before(INNER, SEEN, [1, 1]):
        pass
    with duckdb.connect(str(tmp_path / "other.db")) as other:
        other.execute(f"ATTACH '{tmp_path}/t.db' AS t")
        for record in ("headwater_origin", "headwater_marks"):
            other.execute(f"CREATE OR REPLACE TABLE {record} AS FROM t.{record}")
        other.execute(
            "UPDATE headwater_versions AS v SET writer = m.mark FROM headwater_marks AS m WHERE m.name = v.name"
        )
    shutil.move(tmp_path / "other.db", tmp_path / "t.db")
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        sketches.update("d", delete=[(9,)])
        answer = sketches.ask(INNER)
        assert (answer.decision.way, bag(answer.rows)) == ("plain", [(2.0, 10.0)])
        assert "negative count" in answer.decision.reason
        (kept,) = sketches.list()
        assert kept.newest is None
        assert not (tmp_path / "state" / "queries" / kept.name).exists()


def test_small_changes_are_maintained_though_large_ones_were_not_worth_it(asked_before: Callable[..., Any]):
    """All that was seen is that 100,000 rows take 1000 s."""
    with asked_before(INNER, {**SEEN, "maintain": [(100_000, 1000)]}, [1, 1]) as sketches:
        ways = []
        for number in range(2):
            sketches.update("d", insert=[(3 + number,)])
            answer = sketches.ask(INNER)
            ways.append(answer.decision.way)
            assert bag(answer.rows) == [(2.0, 10.0)]
        sketches.update("d", insert=[(100 + number % 900,) for number in range(100_000)])
        assert "\nnext: plain: maintaining by 100,000 rows" in sketches.explain(INNER)
    assert ways == ["maintain", "maintain"]


def test_noise_among_large_changes_makes_no_steep_line():
    """1000 rows in 1 ms, 1001 in 2 ms: 10,000 rows will take 15 ms by that, not 9 seconds."""
    costs = Costs().observed("maintain", 1000, 0.001).observed("maintain", 1001, 0.002)
    assert costs.predicted("maintain", 10_000) == pytest.approx(0.015, rel=0.01)
    assert costs.predicted("maintain", 0) == pytest.approx(0.0)


def test_what_was_counted_is_kept(tmp_path: Path):
    address = database(tmp_path / "t.db", {"t": pa.table({"x": range(20)})})
    for opening in range(3):
        with hw.sketches(address, tmp_path / "state") as sketches:
            sketches.table("t", partition="x", ranges=4)
            for _ in range(2):
                sketches.ask("SELECT x FROM t WHERE x > 17", way="plain")
            if opening < 2:  # at a version that is asked for by its number: says nothing of the others
                sketches.ask("SELECT x FROM t WHERE x > 17", way="plain", versions={"t": 0})
            if opening == 1:
                sketches.update("t", insert=[(30,)])
    with hw.sketches(address, tmp_path / "state") as sketches:
        (kept,) = sketches.list()
        assert (kept.times, kept.asked) == ((4, 2), 8)


def test_a_first_time_that_took_long_is_not_what_others_are_measured_by():
    """And what a way takes now says more than what it took when the table was smaller."""
    costs = Costs().observed("plain", 1.0, 3.0)
    assert costs.predicted("plain", 1.0) == 3.0
    costs = costs.observed("plain", 1.0, 0.1)
    assert costs.predicted("plain", 1.0) == 0.1
    assert costs.predicted("use", 0.5) == 0.05
    for _ in range(5):
        costs = costs.observed("plain", 1.0, 0.5)
    assert costs.predicted("plain", 1.0) == 0.5
