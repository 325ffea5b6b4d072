"""`N = count : { ... }` becomes an internal relation with an aggregate in its head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headwater.errors import RuleError
from headwater.language.program import (
    BodyAggregate,
    Comparison,
    Constant,
    Disjunction,
    HeadAggregate,
    Literal,
    Negated,
    Positive,
    Variable,
    Wildcard,
)
from headwater.rules.draft import Draft, DraftRule, helper_atom
from headwater.rules.rewrites.expand_disjunction import expand_rule, in_all_ways
from headwater.rules.strata import dependencies, reachable
from headwater.rules.terms import (
    Part,
    atoms,
    binding,
    own_names,
    own_variables,
    part_variables,
    place_of,
    variables,
)

_ZERO_IF_EMPTY = ("count", "sum")


def body_aggregates(draft: Draft) -> Draft:
    """No aggregate is left in a body.

    The internal relation is grouped by the variables that the braces share with the rest of the rule; all of
    them must be bound outside. Where the braces use such a variable without binding it (`Y < X`), they are
    joined with an internal relation of the values it can have. count and sum over nothing are 0, so the rule
    is split in two, with and without a group; min, max and avg over nothing give no row.

    Where only the rule's own recursion tells those values, the aggregate is *by demand*: a part of the recursion
    itself, which asks for groups of what lies below (see `maintain/demanded`).

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.values.functions import Functions
    >>> draft = begin(parse("deg(X, N) :- node(X), N = count : { link(X, _) }."), Functions())
    >>> print(render_draft(body_aggregates(draft)))
    deg#1~count: deg#1~count(X, count<*>) :- link(X, _).
    deg#1~count~groups: deg#1~count~groups(X) :- deg#1~count(X, _).
    deg#1/1: deg(X, N) :- node(X), deg#1~count(X, N).
    deg#1/2: deg(X, N) :- node(X), N = 0, !deg#1~count~groups(X).
    """
    rules: list[DraftRule] = []
    for rule in draft.rules:
        draft, made = _replace_aggregates(draft, rule)
        rules.extend(made)
    return draft.with_rules(rules)


def _replace_aggregates(draft: Draft, rule: DraftRule) -> tuple[Draft, list[DraftRule]]:
    body = list(rule.body)
    helpers: list[DraftRule] = []
    while any(_aggregate(part) for part in body):
        position = _next_ready(rule, body)
        aggregate, part = _aggregate(body[position]), body[position]
        assert aggregate is not None and isinstance(part, Comparison) and isinstance(part.left, Variable)
        rest = body[:position] + body[position + 1 :]
        shared = _shared(rule, part, rest)
        draft, made, value = _make_relation(draft, rule, aggregate, shared, rest, part.left)
        helpers.extend(made)
        body[position : position + 1] = value
    draft, expanded = expand_rule(draft, replace(rule, body=tuple(body)))
    return draft, [*helpers, *expanded]


def _aggregate(part: Part) -> BodyAggregate | None:
    if isinstance(part, Comparison) and isinstance(part.right, BodyAggregate):
        return part.right
    return None


def _shared(rule: DraftRule, part: Comparison, rest: list[Part]) -> list[Variable]:
    """The variables inside the braces that also occur outside of any braces, each once."""
    outside = own_names([*rest, part]) | {v.name for arg in rule.head.args for v in variables(arg)}
    inside: dict[str, Variable] = {}
    for variable in variables(part.right):
        if variable.name in outside:
            inside.setdefault(variable.name, variable)
    return list(inside.values())


def _next_ready(rule: DraftRule, body: list[Part]) -> int:
    """The first aggregate whose shared variables are bound by the rest of the body."""
    problem: Variable | None = None
    for position, part in enumerate(body):
        if isinstance(part, Comparison) and _aggregate(part):
            rest = body[:position] + body[position + 1 :]
            bound = binding(rest)
            unbound = [v for v in _shared(rule, part, rest) if v.name not in bound]
            if not unbound:
                return position
            problem = problem or unbound[0]
    assert problem is not None
    raise RuleError(
        "unsafe-variable",
        f"{problem.name} is used outside the braces of an aggregate but bound only inside them",
        place=problem.place or rule.place,
        hint=f"bind {problem.name} by a premise outside the braces, or aggregate in the head: count<...>",
    )


def _make_relation(
    draft: Draft,
    rule: DraftRule,
    aggregate: BodyAggregate,
    shared: list[Variable],
    rest: list[Part],
    result: Variable,
) -> tuple[Draft, list[DraftRule], list[Literal]]:
    """The internal rules of one aggregate, and the literals that stand in its place."""
    helpers: list[DraftRule] = []
    inner: tuple[Literal, ...] = aggregate.body
    used_only = [v for v in shared if v.name not in binding(inner)]
    demand: str | None = None
    if used_only:
        values = values_of(draft, rule, rest, used_only)
        recursive = recursion(draft, rule)
        by_demand = any(map(recursive, values)) and not any(map(recursive, inner))
        if by_demand:
            values = values_of(draft, rule, rest, shared)
        draft, domain = draft.helper(f"{rule.label}~domain", rule.relation)
        atom = helper_atom(domain, shared if by_demand else used_only, aggregate.place)
        helpers.append(replace(rule, label=domain, heads=(atom,), body=values, aggregate=None))
        if by_demand:
            demand = domain
            draft, below, inner = _below(draft, rule, inner, {v.name for v in shared})
            helpers += below
        inner = (Positive(atom), *inner)
    draft, relation = draft.helper(f"{rule.label}~{aggregate.function}", rule.relation)
    draft = replace(draft, bodies=draft.bodies | {relation})
    if demand is not None:
        draft = replace(draft, demands={**draft.demands, relation: demand})
    target = aggregate.target if isinstance(aggregate.target, Variable) else None
    groups = helper_atom(f"{relation}~groups", shared, aggregate.place)
    columns = groups.args if shared else ()
    head = replace(
        groups,
        relation=relation,
        args=(*columns, HeadAggregate(aggregate.function, target, aggregate.place)),
    )
    helpers.append(replace(rule, label=relation, heads=(head,), body=inner, aggregate=None))
    with_group = Positive(replace(head, args=(*columns, result)))
    if aggregate.function not in _ZERO_IF_EMPTY or demand is not None:
        return *_expand_all(draft, helpers), [with_group]
    draft, _ = draft.helper(groups.relation, rule.relation)
    some = Positive(replace(head, args=(*columns, Wildcard())))
    helpers.append(replace(rule, label=groups.relation, heads=(groups,), body=(some,), aggregate=None))
    without = (Comparison("=", result, Constant(0), aggregate.place), Negated(groups))
    return *_expand_all(draft, helpers), [Disjunction(((with_group,), without), aggregate.place)]


def _below(
    draft: Draft, rule: DraftRule, inner: tuple[Literal, ...], shared: set[str]
) -> tuple[Draft, list[DraftRule], tuple[Literal, ...]]:
    """The body of an aggregate by demand without disjunctions and further aggregates: these go into a relation below.

    That is possible for what does not mention the shared variables.
    """

    def splits(part: Literal) -> bool:
        return isinstance(part, Disjunction) or _aggregate(part) is not None

    if not any(map(splits, inner)):
        return draft, [], inner
    fresh = rule.fresh()
    inner = tuple(fresh.named(part) for part in inner)  # type: ignore[misc]
    apart = [part for part in inner if shared.isdisjoint(v.name for v in part_variables(part))]
    plain = [part for part in inner if part not in apart]
    if any(map(splits, plain)):
        raise RuleError(
            "unsupported",
            "inside this recursion, alternatives and aggregates within the braces must not use values from outside",
            place=next((place_of(part) for part in plain if splits(part)), None) or rule.place,
            hint="give the alternatives a relation of their own",
        )
    draft, relation = draft.helper(f"{rule.label}~inner", rule.relation)
    always = in_all_ways(apart)
    found = [v for part in apart for v in own_variables(part) if v.name in always]
    atom = helper_atom(relation, found, rule.place)
    helper = replace(rule, label=relation, heads=(atom,), body=tuple(apart), aggregate=None)
    return draft, [helper], (Positive(atom), *plain)


def _expand_all(draft: Draft, helpers: list[DraftRule]) -> tuple[Draft, list[DraftRule]]:
    """The internal rules without disjunctions and aggregates of their own."""
    result: list[DraftRule] = []
    for helper in helpers:
        draft, alternatives = expand_rule(draft, helper)
        for alternative in alternatives:
            draft, made = _replace_aggregates(draft, alternative)
            result.extend(made)
    return draft, result


def recursion(draft: Draft, rule: DraftRule) -> Callable[[Part], bool]:
    """Tells the parts that depend on the relation which the rule derives."""
    graph = dependencies(draft.rules)

    def depends(relation: str) -> bool:
        return relation in draft.demands or rule.relation in {relation, *reachable(graph, relation)}

    return lambda part: any(depends(atom.relation) for atom, _ in atoms([part]))


def values_of(draft: Draft, rule: DraftRule, rest: list[Part], wanted: list[Variable]) -> tuple[Part, ...]:
    """A body that gives at least all values the wanted variables have in the rule.

    More values than those do no harm, as the result is joined with the rule again. So premises that depend on
    the rule's own relation are left out if the others bind the variables: the aggregate stays outside the
    recursion. So are premises that share no variable with the wanted ones, directly or through others.
    """
    recursive = recursion(draft, rule)
    needed = {v.name for v in wanted}
    parts = [part for part in rest if not _aggregate(part)]
    outside = [part for part in parts if not recursive(part)]
    if needed <= binding(outside):
        parts = outside
    bound = binding(parts)
    parts = [part for part in parts if {v.name for v in part_variables(part)} <= bound]
    chosen: list[Part] = []
    while True:
        linked = [p for p in parts if p not in chosen and any(v.name in needed for v in part_variables(p))]
        if not linked:
            return tuple(part for part in parts if part in chosen)
        chosen.extend(linked)
        needed |= {v.name for part in linked for v in part_variables(part)}
