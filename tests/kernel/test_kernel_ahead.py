"""Machine code that another process compiles: one at a time, in nobody's way, and nothing depends on it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import headwater
from headwater.kernel import ahead, compiled, machine_code
from headwater.kernel.compiled import Kernel
from headwater.kernel.interpreted import SHORT

PATIENCE = 120
BEGIN = """
import os, sys, time
import numpy as np
from headwater.kernel import ahead, at_hand, compiled, journal, rowops
function = rowops.find
task = lambda kernel: (kernel.function.__module__, kernel.digest(4), 4)

def children():
    return [
        int(child) for name in os.listdir("/proc/self/task")
        for child in open(f"/proc/self/task/{name}/children").read().split()
    ]

def until(happens):
    end = time.monotonic() + 100
    while not happens() and time.monotonic() < end:
        time.sleep(0.02)
    return happens()
"""


def started(cache: Path | str, text: str, **environment: str) -> subprocess.Popen[str]:
    """A process that may have functions compiled ahead."""
    package = Path(headwater.__file__).parent.parent
    known = {**os.environ, "HEADWATER_COMPILE_AHEAD": "1", "HEADWATER_CACHE": str(cache), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN + text],
        env={**known, "PYTHONPATH": str(package)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and err == "", err
    return out.splitlines()


@contextmanager
def held(cache: Path) -> Iterator[bool]:
    """Whether somebody compiles."""
    with open(cache / "headwater" / "kernel" / ahead.LOCK, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield False
        except BlockingIOError:
            yield True


def kept(cache: Path) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in cache.rglob("*.nbc"))


def wait_until_nobody_compiles(cache: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with held(cache) as busy:
            if not busy:
                return
        time.sleep(0.02)
    raise AssertionError("the process that compiles does not end")


MISSED = """
import numba
found = []
rows, slots = np.zeros((1000, 4), np.int32), np.zeros(2048, np.uint32)
out, scratch = np.zeros(700, np.int32), np.empty(4096, np.int64)
at_hand.missed(function, 4, at_hand.MISSED_BEFORE_AHEAD - 1)
found.append(len(children()))
def is_there():
    if at_hand.at_hand(rowops.find, 4):
        return True
    at_hand.missed(rowops.find, 4, 1)
    found.append(len(children()))
    return False
