"""Which node a location is at: an address is a node's name, or in a part of the network that a node looks after; any
other value is hashed.

Locations of a node may have *places*: those that are near each other in the network have places that are. Base rows
are ordered by them in diagrams (see `annotations.bdd`).

>>> names = Addresses(["a", "b"])
>>> names.node("b"), names.node("z"), names.nodes
(1, None, 2)
>>> Hashed(4).node("b") == Hashed(4).node("b")
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from zlib import crc32

FIRST = 0
"""The node that holds what lives in one place as a whole."""
MOST_REMEMBERED_PLACES = 1 << 16


class Directory(Protocol):
    """Locations to nodes. All nodes must agree on it."""

    nodes: int
    places: int
    """How many places a node has."""

    def place(self, location: Any) -> int:
        """The place of a location at its node."""
        ...

    def node(self, location: Any) -> int | None:
        """The number of the node at a location; `None` if there is none."""
        ...

    def address(self, node: int) -> Any:
        """The address of a node; `None` where nodes have none."""
        ...

    def neighbours(self, node: int) -> Sequence[int] | None:
        """Where the links of a node lead, as the topology has them; `None` where there is none."""
        ...


class Addresses:
    """Nodes by their names, in order: neighbours should be near each other. `links` says where each one's lead."""

    places = 1

    def __init__(self, names: Sequence[Any], links: Sequence[Sequence[int]] = ()):
        self.names = tuple(names)
        self._links = links
        self.nodes = len(self.names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def node(self, location: Any) -> int | None:
        return self._numbers.get(location)

    def address(self, node: int) -> Any:
        return self.names[node]

    def neighbours(self, node: int) -> Sequence[int] | None:
        return self._links[node] if self._links else None

    def place(self, location: Any) -> int:
        return 0


class Subnetworks:
    """Each node looks after some parts of the network, or after a piece of one (liu-2008, figure 1).

    >>> Subnetworks([["a", "b"], ["c", "d"]], 2).node("b"), Subnetworks([["a", "b"], ["c", "d"]], 4).node("b")
    (0, 1)
    """

    def __init__(self, parts: Sequence[Sequence[Any]], nodes: int):
        self.nodes = nodes
        self._numbers: dict[Any, int] = {}
        self._places: dict[Any, int] = {}
        taken = [0] * nodes
        for part, locations in enumerate(parts):
            for position, location in enumerate(locations):
                number = (part * len(locations) + position) * nodes // (len(parts) * len(locations))
                self._numbers[location] = number
                self._places[location] = taken[number]
                taken[number] += 1
        self.places = max(taken, default=1)

    def node(self, location: Any) -> int | None:
        return self._numbers.get(location)

    def place(self, location: Any) -> int:
        return self._places[location]

    def address(self, node: int) -> Any:
        return None

    def neighbours(self, node: int) -> Sequence[int] | None:
        return None


class Hashed:
    """Any value at the node that a hash of its text gives: the same in every process."""

    places = 1

    def __init__(self, nodes: int):
        self.nodes = nodes
        self._known: dict[Any, int] = {}

    def node(self, location: Any) -> int | None:
        found = self._known.get(location)
        if found is None:
            if len(self._known) >= MOST_REMEMBERED_PLACES:
                self._known.clear()
            found = self._known[location] = crc32(repr(location).encode()) % self.nodes
        return found

    def place(self, location: Any) -> int:
        return 0

    def address(self, node: int) -> Any:
        return None

    def neighbours(self, node: int) -> Sequence[int] | None:
        return None
