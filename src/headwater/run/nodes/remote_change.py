"""What a version did to a relation that is on nodes: fetched when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headwater.maintain.base_changes import without
from headwater.maintain.row_change import RowChange
from headwater.plan.steps import Ints
from headwater.run.nodes.wire import unpack
from headwater.values.codec import Codec
from headwater.values.types import Type

Tables = Mapping[str, Any]


class RemoteChange(RowChange):
    """The parts of all nodes: how many rows is known at once, and the rows where they are few."""

    def __init__(
        self, name: str, codec: Codec, types: Sequence[Type | None], fetch: Callable[[str], list[Tables]]
    ):
        self._name, self._codec, self._types = name, codec, types
        self._fetch: Callable[[str], list[Tables]] | None = fetch
        self._tables: list[Tables] = []
        self._complete = True
        self._counts = (0, 0)

    def add(self, gained: int, lost: int, tables: Tables) -> None:
        """Add what one node says."""
        self._counts = self._counts[0] + gained, self._counts[1] + lost
        if f"gained/{self._name}" in tables:
            self._tables.append(tables)
        else:
            self._complete = False

    def resolve(self) -> None:
        """Have the rows now."""
        if self._fetch is None:
            return
        tables = self._tables if self._complete else self._fetch(self._name)
        self._fetch, self._tables = None, []
        self._gained, self._lost = self._rows(tables, "gained"), self._rows(tables, "lost")

    def _rows(self, tables: list[Tables], kind: str) -> Ints:
        key = f"{kind}/{self._name}"
        parts = [unpack(self._codec, t[key], self._types) for t in tables if key in t]
        return np.concatenate([np.empty((0, len(self._types)), np.int64), *parts])

    def cancel(self) -> None:
        """Leave out rows that one node lost and another gained: they have only moved."""
        if all(self._counts):
            gained, lost = self.gained, self.lost
            self._gained, self._lost = without(gained, lost), without(lost, gained)
            self._counts = self._gained.shape[0], self._lost.shape[0]

    @property
    def counts(self) -> tuple[int, int]:
        """How many rows were gained and lost: known without having them."""
        return self._counts
