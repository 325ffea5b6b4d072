"""What a database can be told when it is opened: one field an option, checked together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headwater.errors import DataError
from headwater.maintain.strategies import STRATEGIES
from headwater.maintain.strategies.propagation.optimisations import WORDS as OPTIMISATIONS
from headwater.maintain.strategies.propagation.optimisations import Optimisations
from headwater.nodes.where import Where
from headwater.rules.unfilled import Strictness
from headwater.values import arguments
from headwater.values.types import Type
from headwater.version.guard import THREADS

CHOICES: Mapping[str, Sequence[str]] = {
    "mode": ("w", "r"),
    "clock": ("logical", "real"),
    "at_max_rounds": ("raise", "stop"),
    "threads": THREADS,
}
FLAGS = ("sync", "rank_filter")


@dataclass(frozen=True)
class Options:
    """See `headwater.connect`, whose keyword arguments these are."""

    mode: Literal["w", "r"] = "w"
    strategy: str = "support"
    strict: Strictness = "near"
    max_rounds: int = 1_000_000
    at_max_rounds: Literal["raise", "stop"] = "raise"
    max_cascade: int = 1000
    clock: Literal["logical", "real"] = "logical"
    functions: Mapping[str, tuple[Callable[..., Any], Sequence[Type | str] | None, Type | str]] | None = None
    sync: bool = True
    memory: int | str | None = None
    cores: int | None = None
    threads: Literal["refuse", "wait"] = "refuse"
    spark: Any = None
    run: str = "local"
    nodes: Any = None
    budget: int | None = None
    replicate: int | None = None
    rank_filter: bool = True
    min_ship: bool | None = None
    """The former name of `rank_filter`."""
    progress: bool | None = None
    version: int | None = None
    actions: Mapping[str, Callable[..., Any]] | None = None
    action_timeout: float = 60.0
    optimise: Sequence[str] | None = None

    def __post_init__(self) -> None:
        arguments.one_of("strategy", self.strategy, STRATEGIES, "unknown-strategy")
        for option, allowed in CHOICES.items():
            arguments.one_of(option, getattr(self, option), allowed)
        for option in FLAGS:
            arguments.flag(option, getattr(self, option), "unknown-option")
        if not isinstance(self.strict, bool) and not (isinstance(self.strict, str) and self.strict == "near"):
            raise arguments.wrong("strict", self.strict, "one of 'near', True, False", "unknown-option")
        for option in ("progress", "min_ship"):
            if getattr(self, option) is not None:
                arguments.flag(option, getattr(self, option), "unknown-option")
        for option in ("max_rounds", "max_cascade"):
            arguments.whole_number(option, getattr(self, option), least=1, code="unknown-option")
        for name, function in arguments.mapping("actions", self.actions, '{"page": function}').items():
            arguments.identifier("a name of actions", name)
            if not callable(function):
                raise arguments.wrong(f"actions[{name!r}]", function, "a function", "unknown-option")
        if arguments.seconds("action_timeout", self.action_timeout) <= 0:
            raise arguments.wrong(
                "action_timeout", self.action_timeout, "seconds, more than 0", "unknown-option"
            )
        if self.optimise is not None and not isinstance(self.optimise, list | tuple | set | frozenset):
            raise arguments.wrong("optimise", self.optimise, "a list of names", "unknown-option")
        for name in self.optimise or ():
            arguments.one_of("optimise", name, OPTIMISATIONS)
        if self.cores is not None:
            arguments.whole_number("cores", self.cores, least=1, code="unknown-option")
        if self.version is not None:
            arguments.whole_number("version", self.version, least=0, code="unknown-option")
            if self.mode != "r":
                raise DataError("unknown-option", "version is for readers", hint="connect with mode='r'")
        self.place.check()
        if self.run != "local" and not self.place.runs(self.strategy, STRATEGIES[self.strategy]().ranked):
            raise DataError(
                "unknown-option",
                f"strategy {self.strategy} does not run with run={self.run!r}",
                hint="leave out run=..., or use strategy='support'",
            )
        if self.place.on_nodes and self.mode == "r":
            raise DataError("unknown-option", "a reader runs in this process", hint="leave out run=...")

    @property
    def place(self) -> Where:
        """Where to run."""
        rank_filter = self.rank_filter if self.min_ship is None else self.min_ship
        return Where(self.run, self.spark, self.nodes, self.budget, self.replicate, rank_filter)

    @property
    def optimisations(self) -> Optimisations:
        """What is done to compute changes of views that are not stored at less cost."""
        return Optimisations() if self.optimise is None else Optimisations.of(self.optimise)

    @property
    def evaluation(self) -> dict[str, Any]:
        """What an engine is told, here or on nodes."""
        names = ("strategy", "max_rounds", "at_max_rounds", "memory")
        return {name: getattr(self, name) for name in names}
