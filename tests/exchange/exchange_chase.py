"""A chase in plain Python, beside which peers are compared; nothing of Headwater but labelled nulls is used.

Rows carry where they come from: the smallest sets of origins (peers, contributions, mappings) that derive them. A set
that holds another derives nothing more, since conditions only ever object to origins. So the same fixpoint decides
about trust, by definition: a derivation is let in unless a condition of the peer on its row names an origin of it, or
the worst rating of its origins does not reach a bound.
"""

from __future__ import annotations

import itertools
import operator
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import networkx

from headwater import LabelledNull

Row = tuple[Any, ...]
Name = tuple[str, str]  # peer, relation
Origins = frozenset[tuple[Any, ...]]
COMPARE = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge}


@dataclass(frozen=True)
class ChaseAtom:
    """Terms are names of variables (texts) or ints."""

    name: Name
    terms: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.name[0]}.{self.name[1]}({', '.join(map(str, self.terms))})"


@dataclass(frozen=True)
class ChaseMapping:
    label: str
    body: tuple[ChaseAtom, ...]
    heads: tuple[ChaseAtom, ...]
    comparison: tuple[str, str, int] | None = None

    @property
    def bound(self) -> set[str]:
        return {term for atom in self.body for term in atom.terms if isinstance(term, str)}

    @property
    def existentials(self) -> list[str]:
        found = [term for atom in self.heads for term in atom.terms if isinstance(term, str)]
        return list(dict.fromkeys(term for term in found if term not in self.bound))

    @property
    def frontier(self) -> list[str]:
        heads = {term for atom in self.heads for term in atom.terms}
        body = [term for atom in self.body for term in atom.terms if isinstance(term, str)]
        return [term for term in dict.fromkeys(body) if term in heads]

    def __str__(self) -> str:
        body = ", ".join(map(str, self.body))
        if self.comparison is not None:
            body += ", {} {} {}".format(*self.comparison)
        exists = f"exists {', '.join(self.existentials)} " if self.existentials else ""
        return f"{self.label}: {body} -> {exists}{', '.join(map(str, self.heads))}."


@dataclass(frozen=True)
class ChaseCondition:
    """What a peer objects to: rows of one of its relations (of all, if there is none), by a mapping (or any), where a
    column compares so, that have an origin (or any)."""

    name: Name | None
    by: str | None
    guard: tuple[int, str, int] | None
    origin: tuple[Any, ...] | None

    bound: tuple[str, Any] | None = None

    def objects(self, name: Name, row: Row, label: str, origins: Origins, stated: list[Any]) -> bool:
        if self.name not in (None, name) or self.by not in (None, label):
            return False
        if self.guard is not None:
            column, compare, value = self.guard
            if not holds(row[column], compare, value):
                return False
        if self.bound is not None:
            scale, bound = self.bound
            rated = [each for each in stated if isinstance(each, ChaseRating) and each.scale == scale]
            steps = [SCALES[scale].index(each.value) for each in rated if each.origin in origins]
            return max(steps, default=0) > SCALES[scale].index(bound)
        return self.origin is None or self.origin in origins

    def text(self, arity: int) -> str:
        columns = [f"v{i}" for i in range(arity)]
        words = ["distrust"]
        if self.name is not None:
            words.append(f"{self.name[1]}({', '.join(columns)})")
        if self.origin is not None:
            words.append(origin_text(self.origin))
        if self.by is not None:
            words.append(f"by {self.by}")
        if self.bound is not None:
            words.append(
                "{} {} {}".format("below" if self.bound[0] == "confidence" else "above", *self.bound)
            )
        if self.guard is not None:
            words.append(f"if {columns[self.guard[0]]} {self.guard[1]} {self.guard[2]}")
        return " ".join(words) + "."


@dataclass(frozen=True)
class ChaseRating:
    """What a peer thinks of an origin, on one of the scales."""

    origin: tuple[Any, ...]
    scale: str
    value: Any
    name: None = None

    def objects(self, name: Name, row: Row, label: str, origins: Origins, stated: list[Any]) -> bool:
        return False

    def text(self, arity: int) -> str:
        return f"trust {origin_text(self.origin)} {self.scale} {self.value}."


SCALES = {"confidence": (1, 0.75, 0.5, 0.2), "clearance": ("public", "confidential", "secret")}
"""Best first."""


