"""A program as it is maintained: its relations, what is known of them, and its views.

Another program takes over what it can. Base relations keep their rows. A view whose rules and inputs are as before
is the same view. One whose relations are still of the same kind keeps their rows in their places, and follows the
rules that it gained and lost, or is derived again there; so what reads them sees what has changed, and no more.
Relations whose rows could not stay are new, and what reads those is derived again.

Nothing here changes rows: that is done by the change that follows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from headwater.kernel.relation import Relation
from headwater.maintain.strategies.propagation.sides import by_propagation, read_by
from headwater.maintain.together import kept_together
from headwater.maintain.view import View, alike, same_rule, with_unit
from headwater.maintain.workspace import Workspace
from headwater.rules.checked import UNIT, Absent, Checked, Kind, Premise, RelationInfo, Stratum


@dataclass(frozen=True)
class Definition:
    """A program as it was checked, its relations, what is known of them, and its views."""

    checked: Checked = field(default_factory=lambda: Checked({}, ()))
    relations: Mapping[str, Relation] = field(default_factory=dict)
    infos: dict[str, RelationInfo] = field(default_factory=dict)
    views: tuple[View, ...] = ()

    def read(self) -> set[str]:
        """The relations that views read of others."""
        read = {name for view in self.views for name in view.rules.inputs}
        return read | {name for s in self.checked.followed for rule in s.rules for name in read_by(rule)}


def following(
    earlier: Definition, checked: Checked, workspace: Workspace, strategy: str, anew: Collection[str] = ()
) -> Definition:
    """What comes after a definition, with another program; the workspace has its relations from now on.

    The relations of `anew` are new ones, whatever they were.
    """
    strata = [with_unit(stratum) for stratum in kept_together(earlier.views, checked)]
    takeover = _Takeover(earlier, checked, workspace, frozenset(anew))
    for stratum in strata:
        takeover.stratum(stratum)
    workspace.relations.clear()
    workspace.relations.update(takeover.relations)
    workspace.infos = takeover.infos
    unit = workspace.relations[UNIT]
    if unit.stored == 0:
        unit.load(np.zeros((1, 0), np.int64), np.array([[0, 1]]), np.ones(1, np.bool_))
    views = tuple(takeover.view(stratum, strategy) for stratum in strata)
    return Definition(checked, takeover.relations, takeover.infos, views)


class _Takeover:
    """Which relations go on, and whose rows can."""

    def __init__(self, earlier: Definition, checked: Checked, workspace: Workspace, anew: frozenset[str]):
        self.earlier = earlier
        self.workspace = workspace
        self.anew = anew
        self.infos = {**checked.relations, UNIT: RelationInfo(UNIT, (), (), Kind.BASE, owner=UNIT)}
        self.relations: dict[str, Relation] = {}
        self.fresh: set[str] = set()
        """Relations that are others than those who had their names, so that those who read them must be derived
        again. (What reads a relation that was not there before has rules that were not, either.)"""
        self._views = {frozenset(view.stratum.relations): view for view in earlier.views}
        self.propagated = {name for stratum in by_propagation(checked) for name in stratum.relations}
        for info in self.infos.values():
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
            met = [known for known in self.earlier.views if not own.isdisjoint(known.stratum.relations)]
            if all(own.issuperset(known.stratum.relations) for known in met):
                view.follow_rules(met, self.workspace.before(self.earlier.relations, self.earlier.infos))
        return view

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
