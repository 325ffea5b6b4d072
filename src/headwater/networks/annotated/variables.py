"""Variables for the base rows of a network: numbers that tell their owner, and are given again when nobody has them.

A variable stands for one insertion of one row by its owner: `(counter * places + place) * nodes + owner`. A row that
is inserted again gets another one, so that what is under way about the first can do no harm. The place is that of the
row's location at its node (`runtime/directory`); each place has its own counter, so that numbers stay small.

>>> own = OwnVariables(1, Numbers(nodes=3, places=2))
>>> own.give(0), own.give(0), own.give(1), own.numbers.owner(own.give(1))
(1, 7, 4, 1)
>>> own.take_back(7)
>>> own.give(0)
7
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

INCARNATION = 1 << 32
"""How many variables a place may need before its node is started again; then it begins with the next such number."""


@dataclass(frozen=True)
class Numbers:
    """What the numbers of variables tell, in a network of so many nodes with so many places each."""

    nodes: int
    places: int = 1

    def owner(self, variable: int) -> int:
        """The node that gave a variable."""
        return variable % self.nodes

    def place(self, variable: int) -> int:
        """Where in the network it belongs: nodes in order, and the places of each."""
        return variable % self.nodes * self.places + variable // self.nodes % self.places

    def incarnation(self, variable: int) -> int:
        """How often its owner had been started again when it gave the variable."""
        return variable // self.nodes // self.places // INCARNATION


class OwnVariables:
    """The variables of one node."""

    def __init__(self, owner: int, numbers: Numbers, incarnation: int = 0):
        self.owner = owner
        self.numbers = numbers
        self._first = incarnation * INCARNATION
        self._needed = [0] * numbers.places
        self._free: list[list[int]] = [[] for _ in range(numbers.places)]

    @property
    def given(self) -> int:
        """How many numbers were ever needed."""
        return sum(self._needed)

    def give(self, place: int = 0) -> int:
        """A variable that nobody has: the lowest one of the place, so that numbers stay small."""
        if self._free[place]:
            return heappop(self._free[place])
        counter = self._first + self._needed[place]
        self._needed[place] += 1
        return (counter * self.numbers.places + place) * self.numbers.nodes + self.owner

    def take_back(self, variable: int) -> None:
        """Nobody has this variable any more."""
        heappush(self._free[variable // self.numbers.nodes % self.numbers.places], variable)
