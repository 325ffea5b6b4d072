"""Whether a row of a program can be among its own premises.

It cannot where something grows with every step of a recursion: a column whose value is greater than that of each
premise of the recursion, as `L` in `L = L1 + 1` or the length of `P` in `P = concat([X], P1)`. Rules that only hand
it through (those of localisation do) must not form a cycle among themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from headwater.language.program import Call, Constant, Term, Variable
from headwater.networks.strands.network_program import NetworkProgram
from headwater.rules.checked import CheckedRule, Compute, Premise
from headwater.rules.strata import components
from headwater.values.types import INT

MOST_CHOICES = 4096
"""Choices of growing columns that are tried for a recursion."""

_JOINED = {"concat": (0, 1), "f_concat": (0, 1), "f_append": (0,), "f_prepend": (1,)}
"""Functions that give a longer list, if what they add is not empty, and the arguments that it is longer than."""


def why_cyclic(program: NetworkProgram) -> str | None:
    """Why derivations may be cyclic, in words; `None` if they cannot be."""
    if program.passing:
        owner = program.relations[program.passing[0].relation].owner
        return f"{owner} has best rows inside of a recursion"
    graph: dict[str, set[str]] = {name: set() for name in program.relations}
    for rule in program.rules:
        graph[rule.relation] |= {item.relation for item in rule.body if isinstance(item, Premise)}
    for members in components(graph):
        own = set(members)
        rules = [rule for rule in program.rules if rule.relation in own and _recursive(rule, own)]
        if rules and not _grows(program, list(members), rules):
            names = sorted({program.relations[name].owner or name for name in members})
            return (
                f"{' and '.join(names)} may rest on itself: no column grows with every step of the recursion"
            )
    return None


def _recursive(rule: CheckedRule, own: set[str]) -> bool:
    return any(isinstance(item, Premise) and item.relation in own for item in rule.body)


def _grows(program: NetworkProgram, members: list[str], rules: Iterable[CheckedRule]) -> bool:
    """Whether there is a column for each relation that never gets less, and more on every cycle."""
    rules = list(rules)
    choices = [range(program.relations[name].arity) for name in members]
    for number, columns in enumerate(product(*choices)):
        if number >= MOST_CHOICES:
            return False
        if _grows_by(rules, dict(zip(members, columns, strict=True))):
            return True
    return False


def _grows_by(rules: Iterable[CheckedRule], columns: Mapping[str, int]) -> bool:
    handed: dict[str, set[str]] = {name: set() for name in columns}
    for rule in rules:
        head = rule.head[columns[rule.relation]]
        for item in rule.body:
            if isinstance(item, Premise) and item.relation in columns:
                premise = item.args[columns[item.relation]]
                if not isinstance(head, Variable) or not isinstance(premise, Variable):
                    return False
                if head.name == premise.name:
                    handed[rule.relation].add(item.relation)
                elif not _greater(rule, head, premise):
                    return False
    return all(len(found) == 1 and found[0] not in handed[found[0]] for found in components(handed))


def _greater(rule: CheckedRule, head: Variable, premise: Variable) -> bool:
    """Whether the rule computes the head's value as a greater one than the premise's."""
    for item in rule.body:
        if isinstance(item, Compute) and item.variable.name == head.name and isinstance(item.value, Call):
            name, args = item.value.function, item.value.args
            if name == "+" and rule.types.get(head.name) == INT:
                return any(_is(args[i], premise) and _positive(args[1 - i]) for i in (0, 1))
            longer = _JOINED.get(name, ())
            if name in ("concat", "f_concat"):
                return any(_is(args[i], premise) and _listed(args[1 - i]) for i in longer)
            return any(_is(args[i], premise) for i in longer)
    return False


def _is(term: Term, variable: Variable) -> bool:
    return isinstance(term, Variable) and term.name == variable.name


def _positive(term: Term) -> bool:
    return isinstance(term, Constant) and type(term.value) is int and term.value > 0


def _listed(term: Term) -> bool:
    """A list that is written with elements."""
    return isinstance(term, Call) and term.function == "list" and bool(term.args)
