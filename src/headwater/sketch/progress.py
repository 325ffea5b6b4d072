"""A capture that takes long shows itself, where somebody looks on: how many of Spark's tasks are done, and the time.

The work is the backend's, so another thread looks at it from time to time. Nothing is shown of what is soon done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headwater.version.spectator import BETWEEN, PATIENCE, Screen

Tasks = Callable[[], tuple[int, int] | None]
"""How many tasks are done of how many; `None` where that is not known."""


@contextmanager
def shown(screen: Screen | None, what: str, tasks: Tasks, patience: float = PATIENCE) -> Iterator[None]:
    """Show how far the work inside is, once it has taken longer than `patience`."""
    if screen is None:
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(
        target=_look, args=(screen, what, tasks, patience, done), name="headwater-capture", daemon=True
    )
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _look(screen: Screen, what: str, tasks: Tasks, patience: float, done: threading.Event) -> None:
    started = time.perf_counter()
    if done.wait(patience):
        return
    while True:
        screen.show(progress_line(what, tasks(), time.perf_counter() - started))
        if done.wait(BETWEEN):
            break
    screen.show("")


def progress_line(what: str, tasks: tuple[int, int] | None, elapsed: float) -> str:
    """How far it is.

    >>> progress_line("capturing 3fa2", (12, 40), 2.34), progress_line("capturing 3fa2", None, 2.34)
    ('capturing 3fa2: 12 of 40 tasks, 2.3 s', 'capturing 3fa2: 2.3 s')
    """
    said = f"{tasks[0]:,} of {tasks[1]:,} tasks, " if tasks is not None else ""
    return f"{what}: {said}{elapsed:.1f} s"
