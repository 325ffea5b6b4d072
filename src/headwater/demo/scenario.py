"""The network, the rules, and what happens to the links."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.networks import STUB, TRANSIT, Link, Topology, transit_stub

PROGRAM = """\
link(src: string, dst: string, cost: int).

reach(X, Y) :- link(X, Y, _).
reach(X, Y) :- link(X, Z, _), reach(Z, Y).

cheapest(X, Y, min<C>) :- link(X, Y, C).
cheapest(X, Y, min<C>) :- link(X, Z, C1), cheapest(Z, Y, C2), C = C1 + C2.
"""
VIEWS = ("reach", "cheapest")

Row = tuple[str, str, int]


@dataclass(frozen=True)
class LinkFailure:
    """Links that fail together, and come back together."""

    what: str
    which: str
    links: tuple[Link, ...]

    @property
    def rows(self) -> list[Row]:
        """The rows of `link` that go: each link in both directions."""
        return [row for link in self.links for row in link.rows()]


def network(seed: int) -> Topology:
    """100 nodes, 200 links."""
    return transit_stub(4, seed=seed)


def failures(topology: Topology) -> list[LinkFailure]:
    """A link inside a stub, a link between two transit nodes, and all links of a transit node."""
    stub, transit = topology.of(STUB)[0], topology.of(TRANSIT)[0]
    return [
        LinkFailure("stub link", f"{stub.source} - {stub.target}", (stub,)),
        LinkFailure("transit link", f"{transit.source} - {transit.target}", (transit,)),
        LinkFailure("transit node", "t2, with its 6 links", tuple(topology.at("t2"))),
    ]
