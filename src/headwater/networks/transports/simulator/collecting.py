"""Python's search for garbage in cycles, while a network runs.

Rows, messages and entries are freed when nothing refers to them. Nodes make no cycles of them: to search all that
there are, again and again while more come, finds nothing and takes half of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS_BETWEEN_SEARCHES = 1_000_000


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Search seldom; as often as before when it is over."""
    before = gc.get_threshold()
    if not gc.isenabled() or not 0 < before[0] < OBJECTS_BETWEEN_SEARCHES:
        yield
        return
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
