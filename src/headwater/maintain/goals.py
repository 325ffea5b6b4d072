"""Evaluating a goal: its rewritten rules over stored relations, beside them, once.

The rules are views of an engine of their own, whose base relations are the stored relations themselves: read in
place, through their indexes. What is derived (answers, what was asked for) lives in that engine and goes with it. So
a question changes nothing, except that stored relations may have an index more.

The stored relations are read as they are now. Inside a version that is what they will be after it; to evaluate a goal
over what they were before, give other relations.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.events import Event, Indexed, Scanned
from headwater.kernel.relation import Relation
from headwater.maintain.engine import Engine
from headwater.plan.goals import GoalProgram
from headwater.plan.steps import Ints
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.statistics import VersionStatistics


@dataclass
class GoalStatistics:
    """What a goal cost: rows looked at by stored relation, rows derived by relation of the rewritten rules."""

    looked: dict[str, int] = field(default_factory=dict)
    derived: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    seconds: float = 0.0
    events: list[Event] = field(default_factory=list)
    """Whole scans of stored relations, and indexes that were built."""

    @property
    def touched(self) -> int:
        """Rows of stored relations looked at."""
        return sum(self.looked.values())

    def lines(self) -> list[str]:
        """The same in words."""
        lines = [f"{rows:,} rows of {name} looked at" for name, rows in self.looked.items()]
        lines += [f"{rows:,} rows of {name} derived" for name, rows in self.derived.items()]
        lines += [str(event) for event in self.events]
        return [*lines, f"{self.rounds:,} rounds, {self.seconds * 1e3:.3f} ms"]


@dataclass(frozen=True)
class Means:
    """What goals are evaluated with: the codec and functions of the relations, and when to give up."""

    codec: Codec
    functions: Functions
    max_rounds: int = 1_000_000
    at_max_rounds: str = "raise"


def evaluate_goal(
    program: GoalProgram,
    stored: Mapping[str, Relation],
    facts: Mapping[str, Ints],
    means: Means,
    brought: Mapping[str, Ints] = {},  # noqa: B006
) -> tuple[Ints, GoalStatistics]:
    """The rows of the goal's relation, and what they cost.

    `stored` has the relations that the program reads, or `brought` their rows; `facts` are rows of its own relations.
    """
    own = set(facts)
    facts = {**facts, **brought}
    started = time.perf_counter()
    engine = Engine(
        means.codec, means.functions, max_rounds=means.max_rounds, at_max_rounds=means.at_max_rounds
    )
    workspace = engine.workspace
    for name in program.stored:
        if name not in facts:
            workspace.relations[name] = stored[name]
            workspace.infos[name] = program.checked.relations[name]
    indexes = {name: set(stored[name].indexes) for name in program.stored if name in stored}
    engine.define(program.checked)
    version = VersionStatistics()
    engine.apply({}, facts, version)
    executor, read = workspace.executor, set(program.stored) - own
    cost = GoalStatistics(
        looked={name: rows for name, rows in executor.looked.items() if name in read},
        derived={
            name: workspace.relations[name].visible
            for stratum in program.checked.strata
            for name in stratum.relations
        },
        rounds=version.rounds,
    )
    for name in executor.scans:
        if name in read:
            cost.events.append(Scanned(name, (program.answer,)))
    for name, before in indexes.items():
        layout = workspace.infos[name].layout
        cost.events += [Indexed(name, layout.names(key)) for key in stored[name].indexes if key not in before]
    cost.events += version.events
    cost.seconds = time.perf_counter() - started
    return workspace.relations[program.answer].matrix(), cost
