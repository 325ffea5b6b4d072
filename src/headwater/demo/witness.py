"""Why a row is there, and why one is not: by asking the views, row by row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headwater.database import Database
from headwater.networks import Link


def route(database: Database, source: str, target: str) -> list[Link]:
    """The links of a cheapest route; empty if there is none.

    From each node goes the link whose cost, and the cheapest cost from its end, add up to what is left.

    >>> import headwater as hw
    >>> from headwater.demo.scenario import PROGRAM
    >>> db = hw.connect()
    >>> _ = db.define(PROGRAM)
    >>> _ = db.apply(insert={"link": [("a", "b", 2), ("b", "c", 2), ("a", "c", 10)]})
    >>> route(db, "a", "c")
    [Link(source='a', target='b', cost=2), Link(source='b', target='c', cost=2)]
    """
    cheapest = database["cheapest"]
    left = next((cost for x, y, cost in cheapest.rows() if (x, y) == (source, target)), None)
    links: dict[str, list[Link]] = {}
    for row in database["link"].rows():
        links.setdefault(row[0], []).append(Link(*row))
    path: list[Link] = []
    node = source
    while left is not None and (node != target or not path):
        link = next(
            link
            for link in links[node]
            if (link.target, target, left - link.cost) in cheapest
            or (link.target, link.cost) == (target, left)
        )
        path.append(link)
        node, left = link.target, left - link.cost
    return path


@dataclass(frozen=True)
class Enclosure:
    """All that a node reaches, the links that lead out of it (none), and gone ones that would."""

    reached: frozenset[str]
    leading_out: tuple[Link, ...]
    missing: tuple[Link, ...]


def enclosure(database: Database, source: str, gone: Iterable[Link]) -> Enclosure:
    """Why `source` reaches no more than it does. `gone` are links that failed.

    >>> import headwater as hw
    >>> from headwater.demo.scenario import PROGRAM
    >>> db = hw.connect()
    >>> _ = db.define(PROGRAM)
    >>> _ = db.apply(insert={"link": [("a", "b", 2), ("c", "d", 2)]})
    >>> found = enclosure(db, "a", [Link("b", "c", 10)])
    >>> sorted(found.reached), found.leading_out, found.missing
    (['a', 'b'], (), (Link(source='b', target='c', cost=10),))
    """
    reached = frozenset({source} | {y for x, y in database["reach"].rows() if x == source})
    links = [Link(*row) for row in database["link"].rows()]
    both_ways = [Link(*row) for link in gone for row in link.rows()]
    return Enclosure(
        reached,
        tuple(link for link in links if link.source in reached and link.target not in reached),
        tuple(link for link in both_ways if link.source in reached and link.target not in reached),
    )
