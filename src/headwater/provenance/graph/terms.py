"""Minimal explanations: the smallest sets of base rows from which a row follows.

Two ways to the same sets. Small graphs: absorption provenance (liu-2008, section 4) solved over the graph as a
system of equations, which gives all of them. Where that becomes too much work, they are enumerated one by one: find
a proof, shrink its base rows until none can be spared, then search on without one of them. Every set without a
given one lacks at least one of its rows, so none is missed, up to the limit.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from typing import Any, overload

from headwater.annotations.equations import Summand as Term
from headwater.annotations.equations import solve
from headwater.annotations.minimal_dnf import MinimalDNF, bits
from headwater.annotations.minimal_dnf import Terms as Masks
from headwater.plan.instances import Instances
from headwater.plan.stored_rows import Key
from headwater.provenance.graph.graph import Graph
from headwater.provenance.graph.proof import System, leaves
from headwater.provenance.show.lines import Line
from headwater.provenance.show.wording import Fact, Wording, json_fact, ordered
from headwater.rules.checked import Absent, CheckedRule, Premise
from headwater.values.special import is_untyped
from headwater.values.types import FLOAT

WORK = 100_000
"""How many comparisons of terms the equations may take."""


class Terms(Sequence[frozenset[Fact]]):
    """Minimal explanations, smallest first. `more` is how many were left out, `None` if nobody knows."""

    def __init__(self, terms: Sequence[frozenset[Fact]], more: int | None):
        self._terms = tuple(terms)
        self.more = more

    @property
    def complete(self) -> bool:
        """Whether these are all."""
        return self.more == 0

    @overload
    def __getitem__(self, place: int) -> frozenset[Fact]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[frozenset[Fact]]: ...
    def __getitem__(self, place: int | slice) -> Any:
        """The term at a place."""
        return self._terms[place]

    def __len__(self) -> int:
        return len(self._terms)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Terms):
            return set(self._terms) == set(other._terms)
        return isinstance(other, (set, frozenset)) and set(self._terms) == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return " + ".join("·".join(map(str, ordered(term))) or "always" for term in self) + self._rest(" + ")

    def _rest(self, before: str) -> str:
        return "" if self.complete else f"{before}{'more' if self.more is None else f'{self.more:,} more'}"

    def lines(self, fact: Fact) -> list[Line]:
        """One explanation a line."""
        if not self:
            return []
        shown: list[Line] = [[(f"{fact} follows from any of these:", "")]] if len(self) > 1 else []
        for term in self:
            rows = ", ".join(map(str, ordered(term))) or "nothing: it always holds"
            shown.append([("  " if shown else f"{fact} follows from ", ""), (rows, "green")])
        if not self.complete:
            shown.append([("  and more" if self.more is None else f"  and {self.more:,} more", "italic")])
        return shown

    def to_json(self) -> dict[str, Any]:
        """The terms as plain data."""
        return {
            "terms": [[json_fact(fact) for fact in ordered(term)] for term in self],
            "more": self.more,
        }


def minimal_terms(
    graph: Graph,
    root: Key,
    wording: Wording,
    limit: int | None,
    stored: Collection[frozenset[Key]] | None = None,
) -> Terms:
    """The minimal terms of a row, at most `limit` of them; those `stored` are all, and need not be found."""
    solved = stored if stored is not None else by_equations(graph, root, WORK)
    found: list[frozenset[Key]] = []
    more: int | None = 0
    if solved is None:
        for term in by_search(graph, root, None if limit is None else 10 + 3 * limit):
            if term is None or len(found) == limit:
                more = None
                break
            found.append(term)
        found.sort(key=lambda term: (len(term), sorted(term)))
    else:
        found = sorted(solved, key=lambda term: (len(term), sorted(term)))
        more = 0 if limit is None else max(0, len(found) - limit)
        found = found[:limit]
    facts = wording.facts({key for term in found for key in term})
    if not graph.complete and stored is None:
        more = None
    return Terms([frozenset(facts[key] for key in term) for term in found], more)


# ------------------------------------------------------------------ all at once


class _TooMuch(Exception):
    """The equations take more work than they were given."""


class _Bounded(MinimalDNF):
    """Absorption provenance that gives up after so many comparisons of terms."""

    def __init__(self, work: int):
        self.work = work

    def _spend(self, work: int) -> None:
        self.work -= work + 1
        if self.work < 0:
            raise _TooMuch

    def plus(self, left: Masks, right: Masks) -> Masks:
        self._spend(len(left) * len(right))
        return super().plus(left, right)

    def times(self, left: Masks, right: Masks) -> Masks:
        self._spend((len(left) * len(right)) ** 2 // 2)  # each of the products may be compared with each
        return super().times(left, right)


def by_equations(graph: Graph, root: Key, work: int) -> list[frozenset[Key]] | None:
    """All minimal terms of a row; `None` if that is too much work."""
    if root in graph.base:
        return [frozenset((root,))]
    dnf = _Bounded(work)
    rows = list(graph.base)
    base = {key: dnf.variable(number) for number, key in enumerate(rows)}
    equations = {
        head: [Term(derivation.rule.label, derivation.premises) for derivation in derivations]
        for head, derivations in graph.derivations.items()
    }
    try:
        solved = solve(equations, dnf, base)[root]
    except _TooMuch:
        return None
    return [frozenset(rows[bit] for bit in bits(term)) for term in solved]


# ------------------------------------------------------------------ one by one


def by_search(graph: Graph, root: Key, searches: int | None = None) -> Iterator[frozenset[Key] | None]:
    """The minimal terms of a row one by one, roughly smallest first; at last `None` if the searches ran out.

    A term splits what is left to find: those without its first row, those with the first and without the second,
    and so on. So a part of the space is given by rows that are out and rows that are in, and is split only by rows
    that are neither.
    """
    system = System(graph)
    everything = frozenset(graph.base)
    seen: set[frozenset[Key]] = set()
    queue: list[tuple[int, int, frozenset[Key], frozenset[Key], frozenset[Key]]] = []
    number = 0
    parts: list[tuple[frozenset[Key], frozenset[Key]]] = [(frozenset(), frozenset())]
    while True:
        for out, within in parts:
            if searches is not None and number >= searches:
                yield from (term for _, _, term, _, _ in sorted(queue) if not _known(term, seen))
                yield None
                return
            number += 1
            term = _shrunk(system, root, everything - out)
            if term is not None:
                heapq.heappush(queue, (len(term), number, term, out, within))
        if not queue:
            return
        _, _, term, out, within = heapq.heappop(queue)
        if not _known(term, seen):
            yield term
        split = sorted(term - within)
        parts = [(out | {key}, within | set(split[:place])) for place, key in enumerate(split)]


def _known(term: frozenset[Key], seen: set[frozenset[Key]]) -> bool:
    """Whether a term was seen before; from now on it was."""
    known = term in seen
    seen.add(term)
    return known


def _shrunk(system: System, root: Key, base: frozenset[Key]) -> frozenset[Key] | None:
    """A minimal term among these base rows, or `None` if the row does not follow from them."""
    settled = system.settle(base, root)
    if root not in settled.sizes:
        return None
    term = leaves(settled, root)
    for key in sorted(term):
        if key not in term:
            continue
        smaller = system.settle(term - {key}, root)
        if root in smaller.sizes:
            term = leaves(smaller, root)
    return frozenset(term)


# ------------------------------------------------------------------ what is taken as given


def exactness(graph: Graph, wording: Wording, instances: Instances) -> tuple[str, ...]:
    """What the terms take as given, in words; nothing if they say all there is to say."""
    notes: dict[str, None] = {}
    for rule in _cone(graph, wording):
        for item in rule.body:
            if isinstance(item, Absent):
                notes["this takes as given that rows which are absent stay absent"] = None
            elif isinstance(item, Premise):
                info = wording.infos[item.relation]
                if info.aggregate is not None or info.selections:
                    what = info.aggregate.function if info.aggregate else info.selections[0].best
                    notes[f"this takes as given the {what} that premises have now"] = None
    for derivation in graph:
        info = wording.infos[derivation.head[0]]
        if info.aggregate is not None and not _one_sign(derivation.values, derivation.rule, wording):
            notes[f"this takes all rows of the {info.aggregate.function}; fewer might give the same"] = None
    return tuple(notes)


def _cone(graph: Graph, wording: Wording) -> Iterator[CheckedRule]:
    """All rules that the roots can depend on."""
    todo = [relation for relation, _ in graph.roots]
    seen = set(todo)
    while todo:
        for rule in wording.rules.get(todo.pop(), ()):
            yield rule
            for item in rule.body:
                if isinstance(item, Premise | Absent) and item.relation not in seen:
                    seen.add(item.relation)
                    todo.append(item.relation)


def _one_sign(values: Sequence[int], rule: CheckedRule, wording: Wording) -> bool:
    """Whether taking away any binding changes the aggregate: a count, or a sum of values of one sign."""
    assert rule.aggregate is not None
    if rule.aggregate.argument is None or len(values) <= 1:
        return True
    type_ = rule.types.get(rule.aggregate.argument.name)
    decoded = [wording.codec.decode_value(value, type_) for value in values]
    if rule.aggregate.function == "count":
        return None not in decoded
    if rule.aggregate.function != "sum" or type_ == FLOAT or any(map(is_untyped, decoded)):
        return False
    return all(value > 0 for value in decoded) or all(value < 0 for value in decoded)
