"""Provenance expressions (green-2007, section 3.2) of a derivation graph, and what they come to in an annotation.

Base rows are the variables, rules the functions around products of premises. Parts of a rule that rewriting made
relations of their own add no function, and rows given to a view are variables like base rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headwater.annotations.counting import DerivationCount
from headwater.annotations.equations import Equations, Summand, solve
from headwater.annotations.polynomial import Polynomial, Sum
from headwater.annotations.protocol import AnyAnnotation, refuse_cycles
from headwater.errors import EvaluationError
from headwater.plan.stored_rows import Key
from headwater.provenance.ask.values import GivenValues
from headwater.provenance.graph.graph import Graph
from headwater.provenance.show.wording import Fact, Wording
from headwater.values import arguments

Tokens = Mapping[Fact | tuple[str, tuple[Any, ...]], str] | Callable[[Fact], str] | None
"""Names for base rows, by row or as a function; the row itself if there is none."""
SILENT = ""
"""The label of what adds no function."""
MOST_SUMMANDS = 10_000
"""Expressions are written out as sums of products up to this length."""


class NamedPolynomial(Polynomial):
    """Polynomials in which parts of rules leave no name."""

    def through(self, rule: str, value: Sum) -> Sum:
        """The rule's name around each summand, if it has one."""
        return value if rule == SILENT else super().through(rule, value)


def equations(graph: Graph, wording: Wording) -> Equations[Key]:
    """The derivations as equations, rules by the labels that users know."""
    return {
        head: [Summand(_label(head, d.rule, wording), d.premises) for d in derivations]
        for head, derivations in graph.derivations.items()
    }


def _label(head: Key, rule: Any, wording: Wording) -> str:
    label = wording.label(rule)
    return SILENT if label == "given" or not wording.shown(head[0]) else label


def evaluated(
    graph: Graph,
    root: Key,
    wording: Wording,
    annotation: AnyAnnotation,
    values: GivenValues,
    tokens: Tokens = None,
) -> tuple[Any, list[Key]]:
    """What the root carries, and the base rows by number: in the order of their names."""
    if not graph.complete:
        raise EvaluationError(
            "too-many-derivations",
            f"not all derivations of {wording.words(root)} were looked at",
            hint="ask with a higher limit: why(..., limit=...)",
        )
    if annotation.diverges is not None and (cycles := graph.cycles()):
        refuse_cycles(annotation, wording.words(cycles[0][0]))
    facts = wording.facts(graph.base)
    rows = sorted(graph.base, key=lambda key: token(facts[key], tokens))
    base = {key: values.base(facts[key], number) for number, key in enumerate(rows)}
    if root in base:
        return base[root], rows
    return solve(equations(graph, wording), annotation, base, values.rule)[root], rows


def polynomial(graph: Graph, root: Key, wording: Wording, tokens: Tokens) -> str:
    """The expression of the root; refused where derivations form cycles and it would not end."""
    annotation = NamedPolynomial()
    counting = DerivationCount()
    summands, _ = evaluated(graph, root, wording, counting, GivenValues(counting))
    if summands > MOST_SUMMANDS:
        raise EvaluationError(
            "too-many-derivations",
            f"the expression of {wording.words(root)} has {summands:,} summands",
            hint="ask for the minimal explanations, dnf(), or evaluate it in an annotation",
        )
    value, rows = evaluated(graph, root, wording, annotation, GivenValues(annotation), tokens)
    return annotation.show(value, lambda number: token(wording.fact(rows[number]), tokens))


def system(graph: Graph, wording: Wording, tokens: Tokens) -> str:
    """One equation a row: finite also where the expression is not (green-2007, section 3.2)."""
    facts = wording.facts(graph.keys())
    lines = []
    for head, terms in equations(graph, wording).items():
        summands = []
        for term in terms:
            factors = "·".join(
                token(facts[key], tokens) if key in graph.base else wording.words(key, facts[key])
                for key in term.premises
            )
            summands.append(factors if term.rule == SILENT else f"{term.rule}({factors})")
        lines.append(f"{wording.words(head, facts[head])} = {' + '.join(summands) or '0'}")
    return "\n".join(lines)


def checked_tokens(tokens: Tokens) -> Tokens:
    """What users give as names of base rows; refused unless names can be had from it."""
    if tokens is not None and not isinstance(tokens, Mapping) and not callable(tokens):
        raise arguments.wrong(
            "tokens", tokens, "names by base row, or a function from a base row to its name"
        )
    return tokens


def token(fact: Fact, tokens: Tokens) -> str:
    """The name of a base row."""
    if tokens is None:
        return str(fact)
    if isinstance(tokens, Mapping):
        return str(tokens.get(fact, fact))
    return str(arguments.answer(f"tokens({fact})", tokens, fact))