def origin_text(origin: tuple[Any, ...]) -> str:
    if origin[0] == "peer":
        return f"from {origin[1]}"
    if origin[0] == "row":
        _, (peer, relation), row = origin
        return f"from {peer}.{relation}({', '.join(map(str, row))})"
    return f"through {origin[1]}"


def holds(left: Any, compare: str, right: Any) -> bool:
    """Nothing is known of the order of a value that nobody knows."""
    if isinstance(left, LabelledNull) and compare not in ("=", "!="):
        return False
    return COMPARE[compare](left, right)


def weakly_acyclic(mappings: list[ChaseMapping]) -> bool:
    graph = networkx.DiGraph()
    special = []
    for mapping in mappings:
        for atom, other in itertools.product(mapping.body, mapping.heads):
            for i, term in enumerate(atom.terms):
                if term not in mapping.frontier:
                    continue
                for j, target in enumerate(other.terms):
                    edge = ((atom.name, i), (other.name, j))
                    if target == term:
                        graph.add_edge(*edge)
                    elif target in mapping.existentials:
                        graph.add_edge(*edge)
                        special.append(edge)
    return not any(networkx.has_path(graph, end, start) for start, end in special)


@dataclass
class Chase:
    """All instances that follow from contributions, rejections and conditions."""

    mappings: list[ChaseMapping]
    contributions: dict[Name, set[Row]]
    rejections: dict[Name, set[Row]]
    conditions: dict[str, list[ChaseCondition | ChaseRating]]
    rows: dict[Name, dict[Row, set[Origins]]] = field(default_factory=lambda: defaultdict(dict))

    def run(self) -> dict[Name, set[Row]]:
        for name, contributed in self.contributions.items():
            for row in contributed:
                self._enter(name, row, frozenset({("peer", name[0]), ("row", name, row)}))
        changed = True
        while changed:
            changed = False
            for mapping in self.mappings:
                changed |= self._apply(mapping)
        return {name: set(rows) for name, rows in self.rows.items() if rows}

    def _apply(self, mapping: ChaseMapping) -> bool:
        news = []
        for binding, origins in self._matches(mapping):
            origins |= {("mapping", mapping.label)}
            for existential in mapping.existentials:
                arguments = tuple(binding[name] for name in mapping.frontier)
                binding[existential] = LabelledNull(f"{mapping.label}_{existential}", arguments)
            for head in mapping.heads:
                news.append((head.name, tuple(binding.get(t, t) for t in head.terms), origins))
        changed = False
        for name, row, origins in news:
            if row in self.rejections.get(name, ()):
                continue
            conditions = self.conditions.get(name[0], [])
            if not any(each.objects(name, row, mapping.label, origins, conditions) for each in conditions):
                changed |= self._enter(name, row, origins)
        return changed

    def _matches(self, mapping: ChaseMapping):
        found = [({}, frozenset())]
        for atom in mapping.body:
            found = [
                (extended, origins | more)
                for binding, origins in found
                for row, sets in list(self.rows[atom.name].items())
                if (extended := _unified(atom.terms, row, binding)) is not None
                for more in sets
            ]
        if mapping.comparison is not None:
            name, compare, value = mapping.comparison
            found = [each for each in found if holds(each[0][name], compare, value)]
        return [(dict(binding), origins) for binding, origins in found]

    def _enter(self, name: Name, row: Row, origins: Origins) -> bool:
        sets = self.rows[name].setdefault(row, set())
        if any(known <= origins for known in sets):
            return False
        self.rows[name][row] = {known for known in sets if not origins <= known} | {origins}
        return True


def _unified(terms: tuple[Any, ...], row: Row, binding: dict[str, Any]) -> dict[str, Any] | None:
    found = dict(binding)
    for term, value in zip(terms, row, strict=True):
        if isinstance(term, str):
            if found.setdefault(term, value) != value:
                return None
        elif term != value:
            return None
    return found


def settled(edits: list[tuple[str, str, Row]]) -> tuple[dict[str, set[Row]], dict[str, set[Row]]]:
    """Contributions and rejections by relation, from a log of sign, relation and row: a machine of three states."""
    states: dict[tuple[str, Row], str] = {}
    for sign, relation, row in edits:
        before = states.get((relation, row), "N")
        states[relation, row] = "L" if sign == "+" else {"L": "N", "N": "R", "R": "R"}[before]
    sets = {state: defaultdict(set) for state in "LNR"}
    for (relation, row), state in states.items():
        sets[state][relation].add(row)
    return sets["L"], sets["R"]
