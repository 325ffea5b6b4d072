"""Which of rows that cannot all be true a peer accepts (Taylor and Ives, SIGMOD 2006).

Rows are rivals if they agree in a key and differ beside it. By descending priority: a rival of an accepted row is
rejected, one of a deferred row is deferred, and rivals of one priority are all deferred, as options for a person to
choose from. A peer's own contributions come first, and are always accepted; a row with rivals and without a priority
(0) is rejected.

What is decided depends on the candidates alone, not on the order in which they came.

>>> pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]
>>> decisions = decide(pairs, {"a": 2, "b": 1, "c": 1, "d": 1}.__getitem__)
>>> {row: decision.value for row, decision in decisions.items()}
{'a': 'accepted', 'b': 'rejected', 'c': 'deferred', 'd': 'deferred'}
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from headwater.exchange.edit import Row
from headwater.values.label_text import literal

OWN = 1 << 30
"""The priority of a peer's own contributions: above all that conditions can give."""
UNRANKED = 0
"""The priority of rows that no condition names, where some name others of the relation."""
Candidate = TypeVar("Candidate", bound=Hashable)


class Decision(Enum):
    """What becomes of a row that has rivals."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DEFERRED = "deferred"


def decide(
    pairs: Iterable[tuple[Candidate, Candidate]], priority: Callable[[Candidate], int]
) -> dict[Candidate, Decision]:
    """What becomes of each row of some pairs of rivals."""
    rivals: dict[Candidate, set[Candidate]] = {}
    for first, second in pairs:
        rivals.setdefault(first, set()).add(second)
        rivals.setdefault(second, set()).add(first)
    levels: dict[int, list[Candidate]] = {}
    for row in rivals:
        levels.setdefault(priority(row), []).append(row)
    decided: dict[Candidate, Decision] = {}
    for level in sorted(levels, reverse=True):
        found: dict[Candidate, Decision] = {}
        for row in levels[level]:
            above = {decided[rival] for rival in rivals[row] if rival in decided}
            if level == OWN:
                found[row] = Decision.ACCEPTED
            elif level == UNRANKED or Decision.ACCEPTED in above:
                found[row] = Decision.REJECTED
            elif Decision.DEFERRED in above:
                found[row] = Decision.DEFERRED
        alive = [row for row in levels[level] if row not in found]
        for row in alive:
            tied = any(rival in alive for rival in rivals[row])
            found[row] = Decision.DEFERRED if tied else Decision.ACCEPTED
        decided.update(found)
    return {row: decided[row] for row in rivals}


@dataclass(frozen=True)
class ConflictOption:
    """One of the rows between which a peer has to choose, and what has become of it so far."""

    row: Row
    priority: int
    decision: Decision


@dataclass(frozen=True)
class Conflict:
    """Rows of a relation that agree in a key and cannot all be true. While one is deferred, what the key stands for
    is `dirty`: nothing of it is shown until somebody resolves it."""

    peer: str
    relation: str
    key: Mapping[str, object]
    options: tuple[ConflictOption, ...]

    @property
    def dirty(self) -> bool:
        """Whether a person has to choose."""
        return any(option.decision is Decision.DEFERRED for option in self.options)

    def __str__(self) -> str:
        key = ", ".join(f"{name} = {literal(value)}" for name, value in self.key.items())
        lines = [f"{self.relation} with {key}:" + (" to be resolved" if self.dirty else "")]
        for option in self.options:
            own = "own" if option.priority == OWN else f"priority {option.priority}"
            row = ", ".join(map(literal, option.row))
            lines.append(f"  ({row})  {option.decision.value}, {own}")
        return "\n".join(lines)


@dataclass(frozen=True)
class ValueClash:
    """Two different known values that would have to be equal, and no key decides between them: the rows that hold
    them all stay, and users of these mend one."""

    left: object
    right: object
    dependencies: tuple[str, ...]
    """Those that equate values of such columns."""

    def __str__(self) -> str:
        return f"{literal(self.left)} = {literal(self.right)} by {' or '.join(self.dependencies)}: cannot be"
