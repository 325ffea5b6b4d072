"""The derivation graph of a row: rows and derivations, found backwards from it, level by level.

Green-2007, definition 3.2: a node for each row, one for each derivation, an arc from each premise to the derivation
and from that to the row it derives. Cycles in it are cycles of the derivations. A limit on derivations or on depth
cuts the search; what was left out is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from headwater.calls import public_class
from headwater.plan.instances import Derivation, Instances
from headwater.plan.stored_rows import Key
from headwater.rules.strata import components


@public_class
@dataclass
class Graph:
    """Derivations by the row they derive, in the order in which rows were reached.

    `waiting` are derived rows that were reached and not looked into. `cut` is how many derivations of rows looked
    into were left out. A row in neither is a base row.
    """

    roots: tuple[Key, ...]
    derivations: dict[Key, list[Derivation]] = field(default_factory=dict)
    waiting: dict[Key, None] = field(default_factory=dict)
    base: dict[Key, None] = field(default_factory=dict)
    cut: int = 0
    count: int = 0

    @property
    def complete(self) -> bool:
        """Whether every derivation of every row is there."""
        return not self.waiting and not self.cut

    def __iter__(self) -> Iterator[Derivation]:
        for derivations in self.derivations.values():
            yield from derivations

    def copy(self) -> Graph:
        """The same rows and derivations, to search on from."""
        derivations = {head: list(found) for head, found in self.derivations.items()}
        return Graph(self.roots, derivations, dict(self.waiting), dict(self.base), self.cut, self.count)

    def keys(self) -> list[Key]:
        """All rows: those with derivations, base rows, and those not looked into."""
        return [*self.derivations, *self.base, *self.waiting]

    def take(self, derivations: Iterable[Derivation], instances: Instances) -> list[Key]:
        """Enter derivations; return their premises that are new and derived."""
        new: list[Key] = []
        for derivation in derivations:
            self.derivations[derivation.head].append(derivation)
            self.count += 1
            for key in derivation.premises:
                if key in self.derivations or key in self.base or key in self.waiting:
                    continue
                if instances.derived(key[0]):
                    self.waiting[key] = None
                    new.append(key)
                else:
                    self.base[key] = None
        return new

    def cycles(self) -> list[tuple[Key, ...]]:
        """The sets of rows that derive each other (or themselves)."""
        after = {
            head: [
                key for derivation in derivations for key in derivation.premises if key in self.derivations
            ]
            for head, derivations in self.derivations.items()
        }
        return [part for part in components(after) if len(part) > 1 or part[0] in after[part[0]]]


def explore(
    instances: Instances, roots: Iterable[Key], *, depth: int | None = None, limit: int | None = None
) -> Graph:
    """All derivations of some rows, of their premises, and so on, breadth first.

    `depth` is how many levels of derivations are looked into, `limit` how many derivations are taken.
    """
    graph = Graph(tuple(roots))
    level = list(graph.roots)
    for key in level:
        (graph.waiting if instances.derived(key[0]) else graph.base)[key] = None
    level = list(graph.waiting)
    steps = 0
    while level and (depth is None or steps < depth) and (limit is None or graph.count < limit):
        steps += 1
        following: list[Key] = []
        for relation, rows in by_relation(level).items():
            room = None if limit is None else limit - graph.count
            if room is not None and room <= 0:
                break
            looked = rows if room is None else rows[:room]
            following += look_into(instances, graph, relation, looked, room)
        level = following
    return graph


def look_into(
    instances: Instances, graph: Graph, relation: str, rows: list[tuple[int, ...]], most: int | None
) -> list[Key]:
    """Find the derivations of rows that wait; return the derived rows among their premises that are new."""
    derivations, more = instances.of(relation, rows, most)
    for row in rows:
        graph.waiting.pop((relation, row), None)
        graph.derivations[(relation, row)] = []
    graph.cut += more
    return graph.take(derivations, instances)


def by_relation(keys: Iterable[Key]) -> dict[str, list[tuple[int, ...]]]:
    """Rows by their relation."""
    found: dict[str, list[tuple[int, ...]]] = {}
    for relation, row in keys:
        found.setdefault(relation, []).append(row)
    return found
