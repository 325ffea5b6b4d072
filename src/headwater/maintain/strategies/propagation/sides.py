"""A program before and after a version, as one program.

Every relation that the version may change stands in it twice, as it was (`reach@old`) and as it is
(`reach@new`), each with the rules that it had and has; one that no change touches stands in it once. So
whatever is derived for a question to one state serves all questions to that state, and what is derived of an
untouched relation serves both.

Relations that are stored are read in place. A stored relation whose new rows are still being computed (it reads
views that are not stored) is read in place as it was, and by its rules as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from headwater.rules.checked import Absent, Checked, CheckedRule, Item, Premise, RelationInfo, Stratum


class Side(Enum):
    """Before the version, or after it."""

    OLD = "old"
    NEW = "new"


@dataclass(frozen=True)
class Rules:
    """All rules that an engine knows, stored relations' and others', by relation; and which relations are not
    kept."""

    by_relation: Mapping[str, tuple[CheckedRule, ...]]
    infos: Mapping[str, RelationInfo]
    unstored: frozenset[str]

    @staticmethod
    def of(checked: Checked) -> Rules:
        """The rules of a program without what is not stored, which knows what that is."""
        by_relation: dict[str, list[CheckedRule]] = {}
        for stratum in (*checked.strata, *checked.unstored.strata):
            for name in stratum.relations:
                by_relation.setdefault(name, [])
            for rule in stratum.rules:
                by_relation[rule.relation].append(rule)
        return Rules(
            {name: tuple(rules) for name, rules in by_relation.items()},
            {**checked.relations, **checked.unstored.relations},
            frozenset(checked.unstored.relations),
        )

    def grouped(self, relation: str) -> bool:
        """Whether the rows of a relation are those of groups: an aggregate, or the best rows."""
        info = self.infos[relation]
        return info.aggregate is not None or bool(info.selections)

    def reads(self, relation: str) -> set[str]:
        """The relations that a relation's rules read."""
        return {name for rule in self.by_relation.get(relation, ()) for name in read_by(rule)}

    def below(self, relation: str) -> frozenset[str]:
        """All that a relation depends on."""
        found: set[str] = set()
        todo = [relation]
        while todo:
            for name in self.reads(todo.pop()) - found:
                found.add(name)
                todo.append(name)
        return frozenset(found)


def read_by(rule: CheckedRule) -> list[str]:
    """The relations that a rule reads."""
    return [item.relation for item in rule.body if isinstance(item, Premise | Absent)]


def by_propagation(checked: Checked) -> tuple[Stratum, ...]:
    """The strata whose changes are computed without their rows: those that are not stored, and what reads
    them."""
    hidden = checked.unstored.relations
    return tuple(
        stratum
        for stratum in checked.followed
        if not hidden.keys().isdisjoint(stratum.relations)
        or any(name in hidden for rule in stratum.rules for name in read_by(rule))
    )


@dataclass(frozen=True)
class Sides:
    """The rules of both states. `touched` are the relations that may differ; `demanded` those that are
    evaluated by demand in the new state, of which the unstored ones are in the old one, too."""

    old: Rules
    new: Rules
    touched: frozenset[str]
    demanded: frozenset[str]
    untouched: Side = Side.NEW
    """The state that relations which are the same in both are read in."""

    def name(self, relation: str, state: Side) -> str:
        """What a relation is called in a state."""
        return f"{relation}@{state.value}" if relation in self.touched else relation

    def origin(self, name: str) -> tuple[str, Side]:
        """The relation and the state that a name stands for; of an untouched relation any state."""
        relation, at, state = name.rpartition("@")
        if at and relation in self.touched and state in ("old", "new"):
            return relation, Side(state)
        return name, self.untouched

    def by_demand(self, relation: str, state: Side) -> bool:
        """Whether a relation is evaluated by its rules in a state; else it is read in place."""
        rules = self.old if state is Side.OLD else self.new
        if state is Side.NEW or relation not in self.touched:
            return relation in self.demanded
        return relation in rules.unstored

    def item(self, item: Item, state: Side) -> Item:
        """Part of a body, in a state."""
        if isinstance(item, Premise | Absent):
            return replace(item, relation=self.name(item.relation, state))
        return item

    def rule(self, rule: CheckedRule, state: Side) -> CheckedRule:
        """A rule in a state, of a relation that may differ."""
        aggregate = rule.aggregate
        if aggregate is not None and aggregate.demand is not None:
            aggregate = replace(aggregate, demand=self.name(aggregate.demand, state))
        return replace(
            rule,
            label=f"{rule.label}@{state.value}",
            relation=self.name(rule.relation, state),
            body=tuple(self.item(item, state) for item in rule.body),
            aggregate=aggregate,
        )

    def rules(self) -> list[CheckedRule]:
        """The rules of all relations that are evaluated by demand, in both states."""
        found: list[CheckedRule] = []
        for relation, rules in self.new.by_relation.items():
            if relation not in self.demanded:
                continue
            if relation in self.touched:
                found += [self.rule(rule, Side.NEW) for rule in rules]
            else:
                found += rules
        for relation, rules in self.old.by_relation.items():
            if relation in self.touched and relation in self.old.unstored:
                found += [self.rule(rule, Side.OLD) for rule in rules]
        return found

    def infos(self) -> dict[str, RelationInfo]:
        """What is known of all relations in both states."""
        found: dict[str, RelationInfo] = {}
        for state, rules in ((Side.OLD, self.old), (Side.NEW, self.new)):
            for relation, info in rules.infos.items():
                name = self.name(relation, state)
                aggregate = info.aggregate
                if aggregate is not None and aggregate.demand is not None:
                    aggregate = replace(aggregate, demand=self.name(aggregate.demand, state))
                found[name] = replace(info, name=name, aggregate=aggregate)
        return found


def touched_by(old: Rules, new: Rules, changed: Collection[str]) -> frozenset[str]:
    """The relations that may differ if these do: all that depend on one of them, before or after."""
    readers: dict[str, set[str]] = {}
    for rules in (old, new):
        for relation in rules.by_relation:
            for read in rules.reads(relation):
                readers.setdefault(read, set()).add(relation)
    return frozenset(_reached(changed, readers))


def _reached(start: Iterable[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    found = set(start)
    todo = list(found)
    while todo:
        for name in edges.get(todo.pop(), ()):
            if name not in found:
                found.add(name)
                todo.append(name)
    return found
