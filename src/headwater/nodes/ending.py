"""How nodes end: when they are closed, when nobody refers to them any more, or with the program, whatever is first.

Python leaves a program by its `atexit` functions, the last one first: this one comes before that of Arrow Flight,
which waits for streams to end, and before those of whoever made the Spark session. A program that is killed takes its
streams with it, and nodes that see them end leave.
"""

from __future__ import annotations

import atexit
import os
import threading

from headwater.nodes.coordinator import Coordinator
from headwater.nodes.hosting import Supervisor


class Ending:
    """Ends nodes, once."""

    def __init__(self, coordinator: Coordinator, supervisor: Supervisor):
        self._coordinator = coordinator
        self._supervisor = supervisor
        self._once = threading.Lock()
        self._ended = False
        self._process = os.getpid()
        atexit.register(self.end)

    def end(self) -> None:
        """Send the nodes home, and wait until they are gone. Once is enough."""
        if os.getpid() != self._process:
            return  # a fork: the nodes are its parent's
        with self._once:
            if self._ended:
                return
            self._ended = True
            atexit.unregister(self.end)
            self._coordinator.meeting.dismiss()
            self._supervisor.stop()
            self._coordinator.meeting.close()

    def end_soon(self) -> None:
        """Garbage may be collected in any thread, at any point, one that waits for the nodes included."""
        if os.getpid() == self._process and not self._ended:
            threading.Thread(target=self.end, name="headwater-end").start()
