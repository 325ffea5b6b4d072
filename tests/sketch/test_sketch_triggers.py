"""Tables of databases that are others now, and what PostgreSQL's triggers see of changes and what they do not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sketch_queries import answered, does

import headwater as hw
from headwater.errors import SketchError, SqlError

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
