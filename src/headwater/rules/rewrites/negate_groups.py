"""`!(a(X, Y), b(Y))` becomes the negation of an internal relation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headwater.errors import RuleError
from headwater.language.program import (
    Atom,
    BodyAggregate,
    Comparison,
    Constant,
    Disjunction,
    Literal,
    Negated,
    NegatedGroup,
    Positive,
    Term,
    Variable,
)
from headwater.rules.draft import Draft, DraftRule, helper_atom
from headwater.rules.rewrites.body_aggregates import recursion, values_of
from headwater.rules.terms import (
    Part,
    binding,
    own_names,
    part_variables,
    plain_atom,
    rebuild_literal,
    variables,
)


def negate_groups(draft: Draft) -> Draft:
    """Only atoms are negated from here on.

    The internal relation has the variables that a group shares with what is around it; all of them must be bound
    there. The others are the group's own: it asks whether there are such values. Where a group uses a shared
    variable without binding it (`Y < X`), it is joined with an internal relation of the values it can have; where
    only the rule's own recursion tells these, the group is counted instead, by demand.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.rules.render import render_draft
    >>> from headwater.values.functions import Functions
    >>> draft = begin(parse("p(X) :- q(X), !(r(X, Y), s(Y))."), Functions())
    >>> print(render_draft(negate_groups(draft)))
    p#1~not: p#1~not(X) :- r(X, Y), s(Y).
    p#1: p(X) :- q(X), !p#1~not(X).
    """
    rules: list[DraftRule] = []
    for rule in draft.rules:
        if all(map(plain_atom, rule.body)):
            rules.append(rule)
            continue
        writer = _Writer(draft, rule)
        body = writer.body(rule.body, ())  # type: ignore[arg-type]
        draft = writer.draft
        rules += [*writer.helpers, replace(rule, body=body)]
    return draft.with_rules(rules)


@dataclass
class _Writer:
    """The groups of one rule, inner ones first, and the internal rules that they become."""

    draft: Draft
    rule: DraftRule
    helpers: list[DraftRule] = field(default_factory=list)

    def body(self, parts: tuple[Literal, ...], around: tuple[Literal, ...]) -> tuple[Literal, ...]:
        """The parts without groups; `around` is what else holds where they stand."""
        return tuple(
            self._part(part, (*around, *parts[:place], *parts[place + 1 :])) if _has_group(part) else part
            for place, part in enumerate(parts)
        )

    def _part(self, part: Literal, around: tuple[Literal, ...]) -> Literal:
        if isinstance(part, NegatedGroup):
            return self._negated(part, around)
        if isinstance(part, Disjunction):
            return replace(part, alternatives=tuple(self.body(a, around) for a in part.alternatives))

        def change(term: Term) -> Term:
            return (
                replace(term, body=self.body(term.body, around)) if isinstance(term, BodyAggregate) else term
            )

        return rebuild_literal(part, change)

    def _negated(self, group: NegatedGroup, around: tuple[Literal, ...]) -> Negated | Comparison:
        around = tuple(part for part in around if not _has_group(part))
        outside = own_names(around) | {v.name for arg in self.rule.head.args for v in variables(arg)}
        shared: dict[str, Variable] = {}
        for variable in part_variables(group):
            if variable.name in outside:
                shared.setdefault(variable.name, variable)
        bound = binding(around)
        for variable in shared.values():
            if variable.name not in bound:
                raise RuleError(
                    "unsafe-variable",
                    f"{variable.name} is used outside a negated group but bound only inside it",
                    place=variable.place or group.place,
                    hint=f"bind {variable.name} by a premise outside, or give it another name inside",
                )
        inner = self.body(group.body, around)
        used_only = [v for v in shared.values() if v.name not in binding(inner)]
        values = values_of(self.draft, self.rule, list(around), used_only) if used_only else ()
        recursive = recursion(self.draft, self.rule)
        if any(map(recursive, values)) and not any(map(recursive, inner)):
            return Comparison(
                "=", Constant(0), BodyAggregate("count", None, inner, place=group.place), group.place
            )
        if used_only:
            self.draft, domain = self.draft.helper(f"{self.rule.label}~domain", self.rule.relation)
            atom = helper_atom(domain, used_only, group.place)
            self._add(domain, atom, values)
            inner = (Positive(atom), *inner)
        self.draft, relation = self.draft.helper(f"{self.rule.label}~not", self.rule.relation)
        head = helper_atom(relation, shared.values(), group.place)
        self._add(relation, head, inner)
        return Negated(head)

    def _add(self, label: str, head: Atom, body: tuple[Part, ...]) -> None:
        self.helpers.append(replace(self.rule, label=label, heads=(head,), body=body))


def _has_group(part: Literal) -> bool:
    if isinstance(part, NegatedGroup):
        return True
    if isinstance(part, Disjunction):
        return any(_has_group(inner) for alternative in part.alternatives for inner in alternative)
    found = False

    def look(term: Term) -> Term:
        nonlocal found
        found = found or isinstance(term, BodyAggregate) and any(_has_group(inner) for inner in term.body)
        return term

    rebuild_literal(part, look)
    return found
