"""The selections of a node: which best rows pass on inside their recursions, at once or once in a period.

With a period (periodic aggregate selections, loo-2006 section 5.1.1), best rows wait until it is over: better ones
may come meanwhile. It begins with the first row that has to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headwater.networks.runtime.best_rows import BestRows
from headwater.networks.runtime.given_rows import SAME_TIME
from headwater.networks.runtime.passing_on import Selector
from headwater.networks.runtime.row_table import Row, RowTable
from headwater.networks.strands.network_program import Best, PassingOn
from headwater.networks.strands.node_plan import NodePlan

if TYPE_CHECKING:
    from headwater.networks.annotated.scheme import Scheme

Arrive = Callable[[int, Row, Any], None]
"""Has a row stored in a relation, with what it carries."""


class Selections:
    """The best rows of a node's tables, and those of them that pass on."""

    def __init__(self, plan: NodePlan, tables: Sequence[RowTable]):
        self.period = 0.0
        """Seconds for which best rows wait before they pass on."""
        self.ends: float | None = None
        """When the period is over, if one has begun."""
        self._plan = plan
        self._tables = tables
        self._best: dict[str, BestRows] = {}
        self._selectors = [
            Selector(plan, tables, passing, self.best_rows(passing)) for passing in plan.program.passing
        ]
        self._selecting = {selector.candidates: selector for selector in self._selectors}

    def best_rows(self, spec: Best | PassingOn) -> BestRows:
        """The best of some candidates, kept up from the first time that somebody asks."""
        found = self._best.get(spec.candidates)
        if found is None:
            table = self._tables[self._plan.numbers[spec.candidates]]
            found = self._best[spec.candidates] = BestRows(spec.selections)
            for row in table.rows:
                found.appeared(row)
            table.watchers.append(found)
        return found

    def more(self, relation: int, row: Row) -> None:
        """A row has come, or has more to rest on."""
        selector = self._selecting.get(relation)
        if selector is not None:
            selector.more(row)

    def falls(self, relation: int, row: Row, rank: int, teller: int) -> None:
        """A row is about to go: this teller was the last to support it."""
        selector = self._selecting.get(relation)
        if selector is not None:
            selector.falls(row, rank, teller)

    def release(self) -> None:
        """All nodes are at rest: what waited for that may pass on."""
        for selector in self._selectors:
            selector.release()

    def begin_period(self, scheme: Scheme, now: float) -> bool:
        """Whether a period begins now, for rows that have to wait."""
        if self.ends is not None or not scheme.passes_on:
            return False
        if any(selector.waiting() for selector in self._selectors):
            self.ends = now + self.period
        return self.ends is not None

    def over(self, now: float) -> bool:
        """Whether a period is over; then there is none."""
        if self.ends is None or now < self.ends - SAME_TIME:
            return False
        self.ends = None
        return True

    def pass_on(self, scheme: Scheme, arrive: Arrive) -> bool:
        """Pass best rows on inside their recursion; whether there were any."""
        passed = False
        for selector in self._selectors:
            if scheme.passes_on and selector.waiting():
                rows = self._tables[selector.candidates].rows
                for row in selector.take(lambda row, fallen: scheme.replaces(rows[row], fallen)):  # noqa: B023
                    arrive(selector.relation, row, scheme.passed(rows[row]))
                    passed = True
                scheme.beaten(selector.relation, selector.beaten())
        return passed
