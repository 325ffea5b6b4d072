"""Tables on Spark that change in other ways than by rows: columns, files and logs that go, tables made anew. The
answer is the plain one, or an error says what is the matter."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sketch_queries import bag

import headwater as hw
from headwater.errors import HeadwaterError
from headwater.sketch.tables.spark_backend import SparkBackend

pytestmark = pytest.mark.xdist_group("spark")
TEXT = "SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 20"
Alter = Callable[[Path], object]


def rows(count: int, seed: int) -> pa.Table:
    source = random.Random(seed)
    return pa.table({name: pa.array([source.randint(0, most) for _ in range(count)], pa.int32())
                     for name, most in (("g", 9), ("v", 9), ("x", 99))})  # fmt: skip


def with_type(name: str, kind: pa.DataType) -> pa.Table:
    found = rows(40, 1)
    return found.set_column(
        found.schema.get_field_index(name), name, pa.array(found.column(name).to_pylist()).cast(kind)
    )


def check(sketches: Any, table: str) -> None:
    """Whatever is decided, rows are those that Spark reads."""
    spark = sketches.backend.session
    frame = spark.table(table) if "/" not in table else spark.read.parquet(table)
    check_rows(sketches, frame.toArrow())


def check_rows(sketches: Any, whole: pa.Table) -> None:
    wanted = plain(whole)
    for way in (None, "plain", None, None):
        assert bag(sketches.ask(TEXT, way=way).rows) == wanted, way
    sketches.update("t", insert=[{field.name: 3 for field in sketches.backend.tables["t"].schema()}])
    assert bag(sketches.ask(TEXT).rows) == bag(sketches.ask(TEXT, way="plain").rows)


def plain(whole: pa.Table) -> Any:
    sums: dict[int, int] = {}
    for row in whole.to_pylist():
        sums[row["g"]] = sums.get(row["g"], 0) + row["v"]
    large = {g: s for g, s in sums.items() if s > 20}
    return bag(pa.table({"g": list(large), "s": list(large.values())}))


def overwritten(table: Callable[[], pa.Table]) -> Alter:
    return lambda path: deltalake.write_deltalake(
        str(path), table(), mode="overwrite", schema_mode="overwrite"
    )


def vacuumed(path: Path) -> None:
    deltalake.write_deltalake(str(path), rows(40, 9), mode="overwrite")
    table = deltalake.DeltaTable(str(path))
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)


def without_its_log(path: Path) -> None:
    deltalake.write_deltalake(str(path), rows(5, 9), mode="append")
    table = deltalake.DeltaTable(str(path))
    table.create_checkpoint()
    for entry in (path / "_delta_log").glob("*.json"):
        if int(entry.stem) < table.version():
            entry.unlink()


DELTA: dict[str, Alter] = {
    "a column is added": lambda path: deltalake.DeltaTable(str(path)).alter.add_columns(
        [deltalake.Field("z", "integer")]
    ),
    "the attribute of the sketch is dropped": overwritten(lambda: rows(40, 1).drop_columns(["x"])),
    "the attribute of the sketch gets another name": overwritten(
        lambda: rows(40, 1).rename_columns(["g", "v", "y"])
    ),
    "the attribute of the sketch gets another type": overwritten(lambda: with_type("x", pa.int64())),
    "a summed column is wider": overwritten(lambda: with_type("v", pa.int64())),
    "a summed column has floats": overwritten(lambda: with_type("v", pa.float64())),
    "columns change places": overwritten(lambda: rows(40, 1).select(["x", "v", "g"])),
    "vacuum": vacuumed,
    "old entries of the log are gone": without_its_log,
}


@pytest.mark.parametrize("what", DELTA)
def test_a_delta_table_is_altered(spark: Any, tmp_path: Path, what: str):
    path = tmp_path / "my sales"
    deltalake.write_deltalake(str(path), rows(40, 1))
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition="x", ranges=8)
        sketches.ask(TEXT, way="capture")
        sketches.update("t", insert=rows(5, 2))
        sketches.ask(TEXT, way="maintain")
        DELTA[what](path)
        check_rows(sketches, deltalake.DeltaTable(str(path)).to_pyarrow_table())


@pytest.mark.parametrize(("seen", "commits"), [(1, 1), (1, 2), (2, 1)])
@pytest.mark.parametrize("is_open", [True, False])
def test_a_delta_table_is_restored_and_changed(
    spark: Any, tmp_path: Path, is_open: bool, seen: int, commits: int
):
    """From its files: it gets the version of the sketch, one beyond it, or that of an older one, a second time."""
    path, text = tmp_path / "t", "SELECT x FROM t WHERE g > 1"
    deltalake.write_deltalake(str(path), pa.table({"x": [1, 9, 20, 30], "g": [5, 0, 0, 0]}))
    shutil.copytree(path, tmp_path / "backup")

    def restored() -> list[Any]:
        shutil.rmtree(path)
        shutil.copytree(tmp_path / "backup", path)
        for x in (12, 31)[:commits]:
            deltalake.write_deltalake(str(path), pa.table({"x": [x], "g": [6]}), mode="append")
        return [(1,), (12,), (31,)][: commits + 1]

    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition="x", ranges=4)
        sketches.update("t", insert=[(2, 6)])
        assert bag(sketches.ask(text, way="capture").rows) == [(1,), (2,)]
        sketches.maintain()
        if seen == 2:
            sketches.update("t", insert=[(3, 6)])
            assert len(sketches.ask(text, way="maintain").rows) == 3
        if is_open:
            rows = restored()
            assert bag(sketches.ask(text).rows) == bag(sketches.ask(text, way="plain").rows) == rows
    rows = rows if is_open else restored()
    with hw.sketches(spark, tmp_path / "state") as sketches:
        assert bag(sketches.ask(text).rows) == bag(sketches.ask(text, way="plain").rows) == rows


def test_a_delta_table_that_was_restored_has_other_columns(spark: Any, tmp_path: Path):
    """At a version whose columns were looked at."""
    path, text = tmp_path / "t", "SELECT * FROM t WHERE x > 1"
    deltalake.write_deltalake(str(path), pa.table({"x": [1, 9]}))
    shutil.copytree(path, tmp_path / "backup")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path)
        sketches.update("t", insert=[(2,)])
        assert bag(sketches.ask(text).rows) == [(2,), (9,)]
        shutil.rmtree(path)
        shutil.copytree(tmp_path / "backup", path)
        other = pa.table({"x": [3], "y": [4]})
        deltalake.write_deltalake(str(path), other, mode="append", schema_mode="merge")
        assert bag(sketches.ask(text).rows) == [(3, 4), (9, None)]


def test_a_version_that_was_asked_for_by_its_number_is_not_the_newest(spark: Any, tmp_path: Path):
    """Its sketch is the one that was made last; the table is restored, and has another newest version."""
    path, text = tmp_path / "t", "SELECT x FROM t WHERE g > 1"
    deltalake.write_deltalake(str(path), pa.table({"x": [1, 9, 20, 30], "g": [5, 0, 0, 0]}))
    shutil.copytree(path, tmp_path / "backup")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition="x", ranges=4)
        sketches.update("t", insert=[(2, 6)])
        sketches.ask(text, way="capture")
        sketches.ask(text, way="capture", versions={"t": 0})
    gone_back(path, tmp_path / "backup", 31)
    with hw.sketches(spark, tmp_path / "state") as sketches:
        assert bag(sketches.ask(text).rows) == [(1,), (31,)]


def gone_back(path: Path, backup: Path, *later: int) -> None:
    """A table is restored from its files, and one row comes after the other."""
    shutil.rmtree(path)
    shutil.copytree(backup, path)
    for x in later:
        deltalake.write_deltalake(str(path), pa.table({"x": [x], "g": [6]}), mode="append")


@pytest.mark.parametrize("is_captured_anew", [False, True])
def test_a_sketch_of_a_version_that_was_asked_for_is_not_maintained_by_newer_state(
    spark: Any, tmp_path: Path, is_captured_anew: bool
):
    """It is of rows that the table does not have since it was restored."""
    path, text = tmp_path / "t", "SELECT x FROM t WHERE g > 1"
    deltalake.write_deltalake(str(path), pa.table({"x": [1, 9, 20, 30], "g": [5, 0, 0, 0]}))
    shutil.copytree(path, tmp_path / "backup")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition="x", ranges=4)
        sketches.update("t", insert=[(2, 6)])
        sketches.ask(text, way="capture")
        sketches.maintain()
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.ask(text, way="capture", versions={"t": 0})
    gone_back(path, tmp_path / "backup", 31, 21)
    with hw.sketches(spark, tmp_path / "state") as sketches:
        if is_captured_anew:
            sketches.ask(text, way="capture")
        sketches.update("t", insert=[(22, 6)])
        assert bag(sketches.ask(text, way="maintain").rows) == [(1,), (21,), (22,), (31,)]


def test_what_was_maintained_for_an_answer_that_failed_is_not_gone_on_from(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its version may be given again, to other rows."""
    path, text = tmp_path / "t", "SELECT x FROM t WHERE g > 1"
    deltalake.write_deltalake(str(path), pa.table({"x": [1, 9, 20, 30], "g": [5, 0, 0, 0]}))
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition="x", ranges=4)
        sketches.ask(text, way="capture")
        sketches.maintain()
        shutil.copytree(path, tmp_path / "backup")
        sketches.update("t", insert=[(2, 6)])
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(SparkBackend, "collected", interrupted)
            sketches.ask(text, way="maintain")
        gone_back(path, tmp_path / "backup", 31)
        assert bag(sketches.ask(text, way="maintain").rows) == [(1,), (31,)]


