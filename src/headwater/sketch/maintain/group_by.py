"""γ and δ: for each group that a version touches, the row that it had is gone and the row that it has now has come.

Each carries the fragments of its group, before and after. DISTINCT is a group-by on all columns without aggregates. A
min or max whose buffer has run dry is filled anew from the input, for the groups that need it: that costs a look at
all of them in the backend, and is told (`TableChanges.refilled`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.block_delta import BlockDelta
from headwater.sketch.maintain.first_load import can_be_summed_up, load_groups
from headwater.sketch.maintain.groups import Groups, Touched
from headwater.sketch.maintain.operator import Incremental, TableChanges

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.sketch.maintain.fragment_sets import Ints


class GroupByDelta:
    """The operator: its input and its groups."""

    def __init__(self, input: Incremental, groups: Groups):
        self.inputs = (input,)
        self.groups = groups

    @property
    def nbytes(self) -> int:
        return self.groups.nbytes

    def change(self, changes: TableChanges) -> AnnotatedRows:
        block = self.inputs[0]
        if changes.is_first and can_be_summed_up(block, self.groups):
            assert isinstance(block, BlockDelta)
            return load_groups(block, self.groups, changes)
        rows = self.inputs[0].change(changes)
        if not len(rows) and (self.groups.keys or self.groups.begun):
            return AnnotatedRows.none()
        touched = self.groups.begin(rows)
        dry = self.groups.dry(touched)
        if dry:
            self._refill(changes, touched, dry)
        return self.groups.finish(touched)

    def current(self, changes: TableChanges) -> AnnotatedRows:
        return self.groups.rows(self.groups.live())

    def matching(
        self, changes: TableChanges, columns: Sequence[int], keys: Sequence[pa.Array]
    ) -> AnnotatedRows:
        found = self.groups.find(columns, keys)
        return self.current(changes) if found is None else self.groups.rows(found)

    def commit(self) -> None:
        self.inputs[0].commit()
        self.groups.commit()

    def save(self) -> Mapping[str, pa.Table]:
        return self.groups.save()

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        self.groups.load(tables)

    def _refill(self, changes: TableChanges, touched: Touched, dry: Mapping[int, Ints]) -> None:
        groups = sum(len(np.unique(each)) for each in dry.values())
        changes.refilled.append(f"{groups} of {len(self.groups.groups):,} buffers of {self.groups.name}")
        self.groups.refill(dry, self.inputs[0].current(changes))
