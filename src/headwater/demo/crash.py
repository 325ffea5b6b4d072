"""The same kind of changes into a state folder, by a process that is killed in the middle.

The writer makes one version after another and says so after each, once `apply` has returned. Which change
makes which version is known beforehand, so whatever version is found in the folder afterwards, the rows that
belong to it are known too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from time import perf_counter

import headwater as hw
from headwater.database import Database
from headwater.demo.contenders import HeadwaterViews
from headwater.demo.scenario import PROGRAM, VIEWS, Row, network
from headwater.networks import Link

KILL_AFTER = 100
"""Versions that the writer has said to be done when it is killed."""


@dataclass(frozen=True)
class WriterStep:
    """One version: links that go or links that come."""

    delete: tuple[Row, ...] = ()
    insert: tuple[Row, ...] = ()


def steps(seed: int) -> Iterator[WriterStep]:
    """All links, then for ever: a random link goes, or one that is gone comes back."""
    topology = network(seed)
    yield WriterStep(insert=tuple(topology.rows()))
    random = Random(seed)
    up, down = list(topology.links), list[Link]()
    while True:
        fails = random.random() < 0.5 or not down
        source, sink = (up, down) if fails else (down, up)
        link = source.pop(random.randrange(len(source)))
        sink.append(link)
        rows = tuple(link.rows())
        yield WriterStep(delete=rows) if fails else WriterStep(insert=rows)


def write(folder: str, seed: int) -> None:
    """Follow the steps until killed; print each version when it is safe."""
    with hw.connect(folder) as database:
        database.define(PROGRAM)
        for step in steps(seed):
            database.apply(insert={"link": step.insert}, delete={"link": step.delete})
            print(database.version, flush=True)


@dataclass(frozen=True)
class Recovery:
    """What the killed writer had said, and what was found."""

    acknowledged: int
    found: int
    open_seconds: float
    reopen_seconds: float
    log_bytes: int
    rows: int
    links_right: bool
    views_right: bool


def kill_and_reopen(folder: Path, seed: int) -> Recovery:
    """Start a writer, kill it with SIGKILL, open what it left and check all of it."""
    command = [sys.executable, "-m", "headwater.demo.crash", str(folder), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= KILL_AFTER:
                os.kill(writer.pid, signal.SIGKILL)
                break
        else:
            raise RuntimeError(f"the writer stopped by itself, with exit code {writer.wait()}")
        said = [line, *writer.stdout]
    acknowledged = int([line for line in said if line.endswith("\n")][-1])
    log_bytes = sum(file.stat().st_size for file in (folder / "log").iterdir())
    database, seconds = _open(folder)
    with database:
        database.checkpoint()
    database, again = _open(folder)
    with database:
        links = _links_at(database.version, seed)
        anew = HeadwaterViews("anew", "recompute")
        anew.change((), sorted(links))
        return Recovery(
            acknowledged,
            database.version,
            seconds,
            again,
            log_bytes,
            sum(len(database[view]) for view in VIEWS),
            set(database["link"].rows()) == links,
            all(set(database[view].rows()) == anew.rows(view) for view in VIEWS),
        )


def _open(folder: Path) -> tuple[Database, float]:
    started = perf_counter()
    database = hw.connect(folder)
    return database, perf_counter() - started


def _links_at(version: int, seed: int) -> set[Row]:
    """The links of a version. Version 1 is the definition."""
    links: set[Row] = set()
    for step in islice(steps(seed), version - 1):
        links.difference_update(step.delete)
        links.update(step.insert)
    return links


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
