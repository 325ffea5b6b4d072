"""A question to a view that is not stored, and links whose cost nobody knows."""

from __future__ import annotations

from dataclasses import dataclass

import headwater as hw
from headwater.database.answers import Answers
from headwater.demo.scenario import PROGRAM, Row
from headwater.networks import Topology

NODE = "t0a0"
EVERY_SO_MANY = 10
"""Of so many links, one has a cost that nobody knows."""
UNKNOWN_COSTS = """\
measured(src: string, dst: string, cost: int?).

known(count<C>, count<*>, sum<C>) :- measured(_, _, C).
cost(X, Y, C) :- measured(X, Y, C), C is not null.
cost(X, Y, ?cost(X, Y)) :- measured(X, Y, null).
"""


@dataclass(frozen=True)
class Asked:
    """What a question found, and how often it looked at a link: beside another network, and without that."""

    nodes: frozenset[str]
    looked: int
    looked_alone: int


@dataclass(frozen=True)
class Unknown:
    """How many costs are known, of how many links, their sum; and what stands for one that is not."""

    known: int
    links: int
    total: int
    example: hw.LabelledNull


def ask(topology: Topology) -> Asked:
    """Where a node leads to, with no row of reach stored: beside another network in the tables, and without it."""
    rows: list[Row] = topology.rows()
    elsewhere = [(f"other {source}", f"other {target}", cost) for source, target, cost in rows]
    found, alone = _question([*rows, *elsewhere]), _question(rows)
    nodes = frozenset(node for (node,) in found.rows())
    return Asked(nodes, found.statistics.touched, alone.statistics.touched)


def _question(rows: list[Row]) -> Answers:
    with hw.connect() as db:
        db.define(f"{PROGRAM}\n.kind reach virtual\n.kind cheapest virtual")
        db.apply(insert={"link": rows})
        return db.query(f"reach('{NODE}', X)")


def leave_out_costs(topology: Topology) -> Unknown:
    """Forget some costs, and count, add and name what is left."""
    rows = [
        (source, target, None if number % EVERY_SO_MANY == 0 else cost)
        for number, (source, target, cost) in enumerate(topology.rows())
    ]
    with hw.connect() as db:
        db.define(UNKNOWN_COSTS)
        db.apply(insert={"measured": rows})
        ((known, links, total),) = db["known"].rows()
        source, target, _ = rows[0]
        ((example,),) = db.query(f"cost('{source}', '{target}', C)").rows()
        return Unknown(known, links, total, example)
