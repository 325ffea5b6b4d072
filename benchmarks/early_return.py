"""Who reaches one node, kept by ranks and counts while edges go: a model that counts the derivations it looks at.

The rows of `reach(X, t) :- link(X, t). reach(X, t) :- link(X, Z), reach(Z, t).` for one `t`, as ranked support keeps
them (`maintain/fixpoint`), in plain Python. A row that loses its last counted derivation may come back in two ways:

- *after going down*, as in the engine: it falls, its consequences lose a derivation, and dead rows ask for others
  once nothing falls any more;
- *early*, if `climb` is above 0: before it falls it asks for derivations from what stands, and if the lowest of them
  rests on a rank less than `climb` above its own, it stays and its rank becomes the next one after that. Only
  consequences that are not above the new rank lose a derivation. What comes back so may rest on a row that rests on
  it, and go down with that one in a while; so each row does it once.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.graphs import Edge

Edges = dict[int, list[int]]


def neighbours(edges: Iterable[Edge]) -> tuple[Edges, Edges]:
    """Where edges lead from each node, and from where they come.

    >>> neighbours([(1, 2), (1, 3)])
    ({1: [2, 3]}, {2: [1], 3: [1]})
    """
    after: Edges = {}
    before: Edges = {}
    for start, end in edges:
        after.setdefault(start, []).append(end)
        before.setdefault(end, []).append(start)
    return after, before


def levels(before: Edges, target: int) -> dict[int, int]:
    """In which round of deriving them the nodes come that reach the target.

    >>> levels(neighbours([(1, 2), (2, 3), (3, 2)])[1], 3)
    {2: 1, 1: 2, 3: 2}
    """
    found: dict[int, int] = {}
    newest, rank = list(before.get(target, ())), 1
    while newest:
        found.update(dict.fromkeys(newest, rank))
        newest = list(
            dict.fromkeys(node for end in newest for node in before.get(end, ()) if node not in found)
        )
        rank += 1
    return found


class Reaching:
    """The nodes that reach a target: `rank` has each of them, and `looked_at` counts derivations.

    >>> after, before = neighbours([(1, 2), (2, 3), (3, 2), (1, 3)])
    >>> kept = Reaching(after, before, 2)
    >>> kept.delete([(1, 2)])
    >>> sorted(kept.rank), kept.rank[1], kept.looked_at
    ([1, 2, 3], 3, 3)
    """

    def __init__(self, after: Edges, before: Edges, target: int, climb: int = 0):
        self.after = {node: list(ends) for node, ends in after.items()}
        self.before = {node: list(starts) for node, starts in before.items()}
        self.target = target
        self.climb = climb
        self.rank = levels(before, target)
        self.looked_at = 0
        self.returned: set[int] = set()
        """Nodes that have tried to come back early."""
        self.count = {node: self._counted(node) for node in self.rank}
        self.sure = {node for node in self.rank if self.count[node] == len(self._premises(node))}
        """Nodes all of whose derivations are counted: without any left, they have none."""

    def delete(self, edges: Iterable[Edge]) -> None:
        """Take edges away."""
        lost: dict[int, int] = {}
        for start, end in edges:
            self.after[start].remove(end)
            self.before[end].remove(start)
            for rank in self._ranks(end):
                self.looked_at += 1
                if rank < self.rank[start]:
                    lost[start] = lost.get(start, 0) + 1
        dead: dict[int, None] = {}
        falling = self._take_off(lost)
        while falling:
            falling = self._round(falling, dead)
        self._come_back(dead)

    # ------------------------------------------------------------------ derivations

    def _ranks(self, end: int) -> list[int]:
        """The ranks of what an edge to this node derives a row from; the edge alone has 0."""
        stands = [self.rank[end]] if end in self.rank else []
        return [0, *stands] if end == self.target else stands

    def _premises(self, node: int) -> list[int]:
        return [rank for end in self.after.get(node, ()) for rank in self._ranks(end)]

    def _counted(self, node: int) -> int:
        return sum(rank < self.rank[node] for rank in self._premises(node))

    # ------------------------------------------------------------------ phases

    def _take_off(self, lost: dict[int, int]) -> list[int]:
        """The nodes that have no counted derivation left."""
        for node, number in lost.items():
            self.count[node] -= number
        return [node for node in lost if self.count[node] == 0]

    def _round(self, falling: list[int], dead: dict[int, None]) -> list[int]:
        """Let some nodes fall or come back early; the nodes that follow."""
        was = {node: self.rank.pop(node) for node in falling}
        early = {node: rank for node in falling if (rank := self._early(node, was[node])) is not None}
        dead.update(dict.fromkeys(node for node in falling if node not in early))
        lost: dict[int, int] = {}
        for node, rank in was.items():
            for head in self.before.get(node, ()):
                if head in self.rank:
                    self.looked_at += 1
                    if rank < self.rank[head] and not (node in early and early[node] < self.rank[head]):
                        lost[head] = lost.get(head, 0) + 1
                        self.sure -= {head} if node in early else set()
        self.rank.update(early)
        self.sure -= early.keys()
        self.count.update({node: self._counted(node) for node in early})
        return [*self._take_off(lost), *(node for node in early if self.count[node] == 0)]

    def _early(self, node: int, rank: int) -> int | None:
        """The rank with which a node comes back before it falls."""
        if not self.climb or node in self.sure or node in self.returned:
            return None
        self.returned.add(node)
        self.looked_at += len(self.after.get(node, ()))
        lowest = min(self._premises(node), default=None)
        return lowest + 1 if lowest is not None and lowest < rank + self.climb else None

    def _come_back(self, dead: dict[int, None]) -> None:
        """Let dead nodes come back that have derivations from what stands, round by round."""
        asked = [node for node in dead if node not in self.sure]
        self.looked_at += sum(len(self.after.get(node, ())) for node in asked)
        newest = [node for node in asked if self._premises(node)]
        clock = max(self.rank.values(), default=0)
        while newest:
            clock += 1
            self.rank.update(dict.fromkeys(newest, clock))
            heads = [head for node in newest for head in self.before.get(node, ())]
            self.looked_at += sum(head in self.rank or head in dead for head in heads)
            newest = list(dict.fromkeys(head for head in heads if head in dead and head not in self.rank))
