"""A field of sensors in rows and columns; each hears those beside, above and below it (Liu et al. 2008, section 7).

Sensors are named by where they are: `s2.3` is the fourth of the third row.
"""

from __future__ import annotations

from headwater.errors import DataError
from headwater.networks.topologies.topology import STUB, Link, Topology


def sensor_grid(rows: int = 10, columns: int | None = None) -> Topology:
    """A grid of `rows` times `columns` sensors (as many as rows, if nothing is said), with a link to each neighbour.

    >>> grid = sensor_grid(3)
    >>> len(grid.nodes), len(grid.links), grid.at("s1.1")[0]
    (9, 12, Link(source='s0.1', target='s1.1', cost=2))
    """
    columns = rows if columns is None else columns
    if rows < 1 or columns < 1:
        raise DataError("topology", f"a grid of {rows} times {columns} sensors", hint="1 or more of each")
    below = [(r, c, r + 1, c) for r in range(rows - 1) for c in range(columns)]
    beside = [(r, c, r, c + 1) for r in range(rows) for c in range(columns - 1)]
    links = tuple(Link(f"s{a}.{b}", f"s{c}.{d}", STUB) for a, b, c, d in (*below, *beside))
    return Topology(tuple(f"s{r}.{c}" for r in range(rows) for c in range(columns)), links)
