"""Facts leave the rules and become rows."""

from __future__ import annotations

from dataclasses import replace

from headwater.errors import RuleError
from headwater.language.program import Atom, Constant, HeadAggregate, Term, Wildcard
from headwater.rules.draft import Draft
from headwater.rules.render import render_term
from headwater.rules.terms import variables


def take_facts(draft: Draft) -> Draft:
    """Every rule has a body from here on; a rule without one, of constants only, becomes a row in `facts`.

    A fact is a row that can be deleted again like any other: what it computes was computed by `compute_facts`.

    >>> from headwater.language.datalog import parse
    >>> from headwater.rules.draft import begin
    >>> from headwater.values.functions import Functions
    >>> draft = take_facts(begin(parse('link("a", "b"). link("b", "c"). p(X) :- link(X, Y).'), Functions()))
    >>> [[arg.value for arg in atom.args] for atom in draft.facts["link"]], len(draft.rules)
    ([['a', 'b'], ['b', 'c']], 1)
    """
    rules = []
    facts: dict[str, dict[tuple[tuple[type, object], ...], Atom]] = {}
    for rule in draft.rules:
        if rule.body:
            rules.append(rule)
            continue
        for arg in rule.head.args:
            _refuse_open(arg)
        # Python holds 1 == 1.0 == True: rows are told apart by type as well.
        row = tuple((type(arg.value), arg.value) for arg in rule.head.args if isinstance(arg, Constant))
        facts.setdefault(rule.relation, {}).setdefault(row, rule.head)
    stated = {relation: tuple(atoms.values()) for relation, atoms in facts.items()}
    return replace(draft, rules=tuple(rules), facts=stated)


def _refuse_open(arg: Term) -> None:
    if isinstance(arg, HeadAggregate):
        raise RuleError(
            "unsafe-variable",
            f"{arg.function}<...> needs a body to aggregate over",
            place=arg.place,
            hint="add a body, or state the value",
        )
    if isinstance(arg, Wildcard):
        raise RuleError(
            "unsafe-variable", "a fact cannot hold `_`", place=arg.place, hint="state a value in its place"
        )
    for variable in variables(arg):
        raise RuleError(
            "unsafe-variable",
            f"{variable.name} is a variable, and a fact has no body to bind it",
            place=variable.place,
            hint=f'state a value, such as "{variable.name}", or add a body',
        )
    if not isinstance(arg, Constant):
        raise RuleError(
            "unsupported",
            f"a fact states values; `{render_term(arg)}` must be computed",
            place=arg.place,
            hint=f"make it a rule with a body: X = {render_term(arg)}",
        )
