"""Strata in which no row depends on another, brought from before a version to after it in one pass.

All derivations of such a row are from lower strata, so its count is the number of all of them, and what falls takes
nothing along. What `fixpoint` does in rounds is therefore done at once: derivations that lose a premise are counted
off, rows without any left go, derivations that gain one are added, rows with a first one come. Rounds, ranks and
statistics are those of `fixpoint`. It is for one process that holds all rows, where no rule has come or gone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwater.maintain.fixpoint import count_round, taken
from headwater.maintain.workspace import Delta, Rows, RuleSet, Workspace
from headwater.plan.access import GAINED, LOST, STAYING
from headwater.plan.steps import Ints
from headwater.version.statistics import StratumStatistics


def one_pass(
    workspace: Workspace, rules: RuleSet, deltas: Mapping[str, Delta], statistics: StratumStatistics
) -> None:
    """Bring the relations of a stratum up to date with the changes of those it reads."""
    relations, rank = workspace.relations, workspace.clock + 1
    dead: dict[str, list[Rows]] = {}
    revived: dict[str, list[Rows]] = {}
    falls = gains = comes = False

    def lose(tuples: Ints) -> None:
        nonlocal falls
        fallen = head.subtract(tuples)
        if fallen.dead.shape[0]:
            statistics.died += fallen.dead.shape[0]
            statistics.doubtful += fallen.doubtful
            dead.setdefault(rule.relation, []).append(fallen.dead)
        if fallen.falling.shape[0]:
            head.hide(fallen.falling)
            falls = True

    def gain(tuples: Ints) -> None:
        nonlocal comes
        comes = head.insert(tuples, rank).shape[0] > 0 or comes

    def revive(origins: Ints) -> None:
        rows = head.revive(np.ascontiguousarray(origins[:, 0]), rank)
        statistics.revived += rows.shape[0]
        if rows.shape[0]:
            revived.setdefault(rule.relation, []).append(rows)

    for rule, position, relation, negated in rules.lower:
        delta = deltas.get(relation)
        if delta is not None:
            lost, gained = (delta.gained, delta.lost) if negated else delta
            gains = gains or gained.shape[0] > 0
            if lost.shape[0]:
                head = relations[rule.relation]
                statistics.derived(rule.label, rules.run(rule, position, lost, LOST, lose))
    if falls:
        count_round(workspace, rules, statistics)
    if statistics.doubtful:
        for rule in rules.rules:
            if rule.relation in dead:
                head = relations[rule.relation]
                rows = head.in_doubt(taken(dead[rule.relation]))
                statistics.derived(rule.label, rules.run(rule, -1, rows, STAYING, revive))
    if gains:
        for rule, position, relation, negated in rules.lower:
            delta = deltas.get(relation)
            if delta is not None:
                gained = delta.lost if negated else delta.gained
                if gained.shape[0]:
                    head = relations[rule.relation]
                    statistics.derived(rule.label, rules.run(rule, position, gained, GAINED, gain))
    if comes or revived:
        count_round(workspace, rules, statistics)
        workspace.clock = rank
        for name, rows_again in revived.items():
            relations[name].show(taken(rows_again), rank)
