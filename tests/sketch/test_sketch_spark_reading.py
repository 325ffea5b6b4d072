"""How Spark reads the little that a sketch leaves: by one task, from gathered files, listed by the driver."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sketch_queries import R, bag, random_query, random_rows, table
from test_sketch_spark import KINDS, Watched

import headwater as hw
from headwater.language.sql.parser import parse
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Sketch, SketchPart
from headwater.sketch.tables import gathered_files
from headwater.sketch.tables.delta_table import DeltaFiles
from headwater.sketch.tables.file_frames import LISTED_BY_A_JOB, FileFrames, frame_of_files
from headwater.sketch.tables.one_task import in_one_task
from headwater.sketch.tables.parquet_table import ParquetTable
from headwater.sketch.tables.spark_backend import SparkBackend
from headwater.spark.frames import arrow_of

pytestmark = pytest.mark.xdist_group("spark")


def opened(spark: Any, path: Path) -> SparkBackend:
    backend = SparkBackend(spark)
    backend.table("r", DeltaFiles(str(path)))
    return backend


def written(path: Path, rows: pa.Table, files: int) -> None:
    size = max(1, -(-rows.num_rows // files))
    for number in range(files):
        deltalake.write_deltalake(str(path), rows.slice(number * size, size), mode="append")


def stages_run(spark: Any, tag: str, work: Any) -> list[int]:
    """How many tasks each job had that some work has started."""
    spark.sparkContext.setJobGroup(tag, tag)
    try:
        work()
    finally:
        spark.sparkContext.setJobGroup("", "")
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(tag)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return [stage.numTasks for stage in stages if stage is not None]


def test_random_queries_give_by_one_task_what_they_give_planned_anew(spark, tmp_path):
    rng = random.Random(11)
    rows, _ = random_rows(rng, 60)
    written(tmp_path / "r", rows, 5)
    backend = opened(spark, tmp_path / "r")
    done = 0
    while done < 12:
        text = random_query(rng).text
        if " s " in text or "JOIN" in text:
            continue
        plan = parse(text, backend.schemas()).plan
        analysed = backend._understood(plan, None, None, None, None)
        if analysed.one_task is None:
            assert len(backend._plans) and ("UNION" in text or "IN (" in text or "WITH" in text), text
            continue
        expected = bag(arrow_of(analysed.frame.select("*")))
        assert bag(arrow_of(analysed.one_task.frame)) == expected, text
        assert bag(backend.run(plan)) == expected and bag(arrow_of(backend.frame(plan))) == expected, text
        done += 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT g, sum(v) AS s FROM r GROUP BY g HAVING sum(v) > 3",
        "SELECT g, count(*) AS n FROM r GROUP BY g ORDER BY n DESC, g LIMIT 2",
        "SELECT g, x FROM r ORDER BY x DESC, g LIMIT 3",
        "SELECT DISTINCT g FROM r",
    ],
)
def test_a_query_that_reads_little_is_one_task_each_time_it_is_asked(spark, tmp_path, text):
    """And each time it reads the table's files: without them it fails."""
    rows, _ = random_rows(random.Random(3), 40)
    written(tmp_path / "r", rows, 3)
    backend = opened(spark, tmp_path / "r")
    plan = parse(text, backend.schemas()).plan
    first = bag(backend.run(plan))
    for again in range(2):
        assert stages_run(spark, f"{text} {again}", lambda: backend.run(plan)) == [1]
    assert bag(backend.run(plan)) == first
    for file in (tmp_path / "r").glob("*.parquet"):
        file.unlink()
    with pytest.raises(hw.HeadwaterError):
        backend.run(plan)


def test_joins_and_large_tables_are_planned_each_time(spark, tmp_path, monkeypatch):
    rows, _ = random_rows(random.Random(4), 40)
    written(tmp_path / "r", rows, 2)
    backend = opened(spark, tmp_path / "r")
    joined = parse("SELECT a.g FROM r AS a JOIN r AS b ON a.x = b.v", backend.schemas()).plan
    assert backend._understood(joined, None, None, None, None).one_task is None
    monkeypatch.setattr("headwater.sketch.tables.one_task.ROWS_FOR_A_SHUFFLE", 10)
    grouped = parse("SELECT g, count(*) AS n FROM r GROUP BY g", backend.schemas()).plan
    assert backend._understood(grouped, None, None, None, None).one_task is None
    frame = spark.createDataFrame(rows)
    assert in_one_task(frame.groupBy("g").count()) is None  # no files


