"""The row that a mapping brings to a relation, and what trust conditions say of it, as literals of rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headwater.language.datalog.operators import OPPOSITES
from headwater.language.mappings.mapping import Tgd, fresh
from headwater.language.mappings.policy import TrustCondition
from headwater.language.program import Atom, Call, Comparison, Literal, NegatedGroup, Term, Variable, Wildcard


class BroughtRow:
    """The row that a mapping brings to a relation, and what conditions say of it.

    Skolem terms stand in the head; where a condition looks at one, it has a variable.
    """

    def __init__(self, tgd: Tgd, atom: Atom):
        frontier = tuple(Variable(name) for name in tgd.frontier)
        self.made: list[Literal] = []
        terms: list[Term] = []
        for term in atom.args:
            if isinstance(term, Variable) and term.name in tgd.existentials:
                terms.append(Call(f"?{tgd.skolem(term.name)}", frontier))
            else:
                terms.append(term)
        self._terms = terms
        self._taken = tgd.body_variables

    @property
    def row(self) -> tuple[Term, ...]:
        return tuple(self._terms)

    def predicate(self, condition: TrustCondition) -> list[Literal]:
        """The comparisons that hold where a condition speaks of the row; none where it speaks of all."""
        if condition.atom is None:
            return []
        found: list[Literal] = []
        values: dict[str, Term] = {}
        for column, term in enumerate(condition.atom.args):
            if isinstance(term, Variable):
                if term.name in values:
                    found.append(Comparison("=", values[term.name], self._plain(column)))
                else:
                    values[term.name] = self._plain(column) if _mentions(condition, term.name) else term
            elif not isinstance(term, Wildcard):
                found.append(Comparison("=", self._plain(column), term))
        return found + [_substituted(literal, values) for literal in condition.guard]

    def _plain(self, column: int) -> Term:
        """The value of a column as something that can be compared."""
        term = self._terms[column]
        if isinstance(term, Call):
            variable = Variable(fresh(f"new_{column}", self._taken))
            self.made.append(Comparison("=", variable, term))
            self._terms[column] = variable
            return variable
        return term


def _mentions(condition: TrustCondition, name: str) -> bool:
    assert condition.atom is not None
    repeated = [term for term in condition.atom.args if isinstance(term, Variable) and term.name == name]
    return len(repeated) > 1 or any(name in _names_in(literal) for literal in condition.guard)


def _names_in(literal: Literal) -> set[str]:
    assert isinstance(literal, Comparison)
    todo, found = [literal.left, literal.right], set()
    while todo:
        term = todo.pop()
        if isinstance(term, Variable):
            found.add(term.name)
        elif isinstance(term, Call):
            todo += term.args
    return found


def _substituted(literal: Literal, values: Mapping[str, Term]) -> Literal:
    assert isinstance(literal, Comparison)
    return Comparison(literal.op, _with(literal.left, values), _with(literal.right, values), literal.place)


def _with(term: Term, values: Mapping[str, Term]) -> Term:
    if isinstance(term, Variable):
        return values.get(term.name, term)
    if isinstance(term, Call):
        return Call(term.function, tuple(_with(arg, values) for arg in term.args), term.place)
    return term


def negated(predicate: Sequence[Literal]) -> Literal:
    """As Datalog reads `!(...)`: a comparison alone is turned round."""
    first = predicate[0]
    if len(predicate) > 1 or not isinstance(first, Comparison) or first.op not in OPPOSITES:
        return NegatedGroup(tuple(predicate))
    if not any(isinstance(side, Call) for side in (first.left, first.right)):
        return replace(first, op=OPPOSITES[first.op])
    return NegatedGroup(tuple(predicate))
