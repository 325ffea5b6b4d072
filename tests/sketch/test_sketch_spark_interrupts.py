"""Ctrl-C in a query on Spark is Ctrl-C, and ends what Spark does for the query."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import headwater as hw

pytestmark = [pytest.mark.xdist_group("sketch_spark")]

ENDLESS = (
    "SELECT a.x FROM t AS a JOIN t AS b ON a.g = b.g WHERE (a.x + b.x) % 7919 = 0 AND a.x * b.x % 7907 = 1"
)
"""Minutes of work; a task asks every few thousand rows whether it was cancelled, which is about a second here."""


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interrupted") / "t"
    spark.range(1_000_000).selectExpr("id AS x", "id % 50 AS g").write.parquet(str(path))
    return path


@pytest.fixture
def sketches(spark: Any, table: Path, tmp_path: Path) -> Iterator[Any]:
    """In a process whose Ctrl-C is Python's own, or PySpark's."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with hw.sketches(spark, tmp_path / "state", progress=False) as opened:
        opened.table("t", table, format="parquet", partition="g")
        yield opened
    signal.signal(signal.SIGINT, before)


WAYS: dict[str, Callable[[Any], Any]] = {
    "sql": lambda sketches: sketches.sql(ENDLESS),
    "ask": lambda sketches: sketches.ask(ENDLESS),
    "capture": lambda sketches: sketches.sql(ENDLESS, way="capture"),
    "update": lambda sketches: sketches.update("t", insert=rows(sketches)),
}


def rows(sketches: Any) -> Any:
    frame = sketches.backend.session.range(1_000_000)
    return (
        frame.alias("a").crossJoin(frame.alias("b")).selectExpr("a.id AS x", "b.id % 5 AS g").where("x < g")
    )


@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_ends_the_query_and_its_jobs(spark: Any, sketches: Any, way: str):
    with interrupted_when_busy(spark), pytest.raises(KeyboardInterrupt):
        WAYS[way](sketches)
    assert idle(spark)
    assert sketches.ask("SELECT count(*) AS n FROM t WHERE x < 3").rows.to_pylist() == [{"n": 3}]


@pytest.mark.parametrize("call", ["addJobTag", "removeJobTag"])
def test_ctrl_c_waits_for_what_java_is_asked_beside_the_query(
    spark: Any, sketches: Any, monkeypatch: pytest.MonkeyPatch, call: str
):
    """Whoever asks next would be given the answer to that."""
    plain, done = getattr(spark.sparkContext, call), []

    def interrupted(tag: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        plain(tag)
        done.append(tag)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(spark.sparkContext, call, interrupted)
        sketches.ask("SELECT count(*) AS n FROM t")
    assert done
    assert sketches.ask("SELECT count(*) AS n FROM t WHERE x < 3").rows.to_pylist() == [{"n": 3}]


def test_a_handler_of_ones_own_is_left_alone(spark: Any, sketches: Any):
    heard = []
    signal.signal(signal.SIGINT, lambda *said: heard.append(said[0]))
    sketches.ask("SELECT count(*) AS n FROM t")
    assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    os.kill(os.getpid(), signal.SIGINT)
    assert heard == [signal.SIGINT]


@contextmanager
def interrupted_when_busy(spark: Any) -> Iterator[None]:
    """Ctrl-C as soon as a job was seen twice, a second apart: those that are soon done have ended by then."""
    over = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def watch() -> None:
        before: set[int] = set()
        while not over.wait(1.0):
            jobs = set(tracker.getActiveJobsIds())
            if jobs & before:
                os.kill(os.getpid(), signal.SIGINT)
                return
            before = jobs

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def idle(spark: Any) -> bool:
    """Whether no job is left; one that was cancelled may take a moment to say so."""
    moment = threading.Event()
    for _ in range(100):
        if not spark.sparkContext.statusTracker().getActiveJobsIds():
            return True
        moment.wait(0.1)
    return False
