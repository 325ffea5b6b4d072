"""Variables for the base rows of a network: numbers that tell their owner, and are given again when nobody has them.

A variable stands for one insertion of one row by its owner: `counter * nodes + owner`. A row that is inserted again
gets another one, so that what is under way about the first can do no harm.

>>> own = OwnVariables(owner=1, nodes=3)
>>> own.give(), own.give(), owner_of(own.give(), 3)
(1, 4, 1)
>>> own.take_back(4)
>>> own.give()
4
"""

from __future__ import annotations

from heapq import heappop, heappush

INCARNATION = 1 << 32
"""How many variables a node may give before it is started again; then it begins with the next such number."""


def owner_of(variable: int, nodes: int) -> int:
    """The node that gave a variable."""
    return variable % nodes


def incarnation_of(variable: int, nodes: int) -> int:
    """How often its owner had been started again when it gave the variable."""
    return variable // nodes // INCARNATION


class OwnVariables:
    """The variables of one node."""

    def __init__(self, owner: int, nodes: int, incarnation: int = 0):
        self.owner = owner
        self.nodes = nodes
        self.given = 0
        """How many numbers were ever needed."""
        self._first = incarnation * INCARNATION
        self._free: list[int] = []

    def give(self) -> int:
        """A variable that nobody has: the lowest one, so that numbers stay small."""
        if self._free:
            return heappop(self._free)
        self.given += 1
        return (self._first + self.given - 1) * self.nodes + self.owner

    def take_back(self, variable: int) -> None:
        """Nobody has this variable any more."""
        heappush(self._free, variable)
