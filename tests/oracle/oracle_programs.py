"""Random programs as data, and how two engines read them: Headwater's Datalog and clingo's answer set programs.

A term is a variable (a string), a constant (an int) or a wildcard (`None`). All values are ints. Programs are
stratified: a stratum's rules read base relations, earlier strata and, positively, their own.

The two texts are written from the same data by different rules, so a mistake would have to be made twice:
- clingo has negation and recursion of its own;
- `count` and `sum` range over the bindings of *all* variables of a body, each wildcard being one more: these
  become the tuples of `#count` and `#sum`;
- `min` and `max` inside recursion have no counterpart. There clingo enumerates all derivable values up to a
  bound that no best value exceeds, and takes the best at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from oracle_tables import Table

Term = str | int | None


@dataclass(frozen=True)
class Atom:
    relation: str
    args: tuple[Term, ...]


@dataclass(frozen=True)
class Not:
    atom: Atom


@dataclass(frozen=True)
class Compare:
    op: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Compute:
    """`variable = left op right`; op is an operator, or `min` or `max`."""

    variable: str
    op: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Counted:
    """`variable = count : { atom }`, or `sum value : { atom }`."""

    variable: str
    function: str
    value: str | None
    atom: Atom


@dataclass(frozen=True)
class Either:
    """One of two atoms holds."""

    left: Atom
    right: Atom


Literal = Atom | Not | Compare | Compute | Counted | Either


@dataclass(frozen=True)
class Rule:
    """With an `aggregate` (column, function), the head has the aggregated variable in that column."""

    head: Atom
    body: tuple[Literal, ...]
    aggregate: tuple[int, str] | None = None


@dataclass(frozen=True)
class Stratum:
    """`best` gives the selection (column, min or max) of relations that have one inside the recursion."""

    relations: Mapping[str, int]
    rules: tuple[Rule, ...]
    recursive: bool
    best: Mapping[str, tuple[int, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class RandomProgram:
    base: Mapping[str, int]
    strata: tuple[Stratum, ...]
    bound: int = 0
    tables: Mapping[str, Table] = field(default_factory=dict)

    @property
    def recursive(self) -> bool:
        return any(stratum.recursive for stratum in self.strata)

    @property
    def relations(self) -> dict[str, int]:
        derived = {name: arity for s in self.strata for name, arity in s.relations.items()}
        return {**self.base, **derived}

    def averages(self) -> set[str]:
        """Relations with an average, which clingo gives as a sum and a number."""
        return {
            r.head.relation for s in self.strata for r in s.rules if r.aggregate and r.aggregate[1] == "avg"
        }

    def text(self) -> str:
        """The program as Headwater reads it."""
        lines = [
            f".decl {name}({', '.join(f'c{i}: number' for i in range(arity))})"
            for name, arity in self.base.items()
        ]
        lines += [table.line(name, self.base[name]) for name, table in self.tables.items()]
        return "\n".join(lines + [_rule(rule) for s in self.strata for rule in s.rules]) + "\n"

    def asp(self) -> str:
        """The program as clingo reads it."""
        lines: list[str] = []
        for stratum in self.strata:
            if stratum.best:
                lines += _asp_best(stratum, self.bound)
            elif any(rule.aggregate for rule in stratum.rules):
                lines += _asp_aggregate(stratum)
            else:
                lines += [line for rule in stratum.rules for line in _asp_rules(rule)]
        return "\n".join(lines) + "\n"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How hypothesis shows a program that fails: as text."""
        printer.text(f'"""\n{self.text()}"""')


# ------------------------------------------------------------------ Headwater


def _rule(rule: Rule) -> str:
    args = [_term(arg) for arg in rule.head.args]
    if rule.aggregate is not None:
        column, function = rule.aggregate
        args[column] = f"{function}<{args[column]}>"
    body = ", ".join(_literal(literal) for literal in rule.body)
    return f"{rule.head.relation}({', '.join(args)}) :- {body}."


def _term(term: Term) -> str:
    return "_" if term is None else str(term)


def _atom(atom: Atom) -> str:
    return f"{atom.relation}({', '.join(map(_term, atom.args))})"


def _literal(literal: Literal) -> str:
    if isinstance(literal, Atom):
        return _atom(literal)
    if isinstance(literal, Not):
        return f"!{_atom(literal.atom)}"
    if isinstance(literal, Compare):
        return f"{_term(literal.left)} {literal.op} {_term(literal.right)}"
    if isinstance(literal, Compute):
        left, right = _term(literal.left), _term(literal.right)
        if literal.op in ("min", "max"):
            return f"{literal.variable} = {literal.op}({left}, {right})"
        return f"{literal.variable} = {left} {literal.op} {right}"
    if isinstance(literal, Counted):
        value = f" {literal.value}" if literal.value is not None else ""
        return f"{literal.variable} = {literal.function}{value} : {{ {_atom(literal.atom)} }}"
    return f"({_atom(literal.left)} ; {_atom(literal.right)})"


# ------------------------------------------------------------------ clingo

