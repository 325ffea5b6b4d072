"""A live view of a network in the terminal: time, messages, rows, and the busiest links, while it runs."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from headwater.cli.screen import console

if TYPE_CHECKING:
    from rich.console import RenderableType

    from headwater.networks.network import Network, NetworkRun

FRAME_SECONDS = 0.1
"""About how long each part of a run takes, in real time."""
FIRST_SLICE = 0.002
BARS = 48
BUSIEST = 6
_BLOCKS = " ▁▂▃▄▅▆▇█"


class LiveView:
    """Runs a network in slices of its time, and shows each."""

    def __init__(self, net: Network):
        self._net = net
        self._bytes: list[int] = []
        self._slice = FIRST_SLICE

    def run(self, until: float | None = None) -> NetworkRun:
        """Go on until all is quiet, or up to a time; what that took as a whole."""
        from rich.live import Live

        from headwater.networks.network import NetworkRun

        net, start = self._net, self._net.now
        messages = volume = 0
        with Live(console=console(), refresh_per_second=8, transient=True) as live:
            while True:
                began = time.monotonic()
                end = net.now + self._slice
                done = net.run(until=end if until is None else min(end, until))
                self._bytes.append(done.bytes)
                messages, volume = messages + done.messages, volume + done.bytes
                live.update(self._shown())
                if done.quiet or until is not None and net.now >= until:
                    break
                if time.monotonic() - began < FRAME_SECONDS:
                    self._slice *= 2
        last = net.last_message if done.quiet and until is None else net.now
        return NetworkRun(max(0.0, last - start), messages, volume, done.quiet)

    def _shown(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        net = self._net
        most = max(self._bytes) or 1
        bars = "".join(_BLOCKS[round(8 * each / most)] for each in self._bytes[-BARS:])
        head = Text(f"{net.now:9.3f} s   {net.messages:,} messages   {net.bytes / 1000:,.1f} kB   {bars}")
        rows = Table.grid(padding=(0, 2))
        busy = Counter((m.sender, m.receiver) for m in net.timeline()[-10_000:]).most_common(BUSIEST)
        left = [f"{name}: {len(net[name]):,} rows" for name in net.relations]
        right = [f"{one} -> {other}: {number:,}" for (one, other), number in busy]
        for number in range(max(len(left), len(right))):
            rows.add_row(*(side[number] if number < len(side) else "" for side in (left, right)))
        return Group(head, rows)
