"""What happens to the views of a node, from one time of asking to the next.

Each view's table is watched. A row that comes and goes in between is no change; cost and memory follow what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.networks.runtime.best_rows import BestFollower, BestRows
from headwater.networks.runtime.node import NetworkNode
from headwater.networks.runtime.row_table import Row
from headwater.networks.strands.network_program import Best

Changed = tuple[list[Row], list[Row]]
"""Rows that have come, and rows that have gone."""


class _Stored:
    """A view whose rows are those of a table."""

    def __init__(self) -> None:
        self._signs: dict[Row, bool] = {}

    def appeared(self, row: Row) -> None:
        if self._signs.pop(row, True):
            self._signs[row] = True

    def vanished(self, row: Row) -> None:
        if not self._signs.pop(row, False):
            self._signs[row] = False

    def take(self) -> Changed:
        signs, self._signs = self._signs, {}
        return [row for row, came in signs.items() if came], [row for row, came in signs.items() if not came]


class _Selected:
    """A view whose rows are the best of a table's."""

    def __init__(self, rows: BestRows):
        self._best = BestFollower(rows)

    def take(self) -> Changed:
        went, came = self._best.difference()
        return came, went


class ViewChanges:
    """Watches views of a node that holds nothing yet."""

    def __init__(self, node: NetworkNode, views: Iterable[str]):
        self._views: dict[str, _Stored | _Selected] = {}
        for name in views:
            view = node.plan.program.views[name]
            if isinstance(view, Best):
                self._views[name] = _Selected(node.selections.best_rows(view))
            else:
                stored = _Stored()
                node.tables[node.plan.numbers[view]].watchers.append(stored)
                self._views[name] = stored

    def take(self) -> Mapping[str, Changed]:
        """What has changed since this was last asked, by view."""
        found = {name: view.take() for name, view in self._views.items()}
        return {name: changed for name, changed in found.items() if any(changed)}
