"""The queries of liu-2008 with base rows to draw from, and what they must hold, computed plainly from the base rows.

`fixed` rows are there from the beginning; `pool` are those that come and go. Expected are the relations that users
would ask for, not those that aggregate selection keeps partly.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import product
from typing import Any

import networkx as nx

from headwater.networks import queries

Row = tuple[Any, ...]
Rows = Mapping[str, frozenset[Row]]
Answer = dict[str, set[Row]]

NODES = "ABCDE"


@dataclass(frozen=True)
class QueryCase:
    """One query, its base rows, and its answer."""

    name: str
    text: str
    pool: tuple[tuple[str, Row], ...]
    expected: Callable[[Rows], Answer]
    fixed: tuple[tuple[str, Row], ...] = ()
    moves: Mapping[str, int] = field(default_factory=dict)
    """Relations of which a row goes when another with the same first columns (so many) comes."""

    def draw(self, chance: random.Random, there: set[tuple[str, Row]]) -> list[tuple[bool, str, Row]]:
        """A change: a row that comes or goes, and the row that it takes the place of."""
        relation, row = chance.choice(self.pool)
        if (relation, row) in there:
            return [(False, relation, row)]
        key = self.moves.get(relation)
        gone = (
            [] if key is None else [old for name, old in there if name == relation and old[:key] == row[:key]]
        )
        return [*((False, relation, old) for old in gone), (True, relation, row)]


def links(nodes: str = NODES) -> tuple[tuple[str, Row], ...]:
    return tuple(("link", (a, b)) for a, b in product(nodes, repeat=2) if a != b)


def priced(nodes: str = "ABCD") -> tuple[tuple[str, Row], ...]:
    return tuple(("link", (a, b, cost)) for a, b in product(nodes, repeat=2) if a != b for cost in (1, 3))


def closure(rows: Rows) -> set[Row]:
    graph = nx.DiGraph(list(rows["link"]))
    return {(a, b) for a in graph for _, c in graph.out_edges(a) for b in {c, *nx.descendants(graph, c)}}


def reachable(rows: Rows) -> Answer:
    return {"reachable": closure(rows)}


def paths(rows: Rows, weight: Callable[[int], int]) -> dict[tuple[str, str], tuple[int, set[Row]]]:
    """For each pair, the least weight of a way of one link or more, and all ways that have it.

    Rows are links with costs; two links between the same nodes may cost differently, the way is the same.
    """
    out: dict[str, list[tuple[str, int]]] = {}
    for a, b, cost in rows["link"]:
        out.setdefault(a, []).append((b, weight(cost)))
    found: dict[tuple[str, str], tuple[int, set[Row]]] = {}
    for start in out:
        queue: list[tuple[int, Row]] = [(0, (start,))]
        while queue:
            total, way = heappop(queue)
            if len(way) > 1:
                best = found.setdefault((start, way[-1]), (total, set()))
                if best[0] < total:
                    continue
                best[1].add(way)
            for node, cost in out.get(way[-1], ()):
                if len(way) <= len(NODES) + 1:
                    heappush(queue, (total + cost, (*way, node)))
    return found


def shortest_paths(rows: Rows) -> Answer:
    cheap, short = paths(rows, lambda cost: cost), paths(rows, lambda cost: 1)
    return {
        "minCost": {(*pair, cost) for pair, (cost, _) in cheap.items()},
        "minHops": {(*pair, hops) for pair, (hops, _) in short.items()},
        "cheapestPath": {(*pair, way, cost) for pair, (cost, ways) in cheap.items() for way in ways},
        "fewestHops": {(*pair, way, hops) for pair, (hops, ways) in short.items() for way in ways},
        "shortestCheapestPath": {
            (*pair, one, cheap[pair][0], other, hops)
            for pair, (hops, ways) in short.items()
            for other in ways
            for one in cheap[pair][1]
        },
    }


def some(*names: str) -> Callable[[Rows], Answer]:
    """A part of the answer to query 2."""
    return lambda rows: {name: answer for name, answer in shortest_paths(rows).items() if name in names}


def largest_region(rows: Rows) -> Answer:
    limit = next(iter(rows["reach"]))[0] ** 2
    places = [(name, (x, y)) for name, x, y in rows["sensor"]]
    near: dict[str, set[str]] = {}
    for (a, p), (b, q) in product(places, repeat=2):
        if (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 < limit:
            near.setdefault(a, set()).add(b)
    triggered = {row[0] for row in rows["isTriggered"]}
    todo = [(region, s) for region, s in rows["mainSensorInRegion"] if s in triggered and s in dict(places)]
    found: set[Row] = set()
    while todo:
        row = todo.pop()
        if row not in found:
            found.add(row)
            if row[1] in triggered:
                todo += [(row[0], other) for other in near.get(row[1], ())]
    sizes = Counter(region for region, _ in found)
    most = max(sizes.values(), default=0)
    return {
        "activeRegion": found,
        "regionSizes": set(sizes.items()),
        "largestRegion": {(most,)} if sizes else set(),
        "largestRegions": {(region,) for region, size in sizes.items() if size == most},
    }


def within(rows: Rows) -> Answer:
    hops = next(iter(rows["radius"]))[1]
    short = paths({"link": frozenset((*row, 1) for row in rows["link"])}, lambda cost: 1)
    return {"near": {pair for pair, (length, _) in short.items() if length <= hops}}


def cycles(rows: Rows) -> Answer:
    found = closure(rows)
    return {
        "onCycle": {(a,) for a, b in found if a == b},
        "together": {(a, b) for a, b in found if (b, a) in found},
    }


def horizon(rows: Rows) -> Answer:
    hops = next(iter(rows["horizon"]))[1]
    values: dict[str, int] = {}
    for node, value in rows["reading"]:
        values[node] = max(value, values.get(node, value))
    short = paths({"link": frozenset((*row, 1) for row in rows["link"])}, lambda cost: 1)
    seen = {(node, node) for node in values}
    seen |= {pair for pair, (length, _) in short.items() if length <= hops and pair[1] in values}
    best: dict[str, int] = {}
    for node, other in seen:
        best[node] = max(values[other], best.get(node, values[other]))
    return {"inView": seen, "hottest": set(best.items())}


def resilience(rows: Rows) -> Answer:
    graph = nx.DiGraph(list(rows["link"]))
    found = set()
    for a, b in product(graph, repeat=2):
        number = len(list(nx.all_simple_paths(graph, a, b))) if a != b else 0
        if number:
            found.add((a, b, number))
    return {"resilience": found}


def tree(rows: Rows) -> Answer:
    graph = nx.DiGraph(list(rows["child"]))
    depths: dict[str, set[int]] = {}
    leaves = {node for node in graph if not graph.out_degree(node)}
    for node in graph:
        lengths = nx.single_source_shortest_path_length(graph, node)
        depths[node] = {depth for other, depth in lengths.items() if other in leaves}
    return {
        "leaf": {(node,) for node in leaves},
        "height": {(node, max(found)) for node, found in depths.items()},
        "imbalance": {
            (node, max(found) - min(found)) for node, found in depths.items() if node not in leaves
        },
    }


def same_generation(rows: Rows) -> Answer:
    """Nodes that are equally far below the same node."""
    graph = nx.DiGraph(list(rows["child"]))
    found: set[Row] = set()
    for root in graph:
        levels: dict[int, list[str]] = {}
        for node, depth in nx.single_source_shortest_path_length(graph, root).items():
            levels.setdefault(depth, []).append(node)
        found |= {pair for depth, level in levels.items() if depth for pair in product(level, repeat=2)}
    return {"sameGeneration": found}


SENSORS = "pqrs"
GRID = tuple(
    [("sensor", (name, 10 * x, 10 * y)) for name in SENSORS for x, y in product(range(3), range(2))]
    + [("isTriggered", (name,)) for name in SENSORS]
)
PARENTS = {"B": "A", "C": "A", "D": "B", "E": "B", "F": "E", "G": "C"}
"""Rows of `child` that make trees whichever of them are there."""

CASES = (
    QueryCase("reachable", queries.REACHABLE, links(), reachable),
    QueryCase("shortest paths", queries.SHORTEST_PATHS, priced(), shortest_paths),
    QueryCase("cheapest paths", queries.CHEAPEST_PATHS, priced(), some("minCost", "cheapestPath")),
    QueryCase("fewest hops", queries.FEWEST_HOPS, priced(), some("minHops", "fewestHops")),
    QueryCase(
        "largest region",
        queries.LARGEST_REGION,
        GRID,
        largest_region,
        (("reach", (15,)), ("mainSensorInRegion", ("one", "p")), ("mainSensorInRegion", ("two", "s"))),
        moves={"sensor": 1},
    ),
    QueryCase("within", queries.WITHIN, links(), within, tuple(("radius", (node, 2)) for node in NODES)),
    QueryCase("cycles", queries.CYCLES, links("ABCD"), cycles),
    QueryCase(
        "horizon",
        queries.HORIZON,
        (*links("ABCD"), *(("reading", (node, value)) for node in "ABCD" for value in (1, 5))),
        horizon,
        tuple(("horizon", (node, 2)) for node in "ABCD"),
    ),
    QueryCase("resilience", queries.RESILIENCE, links("ABCD"), resilience),
    QueryCase("tree", queries.TREE, tuple(("child", (b, a)) for a, b in PARENTS.items()), tree),
    QueryCase(
        "same generation",
        queries.SAME_GENERATION,
        tuple(("child", (b, a)) for a, b in PARENTS.items()),
        same_generation,
    ),
)
