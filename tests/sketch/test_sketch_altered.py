"""Tables of databases that get other columns, and names that are long or must be quoted."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy

import headwater as hw
from headwater.errors import SketchError, SqlError

TEXT = "SELECT x FROM t WHERE x > 1"


@pytest.fixture(params=["duckdb", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "duckdb":
        return f"duckdb:///{tmp_path}/t.db"
    return request.getfixturevalue("postgres").new_database()


def does(sketches: Any, *texts: str) -> None:
    with sketches.backend.engine.begin() as connection:
        for text in texts:
            connection.exec_driver_sql(text)


def answered(sketches: Any, text: str = TEXT, way: str | None = None) -> list[Any]:
    return sorted(tuple(row.values()) for row in sketches.ask(text, way=way).rows.to_pylist())


def test_a_column_that_is_added_is_recorded_from_then_on(address: str, tmp_path: Path):
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2)")
        sketches.table("t", partition="x", ranges=4)
        answered(sketches, way="capture")
        sketches.update("t", insert=[(3,)])
        does(sketches, "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 7")
        sketches.table("t", partition="x", ranges=4)
        assert answered(sketches) == [(2,), (3,)]  # what changed meanwhile is not known
        sketches.update("t", insert=[(4, 8)], delete=[(3, 7)])
        assert answered(sketches, way="maintain") == [(2,), (4,)]
        assert answered(sketches, "SELECT z FROM t") == [(7,), (7,), (8,)]
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.update("t", insert=[{"z": 9, "x": 5}])
        assert answered(sketches, way="maintain") == [(2,), (4,), (5,)]


def test_writers_of_postgresql_go_on_after_a_column_was_added(postgres: Any, tmp_path: Path):
    address = postgres.new_database()
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2)")
        sketches.table("t", partition="x", ranges=4)
        does(sketches, "ALTER TABLE t ADD COLUMN z BIGINT")
    with hw.sketches(address, tmp_path / "state") as sketches:
        answered(sketches, way="capture")
        does(sketches, "INSERT INTO t VALUES (3, 9)", "DELETE FROM t WHERE x = 2")
        assert answered(sketches, way="maintain") == [(3,)]


def test_dots_and_quotes_may_be_in_the_names_of_columns(address: str, tmp_path: Path):
    text = 'SELECT r."a.b" FROM r, s WHERE r."a.b" = s."a.b" AND s."c""$1" > 1'
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, 'CREATE TABLE r ("a.b" INTEGER)', "INSERT INTO r VALUES (1), (2)")
        does(
            sketches, 'CREATE TABLE s ("a.b" INTEGER, "c""$1" INTEGER)', "INSERT INTO s VALUES (1, 1), (2, 2)"
        )
        sketches.table("r", partition="a.b", ranges=4)
        sketches.table("s", partition='c"$1', ranges=4)
        assert answered(sketches, text, "capture") == [(2,)]
        sketches.maintain()
        sketches.update("s", insert=[(1, 5)], delete=[(2, 2)])
        assert answered(sketches, text, "maintain") == [(1,)]


def test_tables_with_long_names_are_recorded_each_for_itself(address: str, tmp_path: Path):
    """PostgreSQL cuts names after 63 bytes: of triggers with one name the last would be the only one."""
    sales = "sales_of_all_the_shops_in_the_north_and_the_south_2024"
    text = f"SELECT x FROM {sales} WHERE x > 1"
    with hw.sketches(address, tmp_path / "state") as sketches:
        for name in (sales, f"{sales}_again"):
            does(sketches, f"CREATE TABLE {name} (x INTEGER)", f"INSERT INTO {name} VALUES (1), (2)")
            sketches.table(name, partition="x", ranges=4)
        assert answered(sketches, text, "capture") == [(2,)]
        sketches.update(f"{sales}_again", insert=[(7,)])
        sketches.update(sales, insert=[(5,)], delete=[(2,)])
        assert answered(sketches, text, "maintain") == [(5,)]
        if sketches.backend.dialect == "postgres":
            does(sketches, f"INSERT INTO {sales} VALUES (6)", f"UPDATE {sales} SET x = 9 WHERE x = 1")
            assert answered(sketches, text, "maintain") == [(5,), (6,), (9,)]


REMADE = ("DROP TABLE t", "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (5), (6), (7)")
"""The same columns, other rows."""
SWAPPED = (
    "CREATE TABLE fresh (x INTEGER)",
    "INSERT INTO fresh VALUES (5), (6), (7)",
    "ALTER TABLE t RENAME TO old",
    "ALTER TABLE fresh RENAME TO t",
)
"""As tools do that refresh tables as a whole."""


@pytest.mark.parametrize("how", [REMADE, SWAPPED], ids=["dropped", "swapped"])
@pytest.mark.parametrize("is_open", [True, False])
def test_a_table_that_was_made_anew_is_noticed(
    address: str, tmp_path: Path, how: tuple[str, ...], is_open: bool
):
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2)")
        sketches.table("t", partition="x", ranges=4)
        assert answered(sketches, way="capture") == [(2,)]
        if is_open:
            does(sketches, *how)
            assert answered(sketches) == [(5,), (6,), (7,)]
    if not is_open:
        with hw.sketches(address, tmp_path / "other") as others:
            does(others, *how)
    with hw.sketches(address, tmp_path / "state") as sketches:
        assert answered(sketches) == [(5,), (6,), (7,)]
        sketches.update("t", insert=[(8,)], delete=[(5,)])
        assert answered(sketches) == [(6,), (7,), (8,)]
        assert answered(sketches, way="capture") == [(6,), (7,), (8,)]
        does(sketches, *(["INSERT INTO old VALUES (9)"] if how is SWAPPED else []))
        assert answered(sketches) == [(6,), (7,), (8,)]


def test_other_writers_of_a_table_that_was_made_anew_are_followed(postgres: Any, tmp_path: Path):
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2)")
        sketches.table("t", partition="x", ranges=4)
        answered(sketches, way="capture")
        does(sketches, *SWAPPED)
        sketches.maintain()
        assert answered(sketches, way="capture") == [(5,), (6,), (7,)]
        does(sketches, "INSERT INTO t VALUES (8)", "DELETE FROM t WHERE x = 5")
        assert answered(sketches, way="maintain") == [(6,), (7,), (8,)]


@pytest.mark.parametrize("trigger", ["DISABLE TRIGGER ALL", "DISABLE TRIGGER USER"])
def test_triggers_that_were_disabled_are_noticed(postgres: Any, tmp_path: Path, trigger: str):
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2)")
        sketches.table("t", partition="x", ranges=4)
        answered(sketches, way="capture")
        does(sketches, f"ALTER TABLE t {trigger}", "INSERT INTO t VALUES (3)")
        assert answered(sketches) == [(2,), (3,)]


BY_G = "SELECT x FROM t WHERE g > 1"
"""Of what `two_tables` makes, another fragment for each of the tables."""


def two_tables(sketches: Any) -> None:
    """A table that is sketched, and another with the same columns."""
    does(sketches, "CREATE TABLE t (x INTEGER, g INTEGER)", "INSERT INTO t VALUES (1, 5), (9, 0)")
    does(sketches, "CREATE TABLE b (x INTEGER, g INTEGER)", "INSERT INTO b VALUES (1, 0), (9, 5)")
    sketches.table("t", partition="x", ranges=2)
    assert answered(sketches, BY_G, "capture") == [(1,)]


SWAP = ("ALTER TABLE t RENAME TO o", "ALTER TABLE b RENAME TO t")
BACK = ("ALTER TABLE t RENAME TO b", "ALTER TABLE o RENAME TO t")


UNSEEN = {
    "replica": ("SET LOCAL session_replication_role = replica", "INSERT INTO t VALUES (9, 9)"),
    "same type": ("ALTER TABLE t ALTER COLUMN g TYPE INTEGER USING 5 - g",),
    "other type": ("ALTER TABLE t ALTER COLUMN g TYPE BIGINT USING 5 - g",),
    "other column": ("ALTER TABLE t DROP COLUMN g", "ALTER TABLE t ADD COLUMN g INTEGER DEFAULT 7"),
}
"""What changes a table of PostgreSQL past ordinary triggers."""


@pytest.mark.parametrize("how", UNSEEN.values(), ids=UNSEEN)
@pytest.mark.parametrize("is_open", [True, False])
def test_what_ordinary_triggers_do_not_see_is_noticed(
    postgres: Any, tmp_path: Path, how: tuple[str, ...], is_open: bool
):
    address = postgres.new_database()
    with hw.sketches(address, tmp_path / "state") as sketches:
        two_tables(sketches)
        sketches.maintain()
        if is_open:
            does(sketches, *how)
            assert answered(sketches, BY_G) == answered(sketches, BY_G, "plain") != [(1,)]
    if not is_open:
        with hw.sketches(address, tmp_path / "other") as others:
            does(others, *how)
    with hw.sketches(address, tmp_path / "state") as sketches:
        assert answered(sketches, BY_G) == answered(sketches, BY_G, "plain") != [(1,)]


def test_what_changes_no_values_does_not_begin_again(postgres: Any, tmp_path: Path):
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        two_tables(sketches)
        sketches.maintain()
        does(sketches, "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 7", "CREATE INDEX ON t (g)", "ANALYZE t")
        with sketches.backend.engine.connect() as connection:
            free = connection.execution_options(isolation_level="AUTOCOMMIT")
            for table in ("t", "pg_attribute", "pg_trigger", "pg_proc"):
                free.exec_driver_sql(f"VACUUM (FULL, FREEZE) {table}")
        does(sketches, "INSERT INTO t VALUES (4, 4)")
        answer = sketches.ask(BY_G, way="maintain")
        assert (answer.decision.changed, answer.rows.num_rows) == (1, 2)


def test_a_table_that_a_subscription_writes_to_is_refused(postgres: Any, tmp_path: Path):
    """Nobody's statements change it, so triggers see nothing."""
    elsewhere = sqlalchemy.create_engine(postgres.new_database(), isolation_level="AUTOCOMMIT")
    with elsewhere.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x INTEGER, g INTEGER)")
        connection.exec_driver_sql("CREATE PUBLICATION changes FOR TABLE t")
    where = f"host={postgres.folder} port={postgres.port} user=postgres dbname={elsewhere.url.database}"
    elsewhere.dispose()
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        two_tables(sketches)
        sketches.maintain()
        does(
            sketches,
            f"CREATE SUBSCRIPTION taken CONNECTION '{where}' PUBLICATION changes"
            " WITH (enabled = false, create_slot = false, slot_name = NONE, copy_data = false)",
        )
        for call in (lambda: sketches.ask(BY_G), lambda: sketches.table("t")):
            with pytest.raises(SketchError, match="subscription") as found:
                call()
            assert found.value.code == "not-recorded"
        does(sketches, "DROP SUBSCRIPTION taken")
        assert answered(sketches, BY_G) == [(1,)]


