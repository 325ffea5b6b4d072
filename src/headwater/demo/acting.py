"""Active rules over a view that is not stored: what is lost becomes a ticket, and what must stay is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import headwater as hw
from headwater.demo.asking import NODE
from headwater.demo.scenario import PROGRAM, Row
from headwater.networks import Topology

LIFELINE = "t1a0"
RULES = f"""\
ticket(node: string).

on -reach("{NODE}", Y) do insert ticket(Y).
on -reach("{NODE}", "{LIFELINE}") do refuse '{NODE} must reach {LIFELINE}'.
"""


@dataclass(frozen=True)
class Acted:
    """Rows of the view that went, nodes with a ticket, and why another change was refused."""

    lost: frozenset[tuple[str, str]]
    tickets: frozenset[str]
    refusal: str


def act(topology: Topology, failed: Sequence[Row]) -> Acted:
    """Let links fail in a database that stores links and tickets alone; then those of a node that must be reached."""
    with hw.connect() as db:
        db.define(f"{PROGRAM}\n.kind reach watched\n.kind cheapest virtual\n{RULES}")
        db.apply(insert={"link": topology.rows()})
        told: list[tuple[str, str]] = []
        db.watch("reach", do=lambda event: told.extend(event.deleted), on="removed")
        db.apply(delete={"link": list(failed)})
        lost = frozenset(told)
        tickets = frozenset(node for (node,) in db["ticket"].rows())
        last = [row for row in db["link"].rows() if LIFELINE in row[:2]]
        try:
            db.apply(delete={"link": last})
        except hw.DataError as error:
            return Acted(lost, tickets, error.message)
        raise AssertionError("a change that a rule refuses was made")
