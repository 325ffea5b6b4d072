"""What only a database computes to the last digit is not maintained, and a query is answered all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headwater as hw
from headwater.errors import SketchError
from headwater.language.sql.parser import parse
from headwater.language.sql.render import render
from headwater.sketch.capture import capture_plan
from headwater.sketch.kept import query_name
from headwater.sketch.ranges import Ranges


@pytest.fixture
def sketches(tmp_path: Path) -> Iterator[Any]:
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t (g INTEGER, d DECIMAL(10, 2), w DECIMAL(20, 10), v INTEGER)")
        connection.execute(
            "INSERT INTO t VALUES (0, 0.67, 1, 1), (0, 0, 1, 1), (0, 0, 1, 1), (0, 0, 1, 1), (0, 0, 1, 1),"
            " (0, 0, 1, 1), (1, 5, 2, NULL), (2, 7, 3, 4)"
        )
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as found:
        found.table("t", partition="g", ranges=4)
        yield found


def groups(sketches: Any, text: str, **options: Any) -> list[Any]:
    return sorted(tuple(row.values()) for row in sketches.ask(text, **options).rows.to_pylist())


AVERAGE = "SELECT g, avg(d) AS mean FROM t GROUP BY g HAVING avg(d) < 0.2"
BESIDE = "SELECT g, count(d) AS n FROM t GROUP BY g HAVING avg(d) < 0.2"
QUOTIENT = "SELECT g FROM t GROUP BY g HAVING sum(g + 1) / count(v) > 0.5"


def test_averages_of_decimals_are_those_of_the_database(sketches: Any):
    plan = parse(AVERAGE, sketches.backend.schemas(), "duckdb").plan
    captured = render(capture_plan(plan, {0: (Ranges("g", (1,)),)}, "duckdb").plan, "duckdb")
    assert 'AVG(t1."d")' in captured and "SUM" not in captured
    assert groups(sketches, AVERAGE, way="capture") == groups(sketches, AVERAGE, way="plain")


@pytest.mark.parametrize("text", [BESIDE, QUOTIENT])
def test_a_query_that_cannot_be_computed_here_is_captured_again(sketches: Any, text: str):
    sketches.ask(text, way="capture")
    with pytest.raises(SketchError) as raised:
        sketches.ask(text, way="maintain")
    assert raised.value.code == "not-maintained"
    sketches.update("t", insert=[(3, 0, 1, 9)])
    answer = sketches.ask(text)
    assert answer.decision.way == "capture"
    assert answer.rows.equals(sketches.ask(text, way="plain").rows)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT g FROM t GROUP BY g HAVING sum(w) > 3.123456789012345678901",
        "SELECT g FROM t GROUP BY g HAVING sum(w) > min(v)",
        "SELECT g FROM t GROUP BY g, d HAVING max(CASE WHEN g > 0 THEN d ELSE v END) > 3",
        "SELECT g FROM t GROUP BY g HAVING max(coalesce(d, 0)) > 3 AND max(coalesce(w, 0.5e0)) > 2",
        "SELECT max(v) AS m FROM t WHERE g > 9 AND v IN (SELECT g FROM t) HAVING max(v) > 1",
        "SELECT sum(d) AS m FROM t WHERE g > 9 AND v IN (SELECT g FROM t) HAVING sum(d) > 1",
    ],
)
def test_decimals_of_all_sizes_and_nothing_at_all_are_followed(sketches: Any, text: str):
    sketches.ask(text, way="capture"), sketches.ask(text, way="maintain")
    sketches.update("t", insert=[(3, 9, 9, 9), (9, 1, 1, 3)])
    assert groups(sketches, text, way="maintain") == groups(sketches, text, way="plain")
    sketches.update("t", insert=[(12, 5, 5, 3)], delete=[(2, 7, 3, 4)])
    assert groups(sketches, text, way="maintain") == groups(sketches, text, way="plain")


def test_numbers_of_more_digits_than_those_before_are_kept(postgres: Any, tmp_path: Path):
    address = postgres.new_database()
    text = "SELECT g, v FROM t ORDER BY v DESC NULLS LAST, g LIMIT 2"
    with hw.sketches(address, tmp_path / "state") as found:
        with found.backend.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE t (g integer, v numeric)")
            connection.exec_driver_sql("INSERT INTO t VALUES (1, 1.25), (2, 2.5)")
        found.table("t", partition="g", ranges=4)
        found.ask(text, way="capture"), found.ask(text, way="maintain")
        with found.backend.engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO t VALUES (3, 12345.625)")
        assert [row[0] for row in groups(found, text, way="maintain")] == [2, 3]
    with hw.sketches(address, tmp_path / "state") as found:
        assert groups(found, text, way="maintain") == groups(found, text, way="plain")


def test_a_kept_query_whose_name_means_another_text_by_now_is_forgotten(sketches: Any, tmp_path: Path):
    text, other = ("SELECT g FROM t WHERE 'a b' = 'a b'", "SELECT g FROM t WHERE 'a  b' = 'a b'")
    sketches.ask(text, way="capture")
    sketches.close()
    (kept,) = (tmp_path / "state" / "queries").glob("*.json")
    kept.rename(kept.with_name(f"{query_name(other)}.json"))
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as opened:
        assert opened.list() == ()
        assert groups(opened, other) == []
