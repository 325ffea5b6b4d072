"""AggSel (liu-2008 section 6, algorithm 4): rows that are the best of no group go no further.

A row passes when it is best in its group by at least one of several measures (cost and hops, say) at once. The
others are kept: when a best row falls, the next best passes in its place.

The paper also takes the consequences of a beaten row back. That is left out: they are true, only not best, and
nobody's answer depends on them; they go when the base rows they rest on go. It would cost messages, and since
deletions are by variable, there is nothing to take them back by.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.networks.simulated.channels import Row


@dataclass(frozen=True)
class BestOf:
    """The groups of rows, and the measures by which the smallest is best."""

    group: Callable[[Row], Hashable]
    measures: Sequence[Callable[[Row], Any]]


def by_cost() -> BestOf:
    """The cheapest path between two nodes."""
    return BestOf(lambda row: row[:2], (lambda row: row[3],))


def by_hops() -> BestOf:
    """The shortest path between two nodes."""
    return BestOf(lambda row: row[:2], (lambda row: row[4],))


def by_cost_and_hops() -> BestOf:
    """Both at once (section 7.4, Multi AggSel)."""
    return BestOf(lambda row: row[:2], (lambda row: row[3], lambda row: row[4]))


class AggSel:
    """The rows of each group and, for each measure, the one that is best; the first of several equals."""

    def __init__(self, selection: BestOf):
        self.selection = selection
        self.rows: dict[Hashable, dict[Row, None]] = {}
        self.best: dict[Hashable, list[Row]] = {}

    def insert(self, row: Row) -> bool:
        """Take note of a row; return whether it is the best by some measure, now if not before."""
        group = self.selection.group(row)
        self.rows.setdefault(group, {})[row] = None
        best = self.best.get(group)
        if best is None:
            self.best[group] = [row] * len(self.selection.measures)
            return True
        for i, measure in enumerate(self.selection.measures):
            if measure(row) < measure(best[i]):
                best[i] = row
        return row in best

    def selected(self, row: Row) -> bool:
        """Whether the row is the best by some measure."""
        return row in self.best.get(self.selection.group(row), ())

    def remove(self, gone: Iterable[Row]) -> list[Row]:
        """Forget rows; return those that have become best in their place."""
        groups: dict[Hashable, None] = {}
        for row in gone:
            group = self.selection.group(row)
            if self.rows.get(group, {}).pop(row, 0) is None and row in self.best[group]:
                groups[group] = None
        new: dict[Row, None] = {}
        for group in groups:
            rows = self.rows[group]
            if not rows:
                del self.rows[group], self.best[group]
                continue
            best = self.best[group]
            before = list(best)
            for i, measure in enumerate(self.selection.measures):
                if best[i] not in rows:
                    best[i] = min(rows, key=measure)
            new.update(dict.fromkeys(row for row in best if row not in before))
        return list(new)
