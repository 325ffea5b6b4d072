"""The benchmark of sketches runs and compares answers. Nothing here asserts a time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("pyspark")
pytest.importorskip("deltalake")
pytest.importorskip("matplotlib")

from benchmarks import command  # noqa: E402
from benchmarks.sketch.run import ORDER  # noqa: E402

PROJECT = Path(__file__).parents[2]


def test_the_command_compares_answers_and_writes_files(tmp_path: Path):
    """In a process of its own, since Spark is started and stopped."""
    words = [sys.executable, "-m", "benchmarks", "sketch", "--quick", "--repeat", "1", "--out", str(tmp_path)]
    done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "answers compared and equal" in " ".join(done.stdout.split())
    written = {path.name for path in tmp_path.iterdir()}
    assert {"sketch.json", "sketch.md", "sketch-tpch.svg", "sketch-series.svg", "sketch-mixes.svg"} <= written
    report = json.loads((tmp_path / "sketch.json").read_text(encoding="utf-8"))
    assert {row["part"] for row in report["rows"]} == set(ORDER) - {"TPC-H in PostgreSQL"}
    assert {check["against"] for check in report["checks"]} == {
        "capturing again",
        "without it",
        "all rows",
        "plain Spark",
    }
    compared = {check["part"] for check in report["checks"]}
    assert {check["part"] for check in report["checks"] if check["rows"]} == compared


def test_an_unknown_part_is_named_with_those_that_there_are():
    result = CliRunner().invoke(command, ["sketch", "--only", "speed"])
    assert result.exit_code == 2
    assert "no part speed; there are tpch, crimes, groups" in " ".join(result.output.split())
