"""A network as data: nodes, and links with a latency each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import NamedTuple

STUB, ACCESS, TRANSIT = 2, 10, 50
"""Latencies in ms: within a stub, between a stub and its transit node, between transit nodes."""
MICROSECONDS = 1000
"""The parts of a ms where lengths of links are known: in whole ms, many ways of unlike length would be alike."""


class Link(NamedTuple):
    """A link and its latency, in the units of its topology: whole ms, or finer ones."""

    source: str
    target: str
    cost: int

    def rows(self) -> list[tuple[str, str, int]]:
        """The link in both directions."""
        return [(self.source, self.target, self.cost), (self.target, self.source, self.cost)]


@dataclass(frozen=True)
class Topology:
    """Nodes and links; no link is there twice. Of graphs and their files, none leads from a node to itself.

    Links lead both ways, unless they are `directed`. Latencies count ms in so many parts: 1, or `MICROSECONDS`.
    """

    nodes: tuple[str, ...]
    links: tuple[Link, ...]
    directed: bool = False
    parts_of_ms: int = 1

    def __str__(self) -> str:
        return f"{len(self.nodes)} nodes, {len(self.links)} links{' one way' if self.directed else ''}"

    def rows(self, links: Iterable[Link] | None = None) -> list[tuple[str, str, int]]:
        """Rows (source, target, cost) of all links, or of those given, in all directions that they lead."""
        chosen = self.links if links is None else links
        if self.directed:
            return [(link.source, link.target, link.cost) for link in chosen]
        return [row for link in chosen for row in link.rows()]

    def of(self, cost: int) -> list[Link]:
        """The links with this latency: all `STUB`, `ACCESS` or `TRANSIT` links."""
        return [link for link in self.links if link.cost == cost]

    def at(self, node: str) -> list[Link]:
        """The links that end at a node."""
        return [link for link in self.links if node in (link.source, link.target)]

    def arranged(self, nodes: Iterable[str]) -> list[str]:
        """These nodes in an order in which linked ones are near each other: beginning with the first, each next one
        has as many links to those before it, and as few to those after it, as there are.

        >>> network = Topology(("a", "b", "c", "d"), (Link("a", "c", 2), Link("c", "d", 2), Link("d", "b", 2)))
        >>> network.arranged("abcd")
        ['a', 'c', 'd', 'b']
        """
        left = list(nodes)
        ends: dict[str, set[str]] = {}
        for source, target, _ in self.rows():
            ends.setdefault(source, set()).add(target)
            ends.setdefault(target, set()).add(source)
        order, left = left[:1], left[1:]
        while left:
            before, after = set(order), set(left)
            following = min(
                left,
                key=lambda node: (-len(ends.get(node, set()) & before), len(ends.get(node, set()) & after)),
            )
            order.append(following)
            left.remove(following)
        return order

    @cached_property
    def _ends(self) -> dict[str, list[tuple[str, int]]]:
        """By node: where its links lead, and their latencies."""
        ends: dict[str, list[tuple[str, int]]] = {}
        for source, target, cost in self.rows():
            ends.setdefault(source, []).append((target, cost))
        return ends

    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """By node, in order: the numbers of the nodes that its links lead to.

        >>> Topology(("a", "b", "c"), (Link("a", "b", 2), Link("b", "c", 2))).neighbours()
        ((1,), (0, 2), (1,))
        """
        numbers = {node: number for number, node in enumerate(self.nodes)}
        return tuple(tuple(numbers[target] for target, _ in self._ends.get(node, ())) for node in self.nodes)

    def latencies(self, start: str) -> dict[str, int]:
        """The latency of the fastest path from `start` to every node it reaches (Dijkstra).

        >>> network = Topology(("a", "b", "c"), (Link("a", "b", 2), Link("b", "c", 2), Link("a", "c", 10)))
        >>> network.latencies("a")
        {'a': 0, 'b': 2, 'c': 4}
        """
        ends = self._ends
        done: dict[str, int] = {}
        queue = [(0, start)]
        while queue:
            latency, node = heappop(queue)
            if node not in done:
                done[node] = latency
                for target, cost in ends.get(node, ()):
                    if target not in done:
                        heappush(queue, (latency + cost, target))
        return done
