"""From a text to rules that can be run: the one entry point of this package.

What is refused, is refused here, with a code and a place; what comes out has the properties that `checked`
lists. The work is a fixed sequence: the shapes of the relations, the rewrites in order, strata, types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headwater.language.program import Constant, HeadAggregate, Program, Variable
from headwater.rules.checked import (
    Absent,
    Checked,
    CheckedRule,
    Compute,
    Kind,
    Premise,
    RelationInfo,
    Stratum,
    Test,
    UpdateAggregate,
    UpdateRule,
)
from headwater.rules.draft import Draft, DraftRule, begin
from headwater.rules.fit_constants import fit
from headwater.rules.infer_types import Typing, fit_item, fit_term, infer_types
from headwater.rules.kinds import kept
from headwater.rules.network_text import NetworkText, network_text, relations_at_addresses
from headwater.rules.nullability import Nullability, Nulls, infer_nullability
from headwater.rules.relations import relations
from headwater.rules.rewrites import REWRITES, Rewrites, rewritten
from headwater.rules.rewrites.head_aggregates import WITNESS, witnesses
from headwater.rules.roles import NO_EVENTS, roles_of
from headwater.rules.shapes import shapes
from headwater.rules.strata import stratify
from headwater.rules.terms import atoms, part_variables, variables
from headwater.values.functions import Functions
from headwater.values.types import BOOL, Type

EVERY = "~every"
"""A variable of a rule that counts all bindings, beside rules that count values."""


def check(
    program: Program,
    functions: Functions,
    *,
    known: Mapping[str, tuple[Type | None, ...]] = {},  # noqa: B006
    nullable: Mapping[str, tuple[bool | None, ...]] = {},  # noqa: B006
    network: bool = False,
    rewrites: Rewrites = REWRITES,
) -> Checked:
    """The program's rules, checked, rewritten, typed and in strata; raises `RuleError` at the first fault.

    With `network` the text is read as networks run it: with events, timers, and tables that rules update (`roles`).

    `known` has the column types of relations whose data is there already, `nullable` whether they take nulls. A
    relation that nothing fills is an empty one; `unfilled` says which are doubtful. `rewrites` are those to be
    done: all, but for optimisations that somebody has switched off.

    >>> from headwater.language.datalog import parse
    >>> checked = check(parse("p(X) :- q(X), !r(X). q(1)."), Functions())
    >>> [stratum.relations for stratum in checked.strata], checked.facts
    ([('p',)], {'q': ((1,),)})
    """
    addressed = relations_at_addresses(program) if network else frozenset()

    def is_function(name: str) -> bool:
        return functions.has(name) and name not in addressed

    text = network_text(program, is_function) if network else NetworkText(program, ())
    program = text.program
    roles = roles_of(program, is_function, [t.relation for t in text.timers]) if network else NO_EVENTS
    draft = begin(program, functions, known, nullable, roles)
    columns = shapes(draft)
    draft = rewritten(draft, rewrites)
    assert len({rule.label for rule in draft.rules}) == len(draft.rules), "labels tell rules apart"
    maintained = [rule for rule in draft.rules if rule.update is None]
    members = stratify(draft.with_rules(maintained))
    typing = infer_types(draft)
    nulls = infer_nullability(draft, Nulls.ANY if network else Nulls.NONE)  # networks take rows after this
    infos, notes = relations(draft, columns, typing, nulls)
    rules: dict[str, list[CheckedRule]] = {}
    for rule in maintained:
        finished = _finish(typing, nulls, rule, infos[rule.relation])
        rules.setdefault(rule.relation, []).append(finished)
    strata = [
        Stratum(names, tuple(rule for name in names for rule in rules[name]), recursive)
        for names, recursive in members
    ]
    found = kept(program, infos, strata)
    return Checked(
        relations=found.relations,
        strata=found.strata,
        virtual=found.virtual,
        followed=found.followed,
        facts=_facts(draft, typing),
        facades=draft.facades,
        inputs={d.relation: d.options for d in program.directives if d.kind == "input"},
        outputs={d.relation: d.options for d in program.directives if d.kind == "output"},
        sizes=tuple(d.relation for d in program.directives if d.kind == "printsize"),
        notes=(*draft.notes, *notes, *found.notes),
        updates=tuple(
            _finish_update(draft, typing, nulls, rule) for rule in draft.rules if rule.update is not None
        ),
        timers=text.timers,
        links=_links(program, found.relations),
        watched=tuple(d.relation for d in program.directives if d.kind == "watch" and d.relation in columns),
    )


def _links(program: Program, infos: Mapping[str, RelationInfo]) -> tuple[str, ...]:
    marked = [atom.relation for rule in program.rules for atom, _ in atoms(rule.body) if atom.link]
    stored = [name for name in ("link",) if name in infos and infos[name].kind is Kind.BASE]
    return tuple(dict.fromkeys(marked)) or tuple(stored)


def _finish_update(draft: Draft, typing: Typing, nulls: Nullability, rule: DraftRule) -> UpdateRule:
    """An update rule as the next layer gets it."""
    assert rule.update is not None
    args = [fit_term(typing, rule.relation, i, term) for i, term in enumerate(rule.head.args)]
    best = any(aggregate.function in ("min", "max") for _, aggregate in rule.head_aggregates())
    others = witnesses(draft, rule.relation, [rule]) if best else set()
    head = tuple(
        UpdateAggregate(term.function, term.argument)
        if isinstance(term, HeadAggregate)
        else UpdateAggregate(WITNESS, term)
        if i in others and isinstance(term, Variable)
        else term
        for i, term in enumerate(args)
    )
    plain = replace(rule, heads=(replace(rule.head, args=tuple(args)),))
    finished = _finish(typing, nulls, plain, None)
    premises = [item.relation for item in finished.body if isinstance(item, Premise)]
    event = next((i for i, name in enumerate(premises) if name in draft.roles.events), None)
    return UpdateRule(finished, rule.update, head, event)  # type: ignore[arg-type]


def _finish(typing: Typing, nulls: Nullability, rule: DraftRule, info: RelationInfo | None) -> CheckedRule:
    """The rule as the next layer gets it, its constants written as their columns need."""
    head = tuple(fit_term(typing, rule.relation, i, term) for i, term in enumerate(rule.head.args))
    body = tuple(
        fit_item(typing, rule, item)
        for item in rule.body
        if isinstance(item, (Premise, Absent, Test, Compute))
    )
    aggregate, types = rule.aggregate, dict[str, Type | None]()
    if aggregate is not None and info is not None and info.aggregate is not None:
        if info.aggregate.argument is None:
            aggregate = replace(aggregate, argument=None)
        elif aggregate.argument is None:  # another rule counts values, this one all bindings
            aggregate = replace(aggregate, argument=Variable(EVERY))
            body, types = (*body, Compute(Variable(EVERY), Constant(True))), {EVERY: BOOL}
    occurring = {v.name for item in body for v in part_variables(item)}
    occurring |= {v.name for term in head for v in variables(term)}
    return CheckedRule(
        label=rule.label,
        relation=rule.relation,
        head=tuple(term for term in head if isinstance(term, (Variable, Constant))),
        body=body,
        types={name: typing.variable(rule, name) for name in sorted(occurring)} | types,
        aggregate=aggregate,
        nullable=frozenset(name for name, held in nulls.variables(rule).items() if held),
        place=rule.place,
        text=rule.text,
        written=rule.written,
    )


def _facts(draft: Draft, typing: Typing) -> dict[str, tuple[tuple[object, ...], ...]]:
    rows: dict[str, tuple[tuple[object, ...], ...]] = {}
    for relation, facts in draft.facts.items():
        types = [typing.column(relation, i) for i in range(len(facts[0].args))]
        rows[relation] = tuple(
            tuple(
                fit(arg.value, type, arg.place)
                for arg, type in zip(atom.args, types, strict=True)
                if isinstance(arg, Constant)
            )
            for atom in facts
        )
    return rows
