"""Ctrl-C while Spark works for us ends its jobs, and then our call.

The Java beside us does not hear Ctrl-C. An exception in the middle of a call to it would leave its job running, with
nobody waiting for it, and its answer would be taken for that of the next call; and where PySpark fetches rows, it
waits for the end of the job even so, and raises what Java says of the broken line instead. So Ctrl-C is noted,
another thread cancels the jobs of the call, which carry a tag, and the call ends when Java has answered. A second
Ctrl-C does not wait for that.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AGAIN = 0.1
"""After so many seconds jobs are cancelled that have begun since."""

_numbers = itertools.count()


@contextmanager
def ended_by_interrupt(session: SparkSession) -> Iterator[None]:
    """Let Ctrl-C end the jobs that are begun inside, and be raised then.

    A second thread never gets interrupts; a handler of the user's own is left alone. PySpark's is not: it asks Java
    to cancel on the very line on which Java's answer is awaited.
    """
    context = session.sparkContext
    if not _is_ours_to_handle() or context._jsc is None:  # stopped: whatever is done says so
        yield
        return
    tag = f"headwater-{os.getpid()}-{next(_numbers)}"
    interrupt = _Interrupt(lambda: context.cancelJobsWithTag(tag))
    before = signal.signal(signal.SIGINT, interrupt.note)
    try:
        context.addJobTag(tag)
        try:
            yield
        finally:
            interrupt.over.set()
            if context._jsc is not None:
                context.removeJobTag(tag)
    except BaseException as error:
        if interrupt.is_noted:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupt.is_noted:
        raise KeyboardInterrupt


def _is_ours_to_handle() -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGINT)
    return (
        handler is signal.default_int_handler or getattr(handler, "__module__", "") == "pyspark.core.context"
    )


class _Interrupt:
    """A Ctrl-C, from when it came until the work is over."""

    def __init__(self, cancel: Callable[[], Any]):
        self._cancel = cancel
        self.is_noted = False
        self.over = threading.Event()

    def note(self, number: int, frame: FrameType | None) -> None:
        if self.is_noted:
            raise KeyboardInterrupt
        self.is_noted = True
        threading.Thread(target=self._until_over, name="headwater-cancel", daemon=True).start()

    def _until_over(self) -> None:
        from py4j.protocol import Py4JError

        while not self.over.is_set():
            try:
                self._cancel()
            except (Py4JError, AttributeError, OSError):  # Spark is going
                return
            self.over.wait(AGAIN)
