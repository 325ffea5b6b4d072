"""Variables that are gone: known for as long as something under way may carry them, and then forgotten.

Whatever arrives with a variable that is gone was sent before its sender knew: without tombstones it would bring
rows back. They can be dropped once every *sender* has seen the deletion and said so after all that it sent before.
That takes channels that are first in, first out. The variable is given again by its owner once every *receiver* has
dropped its tombstone: else that would eat new rows.

Deletions of one owner arrive in the order of their numbers; each node counts them per owner. It tells all others
how many it has seen (`SeenDeletions.seen`), and an owner up to which of its deletions it has dropped
(`SeenDeletions.dropped`): in turns of `every` deletions, since saying so costs a message to every node.

Without first-in-first-out channels nothing is ever dropped (`every=None`).

A node that is started again gives variables of its next *incarnation*; all of the one before are gone at once. Others
tell it of their own deletions that somebody may not have seen yet: somebody may still ship it such a variable.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from headwater.networks.annotated.variables import Numbers
from headwater.networks.runtime.messages import Gone, SeenDeletions

EVERY = 32
"""Deletions between two messages about them, in a network of up to as many nodes; in a larger one, as many as there
are nodes. So what is said about a deletion is about as much as the deletion itself."""
_NONE: deque[Gone] = deque()


class Tombstones:
    """The deletions that one node has seen."""

    def __init__(self, number: int, numbers: Numbers, every: int | None = EVERY):
        self.number = number
        self.numbers = numbers
        nodes = self.nodes = numbers.nodes
        self.every = None if every is None else max(every, nodes if every == EVERY else 0)
        self.gone: set[int] = set()
        self.incarnations: dict[int, int] = {}
        """How often others have been started again, if at all: what they gave before is gone."""
        self._kept: dict[int, deque[Gone]] = {}
        self._count: dict[int, int] = {}
        self._dropped: dict[int, int] = {}
        self._seen_by: dict[int, dict[int, int]] = {}
        self._dropped_by: dict[int, int] = {}
        self._lacking: dict[int, set[int]] = {}
        """By owner: who has not yet said that it has seen the first deletion that is kept."""
        self._own: deque[Gone] = deque()
        self._deleted = 0
        self._unsaid = 0
        self._said: dict[int, int] = {}
        self._said_dropped: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.gone)

    def is_gone(self, variable: int) -> bool:
        """Whether a variable is false."""
        if variable in self.gone:
            return True
        incarnations = self.incarnations
        if not incarnations:
            return False
        owner = self.numbers.owner(variable)
        return self.numbers.incarnation(variable) < incarnations.get(owner, 0)

    def bury(self, variable: int) -> Gone:
        """A variable of this node is deleted; what to tell the others."""
        self._deleted += 1
        message = Gone(variable, self._deleted)
        self._own.append(message)
        self.add(message)
        return message

    def add(self, message: Gone) -> bool:
        """A variable is gone; whether that is news."""
        if self.is_gone(message.variable):
            return False
        self.gone.add(message.variable)
        if self.every is not None:
            owner = self.numbers.owner(message.variable)
            self._kept.setdefault(owner, deque()).append(message)
            self._count[owner] = message.number
            self._unsaid += 1
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

    def told(self, sender: int, message: SeenDeletions) -> None:
        """What another node has seen and dropped."""
        seen = self._seen_by.setdefault(sender, {})
        for owner, count in message.seen:
            seen[owner] = count
            kept = self._kept.get(owner)
            if kept and kept[0].number <= count and owner in self._lacking:
                self._lacking[owner].discard(sender)
        for owner, count in message.dropped:
            if owner == self.number:
                self._dropped_by[sender] = max(self._dropped_by.get(sender, 0), count)

    def drop(
        self, send: Callable[[int, SeenDeletions], None], owners: Iterable[int] | None = None
    ) -> list[int]:
        """Drop what can be dropped of some owners, or of all, and tell them; the own variables that may be given
        again."""
        for owner in list(self._kept) if owners is None else owners:
            kept = self._kept.get(owner, _NONE)
            while kept and not self._lacked(owner, kept[0].number):
                message = kept.popleft()
                del self._lacking[owner]
                self.gone.discard(message.variable)
                self._dropped[owner] = message.number
            dropped = self._dropped.get(owner, 0)
            if owner != self.number and self._said_dropped.get(owner, 0) < dropped:
                self._said_dropped[owner] = dropped
                send(owner, SeenDeletions((), ((owner, dropped),)))
        return self._freed()

    def _lacked(self, owner: int, number: int) -> set[int]:
        """Who has not said that it has seen a deletion. What the owner has seen, the deletion itself tells."""
        found = self._lacking.get(owner)
        if found is None:
            found = self._lacking[owner] = {
                sender
                for sender in range(self.nodes)
                if sender not in (self.number, owner) and self._seen_by.get(sender, {}).get(owner, 0) < number
            }
        return found

    def _freed(self) -> list[int]:
        """The own variables that all nodes have dropped, once each."""
        if not self._own or len(self._dropped_by) < self.nodes - 1:
            return []
        level = min([self._dropped.get(self.number, 0), *self._dropped_by.values()])
        found = []
        while self._own and self._own[0].number <= level:
            found.append(self._own.popleft().variable)
        return found

    def restarted(self, other: int, incarnation: int) -> list[Gone]:
        """Another node has begun again and knows of nothing: what it must be told of this one's deletions.

        It has seen and dropped nothing yet, and its own deletions count from the beginning.
        """
        self.incarnations[other] = incarnation
        self._seen_by.pop(other, None)
        self._dropped_by.pop(other, None)
        for known in (self._count, self._dropped, self._said, self._said_dropped):
            known.pop(other, None)
        for message in self._kept.pop(other, ()):
            self.gone.discard(message.variable)
        for seen in self._seen_by.values():
            seen.pop(other, None)
        self._said.clear()
        self._lacking.clear()
        return list(self._own)
