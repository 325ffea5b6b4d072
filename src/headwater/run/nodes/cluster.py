"""Asking all nodes, and getting them back when they are lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from headwater.errors import EvaluationError
from headwater.maintain.interrupts import Interrupts
from headwater.run.nodes.coordinator import Coordinator, NodeLost
from headwater.run.nodes.wire import error_from_json
from headwater.store import Record

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("headwater.nodes")

START_TIMEOUT = 120.0
"""Seconds within which nodes must come up, at first and after a loss."""
TRIES = 4
"""How often in a row nodes may be lost before giving up."""


class Hosting(Protocol):
    """Who starts nodes. `words` says where, `local` whether they can reach this machine's files and loopback."""

    words: str
    local: bool

    def start(self, nodes: int, driver: str, secret: str, functions: Mapping[str, Any]) -> None:
        """Have the nodes started, now or soon, and again whenever they are lost."""
        ...

    def spare(self, nodes: int) -> int:
        """How many cores are left to other work of the same session while that many nodes run."""
        ...

    def broken(self) -> str | None:
        """Why there is no hope of nodes coming up; `None` while there is."""
        ...

    def stop(self) -> None:
        """Wait until all are gone."""
        ...


class Cluster:
    """Running nodes, for one database after another. Databases that use them may call the functions given here.

    `restore` is what the database does to put lost nodes' state together again, once they are back.
    """

    def __init__(
        self,
        hosting: Hosting,
        nodes: int,
        functions: Mapping[str, Any] | None = None,
        host: str = "127.0.0.1",
    ):
        self.nodes = nodes
        self.hosting = hosting
        self.functions = dict(functions or {})
        self.interrupts = Interrupts()
        self.losses = 0
        self.restore: Callable[[], str] = lambda: "there was nothing to do"
        self.used = False
        self._first: str | None = None
        self.coordinator = Coordinator(nodes, host)
        try:
            hosting.start(nodes, self.coordinator.address, self.coordinator.secret, self.functions)
            self.coordinator.gather(START_TIMEOUT, hosting.broken)
        except BaseException:
            self.close()
            raise

    def ask(
        self,
        kind: str,
        meta: Mapping[str, Any],
        tables: Sequence[Mapping[str, pa.Table]] | None = None,
    ) -> list[Record]:
        """Have all nodes do something; raise what they say is wrong, and `NodeLost` if one is gone."""
        if self._first is not None:
            meta = {**meta, "first": self._first}
        replies = self.coordinator.command(kind, meta, tables, interrupted=self.interrupts.pending)
        self._first = None  # only now: what all nodes have not heard is said again, and does nothing twice
        errors: list[Any] = [reply.meta for reply in replies if reply.kind == "error"]
        for error in errors:
            if not error["peer"]:
                if error["error"]["class"] == "KeyboardInterrupt":
                    self.interrupts.forget()
                elif error["error"]["class"] == "Exception":
                    log.error("on a node: %s", error["trace"])
                raise error_from_json(error["error"])
        if errors:
            raise NodeLost("node-lost", str(errors[0]["error"]["message"]))
        return replies

    def surely(self, work: Callable[[], list[Record]]) -> list[Record]:
        """Do it; if nodes are lost meanwhile, get them back and do it once more."""
        for _ in range(TRIES):
            try:
                return work()
            except NodeLost as lost:
                self.recover(lost)
        raise EvaluationError(
            "node-lost",
            f"nodes were lost {TRIES} times in a row",
            hint="see the executors' logs; often they have too little memory: use more nodes, or bigger ones",
        )

    def later(self, kind: str) -> None:
        """Have all nodes do something before whatever they are asked to do next: that saves a message each."""
        self._first = kind

    def tell(self, kind: str, meta: Mapping[str, Any]) -> None:
        """Have all nodes do something that cannot fail but with the node; do not wait for it."""
        try:
            if self._first is not None:
                meta = {**meta, "first": self._first}
            self.coordinator.command(kind, meta, silent=True)
            self._first = None
        except NodeLost as lost:
            self.recover(lost)

    def recover(self, lost: NodeLost) -> None:
        """Wait for nodes to come back, and have their state put together again."""
        started = time.monotonic()
        self.losses += 1
        self._first = None  # `restore` does that as well
        log.warning("%s; waiting for all nodes to be started again", lost.message)
        self.coordinator.dismiss(newcomers=False)  # those still there are of an attempt that is over
        for attempt in range(TRIES):
            try:
                self.coordinator.gather(START_TIMEOUT, self.hosting.broken)
                what = self.restore()
            except NodeLost as again:
                log.warning("%s while recovering", again.message)
                self.coordinator.dismiss(newcomers=False)
                if attempt + 1 == TRIES:
                    raise
            else:
                log.warning("nodes are back after %.1f s: %s", time.monotonic() - started, what)
                return

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Send the nodes home, and wait until they are gone."""
        self.coordinator.dismiss()
        self.hosting.stop()
        self.coordinator.close()
