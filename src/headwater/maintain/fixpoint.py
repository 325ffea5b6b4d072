"""Bringing the relations of one stratum from before a version to after it.

The invariant between rounds: a row's count is the number of derivations of it from visible rows whose highest
rank is below the row's own. Hence a count never rests on a cycle, and a row is derivable if and only if its
count is not 0 (or it has been derived and awaits its round).

Going down, then up, then rounds of news:
1. derivations that lose a premise of a lower stratum are taken off; rows without any left die and fall, and
   take their consequences along, round by round;
2. each dead row counts its derivations from what still stands; those with any come back with a new rank (rows that
   never had a derivation outside of their count have none, and are not asked about: all rows of a stratum that does
   not recurse);
3. derivations that gain a premise of a lower stratum are added;
4. what is new becomes visible with the next rank and is propagated, until nothing is new.

A rule that is gone loses all derivations it had at the beginning of 1, and takes no part in what follows; one that is
new adds all derivations it has from what is visible at the end of 3, and takes part from there on. So rules that come
and go start a fixpoint as rows below do, and each derivation is counted once.

Where only the best rows of a group count, a better candidate first takes the old best down (1, 2) and is shown
in a later round; in the other order counts would come out short.

How a derivation is lost to a change is left to the strategy: counted off (`support`) or the row overdeleted
(`dred`). A best row that is beaten is always counted off: overdeleting could take the better row along, which
would bring the old one back, and so on without end. Counts are right under both: what loses a derivation and
is not counted off is dead, and counts anew when it comes back.

Where other nodes hold parts of the same relations, each phase goes on until all of them have nothing left to
do (`exchange`). A stratum with best rows takes a round at a time, together, so that all nodes agree on whether
somebody's best was beaten; others run as many rounds as they can between exchanges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from headwater.errors import EvaluationError, Place
from headwater.kernel.beside import FEWEST_STARTS_HELPED, SecondThread
from headwater.kernel.memory import empty
from headwater.kernel.relation import Fallen, Relation
from headwater.kernel.rounds import tables
from headwater.maintain.demanded import Differing
from headwater.maintain.exchange import ADD, ANSWER, ASK, LOSE, Parcel
from headwater.maintain.selection import Chooser, Displacements, Unsettled
from headwater.maintain.small_rounds import GiveUp, SmallRounds, small_rounds
from headwater.maintain.workspace import NO_CHANGE, NO_ROWS, Delta, Redefined, Rows, RuleSet, Workspace, quiet
from headwater.plan.access import (
    ANY_RANK,
    DOWN,
    DOWN_FIRST,
    EARLIER,
    GAINED,
    LOST,
    PRESENT,
    STAYING,
    Access,
    round_access,
)
from headwater.plan.execute import Sink
from headwater.plan.steps import Ints
from headwater.rules.checked import CheckedRule, Compute, Premise
from headwater.version.statistics import StratumStatistics

Lose = Callable[[Relation, Ints], Fallen]
NOBODY: AbstractContextManager[None] = nullcontext()
"""No other thread has part in a run."""
COST_OF_SURE_DEATH = 0.22
"""What it costs that a row dies which has no other derivations, beside one of which that must be found out."""


class Fixpoint:
    """One stratum in one version. `limit` is how much may be `spent` on dead rows before `GiveUp` is raised."""

    def __init__(
        self,
        workspace: Workspace,
        rules: RuleSet,
        choosers: dict[str, Chooser],
        deltas: dict[str, Delta],
        statistics: StratumStatistics,
        lose: Lose,
        limit: float = float("inf"),
        redefined: Redefined | None = None,
    ):
        self.workspace = workspace
        self.rules = rules
        self.choosers = choosers
        self.deltas = deltas
        self.statistics = statistics
        self.lose = lose
        self.limit = limit
        self.redefined = redefined
        self.pending: frozenset[str] = frozenset()
        """Labels of rules that are gained and not in force yet."""
        self.relations = {name: workspace.relations[name] for name in rules.own}
        self.fresh: dict[str, list[Rows]] = {name: [] for name in rules.own}
        self.falling: dict[str, list[Rows]] = {name: [] for name in rules.own}
        self.dead: dict[str, list[Rows]] = {name: [] for name in rules.own}
        self.affected: dict[str, list[Rows]] = {name: [] for name in choosers}
        self.displacements = Displacements()
        self.ascending = False
        """Whether consequences of displaced rows stay: see `iteration`."""
        self.risen: dict[str, list[Rows]] = {name: [] for name in choosers}
        """Rows that were the best of their groups at some time, while ascending."""
        self.plain = not rules.recursive and not choosers
        """Whether no row of the stratum takes another along."""
        self.exchange = workspace.exchange
        self.quiet = quiet(self.exchange, rules, redefined)
        self.lockstep = bool(choosers) or (workspace.stops and not self.quiet)
        """Whether nodes take every round together: where they must agree on each."""
        self.small: SmallRounds | None = None
        """What runs rounds with few rows, where there is something."""

    # ------------------------------------------------------------------ the two ways through

    def change(self) -> None:
        """From the stratum as it was before the version to what it is after it."""
        self.small = small_rounds(self)
        if self.redefined is not None:
            self.pending = self.redefined.gained
            if self.redefined.lost is not None:
                self._lose_rules(self.redefined.lost)
        differing = self._differing()
        phase = self._in_kernel(tables.LOSE)
        if phase == tables.LOSE:
            self._lose_below(differing)
            phase = self._in_kernel(tables.FALL)
        if phase == tables.FALL:
            self._down(DOWN_FIRST)
        if phase in (tables.FALL, tables.UP):
            self.up(STAYING)
            self.lose = Relation.subtract
            phase = self._in_kernel(tables.GAIN)
        if phase == tables.GAIN:
            self._gain_below(differing)
            phase = self._in_kernel(tables.CHOOSE)
        self.lose = Relation.subtract
        if phase != tables.OVER:
            self._rise()

    def _in_kernel(self, phase: int) -> int:
        """Go on from a phase in the kernel, where it can do that; the phase from which to go on here."""
        if self.small is None or self.lose is not Relation.subtract:
            return phase
        return self.small.run(self, phase)

    def _lose_below(self, differing: list[tuple[CheckedRule, Differing]]) -> None:
        """Take off derivations that lose a premise of a lower stratum."""
        for rule, position, relation, negated in self.rules.lower:
            delta = self.deltas.get(relation, NO_CHANGE)
            rows = delta.gained if negated else delta.lost
            if rows.shape[0] and rule.label not in self.pending:
                self._run(rule, position, rows, LOST, self._losing(rule))
        for rule, found in differing:
            self._hand(rule, found.lost, self._losing(rule))

    def _gain_below(self, differing: list[tuple[CheckedRule, Differing]]) -> None:
        """Add derivations that gain a premise of a lower stratum, and those of new rules."""
        for rule, position, relation, negated in self.rules.lower:
            delta = self.deltas.get(relation, NO_CHANGE)
            rows = delta.lost if negated else delta.gained
            if rows.shape[0] and rule.label not in self.pending:
                self._run(rule, position, rows, GAINED, self._adding(rule))
        for rule, found in differing:
            still = self.rules.demanded[rule.label].standing(found.asking)
            self._hand(rule, found.gained[still], self._adding(rule))
        self._gain_rules()

    def _lose_rules(self, lost: RuleSet) -> None:
        """Take off all that rules derived that are gone, from what they saw when the version began."""
        for rule in lost.rules:
            position = lost.smallest_premise(rule)
            rows = lost.premise_relation(rule, position).earlier_rows()
            found = lost.run(rule, position, rows, EARLIER, self._losing(rule, before=True))
            self.statistics.derived(rule.label, found - self.exchange.dropped())

    def _gain_rules(self) -> None:
        """Add all that new rules derive from what is visible now; they are in force from here on."""
        pending, self.pending = self.pending, frozenset()
        for rule in self.rules.rules:
            if rule.label in pending:
                position = self.rules.smallest_premise(rule)
                rows = self.rules.premise_rows(rule, position)
                self._run(rule, position, rows, PRESENT, self._adding(rule))

    def _differing(self) -> list[tuple[CheckedRule, Differing]]:
        """For each aggregate by demand, which of its values the changes below make other ones."""
        return [
            (demanded.rule, self.rules.differing(demanded, self.deltas))
            for demanded in self.rules.demanded.values()
        ]

    def _hand(self, rule: CheckedRule, tuples: Ints, sink: Sink) -> None:
        if tuples.shape[0]:
            sink(tuples)
            self.statistics.derived(rule.label, tuples.shape[0] - self.exchange.dropped())

    def from_scratch(self, *, few: bool = False) -> None:
        """Forget all rows of the stratum and derive them anew from what lower strata hold now; where few are
        expected, in small rounds."""
        self._clear()
        self._start()
        if few and any((*self.fresh.values(), *self.affected.values())):
            self.small = small_rounds(self)
        if self._in_kernel(tables.CHOOSE) != tables.OVER:
            self._rise()

    def given(self, best: Mapping[str, Ints]) -> None:
        """Derive the stratum anew from lower strata and, in place of what it would choose, the given best rows.

        What is derived for relations with best rows are candidates; nothing is chosen. The given rows are visible
        from the start and have one support more than they have derivations, so that none dies.
        """
        self._clear()
        for name, codes in best.items():
            self.fresh[name].append(self.relations[name].add(with_rank_0(codes), ANY_RANK))
            self.relations[name].doubt(self.fresh[name][-1])
        self.affected = {}
        self._start()
        while True:
            if not self.quiet:
                self._swap()
            if not self.agreed(any(self.fresh.values())):
                return
            if self.workspace.stops and self.agreed(self.statistics.rounds >= self.workspace.max_rounds):
                self._stop()
                return
            self._show()

    def _clear(self) -> None:
        self.exchange.forget(tuple(self.relations))
        for name, relation in self.relations.items():
            relation.kill_all()
            for pending in (self.fresh, self.falling, self.dead):
                pending[name] = []
        for name in self.affected:
            self.affected[name] = []

    def _start(self) -> None:
        """Run the rules that read nothing of the own stratum."""
        for rule, position in self.rules.starts():
            rows = self.rules.premise_rows(rule, position)
            self._run(rule, position, rows, PRESENT, self._adding(rule))

    # ------------------------------------------------------------------ phases

    def _down(self, access: Access) -> None:
        while True:
            while any(self.falling.values()):
                self._fall(access)
                if self.quiet and spent(self.statistics) > self.limit:
                    raise GiveUp
            if self.quiet or not self._swap():
                return

    def _fall(self, access: Access) -> None:
        """One round of going down."""
        count_round(self.workspace, self.rules, self.statistics)
        batch = {name: taken(rows) for name, rows in self.falling.items() if rows}
        for name, rows in batch.items():
            self.falling[name] = []
            if self.plain:
                self.relations[name].hide(rows)
            else:
                self.relations[name].fall(rows)
        if self.plain:
            return
        for rule, position, relation in self.rules.recursive:
            if relation in batch and rule.label not in self.pending:
                self._run(rule, position, batch[relation], access, self._losing(rule))
        for name, rows in batch.items():
            self.relations[name].settle(rows)

    def up(self, access: Access) -> None:
        """Let dead rows come back that have other derivations."""
        batch = {name: taken(rows) for name, rows in self.dead.items() if rows}
        for name, rows in batch.items():
            self.dead[name] = []
            if self.quiet:
                batch[name] = self.relations[name].in_doubt(rows)
        for rule in self.rules.rules:
            if rule.relation in batch and rule.label not in self.pending:
                rows = batch[rule.relation]
                if not self.quiet:
                    codes = self.relations[rule.relation].codes(rows)
                    rows = rows[self.exchange.ask(rule, codes, rows.astype(np.int64))]
                self._run(rule, -1, rows, access, self._reviving(rule.relation))
        if not self.quiet and self._swap(access):
            self._swap()

    def _reviving(self, name: str) -> Sink:
        relation = self.relations[name]
        rank = self.workspace.clock + 1

        def revive(origins: Ints) -> None:
            rows = relation.revive(np.ascontiguousarray(origins[:, 0]), rank)
            self.statistics.revived += rows.shape[0]
            self._arrived(name, rows)

        return revive

    def _rise(self) -> None:
        if any(self.falling.values()):  # best rows were displaced in the kernel
            self._down(DOWN)
            self.up(PRESENT)
        while True:
            if self.lockstep:
                if not self.quiet:
                    self._swap()
                if self.affected and self._displace():
                    self._down(DOWN)
                    self.up(PRESENT)
                    continue
                if not self.agreed(any(self.fresh.values())):
                    return
            elif not any(self.fresh.values()):
                if self.quiet or not self._swap():
                    return
                continue
            if self.workspace.stops and self.agreed(self.statistics.rounds >= self.workspace.max_rounds):
                self._stop()
                return
            self._show()

    def _show(self) -> None:
        """One round of news."""
        count_round(self.workspace, self.rules, self.statistics)
        self.workspace.clock += 1
        rank = self.workspace.clock
        batch = {
            name: self.relations[name].show(taken(rows), rank) for name, rows in self.fresh.items() if rows
        }
        for name, rows in batch.items():
            self.fresh[name] = []
            if name in self.choosers:
                self.choosers[name].shown(rows)
                if self.ascending:
                    self.risen[name].append(rows)
        self.rules.grown(sum(rows.shape[0] for rows in batch.values()))
        for rule, position, relation in self.rules.recursive:
            if relation in batch:
                self._run(rule, position, batch[relation], round_access(rank), self._adding(rule))

    def _displace(self) -> bool:
        """Mark rows that are no longer best as falling and say so; else make the best wanted rows fresh."""
        wanted: dict[str, Rows] = {}
        displaced = repeated = False
        for name, chooser in self.choosers.items():
            affected = taken(self.affected[name]) if self.affected[name] else NO_ROWS
            wanted[name], gone = chooser.choose(affected)
            if self.ascending:
                self.relations[name].fall(gone)
                self.relations[name].settle(gone)
                continue
            if gone.shape[0]:
                displaced = True
                repeated |= self.displacements.repeated(self.relations[name], gone)
                self.falling[name].append(gone)
            self.affected[name] = [rows for rows in (wanted[name], gone) if rows.shape[0]]
        if not self.ascending and self._goes_down(displaced, repeated):
            for name, chooser in self.choosers.items():
                chooser.wait(wanted[name])
            return True
        for name, chooser in self.choosers.items():
            now, later = chooser.cheapest(wanted[name])
            chooser.wait(later)
            self.fresh[name] += [now] if now.shape[0] else []
            self.affected[name] = [later] if later.shape[0] else []
        return False

    def _goes_down(self, displaced: bool, repeated: bool) -> bool:
        """Whether any node has displaced rows; if a row was displaced too often, there is no end to it."""
        displaced, repeated = (found > 0 for found in self.totals(float(displaced), float(repeated)))
        if repeated:
            raise Unsettled
        return displaced

    @property
    def cost_of_sure_death(self) -> float:
        """What a row costs that dies for sure, in rows whose other derivations have to be looked for."""
        return COST_OF_SURE_DEATH

    def agreed(self, found: bool) -> bool:
        """Whether any node has found something."""
        return self.totals(float(found))[0] > 0

    def totals(self, *values: float) -> tuple[float, ...]:
        """The sums over all nodes."""
        return values if self.quiet else self.exchange.sums(*values)

    def _stop(self) -> None:
        """Leave it at what has been derived so far; what waits for its round is dropped, except for best rows whose
        predecessors are gone already."""
        self.statistics.stopped = True
        for name, rows in self.fresh.items():
            if rows and self.ascending and name in self.choosers:
                self.relations[name].show(taken(rows), self.workspace.clock)
            elif rows:
                self.relations[name].kill(taken(rows))

    # ------------------------------------------------------------------ other nodes

    def _swap(self, access: Access = PRESENT) -> bool:
        """Exchange with the other nodes; say whether anybody sent anything. Questions are looked up with `access`."""
        swapped = self.exchange.swap(self.workspace.clock, int(spent(self.statistics)))
        self.workspace.clock = swapped.clock
        for parcel in swapped.parcels:
            if parcel.kind == ADD:
                self._add(parcel.name, parcel.rows)
            elif parcel.kind == LOSE:
                self._lose(parcel.name, parcel.rows)
            elif parcel.kind == ANSWER:
                self._reviving(parcel.name)(parcel.rows)
            else:
                assert parcel.kind == ASK
                self._look_up(parcel, access)
        if swapped.spent > self.limit:
            raise GiveUp
        return swapped.any

    def _look_up(self, question: Parcel, access: Access) -> None:
        """Look for derivations of another node's dead rows: their codes, and as last column their numbers there."""
        rule = next(rule for rule in self.rules.rules if rule.label == question.name)
        numbers = np.ascontiguousarray(question.rows[:, -1])

        def found(origins: Ints) -> None:
            self.exchange.answer(rule.relation, numbers[origins[:, 0]], question.sender)

        self.statistics.derived(rule.label, self.rules.ask(rule, question.rows[:, :-1], access, found))

    # ------------------------------------------------------------------ pieces

    def _run(self, rule: CheckedRule, position: int, rows: Rows, access: Access, sink: Sink) -> None:
        with self._second_thread(rule, position, rows.shape[0]) as beside:
            found = self.rules.run(rule, position, rows, access, sink, beside)
        self.statistics.derived(rule.label, found - self.exchange.dropped())

    def _second_thread(
        self, rule: CheckedRule, position: int, rows: int
    ) -> AbstractContextManager[SecondThread | None]:
        """Where a run begins from many rows, and does not look at what it derives, another thread has part in it."""
        if rows < FEWEST_STARTS_HELPED or self.workspace.cores < 2 or self.rules.demanded:
            return NOBODY
        relation = self.relations[rule.relation]
        looked_at = any(
            isinstance(item, Premise) and item.relation == rule.relation and place != position
            for place, item in enumerate(rule.body)
        )
        return NOBODY if looked_at or relation.selected or not self.exchange.alone else SecondThread(relation)

    def _adding(self, rule: CheckedRule) -> Sink:
        return self.exchange.outward(rule, ADD, lambda tuples: self._add(rule.relation, tuples))

    def _add(self, name: str, tuples: Ints) -> None:
        self._arrived(name, self.relations[name].add(tuples, self.workspace.clock + 1))

    def _losing(self, rule: CheckedRule, *, before: bool = False) -> Sink:
        sink = self.exchange.outward
        return sink(rule, LOSE, lambda tuples: self._lose(rule.relation, tuples), before=before)

    def _lose(self, name: str, tuples: Ints) -> None:
        fallen = self.lose(self.relations[name], tuples)
        if fallen.dead.shape[0]:
            self.statistics.died += fallen.dead.shape[0]
            self.statistics.doubtful += fallen.doubtful
            self.dead[name].append(fallen.dead)
            if name in self.affected:
                self.affected[name].append(self.relations[name].leaders(fallen.dead))
        if fallen.falling.shape[0]:
            self.falling[name].append(fallen.falling)

    def _arrived(self, name: str, rows: Rows) -> None:
        if not self.quiet:  # other nodes do not send derivations that would not count
            self.relations[name].doubt(rows)
        if rows.shape[0] and name in self.affected:
            self.affected[name].append(rows)
        elif rows.shape[0] and name not in self.choosers:
            self.fresh[name].append(rows)


