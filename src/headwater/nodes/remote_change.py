"""What a version did to a relation that is on nodes: fetched when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from headwater.nodes.messages.message import PackedRows
from headwater.nodes.messages.versions import ChangeCount, ChangedRows
from headwater.nodes.row_tables import unpack
from headwater.plan.steps import Ints
from headwater.values.codec import Codec
from headwater.values.types import Type
from headwater.version.row_change import RowChange, without

Parts = Sequence[ChangedRows]


class RemoteChange(RowChange):
    """The parts of all nodes: how many rows is known at once, and the rows where they are few."""

    def __init__(self, name: str, codec: Codec, types: Sequence[Type | None], fetch: Callable[[str], Parts]):
        self._name, self._codec, self._types = name, codec, types
        self._fetch: Callable[[str], Parts] | None = fetch
        self._parts: list[ChangedRows] = []
        self._complete = True
        self._counts = (0, 0)

    def add(self, part: ChangeCount) -> None:
        """Add what one node says."""
        self._counts = self._counts[0] + part.gained, self._counts[1] + part.lost
        if part.rows is not None:
            self._parts.append(part.rows)
        else:
            self._complete = False

    @property
    def resolved(self) -> bool:
        return self._fetch is None

    def resolve(self) -> None:
        if self._fetch is None:
            return
        parts = self._parts if self._complete else self._fetch(self._name)
        self._fetch, self._parts = None, []
        self._gained = self._rows([part.gained for part in parts])
        self._lost = self._rows([part.lost for part in parts])

    def _rows(self, packed: Sequence[PackedRows]) -> Ints:
        parts = [unpack(self._codec, rows, self._types) for rows in packed]
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
