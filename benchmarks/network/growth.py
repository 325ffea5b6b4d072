"""How cost grows: networks of more and more nodes that converge, and then follow a burst of link updates.

All pairs of n nodes are n² paths: the number of results grows with the square, whatever computes them. So that this
is not what is measured, paths are asked for up to a number of hops from each node: link-state in a neighbourhood.
"""

from __future__ import annotations

import random
import time

from benchmarks.machine import resident_bytes
from benchmarks.network.points import Growth
from benchmarks.network.workloads import ANNOTATION, burst
from headwater.networks.opening import network
from headwater.networks.topologies.named import as_topology

NEAR = """
n1 cost(@S, @D, H, min<C>) :- #link(@S, @D, C), H = 1.
n2 cost(@S, @D, H, min<C>) :- #link(@S, @Z, C1), cost(@Z, @D, H2, C2), S != D, H = H2 + 1, H <= {hops}, C = C1 + C2.
n3 best(@S, @D, min<C>) :- cost(@S, @D, H, C).
"""
HOPS = 3


def grow(nodes: int, seed: int) -> Growth:
    """One network."""
    topology = as_topology(f"transit-stub:{nodes}", seed=seed)
    net = network(NEAR.format(hops=HOPS), topology, metric="random", annotation=ANNOTATION, seed=seed)
    clock, started = time.perf_counter(), time.process_time()
    done = net.run()
    middle = time.process_time()
    burst(net, random.Random(seed))
    after = net.run()
    return Growth(
        len(topology.nodes),
        len(net.links),
        len(net["best"]),
        done.messages,
        middle - started,
        after.messages,
        time.process_time() - middle,
        resident_bytes(),
        time.perf_counter() - clock,
    )
