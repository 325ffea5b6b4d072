"""`headwater pipeline` as a process: run, status, a graceful stop, and going on where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from quick_java import options

import headwater as hw
from headwater.cli import main

pytest.importorskip("pyspark")
pytestmark = pytest.mark.xdist_group("spark")

SOURCE = str(Path(hw.__path__[0]).parent)
FILE = """
program = "reach.dl"
state = "state"
every = 0.05

[spark]
master = "local[2]"
[spark.conf]
"spark.driver.defaultJavaOptions" = "QUICK"
"spark.sql.shuffle.partitions" = 1

[[source]]
relation = "link"
kind = "csv"
path = "links.csv"
where = "dst != 'nowhere'"

[[sink]]
view = "reach"
kind = "feed"
path = "out/changes"
"""


def command(folder: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "headwater", "pipeline", *words]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": SOURCE, "NO_COLOR": "1"}


def status(folder: Path, *words: str) -> str:
    """What is said of a pipeline, asked in this process."""
    done = CliRunner().invoke(main, ["pipeline", "status", str(folder / "net.toml"), *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        command(folder, *words), cwd=folder, env=environment(), capture_output=True, text=True, timeout=200
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "reach.dl").write_text(
        "link(src: string, dst: string). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
    )
    (tmp_path / "net.toml").write_text(FILE.replace("QUICK", options()))
    links(tmp_path, "a,b", "b,c", "c,nowhere")
    return tmp_path


def links(folder: Path, *rows: str) -> None:
    hidden = folder / ".links"
    hidden.write_text("\n".join(["src,dst", *rows]) + "\n")
    hidden.replace(folder / "links.csv")


def test_a_pipeline_that_runs_is_stopped_and_goes_on(folder):
    before = ran(folder, "status", "net.toml")
    assert (before.returncode, before.stdout) == (0, "net.toml has not been run yet\n")
    process = subprocess.Popen(
        command(folder, "run", "net.toml", "--continuous", "--json"),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None and process.stderr is not None
        reports = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert (reports[1]["changes"], reports[1]["read"]) == (2, 2)
        links(folder, "a,b", "b,c", "c,d")
        reports.append(json.loads(process.stdout.readline()))
        assert (reports[2]["changes"], reports[2]["versions"]) == (3, 2)
        asked = json.loads(status(folder, "--json"))
        assert asked["version"] == reports[2]["version"] and asked["sinks"][0]["owed"] == 0
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        assert process.wait(60) == 0, process.stderr.read()
        assert time.monotonic() - begun < 60
        assert "stopping after the version at hand" in process.stderr.read()
    links(folder, "a,b")
    assert json.loads(status(folder, "--json"))["sources"][0]["behind"] == "changed files"
    again = ran(folder, "run", "net.toml")
    assert again.returncode == 0, again.stderr
    assert "1 new version, 2 changes from 1 row read" in again.stderr
    last = ran(folder, "status", "net.toml").stdout
    assert f"version {reports[2]['version'] + 1}" in last and "csv:links.csv" in last
    with hw.connect(folder / "state", mode="r") as db:
        assert db["reach"].rows() == [("a", "b")]


def test_what_is_wrong_with_a_file_is_said_at_its_place_without_starting_spark(folder):
    (folder / "net.toml").write_text(FILE.replace("where", "wher"))
    done = ran(folder, "run", "net.toml")
    assert done.returncode == 1 and done.stdout == ""
    assert "error[unknown-key]: no key wher in [source]" in done.stderr
    assert "net.toml:16:1" in done.stderr and "did you mean where?" in done.stderr
