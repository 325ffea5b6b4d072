"""Processes of a network as tasks of a Spark session: Spark places them, on whatever executors it has.

Each is a job of one task, so that one that is lost is started again without the others. A task comes to the driver
over TCP like any other process; no data goes through Spark itself. It ends when the driver's connection does.

A task that Spark itself starts again, after it lost one, is turned away by the number of its attempt: the driver has
another started. Workers of Python that Spark uses again hold nothing of what was there before.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headwater.errors import SparkError
from headwater.spark.session import first_line, running_session, spark_session

LOOPBACK = "127.0.0.1"
KILL_PATIENCE = 10.0


class SparkTask:
    """One task, and the thread that waits for its job."""

    def __init__(self, context: Any, group: str, who: Mapping[str, Any]):
        from pyspark import InheritableThread

        self.failure: str | None = None
        self._context = context
        self._group = group
        self._work = task_of(who)
        self._thread: threading.Thread = InheritableThread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._context.setJobGroup(self._group, "a Headwater network", interruptOnCancel=True)
            self._context.parallelize([0], 1).foreachPartition(self._work)
        except Exception as error:  # whatever Spark or Py4J throws: the task was killed, or cannot run
            self.failure = first_line(error)

    def runs(self) -> bool:
        return self._thread.is_alive()

    def kill(self) -> None:
        with contextlib.suppress(Exception):  # a session that is stopped has cancelled everything
            self._context.cancelJobGroup(self._group)
        self.ended(KILL_PATIENCE)

    def ended(self, patience: float) -> bool:
        self._thread.join(patience)
        return not self._thread.is_alive()


class SparkTasks:
    """Starts processes as tasks of a session."""

    def __init__(self, spark: Any):
        self._context = spark.sparkContext
        self._local = str(self._context.master).startswith("local")
        self.host = LOOPBACK if self._local else _driver_host(self._context)
        if self._local and "PYSPARK_PYTHON" not in os.environ:
            self._context.pythonExec = sys.executable  # on this machine, the Python that has Headwater
        self._tasks: list[SparkTask] = []

    @classmethod
    def on(cls, spark: Any, processes: int) -> SparkTasks:
        """On the session given, or the one that runs here, or an embedded one with a core more than processes."""
        try:
            return cls(spark or running_session() or spark_session(f"local[{processes + 1}]"))
        except AttributeError:
            message = f"{type(spark).__name__} is no Spark session"
            raise SparkError("no-spark", message, hint="spark=SparkSession.builder...") from None

    def slots(self) -> int:
        """How many tasks run at the same time."""
        return max(1, int(self._context.defaultParallelism))

    def host_of(self, number: int) -> str:
        return LOOPBACK if self._local else ""

    def start(self, number: int, who: Mapping[str, Any]) -> SparkTask:
        group = f"headwater-network-{id(self):x}-{number}-{who['attempt']}"
        task = SparkTask(self._context, group, who)
        self._tasks = [known for known in self._tasks if known.runs()] + [task]
        return task

    def failure(self) -> str | None:
        return next((task.failure for task in self._tasks if task.failure is not None), None)


def task_of(who: Mapping[str, Any]) -> Callable[[Iterable[int]], None]:
    """What a task does: be a process of the network."""
    told = dict(who)

    def task(_: Iterable[int]) -> None:
        from headwater.networks.transports.tcp.process import be_process

        host = told["host"] or socket.gethostbyname(socket.gethostname())
        be_process({**told, "host": host})

    return task


def _driver_host(context: Any) -> str:
    host = context.getConf().get("spark.driver.host", "") or socket.gethostname()
    return socket.gethostbyname(host)
