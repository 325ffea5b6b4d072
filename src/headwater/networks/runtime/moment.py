"""The moment at which an event fires a rule: the node's time, its chance, and numbers that it gives once only.

In the simulator both the time and chance follow from the seed, so that a run can be had again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

MOST_RANDOM_NUMBER = 1 << 31
_ID_BITS = 62


class NodeMoment:
    """What a node answers to functions that give another value each time."""

    def __init__(self, clock: Callable[[], float], chance: random.Random):
        self.clock = clock
        self.chance = chance

    def value(self, name: str, arguments: Sequence[Any]) -> Any:
        """What a function gives now."""
        if name == "f_now":
            return float(self.clock())
        if name == "f_rand":
            return self.chance.randrange(MOST_RANDOM_NUMBER)
        if name == "f_coinFlip":
            return int(self.chance.random() < arguments[0])
        assert name == "f_idgen", name
        return self.number()

    def number(self) -> int:
        """A number that was most likely never given before."""
        return self.chance.getrandbits(_ID_BITS)
