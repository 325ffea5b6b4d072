"""AggSel inside a recursion (liu-2008 section 6, algorithm 4): of all candidates, only best rows go on.

All candidates are kept where they live. One that is best passes on to the table that rules of the recursion read,
with all that it rests on; when it is best again after it was beaten, again with all.

A row that is beaten leaves that table under absorption: nothing is joined with it any more, and the table holds the
best rows and no others. Ranked support keeps it, to know what rests on it, and joins it with nothing. Other schemes
count what followed from it, and leave it there.

What was shipped of its consequences stays where it lives, a *candidate* among others: it is true, and worse than what
follows from the row that beat it, as long as rules are monotone. It goes with the base rows that it rests on. The
paper takes it back. That never ends where values improve themselves around a cycle (`s(Y, max<C>) :- s(X, B), w(X, Y,
D), C = min(B + D, 9).`, with a link from 0 to itself): the better row follows from the one it beats, would go with
it, and come back, for ever. Nor is it needed for the rows to be right. A candidate carries terms of base rows and
never stands on a beaten row; and if the row that beat one goes, the next best passes on with all that it rests on,
and all that follows from it is derived again.

So what beaten rows take is bounded: at most a candidate for each row that was best for a while and each instance of a
rule that it was joined in while it was, for as long as the base rows of some term are there. Rules outside of the
recursion read published rows, which do go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from headwater.networks.runtime.best_rows import BestRows
from headwater.networks.runtime.row_table import Row, RowTable
from headwater.networks.strands.network_program import PassingOn
from headwater.networks.strands.node_plan import NodePlan


class FallenBest(NamedTuple):
    """What has fallen in a group: the least rank, and who told it, if one node told all of it."""

    rank: int
    teller: int | None


class Selector:
    """The best rows of one relation that have passed on."""

    def __init__(self, plan: NodePlan, tables: Sequence[RowTable], passing: PassingOn, best: BestRows):
        self.candidates = plan.numbers[passing.candidates]
        self.relation = plan.numbers[passing.relation]
        self._rows = best
        self._changed = best.follow()
        self._passed: dict[Any, set[Row]] = {}
        self._news: dict[Row, None] = {}
        self._beaten: set[Row] = set()
        self._fallen: dict[Any, FallenBest] = {}
        """By group in which a row has fallen that had passed on: what may take its place already."""
        self._held: dict[Any, None] = {}
        tables[self.candidates].watchers.append(self)

    def appeared(self, row: Row) -> None:
        pass

    def vanished(self, row: Row) -> None:
        """A candidate is gone, and what it passed on with it: if it comes again, it passes on again."""
        passed = self._passed.get(self._rows.group(row))
        if passed is not None:
            passed.discard(row)

    def more(self, row: Row) -> None:
        """A candidate that was there already has come with more to rest on."""
        if row in self._passed.get(self._rows.group(row), ()):
            self._news[row] = None

    def falls(self, row: Row, rank: int, teller: int) -> None:
        """A candidate of some rank is about to go: this teller was the last to support it."""
        group = self._rows.group(row)
        if row in self._passed.get(group, ()):
            before = self._fallen.get(group)
            if before is None:
                self._fallen[group] = FallenBest(rank, teller)
            else:
                self._fallen[group] = FallenBest(
                    min(rank, before.rank), teller if teller == before.teller else None
                )

    def release(self) -> None:
        """All that rested on fallen rows has fallen: whatever is best now passes on."""
        self._fallen.clear()
        self._changed.update(self._held)
        self._held.clear()

    def waiting(self) -> bool:
        """Whether there may be rows to pass on."""
        return bool(self._changed or self._news)

    def take(self, replaces: Callable[[Row, FallenBest], bool]) -> Iterator[Row]:
        """The rows that pass on now: newly best, or best with news."""
        news, self._news = self._news, {}
        changed = list(self._changed)
        self._changed.clear()
        for group in changed:
            before, now = self._passed.get(group, set()), set(self._rows.best(group))
            fallen = self._fallen.get(group)
            if fallen is not None and not all(replaces(row, fallen) for row in now - before):
                self._held[group] = None
                continue
            if now:
                self._passed[group] = now
            else:
                self._passed.pop(group, None)
            self._beaten |= before - now
            new = now - before
            yield from sorted(new, key=repr) if len(new) > 1 else new
        for row in news:
            if row in self._passed.get(self._rows.group(row), ()):
                yield row

    def beaten(self) -> set[Row]:
        """The rows that have passed on and were found to be beaten since the last time."""
        beaten, self._beaten = self._beaten, set()
        return beaten
