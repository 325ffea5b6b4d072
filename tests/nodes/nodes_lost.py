"""Lose nodes, again and again, while changes are applied; nodes are threads here.

    python tests/nodes/nodes_lost.py -n 100 --seed 7

A stream of changes, each a function of the seed, goes to a database on nodes and to one in this process. At random
moments (before a request to the nodes is sent, or after it was answered) all nodes are replaced by new ones that hold
nothing. After every version the two databases hold the same, and so does the state folder that is left.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import headwater as hw
from headwater.database import Database

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
from oracle_lockstep import state_of

PROGRAM = """
link(src: int, dst: int, cost: int).
materialize(link, infinity, infinity, keys(1, 2)).
heard(node: int, level: int).
materialize(heard, 4, 6, keys(1)).
reach(X, Y) :- link(X, Y, _).
reach(X, Y) :- link(X, Z, _), reach(Z, Y).
cheapest(X, Y, min<C>) :- link(X, Y, C).
cheapest(X, Y, min<C>) :- link(X, Z, A), cheapest(Z, Y, B), C = A + B.
level(X, max<L>) :- heard(X, L).
level(Y, max<L>) :- level(X, K), link(X, Y, _), L = min(K + 1, 9).
reached(X, count<Y>) :- reach(X, Y).
visits(node: int, count: int).
on +reach(X, X), visits(X, N) do delete visits(X, N), insert visits(X, N + 1).
on +reach(X, X), !visits(X, _) do insert visits(X, 1).
on +visits(X, N), N % 3 = 0 do insert heard(X, 5), delete link(X, _, 9).
"""
NODES = 7
MOST_IN_A_ROW = 2
"""Losses between two versions, also while nodes recover from the one before; after some more a database gives up."""


def lose_all(db: Database) -> None:
    """All nodes are replaced by new ones that hold nothing."""
    meeting = db.runner.nodes.coordinator.meeting  # type: ignore[attr-defined]
    before = meeting.wait(60)
    meeting.end(before, "they are lost")
    assert meeting.wait(60).identity > before.identity


class Losses:
    """Stands between a database and its nodes, and loses them at the request that was chosen."""

    def __init__(self, db: Database, rng: random.Random):
        self.db = db
        self.rng = rng
        self.number = 0
        nodes: Any = db.runner.nodes  # type: ignore[attr-defined]
        self._ask = nodes.ask_each
        nodes.ask_each = self.ask
        self._left = rng.randrange(8)
        self._in_a_row = 0

    def go_on(self) -> None:
        """A version was applied and looked at: nodes may be lost again."""
        self._in_a_row = 0

    def ask(self, *args: Any) -> Any:
        """As nodes do, but now and then the nodes are lost before or after."""
        self._left -= 1
        if self._left > 0 or self._in_a_row == MOST_IN_A_ROW:
            return self._ask(*args)
        self._in_a_row += 1
        self._left = self.rng.randrange(4, 30)
        self.number += 1
        if self.rng.random() < 0.5:
            lose_all(self.db)
            return self._ask(*args)
        replies = self._ask(*args)
        lose_all(self.db)
        return replies


def changes(rng: random.Random, links: list[tuple[int, ...]]) -> dict[str, dict[str, list[tuple[int, ...]]]]:
    """Some links less and some more; some rows with a lifetime."""
    gone = rng.sample(links, min(len(links), rng.choice([0, 1, 3])))
    new = [
        (rng.randrange(NODES), rng.randrange(NODES), rng.randint(1, 9)) for _ in range(rng.choice([0, 1, 3]))
    ]
    heard = [(rng.randrange(NODES), rng.randrange(9)) for _ in range(rng.choice([0, 1, 2]))]
    return {"delete": {"link": gone}, "insert": {"link": new, "heard": heard}}


def run(losses: int, seed: int, folder: Path) -> int:
    """Go on until the nodes were lost that often; return the number of versions. Raises if anything is wrong."""
    rng = random.Random(seed)
    beside = hw.connect()
    with hw.connect(folder, run="threads", nodes=2, replicate=rng.choice([0, 10_000])) as db:
        lost = Losses(db, rng)
        for each in (beside, db):
            each.define(PROGRAM)
        while lost.number < losses:
            if rng.random() < 0.15:
                for each in (beside, db):
                    each.advance(beside.now + (each is beside))
            else:
                change = changes(rng, sorted(beside["link"].rows()))
                for each in (beside, db):
                    each.apply(**change)
            assert db.version == beside.version, "a version was lost, or there twice"
            assert state_of(db) == state_of(beside), f"version {db.version}"
            lost.go_on()
            if rng.random() < 0.05:
                db.checkpoint()
    with hw.connect(folder) as db:
        assert state_of(db) == state_of(beside)
        return db.version


def main() -> None:
    """Read the arguments and lose."""
    parser = argparse.ArgumentParser(description="Lose nodes at random moments and check what they hold.")
    parser.add_argument("-n", "--losses", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        version = run(options.losses, options.seed, Path(folder) / "state")
    print(f"{options.losses} losses, {version} versions, nothing lost, nothing twice")


if __name__ == "__main__":
    main()
