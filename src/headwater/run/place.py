"""Where a database runs: in this process, on nodes, or in this process until it outgrows it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.errors import DataError
from headwater.store import Store
from headwater.values.codec import Codec

if TYPE_CHECKING:
    from headwater.run.nodes.nodes import Nodes

RUNS = ("local", "spark", "auto", "threads")
FRACTION = 0.4
"""The part of this machine's memory that the state may take before `auto` moves it to nodes."""


@dataclass(frozen=True)
class Place:
    """What `connect` was told about where to run."""

    run: str = "local"
    spark: Any = None
    nodes: int | None = None
    budget: int | None = None
    replicate: int | None = None
    min_ship: bool = True

    def check(self) -> None:
        """Refuse what makes no sense."""
        if self.run not in RUNS:
            raise DataError("unknown-option", f"no run {self.run!r}", hint=f"one of {', '.join(RUNS)}")
        for name, value in (("nodes", self.nodes), ("budget", self.budget), ("replicate", self.replicate)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise DataError("unknown-option", f"{name} is {value!r}", hint="a whole number")
        if self.nodes == 0:
            raise DataError("unknown-option", "nodes is 0", hint="a whole number from 1")

    @property
    def on_nodes(self) -> bool:
        """Whether it starts on nodes."""
        return self.run in ("spark", "threads")

    def limit(self) -> int:
        """The bytes that state may take in this process."""
        if self.budget is not None:
            return self.budget
        return int(FRACTION * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))

    def start(
        self,
        codec: Codec,
        store: Store,
        options: Mapping[str, Any],
        functions: Mapping[str, Any],
        why: str = "asked for",
    ) -> Nodes:
        """Start nodes."""
        from headwater.run.nodes.nodes import Nodes
        from headwater.run.nodes.placing import REPLICATE

        replicate = REPLICATE if self.replicate is None else self.replicate
        options = {**options, "min_ship": self.min_ship}
        if self.run == "threads":
            from headwater.run.nodes.threads import Threads

            return Nodes(
                codec, Threads(), self.nodes or 2, store, options, functions, replicate=replicate, why=why
            )
        from headwater.run.spark_stage import SparkStage

        stage = SparkStage.on(self.spark)
        nodes = self.nodes or stage.slots()
        return Nodes(
            codec, stage, nodes, store, options, functions, host=stage.host, replicate=replicate, why=why
        )
