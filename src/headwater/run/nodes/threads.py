"""Nodes in threads of this process: the same messages over the same streams, without Spark around them.

For tests, and for trying out how a program spreads over nodes. It is no faster than one process.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from typing import Any

from headwater.run.nodes.node import host


class Threads:
    """Hosts nodes in threads."""

    words = "threads of this process"
    local = True

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self._attempts = itertools.count()

    def start(self, nodes: int, driver: str, secret: str, functions: Mapping[str, Any]) -> None:
        """Start all nodes."""
        attempt = [next(self._attempts)]
        for number in range(nodes):
            thread = threading.Thread(
                target=host, args=(number, nodes, driver, secret, attempt, functions), daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def spare(self, nodes: int) -> int:
        """Threads take no core away."""
        return 1

    def broken(self) -> str | None:
        """Why there is no hope of nodes coming up; `None` while there is."""
        return None

    def stop(self) -> None:
        """Wait until all are gone."""
        for thread in self._threads:
            thread.join(timeout=5)
