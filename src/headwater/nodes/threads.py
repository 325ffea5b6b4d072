"""Nodes in threads of this process: the same messages over the same streams, without Spark around them.

For tests, and for trying out how a program spreads over nodes. It is no faster than one process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from headwater.nodes.hosting import Invitation
from headwater.nodes.serve import serve


class Threads:
    """Hosts nodes in threads."""

    words = "threads of this process"

    def check(self, nodes: int) -> None:
        """There is room for any number."""

    def spare(self, nodes: int) -> int:
        """Threads take no core away."""
        return 1

    def thread(self, target: Callable[[], None]) -> threading.Thread:
        return threading.Thread(target=target, daemon=True)

    def run(self, job: int, invitation: Invitation) -> None:
        """A thread for each node."""
        failures: list[Exception] = []

        def node(number: int) -> None:
            try:
                serve(number, invitation, (job,))
            except Exception as error:
                failures.append(error)

        threads = [
            threading.Thread(target=node, args=(number,), daemon=True) for number in range(invitation.nodes)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def cancel(self) -> None:
        """Threads end when they are told to, at the end of a round; nobody else can end them."""

    def hopeless(self, error: Exception) -> str | None:
        """Threads can be started again."""
        return None
