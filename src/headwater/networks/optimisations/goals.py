"""Magic sets on networks: only what a goal asks for is derived, and sent (loo-2006 section 5.1.2).

The goal's constants are rows of a base relation of their own, `wanted`, which live at the first of them that is an
address; `plan/goals` rewrites the rules for the patterns in which relations are called. What is asked of a relation
lives where its rows do, where the address is among what is asked; else where another address is (`magicDst(@D)`).
A linear recursion that hands its results through is turned round, from right to left: predicate reordering.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headwater.errors import RuleError
from headwater.language.datalog.questions import parse_question
from headwater.language.program import Atom, Constant, Positive, Program, Rule, Term, Variable
from headwater.plan.goals import goal_program
from headwater.plan.goals.adorned import Adorned
from headwater.rules.check import check
from headwater.rules.checked import UNIT, Checked, CheckedRule, Premise, RelationInfo
from headwater.rules.rewrites import Rewrites
from headwater.rules.terms import atoms
from headwater.spelling import did_you_mean
from headwater.values.functions import Functions

ANSWER, WANTED = "answer~", "wanted~"
FEW_ROWS, MANY_ROWS = 4.0, 1e9
"""How many rows a premise is taken to have: of which something is known, and of which nothing is. So nothing is asked
for everywhere that could be asked for at some address."""


@dataclass(frozen=True)
class GoalOnNodes:
    """The rewritten rules, which relation's answers are asked for, and the rewriting in words."""

    checked: Checked
    relation: str
    lines: tuple[str, ...]


def goal_on_nodes(program: Program, goal: str, functions: Functions, rewrites: Rewrites) -> GoalOnNodes:
    """The program for a goal such as `shortestPath(S, @'d', P, C)`."""
    atom = _goal_atom(program, goal)
    asked = replace(program, rules=(*program.rules, *_goal_rules(program, atom)), queries=())
    checked = check(asked, functions, rewrites=rewrites)
    rules = [rule for stratum in checked.strata for rule in stratum.rules]
    found = goal_program(ANSWER, rules, checked.relations, _fanout)
    addresses = address_columns(program)
    relations = {
        name: replace(info, location=_location(name, info, checked, found.calls, addresses))
        for name, info in found.checked.relations.items()
    }
    strata = tuple(
        replace(stratum, rules=tuple(map(_without_unit, stratum.rules))) for stratum in found.checked.strata
    )
    located = replace(found.checked, relations=relations, strata=strata, facts=checked.facts)
    return GoalOnNodes(located, atom.relation, tuple(found.lines()))


def address_columns(program: Program) -> dict[str, set[int]]:
    """The columns of each relation that the text marks with `@`."""
    found: dict[str, set[int]] = {}
    for rule in program.rules:
        for atom in (*rule.heads, *(atom for atom, _ in atoms(rule.body))):
            marked = {number for number, term in enumerate(atom.args) if getattr(term, "address", False)}
            found.setdefault(atom.relation, set()).update(marked)
    return found


def _goal_atom(program: Program, goal: str) -> Atom:
    (query,) = parse_question(goal, "<goal>").queries
    if len(query.body) != 1 or not isinstance(query.body[0], Positive):
        raise RuleError(
            "goal", f"{goal} is no goal for a network", hint="one relation: shortestPath(S, @'d', P, C)"
        )
    atom = query.body[0].atom
    heads = {head.relation for rule in program.rules for head in rule.heads}
    if atom.relation not in heads:
        hint = did_you_mean(atom.relation, heads)
        raise RuleError("unknown-relation", f"the program derives no relation {atom.relation}", hint=hint)
    if not any(isinstance(term, Constant) for term in atom.args):
        raise RuleError(
            "goal", f"{goal} asks for everything", hint="say for which address: shortestPath(S, @'d', P, C)"
        )
    return atom


def _goal_rules(program: Program, atom: Atom) -> list[Rule]:
    """`answer~(S, D) :- wanted~(@D), reach(S, D).` and the fact `wanted~(@"d").`"""
    marked = address_columns(program).get(atom.relation, set())
    head = [
        Variable(f"Goal{number}", number in marked) if not isinstance(term, Variable) else term
        for number, term in enumerate(atom.args)
    ]
    constants = [number for number, term in enumerate(atom.args) if isinstance(term, Constant)]
    constants.sort(key=lambda number: number not in marked)
    wanted = Atom(WANTED, tuple(head[number] for number in constants))
    body = (Positive(wanted), Positive(replace(atom, args=tuple(head))))
    values: list[Term] = []
    for number in constants:
        term = atom.args[number]
        assert isinstance(term, Constant)
        values.append(replace(term, address=number in marked))
    located = [replace(each, address=number in marked) for number, each in enumerate(head)]
    return [
        Rule(None, (Atom(ANSWER, tuple(located)),), body),
        Rule(None, (Atom(WANTED, tuple(values)),), ()),
    ]


def _fanout(premise: Premise, bound: set[str]) -> float:
    known = any(isinstance(arg, Constant) or getattr(arg, "name", None) in bound for arg in premise.args)
    return FEW_ROWS if known else MANY_ROWS


def _location(
    name: str,
    info: RelationInfo,
    checked: Checked,
    calls: tuple[Adorned, ...],
    addresses: Mapping[str, set[int]],
) -> int | None:
    for call in calls:
        if name not in (call.asked, call.seeded):
            continue
        home = checked.relations[call.relation].location
        marked = addresses.get(call.relation, set())
        order = [column for column in call.bound if column == home]
        order += [column for column in call.bound if column in marked]
        if not order:
            raise RuleError(
                "goal",
                f"the goal asks for rows of {call.relation} by columns that hold no address: no node can be asked",
                hint="give a constant for a column with @, or leave the goal out: then all rows are derived",
            )
        return call.bound.index(order[0]) + (len(call.bound) if name == call.seeded else 0)
    return info.location


def _without_unit(rule: CheckedRule) -> CheckedRule:
    """The rule without the premise that always holds, which lives at one node."""
    body = tuple(item for item in rule.body if not (isinstance(item, Premise) and item.relation == UNIT))
    return replace(rule, body=body) if any(isinstance(item, Premise) for item in body) else rule
