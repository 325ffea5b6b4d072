"""The one interface of all maintenance strategies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from headwater.events import IMPROVES_ITSELF, Event, Reason, Recomputed
from headwater.kernel.relation import Relation
from headwater.kernel.room import successor
from headwater.kernel.states import LIVE
from headwater.maintain.fixpoint import Fixpoint, Lose
from headwater.maintain.iteration import Iteration
from headwater.maintain.one_pass import one_pass
from headwater.maintain.selection import Chooser, Unsettled
from headwater.maintain.workspace import NO_CHANGE, Delta, Left, Redefined, RuleSet, Workspace, quiet
from headwater.plan.steps import Plan
from headwater.rules.checked import Stratum
from headwater.version.statistics import StratumStatistics

LOST_WITH_INPUTS = 3.0
"""How many times as large a part of a stratum goes as of what it reads, about (measured on closures of random
graphs). Room is made by it: an estimate that is wrong costs time, and nothing else."""

FEWEST_ROWS_LEFT = 1 << 15
"""Room is made for so many rows in any case: it costs little, and making room again and again does not."""


@dataclass(slots=True)
class Task:
    """One stratum to bring up to date in one version."""

    workspace: Workspace
    rules: RuleSet
    choosers: dict[str, Chooser]
    deltas: dict[str, Delta]
    """What changed so far in this version, also in relations that the stratum does not read (see `rules.inputs`)."""
    statistics: StratumStatistics
    events: list[Event]
    replaced: dict[str, Relation] | None = None
    """Where dropped relations are put that no other view reads; `None` if others read them."""
    expected: Mapping[str, Left] = field(default_factory=dict)
    """What will be left of relations, where that is known, about."""
    before_change: Callable[[Iterable[str]], None] = lambda names: None
    """To be called before rows of these relations change (those of a dropped relation never do)."""
    redefined: Redefined | None = None
    """Rules that were gained and lost, which the rows have to follow."""

    def change(self, lose: Lose, limit: float = float("inf")) -> None:
        """Bring the stratum from before the version to after it. See `Fixpoint` for the arguments."""
        if lose is Relation.subtract and self.plain and self.rules.alone:
            self.in_one_pass()
            return
        try:
            self._fixpoint(lose, limit).change()
        except Unsettled:
            self.iterate()

    def in_one_pass(self) -> None:
        """The same for a `plain` stratum whose rows are all here."""
        self._before_own_change()
        one_pass(self.workspace, self.rules, self.deltas, self.statistics)

    def from_scratch(self, *, few: bool = False) -> None:
        """Derive the stratum from what lower strata hold now, which gives few rows or not."""
        try:
            self._fixpoint(Relation.subtract).from_scratch(few=few)
        except Unsettled:
            self.iterate()

    def iterate(self) -> None:
        """Derive the stratum from what lower strata hold now, where its best rows improve themselves."""
        self._tell(IMPROVES_ITSELF)
        self.statistics.iterated = True
        Iteration(self._fixpoint(Relation.subtract)).run()

    def ascend(self) -> None:
        """Derive all rows that are the best of their groups at some time on the way from nothing."""
        Iteration(self._fixpoint(Relation.subtract)).ascend()

    def _before_own_change(self) -> None:
        own, replaced = self.rules.own, self.replaced
        self.before_change([name for name in own if name not in replaced] if replaced else own)

    def _fixpoint(self, lose: Lose, limit: float = float("inf")) -> Fixpoint:
        self._before_own_change()
        return Fixpoint(
            self.workspace,
            self.rules,
            self.choosers,
            self.deltas,
            self.statistics,
            lose,
            limit,
            self.redefined,
        )

    def _tell(self, reason: Reason, share: float = 0.0) -> None:
        """Say that the stratum is recomputed."""
        names = sorted(name for name in self.rules.own if not self.workspace.infos[name].internal)
        if names:
            self.events.append(Recomputed(tuple(names), reason, share))

    def totals(self, *values: float) -> tuple[float, ...]:
        """The sums over all nodes that work on the stratum together: what they may decide by, all alike."""
        exchange = self.workspace.exchange
        return values if quiet(exchange, self.rules, self.redefined) else exchange.sums(*values)

    @property
    def plain(self) -> bool:
        """Whether no row of the stratum depends on another: all derivations count, and no dead row comes back."""
        return not self.rules.recursive and not self.choosers and self.redefined is None

    def stored(self) -> int:
        """How many rows the stratum holds, but for dead ones that earlier versions have left."""
        relations = (self.workspace.relations[name] for name in self.rules.own)
        return sum(max(0, each.stored - each.ghosts.shape[0]) for each in relations)

    def live(self) -> int:
        """How many rows of the stratum have support: a scan of all of them."""
        relations = (self.workspace.relations[name] for name in self.rules.own)
        return sum(int(np.count_nonzero(each.state[: each.sizes[0]] & LIVE)) for each in relations)

    def expected_losses(self, *, entering: bool = False) -> float:
        """About how many derivations lose a premise of a lower stratum, from the indexes' average chains; with
        `entering`, those by rules that read nothing of the stratum itself."""
        total, deltas = 0.0, self.deltas
        for rule, position, relation, negated in self.rules.lower:
            delta = deltas.get(relation)
            if delta is None or (entering and rule.label in self.rules.recurring):
                continue
            rows = (delta.gained if negated else delta.lost).shape[0]
            if rows:
                total += rows * self._fanout(self.rules.plan(rule, position))
        return total

    def expected_derivations(self) -> float:
        """About how many derivations there are from what lower strata hold now, by rules that read nothing else."""
        total, sizes = 0.0, self.workspace.sizes
        for rule, position in self.rules.starts():
            start = self.rules.plan(rule, position)
            left = (
                sizes.size(start.start.relation)
                - self.deltas.get(start.start.relation, NO_CHANGE).lost.shape[0]
            )
            total += left * self._fanout(start)
        return total

    def _fanout(self, plan: Plan) -> float:
        """How many derivations there are for each row that a plan starts from, by the indexes' average chains."""
        fanout, sizes = 1.0, self.workspace.sizes
        for step in plan.fanning:
            name, key = step.relation, step.key
            fanout *= max(1.0, sizes.fanout(name, key) if key else sizes.size(name))
        return fanout

    def recompute(self, reason: Reason, *, share: float = 0.0, mostly_new: bool = False) -> None:
        """Derive the stratum anew, and say why.

        Rows stay in their places, so that what comes back costs little and what changed is known. Where most
        is expected to be gone and no other view asks what changed, new relations take the place of the old.
        """
        self._tell(reason, share)
        self.rules.small = None  # nothing of it may keep relations that are replaced
        if not mostly_new or self.replaced is None:
            self.from_scratch()
            return
        for name in self.rules.own:
            old = self.replaced[name] = self.workspace.relations[name]
            left = self.expected.get(name) or Left(self._left_of(old), distinct=False)
            self.workspace.relations[name] = successor(old, left.rows, distinct=left.distinct)
        self.from_scratch(few=True)

    def _left_of(self, old: Relation) -> int:
        """How many rows of a relation will be left, about, if there is memory for them beside those there are."""
        sizes = self.workspace.sizes
        parts = (
            self.deltas.get(name, NO_CHANGE).lost.shape[0] / max(1, sizes.size(name))
            for name in self.rules.inputs
        )
        lost = max(parts, default=0.0)
        rows = max(int(old.stored * (1 - LOST_WITH_INPUTS * lost)), min(old.stored, FEWEST_ROWS_LEFT))
        return rows if self.workspace.budget.has(rows * (old.row_bytes + 16)) else 0


