"""Where a database runs: in this process, on nodes, or in this process until it outgrows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.errors import DataError
from headwater.memory.system import total_memory
from headwater.store import Store
from headwater.values import arguments
from headwater.values.codec import Codec
from headwater.values.functions import Functions, declared_functions

if TYPE_CHECKING:
    from headwater.nodes.asynchronous.driver import NetworkDriver
    from headwater.nodes.driver import Driver
    from headwater.nodes.nodes import Nodes

RUNS = ("local", "spark", "auto", "threads")
ASYNCHRONOUS = ("absorption", "absorption-eager", "relative")
"""The strategies that run on nodes which do not wait for each other."""
MOST_NODES = 1024
"""How many nodes one database may be spread over: each has a stream to each other."""
PART_OF_MEMORY = 0.4
"""The part of what this process may have that the state may take before `auto` moves it to nodes."""


@dataclass(frozen=True)
class Where:
    """What `connect` was told about where to run."""

    run: str = "local"
    spark: Any = None
    nodes: int | Nodes | None = None
    budget: int | None = None
    replicate: int | None = None
    rank_filter: bool = True

    def check(self) -> None:
        """Refuse what makes no sense."""
        arguments.one_of("run", self.run, RUNS)
        if self.spark is not None and not hasattr(self.spark, "sparkContext"):
            raise arguments.wrong("spark", self.spark, "a SparkSession", "unknown-option")
        for name, value, least in (
            ("nodes", 1 if hasattr(self.nodes, "coordinator") else self.nodes, 1),
            ("budget", self.budget, 0),
            ("replicate", self.replicate, 0),
        ):
            if value is not None:
                arguments.whole_number(name, value, least=least, code="unknown-option")

    def runs(self, strategy: str, ranked: bool) -> bool:
        """Whether a strategy can be had here. `auto` moves ranks and counts, so there must be some."""
        return ranked or (strategy in ASYNCHRONOUS and self.run != "auto")

    @property
    def on_nodes(self) -> bool:
        """Whether it starts on nodes."""
        return self.run in ("spark", "threads")

    def limit(self) -> int:
        """The bytes that state may take in this process."""
        if self.budget is not None:
            return self.budget
        return int(PART_OF_MEMORY * total_memory())

    def start(
        self,
        codec: Codec,
        store: Store,
        options: Mapping[str, Any],
        functions: Mapping[str, Any],
        why: str = "asked for",
    ) -> Driver | NetworkDriver:
        """Start nodes, or take those given, and have them serve a database."""
        from headwater.nodes.asynchronous.driver import NetworkDriver
        from headwater.nodes.driver import Driver
        from headwater.nodes.messages.state import EngineOptions
        from headwater.nodes.spread import REPLICATE

        keep = self.nodes is not None and not isinstance(self.nodes, int)
        nodes = self._nodes(functions)
        told = EngineOptions(**options, rank_filter=self.rank_filter)
        try:
            known = Functions()
            for name, (function, args, returns, nulls) in functions.items():
                known.register(name, function, args, returns, nulls=nulls)
            if told.strategy in ASYNCHRONOUS:
                return NetworkDriver(codec, known, nodes, store, told, why=why, keep=keep)
            return Driver(
                codec,
                known,
                nodes,
                store,
                told,
                replicate=REPLICATE if self.replicate is None else self.replicate,
                why=why,
                keep=keep,
            )
        except BaseException:
            if not keep:
                nodes.close()
            raise

    def _nodes(self, functions: Mapping[str, Any]) -> Nodes:
        if isinstance(self.nodes, int) or self.nodes is None:
            return start_nodes(self.nodes, spark=self.spark, functions=functions, run=self.run)
        if self.nodes.user is not None:
            raise DataError("nodes-in-use", "these nodes serve another database", hint="close that one first")
        missing = [name for name in functions if name not in self.nodes.functions]
        if missing:
            hint = "start them with functions={name: (function, argument types, result type)}"
            raise DataError("nodes-are-running", f"these nodes know no {', '.join(missing)}", hint=hint)
        return self.nodes


def start_nodes(
    nodes: int | None = None,
    *,
    spark: Any = None,
    functions: Mapping[str, Any] | None = None,
    run: str = "spark",
    patience: float = 60.0,
) -> Nodes:
    """Start nodes that serve one database after another: `connect(run="spark", nodes=...)`.

    Without `spark`, an embedded session is used. `functions` are those that rules may call, as in `connect`.
    A node that has given no sign of life for `patience` seconds, while it is waited for, counts as lost.
    """
    from headwater.nodes.nodes import Nodes

    arguments.one_of("run", run, ("spark", "threads", "auto"))
    if arguments.seconds("patience", patience) <= 0:
        raise arguments.wrong("patience", patience, "a number of seconds", "unknown-option")
    functions = declared_functions(functions)
    if nodes is not None:
        arguments.whole_number("nodes", nodes, least=1, most=MOST_NODES, code="unknown-option")
    if run == "threads":
        from headwater.nodes.threads import Threads

        return Nodes(Threads(), nodes or 2, functions, patience=patience)
    from headwater.nodes.spark_stage import SparkStage

    stage = SparkStage.on(spark, nodes)
    return Nodes(stage, nodes or stage.slots(), functions, stage.host, patience)
