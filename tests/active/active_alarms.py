"""Alarms and tickets, which tests of watches and active rules share."""

from __future__ import annotations

from typing import Any

import headwater as hw

PROGRAM = """
alarm(x: int, level: string).
owner(x: int, who: string).
ticket(x: int).
hot(X) :- alarm(X, "high").
some() :- alarm(_, _).
"""
SENSORS = """
reading(sensor: string, value: int).
alarm(S, V) :- reading(S, V), V > 10.
open: on +alarm(X, Y), Y > 15 do insert ticket(X, Y, "open").
shut: on -alarm(X, _) do delete ticket(X, _, _).
many(count<S>) :- ticket(S, _, _).
flood: on +many(N), N > 2 do insert flood(N).
"""


def rows(db: hw.Database) -> dict[str, set[tuple[Any, ...]]]:
    return {name: set(db[name]) for name in db.relations}


def told(events) -> list[tuple[int, list[tuple], list[tuple]]]:
    return [(event.version, sorted(event.inserted), sorted(event.deleted)) for event in events]


def alarms(db, *rows, delete=()):
    return db.apply(insert={"alarm": list(rows)}, delete={"alarm": list(delete)})
