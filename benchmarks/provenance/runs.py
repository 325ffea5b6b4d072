"""Runs of one scheme with one seed, kept in files: a measurement that was broken off goes on from what is there.

Everything but CPU seconds follows from the seed, so it does not matter when and beside what else a run was made; nor
in how many processes, if they are asked for different figures.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.provenance.points import SeedMeasure


@dataclass(frozen=True)
class MeasuredPlace:
    """What was found after one step, at one place of a figure."""

    figure: int
    x: float
    measure: SeedMeasure


@dataclass(frozen=True)
class GivenUp:
    """Where a run had not converged when patience ended, after so many CPU seconds."""

    figure: int
    x: float
    seconds: float


@dataclass(frozen=True)
class SeedRun:
    """A scheme through all steps, up to the one at which it was given up. `seconds` are the CPU seconds it took, with
    measuring and comparing."""

    places: tuple[MeasuredPlace, ...]
    given_up: GivenUp | None
    seconds: float


@dataclass(frozen=True)
class KeptRuns:
    """A folder of runs. With `found_only` nothing else is measured; if `schemes` are named, those alone are."""

    folder: Path | None = None
    found_only: bool = False
    schemes: tuple[str, ...] = ()

    def to_be_made(self, scheme: str) -> bool:
        """Whether runs of a scheme that are not there are to be made."""
        return not self.found_only and (not self.schemes or scheme in self.schemes)

    def find(self, name: str) -> SeedRun | None:
        """The run of this name, if it was made."""
        data = self.read(name)
        if data is None:
            return None
        places = tuple(
            MeasuredPlace(place["figure"], place["x"], SeedMeasure(**place["measure"]))
            for place in data["places"]
        )
        given_up = data["given_up"]
        return SeedRun(places, GivenUp(**given_up) if given_up else None, data["seconds"])

    def keep(self, name: str, run: SeedRun) -> None:
        """Keep a run."""
        self.write(name, asdict(run))

    def read(self, name: str) -> dict[str, Any] | None:
        """What was kept under a name."""
        path = self._path(name)
        return None if path is None or not path.exists() else json.loads(path.read_text(encoding="utf-8"))

    def write(self, name: str, data: dict[str, Any]) -> None:
        """Keep something, whole or not at all."""
        path = self._path(name)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(".new")
            new.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
            new.rename(path)

    def _path(self, name: str) -> Path | None:
        if self.folder is None:
            return None
        return self.folder / (re.sub(r"[^a-z0-9.]+", "-", name.lower()) + ".json")
