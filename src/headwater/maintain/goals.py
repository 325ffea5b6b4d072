"""Evaluating a goal: its rewritten rules over stored relations, beside them, once.

The rules are views of an engine of their own, whose base relations are the stored relations themselves: read in
place, through their indexes. What is derived (answers, what was asked for) lives in that engine and goes with it. So
a question changes nothing, except that stored relations may have an index more.

The stored relations are read as they are now. Inside a version that is what they will be after it; to evaluate a goal
over what they were before, give other relations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from headwater.events import Event, Indexed, Scanned
from headwater.kernel.relation import Relation
from headwater.maintain.engine import Engine
from headwater.plan.goals import GoalProgram
from headwater.plan.goals.adorned import Adorned
from headwater.plan.goals.plainly import told_plainly
from headwater.plan.steps import Ints
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.version import Version


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


Bring = Callable[[Adorned, Ints | None], Ints]
"""The rows of a relation that is elsewhere: those with the given values in the bound columns, or all."""


def evaluate_goal(
    program: GoalProgram,
    stored: Mapping[str, Relation],
    facts: Mapping[str, Ints],
    means: Means,
    bring: Bring | None = None,
) -> tuple[Ints, GoalStatistics]:
    """The rows of the goal's relation, and what they cost.

    `stored` has the relations that the program reads in place; `bring` tells the rows of those that are elsewhere;
    `facts` are rows of relations of its own.
    """
    started = time.perf_counter()
    engine = Engine(
        means.codec, means.functions, max_rounds=means.max_rounds, at_max_rounds=means.at_max_rounds
    )
    workspace, cost = engine.workspace, GoalStatistics()
    away = {call.name for call in program.brought}
    read = [name for name in program.stored if name not in away and name not in facts]
    for name in read:
        workspace.relations[name] = stored[name]
        workspace.infos[name] = program.checked.relations[name]
    indexes = {name: set(stored[name].indexes) for name in read}
    engine.define(program.checked)
    version = Version(0, 0.0)
    with told_plainly():
        engine.apply({}, facts, version.statistics)
        if bring is not None:
            _bring_all(engine, program, bring, version, cost)
    for name in read:
        cost.looked[name] = workspace.executor.looked.get(name, 0)
        if name in workspace.executor.scans:
            cost.events.append(Scanned(name, (program.answer,)))
        keys, layout = stored[name].indexes, workspace.infos[name].layout
        cost.events += [Indexed(name, layout.names(key)) for key in keys if key not in indexes[name]]
    for stratum in program.checked.strata:
        cost.derived.update((name, workspace.relations[name].visible) for name in stratum.relations)
    cost.events += [event for event in version.statistics.events if event not in cost.events]
    cost.rounds = version.statistics.rounds
    cost.seconds = time.perf_counter() - started
    return workspace.relations[program.answer].matrix(), cost


def _bring_all(
    engine: Engine, program: GoalProgram, bring: Bring, version: Version, cost: GoalStatistics
) -> None:
    """Bring rows for what is asked, and let the views follow, until nothing new is asked.

    While rows are still to come, a negation may hold that will not in the end: what follows from it is asked for in
    vain, and goes again.
    """
    relations = engine.workspace.relations
    asked: dict[str, set[tuple[int, ...]]] = {call.name: set() for call in program.brought}
    waiting = [call for call in program.brought if not call.bound]
    rows = {call.name: bring(call, None) for call in waiting}
    cost.events += [Scanned(call.relation, (program.answer,)) for call in waiting]
    while True:
        for call in program.brought:
            if call.bound:
                new = set(map(tuple, relations[call.asked].matrix().tolist())) - asked[call.name]
                asked[call.name] |= new
                if new:
                    rows[call.name] = bring(call, np.array(sorted(new), np.int64))
        for call in program.brought:
            found = rows.get(call.name)
            if found is not None:
                cost.looked[call.relation] = cost.looked.get(call.relation, 0) + found.shape[0]
        rows = {name: found for name, found in rows.items() if found.shape[0]}
        if not rows:
            return
        engine.commit(version)
        engine.apply({}, rows, version.statistics)
        rows = {}
