"""Libraries that are loaded when they are first needed are loaded whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def loaded_whole() -> Iterator[None]:
    """Ctrl-C waits: what was imported by half stays so, and numba, say, is of no use then for as long as the process
    lasts. A second thread never gets interrupts."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    noted: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: noted.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if noted:
            handler(*noted[0])
