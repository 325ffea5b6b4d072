"""Why a row is at a peer, in the words of mappings (green-2007, sections 3.2 and 3.3).

The derivation graph of the peer's database has relations in between that users do not know. Here they are left out:
rows of peers, mappings as functions, contributions as variables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headwater.annotations.equations import Summand, solve
from headwater.annotations.protocol import AnyAnnotation
from headwater.annotations.registry import annotation as named_annotation
from headwater.calls import public_class
from headwater.errors import EvaluationError
from headwater.exchange.edit import Row, TransactionId
from headwater.exchange.edit_state import RowKey
from headwater.language.mappings.compile import CompiledMappings
from headwater.provenance.ask.why import Why
from headwater.provenance.graph.expression import SILENT, NamedPolynomial
from headwater.rules.strata import components
from headwater.values import arguments
from headwater.values.label_text import literal

Tokens = Mapping[tuple[str, Row], str] | Callable[[str, Row], str] | None
"""Names for contributions, by relation and row; the row itself if there is none."""
Contributors = Callable[[str, Collection[RowKey]], Mapping[RowKey, tuple[TransactionId, ...]]]
"""The transactions of a peer that inserted rows, as far as they are known."""


def unknown_contributors(peer: str, rows: Collection[RowKey]) -> Mapping[RowKey, tuple[TransactionId, ...]]:
    """Nobody asks who made a contribution."""
    return {}


@dataclass(frozen=True)
class Contribution:
    """A row that a peer's users inserted, and the transactions in which they did."""

    peer: str
    relation: str
    row: Row
    transactions: tuple[TransactionId, ...] = ()

    def __str__(self) -> str:
        by = f" in {', '.join(map(str, self.transactions))}" if self.transactions else ""
        return f"{self.relation}({', '.join(map(literal, self.row))}) by {self.peer}{by}"


