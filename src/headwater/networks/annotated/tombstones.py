"""Variables that are gone: known for as long as something under way may carry them, and then forgotten.

Whatever arrives with a variable that is gone was sent before its sender knew: without tombstones it would bring
rows back. They can be dropped once every *sender* has seen the deletion and said so after all that it sent before.
That takes channels that are first in, first out. The variable is given again by its owner once every *receiver* has
dropped its tombstone: else that would eat new rows.

Deletions of one owner arrive in the order of their numbers; each node counts them per owner. It tells all others
how many it has seen (`SeenDeletions.seen`), and an owner up to which of its deletions it has dropped
(`SeenDeletions.dropped`): in turns of `every` deletions, since saying so costs a message to every node.

Without first-in-first-out channels nothing is ever dropped (`every=None`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from headwater.networks.annotated.variables import owner_of
from headwater.networks.runtime.messages import SeenDeletions

EVERY = 32
"""Deletions between two messages about them."""


class Tombstones:
    """The deletions that one node has seen."""

    def __init__(self, number: int, nodes: int, every: int | None = EVERY):
        self.number = number
        self.nodes = nodes
        self.every = every
        self.gone: set[int] = set()
        self._kept: dict[int, deque[int]] = {}
        self._count: dict[int, int] = {}
        self._dropped: dict[int, int] = {}
        self._seen_by: list[dict[int, int]] = [{} for _ in range(nodes)]
        self._dropped_by: list[int] = [0] * nodes
        self._own_freed = 0
        self._own_gone: deque[int] = deque()
        self._unsaid = 0
        self._said: dict[int, int] = {}
        self._said_dropped: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.gone)

    def add(self, variable: int) -> bool:
        """A variable is gone; whether that is news."""
        if variable in self.gone:
            return False
        self.gone.add(variable)
        if self.every is not None:
            owner = owner_of(variable, self.nodes)
            self._kept.setdefault(owner, deque()).append(variable)
            self._count[owner] = self._count.get(owner, 0) + 1
            self._unsaid += 1
            if owner == self.number:
                self._own_gone.append(variable)
        return True

    def due(self) -> bool:
        """Whether there is enough to tell."""
        return self.every is not None and self._unsaid >= self.every

    def tell(self, others: Iterable[int], send: Callable[[int, SeenDeletions], None]) -> None:
        """Tell all others what has been seen since the last time."""
        self._unsaid = 0
        news = tuple(
            (owner, count) for owner, count in self._count.items() if self._said.get(owner, 0) < count
        )
        self._said.update(news)
        if news:
            message = SeenDeletions(news, ())
            for other in others:
                send(other, message)

    def told(self, sender: int, message: SeenDeletions) -> list[int]:
        """What another node has seen and dropped; the own variables that may be given again."""
        self._seen_by[sender].update(message.seen)
        for owner, count in message.dropped:
            assert owner == self.number
            self._dropped_by[sender] = max(self._dropped_by[sender], count)
        return self.freed()

    def drop(self, send: Callable[[int, SeenDeletions], None]) -> list[int]:
        """Drop what can be dropped, and tell the owners; the own variables that may be given again."""
        for owner, kept in self._kept.items():
            level = self._everywhere_seen(owner)
            dropped = self._dropped.get(owner, 0)
            while dropped < level:
                self.gone.discard(kept.popleft())
                dropped += 1
            self._dropped[owner] = dropped
            if owner != self.number and self._said_dropped.get(owner, 0) < dropped:
                self._said_dropped[owner] = dropped
                send(owner, SeenDeletions((), ((owner, dropped),)))
        return self.freed()

    def _everywhere_seen(self, owner: int) -> int:
        """Up to which deletion of an owner all senders have told: the owner's own are told by the deletions."""
        level = self._count.get(owner, 0)
        for sender in range(self.nodes):
            if sender != self.number and sender != owner:
                level = min(level, self._seen_by[sender].get(owner, 0))
                if not level:
                    break
        return level

    def freed(self) -> list[int]:
        """The own variables that all nodes have dropped, once each."""
        level = self._dropped.get(self.number, 0)
        for other in range(self.nodes):
            if other != self.number:
                level = min(level, self._dropped_by[other])
        found = []
        while self._own_freed < level:
            found.append(self._own_gone.popleft())
            self._own_freed += 1
        return found
