"""Which rows of a relation with selections (`min`, `max`) are the best of their groups."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.errors import RuleError
from headwater.kernel import best
from headwater.kernel.relation import Relation
from headwater.maintain.workspace import NO_ROWS, Rows, Workspace
from headwater.rules.checked import RelationInfo
from headwater.values.ordering import order_keys
from headwater.values.scalars import is_coded
from headwater.values.types import FLOAT, STRING, Type

FEWEST_WORTH_ORDERING = 256
FEW_OF_RELATION = 64
"""One row in so many of a relation, or fewer, are a few."""
OFTEN = 16
"""A row that is displaced as often as this in one version is suspected to come back because it was displaced."""


class Chooser:
    """Chooses best rows in one relation. All its selections share the same group columns."""

    def __init__(self, workspace: Workspace, info: RelationInfo):
        groups = {selection.group for selection in info.selections}
        if len(groups) != 1:
            raise RuleError("unsupported", f"the selections of {info.name} have different groups")
        self.workspace = workspace
        self.name = info.name
        self.group = info.layout.codes(groups.pop())
        self.ordered: Type | None = None
        criteria = []
        for selection in info.selections:
            type_ = info.types[selection.value]
            kind = best.INTEGER
            if type_ == FLOAT:
                kind = best.FLOAT
            elif type_ is not None and is_coded(type_):
                kind = best.ORDERED
                if self.ordered not in (None, type_):
                    raise RuleError("unsupported", f"{info.name} selects by strings and by lists")
                self.ordered = type_
            criteria.append((info.layout.code(selection.value), kind, int(selection.best == "max")))
        self.criteria = np.array(criteria, np.int64)
        value = info.selections[0].value
        self.single = len(criteria) == 1 and len(self.group) + 1 == info.layout.code_arity
        self.single = self.single and not (info.labelled and info.labelled[value])
        """Whether a group can have only one best row: it is the group and the value, and no more. Of nulls, none is
        better than another."""
        self.touched = 0
        self.largest = 0
        self.ordered_values = 0
        self._places: npt.NDArray[np.int64] = np.empty(0, np.int64)

    @property
    def relation(self) -> Relation:
        """The relation as it is now."""
        return self.workspace.relations[self.name]

    def _order(self) -> npt.NDArray[np.int64]:
        if self.ordered is None:
            return np.empty(0, np.int64)
        dictionary = self.workspace.codec.strings if self.ordered == STRING else self.workspace.codec.lists
        if len(dictionary) != self._places.shape[0]:
            everything = np.arange(len(dictionary), dtype=np.int64)
            self._places = order_keys([everything], self.ordered, self.workspace.codec)[0]
            self.ordered_values += len(dictionary)
        return self._places

    def choose(self, affected: Rows) -> tuple[Rows, Rows]:
        """In the groups of the affected rows: best rows not visible yet, and visible rows no longer best."""
        if affected.shape[0] == 0:
            return NO_ROWS, NO_ROWS
        relation = self.relation
        index = relation.chains(self.group)
        order, special = self._order(), self.workspace.codec.specials.keys()
        scratch = np.empty(self.criteria.shape[0], np.int64)
        firsts = np.empty(affected.shape[0], np.int32)
        counts = np.zeros(4, np.int64)
        room = affected.shape[0] + 16
        while True:
            wanted, displaced = np.empty(room, np.int32), np.empty(room, np.int32)
            best.choose(
                affected, index.columns, index.slots, index.next, relation.rows, relation.state, self.criteria,
                order, special, scratch, wanted, displaced, firsts, counts, self._beating(affected.shape[0]),
            )  # fmt: skip
            self.touched += int(counts[3])
            self.largest = max(self.largest, int(counts[3] - affected.shape[0]))
            if max(counts[0], counts[1]) <= room:
                return wanted[: counts[0]], displaced[: counts[1]]
            room = int(max(counts[0], counts[1]))

    def _beating(self, rows: int) -> npt.NDArray[np.int64]:
        """Room to find the best of the affected rows of each group, where a group can have only one best."""
        return np.full((1 << (2 * rows).bit_length() if self.single else 0, 2), -1, np.int64)

    def wait(self, rows: Rows) -> None:
        """Take note that these rows are the best of their groups, though they cannot be shown yet."""
        if self.single and rows.shape[0]:
            self.relation.chains(self.group).to_front(self.relation, rows)
            self.relation.lead(rows)

    def shown(self, rows: Rows) -> None:
        """Take note that rows have become visible: they lead their groups."""
        self.relation.chains(self.group).to_front(self.relation, rows)

    def cheapest(self, wanted: Rows) -> tuple[Rows, Rows]:
        """Split best rows into those to propagate now and those that wait for better news.

        Propagating the better half first is a compromise between Dijkstra's order (nothing is ever taken back,
        but a round per value) and all at once (few rounds, but much is taken back). It only affects cost, and
        for a few rows the rounds are what costs.
        """
        if wanted.shape[0] < FEWEST_WORTH_ORDERING:
            return wanted, NO_ROWS
        values = np.empty(wanted.shape[0], np.int64)
        column, kind, largest = self.criteria[0]
        special = self.workspace.codec.specials.keys()
        best.values_of(wanted, self.relation.rows, column, kind, largest, self._order(), special, values)
        middle = np.partition(values, values.shape[0] // 2)[values.shape[0] // 2]
        now = values <= middle
        return wanted[now], wanted[~now]


class Unsettled(Exception):
    """A best row comes back each time that it is displaced: what displaces it rests on it."""


class Displacements:
    """How often each row was displaced in the open version.

    A row that is displaced comes back as the best only if what displaced it has died. That may happen a few times
    while news spreads. Where a row's own consequence displaces it, it happens for ever.

    Many rows at once are counted in an array over the relation, a few by themselves: that must not cost what a
    relation takes. (A row that is counted in both ways is only found out somewhat later.)
    """

    def __init__(self) -> None:
        self._times: dict[str, npt.NDArray[np.uint8]] = {}
        self._few: dict[tuple[str, int], int] = {}

    def repeated(self, relation: Relation, displaced: Rows) -> bool:
        """Count these rows, and say whether one of them has been displaced too often."""
        if displaced.shape[0] == 0:
            return False
        if displaced.shape[0] * FEW_OF_RELATION < relation.state.shape[0]:
            return self._repeated_by_itself(relation.name, displaced)
        times = self._times.get(relation.name, np.empty(0, np.uint8))
        if times.shape[0] < relation.state.shape[0]:
            more = np.zeros(relation.state.shape[0], np.uint8)
            more[: times.shape[0]] = times
            times = self._times[relation.name] = more
        times[displaced] += 1
        return bool(times[displaced].max() >= OFTEN)

    def _repeated_by_itself(self, name: str, displaced: Rows) -> bool:
        most, times = 0, self._few
        for row in displaced.tolist():
            times[name, row] = now = times.get((name, row), 0) + 1
            most = max(most, now)
        return most >= OFTEN
