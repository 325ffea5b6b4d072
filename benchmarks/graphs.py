"""Seeded random graphs."""

from __future__ import annotations

import random
from collections.abc import Iterable

Edge = tuple[int, int]


def random_digraph(nodes: int, edges: int, seed: int) -> list[Edge]:
    """Distinct edges between nodes 0, 1, ..., each equally likely; loops are edges like any other.

    >>> random_digraph(10, 3, 1) == random_digraph(10, 3, 1), len(set(random_digraph(10, 100, 1)))
    (True, 100)
    """
    chosen = random.Random(seed).sample(range(nodes * nodes), edges)
    return [divmod(place, nodes) for place in chosen]


def giant_component(edges: Iterable[Edge]) -> set[int]:
    """The largest set of nodes that all reach each other.

    >>> sorted(giant_component([(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 4)]))
    [1, 2, 3]
    """
    after: dict[int, list[int]] = {}
    before: dict[int, list[int]] = {}
    for a, b in edges:
        after.setdefault(a, []).append(b)
        before.setdefault(b, []).append(a)
    best: set[int] = set()
    seen: set[int] = set()
    for start in sorted(after.keys() & before.keys()):
        if start not in seen:
            component = _reached(after, start) & _reached(before, start)
            seen |= component
            best = max(best, component, key=len)
    return best


def _reached(after: dict[int, list[int]], start: int) -> set[int]:
    found = {start}
    todo = [start]
    while todo:
        for node in after.get(todo.pop(), ()):
            if node not in found:
                found.add(node)
                todo.append(node)
    return found
