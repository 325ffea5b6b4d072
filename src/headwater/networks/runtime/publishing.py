"""What a node publishes: rows that follow from all rows of a kind, not from one of each premise.

A publisher watches tables of its node. When asked, it says which of its rows are no more and which are new; the node
then deletes and inserts them as if they were base rows of its own. It is asked when no message waits, so that a group
is not published for every row that changes it: a quarter to a half fewer versions. Higher strata need not wait for
lower ones; until all is quiet, an old and a new row of a group may both be seen, or neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Protocol

from headwater.networks.runtime.best_rows import BestFollower, BestRows
from headwater.networks.runtime.group_values import GroupValue
from headwater.networks.runtime.row_table import Row, RowTable
from headwater.networks.strands.network_program import Best, Bindings, Missing, Publication, PublishedGroups
from headwater.networks.strands.node_plan import NodePlan

Difference = tuple[list[Row], list[Row]]
"""Rows that are no more, and rows that are new."""


class Publisher(Protocol):
    """A relation that a node publishes its part of."""

    relation: int

    def touched(self) -> bool:
        """Whether there may be a difference."""
        ...

    def difference(self) -> Difference:
        """What changes against what was said the last time."""
        ...


def publishers(
    plan: NodePlan, tables: Sequence[RowTable], best: Callable[[Best], BestRows]
) -> list[Publisher]:
    """Those of a program, watching a node's tables; `best` gives the best rows of candidates."""
    return [_publisher(plan, tables, best, publication) for publication in plan.program.publications]


def _publisher(
    plan: NodePlan, tables: Sequence[RowTable], best: Callable[[Best], BestRows], publication: Publication
) -> Publisher:
    relation = plan.numbers[publication.relation]
    if isinstance(publication, Missing):
        return _MissingRows(
            relation, tables[plan.numbers[publication.asked]], tables[plan.numbers[publication.present]]
        )
    if isinstance(publication, Best):
        return _BestPublished(relation, best(publication))
    inputs = [(each, tables[plan.numbers[each.relation]]) for each in publication.inputs]
    asked = None if publication.asked is None else tables[plan.numbers[publication.asked]]
    return _Groups(relation, publication, inputs, asked)


class _MissingRows:
    """Rows that are asked for and are not there."""

    def __init__(self, relation: int, asked: RowTable, present: RowTable):
        self.relation = relation
        self._asked = asked
        self._present = present
        self._said: set[Row] = set()
        self._touched: dict[Row, None] = {}
        asked.watchers.append(self)
        present.watchers.append(self)

    def appeared(self, row: Row) -> None:
        self._touched[row] = None

    def vanished(self, row: Row) -> None:
        self._touched[row] = None

    def touched(self) -> bool:
        return bool(self._touched)

    def difference(self) -> Difference:
        gone, new = [], []
        for row in self._touched:
            missing = row in self._asked.rows and row not in self._present.rows
            if missing and row not in self._said:
                self._said.add(row)
                new.append(row)
            elif not missing and row in self._said:
                self._said.discard(row)
                gone.append(row)
        self._touched.clear()
        return gone, new


class _BestPublished:
    """The best rows of groups, for rules outside of the recursion."""

    def __init__(self, relation: int, best: BestRows):
        self.relation = relation
        self._best = BestFollower(best)

    def touched(self) -> bool:
        return self._best.touched()

    def difference(self) -> Difference:
        return self._best.difference()


class _Inputs:
    """Watches the bindings of one rule."""

    def __init__(self, groups: _Groups, bindings: Bindings):
        self._groups = groups
        self._group: Callable[[Row], Any] = _columns(bindings.group)
        self._argument = bindings.argument

    def appeared(self, row: Row) -> None:
        self._change(row, 1)

    def vanished(self, row: Row) -> None:
        self._change(row, -1)

    def _change(self, row: Row, sign: int) -> None:
        value = None if self._argument is None else row[self._argument]
        self._groups.change(self._group(row), value, self._argument is not None, sign)


class _Asked:
    """Watches which groups are asked for."""

    def __init__(self, groups: _Groups):
        self._groups = groups

    def appeared(self, row: Row) -> None:
        self._groups.ask(row, True)

    def vanished(self, row: Row) -> None:
        self._groups.ask(row, False)


class _Groups:
    """count, sum and avg of groups; of all that have bindings, or of those that are asked for."""

    def __init__(
        self,
        relation: int,
        publication: PublishedGroups,
        inputs: Iterable[tuple[Bindings, RowTable]],
        asked: RowTable | None,
    ):
        self.relation = relation
        self.publication = publication
        self._groups: dict[Row, GroupValue] = {}
        self._said: dict[Row, Row] = {}
        self._touched: dict[Row, None] = {}
        self._asked: set[Row] | None = None if asked is None else set()
        for bindings, table in inputs:
            table.watchers.append(_Inputs(self, bindings))
        if asked is not None:
            asked.watchers.append(_Asked(self))

    def change(self, group: Row, value: Any, counted: bool, sign: int) -> None:
        """A binding of a group has come or gone."""
        found = self._groups.get(group)
        if found is None:
            found = self._groups[group] = GroupValue()
        found.change(self.publication.function, value, counted, sign)
        if not found.bindings:
            del self._groups[group]
        self._touched[group] = None

    def ask(self, group: Row, wanted: bool) -> None:
        """A group is asked for, or is no more."""
        assert self._asked is not None
        (self._asked.add if wanted else self._asked.discard)(group)
        self._touched[group] = None

    def touched(self) -> bool:
        return bool(self._touched)

    def difference(self) -> Difference:
        gone, new = [], []
        for group in self._touched:
            before, now = self._said.get(group), self._row(group)
            if before == now:
                continue
            if before is not None:
                gone.append(before)
                del self._said[group]
            if now is not None:
                new.append(now)
                self._said[group] = now
        self._touched.clear()
        return gone, new

    def _row(self, group: Row) -> Row | None:
        found = self._groups.get(group)
        if self._asked is not None:
            if group not in self._asked:
                return None
            if found is None and self.publication.function not in ("count", "sum"):
                return None
        elif found is None:
            return None
        value = (found or GroupValue()).result(self.publication.function, self.publication.type)
        at = self.publication.position
        return (*group[:at], value, *group[at:])


def _columns(columns: tuple[int, ...]) -> Callable[[Row], Any]:
    if len(columns) == 1:
        (only,) = columns
        return lambda row: (row[only],)
    return itemgetter(*columns) if columns else lambda row: ()
