"""Partial evaluation: constants with which views are read are pushed down into the rules of what they read.

`alarm(X) :- reach("gate", X).` needs of `reach` what begins at the gate. If nothing else has to know about changes of
`reach`, a restricted relation takes its place in what is propagated,

    reach[0="gate"]("gate", Y) :- link("gate", Y).
    reach[0="gate"]("gate", Y) :- reach[0="gate"]("gate", Z), link(Z, Y).

so that changes of `reach` elsewhere are never computed. A relation that is needed whole all the same stays as it is:
restricted beside it, it would only be computed twice.

The goals of those who listen to a watched view are such readers, too. One that hears of `reach("gate", Y), Y > 3` has
a restricted view of its own, with the test at the end of each of its rules; the rows that come and go in it are told
as those of `reach`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headwater.language.program import Call, Constant, Variable
from headwater.maintain.strategies.propagation.listening import (
    Heard,
    Listening,
    column_variable,
    shown_part,
    together,
)
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


def restricted(checked: Checked, heard: Heard | None = None) -> Checked:
    """The program as its changes are followed: the relations that are read with constants only are restricted, and so
    are watched views of which only a part is heard."""
    if not checked.followed:
        return checked
    heard = heard or Heard()
    whole: set[str] = set()
    while True:
        pushing = _Pushing(checked, whole, heard)
        pushing.run()
        if len(pushing.names) > MOST_RESTRICTED:
            return as_heard(checked, heard)
        again = {relation for relation, _ in pushing.names} & pushing.rules.keys()
        if not again:
            return pushing.outcome() if pushing.names or heard.parts else checked
        whole |= again


def as_heard(checked: Checked, heard: Heard) -> Checked:
    """The program with all its relations whole, whose views are followed for the types of rows that are heard."""
    if not heard.parts:
        return checked
    pushing = _Pushing(checked, {name for stratum in checked.followed for name in stratum.relations}, heard)
    pushing.run()
    return pushing.outcome()


class _Pushing:
    """One pass from the views that are listened to down to what they read. `whole` are not restricted."""

    def __init__(self, checked: Checked, whole: set[str], heard: Heard):
        self.checked = checked
        self.heard = heard
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
        self.told: dict[str, str] = {}
        """Of the views that are listened to, and of parts of them, the types of rows that are heard."""
        self._todo: list[str] = []

    def run(self) -> None:
        hidden = self.checked.unstored.relations
        for name in tuple(self.given):
            if name not in hidden:
                self._need(name)
            elif hidden[name].kind is Kind.WATCHED:
                for one in self.heard.of(name) or (Listening(name, hidden[name].told),):
                    self._listen(one)
        while self._todo:
            name = self._todo.pop()
            self.rules[name] = [self._rule(rule) for rule in self.given[name]]

    def _listen(self, one: Listening) -> None:
        """Follow a watched view, or the part of it that somebody hears of."""
        free = bindable(self.infos[one.relation])
        bound = {column: constant for column, constant in one.constants if column in free}
        columns = {column_variable(column).name for column in free}
        tests = tuple(
            test
            for test in one.tests
            if all(term.name in columns for term in (test.left, test.right) if isinstance(term, Variable))
        )
        name = one.relation
        if (
            (bound or tests)
            and name not in self.whole
            and all(_can(rule, bound) for rule in self.given[name])
        ):
            name = self._restrict(name, bound, tests)
        self.told[name] = together((one.sign, self.told.get(name, one.sign)))
        self._need(name)

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
        if name not in hidden or name in self.whole or name in self.made:
            return item
        bound = {
            column: arg
            for column in sorted(bindable(self.infos[name]))
            if isinstance(arg := item.args[column], Constant)
        }
        if not bound or not all(_can(rule, bound) for rule in self.given[name]):
            return item
        return replace(item, relation=self._restrict(name, bound))

    def _restrict(self, relation: str, bound: Bound, tests: tuple[Test, ...] = ()) -> str:
        shown = shown_part(bound.items(), tests)
        known = self.names.get((relation, shown))
        if known is None:
            known = self.names[relation, shown] = f"{relation}[{shown}]"
            self.made[known] = replace(
                self.infos[relation],
                name=known,
                kind=Kind.HELPER,
                owner=self.infos[relation].owner or relation,
            )
            rules = [_applied(rule, bound, known, tests) for rule in self.given[relation]]
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
        for name, sign in self.told.items():
            infos[name] = replace(infos[name], kind=Kind.WATCHED, told=sign)
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


def _applied(
    rule: CheckedRule, bound: Bound, relation: str, tests: tuple[Test, ...] = ()
) -> CheckedRule | None:
    """A rule for rows with constants in some columns that pass tests; `None` if it gives no such constants."""
    values: dict[str, Constant] = {}
    for column, constant in bound.items():
        term = rule.head[column]
        known = term if isinstance(term, Constant) else values.get(term.name)
        if known is not None and not _same(known, constant):
            return None
        if isinstance(term, Variable):
            values[term.name] = constant
    head = tuple(values.get(term.name, term) if isinstance(term, Variable) else term for term in rule.head)
    columns = {column_variable(column).name: term for column, term in enumerate(head)}
    passing = (substitute(test, columns) for test in tests)
    body = (
        *(_put(item, values) for item in rule.body),
        *(test for test in passing if isinstance(test, Test)),
    )
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
