"""A simulated network as a carrier: virtual time, and all nodes in this process."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Sequence

from headwater.networks.runtime.messages import Message
from headwater.networks.runtime.row_table import Row
from headwater.networks.runtime.watching import WatchedRow
from headwater.networks.transports.carrier import (
    CarriedMessage,
    Derivation,
    TableRow,
    carried,
    derivations_at,
)
from headwater.networks.transports.simulator.simulator import Simulator

MOST_MESSAGES_KEPT = 1_000_000
"""Of a network that says more, the last ones are kept."""


class SimulatedNodes:
    """Implements `carrier.Carrier` over a simulator."""

    def __init__(self, simulator: Simulator):
        self.simulator = simulator
        simulator.told = self._told
        self._messages: deque[tuple[float, int, int, Message, int]] = deque(maxlen=MOST_MESSAGES_KEPT)
        self._times, self._sizes = array("d"), array("q")

    def _told(self, time: float, sender: int, receiver: int, message: Message, size: int) -> None:
        self._messages.append((time, sender, receiver, message, size))
        self._times.append(time)
        self._sizes.append(size)

    @property
    def now(self) -> float:
        return self.simulator.now

    @property
    def last_message(self) -> float:
        return self.simulator.last_message

    def check(self, changes: Sequence[tuple[bool, str, Row]]) -> None:
        for change in changes:
            self.simulator.given.checked(*change)

    def change(self, changes: Sequence[tuple[bool, str, Row]]) -> None:
        self.simulator.change(changes)

    def given(self) -> Iterable[tuple[str, Row]]:
        return self.simulator.given.there(self.now)

    def run(self, until: float | None) -> bool:
        self.simulator.run(until)
        return self.simulator.is_quiet()

    def traffic(self) -> tuple[int, int]:
        return self.simulator.traffic.messages, self.simulator.traffic.bytes

    def messages(self) -> Iterable[CarriedMessage]:
        return [carried(*each) for each in self._messages]

    def load(self) -> Iterable[tuple[float, int]]:
        return zip(self._times, self._sizes, strict=True)

    def rows(self, relation: str, node: int | None = None) -> set[Row]:
        return (
            self.simulator.rows(relation) if node is None else set(self.simulator.nodes[node].rows(relation))
        )

    def watched(self) -> Sequence[WatchedRow]:
        return self.simulator.watched

    def derivations(self, node: int, derived: TableRow) -> list[Derivation]:
        return derivations_at(self.simulator.nodes[node], derived)

    def close(self) -> None:
        return
