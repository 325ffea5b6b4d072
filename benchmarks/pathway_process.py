"""The other end of `pathway_rival`: one process, one dataflow at a time.

All relations of a query come through one connector, so that one commit covers them all: each row starts with
the number of its relation. Pathway reports the end of a moment only where something reached the output in it;
so every commit also carries a tick, a numbered row that goes straight to the output, and a change is done when
the moment ends in which its tick came out.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

COLUMNS = ("kind", "a", "b", "c")
TICK = -1
"""The relation number of ticks."""
AWAKE = 0.002
"""Seconds in which a tick comes through when the engine is awake."""
TICKS_TO_WAKE = 20


def serve(connection: Connection) -> None:
    """Answer requests until the other end goes away."""
    os.environ["PATHWAY_THREADS"] = "1"
    try:
        while True:
            message = connection.recv()
            if message[0] == "open":
                try:
                    _run(connection, message[1], message[2])
                except Exception as error:
                    connection.send(f"{type(error).__name__}: {error}")
    except EOFError:
        pass


def _run(connection: Connection, query: str, parameters: dict[str, int]) -> None:
    import pathway as pw
    from pathway.internals.parse_graph import G

    G.clear()
    output: list[tuple[dict[str, int], bool]] = []
    moment_ended = threading.Event()
    subject = _feed(pw, connection, output, moment_ended)
    column = pw.column_definition(primary_key=True, dtype=int)
    schema = pw.schema_builder(columns=dict.fromkeys(COLUMNS, column), name="Change")
    rows = pw.io.python.read(subject, schema=schema, autocommit_duration_ms=None)
    result = QUERIES[query](pw, rows, **parameters)
    names = result.column_names()
    ticks = rows.filter(pw.this.kind == TICK).select(**dict.fromkeys(names, 0), tick=pw.this.a)
    shown = pw.Table.concat_reindex(result.select(*pw.this, tick=0), ticks)

    arrived = 0

    def on_change(key: Any, row: Any, time: int, is_addition: bool) -> None:
        nonlocal arrived
        output.append((row, is_addition))
        if is_addition and row["tick"]:
            arrived = row["tick"]

    def on_time_end(time: int) -> None:
        if arrived == subject.ticks:
            moment_ended.set()

    pw.io.subscribe(shown, on_change=on_change, on_time_end=on_time_end)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE, default_logging=False)


def _feed(pw: Any, connection: Connection, output: list[Any], moment_ended: threading.Event) -> Any:
    """A connector that takes its changes from the other process."""
    held: Counter[tuple[Any, ...]] = Counter()

    def change(self: Any, deleted: Any, inserted: Any) -> tuple[float, float]:
        """Send one change; return the seconds from its commit, and from its first row, to the output."""
        moment_ended.clear()
        begun = time.perf_counter()
        for row in deleted.tolist():
            self.delete(**dict(zip(COLUMNS, row, strict=True)))
        for row in inserted.tolist():
            self.next(**dict(zip(COLUMNS, row, strict=True)))
        self.ticks += 1
        if self.ticks > 1:
            self.delete(kind=TICK, a=self.ticks - 1, b=0, c=0)
        self.next(kind=TICK, a=self.ticks, b=0, c=0)
        sent = time.perf_counter()
        self.commit()
        moment_ended.wait()
        ended = time.perf_counter()
        return ended - sent, ended - begun

    def wake(self: Any) -> None:
        """Commit ticks until they come through at once: an engine that had nothing to do is slow to start."""
        nothing = np.zeros((0, len(COLUMNS)), np.int64)
        for _ in range(TICKS_TO_WAKE):
            if change(self, nothing, nothing)[0] < AWAKE:
                return

    def answer() -> Any:
        for row, is_addition in output:
            held[tuple(row.values())] += 1 if is_addition else -1
        output.clear()
        rows = [row[:-1] for row in held.elements() if row[-1] == 0]
        return np.array(rows, np.int64) if rows else np.zeros((0, 1), np.int64)

    def run(self: Any) -> None:
        connection.send(True)
        while True:
            message = connection.recv()
            if message[0] == "close":
                connection.send(True)
                return
            if message[0] == "apply":
                wake(self)
                connection.send(change(self, message[1], message[2]))
            else:
                connection.send(answer())

    members = {"run": run, "ticks": 0, "_deletions_enabled": True}
    return type("Feed", (pw.io.python.ConnectorSubject,), members)()


# ---------------------------------------------------------------------- queries


def closure(pw: Any, rows: Any) -> Any:
    """What is reachable over links (a, b)."""
    link = rows.filter(pw.this.kind == 0).select(pw.this.a, pw.this.b)

    def step(reach: Any, link: Any) -> Any:
        further = link.join(reach, link.b == reach.a).select(a=link.a, b=reach.b)
        every = pw.Table.concat_reindex(link, further)
        return {"reach": every.groupby(every.a, every.b).reduce(every.a, every.b)}

    start = link.groupby(link.a, link.b).reduce(link.a, link.b)
    return pw.iterate(step, reach=pw.iterate_universe(start), link=link).reach


def paths(pw: Any, rows: Any) -> Any:
    """The cost of the cheapest way over links (a, b, cost)."""
    link = rows.filter(pw.this.kind == 0).select(pw.this.a, pw.this.b, pw.this.c)

    def cheapest(table: Any) -> Any:
        return table.groupby(table.a, table.b).reduce(table.a, table.b, c=pw.reducers.min(table.c))

    def step(best: Any, link: Any) -> Any:
        further = link.join(best, link.b == best.a).select(a=link.a, b=best.b, c=link.c + best.c)
        return {"best": cheapest(pw.Table.concat_reindex(link, further))}

    return pw.iterate(step, best=pw.iterate_universe(cheapest(link)), link=link).best


def groups(pw: Any, rows: Any, threshold: int) -> Any:
    """Regions whose customers' orders amount to more than a threshold."""
    orders = rows.filter(pw.this.kind == 0).select(customer=pw.this.b, amount=pw.this.c)
    customers = rows.filter(pw.this.kind == 1).select(customer=pw.this.a, region=pw.this.b)
    sold = orders.join(customers, orders.customer == customers.customer).select(
        customers.region, orders.amount
    )
    totals = sold.groupby(sold.region).reduce(sold.region, total=pw.reducers.sum(sold.amount))
    return totals.filter(totals.total > threshold)


QUERIES: dict[str, Callable[..., Any]] = {"closure": closure, "paths": paths, "groups": groups}
