"""How long messages take, and what becomes of them on the way.

A model says for each pair of nodes what their link is like. Links are first in, first out unless said otherwise. On a
*reliable* link a lost message is sent again after a timeout, as TCP does, and arrives late; on another it is gone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class LinkQuality:
    """Seconds of latency, with up to `jitter` more; bytes a second; how likely a message is lost or doubled."""

    latency: float = 0.001
    jitter: float = 0.0
    bandwidth: float | None = None
    loss: float = 0.0
    duplicates: float = 0.0
    fifo: bool = True
    reliable: bool = True

    @cached_property
    def constant(self) -> bool:
        """Whether every message takes the latency, and comes once."""
        return not (self.jitter or self.loss or self.duplicates) and self.bandwidth is None

    def times(self, size: int, chance: random.Random) -> list[float]:
        """After how many seconds the copies of a message arrive; none if it is lost."""
        delay = self.latency
        if self.jitter:
            delay += self.jitter * chance.random()
        if self.bandwidth is not None:
            delay += size / self.bandwidth
        while self.loss and chance.random() < self.loss:
            if not self.reliable:
                return []
            delay += 2 * self.latency + RESEND_AFTER
        if self.duplicates and chance.random() < self.duplicates:
            return [delay, delay + self.latency * chance.random()]
        return [delay]


RESEND_AFTER = 0.2
"""Seconds until a reliable link notices a loss."""

LinkModel = Callable[[int, int], LinkQuality]
"""The link from one node to another."""


def alike(quality: LinkQuality) -> LinkModel:
    """All links are the same."""
    return lambda sender, receiver: quality


def by_latency(latencies: Mapping[tuple[int, int], float], otherwise: float, **quality: float) -> LinkModel:
    """Links by their latencies in seconds; the others take `otherwise`."""
    known: dict[float, LinkQuality] = {}

    def link(sender: int, receiver: int) -> LinkQuality:
        latency = latencies.get((sender, receiver), otherwise)
        if latency not in known:
            known[latency] = LinkQuality(latency, **quality)  # type: ignore[arg-type]
        return known[latency]

    return link
