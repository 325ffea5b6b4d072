"""Whether a chase with some mappings always ends: weak acyclicity (Fagin, Kolaitis, Miller, Popa 2005).

A graph on positions, which are columns of relations. For each variable of a body that a head has as well, and each
position of it in the body: an edge to each of its positions in heads, and a *special* edge to each position of an
existential. A cycle through a special edge makes values of values without end; the error names it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from headwater.errors import RuleError
from headwater.language.mappings.mapping import Mappings, PeerRelation, Schemas, Tgd
from headwater.language.program import Variable

Position = tuple[PeerRelation, int]


@dataclass(frozen=True)
class PositionEdge:
    """Values go from one position to another, or new ones are made of them (`special`)."""

    start: Position
    end: Position
    special: bool
    tgd: Tgd


def edges(mappings: Mappings, schemas: Schemas) -> Iterator[PositionEdge]:
    """All edges of the graph."""
    for tgd in mappings.tgds:
        heads = [
            ((schemas.find(atom), column), term.name)
            for atom in tgd.heads
            for column, term in enumerate(atom.args)
            if isinstance(term, Variable)
        ]
        frontier = set(tgd.frontier)
        for atom in tgd.premises:
            relation = schemas.find(atom)
            for column, term in enumerate(atom.args):
                if not isinstance(term, Variable) or term.name not in frontier:
                    continue
                for end, name in heads:
                    if name == term.name or name in tgd.existentials:
                        yield PositionEdge((relation, column), end, name in tgd.existentials, tgd)


def unknown_positions(mappings: Mappings, schemas: Schemas) -> frozenset[Position]:
    """Where mappings can put values that nobody knows: positions of existentials, and what follows from them."""
    found = {
        (schemas.find(atom), column)
        for tgd in mappings.tgds
        for atom in tgd.heads
        for column, term in enumerate(atom.args)
        if isinstance(term, Variable) and term.name in tgd.existentials
    }
    plain = [edge for edge in edges(mappings, schemas) if not edge.special]
    todo = list(found)
    while todo:
        position = todo.pop()
        for edge in plain:
            if edge.start == position and edge.end not in found:
                found.add(edge.end)
                todo.append(edge.end)
    return frozenset(found)


def check_weak_acyclicity(mappings: Mappings, schemas: Schemas) -> None:
    """Refuse mappings whose chase may not end."""
    graph: dict[Position, list[PositionEdge]] = {}
    every = list(edges(mappings, schemas))
    for edge in every:
        graph.setdefault(edge.start, []).append(edge)
    for edge in every:
        if edge.special and (way := _way(graph, edge.end, edge.start)) is not None:
            raise _endless([edge, *way], schemas)


def _way(
    graph: dict[Position, list[PositionEdge]], start: Position, end: Position
) -> list[PositionEdge] | None:
    """A shortest path; none if there is no path."""
    came: dict[Position, PositionEdge | None] = {start: None}
    todo = deque([start])
    while todo:
        position = todo.popleft()
        if position == end:
            way: list[PositionEdge] = []
            last = came[position]
            while last is not None:
                way.append(last)
                last = came[last.start]
            return way[::-1]
        for edge in graph.get(position, ()):
            if edge.end not in came:
                came[edge.end] = edge
                todo.append(edge.end)
    return None


def _endless(cycle: list[PositionEdge], schemas: Schemas) -> RuleError:
    def named(position: Position) -> str:
        relation, column = position
        return f"{relation}.{schemas.columns[relation][column].name}"

    shown = named(cycle[0].start)
    for edge in cycle:
        shown += f" -{'new value by ' if edge.special else ''}{edge.tgd.label}-> {named(edge.end)}"
    return RuleError(
        "not-weakly-acyclic",
        f"new values would be made of new values without end: {shown}",
        place=cycle[0].tgd.place,
        hint=f"break the cycle: let {cycle[0].tgd.label} make no new value there, or leave out a mapping of it",
    )
