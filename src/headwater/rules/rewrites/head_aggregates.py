"""`min<C>` in a head becomes a selection of the relation, `count<C>` an aggregate of the rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headwater.errors import RuleError
from headwater.language.program import Atom, HeadAggregate, Positive, Term, Variable
from headwater.rules.checked import Aggregate, Selection
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.strata import dependencies, reachable

_FUNCTIONS = ("count", "sum", "avg", "min", "max")
_SELECTING = ("min", "max")
WITNESS = "witness"
"""The function of `P` in `min<C, P>`."""
Signature = Mapping[int, str]


def head_aggregates(draft: Draft) -> Draft:
    """Heads are variables and constants from here on.

    All rules of a relation feed the same aggregate: the candidates of a min or max come from all of them, and
    count, sum and avg range over the bindings of all of them, where bindings of different rules are
    different. `_` is a variable of its own, so `count<X>` counts the rows that match, not the values of X. A
    head with several aggregates joins internal relations with one each.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.values.functions import Functions
    >>> draft = begin(parse("far(X, max<C>) :- path(X, _, C). n(X, count<Y>) :- path(X, Y, _)."), Functions())
    >>> draft = head_aggregates(draft)
    >>> print(render_draft(draft))
    far#1: far(X, C) :- path(X, _, C).
    n#1: n(X, count<Y>) :- path(X, Y, any~1).
    >>> draft.selections["far"]
    (Selection(group=(0,), value=1, best='max'),)
    """
    by_relation: dict[str, list[DraftRule]] = {}
    for rule in draft.rules:
        by_relation.setdefault(rule.relation, []).append(rule)
    for relation, rules in by_relation.items():
        signature = _signature(rules)
        if len(signature) > 1:
            draft, by_relation[relation] = _join(draft, relation, rules, signature)
        elif signature:
            draft, by_relation[relation] = _single(draft, relation, rules, signature)
    return draft.with_rules(rule for rules in by_relation.values() for rule in rules)


def _signature(rules: list[DraftRule]) -> Signature:
    """Which head columns are aggregates, the same for all rules of the relation that have any."""
    first: DraftRule | None = None
    signature: Signature = {}
    for rule in rules:
        found = [(i, a) for i, a in rule.head_aggregates() if a.function != WITNESS]
        for _, aggregate in found:
            _refuse_unsupported(aggregate)
        if found and first is None:
            first, signature = rule, {i: a.function for i, a in found}
        elif found and signature != {i: a.function for i, a in found}:
            raise _mixed(rule, f"{_words(rule)} here, but {_words(first)} in another rule", found[0][1])
    if any(function not in _SELECTING for function in signature.values()):
        for rule in rules:
            if not rule.head_aggregates():
                where = (
                    "also takes rows from outside" if rule.place is None else "has another rule without it"
                )
                raise _mixed(
                    rule if rule.place else first, f"{rule.relation} has {_words(first)} and {where}"
                )
    return signature


def _words(rule: DraftRule | None) -> str:
    found = [] if rule is None else rule.head_aggregates()
    return " and ".join(f"{a.function} in column {i + 1}" for i, a in found)


def _mixed(rule: DraftRule | None, message: str, aggregate: HeadAggregate | None = None) -> RuleError:
    assert rule is not None
    place = aggregate.place if aggregate is not None else rule.head.place
    return RuleError(
        "mixed-aggregate",
        message,
        place=place or rule.place,
        hint="give each a relation of its own, and combine those in a third",
    )


def _refuse_unsupported(aggregate: HeadAggregate) -> None:
    if aggregate.function not in _FUNCTIONS:
        raise RuleError(
            "unsupported",
            f"the aggregate {aggregate.function}<...> is not supported",
            place=aggregate.place,
            hint=f"there are {', '.join(_FUNCTIONS)}",
        )
    if aggregate.argument is None and aggregate.function != "count":
        raise RuleError(
            "unsupported",
            f"{aggregate.function}<*> says not what to take the {aggregate.function} of",
            place=aggregate.place,
            hint=f"name a variable: {aggregate.function}<X>",
        )


def _single(
    draft: Draft, relation: str, rules: list[DraftRule], signature: Signature
) -> tuple[Draft, list[DraftRule]]:
    ((position, function),) = signature.items()
    if function in _SELECTING and relation not in draft.demands:
        arity = len(rules[0].head.args)
        others = witnesses(draft, relation, rules)
        group = tuple(i for i in range(arity) if i != position and i not in others)
        draft = replace(
            draft, selections={**draft.selections, relation: (Selection(group, position, function),)}
        )
        return draft, [rule.with_head(_candidate(arg) for arg in rule.head.args) for rule in rules]
    made = [_aggregate_rule(rule, position, draft.demands.get(relation)) for rule in rules]
    assert made[0].aggregate is not None
    return replace(draft, aggregates={**draft.aggregates, relation: made[0].aggregate}), made


def witnesses(draft: Draft, relation: str, rules: Iterable[DraftRule]) -> set[int]:
    """The columns that belong to the best row, and are no part of its group.

    Those that the text says (`min<C, P>`); and on networks, as in P2, those outside of the key that the table has:
    `bestPath(@S, D, a_MIN<C>, P)` with `keys(1, 2)` has one group for each `D`.
    """
    rules = list(rules)
    found = {i for rule in rules for i, a in rule.head_aggregates() if a.function == WITNESS}
    aggregated = {i for rule in rules for i, a in rule.head_aggregates()}
    key = draft.roles.keys.get(relation)
    if key is not None and not aggregated & set(key):
        located = {i for rule in rules for i, a in enumerate(rule.head.args) if getattr(a, "address", False)}
        columns = set(range(len(rules[0].head.args))) - aggregated - set(key) - set(sorted(located)[:1])
        found |= {i for i in columns if all(isinstance(rule.head.args[i], Variable) for rule in rules)}
    return found


def _candidate(arg: Term) -> Term:
    if isinstance(arg, HeadAggregate):
        assert arg.argument is not None
        return arg.argument
    return arg


def _aggregate_rule(rule: DraftRule, position: int, demand: str | None) -> DraftRule:
    fresh = rule.fresh()
    body = tuple(fresh.named(part) for part in rule.body)
    aggregate = rule.head.args[position]
    assert isinstance(aggregate, HeadAggregate)
    args = list(rule.head.args)
    args[position] = fresh(aggregate.function, aggregate.place)
    return replace(
        rule.with_head(args),
        body=body,
        aggregate=Aggregate(aggregate.function, position, aggregate.argument, demand),
    )


def _join(
    draft: Draft, relation: str, rules: list[DraftRule], signature: Signature
) -> tuple[Draft, list[DraftRule]]:
    """One internal relation an aggregate, and the rule that joins them on the group."""
    if relation in reachable(dependencies(draft.rules), relation):
        aggregate = next(a for rule in rules for _, a in rule.head_aggregates())
        raise RuleError(
            "unstratified-aggregate",
            f"{relation} has several aggregates and depends on itself",
            place=aggregate.place,
            hint="give each aggregate a relation of its own",
        )
    arity = len(rules[0].head.args)
    group = [i for i in range(arity) if i not in signature]
    columns = {i: Variable(f"c{i}") for i in range(arity)}
    made: list[DraftRule] = []
    body = []
    for position, function in signature.items():
        draft, helper = draft.helper(f"{relation}~{function}{position}", relation)
        parts = [
            replace(
                rule,
                label=f"{helper}/{i}",
                heads=(replace(rule.head, relation=helper, args=_take(rule.head, [*group, position])),),
            )
            for i, rule in enumerate(rules, 1)
        ]
        draft, parts = _single(draft, helper, parts, {len(group): function})
        made.extend(parts)
        body.append(Positive(Atom(helper, tuple(columns[i] for i in [*group, position]))))
    label = rules[0].label if len(rules) == 1 else f"{relation}~join"
    head = Atom(relation, tuple(columns.values()), place=rules[0].head.place)
    written = rules[0].written if len(rules) == 1 else ""
    join = DraftRule(label, (head,), tuple(body), None, rules[0].place, rules[0].text, written)
    return draft, [*made, join]


def _take(head: Atom, positions: list[int]) -> tuple[Term, ...]:
    return tuple(head.args[i] for i in positions)
