"""The rewriting: rules of relations that are not stored, for the patterns in which a goal calls them.

For a call of `reach` with its first column bound, a rule `reach(X, Y) :- reach(X, Z), link(Z, Y).` becomes

    reach^bf(X, Y) :- ask reach^bf(X), reach^bf(X, Z), link(Z, Y).

and every call in the body asks for its values, from what stands before it:

    ask reach^bf(X) :- ask reach^bf(X).        (which says nothing, and is left out)

What holds for what comes out: each adorned relation holds rows of its relation only, and all of those that agree with
a value asked for. Too much may be asked for, never too little. Whether it is stratified is seen by `stratified`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from headwater.language.program import Call, Constant, Variable, Wildcard
from headwater.plan.goals.adorned import Adorned, asked_info, bindable
from headwater.plan.goals.linear import Linear, linear
from headwater.plan.goals.sideways import Fanout, Sideways, as_written, connected, names
from headwater.rules.checked import (
    UNIT,
    Absent,
    CheckedRule,
    Compute,
    Item,
    Kind,
    Premise,
    RelationInfo,
    Test,
)
from headwater.rules.terms import Fresh, part_variables
from headwater.values.types import Type

Arguments = Sequence[Variable | Constant | Wildcard]


@dataclass(frozen=True)
class Defined:
    """The relations that are not stored, by name: their rules, and which of them depend on each other."""

    rules: Mapping[str, Sequence[CheckedRule]]
    infos: Mapping[str, RelationInfo]
    """Of all relations, stored ones too."""
    recursive: Mapping[str, frozenset[str]]
    """For each relation on a cycle, all those on it."""
    generators: frozenset[str] = frozenset()
    """The functions that give several values."""

    def cycle(self, relation: str) -> frozenset[str]:
        """The relations that the relation depends on and that depend on it."""
        return self.recursive.get(relation, frozenset())

    def selects(self, relation: str) -> bool:
        """Whether best rows are chosen where the relation is derived, so that rows may come and go."""
        return any(self.infos[name].selections for name in self.cycle(relation) or (relation,))


@dataclass
class Weaker:
    """What is done in a weaker way than it could be, so that all is stratified and nothing is derived twice."""

    whole: set[str] = field(default_factory=set)
    """Relations that are derived whole, as if they were stored."""
    stepwise: set[str] = field(default_factory=set)
    """Linear relations whose calls are kept one by one."""
    free: set[tuple[str, int]] = field(default_factory=set)
    """Relations that are derived whole at a level anyway."""


class Magic:
    """One rewriting. What comes out are `rules` over `infos`; `calls` are the adorned relations."""

    def __init__(self, defined: Defined, fanout: Fanout, weaker: Weaker, *, as_written: bool = False):
        self.defined = defined
        self.as_written = as_written
        """Whether the premises of a body are asked in the order in which they are written."""
        self.fanout = fanout
        self.weaker = weaker
        self.rules: list[CheckedRule] = []
        self.infos: dict[str, RelationInfo] = {}
        self.calls: dict[str, Adorned] = {}
        self.linear: set[str] = set()
        """The calls whose results go through."""
        self.whole: set[str] = set()
        self._todo: list[Adorned] = []
        self._asking: set[tuple[object, ...]] = set()

    def goal(self, relation: str) -> None:
        """Rewrite all that a relation without bound columns needs; it keeps its name, and is not called by others."""
        call = Adorned(relation, self.defined.infos[relation].arity, (), 0)
        for rule in self.defined.rules[relation]:
            self._rule(call, rule, relation)
        self.infos[relation] = self.defined.infos[relation]
        while self._todo:
            self._derive(self._todo.pop())

    # ------------------------------------------------------------------ relations

    def _derive(self, call: Adorned) -> None:
        info = self.defined.infos[call.relation]
        self.infos[call.name] = replace(info, name=call.name, kind=Kind.HELPER, owner=call.relation)
        if call.bound:
            self._add_info(call.asked, call, call.bound)
        rules = self._linear(call)
        if rules is None:
            for rule in self.defined.rules[call.relation]:
                self._rule(call, rule, call.name)
        else:
            self.linear.add(call.name)
            self._linear_rules(call, rules)

    def _add_info(self, name: str, call: Adorned, columns: Sequence[int]) -> None:
        self.infos[name] = asked_info(name, self.defined.infos[call.relation], columns)

    def _derive_whole(self, relation: str) -> None:
        """Take the rules of a relation as they are, and of all that it needs."""
        todo = [relation]
        while todo:
            name = todo.pop()
            if name in self.whole or name not in self.defined.rules:
                continue
            self.whole.add(name)
            self.infos[name] = self.defined.infos[name]
            for rule in self.defined.rules[name]:
                self.rules.append(replace(rule, body=_with_unit(rule.body)))
                todo += [item.relation for item in rule.body if isinstance(item, Premise | Absent)]

    # ------------------------------------------------------------------ rules

    def _rule(self, call: Adorned, rule: CheckedRule, head: str) -> None:
        """A rule for a call, with what is asked for as its first premise."""
        rule = self._test_generated(rule, call.bound)
        asked = (
            Premise(call.asked, tuple(rule.head[c] for c in call.bound)) if call.bound else Premise(UNIT, ())
        )
        body = self._body(call, rule, asked)
        self._emit(rule, head, rule.head, (asked, *body), rule.types)

    def _linear_rules(self, call: Adorned, rules: Sequence[Linear]) -> None:
        """All rules of a call whose result goes through some of them."""
        info = self.defined.infos[call.relation]
        self._add_info(call.seeded, call, (*call.bound, *call.bound))
        seeds = tuple(Variable(f"seed~{column}") for column in call.bound)
        types = {seed.name: info.types[column] for seed, column in zip(seeds, call.bound, strict=True)}
        first = rules[0].rule
        self._emit(first, call.seeded, (*seeds, *seeds), (Premise(call.asked, seeds),), types)
        for each in rules:
            rule = self._test_generated(each.rule, call.bound)
            if each.call is not None and not each.through:
                found = Premise(call.name, each.call.args)
                rest = replace(rule, body=each.rest)
                self._emit(rule, call.name, rule.head, (found, *self._body(call, rest, found)), rule.types)
                continue
            reached = Premise(call.seeded, (*seeds, *(rule.head[column] for column in call.bound)))
            rest = replace(rule, body=each.rest) if each.call is not None else rule
            body = (reached, *self._body(call, rest, reached))
            if each.call is not None:
                asked = tuple(arg for c in call.bound if not isinstance(arg := each.call.args[c], Wildcard))
                self._emit(rule, call.seeded, (*seeds, *asked), body, {**rule.types, **types})
            else:
                at = dict(zip(call.bound, seeds, strict=True))
                answer = tuple(at.get(column, term) for column, term in enumerate(rule.head))
                self._emit(rule, call.name, answer, body, {**rule.types, **types})

    def _linear(self, call: Adorned) -> list[Linear] | None:
        relation, info = call.relation, self.defined.infos[call.relation]
        alone = self.defined.cycle(relation) == {relation}
        if (
            not alone
            or not call.bound
            or relation in self.weaker.stepwise
            or info.selections
            or info.aggregate
        ):
            return None
        return linear(call, self.defined.rules[relation], self.defined.rules, self.fanout)

    def _emit(
        self,
        rule: CheckedRule,
        relation: str,
        head: Sequence[Variable | Constant],
        body: tuple[Item, ...],
        types: Mapping[str, Type | None],
    ) -> None:
        self.rules.append(
            replace(
                rule,
                label=f"{relation}#{len(self.rules)}",
                relation=relation,
                head=tuple(head),
                body=body,
                types=types,
                aggregate=rule.aggregate if relation in (rule.relation, *self.calls) else None,
                text="",
            )
        )

    def _test_generated(self, rule: CheckedRule, bound: Iterable[int]) -> CheckedRule:
        """The rule, with values that a function generates into bound columns compared with those asked for."""
        asked = names(rule.head[column] for column in bound)
        fresh = Fresh({v.name for item in rule.body for v in part_variables(item)} | names(rule.head))
        body: list[Item] = []
        types = dict(rule.types)
        for item in rule.body:
            body.append(item)
            if isinstance(item, Compute) and item.variable.name in asked and self._generates(item):
                generated = fresh(item.variable.name)
                types[generated.name] = types.get(item.variable.name)
                body[-1:] = [
                    replace(item, variable=generated),
                    Test("=", item.variable, generated, item.place),
                ]
        return replace(rule, body=tuple(body), types=types)

    def _generates(self, item: Compute) -> bool:
        return isinstance(item.value, Call) and item.value.function in self.defined.generators

    # ------------------------------------------------------------------ bodies

    def _body(self, caller: Adorned, rule: CheckedRule, given: Premise) -> list[Item]:
        """The body as it is written, its calls adorned for the values that are passed to them; `given` stands before.

        What is written before a computation may be there to keep values out that it fails for, and stays before it.
        """
        sideways = Sideways(rule, self.defined.rules, self.fanout, self.as_written)
        order = sideways.ordered(names(given.args))
        done: list[Item] = []
        for place, item in enumerate(order):
            if isinstance(item, Premise | Absent) and item.relation in self.defined.rules:
                item = self._called(caller, sideways, item, given, order[:place], done)
            done.append(item)
        return as_written(rule, order, done)

    def _called(
        self,
        caller: Adorned,
        sideways: Sideways,
        item: Premise | Absent,
        given: Premise,
        before: Sequence[Item],
        done: Sequence[Item],
    ) -> Item:
        """The item with the relation that holds what is asked for, which is asked for here."""
        cycle = self.defined.cycle(caller.relation)
        own = item.relation in cycle
        without: Collection[str] = cycle if own and self.defined.selects(caller.relation) else ()
        passed = sideways.passing(before, names(given.args), without=without, computed=not own)
        call = self._call(caller, item, passed.known, own)
        if call is None:
            self._derive_whole(item.relation)
            return item
        if call.bound:
            items = [done[place] for place in passed.places]
            known = [given, *as_written(sideways.rule, [before[place] for place in passed.places], items)]
            self._ask(sideways.rule, call, [item.args[column] for column in call.bound], given, known)
        return replace(item, relation=call.name)

    def _call(
        self, caller: Adorned, item: Premise | Absent, known: frozenset[str], own: bool
    ) -> Adorned | None:
        """How the relation of an item is called; `None` if it is to be derived whole."""
        relation, info = item.relation, self.defined.infos[item.relation]
        if relation in self.weaker.whole:
            return None
        complete = isinstance(item, Absent) or self._closes(caller.relation)
        level = caller.level + (complete and not own)
        bound = tuple(
            column
            for column in bindable(info)
            if isinstance(arg := item.args[column], Constant)
            or (isinstance(arg, Variable) and arg.name in known)
        )
        if (relation, level) in self.weaker.free:
            bound = ()
        call = Adorned(relation, info.arity, tuple(sorted(bound)), level)
        if call.name not in self.calls:
            self.calls[call.name] = call
            self._todo.append(call)
        return call

    def _closes(self, relation: str) -> bool:
        """Whether what a relation reads must be complete before its rows are known."""
        return self.defined.infos[relation].aggregate is not None or self.defined.selects(relation)

    def _ask(
        self,
        rule: CheckedRule,
        call: Adorned,
        values: Arguments,
        given: Premise,
        known: Sequence[Item],
    ) -> None:
        """A rule that asks a call for values, from what is known before it."""
        head = tuple(value for value in values if not isinstance(value, Wildcard))
        body = connected(known, names(head))
        if given not in body:
            body = _with_unit(body)
        if (call.asked, head) == (given.relation, given.args) and given in body:
            return
        asking = (call.asked, head, body)
        if asking not in self._asking:
            self._asking.add(asking)
            self._emit(rule, call.asked, head, body, rule.types)


def _with_unit(body: tuple[Item, ...]) -> tuple[Item, ...]:
    """The body with a first premise that always holds, from which constants are looked up by index."""
    return (Premise(UNIT, ()), *body)
