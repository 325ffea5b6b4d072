"""A database's memory budget: what would pass it is refused before it is allocated.

What is kept (rows, indexes, dictionaries) is measured where it is kept, when somebody asks for more; nothing is
counted up and down, so nothing can drift. What is large and passes (a matrix of decoded rows) is asked for, and
counted only then. Whoever asks for little need not ask: less than `least` bytes never decides anything, unless it
stays and there is more and more of it (`ask_to_keep`).

A large request is also compared with what the system has left, whatever the budget says: else the system would
kill the process, at a time and for a reason that nobody could tell.

Undoing a version never asks. Writing a checkpoint is held to what the system has, not to the budget.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from headwater.errors import OutOfMemory
from headwater.memory.sizes import shown_size, size_in_bytes
from headwater.memory.system import UNBOUNDED, available_memory, total_memory

PART = 0.75
"""The part of what the process may have that a budget takes by default."""
LEAST = 1 << 20
FEWEST_BYTES_CHECKED_WITH_SYSTEM = 1 << 26
HINT = "give it more: memory=..., ask for less at once, or spread the rows over nodes: run='spark'"


class Holder(Protocol):
    """Something that keeps memory for as long as it is there."""

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        ...


@dataclass(frozen=True)
class MemoryUse:
    """Bytes in use, and how many there may be."""

    used: int
    budget: int

    def __str__(self) -> str:
        return f"{shown_size(self.used)} of {shown_size(self.budget)}"


class MemoryBudget:
    """At most `limit` bytes for all holders together. `release` gives back memory that is kept for later use."""

    def __init__(self, limit: int = UNBOUNDED, release: Callable[[], None] = lambda: None):
        self.limit = limit
        self.least = min(LEAST, limit >> 6)
        self._release = release
        self._holders: weakref.WeakSet[Holder] = weakref.WeakSet()
        self._measured: MemoryUse | None = None
        self._little = 0
        """What was asked for in small pieces, to be kept, since they were last compared with the budget."""

    def keep(self, holder: Holder) -> None:
        """Count what this holds from now on, until it is gone."""
        self._holders.add(holder)
        self._measured = None

    @property
    def used(self) -> int:
        """Bytes that holders have allocated."""
        return sum(holder.nbytes for holder in tuple(self._holders))

    @property
    def use(self) -> MemoryUse:
        """Bytes in use, against the budget."""
        return MemoryUse(self.used, self.limit)

    @property
    def recent_use(self) -> MemoryUse:
        """The same as of the last time when anything large was asked for: costs nothing after a small version."""
        if self._measured is None:
            self._measured = self.use
        return self._measured

    def has(self, needed: int) -> bool:
        """Whether there is room for so many bytes more within the budget: for those who could do with less."""
        return needed < self.least or self.limit >= UNBOUNDED or self.used + needed <= self.limit

    def ask(self, needed: int, what: str) -> None:
        """Refuse, if so many bytes more would pass the budget or what the system has left."""
        if needed < self.least or self.limit >= UNBOUNDED:
            return
        self._measured = None
        used = self.used
        if (
            used + needed > self.limit
        ):  # engines refer to themselves: what failed may be there until it is collected
            gc.collect()
            used = self.used
        if used + needed > self.limit:
            message = f"{what} would take {shown_size(needed)}, and {MemoryUse(used, self.limit)} are in use"
            raise OutOfMemory("out-of-memory", message, hint=HINT)
        if needed >= FEWEST_BYTES_CHECKED_WITH_SYSTEM and needed > available_memory():
            self._release()
            left = available_memory()
            if needed > left:
                message = (
                    f"{what} would take {shown_size(needed)}, and the system has {shown_size(left)} left"
                )
                raise OutOfMemory("out-of-memory", message, hint=HINT)

    def ask_to_keep(self, needed: int, what: str) -> None:
        """As `ask`, of what stays and may come in pieces of any size: small ones are asked for together."""
        asked = self._little + needed
        if asked >= self.least:
            self.ask(asked, what if needed >= self.least else f"{what}, with others that came before,")
            asked = 0
        self._little = asked

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """For what is given back at once and needs no budget (a checkpoint): only the system may refuse."""
        limit, self.limit = self.limit, UNBOUNDED - 1
        try:
            yield
        finally:
            self.limit = limit

    def ask_ever(self, needed: int, what: str) -> None:
        """Refuse what could not be held even if nothing else were."""
        if needed > self.limit:
            message = f"{what} would take {shown_size(needed)}, and the budget is {shown_size(self.limit)}"
            raise OutOfMemory("out-of-memory", message, hint=HINT)


def memory_budget(memory: object, release: Callable[[], None], share: int = 1) -> MemoryBudget:
    """The budget that an option means; by default a part of what the process may have.

    Where several processes `share` a machine, each gets its share of what is told by a percentage, or by default.
    """
    total = total_memory() // share
    limit = int(PART * total) if memory is None else size_in_bytes(memory, of=total)
    return MemoryBudget(limit, release)
