"""A program as it is maintained: its relations, what is known of them, and its views.

Another program takes over what it can. Base relations keep their rows. A view whose rules and inputs are as before
is the same view. One whose relations are still of the same kind keeps their rows in their places, and follows the
rules that it gained and lost, or is derived again there; so what reads them sees what has changed, and no more.
Relations whose rows could not stay are new, and what reads those is derived again.

Nothing here changes rows: that is done by the change that follows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import compress
from operator import is_not

import numpy as np

from headwater.kernel.relation import Relation
from headwater.maintain.strategies.propagation.sides import by_propagation, read_by
from headwater.maintain.together import kept_together
from headwater.maintain.view import View, alike, same_rule, with_unit
from headwater.maintain.workspace import Workspace
from headwater.rules.checked import UNIT, Absent, Checked, Kind, Premise, RelationInfo, Stratum

MOST_ORDERS_KEPT = 64
"""For how many sets of relations that change together it is kept which views they concern."""


@dataclass(frozen=True)
class Definition:
    """A program as it was checked, its relations, what is known of them, and its views."""

    checked: Checked = field(default_factory=lambda: Checked({}, ()))
    relations: Mapping[str, Relation] = field(default_factory=dict)
    infos: dict[str, RelationInfo] = field(default_factory=dict)
    views: tuple[View, ...] = ()
    readers: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """For each relation that views read of others, the places of these views."""
    _orders: dict[frozenset[str], tuple[View, ...]] = field(default_factory=dict, compare=False)
    """The views that changes of some relations concern, where all views are up to date."""

    def read(self) -> Set[str]:
        """The relations that views read of others."""
        followed = {name for s in self.checked.followed for rule in s.rules for name in read_by(rule)}
        return {*self.readers, *followed} if followed else self.readers.keys()

    def concerned(self, changing: Collection[str], *, settled: bool = False) -> Sequence[View]:
        """The views that are not up to date with their rules (`settled`: there are none), that read one of the
        relations which change, or one of those views, in order."""
        waiting = () if settled else self._unsettled()
        if waiting:
            return self._after({*waiting, *self._reading(changing)})
        known = self._orders.get(key := frozenset(changing))
        if known is None:
            if len(self._orders) >= MOST_ORDERS_KEPT:
                self._orders.clear()
            known = self._orders[key] = self._after(self._reading(key))
        return known

    def _unsettled(self) -> list[int]:
        """The places of the views that are not up to date with their rules."""
        views = enumerate(self.views)
        return [place for place, view in views if not view.derived or view.redefined is not None]

    def _reading(self, changing: Collection[str]) -> set[int]:
        """The places of the views that read one of these relations."""
        return {place for name in changing for place in self.readers.get(name, ())}

    def _after(self, places: set[int]) -> tuple[View, ...]:
        """The views at these places, and those that read one of them or of these, in order."""
        waiting, found = sorted(places), set(places)
        while waiting:
            more = self._reading(self.views[waiting.pop()].rules.own) - found
            found |= more
            waiting += more
        return tuple(self.views[place] for place in sorted(found))

    def with_views(self, checked: Checked, views: Mapping[int, View]) -> Definition:
        """With other views of the same relations at some places, as another program has them."""
        every, readers = list(self.views), dict(self.readers)
        for place, view in views.items():
            old, new = every[place].rules.inputs, view.rules.inputs
            for name in old - new:
                readers[name] -= {place}
                if not readers[name]:
                    del readers[name]
            for name in new - old:
                readers[name] = readers.get(name, frozenset()) | {place}
            every[place] = view
        return Definition(checked, self.relations, self.infos, tuple(every), readers)


def following(
    earlier: Definition, checked: Checked, workspace: Workspace, strategy: str, anew: Collection[str] = ()
) -> Definition:
    """What comes after a definition, with another program; the workspace has its relations from now on.

    The relations of `anew` are new ones, whatever they were.
    """
    places = None if anew else _other_rules(earlier, checked)
    if places is not None:
        takeover = _Takeover(earlier, checked, workspace, frozenset(), [earlier.views[i] for i in places])
        others = {place: takeover.view(with_unit(checked.strata[place]), strategy) for place in places}
        return earlier.with_views(checked, others)
    strata = [with_unit(stratum) for stratum in kept_together(earlier.views, checked)]
    takeover = _Takeover(earlier, checked, workspace, frozenset(anew))
    takeover.base({**checked.relations, UNIT: RelationInfo(UNIT, (), (), Kind.BASE, owner=UNIT)})
    for stratum in strata:
        takeover.stratum(stratum)
    workspace.relations.clear()
    workspace.relations.update(takeover.relations)
    workspace.infos = takeover.infos
    unit = workspace.relations[UNIT]
    if unit.stored == 0:
        unit.load(np.zeros((1, 0), np.int64), np.array([[0, 1]]), np.ones(1, np.bool_))
    views = tuple(takeover.view(stratum, strategy) for stratum in strata)
    return Definition(checked, takeover.relations, takeover.infos, views, _readers(views))


def _readers(views: Sequence[View]) -> dict[str, frozenset[int]]:
    found: dict[str, list[int]] = {}
    for place, view in enumerate(views):
        for name in view.rules.inputs:
            found.setdefault(name, []).append(place)
    return {name: frozenset(places) for name, places in found.items()}


def _other_rules(earlier: Definition, checked: Checked) -> Sequence[int] | None:
    """The places of the strata that have other rules, if that is all that is different: all relations are the very
    same, and each stratum has the relations of the view in its place. `None` if there may be more to it."""
    before, strata = earlier.checked, checked.strata
    if checked.relations is not before.relations or checked.followed or before.followed:
        return None
    if not len(strata) == len(before.strata) == len(earlier.views):
        return None
    places = list(compress(range(len(strata)), map(is_not, strata, before.strata)))
    same = all(earlier.views[place].stratum.relations == strata[place].relations for place in places)
    return places if same else None


class _Takeover:
    """Which relations go on, and whose rows can. `met` are the earlier views that any of this may be about."""

    def __init__(
        self,
        earlier: Definition,
        checked: Checked,
        workspace: Workspace,
        anew: frozenset[str],
        met: Sequence[View] | None = None,
    ):
        self.earlier = earlier
        self._met = earlier.views if met is None else met
        self.workspace = workspace
        self.anew = anew
        self.infos = earlier.infos
        self.relations: dict[str, Relation] = {}
        self.fresh: set[str] = set()
        """Relations that are others than those who had their names, so that those who read them must be derived
        again. (What reads a relation that was not there before has rules that were not, either.)"""
        self._views = {view.rules.own: view for view in self._met}
        self.propagated = {name for stratum in by_propagation(checked) for name in stratum.relations}

    def base(self, infos: dict[str, RelationInfo]) -> None:
        """Decide about base relations, by what is known of relations from now on."""
        self.infos = infos
        for info in infos.values():
            if info.base:
                self._base(info)

    def _base(self, info: RelationInfo) -> None:
        known = self.earlier.relations.get(info.name)
        if known is None:
            known = Relation(info.name, info.layout.code_arity, room=self.workspace.budget)
        elif known.arity != info.layout.code_arity or not self.earlier.infos[info.name].base:
            known = Relation(info.name, info.layout.code_arity, room=self.workspace.budget)
            self.fresh.add(info.name)
        self.relations[info.name] = known

    def stratum(self, stratum: Stratum) -> None:
        """Decide about the relations of a stratum; those below it are decided."""
        stays = self._stays(stratum)
        for name in stratum.relations:
            if stays and name in self.earlier.relations:
                self.relations[name] = self.earlier.relations[name]
            else:
                info = self.infos[name]
                self.relations[name] = Relation(
                    name, info.layout.code_arity, selected=bool(info.selections), room=self.workspace.budget
                )
                if name in self.earlier.relations:
                    self.fresh.add(name)

    def _stays(self, stratum: Stratum) -> bool:
        """Whether rows of the stratum can stay in their places."""
        if not self.anew.isdisjoint(stratum.relations):
            return False
        infos = self.earlier.infos
        return all(
            not infos[name].base and alike(infos[name], self.infos[name])
            for name in stratum.relations
            if name in infos
        )

    def view(self, stratum: Stratum, strategy: str) -> View:
        """The view of a stratum; its rows are there already if there was such a view before."""
        propagated = stratum.relations[0] in self.propagated
        stays = self.fresh.isdisjoint(stratum.relations) and (propagated or not self._reads_fresh(stratum))
        same = self._same(stratum) if stays else None
        if same is not None and same.propagated == propagated and _typed_alike(same.stratum, stratum):
            return same
        view = View.of(self.workspace, stratum, strategy, propagated=propagated)
        if propagated:
            known = self._views.get(frozenset(stratum.relations))
            view.derived = stays and known is not None and known.derived
        elif same is not None and same.propagated:
            pass  # its rows have no counts: it is derived again, in its place
        elif same is not None:
            view.derived = same.derived and view.grouping is None
            view.anew, view.redefined = same.anew, same.redefined
        elif stays:
            own = set(stratum.relations)
            met = [known for known in self._met if not own.isdisjoint(known.stratum.relations)]
            if all(own.issuperset(known.stratum.relations) for known in met):
                view.follow_rules(met, self._before)
        return view

    def _before(self) -> Workspace:
        """The workspace as it was, for rules that are gone."""
        return self.workspace.before(self.earlier.relations, self.earlier.infos)

    def _same(self, stratum: Stratum) -> View | None:
        """The view of the same rules, if there was one."""
        view = self._views.get(frozenset(stratum.relations))
        if view is not None and view.stratum is stratum:
            return view
        if view is None or view.stratum.relations != stratum.relations:
            return None
        rules = view.stratum.rules
        same = len(rules) == len(stratum.rules) and all(map(same_rule, rules, stratum.rules))
        return view if same else None

    def _reads_fresh(self, stratum: Stratum) -> bool:
        own = set(stratum.relations)
        return bool(self.fresh) and any(
            item.relation in self.fresh and item.relation not in own
            for rule in stratum.rules
            for item in rule.body
            if isinstance(item, Premise | Absent)
        )


def _typed_alike(one: Stratum, other: Stratum) -> bool:
    return one is other or _types(one) == _types(other)


def _types(stratum: Stratum) -> list[tuple[Mapping[str, object], frozenset[str]]]:
    """What plans rest on beside the rules themselves."""
    return [(rule.types, rule.nullable) for rule in stratum.rules]
