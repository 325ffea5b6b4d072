"""State in tables of the database: after every change, the sketch that a capture gives, and that of the other way."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import FIGURES, examples
from oracle_sketch import random_ranges, random_slots
from oracle_sql import Rows, SketchWriter, database

from headwater.errors import SketchError
from headwater.language.sql.algebra import Operator, scans
from headwater.language.sql.parser import parse
from headwater.sketch.captured import captured
from headwater.sketch.in_sql.sql_maintainer import SqlMaintainer
from headwater.sketch.maintain.maintainer import Maintainer
from headwater.sketch.maintain.numbering import FragmentNumbers, SlotRanges
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Sketch, Slot
from headwater.sketch.tables.sql_backend import SqlBackend

COLUMNS = {
    "r": {"a": "bigint", "b": "bigint", "c": "bigint"},
    "s": {"a": "bigint", "d": "bigint", "e": "text"},
    "u": {"b": "bigint", "f": "bigint"},
}


def declared(name: str) -> str:
    return f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in COLUMNS[name].items())})"


def duckdb_backend(folder: Path) -> SqlBackend:
    with duckdb.connect(str(folder / "t.db")) as connection:
        for name in COLUMNS:
            connection.execute(declared(name))
    return named(SqlBackend(f"duckdb:///{folder / 't.db'}"))


def named(backend: SqlBackend) -> SqlBackend:
    for name in COLUMNS:
        backend.table(name)
    return backend


def arrow(name: str, rows: Rows) -> pa.Table | None:
    if not rows:
        return None
    kinds = {"bigint": pa.int64(), "text": pa.string()}
    columns = zip(COLUMNS[name].items(), zip(*rows, strict=True), strict=True)
    return pa.table({column: pa.array(cells, kinds[kind]) for (column, kind), cells in columns})


def fragments(sketch: Sketch) -> dict[Slot, frozenset[int]]:
    return {part.slot: part.fragments for part in sketch.parts}


class Stream:
    """Tables that change at random."""

    def __init__(self, rng: random.Random, backend: SqlBackend):
        self.rng, self.backend = rng, backend
        self.rows: dict[str, Rows] = {name: [] for name in COLUMNS}

    def change(self, most: int) -> None:
        come = database(self.rng, most)
        for name in self.rng.sample(sorted(COLUMNS), self.rng.randint(1, 3)):
            gone = self.rng.sample(self.rows[name], min(len(self.rows[name]), self.rng.randrange(4)))
            # a row that comes and goes at once is no change
            insert = list((Counter(come[name]) - Counter(gone)).elements())
            delete = list((Counter(gone) - Counter(come[name])).elements())
            if not insert and not delete:
                continue
            self.backend.update(name, arrow(name, insert), arrow(name, delete))
            self.rows[name] = list((Counter(self.rows[name]) - Counter(delete) + Counter(insert)).elements())


def supported(rng: random.Random, backend: SqlBackend) -> tuple[str, Operator]:
    while True:
        writer = SketchWriter(rng)
        text = rng.choice([writer.write_having, writer.write_having, writer.write_plain])()
        plan = parse(text, backend.schemas(), dialect="duckdb").plan
        try:
            SqlMaintainer("probe", plan, {}, backend)
        except SketchError as refused:
            assert refused.code == "no-sql-strategy"
            continue
        return text, plan


def follow(rng: random.Random, backend: SqlBackend, versions: int) -> None:
    stream = Stream(rng, backend)
    stream.change(15)
    text, plan = supported(rng, backend)
    slots = random_slots(rng, plan)
    ranges = random_ranges(rng, slots)
    every = {table: tuple(cut for slot, cut in ranges.items() if slot.table == table) for table in COLUMNS}
    accesses = {scan.access: every[scan.table] for scan in scans(plan) if every[scan.table]}
    in_sql = SqlMaintainer("q", plan, accesses, backend)
    numbers = FragmentNumbers(tuple(SlotRanges(slot, cut) for slot, cut in ranges.items()))
    in_memory = Maintainer(plan, numbers, backend)
    assert fragments(in_sql.capture()) == fragments(in_memory.capture()), text
    for _ in range(versions):
        stream.change(5)
        found = in_sql.maintain()
        in_memory.maintain()
        assert fragments(found) == fragments(captured(backend, plan, accesses).sketch), text
        assert fragments(found) == fragments(in_memory.sketch), text
        assert found.versions == {scan.table: backend.version(scan.table) for scan in scans(plan)}
        FIGURES["versions of sketches in SQL"] += 1


@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_duckdb_follows(seed: int, tmp_path_factory: Any):
    backend = duckdb_backend(tmp_path_factory.mktemp("db"))
    follow(random.Random(seed), backend, 4)
    backend.engine.dispose()


@settings(max_examples=examples(5), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_postgresql_follows(seed: int, postgres: Any):
    backend = SqlBackend(postgres.new_database())
    with backend.engine.begin() as connection:
        for name in COLUMNS:
            connection.exec_driver_sql(declared(name))
    follow(random.Random(seed), named(backend), 3)
    backend.engine.dispose()


HAVING = "SELECT a, sum(b) AS f FROM r GROUP BY a HAVING sum(b) > 3"
BY_C = {0: (Ranges("c", (1, 2)),)}


def test_a_state_is_found_again_by_its_name(tmp_path: Path):
    backend = duckdb_backend(tmp_path)
    plan = parse(HAVING, backend.schemas()).plan
    backend.update("r", arrow("r", [(1, 5, 0), (2, 1, 1)]), None)
    first = SqlMaintainer("q", plan, BY_C, backend).capture()
    assert fragments(first) == {Slot("r", "c"): frozenset({0})}
    backend.update("r", arrow("r", [(2, 7, 2)]), None)
    again = SqlMaintainer("q", plan, BY_C, backend).maintain()
    assert fragments(again) == {Slot("r", "c"): frozenset({0, 1, 2})}


def test_changes_that_nobody_recorded_are_refused_and_nothing_is_lost(tmp_path: Path):
    backend = duckdb_backend(tmp_path)
    plan = parse(HAVING, backend.schemas()).plan
    backend.update("r", arrow("r", [(1, 5, 0)]), None)
    maintainer = SqlMaintainer("q", plan, BY_C, backend)
    maintainer.capture()
    with backend.engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO r VALUES (2, 9, 2)")
    with pytest.raises(SketchError) as caught:
        maintainer.maintain()
    assert caught.value.code == "no-changes"
    assert fragments(maintainer.capture()) == {Slot("r", "c"): frozenset({0, 2})}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM r ORDER BY a LIMIT 2",
        "SELECT a FROM r UNION ALL SELECT a FROM s",
        "SELECT DISTINCT a FROM r",
        "SELECT a FROM r LEFT JOIN s USING (a)",
        "SELECT a, sum(b * 1e0) FROM r GROUP BY a",
        "SELECT n, count(*) FROM (SELECT a, count(*) AS n FROM r GROUP BY a) q GROUP BY n",
    ],
)
def test_other_queries_are_left_to_the_operators_in_memory(text: str, tmp_path: Path):
    backend = duckdb_backend(tmp_path)
    with pytest.raises(SketchError) as caught:
        SqlMaintainer("q", parse(text, backend.schemas()).plan, {}, backend)
    assert caught.value.code == "no-sql-strategy"


def test_names_are_plain(tmp_path: Path):
    backend = duckdb_backend(tmp_path)
    with pytest.raises(SketchError) as caught:
        SqlMaintainer("a; drop", parse(HAVING, backend.schemas()).plan, {}, backend)
    assert caught.value.code == "bad-name"


def test_names_with_quotes_are_names(postgres: Any):
    backend = SqlBackend(postgres.new_database())
    with backend.engine.begin() as connection:
        connection.exec_driver_sql('CREATE TABLE "it\'s" ("a\'b" TEXT COLLATE "C", x BIGINT)')
    backend.table("it's")
    assert backend.update("it's", pa.table({"a'b": ["y"], "x": [1]}), None) == 1
    assert backend.changes("it's", 0, 1).rows.to_pylist() == [{"a'b": "y", "x": 1}]
    assert backend.sample("it's", "a'b", 10).to_pylist() == ["y"]
    backend.close()
