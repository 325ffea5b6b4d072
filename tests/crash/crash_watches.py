"""Kill a process while it tells watches, again and again, and look at what was done about each version.

    python tests/crash/crash_watches.py -n 200 --seed 7

A child process opens a state folder and inserts items, one a version. Rules and a watch act on them: some in later
versions of the database, one by files, one by a function and one by a callback, both of which write down the version.
At a random moment, or in the middle of a function or a callback, it is killed with SIGKILL. The next child goes on
from there. After each kill a last process opens the folder and tells what is owed. Then

- every item that was acknowledged is there, and all that follows from it: nothing is lost;
- there are exactly as many versions as items and actions that make a version: no transactional action was done twice;
- there is one file for each version with an item, whole, and no other;
- function and callback have seen each version at least once, in order; what they saw twice, they saw twice in a row.

Children are forked from this process, so that a kill costs milliseconds and not the import of the library.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import time
from pathlib import Path

import headwater as hw
from headwater.active.event import WatchEvent
from headwater.database import Database

PROGRAM = """
item(n: int). copy(n: int). last(n: int).
twice(N, M) :- item(N), M = 2 * N.
.kind twice watched
copies: on +item(N) do after insert copy(N).
clears: on +copy(N), last(M) do after delete last(M).
files: on +twice(N, M) do append '{folder}/files.jsonl'.
calls: on +item(N) do call note(N).
"""
ACTIONS = 2
"""How many versions follow from each item: one of `copies`, one of `clears`."""


class Child:
    """A process that works until it is killed, possibly by itself."""

    def __init__(self, folder: Path, seed: int):
        self.folder = folder
        self.rng = random.Random(seed)

    def opened(self) -> Database:
        """The database, with what was owed told."""
        db = hw.connect(self.folder / "state", actions={"note": self.note})
        if db.version == 0:
            db.define(PROGRAM.format(folder=self.folder))
        db.watch("twice(N, M)", self.heard, on="added", when="M > N", name="outside")
        return db

    def note(self, number: int, *, version: int) -> None:
        """What a rule calls."""
        self.write("calls", version)

    def heard(self, event: WatchEvent) -> None:
        """What the watch calls."""
        self.write("events", event.version)

    def write(self, name: str, version: int) -> None:
        """Write the version down; now and then, die before or after that."""
        self.maybe_die()
        with open(self.folder / name, "ab", buffering=0) as file:
            file.write(b"%d\n" % version)
        self.maybe_die()

    def maybe_die(self) -> None:
        if self.rng.random() < 0.02:
            os.kill(os.getpid(), signal.SIGKILL)

    def work(self, pipe: int) -> None:
        """Insert items for ever, saying which are acknowledged; `last` holds one row, for `clears` to delete."""
        db = self.opened()
        number = max((n for (n,) in db["item"]), default=0)
        while True:
            number += 1
            db.apply(insert={"item": [(number,)], "last": [(number,)]})
            os.write(pipe, b"%d\n" % number)
            if self.rng.random() < 0.1:
                db.checkpoint()


def killed(folder: Path, rng: random.Random) -> int:
    """Let a child work, kill it if it does not do so itself; the last item it has acknowledged."""
    reading, writing = os.pipe()
    seed = rng.randrange(1 << 30)
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            Child(folder, seed).work(writing)
        finally:
            os._exit(1)
    os.close(writing)
    wanted, said = rng.randint(0, 4), b""
    while said.count(b"\n") < wanted and (piece := os.read(reading, 4096)):
        said += piece
    time.sleep(rng.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, "the child ended by itself"
    while piece := os.read(reading, 4096):
        said += piece
    os.close(reading)
    return max((int(line) for line in said.split()), default=0)


def settled(folder: Path) -> None:
    """Let a process that nobody kills tell what is owed, and check what there is."""
    child = Child(folder, 0)
    child.rng.random = lambda: 1.0  # type: ignore[method-assign]
    with child.opened() as db:
        items = {n for (n,) in db["item"]}
        assert items == set(range(1, len(items) + 1))
        assert {n for (n,) in db["copy"]} == items, "a version is lost"
        assert db["last"].rows() == []
        assert db.version == 1 + len(items) * (1 + ACTIONS), "an action was done twice, or not at all"
        assert all(watch.state == "following" and not watch.owed for watch in db.watches.values()), db.watches
    check_outside(folder, len(items))


def check_outside(folder: Path, items: int) -> None:
    """Files, function and callback: the version of an item is the first of those that follow from it."""
    versions = [2 + (1 + ACTIONS) * number for number in range(items)]
    files = folder / "files.jsonl"
    written = {path.name: path.read_text() for path in files.iterdir()} if files.exists() else {}
    written = {name: text for name, text in written.items() if not name.startswith(".")}
    assert sorted(written) == [f"files-{version:012d}.jsonl" for version in versions]
    for number, (_, text) in enumerate(sorted(written.items()), 1):
        said = json.loads(text)
        assert (said["N"], said["M"], said["_commit_version"]) == (number, 2 * number, versions[number - 1])
    for name in ("calls", "events"):
        file = folder / name
        seen = [int(line) for line in file.read_text().split()] if file.exists() else []
        assert seen == sorted(seen) and sorted(set(seen)) == versions, (name, seen)


def items_in(folder: Path) -> int:
    """How many items a state has, as a reader sees it."""
    with hw.connect(folder / "state", mode="r") as db:
        return len(db["item"]) if "item" in db else 0


def run(kills: int, seed: int, folder: Path) -> int:
    """Kill that many children; how many items there are in the end. Raises if anything is wrong."""
    rng = random.Random(seed)
    there = 0
    for kill in range(kills):
        acknowledged = max(there, killed(folder, rng))
        if not (folder / "state" / "manifest.json").exists():
            continue
        there = items_in(folder)
        assert acknowledged <= there, (kill, acknowledged, there)
        if rng.random() < 0.5 or kill == kills - 1:  # else the next child begins with what this one owes
            settled(folder)
    return there


def main() -> None:
    """Read the arguments and kill."""
    parser = argparse.ArgumentParser(description="Kill a process that tells watches, and check what it did.")
    parser.add_argument("-n", "--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        items = run(options.kills, options.seed, Path(folder))
    print(f"{options.kills} kills, {items} items, nothing lost, nothing twice")


if __name__ == "__main__":
    main()
