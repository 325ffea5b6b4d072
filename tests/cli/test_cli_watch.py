"""`headwater watch`: rows that come and go, of a state that others write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from cli_folder import SOURCE, Folder

import headwater as hw


def test_versions_that_are_in_the_log(state: Folder) -> None:
    with hw.connect("state") as db:
        before = db.version
        db.apply(insert={"link": [("c", "d")]})
        db.apply(insert={"link": [("x", "y")]}, delete={"link": [("c", "d")]})
    shown = state.done("watch", "state", "reach(a, X)", "--from-version", str(before), "--once")
    assert shown.splitlines() == [
        f"version {before + 1}  reach  +1 -0",
        '+ reach("a", "d")',
        f"version {before + 2}  reach  +0 -1",
        '- reach("a", "d")',
    ]


def test_lines_of_json_with_a_condition(state: Folder) -> None:
    with hw.connect("state") as db:
        before = db.version
        db.apply(insert={"link": [("c", "d"), ("c", "e")]})
        db.apply(delete={"link": [("c", "d")]})
    said = state.done(
        "watch", "state", "reach", "--on", "added", "--json", "--once", "--limit", "1",
        "--from-version", str(before),
    )  # fmt: skip
    assert [json.loads(line) for line in said.splitlines()] == [
        {
            "version": before + 1,
            "view": "reach",
            "columns": ["src", "dst"],
            "inserted": [["a", "d"]],
            "deleted": [],
        }
    ]
    told = state.done(
        "watch", "state", "reach(X, Y)", "--when", "X != Y, link(X, Y)", "--json", "--once", "--from-version",
        str(before),
    )  # fmt: skip
    assert [json.loads(line)["inserted"] for line in told.splitlines()] == [[["c", "d"], ["c", "e"]]]


def following(state: Folder, *arguments: str) -> subprocess.Popen[str]:
    """The command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "headwater", "watch", "state", *arguments],
        cwd=state.path, env={**os.environ, "PYTHONPATH": str(SOURCE)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_a_state_that_another_process_writes(state: Folder) -> None:
    """With the writer's lock held, and a checkpoint in the middle; it ends after three versions."""
    with hw.connect("state") as db:
        before = db.version
        options = ("--json", "--count", "3", "--every", "0.01", "--from-version", str(before))
        with following(state, "reach(a, X)", *options) as process:
            assert process.stdout is not None
            seen = []
            for node in ("p", "q", "r"):
                db.apply(insert={"link": [("c", node)]})
                seen.append(json.loads(process.stdout.readline()))
                if node == "q":
                    db.checkpoint()
            assert process.wait(timeout=60) == 0
    assert [(one["version"], one["inserted"]) for one in seen] == [
        (before + 1, [["a", "p"]]),
        (before + 2, [["a", "q"]]),
        (before + 3, [["a", "r"]]),
    ]


def test_control_c_ends_it_quietly(state: Folder) -> None:
    with hw.connect("state") as db:
        before = db.version
        db.apply(insert={"link": [("c", "d")]})
    with following(state, "reach", "--from-version", str(before)) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(f"version {before + 1}")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and said == ""


def test_who_watches_and_what_failed(state: Folder) -> None:
    state.write("more.dl", "pages: on +reach(x, y), x = y do call page(x).")
    state.done("define", "-s", "state", "more.dl")
    with hw.connect("state") as db:
        db.watch("reach(a, X)", print, on="added", name="mine")
    result = state.run("apply", "-s", "state", "--insert", "link(z, z)")
    assert result.exit_code == 0
    assert "pages is parked, and owed 1 versions: error[unknown-action]" in result.stderr
    listed = sorted(line.split() for line in state.done("watch", "state").splitlines() if "reach" in line)
    assert listed == [
        ["mine", "reach(a,", "X)", "added", "0", "0"],
        ["pages", "reach(x,", "y),", "x", "=", "y", "added", "0", "1"],
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("state", "nowhere"), 1, "unknown-relation"),
        (("state", "reach(X)"), 1, "wrong-arity"),
        (("state", "reach", "--when", "Z > 3"), 1, "unsafe-variable"),
        (("state", "reach", "--from-version", "0", "--once"), 3, "missed"),
        (("elsewhere", "reach"), 3, "missing"),
        (("state", "reach", "--on", "add"), 2, "--on"),
    ],
)
def test_what_cannot_be_followed(state: Folder, arguments: tuple[str, ...], code: int, said: str) -> None:
    assert said in state.refused("watch", *arguments, code=code)


def test_a_relation_that_its_writer_drops(state: Folder) -> None:
    with hw.connect("state") as db:
        before = db.version
        db.define("lone(x) :- link(x, _).")
        db.apply(insert={"link": [("q", "q")]})
        db.drop("lone")
        db.apply(insert={"link": [("r", "r")]})
    said = state.refused("watch", "state", "lone", "--from-version", str(before + 1))
    assert "watch-parked" in said and "lone" in said
