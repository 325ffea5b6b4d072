"""The shortest proof of a row: the tree with the fewest derivations.

Knuth's generalisation of Dijkstra's algorithm: a derivation costs one more than its premises together, so rows are
settled from the cheapest on, and no proof rests on a cycle. In a graph that was cut, the search is led on by ranks:
some derivation of a row uses only rows of its stratum derived before it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from headwater.plan.instances import Derivation, Instances
from headwater.plan.stored_rows import Key
from headwater.provenance.graph.graph import Graph, look_into


@dataclass(frozen=True)
class Settled:
    """The chosen derivation of each row that can be proved in a graph, and how many derivations its proof has."""

    chosen: dict[Key, Derivation]
    sizes: dict[Key, int]


class System:
    """The derivations of a graph, arranged for finding proofs from various base rows.

    Derivations of relations that only pass rows on are no steps of a proof.
    """

    def __init__(self, graph: Graph, passes_on: Callable[[str], bool] = lambda relation: False):
        self.graph = graph
        self.passes_on = passes_on
        self.derivations = list(graph)
        self.uses: dict[Key, list[int]] = {}
        self.needs: list[int] = []
        self.free: list[int] = []
        for number, derivation in enumerate(self.derivations):
            premises = set(derivation.premises)
            self.needs.append(len(premises))
            for key in premises:
                self.uses.setdefault(key, []).append(number)
            if not premises:
                self.free.append(number)

    def settle(self, base: Iterable[Key] | None = None, stop: Key | None = None) -> Settled:
        """The shortest proofs from all base rows, or only from these; once `stop` is proved, no more are found.

        Costs what can be proved, not what the graph holds.
        """
        derivations = self.derivations
        sizes: dict[Key, int] = {}
        chosen: dict[Key, Derivation] = {}
        met: dict[int, int] = {}
        queue: list[tuple[int, int]] = [(1, number) for number in self.free]

        def reach(key: Key, size: int) -> None:
            sizes[key] = size
            for user in self.uses.get(key, ()):
                met[user] = found = met.get(user, 0) + 1
                if found == self.needs[user] and derivations[user].head not in sizes:
                    step = 0 if self.passes_on(derivations[user].head[0]) else 1
                    total = step + sum([sizes[premise] for premise in derivations[user].premises])
                    heapq.heappush(queue, (total, user))

        for key in self.graph.base if base is None else base:
            reach(key, 0)
        while queue:
            size, number = heapq.heappop(queue)
            head = derivations[number].head
            if head in sizes:
                continue
            chosen[head] = derivations[number]
            reach(head, size)
            if head == stop:
                break
        return Settled(chosen, sizes)


def contracted(settled: Settled, root: Key, passes_on: Callable[[str], bool]) -> Settled:
    """The same proof of the root, with the premises of rows that are only passed on in place of those rows."""
    chosen: dict[Key, Derivation] = {}
    todo = [root]
    while todo:
        key = todo.pop()
        derivation = settled.chosen.get(key)
        if derivation is None or key in chosen:
            continue
        premises: list[Key] = []
        absent = list(derivation.absent)
        waiting = list(reversed(derivation.premises))
        while waiting:
            premise = waiting.pop()
            inner = settled.chosen.get(premise)
            if inner is None or not passes_on(premise[0]):
                premises.append(premise)
            else:
                waiting += reversed(inner.premises)
                absent += inner.absent
        chosen[key] = derivation._replace(premises=tuple(premises), absent=tuple(dict.fromkeys(absent)))
        todo += premises
    return Settled(chosen, settled.sizes)


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
    strata = {name: number for number, stratum in enumerate(instances.strata) for name in stratum.relations}
    todo = list(graph.roots)
    seen: set[Key] = set()
    while todo:
        key = todo.pop()
        if key in seen or key in graph.base:
            continue
        seen.add(key)
        if key in graph.waiting:
            look_into(instances, graph, key[0], [key[1]], None)
        leading = _leading(instances, graph, key, strata)
        if leading is None and graph.cut:  # the one may be among those left out
            look_into(instances, graph, key[0], [key[1]], None)
            leading = _leading(instances, graph, key, strata)
        if leading is not None:
            todo += leading.premises
        else:  # no rank tells: every derivation may be the one
            todo += [premise for derivation in graph.derivations[key] for premise in derivation.premises]


def _leading(instances: Instances, graph: Graph, key: Key, strata: Mapping[str, int]) -> Derivation | None:
    """A derivation that uses only rows of its stratum that were derived before."""
    rank, stratum = instances.rows.rank(key), strata[key[0]]
    for derivation in graph.derivations[key]:
        own = [premise for premise in derivation.premises if strata.get(premise[0]) == stratum]
        if all(instances.rows.rank(premise) < rank for premise in own):
            return derivation
    return None