def test_a_plan_is_taken_over_whatever_comes_and_goes(spark, tmp_path):
    """By us and by others, in one row and in many, at old versions and after a vacuum."""
    rng = random.Random(21)
    path = str(tmp_path / "r")
    written(tmp_path / "r", random_rows(rng, 60)[0], 3)
    backend = opened(spark, tmp_path / "r")
    texts = (
        "SELECT g, count(*) AS n FROM r GROUP BY g HAVING count(*) > 5",
        "SELECT g, x, v, w, t FROM r ORDER BY x DESC, g, v, w, t LIMIT 1000",
    )
    plans = [parse(text, backend.schemas()).plan for text in texts]
    for plan in plans:
        backend.run(plan)
    with analysed_texts(spark, backend) as analysed:
        for number in range(8):
            if number % 3 == 1:
                backend.update("r", random_rows(rng, 3)[0], backend.run(plans[1]).slice(0, 2).cast(R))
            elif number == 6:
                deltalake.DeltaTable(path).optimize.compact()
                deltalake.DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)
            else:
                deltalake.write_deltalake(path, random_rows(rng, 1 + number)[0], mode="append")
            now = backend.version("r")
            for version in (now, now - 1) if number < 6 else (now,):
                rows = deltalake.DeltaTable(path, version=version).to_pyarrow_table().select(R.names)
                counts = Counter(rows.column("g").to_pylist()).items()
                busy = pa.Table.from_pylist([{"g": g, "n": n} for g, n in counts if n > 5])
                for plan, expected in zip(plans, (busy, rows), strict=True):
                    assert bag(backend.run(plan, versions={"r": version})) == bag(expected)
        assert analysed == []


@contextmanager
def analysed_texts(spark: Any, backend: SparkBackend) -> Iterator[list[str]]:
    """The texts that Spark is given meanwhile."""
    texts: list[str] = []
    backend._plans.session = Watched(spark, lambda text: texts.append(text) or spark.sql(text))
    yield texts
    backend._plans.session = spark


def test_a_plan_is_made_anew_under_other_settings(spark, tmp_path):
    deltalake.write_deltalake(str(tmp_path / "r"), table([(1, 2, 1, 1.0, "b"), (1, 2, 1, 1.0, "7")], R))
    backend = opened(spark, tmp_path / "r")
    plan = parse("SELECT count(CAST(t AS int)) AS n FROM r", backend.schemas()).plan
    before = spark.conf.get("spark.sql.ansi.enabled")
    try:
        spark.conf.set("spark.sql.ansi.enabled", "false")
        assert backend.run(plan).to_pylist() == [{"n": 1}]
        spark.conf.set("spark.sql.ansi.enabled", "true")
        with pytest.raises(hw.HeadwaterError, match="cannot be cast"):
            backend.run(plan)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


def test_a_plan_is_not_taken_over_by_other_columns(spark, tmp_path):
    rows = table([(1, 2, 1, 1.0, "b"), (1, 2, 1, 1.0, "7")], R)
    for place in ("a", "b", "g=1"):
        (tmp_path / place).mkdir()
        pq.write_table(rows, tmp_path / place / "0.parquet")
    first, second, below = ([f"{tmp_path}/{place}/0.parquet"] for place in ("a", "b", "g=1"))
    frames = FileFrames()
    one = in_one_task(frames.frame(spark, R, first, None).groupBy("x").count())
    again = one.over(frames.frame(spark, R, second, None))
    assert bag(arrow_of(again.frame)) == bag(arrow_of(one.frame)) == [(2.0, 2.0)]
    more = R.append(pa.field("z", pa.int64()))
    assert one.over(frames.frame(spark, more, second, None)) is None
    assert one.over(frames.frame(spark, R, below, str(tmp_path))) is None
    assert one.over(spark.createDataFrame(rows)) is None