def test_triggers_that_are_enabled_again_were_disabled(postgres: Any, tmp_path: Path):
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        two_tables(sketches)
        for trigger in ("USER", "headwater_record_t_insert"):
            does(
                sketches,
                f"ALTER TABLE t DISABLE TRIGGER {trigger}",
                "INSERT INTO t VALUES (9, 9)",
                f"ALTER TABLE t ENABLE TRIGGER {trigger}",
            )
            assert (9,) in answered(sketches, BY_G)
            does(sketches, "DELETE FROM t WHERE g = 9")
            assert answered(sketches, BY_G, "maintain") == [(1,)]


def test_triggers_that_are_disabled_while_the_folder_is_opened(postgres: Any, tmp_path: Path):
    address = postgres.new_database()
    with hw.sketches(address, tmp_path / "state") as sketches:
        two_tables(sketches)
    other = sqlalchemy.create_engine(address)
    with other.connect() as writer:
        change = writer.begin()
        writer.exec_driver_sql("ALTER TABLE t DISABLE TRIGGER USER")
        writer.exec_driver_sql("INSERT INTO t VALUES (9, 9)")
        with ThreadPoolExecutor() as pool:
            opened = pool.submit(hw.sketches, address, tmp_path / "state")
            while not waits_for_a_lock(writer):
                assert not opened.done()
            change.commit()
            with opened.result() as sketches:
                assert answered(sketches, BY_G) == [(1,), (9,)]
    other.dispose()


