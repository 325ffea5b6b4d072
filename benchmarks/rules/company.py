"""A company: who reports to whom, and who is under whom. People move; nobody need store the closure."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Report = tuple[int, int]
"""A person and the boss."""

PROGRAM = """
boss(person: int, manager: int).
under(X, Y) :- boss(X, Y).
under(X, Z) :- boss(X, Y), under(Y, Z).
"""
QUERY = """
WITH RECURSIVE under(a, b) AS (
  SELECT person, manager FROM boss
  UNION ALL SELECT boss.person, under.b FROM boss JOIN under ON boss.manager = under.a
) SELECT a, b FROM under
"""
"""UNION ALL is enough, and faster: a company is a tree, so that there is one path from a person to each boss."""
LEVELS = 10
"""How many bosses one person has at the most."""


@dataclass(frozen=True)
class Company:
    """People by level: all of a level have bosses of the level above."""

    levels: tuple[range, ...]
    bosses: npt.NDArray[np.int64]

    @staticmethod
    def make(rows: int, seed: int) -> Company:
        """A company whose view has about this many rows: each level is some times as large as the one above."""
        growth = _growth(rows)
        levels, start = [range(1)], 1
        for level in range(1, LEVELS + 1):
            end = start + max(1, round(growth**level))
            levels.append(range(start, end))
            start = end
        draw = np.random.default_rng(seed)
        above = [
            draw.integers(up.start, up.stop, len(down)) for up, down in zip(levels, levels[1:], strict=False)
        ]
        return Company(tuple(levels), np.concatenate([np.zeros(1, np.int64), *above]))

    @property
    def people(self) -> int:
        """How many there are."""
        return len(self.bosses)

    @property
    def rows(self) -> int:
        """How many rows the view has."""
        return sum(level * len(people) for level, people in enumerate(self.levels))

    def reports(self) -> npt.NDArray[np.int64]:
        """All rows of `boss`."""
        return np.stack([np.arange(1, self.people), self.bosses[1:]], axis=1)

    def moves(self, count: int, choose: random.Random) -> tuple[list[Report], list[Report]]:
        """People of the lowest two levels who get other bosses of the same level: rows that go and that come."""
        gone, come = [], []
        for person in choose.sample(range(self.levels[-2].start, self.people), count):
            level = next(number for number, people in enumerate(self.levels) if person in people)
            old = int(self.bosses[person])
            new = choose.choice(self.levels[level - 1])
            if new != old:
                gone.append((person, old))
                come.append((person, new))
        return gone, come


def _growth(rows: int) -> float:
    """How many times as large as the level above a level must be, for so many rows."""
    low, high = 1.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        if sum(level * middle**level for level in range(LEVELS + 1)) < rows:
            low = middle
        else:
            high = middle
    return low
