"""Strategies that keep provenance for every row of a recursion: the course of a version that they share.

What provenance is kept is the `Ledger`'s business: Boolean expressions over base rows (`absorption`), or the
graph of all rule instances (`relative`). What holds for both, between versions: a row is live exactly if its
ledger entry says that it can be derived, without going round in circles. They need no ranks and counts; those
in the relations mean nothing under them (`ranked` is false), and a checkpoint says so.

A version, for a stratum: the ledger is told which rows of lower strata are gone, and gives the rows that cannot
be derived any more; then instances with gained premises are found and entered, and what is new is propagated
round by round. Finding an instance twice does no harm. Where only the best rows of a group count, the choice of
a row is itself something that instances rest on: when the row is beaten, its choice is gone.

Strata without recursion are left to counting, which is exact there and far cheaper. A stratum whose provenance grows
beyond a limit (`TooLarge`), or whose best rows improve themselves (`Unsettled`), is left to ranked support for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from headwater.events import Recomputed, StrategyChanged, WhyChanged
from headwater.kernel.relation import Relation
from headwater.kernel.states import VISIBLE
from headwater.maintain.demanded import Demanded
from headwater.maintain.fixpoint import count_round
from headwater.maintain.selection import Displacements, Unsettled
from headwater.maintain.strategies.counting import Counting
from headwater.maintain.strategies.ledger import Ground, Instance, Ledger, TooLarge, chosen, looked_up
from headwater.maintain.strategies.strategy import Strategy, Task
from headwater.maintain.strategies.support import Support
from headwater.maintain.workspace import NO_CHANGE, NO_ROWS, Rows, RuleSet, Workspace
from headwater.plan.access import EARLIER, PRESENT, Access
from headwater.plan.instances import Instances, Unprojected
from headwater.plan.steps import Ints
from headwater.rules.checked import CheckedRule, Stratum


class Annotated(Strategy):
    """A strategy that keeps a ledger. It is `ranked` once it has left the stratum to ranked support."""

    def __init__(self, name: str, ledger: Ledger):
        self.name = name
        self.ledger = ledger
        self.ranked = False
        self._was_ranked = False
        self._counting = Counting()
        self._support = Support()
        self._whole: WholeRules | None = None
        self._ready = False
        self._was_ready = False

    def refuses(self, stratum: Stratum) -> str | None:
        return None

    def derive(self, task: Task) -> None:
        """Derive the stratum with its provenance, if it is recursive."""
        if task.rules.stratum.recursive:
            self.refresh(task)
        else:
            super().derive(task)

    def refresh(self, task: Task) -> None:
        """Bring the stratum up to date; the first time, and after a stop at the limit of rounds, from scratch."""
        if not task.rules.stratum.recursive:
            task.statistics.strategy = self._counting.name
            self._counting.refresh(task)
            return
        if self.ranked:
            task.statistics.strategy = self._support.name
            self._support.refresh(task)
            return
        try:
            self._follow(task)
        except TooLarge:
            self._leave(task, "too-large")
        except Unsettled:
            self._leave(task, "improves-itself")

    def _follow(self, task: Task) -> None:
        if self._whole is None or self._whole.stratum is not task.rules.stratum:
            self._whole = WholeRules(task.workspace, task.rules.stratum)
        version = AnnotatedVersion(task, self._whole, self.ledger)
        task.before_change(task.rules.own)
        if self._ready:
            version.change()
        else:
            if task.stored():
                task.events.append(Recomputed(tuple(sorted(task.rules.own)), "no-provenance"))
            version.from_scratch()
        self._ready = not task.statistics.stopped

    def _leave(self, task: Task, why: WhyChanged) -> None:
        """Leave the stratum to ranked support. (What the ledger holds is dropped once the version stands.)"""
        self.ranked = True
        task.statistics.strategy = self._support.name
        names = tuple(sorted(task.rules.own))
        task.events.append(StrategyChanged(names, self.name, self._support.name, why))
        task.from_scratch()

    def following(
        self, new: Strategy, before: Stratum, now: Stratum, *, lost: bool, choosing: bool
    ) -> Strategy | None:
        """Provenance goes on where the stratum stays recursive, and a lost rule's part of it is known, or what may
        rest on that part can be found: not where rows rest on choices, or on aggregates by demand."""
        if not before.recursive and not now.recursive:
            return new
        if not before.recursive or not now.recursive:
            return None
        if self.ranked or not lost or self.ledger.forgets:
            return self
        asking = any(rule.aggregate is not None for rule in (*before.rules, *now.rules))
        return None if choosing or asking else self

    def describe(self, stratum: Stratum) -> str:
        """The strategy, and what it keeps."""
        if self.ranked:
            return f"{self.name}, left to {self._support.describe(stratum)}"
        return f"{self.name}, {self.ledger.describe() if stratum.recursive else 'by counting'}"

    def commit(self) -> None:
        """Keep what the version did."""
        if self.ranked:
            self.ledger.clear()
        self.ledger.commit()
        self._was_ready, self._was_ranked = self._ready, self.ranked

    def rollback(self) -> None:
        """Take back what the version did; without memory for that, provenance is derived anew when it is needed."""
        self._ready, self.ranked = self._was_ready, self._was_ranked
        try:
            self.ledger.rollback()
        except MemoryError:
            self.ledger.clear()
            self._ready = self._was_ready = False


class WholeRules:
    """A stratum's rules without projection, run forwards from given rows."""

    def __init__(self, workspace: Workspace, stratum: Stratum):
        self.stratum = stratum
        self._rules = {
            rule.label: Unprojected.of(rule, workspace.planner)
            for rule in stratum.rules
            if rule.aggregate is None
        }
        whole = tuple(
            self._rules[rule.label].whole if rule.label in self._rules else rule for rule in stratum.rules
        )
        self.rules = RuleSet(workspace, replace(stratum, rules=whole))

    def run(
        self,
        rule: CheckedRule,
        position: int,
        rows: Rows,
        take: Callable[[Instance], None],
        access: Access = PRESENT,
    ) -> int:
        """Hand all instances of a rule that use one of the given rows at a body position to `take`."""
        demanded = self.rules.demanded.get(rule.label)
        if demanded is not None:
            return self.rules.run(
                rule, position, rows, access, lambda found: _looked_up(demanded, found, take)
            )
        unprojected = self._rules[rule.label]
        start = unprojected.premise_at(position)

        def sink(bindings: Ints) -> None:
            for found in unprojected.derivations(bindings, unprojected.heads(bindings)):
                premises = [Ground(*key) for key in found.premises]
                premises += [Ground(*key, absent=True) for key in found.absent]
                take(Instance(rule.label, Ground(*found.head), tuple(premises), start))

        return self.rules.run(rule, position, rows, access, sink)