def test_a_transaction_that_holds_a_table_is_not_waited_for_longer_than_others_are(
    postgres: Any, tmp_path: Path
):
    address = postgres.new_database()
    with hw.sketches(address, tmp_path / "state") as sketches:
        two_tables(sketches)
    other = sqlalchemy.create_engine(address)
    with other.connect() as reader:
        reader.exec_driver_sql("SELECT * FROM t")
        for patience in (0, 0.2):
            with pytest.raises(SketchError) as found:
                hw.sketches(address, tmp_path / "state", patience=patience)
            assert found.value.code == "database-in-use" and "patience" in str(found.value.hint)
    other.dispose()
    with hw.sketches(address, tmp_path / "state") as sketches:
        assert answered(sketches, BY_G) == [(1,)]


def waits_for_a_lock(connection: Any) -> bool:
    found = connection.exec_driver_sql("SELECT count(*) FROM pg_locks WHERE NOT granted")
    return bool(found.scalar())


def test_a_table_that_is_swapped_and_swapped_back_is_another_each_time(postgres: Any, tmp_path: Path):
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        two_tables(sketches)
        does(sketches, *SWAP)
        assert answered(sketches, BY_G, "capture") == [(9,)]
        does(sketches, *BACK)
        assert answered(sketches, BY_G) == [(1,)]
        does(sketches, "INSERT INTO t VALUES (7, 7)")
        assert answered(sketches, BY_G, "maintain") == [(1,), (7,)]


