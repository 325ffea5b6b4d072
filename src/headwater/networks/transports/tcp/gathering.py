"""The processes of a network: started, come, gone, started again, ended."""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import socket
import threading
import time
from collections.abc import Iterable

from headwater.errors import HeadwaterError
from headwater.networks.transports.tcp.control import JoinNetwork, greeting
from headwater.networks.transports.tcp.frames import ConnectionGone, Frames, listener, port_of, stop_listening
from headwater.networks.transports.tcp.hosting import ProcessStarter, StartedProcess

START_PATIENCE = 60.0
"""Seconds within which a process must come."""
SECONDS_BETWEEN_LOOKS = 0.5
"""How often it is looked whether those that are waited for still run."""
ANSWER_PATIENCE = 600.0
"""Seconds within which a node must have nothing left to do, when it is asked for that."""
END_PATIENCE = 5.0
"""Seconds within which processes end when they are let go; then they are killed."""


class NodeGone(HeadwaterError):
    """A process of a network is gone."""


class Processes:
    """Processes by number, each with a connection to the driver."""

    def __init__(self, starter: ProcessStarter, number: int):
        self.number = number
        self._starter = starter
        self._token = secrets.token_hex(16)
        self._listening = listener(starter.host)
        self._started: dict[int, StartedProcess] = {}
        self._attempts = [0] * number
        self._joined: dict[int, JoinNetwork] = {}
        self._connections: dict[int, Frames] = {}
        self._coming: queue.SimpleQueue[tuple[Frames, JoinNetwork]] = queue.SimpleQueue()
        threading.Thread(target=self._accept, name="headwater-accept", daemon=True).start()

    def _accept(self) -> None:
        """Take connections for as long as there are any to take; each says who it is in its own time."""
        with contextlib.suppress(OSError):  # it was closed
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._greet, args=(connection,), daemon=True).start()

    def _greet(self, connection: socket.socket) -> None:
        frames = Frames(connection)
        joining = greeting(frames, self._token)
        if isinstance(joining, JoinNetwork):
            self._coming.put((frames, joining))
        else:
            frames.close()

    def start(self, numbers: Iterable[int]) -> None:
        """Have processes started, and wait until they have come."""
        waited = set(numbers)
        for number in waited:
            self._attempts[number] += 1
            who = {
                "number": number, "attempt": self._attempts[number], "token": self._token,
                "host": self._starter.host_of(number),
                "driver_host": self._starter.host, "driver_port": port_of(self._listening),
            }  # fmt: skip
            self._started[number] = self._starter.start(number, who)
        deadline = time.monotonic() + START_PATIENCE
        while waited:
            failure = self._starter.failure()
            if failure is not None:
                raise NodeGone("node-lost", f"processes {sorted(waited)} did not come: {failure}")
            if time.monotonic() > deadline or not all(self._started[number].runs() for number in waited):
                raise NodeGone("node-lost", f"processes {sorted(waited)} did not come")
            with contextlib.suppress(queue.Empty):
                waited -= self._taken(*self._coming.get(timeout=SECONDS_BETWEEN_LOOKS), waited)

    def _taken(self, frames: Frames, joining: JoinNetwork, waited: set[int]) -> set[int]:
        """The number of a process that has come, if it is one that is waited for."""
        if joining.number not in waited or joining.attempt != self._attempts[joining.number]:
            frames.close()
            return set()
        frames.patience(ANSWER_PATIENCE)
        self._connections[joining.number] = frames
        self._joined[joining.number] = joining
        return {joining.number}

    def start_missing(self) -> None:
        """Start those again that are gone, or whose connection is."""
        missing = [
            number
            for number in range(self.number)
            if number not in self._connections or not self._started[number].runs()
        ]
        self.drop(missing)
        for number in missing:
            self._started[number].kill()
        self.start(missing)

    def connection(self, number: int) -> Frames:
        if number not in self._connections:
            raise ConnectionGone(f"process {number} has not come back")
        return self._connections[number]

    def drop(self, numbers: Iterable[int]) -> None:
        """Close connections; those that had one are started again before they are used."""
        for number in numbers:
            connection = self._connections.pop(number, None)
            if connection is not None:
                connection.close()

    def addresses(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Hosts and ports at which the others find each process."""
        if len(self._joined) < self.number:
            raise NodeGone("node-lost", "not all processes have come")
        joined = [self._joined[number] for number in range(self.number)]
        return tuple(each.host for each in joined), tuple(each.port for each in joined)

    def ids(self) -> list[int]:
        """The ids that the system gave them."""
        return [self._joined[number].process for number in range(self.number)]

    def kill(self, number: int) -> None:
        """Kill a process, as a failure would."""
        self._started[number].kill()

    def end(self, owner: int) -> None:
        """Close what processes hold on to; those that do not end are killed."""
        if os.getpid() != owner:
            return  # a fork: the processes are its parent's
        stop_listening(self._listening)
        self.drop(list(self._connections))
        deadline = time.monotonic() + END_PATIENCE
        for process in self._started.values():
            if not process.ended(max(0.1, deadline - time.monotonic())):
                process.kill()
