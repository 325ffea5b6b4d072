"""All strata of a program over one set of relations: changes in, changes out, a version at a time.

`define` and `apply` work on the relations in place; the engine takes part in the version that does so. Rows are
matrices of codes throughout; what they mean is known further up.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Collection, Iterable, Mapping, Set
from functools import partial

import numpy as np

from headwater.errors import OutOfMemory
from headwater.events import (
    IMPROVES_ITSELF,
    Compacted,
    Reason,
    Stopped,
)
from headwater.kernel.memory import first_load
from headwater.kernel.relation import CHUNK, Relation
from headwater.maintain.definition import Definition, following
from headwater.maintain.followed import FollowedStratum
from headwater.maintain.grouping import Grouping
from headwater.maintain.merging import lift_merged
from headwater.maintain.mostly_gone import mostly_gone
from headwater.maintain.noticed import choices, derived_again, looks
from headwater.maintain.strategies.strategy import Strategy, Task
from headwater.maintain.unstored import Before, UnstoredViews, to_write
from headwater.maintain.view import View
from headwater.maintain.workspace import NO_CHANGE, Delta, Left, Workspace
from headwater.plan.instances import Instances
from headwater.plan.steps import Ints
from headwater.rules.checked import Checked
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.row_change import Replacement, RowChange, StoredChange, composed
from headwater.version.statistics import StratumStatistics, VersionStatistics
from headwater.version.version import Version


class Engine:
    """The relations and views of a database."""

    def __init__(
        self,
        codec: Codec,
        functions: Functions,
        *,
        strategy: str = "support",
        max_rounds: int = 1_000_000,
        at_max_rounds: str = "raise",
    ):
        self.workspace = Workspace(codec, functions, max_rounds, at_max_rounds)
        self.strategy = strategy
        self.unstored = UnstoredViews(self.workspace, partial(_beside, self.workspace))
        self._take(Definition())
        self.changed: set[str] = set()
        """Relations touched since whoever empties this set did so last."""
        self._touched: dict[str, None] = {}
        self._groupings: list[Grouping] = []
        self._refreshed: list[Strategy] = []
        self._anew: list[tuple[View, Reason | None]] = []
        self._read: Set[str] = frozenset()
        self._deltas: dict[str, Delta] = {}
        self._replaced: dict[str, Relation] = {}
        self._mostly_gone: Mapping[str, Left] = {}
        """Relations that new ones take the place of in the present transition: those who read them are derived anew
        too."""
        self._told: dict[str, RowChange] = {}
        """What the open version did, once somebody has asked."""
        self._unresolved: dict[str, list[weakref.ref[RowChange]]] = {}
        """Changes of earlier versions that are worked out before their relation is changed."""
        self._defined: Definition | None = None
        """What was defined when the version began, if it has defined something else."""
        self._settled: Definition | None = None
        """A definition all of whose views are up to date with their rules."""
        self._clock = 0
        """The time of the clock when the version began."""
        self._watched: dict[str, RowChange] = {}
        """What the transitions before the present one did to watched views."""
        self._proceeded = False
        """Whether the open version has had more than one transition."""

    # ------------------------------------------------------------------ definition

    def define(self, checked: Checked, anew: Collection[str] = ()) -> None:
        """Take on a program. Views whose rules and inputs are as before keep their rows; `apply` derives the others,
        and those of `anew`, once it has changed the base relations. Base relations are kept.
        """
        workspace, known = self.workspace, self._definition
        earlier = Definition(
            known.checked, dict(workspace.relations), workspace.infos, known.views, known.readers
        )
        if self._defined is None:
            self._defined = earlier
        self._take(following(earlier, checked, workspace, self.strategy, anew))

    def _take(self, definition: Definition) -> None:
        """Go by a definition, whose relations the workspace has."""
        self._definition = definition
        self.checked, self.views = definition.checked, definition.views
        self.workspace.resized += 1
        self.unstored.defined(definition.checked, definition.views)
        self._read = definition.read()

    def _restore(self, definition: Definition) -> None:
        """Go back to what was defined before; rows are as they were."""
        self._take(definition)
        self.workspace.infos = definition.infos
        self.workspace.relations.clear()
        self.workspace.relations.update(definition.relations)

    # ------------------------------------------------------------------ versions

    def apply(
        self,
        delete: Mapping[str, Ints],
        insert: Mapping[str, Ints],
        statistics: VersionStatistics,
        possible: Iterable[str] = (),
    ) -> None:
        """Change base relations, deletes before inserts; bring every view up to date, and derive those that are new.

        `possible` names further base relations that may change on other nodes, if there are any.
        """
        deltas = self._deltas
        changing = {*delete, *insert, *possible}
        for name in dict.fromkeys((*delete, *insert)):
            self._resolve((name,))
            relation = self.workspace.relations[name]
            self._touched[name] = None
            no_ops = self._delete(relation, delete[name]) if name in delete else 0
            no_ops += self._insert(relation, insert[name]) if name in insert else 0
            deltas[name] = Delta(*relation.change())
            self.workspace.look_at_size(name)
            statistics.count_base(name, deltas[name].gained.shape[0], deltas[name].lost.shape[0], no_ops)
        defined = None if self._proceeded else self._defined
        before = Before(self.checked if defined is None else defined.checked, self._at_start, deltas)
        steps = self.unstored.begin(before, self.checked, whole=self._defined is not None)
        if steps is None:
            known = self._definition
            concerned = known.concerned(changing, settled=self._settled is known)
            if not self._proceeded and self._defined is None:
                self._mostly_gone = mostly_gone(concerned, known, deltas, self.workspace)
            for each in concerned:
                self._bring_up(each, statistics)
            self._settled = known
            return
        for step in steps:
            view = step.view
            if view is None or step.propagated:
                self._propagate(step, before, statistics)
                changing.update(step.stratum.relations)
                continue
            if view.derived and view.redefined is None and changing.isdisjoint(view.rules.inputs):
                continue
            changing.update(view.rules.own)
            self._bring_up(view, statistics)

    def _bring_up(self, view: View, statistics: VersionStatistics) -> None:
        """Bring a view up to date, if what it reads has changed, or its rules."""
        if not view.derived:
            self._refresh(view, None, statistics)
        elif view.redefined is not None or self._concerns(view, self._deltas):
            self._refresh(view, self._deltas, statistics)
        else:
            return
        self._tell_deltas(view)

    def _propagate(self, step: FollowedStratum, before: Before, statistics: VersionStatistics) -> None:
        """Compute the changes of a stratum without its rows, and change what is stored of it."""
        view, queries = step.view, self.unstored.concerns(step.stratum)
        stored = () if view is None else view.stratum.relations
        if view is not None and not view.derived:
            self._refresh(view, None, statistics)
            self._tell_deltas(view)
            stored = ()
            if len(view.stratum.relations) == len(step.stratum.relations):
                return
        if queries is None:
            return
        found = self.unstored.follow(step.stratum, queries, before, statistics)
        for name in stored:
            self._resolve((name,))
            relation = self.workspace.relations[name]
            self._touched[name] = None
            delete, insert = to_write(relation, found[name])
            self._delete(relation, delete)
            self._insert(relation, insert)
        if view is not None and stored:
            self._tell_deltas(view)

    def _tell_deltas(self, view: View) -> None:
        """Take note of what has become of a view's relations, for those that read them."""
        workspace, same = self.workspace, not self._replaced and self._defined is None
        for name in view.stratum.relations:
            relation = workspace.relations[name]
            workspace.look_at_size(name)
            if same or self._at_start(name) in (None, relation):
                self._deltas[name] = Delta(*relation.change())

    def _write_whole(self, view: View) -> None:
        """Derive a view that reads views which are not stored, in its place."""
        self._resolve(view.stratum.relations)
        for name, rows in self.unstored.whole(self.checked, view.stratum.relations).items():
            relation = self.workspace.relations[name]
            relation.kill_all()
            self._insert(relation, rows)

    def proceed(self) -> None:
        """End a transition of the open version: what comes next is a change of what is there now. The version is kept
        or undone as a whole all the same."""
        for name in self._touched:
            self.workspace.relations[name].proceed()
        self._watched = self._all_watched()
        self._deltas, self._mostly_gone, self._proceeded = {}, {}, True
        self.unstored.close()

    def transition(self) -> dict[str, RowChange]:
        """What the present transition did to every relation that differs."""
        if not self._proceeded:
            return self.changes()
        relations = self.workspace.relations
        return {
            name: StoredChange(relations[name], delta.lost, delta.gained)
            for name, delta in self._deltas.items()
            if delta.lost.shape[0] or delta.gained.shape[0]
        } | self.unstored.told(self.checked)

    def _all_watched(self) -> dict[str, RowChange]:
        """What the transitions so far did to watched views."""
        told = self.unstored.told(self.checked)
        return composed(self._watched, told) if self._watched else told

    def _at_start(self, name: str) -> Relation | None:
        """The relation that had the name when the present transition began."""
        return self.workspace.relations.get(name) if self._proceeded else self._earlier(name)

    def _earlier(self, name: str) -> Relation | None:
        """The relation that had the name when the version began; another one is read by none that keeps its rows."""
        if name in self._replaced:
            return self._replaced[name]
        known = self.workspace.relations if self._defined is None else self._defined.relations
        return known.get(name)

    def _concerns(self, view: View, deltas: Mapping[str, Delta]) -> bool:
        """Whether anything that the view reads has changed, here or on a node that works on it too."""
        found = False
        for name in view.rules.inputs:
            delta = deltas.get(name, NO_CHANGE)
            if delta is not NO_CHANGE and (delta.lost.shape[0] or delta.gained.shape[0]):
                found = True
                break
        else:
            found = not self._mostly_gone.keys().isdisjoint(view.rules.inputs)
        exchange = self.workspace.exchange
        if exchange.alone or exchange.quiet(view.rules.rules):
            return found
        return exchange.sums(float(found))[0] > 0

    @staticmethod
    def _delete(relation: Relation, rows: Ints) -> int:
        """Delete rows; return how many were not there."""
        return int(rows.shape[0] - relation.delete(rows))

    @staticmethod
    def _insert(relation: Relation, rows: Ints) -> int:
        """Insert rows; return how many were there already."""
        there_already = int(rows.shape[0])
        for start in range(0, rows.shape[0], CHUNK):
            some = rows[start : start + CHUNK]
            tuples = np.zeros((some.shape[0], relation.arity + 1), np.int64)
            tuples[:, : relation.arity] = some
            there_already -= int(relation.insert(tuples, 0).shape[0])
        return there_already

    def _refresh(self, view: View, deltas: dict[str, Delta] | None, statistics: VersionStatistics) -> None:
        """Bring a view up to date; without deltas, from scratch."""
        cost = StratumStatistics(view.stratum.relations, view.strategy.name)
        spectator = self.workspace.spectator
        try:
            if spectator.looks_on:
                with spectator.over(cost):
                    self._follow(view, deltas, cost, statistics)
            else:
                self._follow(view, deltas, cost, statistics)
        except OutOfMemory as error:
            if error.place is not None:
                raise
            message = f"{error.message}, while {', '.join(view.stratum.relations)} was derived"
            place = view.stratum.rules[0].place
            raise OutOfMemory(error.code, message, place=place, hint=error.hint) from error

    def _follow(
        self,
        view: View,
        deltas: dict[str, Delta] | None,
        cost: StratumStatistics,
        statistics: VersionStatistics,
    ) -> None:
        started = time.perf_counter()
        statistics.strata.append(cost)
        for name in view.stratum.relations:
            self._touched[name] = None
        if deltas is None:
            statistics.events += derived_again(view, self.workspace)
        if view.redefined is not None and deltas is not None:
            lift_merged(view.redefined, self.workspace)
        executor = self.workspace.executor
        before, scans = executor.touched, executor.scans.copy()
        executor.near.keep()
        try:
            if view.grouping is not None:
                self._by_groups(view, view.grouping, deltas, cost)
            elif view.propagated:
                self._write_whole(view)
            else:
                self._by_strategy(view, deltas, cost, statistics)
        finally:
            executor.near.forget()
        if view.choosers:
            cost.touched += choices(view, None if deltas is None else statistics.events)
        cost.touched += executor.touched - before
        if view.redefined is not None and view.redefined.lost is not None:
            cost.touched += view.redefined.lost.workspace.executor.touched
        view.redefined = None
        cost.seconds = time.perf_counter() - started
        if deltas is not None and (executor.built or executor.scans != scans):
            statistics.events += looks(view, self.workspace, scans)
        executor.built.clear()
        view.derived = True

    def _by_groups(
        self, view: View, grouping: Grouping, deltas: dict[str, Delta] | None, cost: StratumStatistics
    ) -> None:
        """Bring aggregates up to date: those of the groups that the deltas are about, or all."""
        self._resolve(view.stratum.relations)
        if grouping not in self._groupings:
            self._groupings.append(grouping)
        cost.strategy = "grouping"
        if deltas is None or view.strategy.name == "recompute":
            grouping.from_scratch(view.rules, cost)
        else:
            grouping.change(view.rules, deltas, cost, view.redefined)

    def _by_strategy(
        self,
        view: View,
        deltas: dict[str, Delta] | None,
        cost: StratumStatistics,
        statistics: VersionStatistics,
    ) -> None:
        """Let the view's strategy bring it up to date, or derive it."""
        replaced = bool(self._mostly_gone) and view.rules.own <= self._mostly_gone.keys()
        droppable = replaced or (not self._proceeded and self._read.isdisjoint(view.rules.own))
        task = Task(
            self.workspace,
            view.rules,
            view.choosers,
            deltas or {},
            cost,
            statistics.events,
            self._replaced if droppable else None,
            self._mostly_gone,
            self._resolve,
            view.redefined,
        )
        if view.strategy not in self._refreshed:
            self._refreshed.append(view.strategy)
        if deltas is None:
            view.strategy.derive(task)
        elif view.anew == IMPROVES_ITSELF:
            task.iterate()
        elif view.anew is not None:
            task.recompute(view.anew)
        elif replaced:
            task.recompute("large-change", mostly_new=True)
        else:
            view.strategy.refresh(task)
        self._anew.append((view, view.anew))
        view.anew = "was-stopped" if cost.stopped else IMPROVES_ITSELF if cost.iterated else None
        if cost.stopped:
            statistics.events.append(Stopped(view.stratum.relations, cost.rounds))

    def instances(self) -> Instances:
        """The derivations of the rows that are there now, for those who look for them."""
        strata = [view.stratum for view in self.views]
        workspace = self.workspace
        return Instances(
            strata, workspace.relations, workspace.infos, workspace.planner, workspace.interrupts.check
        )

    def improving(self) -> bool:
        """Whether there are views whose best rows improve themselves."""
        return any(view.improves_itself for view in self.views)

    def instances_on_the_way(self) -> Instances:
        """As `instances`; in views whose best rows improve themselves, also those of the rows that were displaced on
        the way to the best, on which these rest. Derives such views again, beside their rows."""
        workspace = self.workspace
        present, clock = dict(workspace.relations), workspace.clock
        try:
            for view in self.views:
                if view.improves_itself:
                    for name in view.stratum.relations:
                        old = present[name]
                        workspace.relations[name] = Relation(
                            name, old.arity, selected=old.selected, room=old.room
                        )
                    cost = StratumStatistics(view.stratum.relations, view.strategy.name)
                    Task(workspace, view.rules, view.choosers, {}, cost, []).ascend()
            return self.instances()
        finally:
            workspace.relations.update(present)
            workspace.clock = clock

    def unranked(self) -> set[str]:
        """Relations whose ranks and counts say nothing, since their strategy does not keep them."""
        return {
            name for view in self.views
            if (view.stratum.recursive or view.propagated) and not view.strategy.ranked
            for name in view.stratum.relations
        }  # fmt: skip

    def derive(self, view: View) -> None:
        """Derive a view from relations that were loaded whole; commits."""
        version = Version(0, 0.0)
        self._refresh(view, None, version.statistics)
        self.commit(version)

    def changes(self) -> dict[str, RowChange]:
        """What the open version has done to every relation that differs, and to views that it took away."""
        if self._stays_as_defined():
            return self._changes_in_place()
        self._told = {}
        for name, ended in self._ended().items():
            now = self.workspace.relations.get(name) or Relation(name, ended.arity)
            self._told[name] = Replacement(ended, now)
        for name in self._touched:
            relation = self.workspace.relations[name]
            told = self.unstored.stored_now(name, relation.matrix, self.checked)
            if told is not None:
                self._told |= {name: told} if any(told.counts) else {}
                continue
            old = self._earlier(name)
            if name in self._told and old is not relation:
                continue
            if old is not None and old.arity != relation.arity:
                continue  # it has other columns: no row is what it was
            if old is not None and old is not relation:
                self._told[name] = Replacement(old, relation)
                continue
            delta = None if self._proceeded else self._deltas.get(name)
            delta = delta or Delta(*relation.whole_change())
            if delta.lost.shape[0] or delta.gained.shape[0]:
                self._told[name] = StoredChange(relation, delta.lost, delta.gained)
        for name, change in self._all_watched().items():
            info = self.checked.unstored.relations.get(name)
            told = change if info is None else change.restricted(info.told)
            if not told.counted or any(told.counts):
                self._told[name] = told
        return dict(self._told)

    def _stays_as_defined(self) -> bool:
        """Whether the open version is one transition of relations that are what they were, all of them stored."""
        same = self._defined is None and not self._replaced and not self._proceeded
        return same and not self.checked.unstored.relations and not self.checked.followed

    def _changes_in_place(self) -> dict[str, RowChange]:
        """What it has done then: what is known of each relation already."""
        self._told, relations = {}, self.workspace.relations
        for name in self._touched:
            delta = self._deltas.get(name) or Delta(*relations[name].change())
            if delta.lost.shape[0] or delta.gained.shape[0]:
                self._told[name] = StoredChange(relations[name], delta.lost, delta.gained)
        return dict(self._told)

    def _ended(self) -> dict[str, Relation]:
        """The views that were there when the version began, and are not, or are base relations with as many codes."""
        if self._defined is None or self._defined.infos is self.workspace.infos:
            return {}
        found, now = {}, self.workspace.infos
        for name, info in self._defined.infos.items():
            if info.base or info.internal or (name in now and not now[name].base):
                continue
            if name in self.checked.unstored.relations:
                continue
            old = self._defined.relations[name]
            if old.visible and (name not in now or now[name].layout.code_arity == old.arity):
                found[name] = old
        return found

    def prepare(self) -> None:
        """Get ready to commit, while the version can still be refused: a commit takes no memory to speak of."""
        for name in self._touched:
            self.workspace.relations[name].prepare()
        for grouping in self._groupings:
            grouping.groups.prepare()

    def commit(self, version: Version) -> None:
        """Keep what the open version did."""
        statistics = version.statistics
        self.changed.update(self._touched)
        if self._defined is not None:
            before, now = self._defined.relations, self.workspace.relations
            if before != now:
                self.changed.update(name for name in before if now.get(name) is not before[name])
        workspace = self.workspace
        for name in self._touched:
            relation = workspace.relations[name]
            stored = relation.stored
            if relation.commit():
                statistics.events.append(Compacted(name))
            if relation.stored != stored:
                workspace.look_at_size(name)
        for grouping in self._groupings:
            grouping.commit()
        for strategy in self._refreshed:
            strategy.commit()
        for name, change in self._told.items():
            for below in (name, *change.rests_on) if change.rests_on else (name,):
                held = self._unresolved.get(below, ())
                known = [one for one in held if one() is not None] if held else []
                self._unresolved[below] = [*known, weakref.ref(change)]
        statistics.memory = self.workspace.budget.recent_use
        self._close()
        if first_load.ending:
            workspace.executor.free_buffers()

    def rollback(self) -> None:
        """Undo what the open version did, at the cost of what it did, and without memory for it.

        Changes that somebody still holds, and that nobody has looked at, say so from now on.
        """
        for change in self._told.values():
            change.revoke()
        for name in self._touched:
            if name in self._replaced:
                self.workspace.relations[name] = self._replaced[name]
            self.workspace.relations[name].rollback()
            self.workspace.look_at_size(name)
        for grouping in self._groupings:
            grouping.rollback()
        for strategy in self._refreshed:
            strategy.rollback()
        for view, anew in reversed(self._anew):
            view.anew = anew
        if self._defined is not None:
            self._restore(self._defined)
        self.workspace.executor.built.clear()
        self.workspace.clock = self._clock
        self._close()

    def _close(self) -> None:
        self._touched.clear()
        self._groupings.clear()
        self._refreshed.clear()
        self._anew.clear()
        self._deltas = {}
        self._told = {}
        self._replaced.clear()
        self._mostly_gone = {}
        self._defined, self._proceeded, self._watched = None, False, {}
        self._clock = self.workspace.clock
        self.unstored.close()

    def _resolve(self, names: Iterable[str]) -> None:
        """Work out changes that somebody may still ask for, before these relations are changed."""
        for name in names:
            for held in self._unresolved.get(name, ()):
                change = held()
                if change is not None:
                    change.resolve()
            self._unresolved.pop(name, None)


def _beside(workspace: Workspace) -> Engine:
    """An engine for questions, with the values and functions of another, that is interrupted with it."""
    engine = Engine(
        workspace.codec,
        workspace.functions,
        max_rounds=workspace.max_rounds,
        at_max_rounds="stop" if workspace.stops else "raise",
    )
    engine.workspace.pause.interrupts = workspace.interrupts
    return engine
