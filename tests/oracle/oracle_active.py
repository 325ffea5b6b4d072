"""Random active rules, and what they do told by plain Python over states that clingo works out from scratch."""

from __future__ import annotations

import operator
import random
from collections.abc import Mapping
from dataclasses import dataclass

from oracle_clingo import Row, State, solve
from oracle_programs import Atom, Compare, Literal, Not, RandomProgram, Term, _atom, _literal

OPERATORS = {"<": operator.lt, "<=": operator.le, "!=": operator.ne, "=": operator.eq}
LARGEST_VALUE = 9
"""Actions insert no larger values, so that cascades end, or come back to where they were."""
MOST_TRANSITIONS = 8

Binding = dict[str, int]
Base = dict[str, frozenset[Row]]


class Endless(Exception):
    """There are too many transitions."""


class Refused(Exception):
    """A rule refuses the version."""


@dataclass(frozen=True)
class Act:
    """`insert`, `delete` (with wildcards) or `refuse`, of an atom."""

    kind: str
    atom: Atom

    def text(self) -> str:
        return "refuse 'no'" if self.kind == "refuse" else f"{self.kind} {_atom(self.atom)}"


@dataclass(frozen=True)
class RandomActive:
    sign: str
    event: Atom
    condition: tuple[Literal, ...]
    acts: tuple[Act, ...]

    def text(self) -> str:
        literals = "".join(f", {_literal(literal)}" for literal in self.condition)
        return f"on {self.sign}{_atom(self.event)}{literals} do {', '.join(act.text() for act in self.acts)}."

    def bindings(self, before: State, after: State) -> list[Binding]:
        """All values of variables for which event and condition hold."""
        name = self.event.relation
        came, went = after[name] - before[name], before[name] - after[name]
        rows = {"+": came, "-": went, "": came | went}[self.sign]
        found = [binding for row in rows if (binding := _matched(self.event.args, row, {})) is not None]
        for literal in self.condition:
            found = [more for binding in found for more in _holds(literal, binding, after)]
        return found


def _matched(args: tuple[Term, ...], row: Row, binding: Mapping[str, int]) -> Binding | None:
    found = dict(binding)
    for arg, value in zip(args, row, strict=True):
        if arg is None:
            continue
        if (found.setdefault(arg, value) if isinstance(arg, str) else arg) != value:
            return None
    return found


def _holds(literal: Literal, binding: Binding, state: State) -> list[Binding]:
    if isinstance(literal, Compare):
        left, right = (_value(term, binding) for term in (literal.left, literal.right))
        return [binding] if OPERATORS[literal.op](left, right) else []
    atom = literal.atom if isinstance(literal, Not) else literal
    assert isinstance(atom, Atom)
    matched = [_matched(atom.args, row, binding) for row in state[atom.relation]]
    found = [one for one in matched if one is not None]
    if isinstance(literal, Not):
        return [] if found else [binding]
    return found


def _value(term: Term, binding: Mapping[str, int]) -> int:
    assert term is not None
    return binding[term] if isinstance(term, str) else term


# ------------------------------------------------------------------ what happens


def simulated(
    program: RandomProgram, rules: list[RandomActive], before: State, base: Base
) -> tuple[State, Base]:
    """The state that a version leads to whose first transition makes the base relations these."""
    last, now = before, solve(program, base)
    for _ in range(MOST_TRANSITIONS + 1):
        asked, changed = False, {name: set(rows) for name, rows in base.items()}
        inserts: list[tuple[str, Row]] = []
        for rule in rules:
            for binding in rule.bindings(last, now):
                for act in rule.acts:
                    if act.kind == "insert":
                        inserts.append((act.atom.relation, tuple(_value(a, binding) for a in act.atom.args)))
                        asked = True
                    elif act.kind == "delete":
                        gone = {
                            row
                            for row in base[act.atom.relation]
                            if _matched(act.atom.args, row, binding) is not None
                        }
                        changed[act.atom.relation] -= gone
                        asked |= bool(gone)
        if not asked:
            break
        for name, row in inserts:
            changed[name].add(row)
        base = {name: frozenset(rows) for name, rows in changed.items()}
        last, now = now, solve(program, base)
    else:
        raise Endless
    if any(act.kind == "refuse" and rule.bindings(before, now) for rule in rules for act in rule.acts):
        raise Refused
    return now, base


# ------------------------------------------------------------------ random rules


def random_active(program: RandomProgram, draw: random.Random) -> RandomActive:
    """A rule over any relation of the program that has whole numbers only."""
    relations = {name: n for name, n in program.relations.items() if name not in program.averages()}
    event = _random_atom(draw, relations)
    bound = sorted({arg for arg in event.args if isinstance(arg, str)})
    condition: list[Literal] = []
    if draw.random() < 0.3:
        atom = _random_atom(draw, relations)
        condition.append(atom)
        bound = sorted({*bound, *(arg for arg in atom.args if isinstance(arg, str))})
    if draw.random() < 0.4:
        condition.append(Not(_bound_atom(draw, relations, bound, wildcards=True)))
    if bound and draw.random() < 0.4:
        condition.append(Compare(draw.choice(list(OPERATORS)), draw.choice(bound), draw.randrange(4)))
    acts = [_random_act(draw, program, bound) for _ in range(draw.choice([1, 1, 2]))]
    used = {a for act in acts if act.kind == "insert" for a in act.atom.args if isinstance(a, str)}
    condition += [Compare("<=", name, LARGEST_VALUE) for name in sorted(used)]
    return RandomActive(
        draw.choice("++-") if draw.random() < 0.8 else "", event, tuple(condition), tuple(acts)
    )


def moving_rows(program: RandomProgram, draw: random.Random) -> list[RandomActive]:
    """Rules that move rows from one base relation to another and back: for ever, if nothing else stops them."""
    names = draw.sample(["a", "e", "f"], 2)
    atoms = [Atom(name, ("X", "X")[: program.base[name]]) for name in names]
    bound = Compare("<=", "X", draw.choice([0, 1, LARGEST_VALUE]))
    return [
        RandomActive("+", atoms[i], (bound,), (Act("delete", atoms[i]), Act("insert", atoms[1 - i])))
        for i in range(2)
    ]


def _random_act(draw: random.Random, program: RandomProgram, bound: list[str]) -> Act:
    kind = draw.choices(["insert", "delete", "refuse"], [6, 5, 1])[0]
    return Act(kind, _bound_atom(draw, program.base, bound, wildcards=kind == "delete"))


def _random_atom(draw: random.Random, relations: Mapping[str, int]) -> Atom:
    name = draw.choice(sorted(relations))
    args = [draw.choice(["X", "Y", "Z", "X", "Y", None, draw.randrange(4)]) for _ in range(relations[name])]
    return Atom(name, tuple(args))


def _bound_atom(
    draw: random.Random, relations: Mapping[str, int], bound: list[str], *, wildcards: bool
) -> Atom:
    name = draw.choice(sorted(relations))
    terms: list[Term] = [*bound, *bound, draw.randrange(4), *([None] if wildcards else [])]
    return Atom(name, tuple(draw.choice(terms) for _ in range(relations[name])))
