"""Who starts the processes of a network: here as children of this process, elsewhere as tasks of Spark.

A process is told who it is and where its driver listens; it comes by connecting there. Whoever starts one can say
whether it still runs, and end it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

Prefix = Callable[[int], Sequence[str]]
"""What comes before the command of a process: `ip netns exec n3`, say."""


class StartedProcess(Protocol):
    """A process that may be a part of a network."""

    def runs(self) -> bool:
        """Whether it has not ended."""
        ...

    def kill(self) -> None:
        """End it at once, and wait for that."""
        ...

    def ended(self, patience: float) -> bool:
        """Wait for its end; whether it came."""
        ...


class ProcessStarter(Protocol):
    """Starts processes by number. `host` is where the driver listens."""

    host: str

    def host_of(self, number: int) -> str:
        """Where a process is to listen; nothing if it finds out itself."""
        ...

    def start(self, number: int, who: Mapping[str, Any]) -> StartedProcess:
        """Start one, with what it is told."""
        ...

    def failure(self) -> str | None:
        """Why processes cannot be started, where that is known."""
        ...


class ChildProcess:
    """A child of this process."""

    def __init__(self, popen: subprocess.Popen[bytes]):
        self.popen = popen

    def runs(self) -> bool:
        return self.popen.poll() is None

    def kill(self) -> None:
        self.popen.send_signal(signal.SIGKILL)
        self.popen.wait()

    def ended(self, patience: float) -> bool:
        try:
            self.popen.wait(patience)
        except subprocess.TimeoutExpired:
            return False
        return True


class Children:
    """Starts processes as children of this one. With a `prefix` to their command and `hosts`, they can be in network
    namespaces of their own."""

    def __init__(
        self, host: str = "127.0.0.1", hosts: Sequence[str] = (), prefix: Prefix = lambda number: ()
    ):
        self.host = host
        self._hosts = tuple(hosts)
        self._prefix = prefix

    def host_of(self, number: int) -> str:
        return self._hosts[number] if self._hosts else self.host

    def start(self, number: int, who: Mapping[str, Any]) -> ChildProcess:
        popen = subprocess.Popen(
            [*self._prefix(number), sys.executable, "-m", "headwater.networks.transports.tcp.process"],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is the driver's affair, also before this is up
        )
        assert popen.stdin is not None
        popen.stdin.write(json.dumps(who).encode() + b"\n")
        popen.stdin.close()
        return ChildProcess(popen)

    def failure(self) -> str | None:
        return None
