"""Nodes in one barrier stage of Spark: each task is a node, for as long as the database is open.

Spark starts all nodes together, on whatever executors it has, and starts all of them again when one is lost: the
stage ends in a shuffle, since a barrier stage that is the last of its job is not retried. When Spark has tried
often enough and gives up, a new job is submitted. Nodes find the driver, and each other, over Arrow Flight; no
data goes through Spark itself.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from headwater.errors import SparkError
from headwater.run.session import running_session, spark_session

log = logging.getLogger("headwater.nodes")

LOOPBACK = "127.0.0.1"
HASTY = 5.0
"""A job that fails within as many seconds has not got anywhere."""
MOST_HASTY = 3
"""How many such jobs in a row before there is no hope."""


class SparkStage:
    """Hosts nodes on a Spark session."""

    def __init__(self, spark: Any):
        self.spark = spark
        self.context = spark.sparkContext
        self.master = str(self.context.master)
        self.local = self.master == "local" or self.master.startswith("local[")
        self.words = f"a barrier stage of Spark {self.context.version} on {self.master}"
        self.host = LOOPBACK if self.local else self._driver_host()
        if self.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            self.context.pythonExec = sys.executable  # on this machine, the Python that has Headwater
        self._group = f"headwater-{id(self):x}"
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._broken: str | None = None

    @classmethod
    def on(cls, spark: Any, nodes: int | None) -> SparkStage:
        """On the session given, or the one that runs here, or an embedded one with a core more than nodes."""
        if spark is None:
            spark = running_session() or spark_session(f"local[{(nodes or 2) + 1}]")
        return cls(spark)

    def _driver_host(self) -> str:
        host = self.context.getConf().get("spark.driver.host", "") or socket.gethostname()
        return socket.gethostbyname(host)

    def spare(self, nodes: int) -> int:
        """How many cores are left to other jobs of the session while that many nodes run."""
        return int(self.context.defaultParallelism) - nodes

    def slots(self) -> int:
        """How many nodes there are if nobody says: all cores but one, which is left to other work."""
        return max(1, int(self.context.defaultParallelism) - 1)

    # ------------------------------------------------------------------ the stage

    def start(self, nodes: int, driver: str, secret: str, functions: Mapping[str, Any]) -> None:
        """Submit the stage, and again whenever it fails, in a thread of its own."""
        from pyspark import InheritableThread

        if self.spare(nodes) < 0 and self.master.startswith("local"):
            raise SparkError(
                "no-nodes",
                f"{nodes} nodes need {nodes} cores, and {self.master} has {nodes + self.spare(nodes)}",
                hint=f"use fewer nodes, or a session on local[{nodes + 1}]",
            )
        if self.spare(nodes) <= 0:
            log.warning("%d nodes leave no core of %s to other jobs of the session", nodes, self.master)

        def submit() -> None:
            hasty = 0
            for job in itertools.count():
                started = time.monotonic()
                task = task_of(job, nodes, driver, secret, dict(functions), self.local)
                try:
                    self.context.setJobGroup(self._group, f"{nodes} Headwater nodes", interruptOnCancel=True)
                    stage = self.context.parallelize(range(nodes), nodes).barrier().mapPartitions(task)
                    stage.map(lambda number: (number, None)).partitionBy(1).count()
                    failure: Exception | None = None
                except Exception as error:  # whatever Spark or Py4J throws
                    failure = error
                if self._stopping:
                    return
                hasty = hasty + 1 if time.monotonic() - started < HASTY else 0
                if failure is not None and (hasty >= MOST_HASTY or _hopeless(failure)):
                    self._broken = f"Spark cannot run {nodes} nodes: {_gist(failure)}"
                    return
                log.warning("the stage of the nodes ended (%s); submitting it again", _gist(failure))

        self._thread = InheritableThread(target=submit, daemon=True)
        self._thread.start()

    def broken(self) -> str | None:
        """Why there is no hope of nodes coming up."""
        return self._broken

    def stop(self) -> None:
        """Nodes were sent home: wait for the stage to end, and cancel it if it does not."""
        self._stopping = True
        if self._thread is None:
            return
        self._thread.join(timeout=10)
        if self._thread.is_alive():
            with contextlib.suppress(Exception):
                self.context.cancelJobGroup(self._group)
            self._thread.join(timeout=10)


def task_of(
    job: int,
    nodes: int,
    driver: str,
    secret: str,
    functions: dict[str, Any],
    local: bool,
) -> Callable[[Iterable[int]], Iterator[int]]:
    """What each task of the stage does: be a node."""

    def task(numbers: Iterable[int]) -> Iterator[int]:
        from pyspark import BarrierTaskContext

        from headwater.run.nodes.node import host

        context = BarrierTaskContext.get()
        number = context.partitionId()
        address = LOOPBACK
        if not local:
            address = socket.gethostbyname(context.getTaskInfos()[number].address.rpartition(":")[0])
        attempt = [job, int(context.taskAttemptId())]
        host(number, nodes, driver, secret, attempt, functions, address)
        return iter([number])

    return task


def _hopeless(error: Exception) -> bool:
    """Whether trying again cannot help: too few slots, a session that is stopped, executors without Headwater."""
    signs = (
        "SPARK-24819",
        "SparkContext was shut down",
        "stopped SparkContext",
        "ModuleNotFoundError",
        "ImportError",
    )
    return any(sign in str(error) for sign in signs)


def _gist(error: Exception | None) -> str:
    """The line of a long report that says what was wrong."""
    if error is None:
        return "it was over"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    told = [line for line in lines if line.startswith(("ModuleNotFoundError", "ImportError"))]
    return (told or lines)[0][:300]
