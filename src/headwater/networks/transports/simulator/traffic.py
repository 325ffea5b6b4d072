"""What a simulated network has carried: messages and bytes, by kind, by node and by channel."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Traffic:
    """Counted when a message is sent. `channels` has (messages, bytes) by sender and receiver."""

    messages: int = 0
    bytes: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    kind_bytes: Counter[str] = field(default_factory=Counter)
    channels: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    lost: int = 0
    duplicated: int = 0

    def count(self, sender: int, receiver: int, kind: str, size: int) -> None:
        """A message is sent."""
        self.messages += 1
        self.bytes += size
        self.kinds[kind] += 1
        self.kind_bytes[kind] += size
        messages, volume = self.channels.get((sender, receiver), (0, 0))
        self.channels[sender, receiver] = (messages + 1, volume + size)

    def of_node(self, node: int) -> tuple[int, int]:
        """Messages and bytes that a node has sent."""
        sent = [counts for (sender, _), counts in self.channels.items() if sender == node]
        return sum(messages for messages, _ in sent), sum(volume for _, volume in sent)