def interrupted(*given: Any, **options: Any) -> Any:
    raise KeyboardInterrupt


def test_facts_of_a_delta_table_that_was_restored_are_looked_up_again(spark: Any, tmp_path: Path):
    """Values were never negative at version 1, and are at the other one."""
    path, text = tmp_path / "t", "SELECT g FROM t GROUP BY g HAVING sum(v) > 9"
    deltalake.write_deltalake(
        str(path), pa.table({"x": [1, 9, 20, 30], "g": [1, 2, 3, 4], "v": [10, 1, 1, 1]})
    )
    shutil.copytree(path, tmp_path / "backup")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition="x", ranges=4)
        sketches.update("t", insert=[(2, 6, 1)])
        assert "\nas long as t.v >= 0\n" in sketches.explain(text)
        shutil.rmtree(path)
        shutil.copytree(tmp_path / "backup", path)
        other = pa.table({"x": [1, 30], "g": [7, 7], "v": [20, -100]})
        deltalake.write_deltalake(str(path), other, mode="append")
        assert "not safe [condition-not-kept]" in sketches.explain(text)
        for way in (None, None, None, "plain"):
            assert bag(sketches.ask(text, way=way).rows) == [(1,)]


def test_a_change_is_done_though_others_change_the_table_while_sketches_follow_it(spark: Any, tmp_path: Path):
    """Whoever was told of an error would make the change again."""
    text, folder = "SELECT x FROM t WHERE g > 1", tmp_path / "t"
    folder.mkdir()
    pq.write_table(pa.table({"x": [1, 9], "g": [5, 0]}), folder / "0.parquet")
    with hw.sketches(spark, tmp_path / "state", eager=1) as sketches:
        sketches.table("t", folder, format="parquet", partition="x", ranges=4)
        sketches.ask(text, way="capture")
        seen = SparkBackend.versions

        def changed_then(self: SparkBackend, tables: Sequence[str]) -> dict[str, int]:
            found = seen(self, tables)
            pq.write_table(pa.table({"x": [7], "g": [7]}), folder / "1.parquet")
            return found

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(SparkBackend, "versions", changed_then)
            assert sketches.update("t", insert=[(3, 3)]) == 1
        assert bag(sketches.ask(text).rows) == [(1,), (3,), (7,)]


