"""Which node a location is at: an address is a node's name, any other value is hashed.

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

    def node(self, location: Any) -> int | None:
        """The number of the node at a location; `None` if there is none."""
        ...

    def address(self, node: int) -> Any:
        """The address of a node; `None` where nodes have none."""
        ...


class Addresses:
    """Nodes by their names, in order."""

    def __init__(self, names: Sequence[Any]):
        self.names = tuple(names)
        self.nodes = len(self.names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def node(self, location: Any) -> int | None:
        return self._numbers.get(location)

    def address(self, node: int) -> Any:
        return self.names[node]


class Hashed:
    """Any value at the node that a hash of its text gives: the same in every process."""

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

    def address(self, node: int) -> Any:
        return None
