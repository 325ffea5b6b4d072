"""Why a row is there: its derivations, its shortest proof, its minimal explanations.

>>> import headwater as hw
>>> db = hw.connect()
>>> _ = db.define("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
>>> _ = db.apply(insert={"link": [("a", "b"), ("b", "c"), ("a", "c")]})
>>> why = db.why("reach", ("a", "c"))
>>> print(why.proof())
reach("a", "c")  by reach#1: reach(X, Y) :- link(X, Y).
└─ link("a", "c")
>>> sorted(map(sorted, why.dnf()))
[[Fact(relation='link', row=('a', 'b')), Fact(relation='link', row=('b', 'c'))],
 [Fact(relation='link', row=('a', 'c'))]]
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from headwater import notebook
from headwater.annotations.protocol import AnyAnnotation
from headwater.annotations.registry import annotation as named_annotation
from headwater.calls import public_class
from headwater.plan.stored_rows import Key
from headwater.provenance.ask.asked import key_of, not_there
from headwater.provenance.ask.values import Given, GivenValues
from headwater.provenance.evidence import Evidence
from headwater.provenance.graph.expression import Tokens, checked_tokens, evaluated, polynomial, system
from headwater.provenance.graph.graph import explore
from headwater.provenance.graph.proof import System, complete_by_ranks
from headwater.provenance.graph.stored import stored_terms
from headwater.provenance.graph.terms import Terms, exactness, minimal_terms
from headwater.provenance.show.lines import Line, plain
from headwater.provenance.show.picture import DerivationGraph
from headwater.provenance.show.proof_tree import Proof
from headwater.provenance.show.wording import Fact, Wording, json_fact
from headwater.values import arguments
from headwater.version.guard import reads

MOST_DERIVATIONS = 10_000
"""How many derivations are looked at unless more are asked for."""
TERMS = 100
"""How many minimal explanations are given unless more are asked for."""


@public_class
class Why:
    """The explanation of a row as it was when it was asked for. `notes` tells of scans and indexes it needed."""

    def __init__(self, evidence: Evidence, key: Key, *, depth: int | None, limit: int | None):
        self.guard = evidence.guard
        self._catalog = evidence.catalog
        self._instances = evidence.engine.instances()
        self._wording = Wording(evidence.engine, evidence.program)
        self._key = key
        self._shown = self._graph = explore(self._instances, [key], depth=depth, limit=limit)
        self._settled = System(self._graph, self._wording.passes_on).settle(stop=key)
        if key not in self._settled.sizes:
            self._graph = self._shown.copy()
            complete_by_ranks(self._instances, self._graph)
            self._settled = System(self._graph, self._wording.passes_on).settle(stop=key)
        if key not in self._settled.sizes:  # a strategy without ranks chose a row that has no proof here
            self._graph = explore(self._instances, [key])
            self._settled = System(self._graph, self._wording.passes_on).settle(stop=key)
        if key not in self._settled.sizes:  # best rows that improved themselves rest on what they displaced
            self._instances = evidence.engine.instances_on_the_way()
            self._shown = self._graph = explore(self._instances, [key], depth=depth, limit=limit)
            self._settled = System(self._graph, self._wording.passes_on).settle(stop=key)
            if key not in self._settled.sizes:
                self._graph = explore(self._instances, [key])
                self._settled = System(self._graph, self._wording.passes_on).settle(stop=key)
        self._stored = stored_terms(evidence.engine, key)
        self.fact = self._wording.fact(key)
        self.version = evidence.version
        self.notes = self._wording.notes(self._instances)

    @property
    def complete(self) -> bool:
        """Whether all derivations were found within the limits."""
        return self._shown.complete

    @cached_property
    def graph(self) -> DerivationGraph:
        """All derivations, and those of their premises, and so on; cycles are cycles."""
        return DerivationGraph(self._shown, self._wording)

    @reads
    def proof(self) -> Proof:
        """The proof with the fewest derivations; where limits cut the search, one that was found."""
        return Proof(self._key, self._settled, self._wording, self._instances, shortest=self._graph.complete)

    def dnf(self, limit: int | None = TERMS) -> Terms:
        """The minimal sets of base rows from which the row follows (given what is absent); smallest first."""
        limit = arguments.limit("limit", limit)
        return minimal_terms(self._graph, self._key, self._wording, limit, self._stored)

    def polynomial(self, tokens: Tokens = None) -> str:
        """The provenance expression, as in green-2007: `m1(p3) + m4(p1·p2)`, base rows named by `tokens`.

        Refused where derivations form cycles: it would not end. `expression` has a finite form there.
        """
        return polynomial(self._graph, self._key, self._wording, checked_tokens(tokens))

    def expression(self, tokens: Tokens = None) -> str:
        """The provenance expression; where derivations form cycles, as a system of equations."""
        if self._graph.cycles():
            return system(self._graph, self._wording, checked_tokens(tokens))
        return self.polynomial(tokens)

    def evaluate(
        self, annotation: str | AnyAnnotation, base: Given = None, rules: Mapping[str, object] | None = None
    ) -> Any:
        """What the row carries in an annotation, given what base rows and rules carry."""
        chosen = named_annotation(annotation)
        values = GivenValues(chosen, base, rules).checked(self._catalog)
        return evaluated(self._graph, self._key, self._wording, chosen, values)[0]

    @property
    def exact(self) -> bool:
        """Whether `dnf` says all: a row follows from some base rows exactly if one of the terms is among them.

        Not so where a derivation needs the absence of rows, or sums values of both signs: taking base rows
        away could then bring the row about in another way.
        """
        return not exactness(self._graph, self._wording, self._instances)

    # ------------------------------------------------------------------ showing

    def lines(self, *, terms: int = 5) -> list[Line]:
        """The proof, how much else there is, and some minimal explanations."""
        lines = self.proof().lines()
        graph = self.graph
        if not self._graph.derivations:
            return [[*lines[0], ("  a base row: it was inserted", "dim")]]
        if not self._graph.complete:
            lines.append([("there may be a shorter proof: the search was cut", "yellow")])
        lines.append([])
        lines.append([(graph.summary(), "dim")])
        lines += self.dnf(terms).lines(self.fact)
        lines += [[(note, "yellow")] for note in exactness(self._graph, self._wording, self._instances)]
        return lines

    def __str__(self) -> str:
        return plain(self.lines())

    def __rich__(self) -> Any:
        from headwater.provenance.show.lines import rich_text

        return rich_text(self.lines())

    def __repr__(self) -> str:
        return f"<why {self.fact}: {self.graph.summary()}>"

    def _repr_html_(self) -> str:
        picture = self.graph.svg() if self.graph.derivations else ""
        shown = notebook.lines(self.lines())
        return shown + notebook.folded("all derivations", picture) if picture else shown

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data: the row, the graph, the proof and the minimal explanations."""
        return {
            "row": json_fact(self.fact),
            "version": self.version,
            "graph": self.graph.to_json(),
            "proof": self.proof().to_json(),
            "dnf": self.dnf().to_json(),
            "notes": list(self.notes),
        }


def why(evidence: Evidence, relation: str, row: Any, *, depth: int | None, limit: int | None) -> Why:
    """Why the row is there; refused if it is not."""
    key = key_of(evidence, relation, row)
    if key is None or not evidence.engine.instances().rows.has(key):
        values = tuple(row.values()) if isinstance(row, dict) else tuple(row)
        raise not_there(Fact(relation, values))
    return Why(evidence, key, depth=depth, limit=limit)
