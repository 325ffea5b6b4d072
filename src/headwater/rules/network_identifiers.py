"""Arithmetic of identifiers: hashes on a ring of 2^160 numbers, as P2 and RapidNet have them.

`f_sha1` gives an identifier, a text of 40 hexadecimal digits: those are ordered as the numbers that they write, so
comparisons, `min` and intervals (`K in (N, S]`) need nothing else. So is `0x1I` where it stands alone, as a column or
as what is assigned; beside an operator it is a number. Which variables are identifiers follows from where these are
assigned and where the columns that they reach are read. `+` and `-` with one of them are taken round the
ring (`f_idPlus`, `f_idMinus`), and so is `0x1I << I + N`, which adds a power of 2 to an identifier: a shift *by* an
identifier means nothing. `>>` drops the last bits of one (`f_idUnshift`).

`+` of a text that is written with an identifier stays a text: `f_sha1("link" + ID)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headwater.language.program import (
    Atom,
    Call,
    Comparison,
    Constant,
    HeadAggregate,
    Literal,
    Negated,
    Positive,
    Program,
    Rule,
    Term,
    Variable,
)
from headwater.rules.terms import atoms, rebuild_literal
from headwater.values.ring import id_written

HASH = "f_sha1"
_SHIFT, _UNSHIFT = "bshl", "bshr"
_ROUND = {"+": "f_idPlus", "-": "f_idMinus"}
RESULTS = (HASH, *_ROUND.values(), "f_idShift", "f_idUnshift")
"""Functions that give identifiers."""

Column = tuple[str, int, int]
"""A relation, its number of columns, and one of them."""


def with_identifiers(program: Program) -> Program:
    """The program with sums and differences of identifiers taken round the ring."""
    if not any(_hashes(rule) or _has_identifier(rule) for rule in program.rules):
        return program
    program = replace(program, rules=tuple(map(_written_out, program.rules)))
    columns: set[Column] = set()
    while True:
        known = len(columns)
        rules = []
        for rule in program.rules:
            found, variables = _rewritten(rule, columns)
            rules.append(found)
            for head in rule.heads:
                columns |= {
                    place
                    for place, term in _places(head)
                    if _named(term) in variables or _is_identifier(term)
                }
        if len(columns) == known:
            return replace(program, rules=tuple(rules))


def _hashes(rule: Rule) -> bool:
    return any(
        isinstance(part, Comparison) and isinstance(part.right, Call) and part.right.function == HASH
        for part in rule.body
    )


def _is_identifier(term: Term) -> bool:
    return isinstance(term, Constant) and term.identifier


def _has_identifier(rule: Rule) -> bool:
    """Whether a constant identifier stands alone somewhere."""
    mentioned = (*rule.heads, *(atom for atom, _ in atoms(rule.body)))
    if any(map(_is_identifier, (term for atom in mentioned for term in atom.args))):
        return True
    return any(isinstance(part, Comparison) and _is_identifier(part.right) for part in rule.body)


def _written_out(rule: Rule) -> Rule:
    """The rule with identifiers that stand alone as the texts that they are."""

    def written(term: Term) -> Term:
        if isinstance(term, Constant) and term.identifier and isinstance(term.value, int):
            return replace(term, value=id_written(term.value))
        return term

    def columns(atom: Atom) -> Atom:
        return replace(atom, args=tuple(map(written, atom.args)))

    bound = {term.name for atom, _ in atoms(rule.body) for term in atom.args if isinstance(term, Variable)}
    body: list[Literal] = []
    for part in rule.body:
        if isinstance(part, Positive | Negated):
            part = replace(part, atom=columns(part.atom))
        elif isinstance(part, Comparison) and isinstance(part.left, Variable) and part.left.name not in bound:
            part = replace(part, right=written(part.right))
        body.append(part)
    return replace(rule, heads=tuple(map(columns, rule.heads)), body=tuple(body))


def _places(atom: Atom) -> Iterator[tuple[Column, Term]]:
    for number, term in enumerate(atom.args):
        yield (atom.relation, len(atom.args), number), term


def _named(term: Term) -> str | None:
    """The variable that a column has, or the best of."""
    if isinstance(term, HeadAggregate) and term.argument is not None:
        return term.argument.name if term.function in ("min", "max") else None
    return term.name if isinstance(term, Variable) else None


def _rewritten(rule: Rule, columns: set[Column]) -> tuple[Rule, set[str]]:
    """The rule, and which of its variables are identifiers."""
    variables = {
        term.name
        for atom, _ in atoms(rule.body)
        for place, term in _places(atom)
        if place in columns and isinstance(term, Variable)
    }

    def compared(part: Literal) -> Literal:
        """`N == 0x0I`, where N is an identifier."""
        if isinstance(part, Comparison) and is_identifier(part.left):
            right = part.right
            if isinstance(right, Constant) and right.identifier and isinstance(right.value, int):
                return replace(part, right=replace(right, value=id_written(right.value)))
        return part

    def is_identifier(term: Term) -> bool:
        if isinstance(term, Variable):
            return term.name in variables
        if isinstance(term, Constant):
            return term.identifier and isinstance(term.value, str)
        return isinstance(term, Call) and term.function in RESULTS

    def taken_round(term: Term) -> Term:
        if not isinstance(term, Call):
            return term
        if term.function == HASH:
            return replace(term, args=tuple(map(_joined, term.args)))
        if (
            term.function in _ROUND
            and any(map(is_identifier, term.args))
            and not any(map(_is_text, term.args))
        ):
            return replace(term, function=_ROUND[term.function])
        if term.function == _UNSHIFT and is_identifier(term.args[0]):
            return replace(term, function="f_idUnshift")
        if term.function == _SHIFT and is_identifier(term.args[0]):
            return replace(term, function="f_idShift")
        if term.function == _SHIFT and isinstance(term.args[1], Call) and term.args[1].function == "f_idPlus":
            power, identifier = term.args[1].args
            if is_identifier(power):
                power, identifier = identifier, power
            return replace(
                term.args[1],
                args=(replace(term, function="f_idShift", args=(term.args[0], power)), identifier),
            )
        return term

    body = []
    for part in rule.body:
        part = compared(rebuild_literal(part, taken_round))
        if isinstance(part, Comparison) and isinstance(part.left, Variable) and is_identifier(part.right):
            variables.add(part.left.name)
        body.append(part)
    return replace(rule, body=tuple(body)), variables


def _joined(term: Term) -> Term:
    """What is hashed is a text of all parts, identifiers among them."""
    if isinstance(term, Call) and term.function == _ROUND["+"]:
        return replace(term, function="+", args=tuple(map(_joined, term.args)))
    return term


def _is_text(term: Term) -> bool:
    return isinstance(term, Constant) and isinstance(term.value, str)
