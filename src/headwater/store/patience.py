"""Waiting for others, a while: what they are in the way of is tried again until they are gone, or time is over.

>>> left = iter([ValueError("busy"), ValueError("busy"), None])
>>> def sometimes():
...     error = next(left)
...     if error:
...         raise error
...     return "done"
>>> patiently(sometimes, lambda error: "busy" in str(error), 5.0)
'done'
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

Done = TypeVar("Done")
PATIENCE = 30.0
"""Seconds that others are waited for."""
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.2
"""Seconds between two tries."""


def patiently(action: Callable[[], Done], is_in_the_way: Callable[[Exception], bool], seconds: float) -> Done:
    """What an action gives, tried again for so many seconds as long as it fails by what is in its way; then its last
    error. Pauses grow, and differ from those of others who wait for the same."""
    until = time.monotonic() + seconds
    pause = FIRST_PAUSE
    while True:
        try:
            return action()
        except Exception as error:
            if not is_in_the_way(error) or time.monotonic() >= until:
                raise
        time.sleep(min(pause * random.uniform(0.5, 1.5), max(0.0, until - time.monotonic())))
        pause = min(2 * pause, LONGEST_PAUSE)
