"""`(a ; b)` in a body becomes two rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from headwater.errors import RuleError
from headwater.language.program import Comparison, Disjunction, Literal, Positive
from headwater.rules.draft import Draft, DraftRule, helper_atom
from headwater.rules.terms import aggregates, binding, own_names, own_variables, variables

MOST_WAYS = 8
"""Up to so many rules in place of one; where alternatives combine in more ways, relations share them."""
MOST_RULES = 1024
"""More rules in place of one are refused."""


def expand_disjunction(draft: Draft) -> Draft:
    """No disjunction is left in a rule's own body (bodies of aggregates in it are for `body_aggregates`).

    A rule that counts, sums or averages must see each binding once, whichever alternative gives it. Its
    alternatives become rules of an internal relation of the bindings, and the aggregate ranges over that. A
    variable that occurs in some alternatives only is then existential. Several disjunctions whose alternatives
    combine in many ways become internal relations one after another, each with a rule for each alternative.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.values.functions import Functions
    >>> text = "p(X) :- q(X), (r(X) ; X > 3). n(count<X>) :- (q(X) ; r(X))."
    >>> print(render_draft(expand_disjunction(begin(parse(text), Functions()))))
    p#1/1: p(X) :- q(X), r(X).
    p#1/2: p(X) :- q(X), X > 3.
    n#1~rows/1: n#1~rows(X) :- q(X).
    n#1~rows/2: n#1~rows(X) :- r(X).
    n#1: n(count<X>) :- n#1~rows(X).
    """
    rules = []
    for rule in draft.rules:
        draft, expanded = expand_rule(draft, rule)
        rules.extend(expanded)
    return draft.with_rules(rules)


def expand_rule(draft: Draft, rule: DraftRule) -> tuple[Draft, list[DraftRule]]:
    """The rules that stand for one rule, and the draft with the internal relations if any were needed."""
    if not any(isinstance(part, Disjunction) for part in rule.body):
        return draft, [rule]
    if any(a.function not in ("min", "max") for _, a in rule.head_aggregates()):
        return _expand_below(draft, rule)
    body: tuple[Literal, ...] = rule.body  # type: ignore[assignment]
    ways = _ways(body)
    outside = [part for part in body if not isinstance(part, Disjunction)]
    if ways > MOST_WAYS and _aggregates(outside):
        return draft, [rule]  # `body_aggregates` asks again
    if ways > MOST_WAYS and (stages := _stages(rule, body)) is not None:
        return _expand_in_turn(draft, rule, stages)
    if ways > MOST_RULES:
        raise RuleError(
            "unsupported",
            f"the alternatives of {rule.label} combine in {ways:,} ways",
            place=next(part.place for part in body if isinstance(part, Disjunction)) or rule.place,
            hint="give each of them a relation of its own",
        )
    return draft, [
        replace(rule, label=f"{rule.label}/{i}", body=way) for i, way in enumerate(_alternatives(body), 1)
    ]


def _expand_below(draft: Draft, rule: DraftRule) -> tuple[Draft, list[DraftRule]]:
    fresh = rule.fresh()
    body: tuple[Literal, ...] = tuple(fresh.named(part) for part in rule.body)  # type: ignore[misc]
    everywhere = in_all_ways(body)
    columns = [v for part in body for v in own_variables(part) if v.name in everywhere]
    draft, relation = draft.helper(f"{rule.label}~rows", rule.relation)
    rows = helper_atom(relation, columns, rule.place)
    draft, parts = expand_rule(draft, replace(rule, label=relation, heads=(rows,), body=body))
    return draft, [*parts, replace(rule, body=(Positive(rows),))]


def in_all_ways(body: Iterable[Literal]) -> set[str]:
    """The variables that occur whichever alternatives are chosen."""
    found: set[str] = set()
    for part in body:
        if isinstance(part, Disjunction):
            found |= set.intersection(*(in_all_ways(alternative) for alternative in part.alternatives))
        else:
            found |= own_names([part])
    return found


def _ways(body: Iterable[Literal]) -> int:
    """In how many ways one alternative of every disjunction can be chosen."""
    return prod(
        sum(_ways(alternative) for alternative in part.alternatives)
        for part in body
        if isinstance(part, Disjunction)
    )


def _alternatives(body: Iterable[Literal]) -> list[tuple[Literal, ...]]:
    """All ways to choose one alternative of every disjunction, disjunctions inside them included."""
    choices: list[list[tuple[Literal, ...]]] = []
    for part in body:
        if isinstance(part, Disjunction):
            choices.append([chosen for a in part.alternatives for chosen in _alternatives(a)])
        else:
            choices.append([(part,)])
    return [tuple(part for chosen in way for part in chosen) for way in product(*choices)]


# ------------------------------------------------------------------ one disjunction after another


@dataclass(frozen=True)
class _Stage:
    """A disjunction, and what stands outside disjunctions and can be asked before it."""

    before: list[Literal]
    disjunction: Disjunction


def _stages(rule: DraftRule, body: Sequence[Literal]) -> list[_Stage] | None:
    """The body in an order in which each disjunction uses only what is bound by then; `None` if there is none."""
    plain = [part for part in body if not isinstance(part, Disjunction)]
    waiting = [part for part in body if isinstance(part, Disjunction)]
    if any(_aggregates(alternative) for part in waiting for alternative in part.alternatives):
        return None
    done: list[Literal] = []
    stages: list[_Stage] = []
    while waiting:
        bound = binding([*done, *plain])
        before: list[Literal] = [part for part in plain if own_names([part]) <= bound]
        plain = [part for part in plain if part not in before]
        done += before
        ready = next((part for part in waiting if _closed(part, bound)), None)
        if ready is None:
            return None
        waiting.remove(ready)
        done.append(ready)
        stages.append(_Stage(before, ready))
        later = own_names([*plain, *waiting]) | {v.name for arg in rule.head.args for v in variables(arg)}
        if not own_names([ready]) & later <= in_all_ways(done):
            return None  # a variable of one alternative joins it with what comes later
    stages[-1].before.extend(plain)
    return stages


def _closed(disjunction: Disjunction, bound: set[str]) -> bool:
    return all(own_names(way) <= binding(way, bound) for way in disjunction.alternatives)


def _aggregates(body: Iterable[Literal]) -> bool:
    """Whether there are aggregates, outside of disjunctions or in some alternative."""
    return any(
        any(_aggregates(alternative) for alternative in part.alternatives)
        if isinstance(part, Disjunction)
        else isinstance(part, Comparison) and any(True for _ in aggregates(part.right))
        for part in body
    )


def _expand_in_turn(draft: Draft, rule: DraftRule, stages: list[_Stage]) -> tuple[Draft, list[DraftRule]]:
    """A relation for each disjunction but the last: what held before it, and one of its alternatives.

    So there are as many rules as alternatives, not as combinations of them.
    """
    made: list[DraftRule] = []
    before: list[Literal] = []
    wanted = {v.name for arg in rule.head.args for v in variables(arg)}
    for number, stage in enumerate(stages, 1):
        before = [*before, *stage.before]
        target, later = rule, stages[number:]
        if later:
            needed = wanted.union(*(own_names([*after.before, after.disjunction]) for after in later))
            columns = in_all_ways([*before, stage.disjunction]) & needed
            found = [v for part in (*before, stage.disjunction) for v in own_variables(part)]
            draft, relation = draft.helper(f"{rule.label}~either", rule.relation)
            atom = helper_atom(relation, [v for v in found if v.name in columns], stage.disjunction.place)
            target = replace(rule, label=relation, heads=(atom,))
        for i, alternative in enumerate(stage.disjunction.alternatives, 1):
            way = replace(target, label=f"{target.label}/{i}", body=(*before, *alternative))
            draft, rules = expand_rule(draft, way)
            made += rules
        before = [Positive(target.head)]
    return draft, made
