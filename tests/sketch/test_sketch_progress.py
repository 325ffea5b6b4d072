"""Captures that take long show how far they are."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import duckdb
import pytest
from test_sketch_capture import SALES, TOP

import headwater as hw
from headwater.sketch import answers
from headwater.sketch.progress import shown
from headwater.sketch.tables.spark_backend import SparkBackend


class Lines:
    """A screen that keeps what it was shown, and tells when a line like one was."""

    def __init__(self, awaited: str):
        self.lines: list[str] = []
        self.awaited = awaited
        self.seen = threading.Event()

    def show(self, line: str) -> None:
        self.lines.append(line)
        if re.match(self.awaited, line):
            self.seen.set()


def test_what_is_soon_done_is_not_shown():
    screen = Lines(".")
    with shown(screen, "capturing", lambda: None):
        pass
    assert screen.lines == []


def test_the_line_is_gone_when_the_work_is_done_or_has_failed():
    screen = Lines(r"capturing a: 1 of 2 tasks, \d")
    with pytest.raises(ValueError, match="broken"), shown(screen, "capturing a", lambda: (1, 2), 0.0):
        assert screen.seen.wait(60)
        raise ValueError("broken")
    assert screen.lines[-1] == ""
    assert not any(thread.name == "headwater-capture" for thread in threading.enumerate())


def test_captures_are_shown_and_can_be_told_not_to(tmp_path, monkeypatch):
    with duckdb.connect(str(tmp_path / "shop.db")) as connection:
        connection.register("given", SALES)
        connection.execute("CREATE TABLE sales AS FROM given")
    screen = Lines("capturing [0-9a-f]+: ")

    def until_seen(*given):
        assert screen.seen.wait(60)
        return captured(*given)

    captured = answers.captured
    monkeypatch.setattr(answers, "captured", until_seen)
    monkeypatch.setattr(
        "headwater.sketch.sketches.screen_of", lambda wanted: None if wanted is False else screen
    )
    with hw.sketches(f"duckdb:///{tmp_path}/shop.db", tmp_path / "state") as sketches:
        sketches.table("sales", partition="price", ranges=4)
        sketches.ask(TOP, way="capture")
    assert screen.lines[-1] == ""
    screen.lines.clear()
    with hw.sketches(f"duckdb:///{tmp_path}/shop.db", tmp_path / "state", progress=False) as sketches:
        sketches.ask(TOP, way="capture")
    assert screen.lines == []


def test_of_spark_tasks_are_counted(spark, tmp_path):
    """Two tasks that wait until somebody has seen them."""
    go = str(tmp_path / "go")

    def wait(_number: int) -> None:
        import time
        from pathlib import Path

        until = time.monotonic() + 60
        while not Path(go).exists() and time.monotonic() < until:
            time.sleep(0.01)

    class Opening(Lines):
        def show(self, line: str) -> None:
            super().show(line)
            if self.seen.is_set():
                Path(go).touch()

    backend, screen = SparkBackend(spark), Opening(r"capturing: 0 of 2 tasks, \d")
    with shown(screen, "capturing", backend.tasks, 0.0):
        spark.sparkContext.parallelize(range(2), 2).foreach(wait)
    assert screen.seen.is_set()