def spent(statistics: StratumStatistics) -> float:
    """What was spent on dead rows so far, in rows whose other derivations have to be looked for."""
    sure = statistics.died - statistics.doubtful
    return statistics.doubtful + COST_OF_SURE_DEATH * sure


def count_round(workspace: Workspace, rules: RuleSet, statistics: StratumStatistics) -> None:
    """Begin a round, unless there have been too many or somebody has interrupted."""
    workspace.pause()
    statistics.rounds += 1
    if statistics.rounds > workspace.max_rounds and not workspace.stops:
        names = ", ".join(sorted(rules.own))
        raise EvaluationError(
            "no-fixpoint",
            f"{names} did not come to rest in {workspace.max_rounds:,} rounds",
            place=_endless(rules),
            hint="bound what the recursion computes, use min<> or max<> for costs, or raise max_rounds;"
            " at_max_rounds='stop' keeps what was derived by then",
        )


def with_rank_0(codes: Ints) -> Ints:
    """Rows as derivations from lower strata alone."""
    return np.column_stack([codes, np.zeros(codes.shape[0], np.int64)])


def taken(rows: list[Rows]) -> Rows:
    """All the rows in a list of arrays, as one."""
    if len(rows) == 1:
        return rows[0]
    return np.concatenate(rows, out=empty((sum(some.shape[0] for some in rows),), np.int32))


def _endless(rules: RuleSet) -> Place | None:
    """Where a recursion that does not end most likely goes on: a rule of the cycle, if possible one that computes."""

    def weight(rule: CheckedRule) -> int:
        recursive = any(isinstance(item, Premise) and item.relation in rules.own for item in rule.body)
        return 2 * recursive + any(isinstance(item, Compute) for item in rule.body)

    placed = [rule for rule in rules.rules if rule.place is not None]
    return max(placed, key=weight).place if placed else None