def test_a_directory_whose_record_was_removed_gets_its_versions_a_second_time(spark: Any, tmp_path: Path):
    """As the hint for a damaged one says."""
    text = "SELECT x FROM t WHERE g > 1"
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"x": [1, 9, 20, 30], "g": [5, 0, 0, 0]}), tmp_path / "t" / "0.parquet")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", tmp_path / "t", format="parquet", partition="x", ranges=4)
        assert bag(sketches.ask(text, way="capture").rows) == [(1,)]
    pq.write_table(pa.table({"x": [31], "g": [6]}), tmp_path / "t" / "1.parquet")
    shutil.rmtree(tmp_path / "state" / "tables" / "t")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        assert bag(sketches.ask(text).rows) == [(1,), (31,)]
        assert sketches.backend.version("t") == 0


@pytest.mark.parametrize("call", ["ask", "explain", "maintain"])
def test_what_the_log_has_forgotten_while_nobody_looked_is_captured_again(
    spark: Any, tmp_path: Path, call: str
):
    deltalake.write_deltalake(str(tmp_path / "t"), rows(40, 1))
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", tmp_path / "t", partition="x", ranges=8)
        sketches.ask(TEXT, way="capture")
        sketches.maintain()
    without_its_log(tmp_path / "t")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        match call:
            case "ask":
                assert sketches.ask(TEXT).decision.way == "capture"
            case "explain":
                assert "\nnext: capture: " in sketches.explain(TEXT)
            case "maintain":
                assert [each.way for each in sketches.maintain().values()] == ["capture"]
        check_rows(sketches, deltalake.DeltaTable(str(tmp_path / "t")).to_pyarrow_table())


