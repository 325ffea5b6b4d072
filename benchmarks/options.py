"""What to measure, and how thoroughly."""

from __future__ import annotations

from dataclasses import dataclass

PARTS = (
    "closure", "batches", "dred", "revival", "paths", "groups", "goals", "memory", "flat", "small", "start",
    "workloads",
)  # fmt: skip
"""Every part, in the order in which they run."""


@dataclass(frozen=True)
class BenchmarkOptions:
    """The choices of one run.

    `quick` takes sizes that finish in seconds and say nothing about speed; `repeat` is how often whole loads and
    batches are repeated (single changes are repeated ten times as often); `pathway` is whether to measure
    Pathway, where it is installed.
    """

    only: tuple[str, ...] = PARTS
    quick: bool = False
    repeat: int = 5
    seed: int = 13
    pathway: bool = True

    def __post_init__(self) -> None:
        unknown = set(self.only) - set(PARTS)
        if unknown:
            raise ValueError(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
        if self.repeat < 1:
            raise ValueError("repeat must be 1 or more")

    @property
    def singles(self) -> int:
        """How many single changes of each kind are measured."""
        return 4 if self.quick else max(50, 10 * self.repeat)
