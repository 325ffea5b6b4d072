"""Searching the best path between two nodes, in the ways of loo-2006 sections 5.1.2 to 5.3.

A query is a row `query(@S, @T, Q, R)`: from S to T, its number, and how far to look. Its answer is at S.
- *top-down*: from S along links, until T is reached (dynamic source routing: the magic-shortest-path query); answers
  go back the way they came;
- *bottom-up*: from T against the links;
- *hybrid*: from both ends at once, as far as the neighbourhood function says is cheapest (`neighbourhood`);
- *zones*: every node knows its best paths within a radius beforehand; a search ends where T is in the zone;
- *caching*: nodes that an answer passes keep the rest of its path, for queries that come later.
With hybrid search and zones links cost 1 each: distances are in hops.

What nodes know beforehand (zones, caches) are base rows `known(@Z, @T, P, C)`, which do not change meanwhile. Of a
query nothing stays but what was cached: each `ask` is a network of its own, and `messages` and `bytes` add up.

>>> search = PathSearch([("a", "b", 1), ("b", "c", 1), ("a", "c", 5)], metric="latency")
>>> search.ask([("a", "c")])
{('a', 'c'): (('a', 'b', 'c'), 2)}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headwater.errors import DataError
from headwater.networks.network import Network
from headwater.networks.opening import network
from headwater.networks.optimisations.neighbourhood import Neighbourhood, neighbourhood
from headwater.networks.topologies.named import as_topology
from headwater.spelling import did_you_mean
from headwater.values import arguments

STRATEGIES = ("top-down", "bottom-up", "hybrid")
EVERYWHERE = 1_000_000_000
"""How far a search goes that nothing bounds."""
NOWHERE_NEAR = 0

_WALK = """
.decl link(source: string, target: string, cost: int)
.decl query(source: string, target: string, number: int, radius: int)
w1 walk(@S, @S, @T, Q, R, P, C) :- query(@S, @T, Q, R), P = [S], C = 0.
w2 walk(@D, @S, @T, Q, R, P, C) :- walk(@Z, @S, @T, Q, R, P1, C1), #link(@Z, @D, C2), Z != T, C = C1 + C2, C <= R,
     P = f_concat(P1, [D]){stop}.
w3 walkCost(@Z, @S, @T, Q, R, min<C>) :- walk(@Z, @S, @T, Q, R, P, C).
w4 reached(@Z, @S, @T, Q, P, C) :- walkCost(@Z, @S, @T, Q, R, C), walk(@Z, @S, @T, Q, R, P, C).
f1 found(@Z, @S, @T, Q, P, P, C) :- reached(@Z, @S, @T, Q, P, C), Z = T.
b1 back(@N, @S, @T, Q, W, P, C) :- found(@Z, @S, @T, Q, P1, P, C), Z != S, W = f_removeLast(P1), N = f_last(W).
b2 back(@N, @S, @T, Q, W, P, C) :- back(@M, @S, @T, Q, W1, P, C), M != S, W = f_removeLast(W1), N = f_last(W).
o1 offer(@S, @T, Q, P, C) :- back(@S, @S, @T, Q, W, P, C).
o2 offer(@S, @T, Q, P, C) :- found(@S, @S, @T, Q, P1, P, C).
a1 answerCost(@S, @T, Q, min<C>) :- offer(@S, @T, Q, P, C).
a2 answer(@S, @T, Q, P, C) :- answerCost(@S, @T, Q, C), offer(@S, @T, Q, P, C).
"""
_FROM_TARGET = """
.decl target(target: string, source: string, number: int, radius: int)
n1 near(@T, @T, @S, Q, R, P, C) :- target(@T, @S, Q, R), P = [T], C = 0.
n2 near(@Z, @T, @S, Q, R, P, C) :- #link(@Z, @D, C1), near(@D, @T, @S, Q, R, P2, C2), D != S, C = C1 + C2, C <= R,
     P = f_concat([Z], P2).
n3 nearCost(@Z, @T, @S, Q, R, min<C>) :- near(@Z, @T, @S, Q, R, P, C).
n4 nearest(@Z, @T, @S, Q, P, C) :- nearCost(@Z, @T, @S, Q, R, C), near(@Z, @T, @S, Q, R, P, C).
f2 found(@Z, @S, @T, Q, P1, P, C) :- reached(@Z, @S, @T, Q, P1, C1), nearest(@Z, @T, @S, Q, P2, C2), Z != T,
     C = C1 + C2, P = f_concat(f_removeLast(P1), P2).
"""
_KNOWN = """
.decl known(node: string, target: string, path: list[string], cost: int)
f3 found(@Z, @S, @T, Q, P1, P, C) :- reached(@Z, @S, @T, Q, P1, C1), known(@Z, @T, P2, C2), C = C1 + C2,
     P = f_concat(f_removeLast(P1), P2).
