"""From a checked program to a local one: the one entry of this package.

count, sum and avg become groups of bindings, which are relations of their own: a binding is a row of all variables of
the rule, since bindings are counted, not values. Rules for a relation with min or max derive its *candidates*. In its
own recursion a best candidate *passes* as it is, with all that it rests on: a fresh row for each change of the best
would hide that, and let cycles support themselves. Outside, what reads the relation reads published rows, which come
and go with being best: consequences of beaten rows must not stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headwater.language.program import Constant, Variable
from headwater.networks.strands.homes import Locations, is_addressed, locations_of
from headwater.networks.strands.localisation import Localiser
from headwater.networks.strands.network_program import (
    NOWHERE,
    Best,
    Bindings,
    Located,
    NetworkProgram,
    PassingOn,
    Publication,
    PublishedGroups,
)
from headwater.networks.strands.update_rules import localised_updates
from headwater.plan.templates import with_named_wildcards
from headwater.rules.checked import UNIT, Absent, Checked, CheckedRule, Premise, RelationInfo, Stratum
from headwater.rules.terms import part_variables
from headwater.values.types import FLOAT, INT, Type


def compile_program(checked: Checked, fixed: Locations | None = None) -> NetworkProgram:
    """The program with local bodies. `fixed` says where some relations live, in the place of what would be chosen.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.check import check
    >>> from headwater.rules.render import render_rule
    >>> from headwater.values.functions import Functions
    >>> text = '''
    ...   r1 reach(@X, @Y) :- #link(@X, @Y).
    ...   r2 reach(@X, @Y) :- #link(@X, @Z), reach(@Z, @Y).
    ... '''
    >>> local = compile_program(check(parse(text), Functions()))
    >>> for rule in local.rules:
    ...     print(render_rule(rule))
    r1: reach(X, Y) :- link(X, Y).
    r2a: link~at_1(Z, X) :- link(X, Z).
    r2b: reach(X, Y) :- link~at_1(Z, X), reach(Z, Y).
    """
    return _Compiling(checked.maintained, fixed).run()


class _Compiling:
    def __init__(self, checked: Checked, fixed: Locations | None):
        self.checked = checked
        self.locations = locations_of(checked, fixed)
        relations = {name: self._located(info) for name, info in checked.relations.items()}
        relations[UNIT] = Located(UNIT, (), NOWHERE, base=True, owner=UNIT)
        self.localiser = Localiser(relations, is_addressed(checked), links=frozenset(checked.links))
        self.publications: list[Publication] = []
        self.passing: list[PassingOn] = []
        timers = {timer.relation for timer in checked.timers}
        self.views: dict[str, str | Best] = {name: name for name in checked.relations if name not in timers}
        self.bindings: dict[str, list[Bindings]] = {}
        self.demanded: dict[str, tuple[str, str]] = {}
        """Of aggregates by demand: what is published of each, and what is asked."""

    def _located(self, info: RelationInfo) -> Located:
        return Located(
            info.name,
            info.types,
            self.locations[info.name],
            base=info.base,
            owner=info.owner,
            key=info.key,
            lifetime=info.lifetime,
            size=info.size,
            kind=info.kind,
            nullable=info.nullable if info.base else (),
        )

    def run(self) -> NetworkProgram:
        recursive = set[str]()
        for stratum in self.checked.strata:
            before = set(self.localiser.relations)
            self._stratum(stratum)
            if stratum.recursive:
                recursive |= set(stratum.relations) | (set(self.localiser.relations) - before)
        self._publish_groups()
        updates = localised_updates(self.checked.updates, self.localiser)
        facts = dict(self.checked.facts)
        if any(_reads(rule.body, UNIT) for rule in self.localiser.rules):
            facts[UNIT] = ((),)
        return NetworkProgram(
            relations=self.localiser.relations,
            rules=tuple(self.localiser.rules),
            publications=(*self.publications, *self.localiser.missing.values()),
            passing=tuple(self.passing),
            views=self.views,
            facts=facts,
            given=self.checked.facades,
            addressed=self.localiser.addressed,
            recursive=frozenset(recursive),
            updates=updates,
            timers=self.checked.timers,
            watched=self.checked.watched,
            links=self.checked.links,
        )

    # ------------------------------------------------------------------ strata

    def _stratum(self, stratum: Stratum) -> None:
        own = frozenset(stratum.relations) if stratum.recursive else frozenset()
        heads: dict[str, str] = {}
        inside: dict[str, str] = {}
        for name in stratum.relations:
            info = self.checked.relations[name]
            if info.selections:
                heads[name] = self._candidates(info)
                if any(_reads(rule.body, name) for rule in stratum.rules):
                    inside[name] = self._pass(info, heads[name])
                self._publish_best(info, heads[name], stratum)
        own |= frozenset(inside.values())
        for rule in stratum.rules:
            rule = with_named_wildcards(rule)
            rule = replace(
                rule,
                body=tuple(
                    replace(item, relation=inside.get(item.relation, item.relation))
                    if isinstance(item, Premise)
                    else item
                    for item in rule.body
                ),
            )
            if rule.aggregate is not None:
                self._aggregate(rule, own)
            else:
                self.localiser.add(replace(rule, relation=heads.get(rule.relation, rule.relation)), own)

    def _candidates(self, info: RelationInfo) -> str:
        return self.localiser.helper(
            f"{info.name}~candidates", info.name, info.types, self.locations[info.name]
        )

    def _pass(self, info: RelationInfo, candidates: str) -> str:
        name = self.localiser.helper(f"{info.name}~best", info.name, info.types, self.locations[info.name])
        self.passing.append(PassingOn(name, candidates, info.selections))
        return name

    def _publish_best(self, info: RelationInfo, candidates: str, stratum: Stratum) -> None:
        """What is read outside is published; what nobody reads is only shown."""
        best = Best(info.name, candidates, info.selections)
        self.views[info.name] = best
        readers = [rule for other in self.checked.strata if other is not stratum for rule in other.rules]
        readers += [update.rule for update in self.checked.updates]
        if info.name in self.checked.watched or any(_reads(rule.body, info.name) for rule in readers):
            self.publications.append(best)

    # ------------------------------------------------------------------ aggregates

    def _aggregate(self, rule: CheckedRule, own: frozenset[str]) -> None:
        """The bindings of one rule of an aggregate."""
        aggregate = rule.aggregate
        assert aggregate is not None
        group = tuple(term for column, term in enumerate(rule.head) if column != aggregate.position)
        if aggregate.demand is not None:
            self._demand(rule, aggregate.demand, group, own)
        names = {variable.name: variable for item in rule.body for variable in part_variables(item)}
        head = (*group, *names.values())
        types = [rule.types.get(term.name) if isinstance(term, Variable) else term.type for term in head]
        location = self._group_location(rule.relation)
        name = self.localiser.helper(f"{rule.label}~bindings", rule.relation, types, location)
        argument = aggregate.argument
        column = None if argument is None else len(group) + list(names).index(argument.name)
        self.bindings.setdefault(rule.relation, []).append(Bindings(name, tuple(range(len(group))), column))
        self.localiser.add(replace(rule, relation=name, head=head, aggregate=None), own)

    def _demand(
        self, rule: CheckedRule, demand: str, group: tuple[Variable | Constant, ...], own: frozenset[str]
    ) -> None:
        """An aggregate that a recursion asks for: what is published is joined with what asks, so that a row rests on
        both. The value rests on what lies below only."""
        info = self.checked.relations[rule.relation]
        asking = next(item for item in rule.body if isinstance(item, Premise) and item.relation == demand)
        types = [rule.types.get(term.name) if isinstance(term, Variable) else term.type for term in group]
        location = self._group_location(rule.relation)
        asked = self.localiser.helper(f"{rule.relation}~asked", rule.relation, types, location)
        value = self.localiser.helper(
            f"{rule.relation}~value", rule.relation, info.types, self.locations[rule.relation]
        )
        self.demanded[rule.relation] = (value, asked)
        self.localiser.add(
            replace(rule, label=asked, relation=asked, head=group, body=(asking,), aggregate=None), own
        )
        self.localiser.add(replace(rule, body=(asking, Premise(value, rule.head)), aggregate=None), own)

    def _group_location(self, relation: str) -> int | None:
        """The location among the columns of the groups of an aggregate."""
        aggregate, location = self.checked.relations[relation].aggregate, self.locations[relation]
        assert aggregate is not None
        return location - 1 if location is not None and location > aggregate.position else location

    def _publish_groups(self) -> None:
        for name, inputs in self.bindings.items():
            info = self.checked.relations[name]
            aggregate = info.aggregate
            assert aggregate is not None
            published, asked = self.demanded.get(name, (name, None))
            self.publications.append(
                PublishedGroups(
                    published,
                    aggregate.function,
                    aggregate.position,
                    self._summed(inputs),
                    tuple(inputs),
                    asked,
                )
            )

    def _summed(self, inputs: Iterable[Bindings]) -> Type | None:
        """The type of what is aggregated; `None` where only the values will say."""
        types = {
            self.localiser.relations[each.relation].types[each.argument]
            for each in inputs
            if each.argument is not None
        }
        if None in types:
            return None
        if FLOAT in types:
            return FLOAT
        return types.pop() if len(types) == 1 else INT if types else None


def _reads(body: Iterable[object], relation: str) -> bool:
    return any(isinstance(item, Premise | Absent) and item.relation == relation for item in body)
