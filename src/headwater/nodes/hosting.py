"""Starting nodes, and starting them again whenever they end before they are sent home."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

log = logging.getLogger("headwater.nodes")

MOST_FAILURES = 3
"""How often in a row nodes may end before all have come, until there is no hope."""


@dataclass(frozen=True)
class Invitation:
    """What a node needs to know to come."""

    nodes: int
    driver: str
    secret: str
    functions: Mapping[str, Any]


class Hosting(Protocol):
    """Who starts nodes. `words` says where."""

    words: str

    def check(self, nodes: int) -> None:
        """Refuse at once what cannot be."""
        ...

    def spare(self, nodes: int) -> int:
        """How many cores are left to other work of the same session while that many nodes run."""
        ...

    def thread(self, target: Callable[[], None]) -> threading.Thread:
        """A thread in which `run` may be called."""
        ...

    def run(self, job: int, invitation: Invitation) -> None:
        """Start all nodes, and return when all have ended.

        If one ends before its time, see to it that all end, and raise.
        """
        ...

    def cancel(self) -> None:
        """Make `run` end soon, whatever its nodes do."""
        ...

    def hopeless(self, error: Exception) -> str | None:
        """Why it is of no use to try again after this error, if it is of none."""
        ...


class Supervisor:
    """Runs nodes in a thread of its own, again and again."""

    def __init__(self, hosting: Hosting, invitation: Invitation):
        self._hosting = hosting
        self._invitation = invitation
        self._stopping = False
        self._failures = 0
        self._broken: str | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Have the nodes started, soon."""
        self._hosting.check(self._invitation.nodes)
        self._thread = self._hosting.thread(self._run)
        self._thread.start()

    def _run(self) -> None:
        for job in itertools.count():
            failure: Exception | None = None
            try:
                self._hosting.run(job, self._invitation)
            except Exception as error:  # whatever Spark or Py4J throws
                failure = error
            if self._stopping:
                return
            self._failures += 1
            reason = None if failure is None else self._hosting.hopeless(failure)
            if reason is not None or self._failures > MOST_FAILURES:
                self._broken = f"{self._hosting.words} cannot run nodes: {reason or gist(failure)}"
                return
            log.warning("the nodes ended (%s); they are started again", gist(failure))

    def came(self) -> None:
        """All nodes have come: there is hope."""
        self._failures = 0

    def broken(self) -> str | None:
        """Why there is no hope of nodes coming up; `None` while there is."""
        return self._broken

    def restart(self) -> None:
        """Start all nodes again, whatever the present ones do."""
        if not self._stopping:
            self._hosting.cancel()

    def stop(self, patience: float = 10.0) -> None:
        """Nodes were sent home: wait until all are gone, and end those that do not go."""
        self._stopping = True
        if self._thread is None:
            return
        self._thread.join(timeout=patience)
        if self._thread.is_alive():
            self._hosting.cancel()
            self._thread.join(timeout=patience)


def gist(error: Exception | None) -> str:
    """The line of a long report that says what was wrong."""
    if error is None:
        return "it was over"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    told = [line for line in lines if line.startswith(("ModuleNotFoundError", "ImportError"))]
    return (told or lines)[0][:300]
