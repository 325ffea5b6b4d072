"""Random graphs that change, and what networkx or a few lines of Python say about them."""

from __future__ import annotations

import heapq
import os
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import networkx as nx

Link = tuple[int, int]
Cost = tuple[int, int, int]


def seeds(number: int) -> range:
    """Seeds to run: as many as given, or as `HEADWATER_ORACLE_EXAMPLES` says."""
    first = int(os.environ.get("HEADWATER_SEED", 0))
    return range(first, first + int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", number)))


@dataclass
class Stream:
    """Changes to a set of rows: single rows mostly, batches at times, among them changes that do nothing."""

    rng: random.Random
    make: object
    rows: set[tuple[int, ...]] = field(default_factory=set)

    def start(self, number: int) -> list[tuple[int, ...]]:
        new = [self.make(self.rng) for _ in range(number)]  # type: ignore[operator]
        self.rows |= set(new)
        return new

    def version(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Rows to delete and rows to insert."""
        size = self.rng.choice([1, 1, 1, 1, 3, max(2, len(self.rows) // 4)])
        kind = self.rng.choice(["insert", "delete", "delete", "mixed"])
        delete: list[tuple[int, ...]] = []
        insert: list[tuple[int, ...]] = []
        if kind != "insert":
            delete = self.rng.sample(sorted(self.rows, key=repr), min(size, len(self.rows)))
            delete += [self.make(self.rng)]  # type: ignore[operator]
        if kind != "delete" or not self.rows:
            insert = [self.make(self.rng) for _ in range(size)]  # type: ignore[operator]
            insert += delete[:1] if self.rng.random() < 0.2 else []
        self.rows = (self.rows - set(delete)) | set(insert)
        return delete, insert

    def versions(self, number: int) -> Iterator[tuple[list[tuple[int, ...]], list[tuple[int, ...]]]]:
        for _ in range(number):
            yield self.version()


def link_stream(seed: int, nodes: int) -> Stream:
    return Stream(random.Random(seed), lambda rng: (rng.randrange(nodes), rng.randrange(nodes)))


def cost_stream(seed: int, nodes: int, most: int) -> Stream:
    """Costs from 0 on, so that there are free cycles; two links may join the same nodes at different costs."""
    return Stream(
        random.Random(seed), lambda rng: (rng.randrange(nodes), rng.randrange(nodes), rng.randrange(most + 1))
    )


def closure(links: Iterable[Link]) -> frozenset[Link]:
    """All pairs joined by one link or more."""
    return frozenset(nx.transitive_closure(nx.DiGraph(list(links)), reflexive=False).edges())


def cheapest(costs: Iterable[Cost]) -> frozenset[Cost]:
    """The cost of the cheapest way of one link or more between any two nodes (Dijkstra)."""
    graph = nx.DiGraph()
    for x, y, cost in costs:
        if not graph.has_edge(x, y) or graph[x][y]["weight"] > cost:
            graph.add_edge(x, y, weight=cost)
    found: dict[Link, int] = {}
    distances = dict(nx.all_pairs_dijkstra_path_length(graph))
    for x, z, data in graph.edges(data=True):
        for y, rest in distances[z].items():
            found[x, y] = min(found.get((x, y), data["weight"] + rest), data["weight"] + rest)
    return frozenset((x, y, cost) for (x, y), cost in found.items())


def widest(costs: Iterable[Cost]) -> frozenset[Cost]:
    """The widest way between any two nodes: Dijkstra's algorithm with `min` for `+`, widest first."""
    out: dict[int, list[Link]] = defaultdict(list)
    for x, y, width in costs:
        out[x].append((y, width))
    found: set[Cost] = set()
    for source in list(out):
        best: dict[int, int] = {}
        heap = [(-width, y) for y, width in out[source]]
        heapq.heapify(heap)
        while heap:
            negative, node = heapq.heappop(heap)
            if node not in best:
                best[node] = -negative
                for y, width in out.get(node, ()):
                    heapq.heappush(heap, (-min(width, -negative), y))
        found |= {(source, y, width) for y, width in best.items()}
    return frozenset(found)


def same_generation(parents: Iterable[Link]) -> frozenset[Link]:
    """Pairs with a common ancestor the same number of steps away, by trying until nothing is new."""
    parents = set(parents)
    found = {(x, y) for x, p in parents for y, q in parents if p == q}
    while True:
        more = {(x, y) for x, p in parents for y, q in parents if (p, q) in found}
        if more <= found:
            return frozenset(found)
        found |= more
