"""What views must hold, computed plainly from the base rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import Any

Row = tuple[Any, ...]


def closure(links: Iterable[Row]) -> set[Row]:
    """All (x, y) with a way of one link or more from x to y."""
    out: dict[Any, set[Any]] = {}
    for link in links:
        out.setdefault(link[0], set()).add(link[1])
    found = set()
    for start in out:
        todo, seen = list(out[start]), set()
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo += out.get(node, ())
        found |= {(start, node) for node in seen}
    return found


def regions(triggered: set[int], seeds: Mapping[int, int], near: Mapping[int, Iterable[int]]) -> set[Row]:
    """All (sensor, region)."""
    found: set[Row] = set()
    todo = [(sensor, number) for number, sensor in seeds.items() if sensor in triggered]
    while todo:
        row = todo.pop()
        if row not in found:
            found.add(row)
            if row[0] in triggered:
                todo += [(other, row[1]) for other in near[row[0]]]
    return found


def best(links: Iterable[Row], weight: Any) -> dict[tuple[Any, Any], int]:
    """The least total weight of a way of one link or more, for each pair (Dijkstra)."""
    out: dict[Any, list[tuple[Any, int]]] = {}
    for link in links:
        out.setdefault(link[0], []).append((link[1], weight(link)))
    found: dict[tuple[Any, Any], int] = {}
    for start in out:
        todo: list[tuple[int, Any]] = []
        for node, cost in out[start]:
            heappush(todo, (cost, node))
        while todo:
            cost, node = heappop(todo)
            if (start, node) not in found:
                found[start, node] = cost
                for other, more in out.get(node, ()):
                    heappush(todo, (cost + more, other))
    return found
