"""The best rows of groups, while candidates come and go.

A row is best if none of its group has a better value, by any one of the selections (liu-2008 section 6: AggSel, for
several measures at once). A null is worse than any value. Losing the last best row of a group costs a look at the
whole group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from headwater.networks.runtime.row_table import Row
from headwater.rules.checked import Selection
from headwater.values.keys import order_key
from headwater.values.special import LabelledNull


class _Leaders:
    """The best rows of one group by one selection, and their value."""

    __slots__ = ("measure", "rows")

    def __init__(self) -> None:
        self.measure: Any = None
        self.rows: tuple[Row, ...] = ()


class BestRows:
    """Watches a table of candidates, for any number of followers."""

    def __init__(self, selections: Sequence[Selection]):
        columns = selections[0].group
        self.group: Callable[[Row], Any] = itemgetter(*columns) if columns else lambda row: ()
        self._measures = [_measure(selection) for selection in selections]
        self._largest = [selection.best == "max" for selection in selections]
        self._members: dict[Any, dict[Row, None]] = {}
        self._leaders: dict[Any, list[_Leaders]] = {}
        self._followers: list[dict[Any, None]] = []

    def follow(self) -> dict[Any, None]:
        """The groups in which something has come or gone, from now on: for the follower to take out."""
        changed: dict[Any, None] = {}
        self._followers.append(changed)
        return changed

    def appeared(self, row: Row) -> None:
        group = self.group(row)
        self._members.setdefault(group, {})[row] = None
        leaders = self._leaders.get(group)
        if leaders is None:
            leaders = self._leaders[group] = [_Leaders() for _ in self._measures]
        for number, leader in enumerate(leaders):
            self._consider(number, leader, row)
        for changed in self._followers:
            changed[group] = None

    def vanished(self, row: Row) -> None:
        group = self.group(row)
        members = self._members[group]
        del members[row]
        for changed in self._followers:
            changed[group] = None
        if not members:
            del self._members[group], self._leaders[group]
            return
        for number, leader in enumerate(self._leaders[group]):
            if row in leader.rows:
                leader.rows = tuple(other for other in leader.rows if other != row)
                if not leader.rows:
                    for other in members:
                        self._consider(number, leader, other)

    def _consider(self, number: int, leader: _Leaders, row: Row) -> None:
        measure = self._measures[number](row)
        if not leader.rows or self._better(number, measure, leader.measure):
            leader.measure = measure
            leader.rows = (row,)
        elif measure == leader.measure:
            leader.rows = (*leader.rows, row)

    def _better(self, number: int, one: Any, other: Any) -> bool:
        if one[0] != other[0]:
            return bool(one[0] < other[0])
        return bool(one > other if self._largest[number] else one < other)

    def best(self, group: Any) -> tuple[Row, ...]:
        """The best rows of a group, each once."""
        leaders = self._leaders.get(group)
        if leaders is None:
            return ()
        if len(leaders) == 1:
            return leaders[0].rows
        return tuple(dict.fromkeys(row for leader in leaders for row in leader.rows))

    def rows(self) -> Iterable[Row]:
        """The best rows of all groups."""
        return (row for group in self._members for row in self.best(group))


class BestFollower:
    """What has changed among the best rows since it was last asked."""

    def __init__(self, best: BestRows):
        self._rows = best
        self._changed = best.follow()
        self._said: dict[Any, tuple[Row, ...]] = {}

    def touched(self) -> bool:
        """Whether there may be a difference."""
        return bool(self._changed)

    def difference(self) -> tuple[list[Row], list[Row]]:
        """Rows that are best no more, and rows that are new."""
        gone: list[Row] = []
        new: list[Row] = []
        for group in self._changed:
            before, now = self._said.get(group, ()), self._rows.best(group)
            gone += [row for row in before if row not in now]
            new += [row for row in now if row not in before]
            if now:
                self._said[group] = now
            else:
                self._said.pop(group, None)
        self._changed.clear()
        return gone, new


def _measure(selection: Selection) -> Callable[[Row], Any]:
    """The value that is compared: nulls last, whichever is best."""
    column = selection.value

    def measure(row: Row) -> Any:
        value = row[column]
        if type(value) is int:
            return 0, ("number", 0, value)
        if value is None or isinstance(value, LabelledNull):
            return 1, ()
        return 0, order_key(value)

    return measure
