"""Every variable must get its value from a premise, or be computed from variables that do.

`schedule` puts a body into an order in which this holds from left to right, and thereby decides which
equalities compute and which test. What cannot be put into order is unsafe: the error names the variable, its
place and what would bind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from headwater.errors import RuleError
from headwater.language.program import Call, Comparison, Constant, Negated, Positive, Term, Variable, Wildcard
from headwater.rules.checked import Absent, Compute, Item, Premise, Test
from headwater.rules.draft import DraftRule
from headwater.rules.terms import Part, calls, part_terms, part_variables, place_of, variables

_TOTAL = frozenset(
    ("+", "-", "neg", "list", "concat_path", "cat", "strlen", "contains")
    + ("f_concat", "f_append", "f_size", "f_member")
)
"""Functions that have a result for all arguments (of sums: all but those that overflow)."""


_TESTS = {":=": "=", "is": "=", "is not": "!="}
"""The tests that comparisons are once it is clear which of them compute."""


def schedule(body: Iterable[Part]) -> tuple[Item, ...]:
    """The body as items, each as early as its variables are bound, premises in the order of writing.

    >>> X, Y, Z = Variable("X"), Variable("Y"), Variable("Z")
    >>> from headwater.language.program import Atom
    >>> for item in schedule([Comparison("=", X, Y), Comparison("=", Y, Z), Positive(Atom("p", (Z,)))]):
    ...     print(type(item).__name__, [v.name for v in part_variables(item)])
    Premise ['Z']
    Compute ['Y', 'Z']
    Compute ['X', 'Y']
    """
    bound: set[str] = set()
    items: list[Item] = []
    waiting: list[Part] = []
    for part in body:
        _refuse_wildcards(part)
        if isinstance(part, (Positive, Premise)):
            items.append(_premise(part))
            bound |= {v.name for v in part_variables(part)}
        else:
            waiting.append(part)
        while (item := _first_ready(waiting, bound)) is not None:
            items.append(item)
            bound |= {v.name for v in part_variables(item)}
    if waiting:
        _refuse_waiting(waiting, bound)
    return tuple(items)


def check_head(rule: DraftRule) -> None:
    """Refuse a head, or an aggregate's argument, that the scheduled body does not bind."""
    bound = {v.name for part in rule.body for v in part_variables(part)}
    terms = list(rule.head.args)
    if rule.aggregate is not None:
        terms.pop(rule.aggregate.position)
        if rule.aggregate.argument is not None:
            terms.append(rule.aggregate.argument)
    for term in terms:
        if isinstance(term, Wildcard):
            raise RuleError(
                "unsafe-variable",
                "a head cannot hold `_`",
                place=term.place or rule.place,
                hint="name the value that belongs there and bind it in the body",
            )
        for variable in variables(term):
            if variable.name not in bound:
                raise RuleError(
                    "unsafe-variable",
                    f"{variable.name} is in the head but the body does not bind it",
                    place=variable.place or rule.place,
                    hint=_unbound_hint(variable.name, rule.body),
                )


def _unbound_hint(name: str, body: Sequence[Part]) -> str:
    """What to do about a variable of the head; a string of its letters in the body was most likely meant to be it."""
    strings = [term.value for part in body for term in part_terms(part) if isinstance(term, Constant)]
    for value in strings:
        if isinstance(value, str) and value != name and value.casefold() == name.casefold():
            return f'{value} is the string "{value}" in the body: write {name} there'
    return f"use {name} in a premise, or compute it"


def may_fail(item: Item) -> bool:
    """Whether computing the item can go wrong for some values: a division, a function of the user's.

    What is written before it may be there to keep those values out, so it must be asked first.
    """
    if isinstance(item, Test):
        return _partial(item.left) or _partial(item.right)
    return isinstance(item, Compute) and _partial(item.value)


def _partial(term: Term) -> bool:
    """Whether the term calls a function that does not have a result for all arguments."""
    return any(call.function not in _TOTAL for call in calls(term))


