"""Which relations depend on each other, and an order in which they can be computed.

The dependency graph has an edge from a rule's relation to every relation its body reads. Relations on a
common cycle form one recursive stratum; the strata come out so that each one reads only earlier ones. A cycle
through negation, count, sum or avg has no single meaning and is refused, by name.

>>> graph = {"reach": ["link", "reach"], "far": ["reach", "near"], "near": ["link"], "link": []}
>>> components(graph)
[('link',), ('reach',), ('near',), ('far',)]
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from headwater.errors import Place, RuleError
from headwater.rules.checked import Absent, Premise
from headwater.rules.draft import Draft, DraftRule
from headwater.rules.terms import atoms

Node = TypeVar("Node", bound=Hashable)


@dataclass(frozen=True)
class Edge:
    """`source` reads `target`: positively, or through a negation or an aggregate."""

    source: str
    target: str
    negated: bool
    aggregate: str | None
    place: Place | None


def edges(rules: Iterable[DraftRule]) -> Iterator[Edge]:
    """What every rule reads, whether its body is still literals or items already."""
    for rule in rules:
        aggregate = None if rule.aggregate is None else rule.aggregate.function
        for part in rule.body:
            if isinstance(part, (Premise, Absent)):
                negated = isinstance(part, Absent)
                yield Edge(rule.relation, part.relation, negated, aggregate, part.place or rule.place)
        for atom, positive in atoms(rule.body):
            yield Edge(rule.relation, atom.relation, not positive, aggregate, atom.place or rule.place)


def dependencies(rules: Iterable[DraftRule]) -> dict[str, list[str]]:
    """For each relation that rules derive, the relations they read, each once, in order of writing."""
    rules = list(rules)
    graph: dict[str, dict[str, None]] = {rule.relation: {} for rule in rules}
    for edge in edges(rules):
        graph[edge.source][edge.target] = None
    return {relation: list(reads) for relation, reads in graph.items()}


def reachable(graph: Mapping[str, Iterable[str]], start: str) -> set[str]:
    """All that `start` depends on, directly or not; `start` itself only if it is on a cycle."""
    found: set[str] = set()
    todo = list(graph.get(start, ()))
    while todo:
        relation = todo.pop()
        if relation not in found:
            found.add(relation)
            todo.extend(graph.get(relation, ()))
    return found


def components(graph: Mapping[Node, Iterable[Node]]) -> list[tuple[Node, ...]]:
    """The strongly connected components, each after all that it depends on (Tarjan's algorithm, with a stack
    of our own so that long chains of relations do not exhaust Python's)."""
    result: list[tuple[Node, ...]] = []
    order = {relation: i for i, relation in enumerate(graph)}
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    for root in graph:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(graph[root]))]
        while work:
            relation, targets = work[-1]
            for target in targets:
                if target not in graph:
                    continue
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(graph[target])))
                    break
                if target in on_stack:
                    low[relation] = min(low[relation], index[target])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[relation])
                if low[relation] == index[relation]:
                    members: list[Node] = []
                    while not members or members[-1] != relation:
                        members.append(stack.pop())
                        on_stack.remove(members[-1])
                    result.append(tuple(sorted(members, key=order.__getitem__)))
    return result


def stratify(draft: Draft) -> list[tuple[tuple[str, ...], bool]]:
    """The derived relations in strata, and whether each is recursive; refuses what has no stratification."""
    graph = dependencies(draft.rules)
    strata = components(graph)
    home = {relation: i for i, members in enumerate(strata) for relation in members}
    for edge in edges(draft.rules):
        if home.get(edge.target) != home[edge.source]:
            continue
        if edge.negated:
            raise RuleError(
                "unstratified-negation",
                f"the negation of {draft.owner(edge.target)} depends on itself: {_cycle(draft, graph, edge)}",
                place=edge.place,
                hint="negate a relation that does not depend on this one",
            )
        if draft.demands.get(edge.source) == edge.target:
            continue
        if edge.aggregate is not None or edge.source in draft.bodies:
            function = edge.aggregate or draft.selections[edge.source][0].best
            raise RuleError(
                "unstratified-aggregate",
                f"{function} depends on its own result: {_cycle(draft, graph, edge)}",
                place=edge.place,
                hint="aggregate a relation that does not depend on the result; "
                "only min<...> and max<...> in a head may be recursive",
            )
    return [(members, members[0] in graph[members[0]] or len(members) > 1) for members in strata]


def _cycle(draft: Draft, graph: Mapping[str, Iterable[str]], edge: Edge) -> str:
    """The shortest cycle through an edge, in words, internal relations left out."""
    parents = {edge.target: edge.target}
    todo = [edge.target]
    for relation in todo:
        for target in graph.get(relation, ()):
            if target not in parents:
                parents[target] = relation
                todo.append(target)
    path = [edge.source]
    while path[-1] != edge.target:
        path.append(parents[path[-1]])
    path.append(edge.source)
    steps = [draft.owner(relation) for relation in reversed(path)]
    steps = [steps[0]] + [b for a, b in zip(steps, steps[1:], strict=False) if a != b]
    if len(steps) == 1:
        steps *= 2
    if edge.negated:
        steps[1] = f"!{steps[1]}"
    return " -> ".join(steps)