_OPS = {"!=": "!=", "=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def _asp_atom(atom: Atom, rename: Mapping[str, str] = {}) -> str:  # noqa: B006
    name = rename.get(atom.relation, atom.relation)
    return f"{name}({','.join(map(_term, atom.args))})" if atom.args else name


def _asp_rules(rule: Rule, head: Atom | None = None, rename: Mapping[str, str] = {}) -> Iterator[str]:  # noqa: B006
    """A rule for each choice of alternatives."""
    for body in _choices(rule.body):
        literals = ", ".join(_asp_literal(literal, rename) for literal in body)
        yield f"{_asp_atom(head or rule.head, rename)} :- {literals}."


def _choices(body: Sequence[Literal]) -> Iterator[list[Literal]]:
    for i, literal in enumerate(body):
        if isinstance(literal, Either):
            yield from _choices([*body[:i], literal.left, *body[i + 1 :]])
            yield from _choices([*body[:i], literal.right, *body[i + 1 :]])
            return
    yield list(body)


def _asp_literal(literal: Literal, rename: Mapping[str, str]) -> str:
    if isinstance(literal, Atom):
        return _asp_atom(literal, rename)
    if isinstance(literal, Not):
        return f"not {_asp_atom(literal.atom)}"
    if isinstance(literal, Compare):
        return f"{literal.left} {_OPS[literal.op]} {literal.right}"
    if isinstance(literal, Counted):
        inner = _named(literal.atom, "I")
        new = [arg for arg in inner.args if isinstance(arg, str) and arg[0] == "I" or arg == literal.value]
        weight = [literal.value] if literal.function == "sum" else []
        terms = ",".join(map(str, [*weight, *new, 0]))
        return f"{literal.variable} = #{literal.function} {{ {terms} : {_asp_atom(inner)} }}"
    assert isinstance(literal, Compute)
    left, right = literal.left, literal.right
    if literal.op in ("min", "max"):
        sign = "-" if literal.op == "min" else "+"
        return f"{literal.variable} = ({left} + {right} {sign} |{left} - {right}|) / 2"
    return f"{literal.variable} = {left} {literal.op} {right}"


def _named(atom: Atom, prefix: str) -> Atom:
    """The atom with a variable of its own for each wildcard."""
    numbers = count()
    return Atom(atom.relation, tuple(f"{prefix}{next(numbers)}" if a is None else a for a in atom.args))


def _asp_aggregate(stratum: Stratum) -> list[str]:
    """A relation of all bindings for each rule, then one aggregate over all of them."""
    lines: list[str] = []
    elements: list[str] = []
    ((name, arity),) = stratum.relations.items()
    assert stratum.rules[0].aggregate is not None
    column, function = stratum.rules[0].aggregate
    groups = [f"G{i}" for i in range(arity - 1)]
    for number, rule in enumerate(stratum.rules):
        body = tuple(
            _named(literal, f"W{i}_") if isinstance(literal, Atom) else literal
            for i, literal in enumerate(rule.body)
        )
        variables = sorted({v for literal in body for v in _variables(literal)})
        keys = [arg for i, arg in enumerate(rule.head.args) if i != column]
        value = rule.head.args[column]
        binding = Atom(f"bind_{name}_{number}", (*keys, value, *variables))
        lines += _asp_rules(Rule(rule.head, body), binding)
        others = [f"O{i}" for i in range(len(variables))]
        given = Atom(binding.relation, (*groups, "V", *others))
        group = Atom(f"group_{name}", tuple(groups) or (0,))
        lines.append(f"{_asp_atom(group)} :- {_asp_atom(given)}.")
        weight = [] if function == "count" else ["V"]
        elements.append(f"{','.join(map(str, [*weight, number, *others]))} : {_asp_atom(given)}")
    inside = " ; ".join(elements)
    group_atom = _asp_atom(Atom(f"group_{name}", tuple(groups) or (0,)))
    if function == "avg":
        counted = " ; ".join(element.removeprefix("V,") for element in elements)
        head = [*groups, "S", "N"]
        lines.append(
            f"{name}({','.join(head)}) :- {group_atom}, S = #sum {{ {inside} }}, N = #count {{ {counted} }}."
        )
        return lines
    head = [*groups]
    head.insert(column, "R")
    lines.append(f"{name}({','.join(head)}) :- {group_atom}, R = #{function} {{ {inside} }}.")
    return lines


def _asp_best(stratum: Stratum, bound: int) -> list[str]:
    """All values up to the bound in `all_r`, the best of them in `r`."""
    rename = {name: f"all_{name}" for name in stratum.relations}
    lines: list[str] = []
    for rule in stratum.rules:
        selected = stratum.best.get(rule.head.relation)
        body = rule.body
        if selected is not None:
            value = rule.head.args[selected[0]]
            body = (*body, Compare("<=", value, bound))
        lines += _asp_rules(Rule(rule.head, body), rename=rename)
    for name, arity in stratum.relations.items():
        args = [f"A{i}" for i in range(arity)]
        if name not in stratum.best:
            lines.append(f"{name}({','.join(args)}) :- all_{name}({','.join(args)}).")
            continue
        column, best = stratum.best[name]
        other = [*args]
        other[column] = "V"
        lines.append(
            f"{name}({','.join(args)}) :- all_{name}({','.join(args)}),"
            f" {args[column]} = #{best} {{ V : all_{name}({','.join(other)}) }}."
        )
    return lines


def _variables(literal: Literal) -> Iterator[str]:
    if isinstance(literal, Atom):
        terms: Sequence[Term] = literal.args
    elif isinstance(literal, (Compute, Counted)):
        terms = (literal.variable,)
    else:
        terms = ()
    for term in terms:
        if isinstance(term, str):
            yield term