"""
_ZONE = """
.decl link(source: string, target: string, cost: int)
z1 zone(@Z, @T, P, C) :- #link(@Z, @T, C), C <= {radius}, P = [Z, T].
z2 zone(@Z, @T, P, C) :- #link(@Z, @D, C1), zone(@D, @T, P2, C2), Z != T, C = C1 + C2, C <= {radius},
     P = f_concat([Z], P2).
z3 zoneCost(@Z, @T, min<C>) :- zone(@Z, @T, P, C).
z4 inZone(@Z, @T, P, C) :- zoneCost(@Z, @T, C), zone(@Z, @T, P, C).
"""


def search_program(*, from_target: bool = False, knowing: bool = False) -> str:
    """The rules of a search, as NDlog; `knowing` ones end where the rest of the path is known."""
    text = _WALK.format(stop=", !known(@Z, @T, _, _)" if knowing else "")
    return text + (_FROM_TARGET if from_target else "") + (_KNOWN if knowing else "")


class PathSearch:
    """A network that is asked for best paths, one query after another, or several at once."""

    def __init__(
        self,
        topology: object,
        *,
        strategy: str = "top-down",
        caching: bool = False,
        zone_radius: int = 0,
        approximate: bool = False,
        metric: str = "hops",
        seed: int = 0,
        **options: Any,
    ):
        """`approximate`: the neighbourhood function of hybrid search is estimated. `options`: those of `network`."""
        arguments.one_of("strategy", strategy, STRATEGIES)
        arguments.whole_number("zone_radius", zone_radius, least=0)
        if metric != "hops" and (strategy == "hybrid" or zone_radius):
            message = "hybrid search and zones count hops: a nearer node need not be a cheaper one"
            raise DataError("wrong-metric", message, hint='metric="hops"')
        self.strategy = strategy
        self.caching = caching
        self.topology = as_topology(topology, seed=seed)
        self.neighbourhood: Neighbourhood | None = None
        if strategy == "hybrid":
            self.neighbourhood = neighbourhood(self.topology, approximate=approximate, seed=seed)
        self.messages = self.bytes = 0
        self._options = {"metric": metric, "seed": seed, **options}
        self._program = search_program(
            from_target=strategy != "top-down", knowing=caching or bool(zone_radius)
        )
        self._known: dict[tuple[str, str], tuple[tuple[str, ...], int]] = {}
        """By node and target: the rest of the path, and its cost."""
        if zone_radius:
            self._learn_zones(zone_radius)

    def _learn_zones(self, radius: int) -> None:
        with network(_ZONE.format(radius=radius), self.topology, **self._options) as net:
            self._count(net)
            for node, target, path, cost in net["inZone"].rows():
                self._known.setdefault((node, target), (path, cost))

    def _count(self, net: Network) -> None:
        done = net.run()
        self.messages += done.messages
        self.bytes += done.bytes

    def ask(self, queries: Iterable[Sequence[str]]) -> dict[tuple[str, str], tuple[tuple[str, ...], int]]:
        """Best paths and their costs, by source and target; those between which there is no way are left out."""
        asked = [ends for ends in map(self._ends, queries) if ends[0] != ends[1]]
        found: dict[tuple[str, str], tuple[tuple[str, ...], int]] = {}
        with network(self._program, self.topology, **self._options) as net:
            targets = {target for _, target in asked}
            known = [(*ends, *rest) for ends, rest in self._known.items() if ends[1] in targets]
            if known:
                net.insert("known", known)
            for number, (source, target) in enumerate(asked):
                ahead, behind = self._radii(source, target)
                net.insert("query", [(source, target, number, ahead)])
                if self.strategy != "top-down":
                    net.insert("target", [(target, source, number, behind)])
            self._count(net)
            for source, target, _, path, cost in net["answer"].rows():
                found.setdefault((source, target), (path, cost))
            if self.caching:
                costs = {(source, target): cost for source, target, cost in net.links}
                for (_, target), (path, _) in found.items():
                    self._cache(target, path, costs)
        return found

    def _ends(self, query: Sequence[str]) -> tuple[str, str]:
        source, target = query
        for end in (source, target):
            if end not in self.topology.nodes:
                hint = did_you_mean(str(end), self.topology.nodes)
                raise DataError("no-such-node", f"there is no node {end!r} in this network", hint=hint)
        return source, target

    def _radii(self, source: str, target: str) -> tuple[int, int]:
        """How far to look from the source, and from the target."""
        if self.strategy == "top-down":
            return EVERYWHERE, NOWHERE_NEAR
        if self.strategy == "bottom-up":
            return NOWHERE_NEAR, EVERYWHERE
        assert self.neighbourhood is not None
        return self.neighbourhood.split(source, target)

    def _cache(self, target: str, path: Sequence[str], costs: Mapping[tuple[str, str], int]) -> None:
        """Nodes that an answer passed know the rest of its path: no message is needed for that."""
        rest = 0
        for place in range(len(path) - 2, -1, -1):
            rest += costs[path[place], path[place + 1]]
            self._known.setdefault((path[place], target), (tuple(path[place:]), rest))
