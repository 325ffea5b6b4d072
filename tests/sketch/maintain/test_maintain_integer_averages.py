"""Averages of integers in DuckDB, which it rounds in one of two ways: no group is missed whichever it is.

Groups are made for it: their sums are such that the two ways differ, and conditions compare with just these floats
and their neighbours.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import FIGURES, examples

import headwater as hw
from headwater.errors import SketchError
from headwater.language.sql.parser import parse
from headwater.language.sql.tables import table_schema
from headwater.sketch.average_bounds import with_average_bounds
from headwater.sketch.in_sql.sql_maintainer import SqlMaintainer
from headwater.sketch.integer_averages import bounds, is_nearest
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot

TYPES = {"SMALLINT": 15, "UINTEGER": 30, "INTEGER": 31, "BIGINT": 62}
"""Types of columns, and how many bits values have."""
BY_ITSELF = "SELECT g, avg(x) AS a FROM t GROUP BY g"
BESIDE_OTHERS = "SELECT g, avg(x) AS a, sum(x) AS s, count(x) AS n FROM t GROUP BY g"


# ------------------------------------------------------------------ bounds


def sums_and_counts(at: random.Random, groups: int, bits: int) -> list[tuple[int, int]]:
    """Of values of up to so many bits; half of the groups have thousands of them."""
    found = []
    for _ in range(groups):
        count = at.choice((at.randint(1, 600), at.randint(1000, 20_000)))
        size = at.randint(0, 2 ** at.randint(1, bits) - 1)
        found.append((at.choice((1, 1, -1)) * size * count + at.randint(0, count - 1), count))
    return found


def fill(connection: Any, type: str, wanted: list[tuple[int, int]], times: int) -> None:
    """Groups of so many values, of which each of several stands for many: their sums are what is wanted."""
    values = pa.table(  # noqa: F841 - DuckDB finds it by its name
        {
            "g": range(len(wanted)),
            "least": [total // count for total, count in wanted],
            "more": [total % count for total, count in wanted],
            "n": [count for _, count in wanted],
        }
    )
    connection.execute(
        f"CREATE OR REPLACE TABLE t AS SELECT g, (least + CASE WHEN i < more THEN 1 ELSE 0 END)::{type} AS x"
        f" FROM values, range({times}) r(i) WHERE i < n"
    )


@pytest.mark.parametrize("type", [name for name in TYPES if not name.startswith("U")])
def test_averages_are_between_their_bounds(type: str):
    at = random.Random(type)
    wanted = sums_and_counts(at, 150, TYPES[type] - 1)
    differing = 0
    with duckdb.connect() as connection:
        fill(connection, type, wanted, max(count for _, count in wanted))
        for text in (BY_ITSELF, BESIDE_OTHERS):
            for g, average, *_ in connection.execute(text).fetchall():
                total, count = wanted[g]
                ends = [
                    float(bounds(np.array([total / count]), np.array([count]), name)[0])
                    for name in ("lowest_avg", "highest_avg")
                ]
                assert ends[0] <= average <= ends[1], (total, count)
                if is_nearest(total, count):
                    assert average == total / count
                differing += average != total / count
                FIGURES["averages of integers within their bounds"] += 1
    assert differing or type in ("SMALLINT", "INTEGER")


def test_an_average_that_is_not_the_nearest_float(tmp_path: Path):
    """88530634.03879693 in DuckDB; the quotient is nearer to ...695."""
    text = "SELECT g FROM t GROUP BY g HAVING avg(x) > 1000 AND avg(x) < 88530634.03879695"
    total, count = 497453632664, 5619
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql(
                f"CREATE TABLE t AS SELECT 1 AS g, ({total // count} + (i < {total % count})::INT)::INTEGER AS x"
                f" FROM range({count}) r(i)"
            )
            connection.exec_driver_sql("INSERT INTO t VALUES (2, 5), (3, 7)")
        sketches.table("t", partition="g", ranges=3)
        sketches.ask(text, way="capture")
        for row in ((2, 9), (1, 5), (1, -5), (3, 8)):
            sketches.update("t", insert=[row])
            plain = sketches.ask(text, way="plain").rows
            assert sketches.ask(text, way="maintain").rows == plain
        sketches.update("t", delete=[(1, 5), (1, -5)])
        plain = sketches.ask(text, way="plain").rows
        assert plain.to_pylist() == [{"g": 1}]
        assert sketches.ask(text, way="maintain").rows == plain


@pytest.mark.parametrize("summary", ["avg(x)", "sum(x)", "min(x)", "count(x)"])
def test_state_is_made_over_a_table_that_has_lost_all_rows(tmp_path: Path, summary: str):
    """Over no rows there is one row of a group by nothing, and no group that its sums belong to."""
    text = f"SELECT g FROM u WHERE v > (SELECT {summary} FROM t)"
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE t AS SELECT 1 AS g, 2 AS x")
            connection.exec_driver_sql("CREATE TABLE u AS SELECT i AS g, i AS v FROM range(6) r(i)")
        sketches.table("t", partition="g", ranges=2)
        sketches.table("u", partition="g", ranges=3)
        sketches.ask(text, way="capture")
        for change in ({"delete": [(1, 2)]}, {"insert": [(1, 3)]}, {"delete": [(1, 3)]}):
            sketches.update("t", **change)
            plain = sketches.ask(text, way="plain").rows.sort_by("g")
            assert sketches.ask(text, way="maintain").rows.sort_by("g") == plain


def test_ranges_of_integers_that_have_no_sign(tmp_path: Path):
    text = "SELECT g FROM t WHERE x > 3"
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        with sketches.backend.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE t (g INTEGER, x UBIGINT)")
            connection.exec_driver_sql(
                "INSERT INTO t VALUES (1, 18446744073709551615), (2, 3), (3, 18446744073709551614), (4, 9)"
            )
        sketches.table("t", partition="x", ranges=4)
        plain = sketches.ask(text, way="plain").rows.sort_by("g")
        for way in ("capture", "use"):
            assert sketches.ask(text, way=way).rows.sort_by("g") == plain


# ------------------------------------------------------------------ streams

CONDITIONS = (
    "avg(x) > {a} AND avg(x) < {b}",
    "avg(x) >= {a} AND avg(x) < {b}",
    "avg(x) > {a} AND avg(x) <= {b}",
    "avg(x) >= {b}",
    "avg(x) > {a}",
    "avg(x) < {a}",
    "avg(x) <= {a} AND count(*) > 1",
    "avg(x) = {a}",
    "avg(x) = {a} AND sum(x) <> 3",
    "avg(x) <> {a} AND count(x) > 0",
    "NOT (avg(x) < {a} OR avg(x) > {b})",
    "avg(x) IN ({a}, {b}) OR avg(x) IS NULL",
    "NOT avg(x) IN ({a}, {b})",
    "avg(x) BETWEEN {a} AND {b} AND sum(y) > 0",
    "avg(x) > {a} AND avg(y) <= {b}",
    "avg(x) < avg(y)",
    "avg(x) = avg(y) AND count(y) > 1",
    "avg(DISTINCT x) >= {a}",
    "avg(x) < {a} OR max(y) < 3",
)
OTHERS = (
    "SELECT g FROM (SELECT g, avg(x) AS a, count(*) AS n FROM t GROUP BY g) AS s WHERE a < {a} AND n > 2",
    "SELECT t.g FROM t JOIN (SELECT g, avg(x) AS a FROM t GROUP BY g) AS s ON t.g = s.g AND s.a > {a} WHERE t.i = 0",
    "SELECT g FROM u WHERE g IN (SELECT g FROM t GROUP BY g HAVING avg(x) >= {a})",
)
UNSURE = (
    "SELECT g FROM t GROUP BY g HAVING avg(x) * 2 > {a} * 2",
    "SELECT g, avg(x) AS a FROM t GROUP BY g ORDER BY avg(x) DESC, g LIMIT 2",
    "SELECT u.g FROM u JOIN (SELECT count(*) AS n FROM (SELECT g FROM t GROUP BY g HAVING avg(x) > {a}) AS q) AS s"
    " ON u.g = s.n",
)
"""Those that need averages themselves, not bounds: they are captured again where two are possible."""


@dataclass
class Group:
    """A group of one number of rows, whose sum moves among some: in most of them, the ways of rounding differ."""

    g: int
    count: int
    totals: list[int]
    now: int
    own: int = 0
    """The value of the one row that changes (`i` is 0)."""


def in_both_ways(total: int, count: int) -> set[float]:
    """What DuckDB may have for an average: the quotient in `long double`, and in `double`."""
    high, low = divmod(total, 2**32)
    wide = np.longdouble(high) * np.longdouble(2**32) + np.longdouble(low)
    return {float(wide / np.longdouble(count)), float(total) / count}


def hard_sums(at: random.Random, type: str) -> tuple[int, list[int]]:
    """A number of rows, and sums near each other."""
    bits = TYPES[type]
    if bits > 40 and at.random() < 0.6:
        count = at.randint(3, 40)
        most = 2 ** (bits if at.random() < 0.1 else 57)  # few sums have more than 64 bits
        near = at.randint(2**50, most - 1) * count
        return count, [near + at.randint(0, 2 ** at.randint(1, 20)) for _ in range(4)]
    count = at.randint(2100, 3500)
    bits = min(bits, 38)
    near = at.randint(2 ** (bits - 3), 2 ** (bits - 1)) * count
    found: list[int] = []
    most = 2 ** min(bits - 2, 20)
    for _ in range(40_000):
        total = near + at.randint(0, most)
        if in_both_ways(total, count) != {total / count}:
            assert not is_nearest(total, count)
            found.append(total)
            if len(found) == 2:
                break
    return count, [*found, near + at.randint(0, most)]


def near_floats(at: random.Random, group: Group) -> list[str]:
    """Two floats as texts, in order: one is an average of a group in one of the ways, or just beside it."""
    total = at.choice(group.totals)
    value = at.choice(sorted({*in_both_ways(total, group.count), total / group.count}))
    if at.random() < 0.2:
        value = math.nextafter(value, at.choice((-math.inf, math.inf)))
    other = value * at.choice((1 - 1e-12, 1 + 1e-12))
    return [repr(each) for each in sorted((value, other))]


def make_tables(connection: Any, type: str, groups: list[Group]) -> None:
    connection.exec_driver_sql(f"CREATE TABLE t (g INTEGER, i INTEGER, x {type}, y {type})")
    connection.exec_driver_sql("CREATE TABLE u (g INTEGER)")
    connection.exec_driver_sql(f"INSERT INTO u SELECT i FROM range({len(groups)}) r(i)")
    for group in groups:
        least, more = divmod(group.now, group.count)
        group.own = least
        connection.exec_driver_sql(
            f"INSERT INTO t SELECT {group.g}, i, {least} + (i > 0 AND i <= {more})::INT,"
            f" {least} + (i > 0 AND i <= {more})::INT FROM range({group.count}) r(i)"
        )


def follow(seed: int, folder: Path, versions: int = 4, groups: int = 5, queries: int = 5) -> None:
    at = random.Random(seed)
    type = at.choice(list(TYPES))
    made = []
    for g in range(groups):
        count, totals = hard_sums(at, type)
        made.append(Group(g, count, totals, at.choice(totals)))
    texts = []
    for _ in range(queries):
        a, b = near_floats(at, at.choice(made))
        having = [f"SELECT g FROM t GROUP BY g HAVING {each}" for each in at.sample(CONDITIONS, 5)]
        texts.append(at.choice((*having, *OTHERS, at.choice(UNSURE))).format(a=a, b=b))
    with hw.sketches(f"duckdb:///{folder}/t.db", folder / "state") as sketches:
        with sketches.backend.engine.begin() as connection:
            make_tables(connection, type, made)
            if at.random() < 0.5:
                connection.exec_driver_sql("INSERT INTO t VALUES (0, -1, NULL, NULL)")
        sketches.table("t", partition="g", ranges=groups)
        sketches.table("u", partition="g", ranges=groups)
        by_g = FragmentNumbers((SlotRanges(Slot("t", "g"), Ranges("g", tuple(range(1, groups)))),))
        followed: dict[str, Maintainer] = {}
        for text in texts:
            sketches.ask(text, way="capture")
            plan = parse(text, sketches.backend.schemas(), "duckdb").plan
            try:
                maintainer = Maintainer(plan, by_g, sketches.backend)
                maintainer.capture()
                followed[text] = maintainer
            except SketchError as error:
                assert error.code == "not-maintained"
        for _ in range(versions):
            insert, delete = [], []
            for group in at.sample(made, at.randint(1, 2)):
                target = at.choice(group.totals)
                if group.own + target - group.now < 0 or target == group.now:
                    continue
                delete.append((group.g, 0, group.own, group.own))
                group.own += target - group.now
                group.now = target
                insert.append((group.g, 0, group.own, group.own))
            if insert:
                sketches.update("t", insert=insert, delete=delete)
            for text in texts:
                check(sketches, text, followed)


def needs_averages(text: str) -> bool:
    return any(text.startswith(each.partition("{")[0]) for each in UNSURE)


def check(sketches: Any, text: str, followed: dict[str, Maintainer]) -> None:
    order = [("g", "ascending")]
    plain = sketches.ask(text, way="plain").rows.sort_by(order)
    try:
        assert sketches.ask(text, way="maintain").rows.sort_by(order) == plain, text
        FIGURES["answers over maintained averages"] += 1
    except SketchError as error:
        assert error.code == "not-maintained" and (needs_averages(text) or "too long" in error.message), text
        FIGURES["averages that are captured again"] += 1
        for way in ("capture", "use"):
            assert sketches.ask(text, way=way).rows.sort_by(order) == plain, text
    if text in followed and not needs_averages(text):
        followed[text].maintain()
        sketch = followed[text].sketch
        assert (
            sketch == Maintainer(followed[text].plan, followed[text].numbers, sketches.backend).capture()
        ), text
        needed = set(plain.column("g").to_pylist())
        assert needed <= sketch.parts[0].fragments, text


@settings(max_examples=examples(6), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_conditions_on_averages_miss_no_group(seed: int, tmp_path_factory: pytest.TempPathFactory):
    follow(seed, tmp_path_factory.mktemp("db"))


@settings(max_examples=examples(4), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_state_in_sql_misses_no_group(seed: int, tmp_path_factory: pytest.TempPathFactory):
    at, folder = random.Random(seed), tmp_path_factory.mktemp("db")
    made = []
    type = at.choice(list(TYPES))
    for g in range(4):
        count, totals = hard_sums(at, type)
        made.append(Group(g, count, totals, at.choice(totals)))
    with hw.sketches(f"duckdb:///{folder}/t.db", folder / "state") as sketches:
        with sketches.backend.engine.begin() as connection:
            make_tables(connection, type, made)
        sketches.table("t", partition="g", ranges=4)
        for name, condition in enumerate(at.sample(CONDITIONS, 6)):
            a, b = near_floats(at, at.choice(made))
            text = f"SELECT g FROM t GROUP BY g HAVING {condition.format(a=a, b=b)}"
            plan = parse(text, sketches.backend.schemas(), "duckdb").plan
            state = SqlMaintainer(f"q{name}", plan, {0: (Ranges("g", (1, 2, 3)),)}, sketches.backend)
            found = state.capture()
            needed = set(sketches.ask(text, way="plain").rows.column("g").to_pylist())
            assert needed <= found.parts[0].fragments, text
            FIGURES["sketches by averages in SQL"] += 1


# ------------------------------------------------------------------ where conditions are read as bounds

SCHEMAS = {"t": table_schema("t", "g int, v int, f double"), "u": table_schema("u", "g int")}


@pytest.mark.parametrize(
    ("text", "is_bounded"),
    [
        ("SELECT g FROM t GROUP BY g HAVING avg(v) > 1", True),
        ("SELECT g FROM (SELECT g, avg(v) AS a FROM t GROUP BY g) AS s WHERE a > 1", True),
        ("SELECT DISTINCT b FROM (SELECT g AS b, avg(v) AS a FROM t GROUP BY g) AS s WHERE a > 1", True),
        ("SELECT g FROM t GROUP BY g HAVING avg(f) > 1", False),
        ("SELECT g FROM t GROUP BY g HAVING avg(v) + 1 > 1", False),
        ("SELECT g, avg(v) AS a FROM t GROUP BY g HAVING count(*) > 1", False),
        ("SELECT g FROM t GROUP BY g HAVING avg(v) > 1 ORDER BY g LIMIT 2", False),
        ("SELECT count(*) AS n FROM (SELECT g FROM t GROUP BY g HAVING avg(v) > 1) AS s", False),
        ("SELECT g FROM u EXCEPT SELECT g FROM t GROUP BY g HAVING avg(v) > 1", False),
        ("SELECT g FROM u WHERE g NOT IN (SELECT g FROM t GROUP BY g HAVING avg(v) > 1)", False),
    ],
)
def test_more_groups_are_let_through_where_that_adds_fragments_only(text: str, is_bounded: bool):
    plan = parse(text, SCHEMAS, "duckdb").plan
    bounded = with_average_bounds(plan, "duckdb")
    assert (bounded != plan) == is_bounded
    assert bounded.attributes == plan.attributes
    assert with_average_bounds(plan, "spark") is plan
