"""The cost of a change follows the change: ten or a hundred times the data that it does not touch must not matter.

The same changes are made, in turns, in two databases: one with the data they concern and one with so many times as
much. `touched` counts the rows that joins looked at; it must be the same number. The time may differ by what
caches make of a larger memory. The first changes after a load may build indexes, and are apart. Left out are
changes after which the smaller database would start over, as they take away much of all it has.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from benchmarks.duckdb_rival import Duck
from benchmarks.duel import Duel, timed
from benchmarks.graphs import Edge, random_digraph
from benchmarks.reachability import QUERY, load, load_duck
from benchmarks.report import ReportRow, Target
from benchmarks.shop import Rows, Shop
from benchmarks.stage import DUCKDB, Stage
from headwater.database import Database

PART = "flat"
TIMES = 10
ALONE = "a tenth of the data"
MANY_TIMES = 100
ALONE_OF_MANY = "a hundredth of the data"
Change = tuple[Rows, Rows]


def measure(stage: Stage) -> list[ReportRow]:
    """Copies of components, unrelated edges, and orders of other shops."""
    options = stage.options
    changes = options.singles
    nodes, count = (60, 90) if options.quick else (600, 900)
    stage.begin(PART, 4 * changes)
    component = random_digraph(nodes, count, options.seed)
    copies = _copies(component, nodes, TIMES)
    database = load(component)
    rows = TIMES * len(database["reach"])
    apart = [(2 * i, 2 * i + 1) for i in range(nodes, nodes + rows)]
    result = _closure(stage, f"{TIMES} copies of the graph", database, component, copies, changes)
    result += _closure(
        stage, f"{rows:,} unrelated edges", load(component), component, component + apart, changes
    )
    nodes, count = (60, 90) if options.quick else (190, 285)
    small = random_digraph(nodes, count, options.seed)
    result += _closure(
        stage,
        f"{MANY_TIMES} copies of a smaller graph",
        load(small),
        small,
        _copies(small, nodes, MANY_TIMES),
        changes,
        ALONE_OF_MANY,
    )
    return result + _groups(stage, 20_000 if options.quick else 100_000, changes)


def _copies(component: list[Edge], nodes: int, times: int) -> list[Edge]:
    """So many copies of a graph side by side, itself the first."""
    return [(a + nodes * i, b + nodes * i) for i in range(times) for a, b in component]


def _closure(
    stage: Stage,
    what: str,
    alone: Database,
    component: list[Edge],
    everything: list[Edge],
    changes: int,
    against: str = ALONE,
) -> list[ReportRow]:
    choose = random.Random(stage.options.seed + 7)
    scratch = load(component)

    def edges() -> Iterator[Change]:
        while True:
            edge: list[tuple[int, ...]] = [choose.choice(component)]
            events = scratch.apply(delete={"link": edge}).statistics.events
            scratch.apply(insert={"link": edge})
            if not any(event.code == "recomputed" for event in events):
                yield {"link": edge}, {}
                yield {}, {"link": edge}

    duck = load_duck(everything)
    return _race(stage, what, alone, load(everything), edges(), changes, duck, "reach", QUERY, against)


def _groups(stage: Stage, orders: int, changes: int) -> list[ReportRow]:
    shop = Shop.make(orders, stage.options.seed)
    shops = shop.beside_others(TIMES)
    draw = np.random.default_rng(stage.options.seed + 8)

    def rows() -> Iterator[Change]:
        while True:
            gone, come = shop.change(10, draw)
            yield gone, come
            yield come, gone

    what = f"{len(shops.orders) - len(shop.orders):,} orders of other shops"
    return _race(
        stage, what, shop.load(), shops.load(), rows(), changes, shops.load_duck(), "large", shop.query()
    )


def _race(
    stage: Stage,
    what: str,
    alone: Database,
    among: Database,
    stream: Iterator[Change],
    changes: int,
    duck: Duck,
    view: str,
    query: str,
    against: str = ALONE,
) -> list[ReportRow]:
    first = Duel(PART, f"{what}: first change", against, "longer", detail=True)
    times = Duel(PART, f"{what}: time", against, "longer", Target("at most", 1.5))
    touched = Duel(PART, f"{what}: rows touched", against, "longer", Target("at most", 1), unit="rows")
    looked = {"ours": 0, "theirs": 0}
    for number in range(changes):
        gone, come = next(stream)
        sides = [("ours", among), ("theirs", alone)]
        for side, database in sides if number % 4 < 2 else reversed(sides):
            taken, done = timed(lambda: database.apply(delete=gone, insert=come))  # noqa: B023
            getattr(times if number > 1 else first, side).append(taken)
            looked[side] += done.statistics.touched
        for table, old in gone.items():
            duck.delete(table, old)
        for table, new in come.items():
            duck.insert(table, new)
        if number in (0, changes - 1):
            duck.recompute(query)
            stage.same(f"{what}, after change {number + 1}", among[view], duck.answer(), DUCKDB)
        stage.step(what)
    duck.close()
    touched.ours.append(looked["ours"])
    touched.theirs.append(looked["theirs"])
    about = f"{what}: {len(among[view]):,} rows of {view} beside {len(alone[view]):,}"
    return [
        times.row(about),
        touched.row(),
        first.row("the first deletion and insertion after a load, which may build indexes"),
    ]
