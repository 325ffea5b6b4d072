"""Kill a process that applies changes, again and again, and look at what is left.

    python tests/crash/crash_database.py -n 1000 --seed 7

A child process opens a state folder and applies changes, each a function of the seed and the version alone;
it says so as soon as a version is acknowledged. At a random moment it is killed with SIGKILL. Then the folder is
opened again: every acknowledged version must be there, at most one more, and base rows and views must be what a
plain Python computation gives for exactly that version. The next child goes on from there.

Children are forked from this process, so that a kill costs milliseconds and not the import of the library.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import headwater as hw

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
from oracle_tables import Table, Tables

NODES = 9
CAP = 12
HEARD = Table(lifetime=3, size=5, key=(0,))
PROGRAM = f"""
link(src: int, dst: int, cost: int).
materialize(link, infinity, infinity, keys(1, 2)).
reach(X, Y) :- link(X, Y, _).
reach(X, Y) :- link(X, Z, _), reach(Z, Y).
cheapest(X, Y, min<C>) :- link(X, Y, C).
cheapest(X, Y, min<C>) :- link(X, Z, A), cheapest(Z, Y, B), C = A + B.
reached(X, count<Y>) :- reach(X, Y).
heard(node: int, level: int).
{HEARD.line("heard", 2)}
level(X, max<L>) :- heard(X, L).
level(Y, max<L>) :- level(X, K), link(X, Y, _), L = min(K + 1, {CAP}).
visits(node: int, count: int).
on +reach(X, X), visits(X, N) do delete visits(X, N), insert visits(X, N + 1).
on +reach(X, X), !visits(X, _) do insert visits(X, 1).
"""
Links = dict[tuple[int, int], int]


def change(seed: int, version: int) -> tuple[list[tuple[int, int]], Links]:
    """The links that a version removes, and those it sets."""
    rng = random.Random(f"{seed}/{version}")
    pairs = [(x, y) for x in range(NODES) for y in range(NODES) if x != y]
    gone = rng.sample(pairs, rng.choice([0, 1, 4]))
    return gone, {pair: rng.randint(1, 9) for pair in rng.sample(pairs, rng.choice([0, 1, 2]))}


def heard(seed: int, version: int) -> list[tuple[int, int]]:
    """The rows with a lifetime that a version inserts; some renew, some replace others, and there may be too many."""
    rng = random.Random(f"heard {seed}/{version}")
    return [(rng.randrange(NODES), rng.randrange(CAP)) for _ in range(rng.choice([0, 1, 1, 7]))]


def is_time(version: int) -> bool:
    """Whether a version is a second that goes by, and nothing else."""
    return version > 1 and version % 4 == 0


def now(version: int) -> int:
    """How many seconds have gone by after a version."""
    return version // 4


def work(folder: Path, seed: int, pipe: int) -> None:
    """Apply changes for ever, saying which versions are acknowledged."""
    db = hw.connect(folder)
    if db.version == 0:
        db.define(PROGRAM)
        os.write(pipe, b"1\n")
    links = {(x, y): cost for x, y, cost in db["link"].rows()}
    while True:
        version = db.version + 1
        if is_time(version):
            db.advance(now(version))
            os.write(pipe, b"%d\n" % version)
            continue
        gone, new = change(seed, version)
        delete = [(x, y, links[x, y]) for x, y in gone if (x, y) in links]
        insert = {"link": [(x, y, cost) for (x, y), cost in new.items()], "heard": heard(seed, version)}
        db.apply(delete={"link": delete}, insert=insert)
        os.write(pipe, b"%d\n" % version)
        links = {pair: cost for pair, cost in links.items() if pair not in gone} | new
        if version % 11 == 0:
            db.checkpoint()


def killed_child(folder: Path, seed: int, rng: random.Random) -> int:
    """Let a child work until it has acknowledged some versions and a moment more; kill it; the last version."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(folder, seed, writing)
        finally:
            os._exit(1)
    os.close(writing)
    wanted, said = rng.randint(0, 6), b""
    while said.count(b"\n") < wanted and (piece := os.read(reading, 4096)):
        said += piece
    time.sleep(rng.uniform(0, 0.004))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the child ended by itself"
    while piece := os.read(reading, 4096):
        said += piece
    os.close(reading)
    return max((int(line) for line in said.split()), default=0)


def levels(links: Links, known: frozenset[tuple[int, ...]]) -> dict[int, int]:
    """The levels of nodes, raised along links until none rises any more."""
    best: dict[int, int] = {}
    for node, level in known:
        best[node] = max(level, best.get(node, 0))
    rising = True
    while rising:
        rising = False
        for x, y in links:
            if x in best and min(best[x] + 1, CAP) > best.get(y, -1):
                best[y] = min(best[x] + 1, CAP)
                rising = True
    return best


def costs(links: Links) -> Links:
    """The cheapest costs of all pairs, by Floyd and Warshall."""
    best = dict(links)
    for z in range(NODES):
        for x in range(NODES):
            for y in range(NODES):
                if (x, z) in best and (z, y) in best:
                    best[x, y] = min(best.get((x, y), 10**9), best[x, z] + best[z, y])
    return best


def count_visits(visits: dict[int, int], before: Links, after: Links) -> None:
    """What active rules count: how often a node came to be on a circle."""
    for node in range(NODES):
        if (node, node) in costs(after) and (node, node) not in costs(before):
            visits[node] = visits.get(node, 0) + 1


def expected(links: Links, tables: Tables, visits: dict[int, int]) -> dict[str, set[tuple[int, ...]]]:
    """All relations: paths by Floyd and Warshall, levels by rising."""
    best = costs(links)
    reached: dict[int, int] = {}
    for x, _ in best:
        reached[x] = reached.get(x, 0) + 1
    return {
        "link": {(x, y, cost) for (x, y), cost in links.items()},
        "reach": set(best),
        "cheapest": {(x, y, cost) for (x, y), cost in best.items()},
        "reached": set(reached.items()),
        "heard": set(tables.rows()["heard"]),
        "visits": set(visits.items()),
        "level": set(levels(links, tables.rows()["heard"]).items()),
    }


def run(kills: int, seed: int, folder: Path) -> int:
    """Kill that many children; return the version the state has reached. Raises if anything is wrong."""
    rng = random.Random(seed)
    version, acknowledged, links = 0, 0, Links()
    tables, visits = Tables(["heard"], {"heard": HEARD}), dict[int, int]()
    for kill in range(kills):
        acknowledged = max(acknowledged, killed_child(folder, seed, rng))
        with hw.connect(folder) as db:
            assert acknowledged <= db.version <= acknowledged + 1, (kill, acknowledged, db.version)
            for each in range(max(version, 1) + 1, db.version + 1):
                if is_time(each):
                    tables.advance(now(each))
                    continue
                gone, new = change(seed, each)
                before = links
                links = {pair: cost for pair, cost in links.items() if pair not in gone} | new
                count_visits(visits, before, links)
                tables.apply({}, {"heard": heard(seed, each)})
            version = acknowledged = db.version
            if version:
                for name, rows in expected(links, tables, visits).items():
                    assert set(db[name].rows()) == rows, (kill, version, name)
    return version


def main() -> None:
    """Read the arguments and kill."""
    parser = argparse.ArgumentParser(
        description="Kill a writing process at random moments and check its state."
    )
    parser.add_argument("-n", "--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        version = run(options.kills, options.seed, Path(folder) / "state")
    print(f"{options.kills} kills, {version} versions, nothing lost, nothing half there")


if __name__ == "__main__":
    main()
