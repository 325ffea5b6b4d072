"""Work that takes long shows itself where somebody looks on, and leaves nothing behind."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys

import pytest

import headwater as hw
from headwater.version.spectator import NotebookLine, Spectator, TerminalLine, screen_of
from headwater.version.statistics import StratumStatistics

CLOSURE = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
LINKS = [(n, n + 1) for n in range(40)]


class Lines:
    """A screen that remembers."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def show(self, line: str) -> None:
        self.seen.append(line)


def test_rounds_and_derivations_are_shown_while_a_view_is_derived():
    lines = Lines()
    db = hw.connect(progress=False)
    db.engine.workspace.pause.spectator = Spectator(lines, patience=0.0)
    db.define(CLOSURE, insert={"link": LINKS})
    assert lines.seen[0].startswith("deriving reach: ")
    assert lines.seen[-1] == ""


def test_nothing_is_left_on_the_line_when_a_version_is_refused():
    lines = Lines()
    db = hw.connect(max_rounds=3)
    db.engine.workspace.pause.spectator = Spectator(lines, patience=0.0)
    with pytest.raises(hw.EvaluationError):
        db.define(CLOSURE, insert={"link": LINKS})
    assert lines.seen[-1] == ""


def test_what_is_soon_done_is_not_shown():
    lines = Lines()
    spectator = Spectator(lines, patience=1e9)
    with spectator.over(StratumStatistics(("reach",), "support")):
        spectator.look()
    assert lines.seen == []


def test_nobody_looks_on_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert screen_of(None) is None
    assert screen_of(True) is None
    assert screen_of(False) is None


def test_a_terminal_has_its_line_back():
    stream = io.StringIO()
    line = TerminalLine(stream)
    line.show("x" * 200)
    line.show("")
    assert stream.getvalue() == "\r\x1b[2K" + "x" * 79 + "\r\x1b[2K"


PROGRAM = f"""
import headwater as hw
from headwater.version import spectator
spectator.PATIENCE = 0.0
spectator.Spectator.__init__.__defaults__ = (None, 0.0)
db = hw.connect()
db.define({CLOSURE!r}, insert={{"link": {LINKS!r}}})
"""


@pytest.mark.parametrize("switched", ["on", "off"])
def test_on_a_real_terminal(switched: str):
    """And not at all if the environment says so."""
    master, slave = pty.openpty()
    off = {"HEADWATER_PROGRESS": "0"} if switched == "off" else {}
    try:
        subprocess.run(
            [sys.executable, "-c", PROGRAM], stderr=slave, env={**os.environ, **off}, check=True, timeout=120
        )
        os.write(slave, b"end")
        said = ""
        while not said.endswith("end"):
            said += os.read(master, 1 << 16).decode()
    finally:
        os.close(master)
        os.close(slave)
    assert said.endswith("\r\x1b[2Kend" if switched == "on" else "end")
    assert ("deriving reach" in said) == (switched == "on")


def test_a_notebook_shows_one_line_and_empties_it(monkeypatch: pytest.MonkeyPatch):
    shown: list[str] = []

    class Handle:
        def update(self, page: object) -> None:
            shown.append(str(page))

    def display(page: object, display_id: bool) -> Handle:
        shown.append(str(page))
        return Handle()

    module = type(sys)("IPython.display")
    module.HTML, module.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", type(sys)("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    line = NotebookLine()
    for text in ("a < b", "c", ""):
        line.show(text)
    assert "a &lt; b" in shown[0]
    assert shown[-1] == ""