def test_a_delta_table_may_be_named_by_an_address_of_a_file(spark: Any, tmp_path: Path):
    deltalake.write_deltalake(str(tmp_path / "t"), rows(4, 1))
    with hw.sketches(spark, tmp_path / "state") as sketches:
        for address in (f"file:{tmp_path}/t", f"file://{tmp_path}/t"):
            sketches.table("t", address)
            assert len(sketches.ask("SELECT x FROM t").rows) == 4


def test_columns_are_altered_while_nobody_looks(spark: Any, tmp_path: Path):
    """A process that comes later drops the sketches of other columns."""
    path = tmp_path / "t"
    deltalake.write_deltalake(str(path), rows(40, 1))
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition="x", ranges=8)
        sketches.ask(TEXT, way="capture")
    overwritten(lambda: with_type("x", pa.string()))(path)
    with hw.sketches(spark, tmp_path / "state") as sketches:
        assert sketches.list() == ()
        wanted = plain(deltalake.DeltaTable(str(path)).to_pyarrow_table())
        assert bag(sketches.ask(TEXT, way="capture").rows) == wanted


def test_a_column_that_a_query_reads_is_dropped(spark: Any, tmp_path: Path):
    deltalake.write_deltalake(str(tmp_path / "t"), rows(40, 1))
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", tmp_path / "t", partition="x", ranges=8)
        sketches.ask(TEXT, way="capture")
        overwritten(lambda: rows(40, 1).drop_columns(["v"]))(tmp_path / "t")
        for way in (None, "plain", "use", "maintain"):
            with pytest.raises(HeadwaterError, match="unknown-column"):
                sketches.ask(TEXT, way=way)


