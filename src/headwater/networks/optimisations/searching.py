"""Searching the best path between two nodes, in the ways of loo-2006 sections 5.1.2 to 5.3.

By rules (`search_programs`), for a query from S to T:
- *top-down*: from S along links, until T is reached (dynamic source routing: the magic-shortest-path query); answers
  go back the way they came;
- *bottom-up*: from T against the links;
- *hybrid*: from both ends at once, as far as the neighbourhood function says is cheapest (`neighbourhood`);
- *zones*: every node knows its best paths within a radius beforehand; a search ends where T is in the zone;
- *caching*: nodes that an answer passes keep the rest of its path, for queries that come later.
With hybrid search and zones links cost 1 each: distances are in hops.

What nodes know beforehand (zones, caches) are base rows `known(@Z, @T, P, C)` of a query. Of the query itself nothing
stays but what was cached: each `ask` is a network of its own, and `messages` and `bytes` add up.

Links fail, come back and cost something else between queries (`fail`, `restore`, `set_cost`). Zones are a view that
follows. Caches are told: the news goes to all nodes, each of which drops what it has cached if the path leads over
the link, or may be worse than one that does. All that is known when a query begins is right again then.

>>> search = PathSearch([("a", "b", 1), ("b", "c", 1), ("a", "c", 5)], metric="latency", caching=True)
>>> search.ask([("a", "c")])
{('a', 'c'): (('a', 'b', 'c'), 2)}
>>> search.fail("b", "c")
>>> search.ask([("a", "c")])
{('a', 'c'): (('a', 'c'), 5)}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from headwater.errors import DataError
from headwater.networks.network import LinkName, Network
from headwater.networks.opening import network
from headwater.networks.optimisations.neighbourhood import Neighbourhood, neighbourhood
from headwater.networks.optimisations.search_programs import NEWS, search_program, zone_program
from headwater.networks.topologies.named import as_topology
from headwater.spelling import did_you_mean
from headwater.values import arguments

STRATEGIES = ("top-down", "bottom-up", "hybrid")
EVERYWHERE = 1_000_000_000
"""How far a search goes that nothing bounds."""
NOWHERE_NEAR = 0
Path = tuple[str, ...]
"""The nodes on a way, both ends among them."""


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
        """`approximate`: the neighbourhood function of hybrid search is estimated. `options`: those of `network`, of
        which nodes are simulated."""
        arguments.one_of("strategy", strategy, STRATEGIES)
        arguments.whole_number("zone_radius", zone_radius, least=0)
        arguments.one_of("transport", options.get("transport", "simulated"), ("simulated",))
        if metric != "hops" and (strategy == "hybrid" or zone_radius):
            message = "hybrid search and zones count hops: a nearer node need not be a cheaper one"
            raise DataError("wrong-metric", message, hint='metric="hops"')
        self.strategy = strategy
        self.caching = caching
        self.topology = as_topology(topology, seed=seed)
        self.messages = self.bytes = 0
        self._approximate = approximate
        self._seed = seed
        self._neighbourhood: Neighbourhood | None = None
        options = {"metric": metric, "seed": seed, "annotation": "support", **options}
        program = search_program(from_target=strategy != "top-down", knowing=caching or bool(zone_radius))
        self._network = network(program, self.topology, **options)
        """Has the links as they are, and never runs: those that do are made after it."""
        self._news = network(NEWS, self.topology, **options) if caching else None
        self._zones = network(zone_program(zone_radius), self.topology, **options) if zone_radius else None
        self._cached: dict[tuple[str, str], tuple[Path, int]] = {}
        """By node and target: the rest of the path, and its cost."""
        if self._zones is not None:
            self._count(self._zones)
        if strategy == "hybrid":
            self._measure()

    @property
    def zones(self) -> bool:
        """Whether nodes know best paths around them beforehand."""
        return self._zones is not None

    @property
    def neighbourhood(self) -> Neighbourhood:
        """How many nodes are near each node, of the links that are up: for hybrid search."""
        if self._neighbourhood is None:
            self._measure()
        assert self._neighbourhood is not None
        return self._neighbourhood

    def _measure(self) -> None:
        up = {link[:2] for link in self._network.links}
        links = tuple(link for link in self.topology.links if link[:2] in up)
        there = replace(self.topology, links=links)
        self._neighbourhood = neighbourhood(there, approximate=self._approximate, seed=self._seed)

    def _count(self, net: Network) -> None:
        done = net.run()
        self.messages += done.messages
        self.bytes += done.bytes

    # ------------------------------------------------------------------ links

    def fail(self, link: LinkName, target: str | None = None) -> None:
        """A link fails, as in `Network.fail`; queries that are asked from now on do without it."""
        self._change(lambda net: net.fail(link, target))

    def restore(self, link: LinkName, target: str | None = None) -> None:
        """A link that failed is there again."""
        self._change(lambda net: net.restore(link, target))

    def set_cost(self, link: LinkName, target: str | int, cost: int | None = None) -> None:
        """A link costs something else from now on, as in `Network.set_cost`."""
        if self.strategy == "hybrid" or self.zones:
            message = "hybrid search and zones count hops: links have no other costs"
            raise DataError("wrong-metric", message, hint="fail and restore links, or search in another way")
        self._change(lambda net: net.set_cost(link, target, cost))

    def _change(self, change: Callable[[Network], None]) -> None:
        before = {link[:2]: link[2] for link in self._network.links}
        change(self._network)
        now = {link[:2]: link[2] for link in self._network.links}
        changed = [ends for ends in before | now if before.get(ends) != now.get(ends)]
        self._neighbourhood = None
        if self._zones is not None:
            change(self._zones)
            self._count(self._zones)
        if self._news is not None and changed:
            news = self._news.twin()
            news.insert(
                "beside", sorted({pair for one, other in now for pair in ((one, other), (other, one))})
            )
            news.insert("changed", [(node,) for node in sorted({end for ends in changed for end in ends})])
            self._count(news)
            for ends in changed:
                self._forget(ends, now.get(ends))

    def _forget(self, ends: tuple[str, str], cost: int | None) -> None:
        """Drop cached paths that lead over a link which has changed, or which a path over it may beat now."""
        for key, (path, known) in list(self._cached.items()):
            if ends in pairwise(path) or (cost is not None and known > cost):
                del self._cached[key]

    # ------------------------------------------------------------------ queries

    def ask(self, queries: Iterable[Sequence[str]]) -> dict[tuple[str, str], tuple[Path, int]]:
        """Best paths and their costs, by source and target; those between which there is no way are left out."""
        asked = [ends for ends in map(self._ends, queries) if ends[0] != ends[1]]
        found: dict[tuple[str, str], tuple[Path, int]] = {}
        with self._network.twin() as net:
            targets = {target for _, target in asked}
            known = [(*ends, *rest) for ends, rest in self._known().items() if ends[1] in targets]
            if known:
                net.insert("known", known)
            if self.strategy != "top-down":
                net.insert("into", [(target, source, cost) for source, target, cost in net.links])
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

    def _known(self) -> dict[tuple[str, str], tuple[Path, int]]:
        """What nodes know of the rest of a way: from their zones, and from answers that have passed them."""
        known = dict(self._cached)
        if self._zones is not None:
            for node, target, path, cost in self._zones["inZone"].rows():
                known[node, target] = path, cost
        return known

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
        return self.neighbourhood.split(source, target)

    def _cache(self, target: str, path: Sequence[str], costs: Mapping[tuple[str, str], int]) -> None:
        """Nodes that an answer passed know the rest of its path: no message is needed for that."""
        rest = 0
        for place in range(len(path) - 2, -1, -1):
            rest += costs[path[place], path[place + 1]]
            self._cached.setdefault((path[place], target), (tuple(path[place:]), rest))
