"""Strata in which no row depends on another, brought from before a version to after it in one pass.

All derivations of such a row are from lower strata, so its count is the number of all of them, and what falls takes
nothing along. What `fixpoint` does in rounds is therefore done at once: derivations that lose a premise are counted
off, rows without any left go, derivations that gain one are added, rows with a first one come. Rounds, ranks and
statistics are those of `fixpoint`. It is for one process that holds all rows, where no rule has come or gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from headwater.kernel.relation import Relation
from headwater.maintain.fixpoint import count_round, taken
from headwater.maintain.workspace import Delta, Rows, RuleSet, Workspace
from headwater.plan.execute import GAINED, LOST, STAYING
from headwater.plan.steps import Ints
from headwater.version.statistics import StratumStatistics


def one_pass(
    workspace: Workspace, rules: RuleSet, deltas: Mapping[str, Delta], statistics: StratumStatistics
) -> None:
    """Bring the relations of a stratum up to date with the changes of those it reads."""
    dead: dict[str, list[Rows]] = {}
    fresh: dict[str, list[Rows]] = {}
    relations, gains = workspace.relations, False
    falling: list[tuple[Relation, Rows]] = []

    def lose(name: str, tuples: Ints) -> None:
        fallen = relations[name].subtract(tuples)
        if fallen.dead.shape[0]:
            statistics.died += fallen.dead.shape[0]
            statistics.doubtful += fallen.doubtful
            dead.setdefault(name, []).append(fallen.dead)
        if fallen.falling.shape[0]:
            falling.append((relations[name], fallen.falling))

    def add(name: str, tuples: Ints) -> None:
        rows = relations[name].add(tuples, workspace.clock + 1)
        if rows.shape[0]:
            fresh.setdefault(name, []).append(rows)

    def revive(name: str, origins: Ints) -> None:
        rows = relations[name].revive(np.ascontiguousarray(origins[:, 0]), workspace.clock + 1)
        statistics.revived += rows.shape[0]
        if rows.shape[0]:
            fresh.setdefault(name, []).append(rows)

    for rule, position, relation, negated in rules.lower:
        delta = deltas.get(relation)
        if delta is not None:
            lost, gained = (delta.gained, delta.lost) if negated else delta
            gains = gains or gained.shape[0] > 0
            if lost.shape[0]:
                found = rules.run(rule, position, lost, LOST, partial(lose, rule.relation))
                statistics.derived(rule.label, found)
    if falling:
        count_round(workspace, rules, statistics)
        for hidden, rows in falling:
            hidden.hide(rows)
    if statistics.doubtful:
        for rule in rules.rules:
            if rule.relation in dead:
                rows = relations[rule.relation].in_doubt(taken(dead[rule.relation]))
                found = rules.run(rule, -1, rows, STAYING, partial(revive, rule.relation))
                statistics.derived(rule.label, found)
    if gains:
        for rule, position, relation, negated in rules.lower:
            delta = deltas.get(relation)
            if delta is not None:
                gained = delta.lost if negated else delta.gained
                if gained.shape[0]:
                    found = rules.run(rule, position, gained, GAINED, partial(add, rule.relation))
                    statistics.derived(rule.label, found)
    if fresh:
        count_round(workspace, rules, statistics)
        workspace.clock += 1
        for name, come in fresh.items():
            relations[name].show(taken(come), workspace.clock)
