"""The shortest proof of a row: the tree with the fewest derivations.

Knuth's generalisation of Dijkstra's algorithm: a derivation costs one more than its premises together, so rows are
settled from the cheapest on, and no proof rests on a cycle. In a graph that was cut, the search is led on by ranks:
some derivation of a row uses only rows of its stratum derived before it.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from dataclasses import dataclass

from headwater.provenance.graph import Graph, look_into
from headwater.provenance.instances import Derivation, Instances, Key


@dataclass(frozen=True)
class Settled:
    """The chosen derivation of each row that can be proved in a graph, and how many derivations its proof has."""

    chosen: dict[Key, Derivation]
    sizes: dict[Key, int]


def settle(graph: Graph, base: Collection[Key] | None = None) -> Settled:
    """The shortest proofs of all rows of the graph, from its base rows or only from these."""
    base = graph.base if base is None else base
    sizes: dict[Key, int] = dict.fromkeys(base, 0)
    chosen: dict[Key, Derivation] = {}
    uses: dict[Key, list[int]] = {}
    derivations = list(graph)
    missing: list[int] = []
    queue: list[tuple[int, int]] = []
    for number, derivation in enumerate(derivations):
        needed = {key for key in derivation.premises if key not in base}
        missing.append(len(needed))
        for key in needed:
            uses.setdefault(key, []).append(number)
        if not needed:
            heapq.heappush(queue, (1, number))
    while queue:
        size, number = heapq.heappop(queue)
        derivation = derivations[number]
        head = derivation.head
        if head in chosen:
            continue
        chosen[head], sizes[head] = derivation, size
        for user in uses.get(head, ()):
            missing[user] -= 1
            if not missing[user] and derivations[user].head not in chosen:
                total = 1 + sum(sizes[key] for key in derivations[user].premises)
                heapq.heappush(queue, (total, user))
    return Settled(chosen, sizes)


def leaves(settled: Settled, root: Key) -> set[Key]:
    """The base rows that the shortest proof of a row rests on."""
    found: set[Key] = set()
    seen = {root}
    todo = [root]
    while todo:
        key = todo.pop()
        derivation = settled.chosen.get(key)
        if derivation is None:
            found.add(key)
            continue
        for premise in derivation.premises:
            if premise not in seen:
                seen.add(premise)
                todo.append(premise)
    return found


def complete_by_ranks(instances: Instances, graph: Graph) -> None:
    """Look into as many more rows as one proof of the roots needs, led by ranks."""
    strata = {name: number for number, view in enumerate(instances.engine.views) for name in view.rules.own}
    todo = list(graph.roots)
    seen: set[Key] = set()
    while todo:
        key = todo.pop()
        if key in seen or key in graph.base:
            continue
        seen.add(key)
        if key in graph.waiting:
            look_into(instances, graph, key[0], [key[1]], None)
        rank, stratum = instances.rank(key), strata[key[0]]
        for derivation in graph.derivations[key]:
            own = [premise for premise in derivation.premises if strata.get(premise[0]) == stratum]
            if all(instances.rank(premise) < rank for premise in own):
                todo += derivation.premises
                break
        else:  # no rank tells: every derivation may be the one
            todo += [premise for derivation in graph.derivations[key] for premise in derivation.premises]
