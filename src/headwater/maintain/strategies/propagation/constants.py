"""Partial evaluation: constants with which views are read are pushed down into the rules of what they read.

`alarm(X) :- reach("gate", X).` needs of `reach` what begins at the gate. If nothing else has to know about changes of
`reach`, a restricted relation takes its place in what is propagated,

    reach[0="gate"]("gate", Y) :- link("gate", Y).
    reach[0="gate"]("gate", Y) :- reach[0="gate"]("gate", Z), link(Z, Y).

so that changes of `reach` elsewhere are never computed. A relation that is needed whole all the same stays as it is:
restricted beside it, it would only be computed twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headwater.language.program import Call, Constant, Variable
from headwater.maintain.strategies.propagation.sides import read_by
from headwater.plan.goals.adorned import bindable
from headwater.rules.checked import (
    Absent,
    Checked,
    CheckedRule,
    Compute,
    Item,
    Kind,
    Premise,
    RelationInfo,
    Stratum,
    Test,
    Unstored,
)
from headwater.rules.strata import components
from headwater.rules.terms import substitute
from headwater.values.generators import GENERATORS

MOST_RESTRICTED = 64
"""With more restricted relations than this, a program is left as it is."""

Bound = Mapping[int, Constant]
"""Columns that have a constant."""


def restricted(checked: Checked) -> Checked:
    """The program as its changes are followed: the relations that are read with constants only are restricted."""
    if not checked.followed:
        return checked
    whole: set[str] = set()
    while True:
        pushing = _Pushing(checked, whole)
        pushing.run()
        if len(pushing.names) > MOST_RESTRICTED:
            return checked
        again = {relation for relation, _ in pushing.names} & pushing.rules.keys()
        if not again:
            return pushing.outcome() if pushing.names else checked
        whole |= again


class _Pushing:
    """One pass from the views that are listened to down to what they read. `whole` are not restricted."""

    def __init__(self, checked: Checked, whole: set[str]):
        self.checked = checked
        self.given: dict[str, list[CheckedRule]] = {}
        for stratum in checked.followed:
            for name in stratum.relations:
                self.given[name] = [rule for rule in stratum.rules if rule.relation == name]
        self.infos = {**checked.relations, **checked.unstored.relations}
        self.whole = whole
        self.names: dict[tuple[str, str], str] = {}
        self.rules: dict[str, list[CheckedRule]] = {}
        """What came out, by relation: those that are needed whole, and restricted ones."""
        self.made: dict[str, RelationInfo] = {}
        self._todo: list[str] = []

    def run(self) -> None:
        hidden = self.checked.unstored.relations
        for name in self.given:
            if name not in hidden or hidden[name].kind is Kind.WATCHED:
                self._need(name)
        while self._todo:
            name = self._todo.pop()
            self.rules[name] = [self._rule(rule) for rule in self.given[name]]

    def _need(self, name: str) -> None:
        if name in self.given and name not in self.rules:
            self.rules[name] = []
            self._todo.append(name)

    def _rule(self, rule: CheckedRule) -> CheckedRule:
        body = tuple(self._item(item) for item in rule.body)
        for name in (item.relation for item in body if isinstance(item, Premise | Absent)):
            self._need(name)
        return replace(rule, body=body)

    def _item(self, item: Item) -> Item:
        if not isinstance(item, Premise | Absent) or item.relation not in self.given:
            return item
        name, hidden = item.relation, self.checked.unstored.relations
        if name not in hidden or hidden[name].kind is Kind.WATCHED or name in self.whole or name in self.made:
            return item
        bound = {
            column: arg
            for column in sorted(bindable(self.infos[name]))
            if isinstance(arg := item.args[column], Constant)
        }
        if not bound or not all(_can(rule, bound) for rule in self.given[name]):
            return item
        return replace(item, relation=self._restrict(name, bound))

    def _restrict(self, relation: str, bound: Bound) -> str:
        shown = ", ".join(f"{column}={type(c.value).__name__} {c.value!r}" for column, c in bound.items())
        known = self.names.get((relation, shown))
        if known is None:
            known = self.names[relation, shown] = f"{relation}[{shown}]"
            self.made[known] = replace(
                self.infos[relation],
                name=known,
                kind=Kind.HELPER,
                owner=self.infos[relation].owner or relation,
            )
            rules = [_applied(rule, bound, known) for rule in self.given[relation]]
            self.given[known] = [rule for rule in rules if rule is not None]
        return known

    def outcome(self) -> Checked:
        """The program with restricted relations among those that are not stored."""
        checked, graph = self.checked, {}
        for name, rules in self.rules.items():
            graph[name] = [read for rule in rules for read in read_by(rule)]
        followed = []
        for members in components(graph):
            own = tuple(rule for name in members for rule in self.rules[name])
            recursive = len(members) > 1 or members[0] in graph[members[0]]
            followed.append(Stratum(members, own, recursive))
        strata = [self._rewritten(stratum) for stratum in checked.strata]
        unstored = [self._rewritten(stratum) for stratum in checked.unstored.strata]
        unstored += [s for s in followed if not self.made.keys().isdisjoint(s.relations)]
        infos = {**checked.unstored.relations, **self.made}
        return replace(
            checked,
            strata=tuple(strata),
            followed=tuple(followed),
            unstored=Unstored(infos, tuple(unstored)),
        )

    def _rewritten(self, stratum: Stratum) -> Stratum:
        by_label = {rule.label: rule for name in stratum.relations for rule in self.rules.get(name, ())}
        return replace(stratum, rules=tuple(by_label.get(rule.label, rule) for rule in stratum.rules))


def _can(rule: CheckedRule, bound: Bound) -> bool:
    """Whether constants can stand for these variables of the head, wherever they are in the rule."""
    names = {term.name for column in bound if isinstance(term := rule.head[column], Variable)}
    aggregate = rule.aggregate
    if aggregate is not None and (aggregate.demand is not None or _named(aggregate.argument, names)):
        return False
    return not any(
        isinstance(item, Compute)
        and item.variable.name in names
        and isinstance(item.value, Call)
        and item.value.function in GENERATORS
        for item in rule.body
    )


def _named(term: Variable | None, names: set[str]) -> bool:
    return term is not None and term.name in names


def _applied(rule: CheckedRule, bound: Bound, relation: str) -> CheckedRule | None:
    """A rule for rows with constants in some columns; `None` if it gives no such row."""
    values: dict[str, Constant] = {}
    for column, constant in bound.items():
        term = rule.head[column]
        known = term if isinstance(term, Constant) else values.get(term.name)
        if known is not None and not _same(known, constant):
            return None
        if isinstance(term, Variable):
            values[term.name] = constant
    head = tuple(values.get(term.name, term) if isinstance(term, Variable) else term for term in rule.head)
    body = tuple(_put(item, values) for item in rule.body)
    return replace(rule, label=f"{rule.label} of {relation}", relation=relation, head=head, body=body)


def _same(one: Constant, other: Constant) -> bool:
    return type(one.value) is type(other.value) and one.value == other.value


def _put(item: Item, values: Mapping[str, Constant]) -> Item:
    """Part of a body with constants for variables; what computes one of them compares it."""
    if isinstance(item, Compute) and item.variable.name in values:
        item = Test("=", item.variable, item.value, item.place)
    found = substitute(item, values)
    assert isinstance(found, Premise | Absent | Test | Compute)
    return found
