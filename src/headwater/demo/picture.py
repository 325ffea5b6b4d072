"""What was measured, as one picture in SVG: the network with a route that had to change, and the times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import cos, pi, sin

from headwater.demo.measure import Timings
from headwater.networks import STUB, TRANSIT, Link, Topology
from headwater.notebook import visible

WIDTH, HEIGHT = 920, 476
INK, FAINT, LINE = "#1f2933", "#66717d", "#d5dae0"
BEFORE, AFTER, FAILED = "#8795a5", "#1b7f5c", "#cf3a3a"
BARS = ("#1b7f5c", "#8795a5", "#c9a227")
_CENTRE = (220.0, 254.0)
_BARS_AT, _BARS_WIDTH = 580.0, 230.0

Point = tuple[float, float]


def draw(
    topology: Topology,
    outcomes: Sequence[Timings],
    failed: Link,
    before: Sequence[Link],
    after: Sequence[Link],
) -> str:
    """The whole picture."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
        *_network(topology, failed, before, after),
        *_times([outcome for outcome in outcomes if outcome.fails]),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _places(topology: Topology) -> dict[str, Point]:
    """Transit nodes in a square, the stubs of each around it, the nodes of a stub in a ring."""
    places: dict[str, Point] = {}
    for node in topology.nodes:
        transit, stub, place = int(node[1]), node[2:3], node[3:]
        corner = (transit - 1.5) * pi / 2
        if not stub:
            places[node] = _polar(_CENTRE, 68, corner)
        else:
            middle = _polar(_CENTRE, 158, corner + "bac".index(stub) * 0.5 - 0.5)
            places[node] = _polar(middle, 27, int(place) * pi / 4)
    return places


def _polar(centre: Point, radius: float, angle: float) -> Point:
    return centre[0] + radius * cos(angle), centre[1] + radius * sin(angle)


def _network(topology: Topology, failed: Link, before: Sequence[Link], after: Sequence[Link]) -> list[str]:
    places = _places(topology)
    out = [
        _text(24, 34, "A link fails", weight="bold", size=15),
        _text(24, 54, f"{failed.source} - {failed.target} goes; routes over it take another way", FAINT),
    ]
    for link in topology.links:
        out.append(_line(places, link, LINE, 2.0 if link.cost == TRANSIT else 1.0))
    kept = {frozenset(link[:2]) for link in after}
    out += [
        _line(places, link, BEFORE, 3.5)
        for link in before
        if frozenset(link[:2]) not in kept and link != failed
    ]
    out += [_line(places, link, AFTER, 3.5) for link in after]
    out.append(_line(places, failed, FAILED, 3.5, ' stroke-dasharray="6 5"'))
    ends = {before[0].source, before[-1].target}
    for node, (x, y) in places.items():
        transit = len(node) == 2
        size, fill = (11, INK) if transit else (6, AFTER) if node in ends else (3.2, FAINT)
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{fill}"/>')
        if transit:
            out.append(_text(x, y + 4, node, "#ffffff", anchor="middle", size=11))
    words = f"{before[0].source} to {before[-1].target}: {_cost(before)} ms, now {_cost(after)} ms"
    out.append(_text(24, HEIGHT - 18, words, AFTER, weight="bold"))
    return out


def _times(outcomes: Sequence[Timings]) -> list[str]:
    most = max(seconds for outcome in outcomes for seconds in outcome.seconds.values())
    out = [
        _text(470, 34, "The views follow", weight="bold", size=15),
        _text(470, 54, "time until reach and cheapest (20,000 rows) are right again", FAINT),
    ]
    y = 104.0
    for outcome in outcomes:
        out.append(_text(470, y, f"A {outcome.title}", weight="bold"))
        out.append(_text(WIDTH - 24, y, _what(outcome), FAINT, anchor="end", size=12))
        for (name, seconds), colour in zip(outcome.seconds.items(), BARS, strict=False):
            y += 24
            width = max(1.5, seconds / most * _BARS_WIDTH)
            out.append(_text(_BARS_AT - 10, y + 4, name, anchor="end"))
            size = f'width="{width:.1f}" height="16" rx="2"'
            out.append(f'<rect x="{_BARS_AT}" y="{y - 8:.0f}" {size} fill="{colour}"/>')
            out.append(_text(_BARS_AT + width + 7, y + 4, f"{seconds * 1e3:.1f} ms"))
        y += 44
    note = "Best of 7, by script/demo. recompute: Headwater from scratch."
    out.append(_text(470, HEIGHT - 18, note, FAINT, size=12))
    return out


def _what(outcome: Timings) -> str:
    counts: Mapping[str, tuple[int, int]] = {
        name: outcome.changes[name].counts for name in ("reach", "cheapest")
    }
    return f"{sum(map(sum, counts.values())):,} rows change"


def _cost(path: Sequence[Link]) -> int:
    return sum(link.cost for link in path)


def _line(places: Mapping[str, Point], link: Link, colour: str, width: float, more: str = "") -> str:
    (x1, y1), (x2, y2) = places[link.source], places[link.target]
    faint = ' stroke-opacity="0.8"' if link.cost == STUB and width < 2 else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}" stroke-linecap="round"{faint}{more}/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    colour: str = INK,
    *,
    anchor: str = "start",
    weight: str = "normal",
    size: int = 13,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}" '
        f'font-size="{size}">{escape(visible(text))}</text>'
    )
