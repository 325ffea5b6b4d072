"""What the tests of the database share: a program, a picture of all rows, and child processes."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import headwater as hw
from headwater.database import Database

REACH = """
    reach(X, Y) :- link(X, Y).
    reach(X, Y) :- link(X, Z), reach(Z, Y).
"""
Rows = list[tuple[Any, ...]]


def reach(links: Any = (), **options: Any) -> Database:
    """A database with the closure of these links; they are version 2."""
    db = hw.connect(**options)
    db.define(REACH)
    if len(links):
        db.apply(insert={"link": links})
    return db


def rows(db: Database, name: str) -> Rows:
    """The rows of a relation, sorted; each is there once."""
    found = db[name].rows()
    assert len(found) == len(set(found)) == len(db[name])
    return sorted(found)


def state(db: Database) -> dict[str, Any]:
    """All that a user can see, except costs."""
    return {
        "rows": {name: rows(db, name) for name in db.relations},
        "types": {name: db[name].types for name in db.relations},
        "columns": {name: db[name].columns for name in db.relations},
        "texts": db.texts,
        "version": db.version,
        "now": db.now,
    }


def chain(first: int, last: int) -> Rows:
    """Links from each number to the next."""
    return [(number, number + 1) for number in range(first, last)]


def dense(nodes: int, ahead: int = 5) -> Rows:
    """A ring in which each node has links to the next few: every node reaches every node."""
    return [(node, (node + step) % nodes) for node in range(nodes) for step in range(1, ahead + 1)]


def closure(links: Rows) -> set[tuple[Any, Any]]:
    """What `reach` should be."""
    following: dict[Any, set[Any]] = {}
    for source, target in links:
        following.setdefault(source, set()).add(target)
    found = set()
    for start in following:
        waiting = [start]
        while waiting:
            for target in following.get(waiting.pop(), ()):
                if (start, target) not in found:
                    found.add((start, target))
                    waiting.append(target)
    return found


def in_child(work: Callable[[], Any]) -> Any:
    """What the function returns (as JSON) in a forked process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os.close(reading)
        try:
            result = {"result": work()}
        except BaseException:
            result = {"error": traceback.format_exc()}
        with os.fdopen(writing, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    assert said, "the child process died"
    result = json.loads(said)
    assert "error" not in result, result["error"]
    return result["result"]


@contextlib.contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file may grow beyond the size: what a full disk looks like to a process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def refusal(call: Callable[[], Any]) -> str:
    """The code of the error that the call raises."""
    try:
        call()
    except hw.HeadwaterError as error:
        return error.code
    raise AssertionError("nothing was refused")