def _looked_up(demanded: Demanded, found: Ints, take: Callable[[Instance], None]) -> None:
    """An aggregate by demand rests on the row that asks for it and on its value."""
    label, relation = demanded.rule.label, demanded.rule.relation
    for row, asking in zip(found[:, :-1].tolist(), demanded.asking(found).tolist(), strict=True):
        head = Ground(relation, tuple(row))
        premises = (Ground(demanded.relation, tuple(asking)), looked_up(relation, head.codes))
        take(Instance(label, head, premises, 0))


class AnnotatedVersion:
    """One stratum in one version."""

    def __init__(self, task: Task, whole: WholeRules, ledger: Ledger):
        self.task = task
        self.whole = whole
        self.ledger = ledger
        self.relations = {name: task.workspace.relations[name] for name in task.rules.own}
        self.affected: dict[str, list[Rows]] = {name: [] for name in task.choosers}
        self.displacements = Displacements()
        self.doubtful: list[Ground] = []
        """Rows that may have rested on a rule that is gone, and of which nothing is known until they are derived
        again."""

    def change(self) -> None:
        """From the stratum as it was before the version to what it is after it."""
        deltas, redefined = self.task.deltas, self.task.redefined
        pending = frozenset[str]() if redefined is None else redefined.gained
        if redefined is not None and redefined.lost is not None:
            self._lose_rules(redefined.lost, pending)
        gone: dict[Ground, None] = {}
        for _, _, relation, negated in self.whole.rules.lower:
            delta = deltas.get(relation, NO_CHANGE)
            for codes in self._codes(relation, delta.gained if negated else delta.lost):
                gone[Ground(relation, codes, negated)] = None
        rules = self.whole.rules
        differing = [(demanded, rules.differing(demanded, deltas)) for demanded in rules.demanded.values()]
        for demanded, found in differing:
            for row in found.lost[:, :-1].tolist():
                gone[looked_up(demanded.rule.relation, tuple(row))] = None
        self._lose(gone)
        self._derive_doubtful()
        for rule, position, relation, negated in self.whole.rules.lower:
            delta = deltas.get(relation, NO_CHANGE)
            rows = delta.lost if negated else delta.gained
            if rows.shape[0] and rule.label not in pending:
                self._run(rule, position, rows)
        for rule in rules.rules:
            if rule.label in pending:
                position = rules.smallest_premise(rule)
                self._run(rule, position, rules.premise_relation(rule, position).live_rows())
        for demanded, found in differing:
            self._run(demanded.rule, demanded.position, found.asking[demanded.standing(found.asking)])
        self._rise()
        self._take_down([row for row in self.doubtful if not self.ledger.derivable(row)], 0)

    def _lose_rules(self, lost: RuleSet, pending: frozenset[str]) -> None:
        """Take back the instances that rules had which are gone, from what they saw when the version began."""
        whole = WholeRules(lost.workspace, lost.stratum)
        found: list[Instance] = []
        for rule in whole.rules.rules:
            position = whole.rules.smallest_premise(rule)
            rows = whole.rules.premise_relation(rule, position).earlier_rows()
            count = whole.run(
                rule, position, rows, lambda one: found.append(self._with_choices(one)), EARLIER
            )
            self.task.statistics.derived(rule.label, count)
        if self.ledger.forgets:
            self._take_down(*self.ledger.forget(found))
            return
        self.doubtful = self._reached((one.head for one in found), pending)
        self.task.statistics.touched += self.ledger.release(self.doubtful)

    def _reached(self, heads: Iterable[Ground], pending: frozenset[str]) -> list[Ground]:
        """These rows, and all that was derived from them when the version began: by rules that are still there, since
        those of lost rules are among them."""
        reached = dict.fromkeys(heads)
        batch = list(reached)
        while batch:
            rows = {
                name: self.relations[name].find(codes) for name, codes in self._by_relation(batch).items()
            }
            batch = []

            def take(instance: Instance, more: list[Ground] = batch) -> None:
                if instance.head not in reached:
                    reached[instance.head] = None
                    more.append(instance.head)

            for rule, position, name in self.whole.rules.recursive:
                if name in rows and rule.label not in pending:
                    count = self.whole.run(rule, position, rows[name], take, EARLIER)
                    self.task.statistics.derived(rule.label, count)
        return list(reached)

    def _derive_doubtful(self) -> None:
        """Find the instances of doubtful rows that rest on no other doubtful row; what follows from these is found
        from there on. The rows stay where they are meanwhile: whatever rests on one of which nothing is known is not
        entered."""
        if not self.doubtful:
            return
        workspace = self.task.workspace
        known = Instances(
            [self.whole.stratum],
            workspace.relations,
            workspace.infos,
            workspace.planner,
            workspace.interrupts.check,
        )
        for name, codes in self._by_relation(self.doubtful).items():
            found, _ = known.of(name, [tuple(row) for row in codes.tolist()])
            for derivation in found:
                premises = [Ground(*key) for key in derivation.premises]
                premises += [Ground(*key, absent=True) for key in derivation.absent]
                self._enter(Instance(derivation.rule.label, Ground(*derivation.head), tuple(premises), -1))
            self.task.statistics.touched += len(found)

    def from_scratch(self) -> None:
        """Forget what is known and derive everything from what lower strata hold now."""
        self.ledger.clear()
        for relation in self.relations.values():
            relation.kill_all()
        for rule, position in self.whole.rules.starts():
            relation = self.task.workspace.relations[rule.body[position].relation]  # type: ignore[union-attr]
            self._run(rule, position, relation.live_rows())
        self._rise()

    # ------------------------------------------------------------------ rounds

    def _rise(self) -> None:
        statistics = self.task.statistics
        while True:
            if self._waiting() and self._at_limit():
                statistics.stopped = True
                return
            batch = self._shown(self.ledger.news())
            if not batch and not self.ledger.waiting():
                return
            count_round(self.task.workspace, self.task.rules, statistics)
            for rule, position, name in self.whole.rules.recursive:
                if name in batch:
                    self._run(rule, position, batch[name])

    def _waiting(self) -> bool:
        """Whether there are rows to be shown, or groups that may want another best row."""
        return self.ledger.waiting() or any(rows.shape[0] for some in self.affected.values() for rows in some)

    def _at_limit(self) -> bool:
        workspace = self.task.workspace
        return workspace.stops and self.task.statistics.rounds >= workspace.max_rounds

    def _shown(self, news: list[Ground]) -> dict[str, Rows]:
        """Make rows visible that are to be: all derivable ones, or the best of each group. Return which of the
        news are visible now: theirs are the consequences to look for."""
        rows: dict[str, Rows] = {}
        for name, codes in self._by_relation(news).items():
            relation = self.relations[name]
            tuples = np.zeros((codes.shape[0], relation.arity + 1), np.int64)
            tuples[:, : relation.arity] = codes
            rank = self.task.workspace.clock + 1
            fresh = relation.add(tuples, rank)
            rows[name] = relation.find(codes)
            if name in self.affected:
                self.affected[name].append(fresh)
            else:
                relation.show(fresh, rank)
        if not self.task.choosers:
            return rows
        self._choose(rows)
        visible = {
            name: found[(self.relations[name].state[found] & VISIBLE) != 0] for name, found in rows.items()
        }
        return {name: found for name, found in visible.items() if found.shape[0]}

    def _choose(self, rows: dict[str, Rows]) -> None:
        """Let the best rows of all affected groups be seen, and no others; add the newly seen to `rows`."""
        while True:
            wanted: dict[str, Rows] = {}
            displaced: dict[str, Rows] = {}
            for name, chooser in self.task.choosers.items():
                touched = np.concatenate([NO_ROWS, *self.affected[name]])
                wanted[name], displaced[name] = chooser.choose(touched)
                chooser.wait(wanted[name])
                self.affected[name] = [wanted[name], displaced[name]]
            if not any(gone.shape[0] for gone in displaced.values()):
                break
            gone: list[Ground] = []
            for name, found in displaced.items():
                if self.displacements.repeated(self.relations[name], found):
                    raise Unsettled
                self.relations[name].fall(found)
                self.relations[name].settle(found)
                gone += [chosen(Ground(name, codes)) for codes in self._codes(name, found)]
            self._lose(gone)
        self.task.workspace.clock += 1
        for name, chooser in self.task.choosers.items():
            self.affected[name] = []
            shown = self.relations[name].show(wanted[name], self.task.workspace.clock)
            chooser.shown(shown)
            for codes in self._codes(name, shown):
                self.ledger.announce(Ground(name, codes))
            rows[name] = np.unique(np.concatenate([rows.get(name, NO_ROWS), shown])).astype(np.int32)

    # ------------------------------------------------------------------ pieces

    def _run(self, rule: CheckedRule, position: int, rows: Rows) -> None:
        found = self.whole.run(rule, position, rows, lambda one: self._enter(self._with_choices(one)))
        self.task.statistics.derived(rule.label, found)

    def _enter(self, instance: Instance) -> None:
        """Take note of an instance, unless it rests on a row of the stratum that cannot be derived."""
        own = self.task.rules.own
        if all(key.relation not in own or self.ledger.derivable(key) for key in instance.premises):
            self.ledger.enter(instance)

    def _with_choices(self, instance: Instance) -> Instance:
        """The instance resting also on the choice of premises of which only the best count."""
        selected = self.task.choosers
        choices = [chosen(key) for key in instance.premises if key.relation in selected]
        if not choices:
            return instance
        return Instance(instance.rule, instance.head, (*instance.premises, *choices), instance.position)

    def _lose(self, gone: Iterable[Ground]) -> None:
        """Tell the ledger, and take down what falls."""
        self._take_down(*self.ledger.lose(gone))

    def _take_down(self, dead: Sequence[Ground], seen: int) -> None:
        """Take down rows that cannot be derived any more; `seen` entries of the ledger were looked at for them."""
        self.task.statistics.touched += seen
        self.ledger.lose([chosen(row) for row in dead if row.relation in self.affected])
        for name, codes in self._by_relation(dead).items():
            relation = self.relations[name]
            fallen = relation.kill(relation.find(codes))
            relation.fall(fallen.falling)
            relation.settle(fallen.falling)
            self.task.statistics.died += fallen.dead.shape[0]
            if name in self.affected:
                self.affected[name].append(fallen.dead)

    def _codes(self, name: str, rows: Rows) -> list[tuple[int, ...]]:
        relation: Relation = self.task.workspace.relations[name]
        return [tuple(codes) for codes in relation.codes(rows).tolist()]

    def _by_relation(self, keys: Iterable[Ground]) -> dict[str, Ints]:
        found: dict[str, list[tuple[int, ...]]] = {}
        for key in keys:
            found.setdefault(key.relation, []).append(key.codes)
        return {
            name: np.array(codes, np.int64).reshape(len(codes), self.relations[name].arity)
            for name, codes in found.items()
        }