@public_class
class PeerWhy:
    """The provenance of one row at one peer."""

    def __init__(self, peer: str, why: Why, compiled: CompiledMappings, contributors: Contributors):
        self.peer = peer
        self._compiled = compiled
        self._contributors = contributors
        graph = why.graph
        self._rows = graph.rows
        self._base: dict[int, None] = {}
        self._equations: dict[int, list[Summand[int]]] = {}
        self._derivations: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
        for arrow in graph.derivations:
            self._derivations.setdefault(arrow.head, []).append((arrow.rule, arrow.premises))
        self._read()

    def _read(self) -> None:
        """Derivations of outputs from outputs and contributions."""
        todo = [0]
        while todo:
            node = todo.pop()
            if node in self._equations:
                continue
            if self._rows[node].fact.relation not in self._compiled.relations:
                self._equations[node] = list(self._equated(node))
                todo += [each for summand in self._equations[node] for each in summand.premises]
                continue
            summands: dict[Summand[int], None] = {}
            for _, premises in self._derivations.get(node, ()):
                for through in premises:
                    if self._rows[through].fact.relation in self._compiled.contributions:
                        self._base[through] = None
                        summands[Summand(SILENT, (through,))] = None
                    else:
                        summands.update(dict.fromkeys(self._brought(through)))
            self._equations[node] = self._once(summands)
            todo += [each for summand in summands for each in summand.premises if each not in self._base]

    def _once(self, summands: Iterable[Summand[int]]) -> list[Summand[int]]:
        """Each derivation once: what a copy that does without some origins derives, the copy that does without fewer
        derives too."""
        kept: list[Summand[int]] = []
        alike: dict[tuple[object, ...], list[Summand[int]]] = {}
        for summand in summands:
            facts = [self._rows[each].fact for each in summand.premises]
            named = tuple(
                (self._compiled.relations.get(fact.relation, fact.relation), fact.row) for fact in facts
            )
            alike.setdefault((summand.rule, named), []).append(summand)
        for same in alike.values():
            without = {summand: self._without(summand) for summand in same}
            kept += [one for one in same if not any(without[other] < without[one] for other in same)]
        return kept

    def _without(self, summand: Summand[int]) -> frozenset[object]:
        """The origins that the premises of a derivation do without."""
        return frozenset().union(
            *(self._compiled.excluded.get(self._rows[each].fact.relation, ()) for each in summand.premises)
        )

    def _brought(self, trusted: int) -> Iterable[Summand[int]]:
        for _, (provenance,) in self._derivations.get(trusted, ()):
            for rule, premises in self._derivations.get(provenance, ()):
                yield Summand(self._compiled.by_rule.get(rule, rule), premises)

    def _equated(self, node: int) -> Iterable[Summand[int]]:
        """Why two values are equal: a dependency says so, or they are both equal to a third."""
        for rule, premises in self._derivations.get(node, ()):
            yield Summand(self._compiled.by_rule.get(rule, SILENT), premises)

    @property
    def brought_by(self) -> frozenset[str]:
        """The mappings that bring the row itself."""
        return frozenset(summand.rule for summand in self._equations[0] if summand.rule != SILENT)

    # ------------------------------------------------------------------ expressions

    def expression(self, tokens: Tokens = None) -> str:
        """The provenance expression, such as `m1(p3) + m4(p1·p2)`; as a system of equations where it is cyclic."""
        if self._cyclic:
            return "\n".join(self._equation_lines(tokens))
        polynomial = NamedPolynomial()
        order = sorted(self._base, key=lambda node: self._token(node, tokens))
        base = {node: polynomial.variable(number) for number, node in enumerate(order)}
        value = solve(self._equations, polynomial, base)[0]
        return polynomial.show(value, lambda number: self._token(order[number], tokens))

    @cached_property
    def _cyclic(self) -> bool:
        after = {
            node: [each for summand in summands for each in summand.premises if each in self._equations]
            for node, summands in self._equations.items()
        }
        return any(len(part) > 1 or part[0] in after[part[0]] for part in components(after))

    def _equation_lines(self, tokens: Tokens) -> Iterable[str]:
        for node, summands in self._equations.items():
            terms = []
            for summand in summands:
                factors = "·".join(
                    self._token(each, tokens) if each in self._base else self._words(each)
                    for each in summand.premises
                )
                terms.append(factors if summand.rule == SILENT else f"{summand.rule}({factors})")
            yield f"{self._words(node)} = {' + '.join(terms) or '0'}"

    def evaluate(
        self,
        annotation: str | AnyAnnotation,
        base: Callable[[str, str, Row], object] | None = None,
        mappings: Mapping[str, object] | None = None,
    ) -> Any:
        """What the row carries in an annotation: `base` says what a contribution of a peer to a relation carries
        (`base(peer, relation, row)`), `mappings` what using a mapping multiplies by."""
        chosen = named_annotation(annotation)
        factors = {
            label: chosen.value(value)
            for label, value in arguments.mapping("mappings", mappings, '{"m1": 0.9}').items()
        }
        values: dict[int, Any] = {}
        for number, node in enumerate(self._base):
            fact = self._rows[node].fact
            relation = self._compiled.contributions[fact.relation]
            values[node] = (
                chosen.variable(number)
                if base is None
                else chosen.value(base(relation.peer, relation.name, fact.row))
            )
        if self._cyclic and chosen.diverges is not None:
            raise EvaluationError(
                "cyclic-derivations",
                f"{self._words(0)} is derived from itself, and {chosen.name} has no end there",
                hint="take an annotation that is idempotent: trust, viterbi, tropical, clearance",
            )
        return solve(self._equations, chosen, values, lambda label: factors.get(label, chosen.one))[0]

    # ------------------------------------------------------------------ who

    @cached_property
    def contributions(self) -> tuple[Contribution, ...]:
        """All contributions that some derivation uses, and who made them."""
        rows: dict[str, list[RowKey]] = {}
        for node in self._base:
            fact = self._rows[node].fact
            relation = self._compiled.contributions[fact.relation]
            rows.setdefault(relation.peer, []).append((relation.name, fact.row))
        found = []
        for peer, keys in rows.items():
            made = self._contributors(peer, keys)
            found += [Contribution(peer, *key, made.get(key, ())) for key in keys]
        return tuple(sorted(found, key=str))

    @property
    def peers(self) -> tuple[str, ...]:
        """The peers whose data some derivation uses."""
        return tuple(sorted({one.peer for one in self.contributions}))

    @property
    def mappings(self) -> tuple[str, ...]:
        """The mappings that some derivation uses."""
        return tuple(sorted({s.rule for each in self._equations.values() for s in each if s.rule != SILENT}))

    # ------------------------------------------------------------------ words

    def _token(self, node: int, tokens: Tokens) -> str:
        fact = self._rows[node].fact
        relation = self._compiled.contributions[fact.relation].name
        if tokens is None:
            return f"{relation}({', '.join(map(literal, fact.row))})"
        if isinstance(tokens, Mapping):
            return str(tokens.get((relation, fact.row), f"{relation}({', '.join(map(literal, fact.row))})"))
        return str(tokens(relation, fact.row))

    def _words(self, node: int) -> str:
        fact = self._rows[node].fact
        if fact.relation not in self._compiled.relations:
            return " = ".join(map(literal, fact.row))
        relation = self._compiled.relations[fact.relation]
        output = self._compiled.names.output(relation)
        copy = fact.relation.removeprefix(output) if fact.relation.startswith(output) else ""
        return f"{relation.name}{'′' + copy if copy else ''}({', '.join(map(literal, fact.row))})"

    def lines(self) -> list[str]:
        """The row, its expression, and who contributed."""
        return [
            f"{self._words(0)} at {self.peer}",
            *(f"  {line}" for line in self.expression().splitlines()),
            "contributed:",
            *(f"  {one}" for one in self.contributions),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<why {self._words(0)} at {self.peer}: {len(self._base)} contributions>"