def _premise(part: Positive | Premise) -> Premise:
    if isinstance(part, Premise):
        return part
    args = tuple(arg for arg in part.atom.args if isinstance(arg, (Variable, Constant, Wildcard)))
    assert len(args) == len(part.atom.args), "flatten_terms comes first"
    return Premise(part.atom.relation, args, part.atom.place)


def _first_ready(waiting: list[Part], bound: set[str]) -> Item | None:
    for i, part in enumerate(waiting):
        item = _ready(part, bound)
        if item is not None:
            del waiting[i]
            return item
    return None


def _ready(part: Part, bound: set[str]) -> Item | None:
    unbound = {v.name for v in part_variables(part)} - bound
    if isinstance(part, Comparison) and part.op == ":=":
        _check_assignment(part, bound)
    if isinstance(part, Comparison) and part.op in ("=", ":=") and unbound:
        for one, other in ((part.left, part.right), (part.right, part.left)):
            if (
                isinstance(one, Variable)
                and one.name not in bound
                and {v.name for v in variables(other)} <= bound
            ):
                return Compute(one, other, part.place)
        return None
    if isinstance(part, Compute) and {v.name for v in variables(part.value)} <= bound:
        return part
    if unbound:
        return None
    if isinstance(part, Comparison):
        return Test(_TESTS.get(part.op, part.op), part.left, part.right, part.place)
    if isinstance(part, Negated):
        args = tuple(arg for arg in part.atom.args if isinstance(arg, (Variable, Constant)))
        return Absent(part.atom.relation, args, part.atom.place)
    assert isinstance(part, (Absent, Test)), "disjunctions are expanded before"
    return part


def _check_assignment(part: Comparison, bound: set[str]) -> None:
    if not isinstance(part.left, Variable):
        raise RuleError(
            "bad-assignment",
            "`:=` gives a variable its value, and there is none on its left",
            place=place_of(part.left) or part.place,
            hint="use `=` to compare",
        )
    if part.left.name in bound:
        raise RuleError(
            "bad-assignment",
            f"`:=` gives {part.left.name} a value, but it has one already",
            place=part.left.place or part.place,
            hint="use `=` to compare, or another name",
        )


def _refuse_wildcards(part: Part) -> None:
    for term in part_terms(part):
        plain = isinstance(part, (Positive, Premise))
        if isinstance(term, Call) or not plain:
            found = _wildcard_in(term)
            if found is not None:
                raise RuleError(
                    "unsafe-variable",
                    "`_` has no value to compute with",
                    place=found.place or place_of(part),
                    hint="name it, and bind it in a premise",
                )


def _wildcard_in(term: Term) -> Wildcard | None:
    if isinstance(term, Wildcard):
        return term
    if isinstance(term, Call):
        return next((w for arg in term.args if (w := _wildcard_in(arg)) is not None), None)
    return None


def _refuse_waiting(waiting: list[Part], bound: set[str]) -> NoReturn:
    """Name the variable to blame: one that nothing could bind, rather than one that waits for it."""
    waits_for_others = {
        side.name
        for part in waiting
        if isinstance(part, Comparison) and part.op in ("=", ":=")
        for side, other in ((part.left, part.right), (part.right, part.left))
        if isinstance(side, Variable) and any(v.name != side.name for v in variables(other))
    }
    unbound = [(part, v) for part in waiting for v in part_variables(part) if v.name not in bound]
    blamed = [(part, v) for part, v in unbound if v.name not in waits_for_others] or unbound
    part, variable = blamed[0]
    name = variable.name
    if isinstance(part, (Negated, Absent)):
        message = f"{name} occurs only under a negation, so it has no value to look for"
        hint = f"write `_` if any value will do, or bind {name} in a premise"
    elif len(waits_for_others) > 1 and name in waits_for_others:
        message = f"{name} is equal to something that has no value either"
        hint = f"bind {name} in a premise"
    else:
        message = f"{name} is not bound by a premise"
        hint = f"use {name} in a premise, or compute it from variables that are"
    raise RuleError("unsafe-variable", message, place=variable.place or place_of(part), hint=hint)