def test_small_files_are_read_as_one(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(gathered_files, "MOST_ROWS_SMALL", 60)
    rng = random.Random(8)
    path = tmp_path / "r"
    deltalake.write_deltalake(str(path), random_rows(rng, 200)[0])
    backend = opened(spark, path)
    plan = parse("SELECT g, x, v, w, t FROM r", backend.schemas()).plan
    opened_files = []
    for number in range(40):
        some = random_rows(rng, 4)[0]
        if number % 9 == 8:  # rows go, and with them some files
            gone = backend.run(plan).slice(0, 2).cast(R)
            backend.update("r", some, gone)
        else:
            deltalake.write_deltalake(str(path), some, mode="append")
        whole = deltalake.DeltaTable(str(path)).to_pyarrow_table()
        assert bag(backend.run(plan)) == bag(whole.select(R.names))
        frame = backend.tables["r"].frame(spark, backend.version("r"), ())
        opened_files.append(len(frame.inputFiles()))
    past = backend.version("r") - 3
    whole = deltalake.DeltaTable(str(path), version=past).to_pyarrow_table()
    assert bag(backend.run(plan, versions={"r": past})) == bag(whole.select(R.names))
    assert max(opened_files) < 20 < len(deltalake.DeltaTable(str(path)).file_uris())


def test_gathered_rows_have_the_values_that_they_had(spark, tmp_path):
    rows = pa.table({"row": list(range(6)), **KINDS})
    for number in range(10):
        shifted = rows.set_column(0, "row", pa.array(range(number * 6, number * 6 + 6)))
        deltalake.write_deltalake(str(tmp_path / "r"), shifted, mode="append")
    backend = opened(spark, tmp_path / "r")
    frame = backend.tables["r"].frame(spark, 9, ())
    assert len(frame.inputFiles()) == 1
    files = sorted(deltalake.DeltaTable(str(tmp_path / "r")).file_uris())
    single = frame_of_files(spark, backend.tables["r"].schema(), files, None)
    one, other = (arrow_of(each).sort_by("row") for each in (frame, single))
    assert one.schema == other.schema
    assert repr(one.to_pylist()) == repr(other.to_pylist())


def test_a_column_that_is_added_is_null_in_gathered_rows(spark, tmp_path):
    path = str(tmp_path / "r")
    written(tmp_path / "r", table([(1, n, 1, 1.0, "a") for n in range(9)], R), 9)
    backend = opened(spark, tmp_path / "r")
    assert len(backend.tables["r"].frame(spark, 8, ()).inputFiles()) == 1
    more = table([(2, 9, 1, 1.0, "b")], R).append_column("z", pa.array([7]))
    deltalake.write_deltalake(path, more, mode="append", schema_mode="merge")
    backend.table("r", backend.tables["r"])
    plan = parse("SELECT x, z FROM r", backend.schemas()).plan
    assert bag(backend.run(plan)) == bag(pa.table({"x": range(10), "z": [None] * 9 + [7]}))


def test_the_driver_lists_files_and_leaves_the_session_as_it_was(spark, tmp_path):
    written(tmp_path / "r", table([(1, n, 1, 1.0, "a") for n in range(40)], R), 40)
    files = sorted(deltalake.DeltaTable(str(tmp_path / "r")).file_uris())
    before = spark.conf.get(LISTED_BY_A_JOB)
    assert stages_run(spark, "listing", lambda: frame_of_files(spark, R, files, None)) == []
    assert spark.conf.get(LISTED_BY_A_JOB) == before
    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        frame_of_files(spark, R, [*files, f"{tmp_path}/r/none.parquet"], None)
    assert spark.conf.get(LISTED_BY_A_JOB) == before


def test_of_files_that_are_known_none_is_listed_again(spark, tmp_path):
    written(tmp_path / "r", table([(1, n, 1, 1.0, "a") for n in range(40)], R), 40)
    files = sorted(deltalake.DeltaTable(str(tmp_path / "r")).file_uris())
    frames = FileFrames()
    for count in (35, 20, 40):
        frame = frames.frame(spark, R, files[:count], None)
        assert sorted(frame.inputFiles()) == [f"file://{file}" for file in files[:count]]
    assert stages_run(spark, "known files", lambda: frames.frame(spark, R, files, None)) == []
    Path(files[0]).unlink()
    known = frames.frame(spark, R, files, None)  # not asked again, and found missing when it is read
    with pytest.raises(Exception, match="FILE_NOT_EXIST|NOT_EXIST|FAILED_READ_FILE"):
        known.collect()
    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        frames.frame(spark, R, [*files, f"{tmp_path}/r/none.parquet"], None)


@pytest.mark.parametrize("format", ["delta", "parquet"])
def test_rows_with_nan_are_read_though_statistics_do_not_tell_of_them(spark, tmp_path, format):
    """NaN is above all numbers; in files of both kinds minima and maxima are those of the others."""
    first = pa.table({"x": [1.0, 2.0, float("nan"), float("nan")], "g": [1, 2, 3, 3]})
    path = tmp_path / "t"
    path.mkdir()
    for number, rows in enumerate((first, pa.table({"x": [10.0, 20.0, 30.0, 40.0], "g": [1, 2, 4, 4]}))):
        if format == "delta":
            deltalake.write_deltalake(str(path), rows, mode="append")
        else:
            pq.write_table(rows, path / f"{number}.parquet")
    with hw.sketches(spark, tmp_path / "state") as sketches:
        sketches.table("t", path, format, partition="x", ranges=4)
        for text in (
            "SELECT g, count(*) AS n FROM t WHERE g = 3 GROUP BY g",
            "SELECT x, count(*) AS n FROM t GROUP BY x HAVING count(*) > 1",
        ):
            answers = [repr(sketches.ask(text, way=way).rows.to_pylist()) for way in ("capture", "use")]
            assert answers[0] == answers[1] and "2" in answers[0]
            assert sketches.last.sketch == "t.x: 1 of 5 fragments"


GROUPED = "SELECT g, count(*) AS n FROM r GROUP BY g HAVING count(*) > 1"


def file_of(numbers: list[int], path: Path) -> None:
    """As many rows are as many bytes."""
    rows = pa.table({"g": numbers, "x": [0] * len(numbers)})
    pq.write_table(rows, path, use_dictionary=False, compression="none", row_group_size=100)


def directory(spark: Any, path: Path, *files: list[int]) -> SparkBackend:
    """A directory of Parquet files, each with rows of these numbers."""
    path.mkdir()
    for number, numbers in enumerate(files):
        file_of(numbers, path / f"{number}.parquet")
    backend = SparkBackend(spark)
    backend.table("r", ParquetTable(path, path.parent / "record"))
    return backend


def replaced(path: Path, numbers: list[int], at: os.stat_result) -> None:
    """Another file under the same name, as large as the first and of the same time."""
    other = path.with_name(".other")
    file_of(numbers, other)
    os.utime(other, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert other.stat().st_size == at.st_size
    other.rename(path)


def test_a_repeated_query_over_a_directory_is_planned_once(spark, tmp_path):
    backend = directory(spark, tmp_path / "r", [1, 1], [2])
    plan = parse(GROUPED, backend.schemas()).plan
    assert bag(backend.run(plan)) == [(1.0, 2.0)]
    with analysed_texts(spark, backend) as analysed:
        assert stages_run(spark, "directory", lambda: backend.run(plan)) == [1]
        assert bag(backend.run(plan)) == [(1.0, 2.0)] and analysed == []


def test_a_file_that_is_replaced_under_its_name_is_noticed(spark, tmp_path):
    """By its size and time, or, where these are the same, by its inode."""
    backend = directory(spark, tmp_path / "r", [1, 1], [2, 3])
    plan = parse(GROUPED, backend.schemas()).plan
    assert bag(backend.run(plan)) == [(1.0, 2.0)]
    file = tmp_path / "r" / "1.parquet"
    replaced(file, [3, 3], file.stat())
    assert bag(backend.run(plan)) == [(1.0, 2.0), (3.0, 2.0)]
    file_of([4] * 2000, file)  # most of its row groups lie behind where the first file ended
    assert bag(backend.run(plan)) == [(1.0, 2.0), (4.0, 2000.0)]
    file.unlink()
    assert bag(backend.run(plan)) == [(1.0, 2.0)]


def test_files_of_a_directory_that_a_sketch_cannot_need_are_left_out(spark, tmp_path):
    backend = directory(spark, tmp_path / "r", [1, 1], [5, 6], [9, 9])
    table = backend.tables["r"]
    part = SketchPart("r", Ranges("g", (4, 8)), frozenset({0, 1}))
    read = table.frame(spark, table.version(), [part]).inputFiles()
    assert sorted(Path(file).name for file in read) == ["0.parquet", "1.parquet"]
    plan = parse(GROUPED, backend.schemas()).plan
    assert bag(backend.collected(plan, sketch=Sketch((part,)))) == [(1.0, 2.0)]
    file_of([7, 7, 7], tmp_path / "r" / "1.parquet")
    assert bag(backend.collected(plan, sketch=Sketch((part,)))) == [(1.0, 2.0), (7.0, 3.0)]
    file_of([1, 1], tmp_path / "r" / "unnamed")  # Spark reads it, whatever it is called
    assert len(table.frame(spark, table.version(), [part]).inputFiles()) == 3
    assert bag(backend.run(plan)) == [(1.0, 4.0), (7.0, 3.0), (9.0, 2.0)]


@pytest.mark.parametrize(("values", "bounds"), [(["a", "b"], ("b",)), ([0.5, 1.5], (1.0,))])
def test_no_file_of_a_directory_is_left_out_by_texts_and_fractions(spark, tmp_path, values, bounds):
    (tmp_path / "r").mkdir()
    for number, value in enumerate(values):
        pq.write_table(pa.table({"g": [value]}), tmp_path / "r" / f"{number}.parquet")
    table = ParquetTable(tmp_path / "r", tmp_path / "record")
    part = SketchPart("r", Ranges("g", bounds), frozenset({0}))
    assert len(table.frame(spark, table.version(), [part]).inputFiles()) == 2


def test_names_of_files_mean_these_files_and_no_patterns(spark, tmp_path):
    backend = directory(spark, tmp_path / "r", [1, 1], [9, 9])
    (tmp_path / "r" / "1.parquet").rename(tmp_path / "r" / "[0].parquet")
    backend.table("r", ParquetTable(tmp_path / "r", tmp_path / "again"))
    part = SketchPart("r", Ranges("g", (4,)), frozenset({1}))
    plan = parse(GROUPED, backend.schemas()).plan
    assert bag(backend.collected(plan, sketch=Sketch((part,)))) == [(9.0, 2.0)]


def test_a_directory_is_looked_at_anew_under_other_settings(spark, tmp_path):
    """Whether names of directories are numbers is a setting: 01 and 1 are the same number."""
    for name in ("p=01", "p=1"):
        (tmp_path / "r" / name).mkdir(parents=True)
        file_of([1, 1], tmp_path / "r" / name / "0.parquet")
    kept, inferred = (
        ParquetTable(tmp_path / "r", tmp_path / "record"),
        "spark.sql.sources.partitionColumnTypeInference.enabled",
    )
    groups = []
    try:
        for setting in ("true", "false", "true"):
            spark.conf.set(inferred, setting)
            groups.append(kept.frame(spark, kept.version(), []).groupBy("p").count().count())
    finally:
        spark.conf.unset(inferred)
    assert groups == [1, 2, 1]


def test_files_that_come_and_go_while_a_directory_is_listed_are_no_error(tmp_path):
    (tmp_path / "r").mkdir()
    file_of([1], tmp_path / "r" / "0.parquet")
    (tmp_path / "r" / "_temporary").symlink_to(tmp_path / "nowhere")
    assert ParquetTable(tmp_path / "r", tmp_path / "record").version() == 0


def test_rows_are_expected_of_files_that_are_not_left_out(spark, tmp_path):
    backend = directory(spark, tmp_path / "r", [1, 1], [9, 9])
    table, part = backend.tables["r"], SketchPart("r", Ranges("g", (4,)), frozenset({1}))
    assert table.rows_read(table.version(), [part]) == 2
    file_of([9, 9], tmp_path / "r" / "unnamed")
    assert table.rows_read(table.version(), [part]) == 4