class Strategy(Protocol):
    """How the derived relations of a stratum follow the relations they read.

    Each stratum has an instance of its own. `ranked` says that it keeps ranks and counts as `fixpoint` has them, so
    that any other ranked strategy can go on from them; only ranked ones run on nodes. `starts_over` says that a
    stratum may be derived into new relations, without asking it, where most of its rows will be gone.
    """

    name: str
    ranked: bool = True
    starts_over: bool = False

    def refuses(self, stratum: Stratum) -> str | None:
        """Why this strategy cannot maintain the stratum, or `None` if it can."""
        ...

    def derive(self, task: Task) -> None:
        """Derive the stratum for the first time."""
        task.from_scratch()

    def refresh(self, task: Task) -> None:
        """Bring the stratum up to date."""
        ...

    def following(
        self, new: Strategy, before: Stratum, now: Stratum, *, lost: bool, choosing: bool
    ) -> Strategy | None:
        """Who goes on from what this one keeps of a stratum whose rules have changed (`lost`: it has lost some;
        `choosing`: only the best rows count): `new`, which keeps nothing yet, or this one; `None` if the stratum must
        be derived again."""
        return new

    def describe(self, stratum: Stratum) -> str:
        """The strategy in words, for `explain`."""
        return self.name

    def commit(self) -> None:
        """Keep what the version did to the strategy's own state."""
        return

    def rollback(self) -> None:
        """Take back what the version did to the strategy's own state."""
        return
