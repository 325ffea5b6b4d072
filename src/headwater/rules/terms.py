"""Walking over terms and literals: which variables occur, which are bound, and rebuilding with changes.

Nothing here knows about relations or rules as a whole. A *part* is anything that can stand in a body while
rules are being rewritten: a literal as it was written, or an item of a checked body.

>>> X, Y = Variable("X"), Variable("Y")
>>> body = (Positive(Atom("q", (X,))), Comparison("=", Y, Call("+", (X, Constant(1)))))
>>> [v.name for part in body for v in part_variables(part)], sorted(binding(body))
(['X', 'Y', 'X'], ['X', 'Y'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from headwater.errors import Place
from headwater.language.datalog.operators import AGGREGATES
from headwater.language.program import (
    Atom,
    BodyAggregate,
    Call,
    Comparison,
    Constant,
    Disjunction,
    HeadAggregate,
    Literal,
    Negated,
    NegatedGroup,
    Positive,
    Term,
    Variable,
    Wildcard,
)
from headwater.rules.checked import Absent, Compute, Item, Premise, Test

Part = Literal | Item


_PLAIN = frozenset((Variable, Constant, Wildcard))


def plain(terms: Iterable[Term]) -> bool:
    """Whether these are variables, constants and wildcards only: nothing in them is computed."""
    return _PLAIN.issuperset(map(type, terms))


def plain_atom(part: Part) -> bool:
    """Whether a part as it was written is an atom of variables, constants and wildcards.

    Most are, and most rewrites leave them as they are.
    """
    return isinstance(part, (Positive, Negated)) and plain(part.atom.args)


def variables(term: Term | None) -> Iterator[Variable]:
    """Every occurrence of a variable in a term, in order of writing, bodies of aggregates included."""
    for inner in subterms(term):
        if isinstance(inner, Variable):
            yield inner
        elif isinstance(inner, BodyAggregate):
            yield from variables(inner.target)
            for part in inner.body:
                yield from part_variables(part)


def subterms(term: Term | None) -> Iterator[Term]:
    """The term and all terms in it, in order of writing, except those inside the braces of aggregates.

    Terms may be nested more deeply than Python's own stack is deep.
    """
    todo = [term]
    while todo:
        inner = todo.pop()
        if inner is None:
            continue
        yield inner
        if isinstance(inner, Call):
            todo += reversed(inner.args)
        elif isinstance(inner, HeadAggregate):
            todo.append(inner.argument)


def calls(term: Term) -> Iterator[Call]:
    """Every call of a function in a term."""
    return (inner for inner in subterms(term) if isinstance(inner, Call))


def part_terms(part: Part) -> tuple[Term, ...]:
    """The terms that stand directly in a part (none for a disjunction or a negated group)."""
    if isinstance(part, (Positive, Negated)):
        return part.atom.args
    if isinstance(part, (Premise, Absent)):
        return part.args
    if isinstance(part, Compute):
        return (part.variable, part.value)
    if isinstance(part, (Disjunction, NegatedGroup)):
        return ()
    return (part.left, part.right)


def part_variables(part: Part) -> Iterator[Variable]:
    """Every occurrence of a variable in a part, in order of writing."""
    if isinstance(part, Disjunction):
        for alternative in part.alternatives:
            for inner in alternative:
                yield from part_variables(inner)
    if isinstance(part, NegatedGroup):
        for inner in part.body:
            yield from part_variables(inner)
    for term in part_terms(part):
        yield from variables(term)


def own_variables(part: Part) -> Iterator[Variable]:
    """Every occurrence of a variable in a part, except those inside the braces of aggregates."""
    if isinstance(part, Comparison) and isinstance(part.right, BodyAggregate):
        yield from variables(part.left)
    elif isinstance(part, Disjunction):
        for alternative in part.alternatives:
            for inner in alternative:
                yield from own_variables(inner)
    else:
        yield from part_variables(part)


def own_names(parts: Iterable[Part]) -> set[str]:
    """The names of the variables that occur in the parts outside the braces of aggregates."""
    return {v.name for part in parts for v in own_variables(part)}


def names(parts: Iterable[Part]) -> set[str]:
    """The names of all variables that occur in the parts."""
    return {v.name for part in parts for v in part_variables(part)}


def place_of(node: Term | Part) -> Place | None:
    """Where a term or a part was written."""
    if isinstance(node, (Positive, Negated)):
        return node.atom.place
    return node.place


def atoms(parts: Iterable[Part]) -> Iterator[tuple[Atom, bool]]:
    """Every atom in the parts, disjunctions and aggregates included, and whether it stands positively."""
    for part in parts:
        if isinstance(part, (Positive, Negated)):
            yield part.atom, isinstance(part, Positive)
        elif isinstance(part, Disjunction):
            for alternative in part.alternatives:
                yield from atoms(alternative)
        elif isinstance(part, NegatedGroup):
            yield from ((atom, False) for atom, _ in atoms(part.body))
        for term in part_terms(part):
            if type(term) not in _PLAIN:
                for aggregate in aggregates(term):
                    yield from atoms(aggregate.body)


def aggregates(term: Term) -> Iterator[BodyAggregate]:
    """The outermost body aggregates in a term."""
    return (inner for inner in subterms(term) if isinstance(inner, BodyAggregate))


def binding(parts: Iterable[Part], bound: Iterable[str] = ()) -> set[str]:
    """The variables that the parts bind: those of positive atoms, and those equal to bound values.

    A disjunction binds what all of its alternatives bind. `bound` are variables that hold a value already.

    >>> X, Y, Z = Variable("X"), Variable("Y"), Variable("Z")
    >>> sorted(binding([Comparison("=", X, Y), Comparison("=", Y, Z), Positive(Atom("p", (Z,)))]))
    ['X', 'Y', 'Z']
    >>> binding([Comparison("=", X, Y)])
    set()
    """
    parts = list(parts)
    result = set(bound)
    for part in parts:
        if isinstance(part, (Positive, Premise)):
            result |= {term.name for term in part_terms(part) if isinstance(term, Variable)}
    growing = True
    while growing:
        before = len(result)
        for part in parts:
            if isinstance(part, Disjunction):
                result |= set.intersection(*(binding(a, result) for a in part.alternatives))
            elif isinstance(part, Compute):
                if _bound_in(part.value, result):
                    result.add(part.variable.name)
            elif isinstance(part, Comparison) and part.op in ("=", ":="):
                for one, other in ((part.left, part.right), (part.right, part.left)):
                    if isinstance(one, Variable) and _bound_in(other, result):
                        result.add(one.name)
        growing = len(result) > before
    return result


def _bound_in(term: Term, bound: set[str]) -> bool:
    if isinstance(term, BodyAggregate):
        return False  # its result is bound where the aggregate becomes a relation
    return all(v.name in bound for v in variables(term))


def rebuild(term: Term, change: Callable[[Term], Term]) -> Term:
    """The term with `change` applied to every subterm, innermost first, also inside aggregates' bodies.

    Calls may be nested more deeply than Python's own stack is deep.
    """
    done: list[Term] = []
    todo: list[tuple[Term, bool]] = [(term, False)]
    while todo:
        inner, entered = todo.pop()
        if isinstance(inner, Call) and not entered:
            todo.append((inner, True))
            todo += [(arg, False) for arg in reversed(inner.args)]
            continue
        if isinstance(inner, Call):
            first = len(done) - len(inner.args)
            inner = Call(inner.function, tuple(done[first:]), inner.place)
            del done[first:]
        elif isinstance(inner, HeadAggregate) and inner.argument is not None:
            argument = rebuild(inner.argument, change)
            inner = replace(inner, argument=argument if isinstance(argument, Variable) else inner.argument)
        elif isinstance(inner, BodyAggregate):
            target = None if inner.target is None else rebuild(inner.target, change)
            body = tuple(rebuild_literal(part, change) for part in inner.body)
            inner = replace(inner, target=target, body=body)
        done.append(change(inner))
    return done[0]


def rebuild_literal(literal: Literal, change: Callable[[Term], Term]) -> Literal:
    """The literal with `change` applied to every subterm."""
    if isinstance(literal, (Positive, Negated)):
        args = tuple(rebuild(arg, change) for arg in literal.atom.args)
        return replace(literal, atom=replace(literal.atom, args=args))
    if isinstance(literal, Comparison):
        return replace(literal, left=rebuild(literal.left, change), right=rebuild(literal.right, change))
    if isinstance(literal, NegatedGroup):
        return replace(literal, body=tuple(rebuild_literal(part, change) for part in literal.body))
    return Disjunction(
        tuple(tuple(rebuild_literal(part, change) for part in a) for a in literal.alternatives), literal.place
    )


def rebuild_part(part: Part, change: Callable[[Term], Term]) -> Part:
    """The part with `change` applied to every subterm; `change` keeps arguments plain where they must be."""
    if isinstance(part, (Premise, Absent)):
        args = tuple(rebuild(arg, change) for arg in part.args)
        return replace(part, args=args)  # type: ignore[arg-type]
    if isinstance(part, Test):
        return replace(part, left=rebuild(part.left, change), right=rebuild(part.right, change))
    if isinstance(part, Compute):
        variable, value = rebuild(part.variable, change), rebuild(part.value, change)
        if isinstance(variable, Variable):
            return replace(part, variable=variable, value=value)
        return Test("=", variable, value, part.place)
    return rebuild_literal(part, change)


def substitute(part: Part, values: Mapping[str, Variable | Constant]) -> Part:
    """The part with the named variables replaced."""

    def change(term: Term) -> Term:
        return values.get(term.name, term) if isinstance(term, Variable) else term

    return rebuild_part(part, change)


class Fresh:
    """Names for new variables of one rule. They hold a `~`, which no written variable can.

    >>> fresh = Fresh({"X", "X~1"})
    >>> fresh("X").name, fresh("X").name, fresh().name
    ('X~2', 'X~3', 'v~1')
    """

    def __init__(self, taken: Iterable[str]):
        """Never give a name in `taken`."""
        self._taken = set(taken)

    def __call__(self, like: str = "v", place: Place | None = None) -> Variable:
        """A variable that occurs nowhere yet, named after `like`."""
        stem = like.split("~")[0]
        number = 1
        while f"{stem}~{number}" in self._taken:
            number += 1
        self._taken.add(f"{stem}~{number}")
        return Variable(f"{stem}~{number}", place=place)

    def named(self, part: Part) -> Part:
        """The part with a variable in place of each wildcard, if it is a positive atom."""
        if not isinstance(part, Positive):
            return part
        args = tuple(self("any", t.place) if isinstance(t, Wildcard) else t for t in part.atom.args)
        return Positive(replace(part.atom, args=args))


def aggregate_hint(name: str, args: Sequence[Term]) -> str | None:
    """How an aggregate is written that was written as a function; `None` for what is no aggregate.

    >>> aggregate_hint("Count", [Variable("Y")])
    'an aggregate of a head is written count<Y>, in a body N = count : { ... }'
    """
    function = AGGREGATES.get(name.lower())
    if function is None or len(args) > 1:
        return None
    of = args[0].name if args and isinstance(args[0], Variable) else ("*" if function == "count" else "X")
    target = "" if function == "count" else f" {of}"
    body = "" if function == "list" else f", in a body N = {function}{target} : {{ ... }}"
    return f"an aggregate of a head is written {function}<{of}>{body}"