def test_a_table_is_not_swapped_while_a_query_reads_it(postgres: Any, tmp_path: Path):
    """Rows are those of the transaction's beginning, but names mean what they mean now."""
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches, ThreadPoolExecutor() as pool:
        two_tables(sketches)
        backend = sketches.backend
        with backend.moment():
            backend.versions(["t"])
            with backend.engine.connect() as other:
                swapped = pool.submit(does, sketches, *SWAP)
                while not waits_for_a_lock(other):
                    assert not swapped.done()
            assert backend.sample("t", "g", 9).to_pylist() == [5, 0]
        swapped.result()
        assert answered(sketches, BY_G) == [(9,)]


def test_changes_of_a_table_that_is_gone_or_another_are_refused_as_such(address: str, tmp_path: Path):
    with hw.sketches(address, tmp_path / "state") as sketches:
        two_tables(sketches)
        for change, code in (
            ("DROP TABLE t", "unknown-table"),
            ("CREATE TABLE t (y INTEGER)", "table-replaced"),
        ):
            does(sketches, change)
            with pytest.raises(SketchError) as found:
                sketches.update("t", insert=[(1, 1)])
            assert found.value.code == code
        assert answered(sketches, "SELECT count(*) FROM t") == [(0,)]


def test_writers_need_no_rights_in_the_records_and_no_path_to_them(postgres: Any, tmp_path: Path):
    text = "SELECT x FROM shop.sales WHERE x > 1"
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        does(
            sketches, "CREATE SCHEMA shop", "CREATE TABLE shop.sales (x INTEGER)", "DROP ROLE IF EXISTS clerk"
        )
        does(sketches, "CREATE ROLE clerk", "GRANT USAGE ON SCHEMA shop TO clerk")
        does(sketches, "GRANT INSERT ON shop.sales TO clerk", "INSERT INTO shop.sales VALUES (1), (2)")
        sketches.table("shop.sales", partition="x", ranges=4)
        assert answered(sketches, text, "capture") == [(2,)]
        does(
            sketches,
            "SET LOCAL search_path = shop",
            "CREATE TEMPORARY TABLE headwater_versions (name TEXT, version BIGINT, writer BIGINT)",
            "GRANT ALL ON headwater_versions TO clerk",
            "SET LOCAL ROLE clerk",
            "INSERT INTO sales VALUES (3)",
            "RESET ROLE",
            "DROP TABLE headwater_versions",
        )
        assert answered(sketches, text, "maintain") == [(2,), (3,)]
        does(sketches, "DROP OWNED BY clerk", "DROP ROLE clerk")


