"""The queries that propagation and filtration ask, as goals over both states of a program.

For each rule of a stratum and each of its premises that a version may change, a *propagating* goal: the rest of
the body for rows of that premise that came or went (its *seed*). What comes in derives rows that hold in the
new state; what goes derives rows that held in the old one. A negated premise switches the type (figure 4). For
each relation, a *filtering* goal for either type: which of the rows that may have come were there before, and
which that may have gone are there still.

In a relation whose rows are made of groups (an aggregate, or the best rows by min or max) a rule tells which
groups may differ, and two goals ask for the rows of such a group in the old and in the new state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from headwater.language.program import Variable
from headwater.maintain.strategies.propagation.sides import Rules, Side, Sides
from headwater.plan.goals.adorned import asked_info, bindable
from headwater.rules.checked import Absent, CheckedRule, Item, Kind, Premise, RelationInfo, Stratum


class Sign(Enum):
    """Rows that come, or rows that go."""

    ADDED = "+"
    REMOVED = "-"

    @property
    def other(self) -> Sign:
        return Sign.REMOVED if self is Sign.ADDED else Sign.ADDED

    @property
    def propagated_in(self) -> Side:
        """The state that rows of this type are propagated in."""
        return Side.NEW if self is Sign.ADDED else Side.OLD

    @property
    def filtered_in(self) -> Side:
        """The state in which a row of this type must not hold."""
        return Side.OLD if self is Sign.ADDED else Side.NEW


@dataclass(frozen=True)
class Propagating:
    """A rule, from rows of one premise that came or went: `goal` has the rows of `relation` (or their groups)
    that may come or go by it (`sign`). Without a `position` the rule itself came or went."""

    goal: str
    relation: str
    sign: Sign
    rule: str
    position: int | None
    premise: str
    premise_sign: Sign
    seed: str


@dataclass(frozen=True)
class Filtering:
    """Which of some rows of a relation hold in the state that disqualifies them."""

    goal: str
    relation: str
    sign: Sign
    seed: str


@dataclass(frozen=True)
class Grouped:
    """The rows of some groups of a relation in both states; a goal is `None` where the relation is not
    there."""

    relation: str
    columns: tuple[int, ...]
    seed: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class StratumQueries:
    """All that is asked for one stratum."""

    relations: tuple[str, ...]
    propagating: tuple[Propagating, ...]
    filtering: tuple[Filtering, ...]
    grouped: tuple[Grouped, ...]


@dataclass(frozen=True)
class Goals:
    """The goals of one or more strata: their rules, what is known of them and their seeds, and each goal's
    seed."""

    rules: list[CheckedRule]
    infos: dict[str, RelationInfo]
    seeds: dict[str, str]


class Asking:
    """Makes the goals of strata."""

    def __init__(self, sides: Sides, infos: dict[str, RelationInfo]):
        self.sides = sides
        self.goals = Goals([], infos, {})

    def stratum(
        self, number: int, stratum: Stratum, earlier: Sequence[CheckedRule], wanted: Wanted
    ) -> StratumQueries:
        """The queries of a stratum, whose rules were `earlier` others or the same. `wanted` are the types of rows
        that somebody listens to."""
        propagating: list[Propagating] = []
        for sign, rules in ((Sign.ADDED, stratum.rules), (Sign.REMOVED, earlier)):
            others = {rule.label: rule for rule in (earlier if sign is Sign.ADDED else stratum.rules)}
            for rule in rules:
                if not wanted(rule.relation, sign) and not self._grouped(rule.relation):
                    continue
                known = others.get(rule.label)
                if known is None or (known.head, known.body) != (rule.head, rule.body):
                    propagating.append(self._start(number, rule, sign))
                propagating += self._from_premises(number, rule, sign)
        filtering, grouped = [], []
        for name in stratum.relations:
            if self._grouped(name):
                grouped.append(self._groups(name))
            else:
                filtering += [
                    self._filter(name, sign)
                    for sign in Sign
                    if wanted(name, sign) and name in self._rules(sign.filtered_in).infos
                ]
        return StratumQueries(stratum.relations, tuple(propagating), tuple(filtering), tuple(grouped))

    def _rules(self, state: Side) -> Rules:
        return self.sides.old if state is Side.OLD else self.sides.new

    def _grouped(self, relation: str) -> bool:
        return self.sides.new.grouped(relation)

    # ------------------------------------------------------------------ propagating

    def _from_premises(self, number: int, rule: CheckedRule, sign: Sign) -> Iterator[Propagating]:
        for position, item in enumerate(rule.body):
            if isinstance(item, Premise | Absent) and item.relation in self.sides.touched:
                came = sign.other if isinstance(item, Absent) else sign
                seed = f"{came.value}{item.relation}>{number}"
                info = self.sides.infos()[self.sides.name(item.relation, sign.propagated_in)]
                self.goals.infos[seed] = asked_info(seed, info, range(info.arity))
                first = Premise(seed, item.args, item.place)
                goal = self._propagating(rule, sign, position, first)
                self.goals.seeds[goal] = seed
                yield Propagating(goal, rule.relation, sign, rule.label, position, item.relation, came, seed)

    def _start(self, number: int, rule: CheckedRule, sign: Sign) -> Propagating:
        """A rule that came or went: all that it derives."""
        seed = f"{sign.value}{rule.label}>"
        self.goals.infos[seed] = RelationInfo(seed, (), (), Kind.BASE, owner=rule.relation)
        goal = self._propagating(rule, sign, None, Premise(seed, ()))
        self.goals.seeds[goal] = seed
        return Propagating(goal, rule.relation, sign, rule.label, None, "", sign, seed)

    def _propagating(self, rule: CheckedRule, sign: Sign, position: int | None, first: Premise) -> str:
        state, info = sign.propagated_in, self.sides.new.infos[rule.relation]
        columns: Iterable[int] = (
            self._columns(rule.relation) if self._grouped(rule.relation) else range(info.arity)
        )
        columns = tuple(columns)
        goal = f"{sign.value}{rule.label}/{'' if position is None else position}"
        self.goals.infos[goal] = asked_info(goal, info, columns)
        body: list[Item] = [first]
        if not self._asks_by_itself(rule, position):
            body += [
                self.sides.item(item, state) for place, item in enumerate(rule.body) if place != position
            ]
        head = tuple(rule.head[column] for column in columns)
        self.goals.rules.append(
            replace(
                rule,
                label=goal,
                relation=goal,
                head=head,
                body=tuple(body),
                aggregate=None,
                text="",
            )
        )
        return goal

    @staticmethod
    def _asks_by_itself(rule: CheckedRule, position: int | None) -> bool:
        """Whether rows of the premise are groups of the rule's aggregate, with bindings or without."""
        if position is None or rule.aggregate is None or rule.aggregate.demand is None:
            return False
        item = rule.body[position]
        return isinstance(item, Premise) and item.relation == rule.aggregate.demand

    # ------------------------------------------------------------------ filtering

    def _filter(self, relation: str, sign: Sign) -> Filtering:
        info, state = self.sides.new.infos[relation], sign.filtered_in
        seed, goal = f"{sign.value}{relation}?", f"{sign.value}{relation}!"
        self.goals.infos[seed] = asked_info(seed, info, range(info.arity))
        self._ask(goal, info, self.sides.name(relation, state), seed, range(info.arity))
        return Filtering(goal, relation, sign, seed)

    def whole(self, relation: str) -> str:
        """A goal for all rows of a relation, as it is."""
        seed, goal = f"all {relation}?", f"all {relation}!"
        info = self.sides.new.infos[relation]
        self.goals.infos[seed] = RelationInfo(seed, (), (), Kind.BASE, owner=relation)
        self._ask(goal, info, self.sides.name(relation, Side.NEW), seed, ())
        return goal

    def _groups(self, relation: str) -> Grouped:
        info, columns = self.sides.new.infos[relation], self._columns(relation)
        seed = f"{relation}??"
        self.goals.infos[seed] = asked_info(seed, info, columns)
        goals: list[str | None] = []
        for state in Side:
            goal = f"{state.value} {relation}!"
            if relation in self._rules(state).infos:
                self._ask(goal, info, self.sides.name(relation, state), seed, columns)
                goals.append(goal)
            else:
                goals.append(None)
        return Grouped(relation, columns, seed, goals[0], goals[1])

    def _ask(self, goal: str, info: RelationInfo, relation: str, seed: str, columns: Iterable[int]) -> None:
        """A goal for the rows of a relation that agree with rows of a seed in some columns."""
        self.goals.infos[goal] = asked_info(goal, info, range(info.arity))
        args = tuple(Variable(f"c{column}") for column in range(info.arity))
        body = (Premise(seed, tuple(args[column] for column in columns)), Premise(relation, args))
        types = {arg.name: type_ for arg, type_ in zip(args, info.types, strict=True)}
        self.goals.rules.append(CheckedRule(goal, goal, args, body, types))
        self.goals.seeds[goal] = seed

    def _columns(self, relation: str) -> tuple[int, ...]:
        """The columns that a relation's rows are grouped by."""
        return tuple(sorted(bindable(self.sides.new.infos[relation])))


class Wanted:
    """Which types of rows somebody listens to, by relation; all, unless it is said otherwise."""

    def __init__(self, signs: dict[str, frozenset[Sign]] | None = None):
        self.signs = signs

    def __call__(self, relation: str, sign: Sign) -> bool:
        return self.signs is None or sign in self.signs.get(relation, frozenset())
