"""What ways of answering a query cost, fitted to what was observed (imp-provenance-sketches, section 12).

Each way is a line: seconds = fixed + slope · size. The size is what drives it: the share of the table's rows
that is read (plain: 1; use: what the layout says), or the rows that changed (maintain). A line is fitted by
least squares; without two different sizes it is the mean, and without any observation what is assumed of a plain
run.

>>> costs = Costs()
>>> costs = costs.observed("plain", 1.0, 4.0).observed("maintain", 10, 0.2).observed("maintain", 1010, 1.2)
>>> round(costs.predicted("maintain", 510), 3), costs.predicted("use", 0.25), costs.predicted("capture", 1.0)
(0.7, 1.0, 6.0)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Way = Literal["plain", "capture", "use", "maintain"]
MOST_OBSERVED = 50
"""So many observations of a way are remembered: the newest."""
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
            return _on_line(known, size)
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


def _on_line(points: tuple[tuple[float, float], ...], size: float) -> float:
    """The height at `size` of the line with the least squares; never below 0."""
    count = len(points)
    mean_size = sum(at for at, _ in points) / count
    mean_seconds = sum(seconds for _, seconds in points) / count
    spread = sum((at - mean_size) ** 2 for at, _ in points)
    if spread == 0:
        return mean_seconds
    slope = sum((at - mean_size) * (seconds - mean_seconds) for at, seconds in points) / spread
    return max(0.0, mean_seconds + max(0.0, slope) * (size - mean_size))
