"""Opportunistic message sharing (loo-2006 section 5.2): what a node has for the same neighbour goes together.

A node holds what it has to say for a delay, by receiver, and then says it as one message, in the order in which it
was to be said. In it (`message_codec`), a row tells only the values in which it differs from a row before it: rows of
several queries that are alike but for the metric are told almost once.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.networks.runtime.given_rows import SAME_TIME
from headwater.networks.runtime.messages import Message, PlainMessage, SharedMessage

MOST_TOGETHER = 256
"""How many messages go as one at most."""


class MessageSharing:
    """What a node holds back, by receiver."""

    def __init__(self, delay: float):
        self.delay = delay
        self._held: dict[int, list[PlainMessage]] = {}
        self._due: dict[int, float] = {}

    def hold(self, receiver: int, message: Message, now: float) -> bool:
        """Keep a message; whether it is the first for its receiver, so that the time begins."""
        held = self._held.setdefault(receiver, [])
        assert not isinstance(message, SharedMessage)
        held.append(message)
        if len(held) > 1:
            return False
        self._due[receiver] = now + self.delay
        return True

    def next(self) -> float | None:
        """When something will have waited long enough."""
        return min(self._due.values(), default=None)

    def due(self, now: float) -> Iterator[tuple[int, Message]]:
        """What has waited long enough, by receiver."""
        for receiver in [receiver for receiver, time in self._due.items() if time <= now + SAME_TIME]:
            del self._due[receiver]
            held = self._held.pop(receiver)
            for first in range(0, len(held), MOST_TOGETHER):
                part = held[first : first + MOST_TOGETHER]
                yield receiver, part[0] if len(part) == 1 else SharedMessage(tuple(part))
