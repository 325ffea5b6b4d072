"""Bringing the relations of one stratum from before a version to after it.

The invariant between rounds: a row's count is the number of derivations of it from visible rows whose highest
rank is below the row's own. Hence a count never rests on a cycle, and a row is derivable if and only if its
count is not 0 (or it has been derived and awaits its round).

Going down, then up, then rounds of news:
1. derivations that lose a premise of a lower stratum are taken off; rows without any left die and fall, and
   take their consequences along, round by round;
2. each dead row counts its derivations from what still stands; those with any come back with a new rank;
3. derivations that gain a premise of a lower stratum are added;
4. what is new becomes visible with the next rank and is propagated, until nothing is new.

Where only the best rows of a group count, a better candidate first takes the old best down (1, 2) and is shown
in a later round; in the other order counts would come out short.

How a derivation is lost to a change is left to the strategy: counted off (`support`) or the row overdeleted
(`dred`). A best row that is beaten is always counted off: overdeleting could take the better row along, which
would bring the old one back, and so on without end. Counts are right under both: what loses a derivation and
is not counted off is dead, and counts anew when it comes back.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headwater.errors import EvaluationError
from headwater.kernel.relation import Fallen, Relation
from headwater.maintain.selection import Chooser
from headwater.maintain.statistics import StratumStatistics
from headwater.maintain.workspace import NO_CHANGE, NO_ROWS, Delta, Rows, RuleSet, Workspace
from headwater.plan.execute import (
    DOWN,
    DOWN_FIRST,
    GAINED,
    LOST,
    PRESENT,
    STAYING,
    Access,
    Sink,
    round_access,
)  # fmt: skip
from headwater.plan.steps import Ints

Lose = Callable[[Relation, Ints], Fallen]


class GiveUp(Exception):
    """So much has died that starting over is cheaper."""


class Fixpoint:
    """One stratum in one version. `limit` is the number of dead rows at which `GiveUp` is raised."""

    def __init__(
        self,
        workspace: Workspace,
        rules: RuleSet,
        choosers: dict[str, Chooser],
        deltas: dict[str, Delta],
        statistics: StratumStatistics,
        lose: Lose,
        limit: float = float("inf"),
    ):
        self.workspace = workspace
        self.rules = rules
        self.choosers = choosers
        self.deltas = deltas
        self.statistics = statistics
        self.lose = lose
        self.limit = limit
        self.relations = {name: workspace.relations[name] for name in rules.own}
        self.fresh: dict[str, list[Rows]] = {name: [] for name in rules.own}
        self.falling: dict[str, list[Rows]] = {name: [] for name in rules.own}
        self.dead: dict[str, list[Rows]] = {name: [] for name in rules.own}
        self.affected: dict[str, list[Rows]] = {name: [] for name in choosers}

    # ------------------------------------------------------------------ the two ways through

    def change(self) -> None:
        """From the stratum as it was before the version to what it is after it."""
        for rule, position, relation, negated in self.rules.lower:
            delta = self.deltas.get(relation, NO_CHANGE)
            rows = delta.gained if negated else delta.lost
            if rows.shape[0]:
                self._run(rule, position, rows, LOST, self._losing(rule.relation))
        self._down(DOWN_FIRST)
        self._up(STAYING)
        for rule, position, relation, negated in self.rules.lower:
            delta = self.deltas.get(relation, NO_CHANGE)
            rows = delta.lost if negated else delta.gained
            if rows.shape[0]:
                self._run(rule, position, rows, GAINED, self._adding(rule.relation))
        self.lose = Relation.subtract
        self._rise()

    def from_scratch(self) -> None:
        """Forget all rows of the stratum and derive them anew from what lower strata hold now."""
        for name, relation in self.relations.items():
            relation.kill_all()
            for pending in (self.fresh, self.falling, self.dead):
                pending[name] = []
        for name in self.affected:
            self.affected[name] = []
        for rule, position in self.rules.starts():
            rows = self.workspace.relations[rule.body[position].relation].live_rows()  # type: ignore[union-attr]
            self._run(rule, position, rows, PRESENT, self._adding(rule.relation))
        self._rise()

    # ------------------------------------------------------------------ phases

    def _down(self, access: Access) -> None:
        while any(self.falling.values()):
            count_round(self.workspace, self.rules, self.statistics)
            batch = {name: taken(rows) for name, rows in self.falling.items() if rows}
            for name, rows in batch.items():
                self.falling[name] = []
                self.relations[name].fall(rows)
            for rule, position, relation in self.rules.recursive:
                if relation in batch:
                    self._run(rule, position, batch[relation], access, self._losing(rule.relation))
            for name, rows in batch.items():
                self.relations[name].settle(rows)
            if self.statistics.died > self.limit:
                raise GiveUp

    def _up(self, access: Access) -> None:
        rank = self.workspace.clock + 1
        batch = {name: taken(rows) for name, rows in self.dead.items() if rows}
        for name in batch:
            self.dead[name] = []
        for rule in self.rules.rules:
            if rule.relation in batch:
                relation = self.relations[rule.relation]

                def revive(origins: Ints, name: str = rule.relation, relation: Relation = relation) -> None:
                    rows = relation.revive(np.ascontiguousarray(origins[:, 0]), rank)
                    self.statistics.revived += rows.shape[0]
                    self._arrived(name, rows)

                self._run(rule, -1, batch[rule.relation], access, revive)

    def _rise(self) -> None:
        while True:
            if self.affected and self._displace():
                self._down(DOWN)
                self._up(PRESENT)
                continue
            if not any(self.fresh.values()):
                return
            if self.workspace.stops and self.statistics.rounds >= self.workspace.max_rounds:
                self._stop()
                return
            count_round(self.workspace, self.rules, self.statistics)
            self.workspace.clock += 1
            rank = self.workspace.clock
            batch = {
                name: self.relations[name].show(taken(rows), rank)
                for name, rows in self.fresh.items()
                if rows
            }
            for name, rows in batch.items():
                self.fresh[name] = []
                if name in self.choosers:
                    self.choosers[name].shown(rows)
            for rule, position, relation in self.rules.recursive:
                if relation in batch:
                    self._run(
                        rule, position, batch[relation], round_access(rank), self._adding(rule.relation)
                    )

    def _displace(self) -> bool:
        """Mark rows that are no longer best as falling and say so; else make the best wanted rows fresh."""
        wanted: dict[str, Rows] = {}
        displaced = False
        for name, chooser in self.choosers.items():
            affected = taken(self.affected[name]) if self.affected[name] else NO_ROWS
            wanted[name], gone = chooser.choose(affected)
            if gone.shape[0]:
                displaced = True
                self.falling[name].append(gone)
            self.affected[name] = [rows for rows in (wanted[name], gone) if rows.shape[0]]
        if displaced:
            for name, chooser in self.choosers.items():
                chooser.wait(wanted[name])
            return True
        for name, chooser in self.choosers.items():
            now, later = chooser.cheapest(wanted[name])
            chooser.wait(later)
            self.fresh[name] = [now] if now.shape[0] else []
            self.affected[name] = [later] if later.shape[0] else []
        return False

    def _stop(self) -> None:
        """Leave it at what has been derived so far; what waits for its round is dropped."""
        self.statistics.stopped = True
        for name, rows in self.fresh.items():
            if rows:
                self.relations[name].kill(taken(rows))

    # ------------------------------------------------------------------ pieces

    def _run(self, rule, position: int, rows: Rows, access: Access, sink: Sink) -> None:  # type: ignore[no-untyped-def]
        self.statistics.derived(rule.label, self.rules.run(rule, position, rows, access, sink))

    def _adding(self, name: str) -> Sink:
        relation = self.relations[name]
        rank = self.workspace.clock + 1

        def add(tuples: Ints) -> None:
            self._arrived(name, relation.add(tuples, rank))

        return add

    def _losing(self, name: str) -> Sink:
        relation = self.relations[name]

        def lose(tuples: Ints) -> None:
            fallen = self.lose(relation, tuples)
            if fallen.dead.shape[0]:
                self.statistics.died += fallen.dead.shape[0]
                self.dead[name].append(fallen.dead)
                if name in self.affected:
                    self.affected[name].append(fallen.dead)
            if fallen.falling.shape[0]:
                self.falling[name].append(fallen.falling)

        return lose

    def _arrived(self, name: str, rows: Rows) -> None:
        if rows.shape[0]:
            (self.affected if name in self.affected else self.fresh)[name].append(rows)


def count_round(workspace: Workspace, rules: RuleSet, statistics: StratumStatistics) -> None:
    """Begin a round, unless there have been too many or somebody has interrupted."""
    workspace.interrupts.check()
    statistics.rounds += 1
    if statistics.rounds > workspace.max_rounds and not workspace.stops:
        names = ", ".join(sorted(rules.own))
        raise EvaluationError(
            "no-fixpoint",
            f"{names} did not come to rest in {workspace.max_rounds:,} rounds",
            place=next((rule.place for rule in rules.rules if rule.place), None),
            hint="bound what the recursion computes, use min<> or max<> for costs, or raise max_rounds;"
            " at_max_rounds='stop' keeps what was derived by then",
        )


def taken(rows: list[Rows]) -> Rows:
    """All the rows in a list of arrays, as one."""
    return rows[0] if len(rows) == 1 else np.concatenate(rows)
