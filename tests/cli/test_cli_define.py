"""`headwater define`: the difference, the question, and what is applied."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys

import pytest
from cli_folder import REACH, SOURCE, Folder

import headwater

CHANGED = (
    REACH.replace("link(x, z), reach(z, y)", "reach(x, z), link(z, y)") + 'two(x) :- reach(x, _), x != "b".\n'
)


def version(folder: Folder) -> int:
    with headwater.connect(folder.path / "state", mode="r") as db:
        return db.version


def test_the_difference_is_printed_and_nothing_done(state: Folder) -> None:
    state.write("new.dl", CHANGED)
    result = state.run("define", "state", "new.dl", "--dry-run", "-v")
    assert result.exit_code == 0 and result.stderr == "nothing was applied, it is still version 1\n"
    assert "+ rule two#1: two(x)" in result.stdout and "~ rule reach#2: " in result.stdout
    assert "+ relation two" in result.stdout and '+ two("a")' in result.stdout
    assert [line.split() for line in result.stdout.splitlines() if line.startswith("two ")] == [
        ["two", "+1", "-0"]
    ]
    assert "two" not in state.done("show", "-s", "state")


def test_it_is_applied_without_asking(state: Folder) -> None:
    state.write("new.dl", CHANGED)
    state.done("define", "state", "new.dl", "--yes")
    assert state.done("show", "-s", "state", "two", "--format", "csv") == "x\na\n" and version(state) == 2
    assert state.run("define", "state", "new.dl").stderr == "nothing to change, it is still version 2\n"
    state.done("define", "state", "reach.dl", "--yes")
    assert "two" not in state.done("show", "-s", "state") and version(state) == 3


def test_without_a_terminal_nothing_is_changed(state: Folder) -> None:
    state.write("new.dl", CHANGED)
    said = state.refused("define", "state", "new.dl")
    assert "error[not-confirmed]" in said and "--yes" in said and "--add" in said
    assert version(state) == 1


def test_several_texts_are_replaced_by_one(state: Folder) -> None:
    state.write("more.dl", "back(y, x) :- link(x, y).")
    state.done("define", "-s", "state", "more.dl")
    state.write("new.dl", CHANGED)
    assert "- rule back#1" in state.done("define", "state", "new.dl", "--yes")
    with headwater.connect(state.path / "state", mode="r") as db:
        assert [source for _, source in db.texts] == ["new.dl"]


def test_adding_by_name_of_the_folder(state: Folder) -> None:
    state.write("more.dl", "back(y, x) :- link(x, y).")
    assert "+ relation back" in state.done("define", "state", "more.dl", "--add", "--dry-run")
    state.done("define", "state", "more.dl", "--add")
    state.write("new.dl", CHANGED)
    state.done("define", "-s", "state", "new.dl", "--whole", "--yes")
    assert "back" not in state.done("show", "-s", "state")


def test_a_new_state_is_defined_without_asking(folder: Folder) -> None:
    folder.write("new.dl", "p(1). q(X) :- p(X).")
    assert "q" in folder.done("define", "new", "new.dl", "--dry-run")
    assert not (folder.path / "new").exists()
    folder.done("define", "new", "new.dl")
    assert folder.done("show", "-s", "new", "q", "--format", "csv") == "X\n1\n"


@pytest.mark.parametrize(
    "arguments", [(), ("state",), ("-s", "state"), ("-s", "state", "reach.dl", "x"), ("state", "nothing.dl")]
)
def test_wrong_arguments(state: Folder, arguments: tuple[str, ...]) -> None:
    state.refused("define", *arguments, code=2)
    assert version(state) == 1


def test_what_is_refused_changes_nothing(state: Folder) -> None:
    state.write("bad.dl", ".decl link(a: number, b: number)\n.input link\np(x) :- link(x, _).\n")
    assert "error[type-clash]" in state.refused("define", "state", "bad.dl", "--yes")
    state.write("bad.dl", "p(x, y) :- link(x, _).\n")
    assert "bad.dl:1:6" in state.refused("define", "state", "bad.dl", "--dry-run")
    assert version(state) == 1


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Interrupt until it ends: a signal that comes just before the process waits for a line is seen with the next."""
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=4)


@pytest.mark.parametrize(
    "answer, code, after", [("y\n", 0, 2), ("n\n", 1, 1), ("Ctrl-C", 130, 1), ("\x04", 130, 1)]
)
def test_a_terminal_is_asked(state: Folder, answer: str, code: int, after: int) -> None:
    state.write("new.dl", CHANGED)
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "headwater", "define", "state", "new.dl"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=state.path
    ) as process:
        os.close(theirs)
        assert process.stderr is not None
        said = b""
        while b"Apply this?" not in said:
            more = process.stderr.read1(100)
            assert more, said
            said += more
        if answer == "Ctrl-C":
            _interrupt(process)
        else:
            os.write(mine, answer.encode())
        out, rest = process.communicate(timeout=60)
    os.close(mine)
    assert process.returncode == code, (out, said, rest)
    assert b"~ rule reach#2" in out and b"Traceback" not in rest
    assert version(state) == after


def test_rules_are_shown_with_their_ids(state: Folder) -> None:
    assert "reach#2" in state.done("show", "-s", "state", "--rules")
    found = state.done("show", "-s", "state", "reach", "--rules", "--format", "csv").splitlines()
    assert found[0] == "id,text,view,place" and [line.split(",")[0] for line in found[1:]] == [
        "reach#1",
        "reach#2",
    ]
    assert state.done("show", "-s", "state", "link", "--rules", "--format", "csv") == "id,text,view,place\n"
    assert "unknown-relation" in state.refused("show", "-s", "state", "zzz", "--rules")
