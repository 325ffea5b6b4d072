"""The recursive queries of liu-2008 section 2, as what nodes need to know about them.

A linear recursion over one base relation: `start` gives the view rows that a base row stands for alone, `step`
those that follow from a base row and a view row together. Base rows live at the node of their `home`, and are
shipped to the node of their `key`, where the view rows with that `key` live (figure 4). `premise` goes back: the
view row from which a base row leads to a given one; `sources` are the keys where such a step can have been made,
given the base rows of the given row's own node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass

from headwater.networks.simulated.channels import Row


@dataclass(frozen=True)
class LinearQuery:
    """One recursive view over one base relation."""

    name: str
    home: Callable[[Row], Hashable]
    key: Callable[[Row], Hashable]
    start: Callable[[Row], Iterable[Row]]
    step: Callable[[Row, Row], Iterable[Row]]
    premise: Callable[[Row, Row], Row | None]
    sources: Callable[[Row, Mapping[Hashable, Collection[Row]]], Iterable[Hashable]]
    view_key: Callable[[Row], Hashable] = lambda row: row[0]


def reachable() -> LinearQuery:
    """Query 1: reachable(x, y) :- link(x, y); reachable(x, y) :- link(x, z), reachable(z, y). All by source."""
    return LinearQuery(
        "reachable",
        home=lambda link: link[0],
        key=lambda link: link[1],
        start=lambda link: (link[:2],),
        step=lambda link, row: ((link[0], row[1]),),
        premise=lambda link, row: (link[1], row[1]) if link[0] == row[0] else None,
        sources=lambda row, links: {link[1] for link in links.get(row[0], ())},
    )


def region(seeds: Mapping[int, int], near: Mapping[int, Collection[int]]) -> LinearQuery:
    """Query 3: which sensors are in which region. Base rows are (sensor,): it is triggered.

    `seeds` gives a region's main sensor its region, `near` the sensors close to each. View rows are
    (sensor, region), kept at the sensor; a triggered sensor in a region takes those near it in.
    """
    regions: dict[int, list[int]] = {}
    for number, sensor in seeds.items():
        regions.setdefault(sensor, []).append(number)
    return LinearQuery(
        "region",
        home=lambda base: base[0],
        key=lambda base: base[0],
        start=lambda base: tuple((base[0], number) for number in regions.get(base[0], ())),
        step=lambda base, row: tuple((other, row[1]) for other in near[base[0]]),
        premise=lambda base, row: (base[0], row[1]) if row[0] in near[base[0]] else None,
        sources=lambda row, bases: near[row[0]],
    )


def path() -> LinearQuery:
    """Query 2: path(x, y, vector, cost, hops) over link(x, y, cost). Endless without aggregate selection."""
    return LinearQuery(
        "path",
        home=lambda link: link[0],
        key=lambda link: link[1],
        start=lambda link: ((link[0], link[1], (link[0], link[1]), link[2], 1),),
        step=lambda link, row: ((link[0], row[1], (link[0], *row[2]), link[2] + row[3], row[4] + 1),),
        premise=lambda link, row: (
            (link[1], row[1], row[2][1:], row[3] - link[2], row[4] - 1) if link[0] == row[0] else None
        ),
        sources=lambda row, links: {link[1] for link in links.get(row[0], ())},
    )
