"""A second thread for the two lanes of a large table.

Kernels release Python's lock, so two of them run at once. `HEADWATER_THREADS=1` keeps to one thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


TWO = int(os.environ.get("HEADWATER_THREADS", "2")) > 1 and _cores() > 1


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="headwater-lane")


def both(work: Callable[[int], T]) -> list[T]:
    """The results of `work(0)` and `work(1)`, done at the same time."""
    other = _pool(os.getpid()).submit(work, 1)
    try:
        return [work(0), other.result()]
    finally:
        other.result()
