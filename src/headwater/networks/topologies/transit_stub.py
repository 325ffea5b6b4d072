"""Transit-stub topologies with an exact number of links.

A few transit nodes carry the traffic between stubs: small groups of nodes, each with one way out. Nodes are
named by where they are: `t2` is a transit node, `t2b5` is node 5 of its stub b.

How a topology is drawn:
1. a random spanning tree inside each stub;
2. a link from the transit node to a random node of each of its stubs;
3. a link between every two transit nodes; a random spanning tree of them where that would be too many;
4. random further links inside stubs, until there are as many as asked for.
"""

from __future__ import annotations

from itertools import combinations
from random import Random

from headwater.errors import DataError
from headwater.networks.topologies.topology import ACCESS, STUB, TRANSIT, Link, Topology

STUBS = "abc"
"""The stubs of each transit node."""
STUB_NODES = 8
"""The nodes of each stub."""
DENSE, SPARSE = 50, 25
"""Links per transit node."""


def transit_stub(transit: int = 4, *, dense: bool = True, seed: int = 0) -> Topology:
    """A network of 25 nodes per transit node, and 50 (dense) or 25 (sparse) links per transit node.

    >>> [len(transit_stub(transit).rows()) for transit in (2, 4, 8, 16)]
    [200, 400, 800, 1600]
    """
    if transit < 1:
        raise DataError("topology", f"a network of {transit} transit nodes", hint="1 or more")
    random = Random(seed)
    target = transit * (DENSE if dense else SPARSE)
    backbone = [f"t{i}" for i in range(transit)]
    stubs = [[f"{node}{stub}{i}" for i in range(STUB_NODES)] for node in backbone for stub in STUBS]
    links = [Link(a, b, STUB) for stub in stubs for a, b in _spanning_tree(stub, random)]
    for i, stub in enumerate(stubs):
        links.append(Link(backbone[i // len(STUBS)], random.choice(stub), ACCESS))
    between = list(combinations(backbone, 2))
    if len(links) + len(between) > target:
        between = _spanning_tree(backbone, random)
    links += [Link(a, b, TRANSIT) for a, b in between]
    present = {frozenset(link[:2]) for link in links}
    spare = [pair for stub in stubs for pair in combinations(stub, 2) if frozenset(pair) not in present]
    links += [Link(a, b, STUB) for a, b in random.sample(spare, target - len(links))]
    return Topology((*backbone, *(node for stub in stubs for node in stub)), tuple(links))


def _spanning_tree(nodes: list[str], random: Random) -> list[tuple[str, str]]:
    """Each node but the first, in a random order, with a link to a random one before it."""
    order = random.sample(nodes, len(nodes))
    return [(random.choice(order[:i]), order[i]) for i in range(1, len(order))]
