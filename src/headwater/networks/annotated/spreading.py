"""How a deletion spreads: to all nodes at once, or from neighbour to neighbour along links.

*Told to all*: the owner of a variable sends each node a message. That takes a network in which any two nodes can
talk.

*Along links*: the owner tells its neighbours, and whoever hears of it for the first time tells its own, except the
one that it heard it from; the tombstone says whether it is the first time. Together with rules that are
link-restricted every message then goes along a link (loo-2006, claim 1). A deletion takes about two messages a link
instead of one a node, and as many steps as the network is wide.

- A link that goes is told of over the link itself, too: both its ends notice. Where the network falls in two, both
  parts so know about the links that went. Of what is deleted in one part later, the other hears when a link joins
  them again: whoever gets a link tells its other end all that it knows to be gone. Until then what rests on it stays
  there.
- So tombstones are kept for good, and variables never given again: nobody knows who has yet to hear of them.
- Links are to lead both ways. A node hears only what some path of links leads to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from headwater.networks.annotated.scheme import Host
from headwater.networks.runtime.messages import Gone
from headwater.networks.runtime.row_table import Row

UNNUMBERED = 0
"""The number of a deletion that nobody counts."""


class Spreading(Protocol):
    """What a node does to let others know what is gone."""

    def begin(self, message: Gone) -> None:
        """A variable of this node is gone."""
        ...

    def heard(self, sender: int, message: Gone) -> None:
        """A node has said so, which was news."""
        ...

    def inserted(self, relation: int, row: Row, gone: Iterable[int]) -> None:
        """A row of this node is new: it may be a link, whose end has to know what is gone."""
        ...

    def restarted(self, other: int, own: Iterable[Gone], gone: Iterable[int]) -> None:
        """Another node has begun again and knows of nothing."""
        ...


class ToldToAll:
    """By the owner, to each node."""

    def __init__(self, host: Host):
        self._host = host

    def begin(self, message: Gone) -> None:
        for other in self._host.others():
            self._host.send(other, message)

    def heard(self, sender: int, message: Gone) -> None:
        """Nothing: the owner tells all."""

    def inserted(self, relation: int, row: Row, gone: Iterable[int]) -> None:
        """Nothing: others have heard, or will."""

    def restarted(self, other: int, own: Iterable[Gone], gone: Iterable[int]) -> None:
        for message in own:
            self._host.send(other, message)


class AlongLinks:
    """From neighbour to neighbour."""

    def __init__(self, host: Host):
        self._host = host

    def begin(self, message: Gone) -> None:
        self.heard(self._host.number, message)

    def heard(self, sender: int, message: Gone) -> None:
        for neighbour in self._host.neighbours():
            if neighbour != sender:
                self._host.send(neighbour, message)

    def inserted(self, relation: int, row: Row, gone: Iterable[int]) -> None:
        self._tell(self._host.link_end(relation, row), gone)

    def restarted(self, other: int, own: Iterable[Gone], gone: Iterable[int]) -> None:
        if other in self._host.neighbours():
            self._tell(other, gone)

    def _tell(self, other: int | None, gone: Iterable[int]) -> None:
        if other is not None and other != self._host.number:
            for variable in sorted(gone):
                self._host.send(other, Gone(variable, UNNUMBERED))
