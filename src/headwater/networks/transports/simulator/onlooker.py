"""A simulated network that takes long shows how far it is, where somebody looks on (`version/spectator`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headwater.version.spectator import BETWEEN, PATIENCE, screen_of

STEPS_BETWEEN_LOOKS = 256


@contextmanager
def looking_on(told: Callable[[], str]) -> Iterator[Callable[[], None] | None]:
    """What is to be called from time to time; `None` if nobody would see. `told` says how far it is."""
    screen = screen_of(None)
    if screen is None:
        yield None
        return
    began = time.monotonic()
    due, shown = began + PATIENCE, False

    def look() -> None:
        nonlocal due, shown
        now = time.monotonic()
        if now >= due:
            due, shown = now + BETWEEN, True
            screen.show(f"{told()}, {now - began:.0f} s")

    try:
        yield look
    finally:
        if shown:
            screen.show("")
