"""Nodes in processes of their own, without Spark around them, so that they can really be killed and stopped."""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from headwater.nodes.hosting import Invitation
from headwater.nodes.serve import serve

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["headwater.nodes.serve"])


class Processes:
    """Hosts nodes in processes. `started` hears of each attempt, when its processes have just been started."""

    words = "processes of this machine"

    def __init__(self, started: Callable[[list[int]], None] = lambda processes: None):
        self.started = started
        self._processes: list[Any] = []

    def check(self, nodes: int) -> None:
        pass

    def spare(self, nodes: int) -> int:
        return 1

    def thread(self, target: Callable[[], None]) -> threading.Thread:
        return threading.Thread(target=target, daemon=True)

    def run(self, job: int, invitation: Invitation) -> None:
        self._processes = [
            CONTEXT.Process(target=serve, args=(number, invitation, (job,)), daemon=True)
            for number in range(invitation.nodes)
        ]
        for process in self._processes:
            process.start()
        self.started([process.pid for process in self._processes])
        left = {process.sentinel: process for process in self._processes}
        while left:
            for sentinel in multiprocessing.connection.wait(list(left)):
                if left.pop(sentinel).exitcode:  # as Spark does, which starts all nodes again or none
                    self.cancel()
        codes = [process.exitcode for process in self._processes]
        if any(codes):
            raise RuntimeError(f"nodes ended with {codes}")

    def cancel(self) -> None:
        for process in self._processes:
            process.kill()

    def hopeless(self, error: Exception) -> str | None:
        return None


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


class AtStep(logging.Handler):
    """Does something at a step of the meeting, which the driver names in its log."""

    def __init__(self, step: str, action: Callable[[], None], times: int = 1):
        super().__init__(logging.DEBUG)
        self.step, self.action, self.times = step, action, times
        self.said: list[str] = []
        self.active = False

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        self.said.append(said)
        if self.active and self.times and self.step in said:
            self.times -= 1
            self.action()


@contextmanager
def listening(handler: logging.Handler):
    log = logging.getLogger("headwater.nodes")
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        yield handler
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
