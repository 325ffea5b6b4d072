"""A program of its own that leaves in one of many ways, and closes nothing. Called by the tests.

python nodes_leaving.py WAY local|threads|spark
"""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import headwater as hw
from headwater.database import Database

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
RUN = sys.argv[2] if len(sys.argv) > 2 else "local"


class Mine(Exception):
    """The user's own error."""


def session(cores: int = 3) -> Any:
    if RUN != "spark":
        return None
    from quick_java import quick

    return hw.spark_session(f"local[{cores}]", conf=quick())


def opened(spark: Any = None) -> Database:
    options: dict[str, Any] = {} if RUN == "local" else {"run": RUN, "nodes": 2}
    db = hw.connect(spark=spark, **options)
    db.define(REACH)
    db.apply(insert={"link": [(1, 2), (2, 3)]})
    assert len(db["reach"]) == 3
    return db


def by(leave: Callable[[], object]) -> None:
    """Leave with a database that is open."""
    db = opened(session())
    print("ready", flush=True)
    leave()
    assert len(db["reach"]) == 3


def fail() -> None:
    raise Mine("the user's own")


def send(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def in_a_thread() -> None:
    """The main thread ends; another one goes on, and fails with the database open."""
    spark = session()
    is_open = threading.Event()

    def work() -> None:
        db = opened(spark)
        is_open.set()
        threading.main_thread().join()
        db.apply(insert={"link": [(3, 4)]})
        print("ready", flush=True)
        fail()

    threading.Thread(target=work).start()
    is_open.wait()


def with_a_session_that_stops_first() -> None:
    """Functions that are called at exit are called the last one first."""
    spark = session()
    db = opened(spark)
    atexit.register(spark.stop if spark is not None else db.close)
    print("ready", flush=True)
    fail()


def with_its_java_killed() -> None:
    """As soon as the nodes are gone, too, what needs them is refused; and the program ends."""
    spark = session()
    db = opened(spark)
    there = db.runner.nodes.coordinator.meeting.processes
    spark.sparkContext._gateway.proc.kill()
    while any(os.path.exists(f"/proc/{process}") for process in there):
        time.sleep(0.05)
    refuse("no-nodes", lambda: db.apply(insert={"link": [(3, 4)]}))
    print("ready", flush=True)
    fail()


def in_a_batch() -> None:
    """The user's function for a stream's batches fails in a thread of the callback server."""
    spark = session(4)
    db = opened(spark)

    def batch(frame: Any, number: int) -> None:
        db.apply(insert={"link": [(3, 4)]})
        fail()

    rows = spark.readStream.format("rate").load()
    print("ready", flush=True)
    query = rows.writeStream.foreachBatch(batch).start()
    try:
        query.awaitTermination()
    except Exception as error:
        assert "the user's own" in str(error)
        raise Mine("the user's own") from None


def forgotten() -> None:
    """Databases that nobody refers to any more; several in one session; a session that is stopped under them."""
    spark = session(4)
    db = opened(spark)
    del db
    wait_for_garbage()
    first, second = opened(spark), opened(spark)
    if RUN == "spark":
        refuse("no-nodes", lambda: opened(spark))
    refuse("unknown-relation", lambda: first["nothing"])
    first.close()
    first.close()
    assert second.apply(insert={"link": [(3, 4)]})["reach"].counts == (3, 0)
    third = opened(spark)
    changes = third.apply(insert={"link": [(3, 4)]})
    del third
    wait_for_garbage()
    if RUN == "spark":
        spark.stop()
        refuse("no-nodes", lambda: second.apply(insert={"link": [(4, 5)]}))
        refuse("no-nodes", lambda: len(second["reach"]))
    second.close()
    second.close()
    assert changes["reach"].counts == (3, 0)
    print("ready", flush=True)


def wait_for_garbage() -> None:
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "headwater-end":
            thread.join()


def refuse(code: str, work: Callable[[], object]) -> None:
    try:
        work()
    except hw.HeadwaterError as error:
        assert error.code == code, error
    else:
        raise AssertionError(code)


def forked() -> None:
    """A child that was forked ends before its parent goes on: the nodes are the parent's."""
    db = opened(session())
    child = multiprocessing.get_context("fork").Process(target=sys.exit, args=(5,))
    child.start()
    child.join()
    assert child.exitcode == 5
    assert db.apply(insert={"link": [(3, 4)]})["reach"].counts == (3, 0)
    print("ready", flush=True)


WAYS: dict[str, Callable[[], object]] = {
    "end": lambda: by(lambda: None),
    "error": lambda: by(fail),
    "exit": lambda: by(lambda: sys.exit(3)),
    "at-once": lambda: by(lambda: os._exit(4)),
    "terminated": lambda: by(send(signal.SIGTERM)),
    "interrupted": lambda: by(send(signal.SIGINT)),
    "killed": lambda: by(send(signal.SIGKILL)),
    "thread": in_a_thread,
    "session-first": with_a_session_that_stops_first,
    "java-killed": with_its_java_killed,
    "batch": in_a_batch,
    "forgotten": forgotten,
    "forked": forked,
}

if __name__ == "__main__":
    WAYS[sys.argv[1]]()
