"""Views of kind `auto`: stored or watched, whichever has been measured to cost less.

What a view costs in a version is the time that its stratum took, and while it is watched, what questions about
it took since the version before. Both ways are tried first, for a few versions that concern the view; after
that the one with the lower average is used, and the other again if the one in use has become much worse than
that was. Averages move, so that what happened lately counts. The version with which a view changes over is not
counted: deriving all rows once, or making queries, is not what a version costs.

A choice is part of what is defined, though it is not written down: it changes no rows. A database that is
opened begins anew, with storing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from headwater.catalog.catalog import Catalog, Stored
from headwater.events import KindChosen
from headwater.rules.checked import RelationInfo
from headwater.version.statistics import VersionStatistics

WAYS = ("stored", "watched")
TRIED = 4
"""How many versions each way is measured in before they are compared."""
MUCH_WORSE = 2.0
"""How many times the average of the other way the one in use must cost before it is left."""
LATELY = 0.2
"""How much a version counts in an average."""


@dataclass
class MeasuredCost:
    """The average cost of a version, in seconds, and of how many."""

    versions: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Take in one more version."""
        self.versions += 1
        self.seconds += (seconds - self.seconds) * max(LATELY, 1 / self.versions)


@dataclass
class Trial:
    """One view: what both ways cost, the one in use, and what was spent on questions since the last version."""

    way: str = "stored"
    costs: dict[str, MeasuredCost] = field(default_factory=lambda: {way: MeasuredCost() for way in WAYS})
    fresh: bool = True
    """Whether the way was changed in the last version, or has not been used."""
    asked: float = 0.0

    def better(self) -> str:
        """The way to go on with."""
        (other,) = (way for way in WAYS if way != self.way)
        mine, its = self.costs[self.way], self.costs[other]
        if mine.versions < TRIED:
            return self.way
        if its.versions < TRIED:
            return other
        settled = min(mine.versions, its.versions) > TRIED
        return other if mine.seconds > its.seconds * (MUCH_WORSE if settled else 1.0) else self.way

    def take(self, seconds: float | None) -> None:
        """Take in what a version cost, if it concerned the view."""
        if self.fresh:
            self.fresh = seconds is None
        elif seconds is not None or self.asked:
            self.costs[self.way].add((seconds or 0.0) + self.asked)
        self.asked = 0.0


class AutoKinds:
    """All views of kind `auto` of a database."""

    def __init__(self) -> None:
        self._trials: dict[str, Trial] = {}

    def asked(self, relations: Iterable[str], seconds: float) -> None:
        """A question evaluated these relations."""
        for name in relations:
            if name in self._trials:
                self._trials[name].asked += seconds

    def measured(self, infos: Iterable[RelationInfo], statistics: VersionStatistics) -> None:
        """A version was done; these are all views of the kind."""
        ways = {info.name: info.kind.value for info in infos}
        if not ways and not self._trials:
            return
        self._trials = {name: self._trials.get(name) or Trial() for name in ways}
        for name, trial in self._trials.items():
            if trial.way != ways[name]:
                trial.way, trial.fresh = ways[name], True
            seconds = [stratum.seconds for stratum in statistics.strata if name in stratum.relations]
            trial.take(sum(seconds) if seconds else None)

    def next(self, catalog: Catalog, stored: Stored, statistics: VersionStatistics) -> Catalog:
        """The catalog for the next version: with other choices, where measures say so."""
        if not self._trials:
            return catalog
        chosen = {name: trial.better() for name, trial in self._trials.items()}
        others = {name: way for name, way in chosen.items() if way != self._trials[name].way}
        if not others:
            return catalog
        for name, way in others.items():
            stored_cost, watched_cost = (self._trials[name].costs[each] for each in WAYS)
            statistics.events.append(
                KindChosen(
                    name,
                    way,
                    "measured" if min(stored_cost.versions, watched_cost.versions) >= TRIED else "tried",
                    stored_cost.seconds,
                    watched_cost.seconds,
                )
            )
        return catalog.following(replace(catalog.definitions, chosen=chosen), stored)

    def lines(self, names: Collection[str]) -> list[str]:
        """What was chosen and why, in words."""
        return [
            f"auto {name}: {trial.way}; a version costs "
            + ", ".join(
                f"{cost.seconds * 1e3:.3f} ms {way} ({cost.versions:,} measured)"
                for way, cost in trial.costs.items()
            )
            for name, trial in self._trials.items()
            if name in names
        ]