PART = ("CREATE TABLE p (x INTEGER, g INTEGER) PARTITION BY RANGE (x)",)
PART += ("ALTER TABLE p ATTACH PARTITION t FOR VALUES FROM (0) TO (99)", "INSERT INTO p VALUES (9, 9)")
CHILD = ("CREATE TABLE c () INHERITS (t)", "INSERT INTO c VALUES (9, 9)")


@pytest.mark.parametrize("how", [PART, CHILD], ids=["part", "child"])
def test_a_table_that_becomes_a_part_is_refused_and_stops_no_others(
    postgres: Any, tmp_path: Path, how: tuple[str, ...]
):
    others = "SELECT x FROM b WHERE g > 1"
    address = postgres.new_database()
    with hw.sketches(address, tmp_path / "state") as sketches:
        two_tables(sketches)
        sketches.table("b", partition="x", ranges=2)
        answered(sketches, others, "capture")
        does(sketches, *how)
        for call in (sketches.ask, sketches.explain):
            with pytest.raises(SketchError) as found:
                call(BY_G)
            assert found.value.code == "not-recorded"
        assert [each.way for each in sketches.maintain().values()] == ["plain", "maintain"]
    with hw.sketches(address, tmp_path / "state") as sketches:
        assert answered(sketches, others) == [(9,)]
        with pytest.raises(SqlError) as missing:
            sketches.ask(BY_G)
        assert (missing.value.code, missing.value.hint) == (
            "unknown-table",
            "named, but not where it was, or a partition now: t",
        )
        does(sketches, "ALTER TABLE p DETACH PARTITION t" if how is PART else "DROP TABLE c")
        assert answered(sketches, BY_G) == ([(1,), (9,)] if how is PART else [(1,)])


@pytest.mark.parametrize("ask", [None, "capture", "plain"])
def test_a_table_with_other_columns_is_taken_in_again(address: str, tmp_path: Path, ask: str | None):
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2)")
        sketches.table("t", partition="x", ranges=4)
        answered(sketches, way="capture")
        does(
            sketches, "DROP TABLE t", "CREATE TABLE t (y VARCHAR, x BIGINT)", "INSERT INTO t VALUES ('a', 4)"
        )
        assert answered(sketches, "SELECT y FROM t WHERE x > 1", ask) == [("a",)]
        assert answered(sketches, way=ask) == [(4,)]
        sketches.update("t", insert=[("b", 5)])
        assert answered(sketches) == [(4,), (5,)]
        assert "next:" in sketches.explain(TEXT)


def test_a_column_that_is_dropped_is_missed_by_the_queries_that_read_it(address: str, tmp_path: Path):
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER, y INTEGER)", "INSERT INTO t VALUES (1, 1), (2, 2)")
        sketches.table("t", partition="y", ranges=4)
        answered(sketches, way="capture")
        answered(sketches, "SELECT y FROM t WHERE x > 1")
        does(sketches, "ALTER TABLE t DROP COLUMN x")
        with pytest.raises(SqlError) as found:
            sketches.ask(TEXT)
        assert found.value.code == "unknown-column"
        assert [each.way for each in sketches.maintain().values()] in ([], ["plain"])
        assert answered(sketches, "SELECT y FROM t") == [(1,), (2,)]


