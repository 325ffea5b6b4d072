"""Best rows that improve themselves, as in `p(max<Y>) :- p(X), Y = min(X + 1, 12)`: iterated from nothing.

Ranked support keeps a row as long as derivations from visible rows of lower rank hold it. Here 8 rests on 7 and
displaces it: without 7 there is no 8, and so on for ever (`selection.Unsettled`). What is meant is the least fixpoint
in the order of the lattice: a choice of best rows, starting with none, replaced by the best of what follows from it
until it stays. If rules are monotone (better premises derive the same groups, and never worse rows in them), choices
only get better, and the fixpoint is the least: every other is at least as good.

It is found in two steps:
1. *Ascending.* What is displaced becomes invisible, but what was derived from it stays. All of that is derived
   from rows below the fixpoint, hence by monotony below it, too; and all that follows from the last choice is among
   it. So the last choice is the fixpoint. Each row is propagated once.
2. *Deriving the stratum from that choice*, once: rows that rested on what was displaced are gone, and it is checked
   that the best of what is derived is the choice. For monotone rules it is.

Where the check fails, the rules are not monotone. Then choices are replaced from nothing one by one, as the
definition says: this ends where no group depends on itself; where it oscillates, a choice comes a second time, and
the program is refused. (A choice is told by two sums over its rows, which all nodes know; no rows are kept.)

The outcome has no ranks to go by. So the next version that concerns the stratum iterates again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwater.errors import EvaluationError
from headwater.kernel.states import LIVE, VISIBLE
from headwater.maintain.fixpoint import Fixpoint, taken, with_rank_0
from headwater.plan.steps import Ints

Choice = Mapping[str, Ints]
"""The best rows of each relation that has such."""
EXACT = 40
"""Bits of a sum over rows: few enough for the sum over all nodes to be exact as a float."""
MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))


class Iteration:
    """One stratum in one version, derived from lower strata alone."""

    def __init__(self, fixpoint: Fixpoint):
        self.fixpoint = fixpoint
        self.statistics = fixpoint.statistics
        self.choosers = fixpoint.choosers

    def run(self) -> None:
        """Bring the stratum to its fixpoint; what oscillates is refused."""
        self.fixpoint.ascending = True
        self.fixpoint.from_scratch()
        if self.statistics.stopped:
            return
        visible = {
            name: self.fixpoint.relations[name].codes(self.fixpoint.relations[name].live_rows())
            for name in self.choosers
        }
        if self._replaced(visible) is not None:
            self._replace_from_nothing()

    def ascend(self) -> None:
        """Only go up, and leave all rows visible that were the best of their groups at some time."""
        self.fixpoint.ascending = True
        self.fixpoint.from_scratch()
        for name, rows in self.fixpoint.risen.items():
            if rows:
                self.fixpoint.relations[name].show(taken(rows), self.fixpoint.workspace.clock)

    def _replace_from_nothing(self) -> None:
        choice: Choice | None = {
            name: np.empty((0, self.fixpoint.relations[name].arity), np.int64) for name in self.choosers
        }
        seen: dict[tuple[float, ...], int] = {}
        while choice is not None:
            sums = self._sums(choice)
            if sums in seen:
                raise self._oscillates(len(seen), seen[sums])
            seen[sums] = len(seen)
            choice = self._replaced(choice)

    def _replaced(self, choice: Choice) -> Choice | None:
        """Derive the stratum from a choice; the best of what is derived, or `None` if that is the choice itself."""
        self.fixpoint.given(choice)
        best: dict[str, Ints] = {}
        same = True
        for name, chooser in self.choosers.items():
            relation = self.fixpoint.relations[name]
            unsupported = relation.subtract(with_rank_0(choice[name])).dead
            live = np.flatnonzero(relation.state[: relation.sizes[0]] & LIVE).astype(np.int32)
            wanted, displaced = chooser.choose(np.concatenate([live, unsupported]))
            same &= not (unsupported.shape[0] or wanted.shape[0] or displaced.shape[0])
            kept = np.setdiff1d(live[(relation.state[live] & VISIBLE) != 0], displaced)
            best[name] = relation.codes(np.concatenate([kept, wanted]))
            relation.fall(unsupported)
            relation.settle(unsupported)
        if self.statistics.stopped or not self.fixpoint.agreed(not same):
            return None
        return best

    def _sums(self, choice: Choice) -> tuple[float, ...]:
        """Sums over the rows of a choice on all nodes."""
        found = []
        for multiplier in MULTIPLIERS:
            total = 0
            for number, codes in enumerate(choice.values()):
                hashes = np.full(codes.shape[0], number + 1, np.uint64)
                for column in codes.T.astype(np.uint64):
                    hashes = (hashes ^ column) * multiplier
                    hashes ^= hashes >> np.uint64(29)
                total += int(hashes.sum(dtype=np.uint64))
            found.append(float(total % (1 << 64) >> (64 - EXACT)))
        return self.fixpoint.totals(*found)

    def _oscillates(self, now: int, before: int) -> EvaluationError:
        rules = self.fixpoint.rules
        names = ", ".join(sorted(self.choosers))
        rule = next(rule for rule, _, _ in rules.recursive if rule.relation in self.choosers)
        return EvaluationError(
            "oscillation",
            f"{names} never comes to rest: the best rows after step {now} are those of step {before} again,"
            f" by rule {rule.label}",
            place=rule.place,
            hint="min and max in a recursion must be monotone: from better rows, as good or better rows must follow",
        )