there = until(is_there)
rowops.find(np.ones((700, 2), np.int64), 2, rows, np.zeros(1000, np.uint8), slots, out, scratch)
print(there, found[:2], set(out.tolist()), sum(rowops.find.stats.cache_misses.values()))
print(until(lambda: not children()))
"""


def test_what_is_missed_is_compiled_by_another_process_and_taken_when_it_is_there(tmp_path: Path):
    """The process itself compiles nothing, and what ended is reaped."""
    assert said(started(tmp_path, MISSED)) == ["True [0, 1] {-1} 0", "True"]
    assert kept(tmp_path) == ["rowops.find"]


def test_damaged_machine_code_is_compiled_again_by_another_process(tmp_path: Path):
    said(started(tmp_path, MISSED))
    (damaged,) = tmp_path.rglob("*.nbc")
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:100])
    assert said(started(tmp_path, MISSED))[0] == "True [0, 1] {-1} 0"
    assert len(damaged.read_bytes()) == len(whole)


LEAVE = "print(ahead.compile_ahead([task(function)]), len(children()))"


def test_nobody_waits_for_it(tmp_path: Path):
    """A process ends, and whoever reads its output hears so, while the other goes on; that ends by itself."""
    assert said(started(tmp_path, LEAVE)) == ["True 1"]
    with held(tmp_path) as busy:
        assert busy
    wait_until_nobody_compiles(tmp_path)
    assert kept(tmp_path) == ["rowops.find"]


def test_two_processes_have_one_that_compiles(tmp_path: Path):
    both = [started(tmp_path, LEAVE) for _ in range(2)]
    assert sorted(map(said, both)) == [["False 0"], ["True 1"]]
    wait_until_nobody_compiles(tmp_path)
    assert kept(tmp_path) == ["rowops.find"]


KILLED = """
print(ahead.compile_ahead([task(function)]))
(child,) = children()
os.kill(child, 9)
print(until(lambda: not children()), os.path.exists(f"/proc/{child}"))
print(ahead.compile_ahead([task(function)]))
state = np.full(100, 255, np.uint8)
rowops.clear_bits(np.arange(0, 100, 2, dtype=np.int32), state, np.uint8(0xF7))
print(state[:3].tolist())
print(ahead.compile_ahead([task(journal.seal)]))
"""


def test_one_that_is_killed_is_not_missed(tmp_path: Path):
    """The lock is free, nothing is left of it, and it is not started for the same again."""
    assert said(started(tmp_path, KILLED)) == ["True", "True False", "False", "[247, 255, 247]", "True"]
    wait_until_nobody_compiles(tmp_path)
    assert kept(tmp_path) == ["journal.seal"]


IMPOSSIBLE = "print(ahead.is_possible(), ahead.compile_ahead([task(function)]), len(children()))"


@pytest.mark.parametrize(
    ("cache", "environment", "before"),
    [
        ("/proc/nowhere", {}, ""),
        (None, {"HEADWATER_COMPILE_AHEAD": "0"}, ""),
        (None, {}, "sys.executable = '/usr/sbin/uwsgi'\n"),
        (None, {}, "sys.executable = None\n"),
        (None, {}, "sys.frozen = True\n"),
    ],
)
def test_where_it_cannot_be(cache: str | None, environment: dict[str, str], before: str, tmp_path: Path):
    text = before + IMPOSSIBLE
    assert said(started(cache or tmp_path, text, **environment)) == ["False False 0"]


def test_a_process_that_cannot_be_started_is_done_without(tmp_path: Path):
    """The interpreter is gone, say: as where no process can be had."""
    text = "sys.executable = '/nowhere/python'\n" + IMPOSSIBLE
    assert said(started(tmp_path, text)) == ["True False 0"]
    with held(tmp_path) as busy:
        assert not busy


STREAM = """
import headwater
asked = []
compiled._announce = lambda: None
ahead.compile_ahead = lambda tasks: asked.append(list(tasks))
from headwater.kernel.rounds import advance
db = headwater.connect()
db.define("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
db.apply(insert={"link": [(1, 2), (2, 3), (3, 4)]})
for _ in range(80):
    db.apply(delete={"link": [(2, 3)]})
    db.apply(insert={"link": [(2, 3)]})
print({*map(tuple, asked)} == {(task(compiled.kernel_of(advance.advance)),)}, sorted(db["reach"].rows()))
"""


def test_a_stream_of_changes_asks_for_small_rounds_in_one_call(tmp_path: Path):
    """After a hundred changes or so, for the width of the rows."""
    rows = "[(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]"
    assert said(started(tmp_path, STREAM)) == [f"True {rows}"]


def test_a_large_load_asks_for_what_its_rules_and_the_first_deletion_need(monkeypatch: pytest.MonkeyPatch):
    """What its rules need comes first; then, in each, what is needed last."""

    def loses() -> None: ...
    def ends() -> None: ...
    def joins() -> None: ...
    def other() -> None: ...

    losing, ending = Kernel(loses, "void(stored[::1])", losing=True), Kernel(ends, "void()", ending="earlier")
    joining = Kernel(joins, "void()", joining=True, ending="earlier")
    asked: list[list[ahead.Task]] = []
    monkeypatch.setattr(compiled, "_kernels", [losing, joining, ending, Kernel(other, "void()")])
    monkeypatch.setattr(compiled, "_widths", {4})
    monkeypatch.setattr(compiled, "_large", set())
    monkeypatch.setattr(compiled, "load", lambda which, widths: None)
    monkeypatch.setattr(machine_code, "_names", machine_code.cache(lambda: ""))
    monkeypatch.setattr(ahead, "is_possible", lambda: True)
    monkeypatch.setattr(ahead, "compile_ahead", asked.append)
    compiled.load_endings(SHORT, 8)
    assert asked == []
    compiled.load_endings(SHORT + 1, 8)
    compiled.load_endings(SHORT + 1, 8, "earlier")
    assert asked == [[(__name__, kernel.digest(8), 8) for kernel in (joining, ending, losing)]]


ALL = """
compiled._announce = lambda: None
some = compiled.kernels_of("headwater.kernel.journal")
compiled._kernels = [each for each in compiled._kernels if each.signature is None] + some
before = len(list(ahead.kept_folder().glob("*.nbc")))
compiled.compile_missing()
loaded = [each.function.__name__ for each in some if each.machine_code is not None]
print(before, len(loaded), len(list(ahead.kept_folder().glob("*.nbc"))))
"""


def test_nodes_compile_what_is_missing_and_load_the_rest_when_they_need_it(tmp_path: Path):
    """Five functions, three of them for two widths; one is loaded to see whether what is kept is fit."""
    known = {"HEADWATER_COMPILE_AHEAD": "0"}
    assert said(started(tmp_path, ALL, **known)) == ["0 5 8"]
    assert said(started(tmp_path, ALL, **known)) == ["8 1 8"]
    for index in tmp_path.rglob("*.nbi"):
        index.unlink()
    assert said(started(tmp_path, ALL, **known)) == ["8 5 8"]