@pytest.mark.parametrize("name", ["parent", "part", "v"])
def test_what_triggers_do_not_see_is_refused(postgres: Any, tmp_path: Path, name: str):
    with hw.sketches(postgres.new_database(), tmp_path / "state") as sketches:
        does(
            sketches,
            "CREATE TABLE parent (x INTEGER) PARTITION BY RANGE (x)",
            "CREATE TABLE part PARTITION OF parent FOR VALUES FROM (0) TO (10)",
            "CREATE VIEW v AS SELECT x FROM parent",
        )
        with pytest.raises(SketchError) as found:
            sketches.table(name)
        assert found.value.code == "not-recorded"


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize(
    "change", ["ALTER TABLE t DROP COLUMN y", "ALTER TABLE t ALTER COLUMN y TYPE VARCHAR"]
)
def test_sketches_by_an_attribute_that_is_another_now_begin_again(
    address: str, tmp_path: Path, change: str, is_open: bool
):
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER, y INTEGER)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
        sketches.table("t", partition="y", ranges=4)
        assert answered(sketches, way="capture") == [(2,), (3,)]
        if is_open:
            does(sketches, change)
            sketches.maintain()
    if not is_open:
        with hw.sketches(address, tmp_path / "other") as others:
            does(others, change)
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=4)
        assert not sketches.list()
        assert answered(sketches, way="capture") == [(2,), (3,)]
        assert str(sketches.list()[0].newest).startswith("t.x: ")


def database_of(path: Path, values: str) -> str:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT x::INTEGER AS x FROM (VALUES {values}) AS v(x)")
    return f"duckdb:///{path}"


def test_another_database_is_not_answered_from_sketches_of_the_first(tmp_path: Path):
    first, second = database_of(tmp_path / "a.db", "(1), (2)"), database_of(tmp_path / "b.db", "(1), (9)")
    with hw.sketches(first, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=4)
        assert answered(sketches, way="capture") == [(2,)]
    with hw.sketches(second, tmp_path / "state") as sketches:
        assert answered(sketches) == [(9,)]
        assert answered(sketches, way="capture") == [(9,)]
    shutil.copy(tmp_path / "a.db", tmp_path / "b.db")  # it comes with its records
    with hw.sketches(second, tmp_path / "state") as sketches:
        assert answered(sketches) == [(2,)]


def test_a_database_that_was_restored_and_changed_is_not_answered_from_old_sketches(tmp_path: Path):
    address = database_of(tmp_path / "t.db", "(1), (2)")
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.table("t", partition="x", ranges=4)
        sketches.update("t", insert=[(3,)])
    shutil.copy(tmp_path / "t.db", tmp_path / "backup.db")
    with hw.sketches(address, tmp_path / "state") as sketches:
        sketches.update("t", insert=[(4,)])
        assert answered(sketches, way="capture") == [(2,), (3,), (4,)]
        assert answered(sketches, way="maintain") == [(2,), (3,), (4,)]
    shutil.copy(tmp_path / "backup.db", tmp_path / "t.db")
    with hw.sketches(address, tmp_path / "other") as sketches:
        sketches.table("t")
        sketches.update("t", insert=[(100,)])
    with hw.sketches(address, tmp_path / "state") as sketches:
        assert sketches.backend.version("t") == 2
        sketches.explain(TEXT)
        assert answered(sketches) == [(2,), (3,), (100,)]


def test_other_attributes_and_ranges_begin_again(address: str, tmp_path: Path):
    with hw.sketches(address, tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t (x INTEGER, y INTEGER)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
        for partition in ("x", "y", "y"):
            sketches.table("t", partition=partition, ranges=4)
            assert answered(sketches, way="capture") == [(2,), (3,)]
            assert str(sketches.list()[0].newest).startswith(f"t.{partition}: ")
        sketches.table("t", partition="y", ranges=4)
        assert sketches.list()[0].newest is not None
        sketches.table("t", partition="y", ranges=2)
        assert sketches.list()[0].newest is None


def test_ctrl_c_in_a_query_of_duckdb_is_ctrl_c(tmp_path: Path):
    with hw.sketches(f"duckdb:///{tmp_path}/t.db", tmp_path / "state") as sketches:
        does(sketches, "CREATE TABLE t AS SELECT range::INTEGER AS x FROM range(20000)")
        sketches.table("t", partition="x", ranges=4)
        text = "SELECT count(*) AS n FROM t AS a, t AS b WHERE a.x * b.x % 7 = 3"
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                sketches.ask(text)
        finally:
            timer.cancel()
        assert answered(sketches, "SELECT x FROM t WHERE x < 1") == [(0,)]
