"""Provenance as a system of equations (green-2007 section 3.2), and its least solution.

Each derived row's annotation is the sum, over its immediate derivations, of the rule applied to the product
of the premises' annotations; base rows carry given values. Components without cycles are evaluated once, in
order. Those with cycles are iterated from zero until nothing changes, or refused if that has no end.

>>> from headwater.annotations.minimal_dnf import MinimalDNF
>>> dnf = MinimalDNF()
>>> system = {"a": [Summand("m", ("p",)), Summand("m", ("b",))], "b": [Summand("m", ("a", "q"))]}
>>> solved = solve(system, dnf, {"p": dnf.variable(1), "q": dnf.variable(2)})
>>> dnf.show(solved["a"]), dnf.show(solved["b"])
('p1', 'p1·p2')
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from headwater.annotations.protocol import Annotation, product, refuse_cycles
from headwater.rules.strata import components

A = TypeVar("A")
Row = TypeVar("Row", bound=Hashable)


@dataclass(frozen=True)
class Summand(Generic[Row]):
    """One rule instance: a hyper-edge from its premises to the row it derives."""

    rule: str
    premises: tuple[Row, ...]


Equations = Mapping[Row, Sequence[Summand[Row]]]


def solve(
    equations: Equations[Row],
    annotation: Annotation[A],
    base: Mapping[Row, A],
    rules: Callable[[str], A] | None = None,
) -> dict[Row, A]:
    """What each row of the equations carries. Rows in neither the equations nor `base` carry `zero`.

    A row may be in both: inserted, and derived as well. `rules` says what using a rule multiplies by.
    """
    values: dict[Row, A] = dict(base)
    graph = {
        row: list(
            dict.fromkeys(premise for d in derivations for premise in d.premises if premise in equations)
        )
        for row, derivations in equations.items()
    }

    def evaluate(row: Row) -> A:
        result = base.get(row, annotation.zero)
        for derivation in equations[row]:
            premises = (values.get(premise, annotation.zero) for premise in derivation.premises)
            term = annotation.through(derivation.rule, product(annotation, premises))
            if rules is not None:
                term = annotation.times(rules(derivation.rule), term)
            result = annotation.plus(result, term)
        return result

    for members in components(graph):
        if len(members) == 1 and members[0] not in graph[members[0]]:
            values[members[0]] = evaluate(members[0])
            continue
        refuse_cycles(annotation, str(members[0]))
        readers: dict[Row, list[Row]] = {row: [] for row in members}
        for row in members:
            values[row] = annotation.zero
            for premise in graph[row]:
                if premise in readers:
                    readers[premise].append(row)
        waiting = dict.fromkeys(members)
        while waiting:
            row = next(iter(waiting))
            del waiting[row]
            value = evaluate(row)
            if not annotation.equal(value, values[row]):
                values[row] = value
                waiting.update(dict.fromkeys(readers[row]))
    return {row: values[row] for row in equations}
