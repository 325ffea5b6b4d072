"""What fails in a simulated network: links, nodes, and whole parts that are cut off from each other.

While a link is down, a *reliable* channel holds messages back, in order, and brings them when the link is there
again, as TCP does; on others they are lost. A node that fails loses all that it holds. Messages to it, and those of
it that are still under way, belong to channels that are no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headwater.networks.runtime.messages import Message


class Faults:
    """Which links and nodes are down, and what waits for them."""

    def __init__(self, nodes: int):
        self.incarnations = [0] * nodes
        self.down_nodes: set[int] = set()
        self._links: set[tuple[int, int]] = set()
        self._held: dict[tuple[int, int], list[Message]] = {}

    def cut(self, one: int, other: int) -> None:
        """The link between two nodes fails, both ways."""
        self._links |= {(one, other), (other, one)}

    def mend(self, one: int, other: int) -> Iterator[tuple[int, int, list[Message]]]:
        """It is there again: what was held back, by sender and receiver."""
        self._links -= {(one, other), (other, one)}
        for channel in ((one, other), (other, one)):
            if channel in self._held:
                yield (*channel, self._held.pop(channel))

    def partition(self, parts: Iterable[Iterable[int]]) -> None:
        """No link leads from one part to another."""
        groups = [list(part) for part in parts]
        for number, part in enumerate(groups):
            for other in groups[:number]:
                for one in part:
                    for two in other:
                        self.cut(one, two)

    def cuts(self) -> list[tuple[int, int]]:
        """The links that are down, each once."""
        return sorted((one, other) for one, other in self._links if one < other)

    def blocks(self, sender: int, receiver: int) -> bool:
        """Whether nothing gets through from one node to another."""
        return (sender, receiver) in self._links

    def hold(self, sender: int, receiver: int, message: Message) -> None:
        """Keep a message until the link is there again."""
        self._held.setdefault((sender, receiver), []).append(message)

    def fail(self, node: int) -> None:
        """A node is lost; so is what was held back for it, and of it."""
        self.down_nodes.add(node)
        self.incarnations[node] += 1
        for channel in [channel for channel in self._held if node in channel]:
            del self._held[channel]

    def holding(self) -> int:
        """How many messages wait for links."""
        return sum(map(len, self._held.values()))
