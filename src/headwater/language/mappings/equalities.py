"""Equality-generating dependencies as rules: what is equal is a view, and joins go by it.

All rows stay as they are. For each set of positions between which values can pass, if some dependency equates values
there, a relation `same_1_e` holds the pairs of different values that are equal: a labelled null and another value. It
is symmetric and transitive. Two different constants that would have to be equal are in `clash_1_e`, and never in
`same_1_e`, or the clash would spread to rows that have no part in it. Joins at such positions, and constants there,
hold for values that are the same or in `same_1_e`; whoever shows rows puts one value of each class in place of all.

Exact under deletes, since all of it is rules: see `hubs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product

from headwater.errors import RuleError
from headwater.language.mappings.mapping import Egd, Mappings, PeerRelation, Schemas, Tgd, fresh, variables
from headwater.language.program import Call, Comparison, Constant, Literal, Positive, Term, Variable

Position = tuple[PeerRelation, int]
MOST_JOINS_BY_EQUALITY = 6
"""Of one mapping: each doubles its rules."""


@dataclass(frozen=True)
class KeyDependency:
    """`R(k, a), R(k, b) -> a = b`: rows of one relation that agree in `key` agree in `column`."""

    relation: PeerRelation
    key: tuple[int, ...]
    column: int
    label: str


@dataclass
class Equalities:
    """Which positions hold values that may be equal, by the number of their class."""

    schemas: Schemas
    mappings: Mappings
    classes: dict[Position, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        above: dict[Position, Position] = {}

        def top(position: Position) -> Position:
            while above.get(position, position) != position:
                position = above[position]
            return position

        starts: list[Position] = []
        every: tuple[Tgd | Egd, ...] = (*self.mappings.tgds, *self.mappings.egds)
        for mapping in every:
            heads = mapping.heads if isinstance(mapping, Tgd) else ()
            places: dict[str, Position] = {}
            for atom in (*mapping.premises, *heads):
                relation = self.schemas.find(atom)
                for column, term in enumerate(atom.args):
                    if isinstance(term, Variable):
                        position = (relation, column)
                        above[top(position)] = top(places.setdefault(term.name, position))
            if isinstance(mapping, Egd):
                above[top(places[mapping.left])] = top(places[mapping.right])
                starts.append(places[mapping.right])
        numbers: dict[Position, int] = {}
        for start in starts:
            numbers.setdefault(top(start), len(numbers) + 1)
        for relation, columns in self.schemas.columns.items():
            for column in range(len(columns)):
                number = numbers.get(top((relation, column)))
                if number is not None:
                    self.classes[relation, column] = number

    @property
    def numbers(self) -> tuple[int, ...]:
        """The classes of positions."""
        return tuple(sorted(set(self.classes.values())))

    def of(self, egd: Egd) -> int:
        """The class whose values a dependency equates."""
        number = self.class_of(egd, egd.left)
        assert number is not None, "a safe dependency has its variables in its body"
        return number

    def class_of(self, egd: Egd, name: str) -> int | None:
        """The class of the positions of a variable, if values may be equal to others there."""
        for atom in egd.premises:
            for column, term in enumerate(atom.args):
                if isinstance(term, Variable) and term.name == name:
                    return self.classes.get((self.schemas.find(atom), column))
        return None

    # ------------------------------------------------------------------ joins

    def variants(
        self, mapping: Tgd | Egd
    ) -> Iterator[tuple[tuple[Literal, ...], dict[str, Term], list[tuple[int, Term, Term]]]]:
        """The bodies that a mapping has: each join at positions of a class holds by identity, or by equality.

        Gives a body, what the further variables of the provenance relation are there, and pairs (with their class)
        that have to be equal.
        """
        spread, choices = self._spread(mapping)
        if len(choices) > MOST_JOINS_BY_EQUALITY:
            raise RuleError(
                "too-many-joins",
                f"{mapping.label} joins more than {MOST_JOINS_BY_EQUALITY} times where values may be equal",
                place=mapping.place,
                hint="split the mapping: let a relation of its own hold a part of the body",
            )
        for chosen in product((False, True), repeat=len(choices)):
            identical = {
                more.name: first for (_, first, more), by in zip(choices, chosen, strict=True) if not by
            }
            equal = [choice for choice, by in zip(choices, chosen, strict=True) if by]
            body = tuple(
                Positive(replace(each.atom, args=tuple(_put(term, identical) for term in each.atom.args)))
                if isinstance(each, Positive)
                else each
                for each in spread
            )
            yield body, identical, [(number, first, more) for number, first, more in equal]

    def further(self, mapping: Tgd | Egd) -> tuple[str, ...]:
        """The variables that a body has once joins are spread."""
        return tuple(more.name for _, _, more in self._spread(mapping)[1])

    def _spread(self, mapping: Tgd | Egd) -> tuple[list[Literal], list[tuple[int, Term, Variable]]]:
        """The body with another variable for each further occurrence of a value that may be equal to others."""
        seen: set[str] = set()
        taken = {name for atom in mapping.premises for name in variables(atom.args)}
        compared = {name for each in mapping.body if isinstance(each, Comparison) for name in names_in(each)}
        body: list[Literal] = []
        choices: list[tuple[int, Term, Variable]] = []
        for literal in mapping.body:
            if not isinstance(literal, Positive):
                body.append(literal)
                continue
            relation = self.schemas.find(literal.atom)
            terms: list[Term] = []
            for column, term in enumerate(literal.atom.args):
                number = self.classes.get((relation, column))
                repeated = isinstance(term, Constant) or isinstance(term, Variable) and term.name in seen
                if isinstance(term, Variable):
                    if number is not None and term.name in compared:
                        raise RuleError(
                            "compared-equality",
                            f"{term.name} may be equal to a value that nobody knows yet, and is compared",
                            place=mapping.place,
                            hint="compare only values of columns that no equality reaches",
                        )
                    seen.add(term.name)
                if number is not None and repeated:
                    further = Variable(fresh(f"also_{len(choices) + 1}", taken))
                    choices.append((number, term, further))
                    term = further
                terms.append(term)
            body.append(Positive(replace(literal.atom, args=tuple(terms))))
        return body, choices

    # ------------------------------------------------------------------ keys

    def key_dependencies(self) -> tuple[KeyDependency, ...]:
        """The dependencies that say that a relation has a key."""
        return tuple(key for egd in self.mappings.egds if (key := self._key(egd)) is not None)

    def _key(self, egd: Egd) -> KeyDependency | None:
        if len(egd.body) != 2 or len(egd.premises) != 2:
            return None
        first, second = egd.premises
        relation = self.schemas.find(first)
        if self.schemas.find(second) != relation or not all(
            isinstance(term, Variable) for term in (*first.args, *second.args)
        ):
            return None
        names = [[term.name for term in atom.args if isinstance(term, Variable)] for atom in (first, second)]
        shared = [column for column, (a, b) in enumerate(zip(*names, strict=True)) if a == b]
        equated = [
            column
            for column, pair in enumerate(zip(*names, strict=True))
            if set(pair) == {egd.left, egd.right} and len(set(pair)) == 2
        ]
        free = len(set(names[0] + names[1])) == 2 * len(first.args) - len(shared)
        return (
            KeyDependency(relation, tuple(shared), equated[0], egd.label)
            if len(equated) == 1 and free
            else None
        )


def is_unknown(term: Term) -> list[Literal]:
    """The literals that hold of a labelled null."""
    nothing = Constant(None)
    return [Comparison("is", Call("unlabelled", (term,)), nothing), Comparison("is not", term, nothing)]


def is_known(term: Term) -> Literal:
    """The literal that holds of any value but nulls."""
    return Comparison("is not", Call("unlabelled", (term,)), Constant(None))


def _put(term: Term, values: dict[str, Term]) -> Term:
    return values.get(term.name, term) if isinstance(term, Variable) else term


def names_in(literal: Comparison) -> Iterator[str]:
    """The variables that a comparison is about."""
    todo: list[Term] = [literal.left, literal.right]
    while todo:
        term = todo.pop()
        if isinstance(term, Variable):
            yield term.name
        elif isinstance(term, Call):
            todo += term.args
