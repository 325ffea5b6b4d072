"""Relative provenance (green-2007 section 4.2): the graph of all rule instances, one hyper-edge each.

A row knows the instances that derive it, each with its immediate premises. When premises go, the instances that
used them go. A row without any falls, and so on (`PropagateDelete`, figure 3). A row that lost some but not all
is tested for derivability: its ancestors are collected, backwards along the instances, and derived again among
themselves from instances that need nothing of the recursion. Where that fails, they are cycles that support only
themselves; they are garbage and go, too. Deleting thus costs a search over ancestors, which absorption avoids.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.maintain.strategies.annotated import Annotated
from headwater.maintain.strategies.journal import Journal
from headwater.maintain.strategies.ledger import Ground, Instance, Ledger

Edge = tuple[str, tuple[Ground, ...]]
"""A rule and the premises of one instance of it."""


class InstanceLedger(Ledger):
    """Instances by the row they derive, and by each premise they use."""

    forgets = True

    def __init__(self) -> None:
        self.journal = Journal()
        self.clear()

    def clear(self) -> None:
        self.journal.commit()
        self.derivations: dict[Ground, dict[Edge, None]] = {}
        self.uses: dict[Ground, dict[tuple[Ground, Edge], None]] = {}
        self._news: dict[Ground, None] = {}

    def derivable(self, row: Ground) -> bool:
        """Whether an instance derives it: between versions none rests on a cycle alone."""
        return row in self.derivations

    def enter(self, instance: Instance) -> None:
        """Add a hyper-edge; a row's first one is news."""
        edge = (instance.rule, instance.premises)
        edges = self.derivations.get(instance.head)
        if edges is None:
            edges = {}
            self.journal.put(self.derivations, instance.head, edges)
            self._news[instance.head] = None
        elif edge in edges:
            return
        self.journal.put(edges, edge, None)
        for premise in instance.premises:
            users = self.uses.get(premise)
            if users is None:
                users = {}
                self.journal.put(self.uses, premise, users)
            self.journal.put(users, (instance.head, edge), None)

    def news(self) -> list[Ground]:
        """Rows that can be derived and could not before."""
        found, self._news = list(self._news), {}
        return found

    def waiting(self) -> bool:
        """Whether there are such rows."""
        return bool(self._news)

    def announce(self, row: Ground) -> None:
        """Nothing to do: the graph does not remember what consequences know."""

    def lose(self, gone: Iterable[Ground]) -> tuple[list[Ground], int]:
        """`PropagateDelete`: the rows that cannot be derived without these premises."""
        return self._propagate(list(gone), {}, {}, 0)

    def forget(self, instances: Iterable[Instance]) -> tuple[list[Ground], int]:
        """`PropagateDelete`, from the rows that lose these instances."""
        dead: dict[Ground, None] = {}
        doubtful: dict[Ground, None] = {}
        seen = 0
        for instance in instances:
            edge = (instance.rule, instance.premises)
            if edge in self.derivations.get(instance.head, ()):
                seen += 1
                self._remove(instance.head, edge)
                doubtful[instance.head] = None
        for row in list(doubtful):
            if not self.derivations[row]:
                dead[row] = None
                del doubtful[row]
        return self._propagate(list(dead), dead, doubtful, seen)

    def release(self, rows: Iterable[Ground]) -> int:
        """Instances are forgotten one by one."""
        raise AssertionError("instances know their rules")

    def _propagate(
        self, falling: list[Ground], dead: dict[Ground, None], doubtful: dict[Ground, None], seen: int
    ) -> tuple[list[Ground], int]:
        """From rows that have fallen and rows that have lost an instance to all that cannot be derived any more."""
        while falling or doubtful:
            while falling:
                for row, edge in list(self.uses.get(falling.pop(), ())):
                    seen += 1
                    self._remove(row, edge)
                    if self.derivations[row]:
                        doubtful[row] = None
                    elif row not in dead:
                        dead[row] = None
                        falling.append(row)
            cut_off, looked_at = self._cut_off(row for row in doubtful if row not in dead)
            seen += looked_at
            doubtful = {}
            for row in cut_off:
                for edge in list(self.derivations[row]):
                    self._remove(row, edge)
                dead[row] = None
                falling.append(row)
        for row in dead:
            self.journal.drop(self.derivations, row)
            self._news.pop(row, None)
        return list(dead), seen

    def _cut_off(self, doubtful: Iterable[Ground]) -> tuple[list[Ground], int]:
        """Rows among the doubtful and their ancestors that cannot be derived from outside the recursion.

        Ancestors are looked at generation by generation, those of rows that are not derived yet. What the
        instances seen so far derive is derived at once, and the search ends when no doubtful row is left.
        """
        asked = dict.fromkeys(doubtful)
        ancestors: dict[Ground, None] = {}
        lacking: dict[tuple[Ground, Edge], int] = {}
        derived: dict[Ground, None] = {}
        told: set[Ground] = set()
        """Derived rows whose users do not lack them any more."""
        generation = asked
        left = len(asked)
        while left and generation:
            ancestors.update(generation)
            found: list[Ground] = []
            for row in generation:
                for edge in self.derivations[row]:
                    own = sum(premise in self.derivations and premise not in told for premise in edge[1])
                    lacking[row, edge] = own
                    if not own and row not in derived:
                        derived[row] = None
                        found.append(row)
            while found:
                row = found.pop()
                told.add(row)
                left -= row in asked
                for use in self.uses.get(row, ()):
                    if lacking.get(use, 0) > 0:
                        lacking[use] -= use[1][1].count(row)
                        if not lacking[use] and use[0] not in derived:
                            derived[use[0]] = None
                            found.append(use[0])
            generation = {
                premise: None
                for row in generation if row not in derived
                for _, premises in self.derivations[row]
                for premise in premises
                if premise in self.derivations and premise not in ancestors
            }  # fmt: skip
        if not left:
            return [], len(lacking)
        return [row for row in ancestors if row not in derived], len(lacking)

    def _remove(self, row: Ground, edge: Edge) -> None:
        self.journal.drop(self.derivations[row], edge)
        for premise in edge[1]:
            users = self.uses.get(premise)
            if users is not None:
                self.journal.drop(users, (row, edge))
                if not users:
                    self.journal.drop(self.uses, premise)

    def describe(self) -> str:
        instances = sum(map(len, self.derivations.values()))
        return f"{len(self.derivations):,} rows derived by {instances:,} rule instances"

    def commit(self) -> None:
        self.journal.commit()

    def rollback(self) -> None:
        self.journal.rollback()
        self._news = {}


def relative() -> Annotated:
    """Relative provenance."""
    return Annotated("relative", InstanceLedger())
