"""What ways of answering a query cost, fitted to what was observed (imp-provenance-sketches, section 12).

Each way is a line: seconds = fixed + slope · size. The size is what drives it: the share of the table's rows
that is read (plain: 1; use: what the layout says), or the rows that changed (maintain). A line is fitted by
least squares, neither part below 0. Without two different sizes it is the median of the last times, since a first
one, which pays for what is planned, compiled and read once, says little of others; and without any observation what
is assumed of a plain run. Where maintenance by some numbers of rows tells nothing of fewer, these are taken to cost
in proportion: so it is tried by them, and seen.

>>> costs = Costs()
>>> costs = costs.observed("plain", 1.0, 4.0).observed("maintain", 10, 0.2).observed("maintain", 1010, 1.2)
>>> round(costs.predicted("maintain", 510), 3), costs.predicted("use", 0.25), costs.predicted("capture", 1.0)
(0.7, 1.0, 6.0)

What is done once pays by the queries that come before the tables change again (`totals`).

>>> once = {"plain": 4.0, "capture": 6.0, "use": 1.0, "maintain": 0.2}
>>> totals(once, 0), totals(once, 3)
({'plain': 4.0, 'capture': 6.0, 'maintain': 1.2}, {'plain': 16.0, 'capture': 9.0, 'maintain': 4.2})
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Way = Literal["plain", "capture", "use", "maintain"]
MOST_OBSERVED = 50
"""So many observations of a way are remembered: the newest."""
MOST_RECENT = 9
"""So many of them say what a way takes where all are of one size."""
GAIN = 0.95
"""A way is taken instead of the plain one if it is expected to take less than this share of its time."""
CAPTURE_OVER_PLAIN = 1.5
"""What a capture is assumed to take beside a plain run, before one was seen (measured on Spark: 1.45)."""


@dataclass(frozen=True)
class Costs:
    """What was observed of one query: by way, pairs of size and seconds."""

    observations: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)

    def observed(self, way: Way, size: float, seconds: float) -> Costs:
        """With one observation more."""
        known = (*self.observations.get(way, ()), (float(size), float(seconds)))[-MOST_OBSERVED:]
        return replace(self, observations={**self.observations, way: known})

    def predicted(self, way: Way, size: float) -> float | None:
        """The seconds that a way will take; `None` where nothing tells."""
        known = self.observations.get(way, ())
        if known:
            seconds, fewest = _on_line(known, size), min(at for at, _ in known)
            is_told = way != "maintain" or size >= fewest or seconds < _on_line(known, fewest)
            return seconds if is_told else seconds * size / fewest
        plain = self.observations.get("plain", ())
        if not plain:
            return None
        whole = _on_line(plain, 1.0)
        match way:
            case "use":
                return whole * size
            case "capture":
                return whole * CAPTURE_OVER_PLAIN
            case "maintain":
                return None
            case _:
                return whole


def totals(once: Mapping[str, float], to_come: float) -> dict[Way, float]:
    """What ways take for this query and as many others as are to come at the same versions, by what they take once.

    The paper's sums of section 12.1, but that a capture answers the query by which it is made. Ways of which nothing
    is known are left out.
    """
    found: dict[Way, float] = {}
    if "plain" in once:
        found["plain"] = once["plain"] * (1 + to_come)
    if {"capture", "use"} <= once.keys():
        found["capture"] = once["capture"] + once["use"] * to_come
    if {"maintain", "use"} <= once.keys():
        found["maintain"] = once["maintain"] + once["use"] * (1 + to_come)
    return found


def loss_by_capturing(once: Mapping[str, float], to_come: float) -> str:
    """Why a new sketch does not pay before the tables change again; nothing where it does, or nobody knows.

    >>> loss_by_capturing({"plain": 4.0, "capture": 6.0, "use": 1.0}, 1)
    ''
    >>> print(loss_by_capturing({"plain": 4.0, "capture": 6.0, "use": 1.0}, 0))
    capturing takes 6.000 s, plain 4.000 s, and about 0 queries that use it for 1.000 s do not make up for that
    """
    takes = totals(once, to_come)
    if not {"capture", "plain"} <= takes.keys() or takes["capture"] <= takes["plain"] * GAIN:
        return ""
    return (
        f"capturing takes {once['capture']:.3f} s, plain {once['plain']:.3f} s, and about {to_come:.0f} queries "
        f"that use it for {once['use']:.3f} s do not make up for that"
    )


def loss_by_maintaining(once: Mapping[str, float], to_come: float, changed: int = 0) -> str:
    """Why maintaining a sketch by so many rows does not pay: the plain query is faster, or a new sketch is."""
    takes = totals(once, to_come)
    if not {"maintain", "capture", "plain"} <= takes.keys():
        return ""
    if takes["maintain"] <= min(takes["plain"] * GAIN, takes["capture"]):
        return ""
    by = f" by {changed:,} rows" if changed else ""
    others = f"plain {once['plain']:.3f} s, capturing {once['capture']:.3f} s"
    return f"maintaining{by} and using take {once['maintain'] + once['use']:.3f} s, {others}"


def _on_line(points: tuple[tuple[float, float], ...], size: float) -> float:
    """The height at `size` of the line with the least squares, of those that nowhere fall nor go below 0."""
    count = len(points)
    mean_size = sum(at for at, _ in points) / count
    mean_seconds = sum(seconds for _, seconds in points) / count
    spread = sum((at - mean_size) ** 2 for at, _ in points)
    if spread == 0:
        return statistics.median_low([seconds for _, seconds in points[-MOST_RECENT:]])
    slope = sum((at - mean_size) * (seconds - mean_seconds) for at, seconds in points) / spread
    steepest = mean_seconds / mean_size  # the one in proportion to the size
    return mean_seconds + min(max(0.0, slope), steepest) * (size - mean_size)