def test_values_in_the_names_of_directories_may_have_any_letters(spark: Any, tmp_path: Path):
    """The log has them as URLs."""
    path, text = tmp_path / "my lake", "SELECT x FROM t WHERE x > 1"
    given = pa.table({"x": [1, 2, 3], "g": ["a b", "c%d", "e:f/g"]})
    deltalake.write_deltalake(str(path), given, partition_by=["g"])
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, partition="g", ranges=3)
        for way in ("capture", "use", "maintain"):
            assert sorted(sketches.ask(text, way=way).rows.column("x").to_pylist()) == [2, 3]
        sketches.maintain()
        sketches.update("t", insert=[(7, "k%l m"), (8, "a b")], delete=[(2, "c%d")])
        answer = sketches.ask(text, way="maintain")
        assert sorted(answer.rows.column("x").to_pylist()) == [3, 7, 8] and answer.decision.changed == 3


def replaced(path: Path) -> None:
    pq.write_table(rows(30, 7), path / "part-0.parquet")


def all_replaced(path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir()
    pq.write_table(rows(30, 7).rename_columns(["g", "v", "y"]), path / "new.parquet")


PARQUET: dict[str, Alter] = {
    "a file is replaced": replaced,
    "a file is removed": lambda path: (path / "part-1.parquet").unlink(),
    "a file with more columns comes": lambda path: pq.write_table(
        rows(9, 3).append_column("z", pa.array([1] * 9)), path / "part-9.parquet"
    ),
    "all is made anew with other columns": all_replaced,
}


@pytest.mark.parametrize("what", PARQUET)
def test_files_of_a_directory_are_replaced(spark: Any, tmp_path: Path, what: str):
    path = tmp_path / "t"
    path.mkdir()
    for number in range(2):
        pq.write_table(rows(20, number), path / f"part-{number}.parquet")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, format="parquet", partition="x", ranges=8)
        sketches.ask(TEXT, way="capture")
        sketches.ask(TEXT, way="maintain")
        PARQUET[what](path)
        check(sketches, str(path))


def test_one_file_without_nulls_says_nothing_of_others(spark: Any, tmp_path: Path):
    """Spark orders NULLs first: they are the top 2, though the first file says that there is none."""
    path, text = tmp_path / "t", "SELECT x, v FROM t ORDER BY v, x LIMIT 2"
    path.mkdir()
    sure = pa.schema([pa.field("x", pa.int64(), nullable=False), pa.field("v", pa.int64(), nullable=False)])
    pq.write_table(pa.table({"x": [1, 2], "v": [3, 4]}, sure), path / "part-0.parquet")
    pq.write_table(pa.table({"x": [8, 9], "v": pa.array([None, None], pa.int64())}), path / "part-1.parquet")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, format="parquet", partition="x", ranges=4)
        for way in ("plain", "capture", "use", "maintain"):
            assert sketches.ask(text, way=way).rows.column("x").to_pylist() == [8, 9], way


def test_a_table_of_the_catalog_is_made_anew(spark: Any, tmp_path: Path):
    """Elsewhere, while its old files stay where they are; then it is dropped."""

    def made(place: str, values: str) -> None:
        spark.sql("DROP TABLE IF EXISTS altered")
        columns = "g int, v int, x int"
        spark.sql(f"CREATE TABLE altered ({columns}) USING parquet LOCATION '{tmp_path / place}'")
        spark.sql(f"INSERT INTO altered VALUES {values}")

    made("here", "(1, 30, 5), (2, 40, 7), (3, 1, 9)")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", "altered", format="table", partition="x", ranges=4)
        sketches.ask(TEXT, way="capture")
        spark.sql("INSERT INTO altered VALUES (3, 50, 1)")
        assert sketches.ask(TEXT, way="maintain").rows.num_rows == 3
        made("there", "(8, 90, 50), (9, 1, 2)")
        check(sketches, "altered")
        spark.sql("DROP TABLE altered")
        with pytest.raises(HeadwaterError, match="missing-source"):
            sketches.ask(TEXT)
