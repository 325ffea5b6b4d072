"""Where rows are to live, as the text says it: the column that NDlog marks with `@` (loo-2006 definition 1).

The location specifier is the first column that is marked: `link(@S, @D, C)` lives at `S`. A relation whose atoms do
not agree on it has none; that matters to networks only, which refuse it.

>>> from headwater.language.datalog import parse
>>> locations(parse("p(@S, @D) :- q(C, @S, @D).").rules)
{'p': 0, 'q': 1}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headwater.language.program import (
    Atom,
    Constant,
    Disjunction,
    HeadAggregate,
    Literal,
    Negated,
    NegatedGroup,
    Positive,
    Rule,
    Variable,
)


def locations(rules: Iterable[Rule]) -> dict[str, int]:
    """The location column of each relation that has one; relations of programs without `@` have none."""
    found: dict[str, set[int]] = {}
    for rule in rules:
        for atom in (*rule.heads, *_atoms(rule.body)):
            column = _marked(atom)
            if column is not None:
                found.setdefault(atom.relation, set()).add(column)
    return {relation: min(columns) for relation, columns in found.items() if len(columns) == 1}


def _marked(atom: Atom) -> int | None:
    for column, term in enumerate(atom.args):
        if isinstance(term, Variable | Constant | HeadAggregate) and term.address:
            return column
        if isinstance(term, HeadAggregate) and term.argument is not None and term.argument.address:
            return column
    return None


def _atoms(body: Iterable[Literal]) -> Iterator[Atom]:
    for literal in body:
        if isinstance(literal, Positive | Negated):
            yield literal.atom
        elif isinstance(literal, NegatedGroup):
            yield from _atoms(literal.body)
        elif isinstance(literal, Disjunction):
            for alternative in literal.alternatives:
                yield from _atoms(alternative)
