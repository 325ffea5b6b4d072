"""Nodes in one barrier stage of Spark: each task is a node, for as long as the database is open.

Spark starts all nodes together, on whatever executors it has, and starts all of them again when one is lost: the
stage ends in a shuffle, since a barrier stage that is the last of its job is not retried. When Spark has tried
often enough and gives up, a new job is submitted. Nodes find the driver, and each other, over Arrow Flight; no
data goes through Spark itself.

Nodes of one attempt of the stage know each other by a number that they agree on at Spark's barrier: a task of an
attempt that failed may still be there when those of the next one come.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headwater.errors import SparkError
from headwater.nodes.hosting import Invitation, gist
from headwater.spark.session import running_session, spark_session

log = logging.getLogger("headwater.nodes")

LOOPBACK = "127.0.0.1"
HOPELESS = (
    "SPARK-24819",  # more nodes than cores
    "SparkContext was shut down",
    "stopped SparkContext",
    "ModuleNotFoundError",
    "ImportError",
)
RUNNING: weakref.WeakSet[SparkStage] = weakref.WeakSet()
"""Those of this process, of which each takes cores from the session for as long as it runs."""


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
        self._taken = 0
        """Cores that its nodes have, or wait for."""

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
        """How many cores are left to other jobs of the session while that many nodes run, beside other nodes."""
        others = sum(stage._taken for stage in RUNNING if stage is not self and stage.context is self.context)
        return int(self.context.defaultParallelism) - others - nodes

    def slots(self) -> int:
        """How many nodes there are if nobody says: all free cores but one, which is left to other work."""
        return max(1, self.spare(1))

    # ------------------------------------------------------------------ the stage

    def check(self, nodes: int) -> None:
        """Refuse more nodes than cores, where that can be known at once."""
        free = nodes + self.spare(nodes)
        if nodes > free and self.master.startswith("local"):
            raise SparkError(
                "no-nodes",
                f"{nodes} nodes need {nodes} cores, and {self.master} has {max(free, 0)} that no other nodes have",
                hint=f"use fewer nodes, or a session with more cores, such as local[{nodes + 1}]",
            )
        if nodes == free:
            log.warning("%d nodes leave no core of %s to other jobs of the session", nodes, self.master)

    def thread(self, target: Callable[[], None]) -> threading.Thread:
        """One that has a thread of the Java to itself, so that the job group is its own."""
        from pyspark import InheritableThread

        return InheritableThread(target=target, daemon=True)

    def run(self, job: int, invitation: Invitation) -> None:
        """Submit the stage, and wait for its end."""
        nodes = invitation.nodes
        task = task_of(job, invitation, self.local)
        self._taken = nodes
        RUNNING.add(self)
        try:
            self.context.setJobGroup(self._group, f"{nodes} Headwater nodes", interruptOnCancel=True)
            stage = self.context.parallelize(range(nodes), nodes).barrier().mapPartitions(task)
            stage.map(lambda number: (number, None)).partitionBy(1).count()
        finally:
            self._taken = 0

    def cancel(self) -> None:
        """Have Spark end the tasks; those that do not hear of it are killed."""
        with contextlib.suppress(Exception):  # a session that is stopped has cancelled everything
            self.context.cancelJobGroup(self._group)

    def hopeless(self, error: Exception) -> str | None:
        """Too few cores, a session that is stopped, executors without Headwater: trying again cannot help."""
        if self._stopped():
            return "the Spark session was stopped"
        return gist(error) if any(sign in str(error) for sign in HOPELESS) else None

    def _stopped(self) -> bool:
        try:
            return self.context._jsc is None or bool(self.context._jsc.sc().isStopped())
        except Exception:  # the Java is gone
            return True


def task_of(job: int, invitation: Invitation, local: bool) -> Callable[[Iterable[int]], Iterator[int]]:
    """What each task of the stage does: be a node."""

    def task(numbers: Iterable[int]) -> Iterator[int]:
        from pyspark import BarrierTaskContext

        from headwater.kernel.ahead import WANTED
        from headwater.nodes.serve import serve

        # What a node needs was compiled when it came up, and cores are the cluster's.
        os.environ[WANTED] = "0"
        context = BarrierTaskContext.get()
        number = context.partitionId()
        address = LOOPBACK
        if not local:
            address = socket.gethostbyname(context.getTaskInfos()[number].address.rpartition(":")[0])
        first = min(map(int, context.allGather(str(context.taskAttemptId()))))
        serve(number, invitation, (job, first), address)
        return iter([number])

    return task
