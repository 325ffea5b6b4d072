"""Networks to try recursive views on: made-up ones that the papers measure with, and real ones.

`transit_stub` is the Internet in small (Liu et al. 2008 section 7; Loo et al. 2006 section 6.1), `overlay` a
peer-to-peer network on top of one (Loo et al.). Both are drawn from a seed: the same seed gives the same
network, on every machine. `as_topology` takes a name (`topohub:topozoo/Abilene`), a file or a graph. Rows come ready
for `apply`.

>>> network = transit_stub(4, seed=1)
>>> len(network.nodes), len(network.links), len(network.rows())
(100, 200, 400)
>>> transit_stub(4, dense=False).rows()[:2]
[('t0a6', 't0a7', 2), ('t0a7', 't0a6', 2)]
"""

from headwater.networks.topologies.named import as_topology
from headwater.networks.topologies.overlay import Overlay, OverlayLink, overlay
from headwater.networks.topologies.sensor_grid import sensor_grid
from headwater.networks.topologies.topology import ACCESS, STUB, TRANSIT, Link, Topology
from headwater.networks.topologies.transit_stub import transit_stub

__all__ = [
    "ACCESS",
    "STUB",
    "TRANSIT",
    "Link",
    "Overlay",
    "OverlayLink",
    "Topology",
    "as_topology",
    "overlay",
    "sensor_grid",
    "transit_stub",
]
