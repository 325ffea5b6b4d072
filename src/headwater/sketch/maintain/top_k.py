"""τ: the first k rows by an order (section 5.8), from a bounded buffer.

Rows that are equal to the k-th by all sort keys are all among the first k here: which of them a backend takes is not
said by the query, so the sketch covers each of them. Rows that are skipped (OFFSET) belong to the first k too:
without them, others would be skipped. When the buffer has run dry it is filled anew from the input, and that is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.buffers import BoundedBuffer, order_key, settled_type
from headwater.sketch.maintain.columnwise import Columnwise, as_column
from headwater.sketch.maintain.fragment_sets import FragmentSets, Ints
from headwater.sketch.maintain.operator import Incremental, TableChanges

BATCH = 4096
"""How many rows enter a buffer before it lets go of those that it need not hold."""
ENTRY_BYTES = 400
"""About what a row in a buffer takes, without its fragments."""


@dataclass(frozen=True)
class SortColumn:
    """What rows are ordered by."""

    expression: Columnwise
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class BufferedRow:
    """A row in the buffer: what it is ordered by, values of the columns that are read above, and what it rests on."""

    order: tuple[Any, ...]
    values: tuple[Any, ...]
    fragments: tuple[int, ...]


class TopKDelta:
    """The operator: its input and the buffer."""

    def __init__(
        self,
        input: Incremental,
        order: Sequence[SortColumn],
        first: int,
        columns: Sequence[int],
        spare: int | None,
        name: str,
    ):
        self.inputs = (input,)
        self.order = tuple(order)
        self.first = first
        self.columns = tuple(columns)
        self.name = name
        self.buffer = BoundedBuffer(None if spare is None else first + spare)
        self._types: dict[int, pa.DataType | None] = {}
        """The types of columns, and by negative numbers those of what rows are ordered by."""

    @property
    def nbytes(self) -> int:
        held = self.buffer.items()
        return sum(ENTRY_BYTES + 8 * len(entry.fragments) for _, entry, _ in held)

    def change(self, changes: TableChanges) -> AnnotatedRows:
        rows = self.inputs[0].change(changes)
        if not len(rows):
            return AnnotatedRows.none()
        before = self._first()
        self._take(rows)
        if self.buffer.is_dry(self.first):
            changes.refilled.append(f"the buffer of {self.name}")
            self.buffer = BoundedBuffer(self.buffer.most)
            self._take(self.inputs[0].current(changes))
        after = self._first()
        gone, come = before - after, after - before
        return self._rows([(entry, -count) for entry, count in gone.items()] + list(come.items()))

    def current(self, changes: TableChanges) -> AnnotatedRows:
        return self._rows(self._first().items())

    def matching(
        self, changes: TableChanges, columns: Sequence[int], keys: Sequence[pa.Array]
    ) -> AnnotatedRows:
        return self.current(changes)

    def commit(self) -> None:
        self.inputs[0].commit()

    def _first(self) -> Counter[BufferedRow]:
        found: Counter[BufferedRow] = Counter()
        for _, entry, count in self.buffer.first(self.first):
            found[entry] += count
        return found

    def _take(self, rows: AnnotatedRows) -> None:
        if not len(rows):
            return
        order = self._order(rows)
        keys = [self._key(values) for values in order]
        wanted = np.array([place for place, key in enumerate(keys) if self.buffer.wants(key)], np.int64)
        for start in range(0, len(wanted), BATCH):
            self._enter(rows, wanted[start : start + BATCH], keys, order)

    def _enter(
        self, rows: AnnotatedRows, places: Ints, keys: Sequence[Any], order: Sequence[tuple[Any, ...]]
    ) -> None:
        """Enter rows; those that are far from the first are let go between batches, before their fragments are
        read."""
        places = np.array([place for place in places.tolist() if self.buffer.wants(keys[place])], np.int64)
        few = rows.take(places)
        for id in self.columns:
            self._types[id] = settled_type(self._types.get(id), few.columns[id].type)
        values = zip(*(few.columns[id].to_pylist() for id in self.columns), strict=True)
        sets = few.fragments.sets()
        members, ends = sets.members.tolist(), sets.offsets.tolist()
        entries = list(values) if self.columns else [()] * len(places)
        for place, (entry, count) in enumerate(zip(entries, few.counts.tolist(), strict=True)):
            fragments = tuple(sorted(members[ends[place] : ends[place + 1]]))
            at = int(places[place])
            self.buffer.change(keys[at], BufferedRow(order[at], entry, fragments), count)
        self.buffer.trim()

    def _order(self, rows: AnnotatedRows) -> list[tuple[Any, ...]]:
        columns = [as_column(each.expression(rows.columns), len(rows)) for each in self.order]
        for place, column in enumerate(columns):
            self._types[-1 - place] = settled_type(self._types.get(-1 - place), column.type)
        return (
            list(zip(*(column.to_pylist() for column in columns), strict=True))
            if columns
            else [()] * len(rows)
        )

    def _key(self, values: tuple[Any, ...]) -> Any:
        return tuple(
            order_key(value, descending=each.descending, nulls_first=each.nulls_first)
            for each, value in zip(self.order, values, strict=True)
        )

    def _rows(self, entries: Iterable[tuple[BufferedRow, int]]) -> AnnotatedRows:
        listed = list(entries)
        if not listed:
            return AnnotatedRows.none()
        columns: Mapping[int, pa.Array] = {
            id: pa.array([entry.values[place] for entry, _ in listed], self._types.get(id))
            for place, id in enumerate(self.columns)
        }
        counts = np.array([count for _, count in listed], np.int64)
        return AnnotatedRows(columns, counts, FragmentSets.of([entry.fragments for entry, _ in listed]))

    def save(self) -> Mapping[str, pa.Table]:
        held = [(entry, count) for _, entry, count in self.buffer.items()]
        limit = [] if self.buffer.limit is None else [(self.buffer.at_limit, 0)]
        listed = held + limit
        columns = {
            f"order {place}": pa.array(
                [entry.order[place] for entry, _ in listed], self._types.get(-1 - place)
            )
            for place in range(len(self.order))
        }
        for place, id in enumerate(self.columns):
            values = [entry.values[place] for entry, _ in listed]
            columns[f"value {place}"] = pa.array(values, self._types.get(id))
        columns["fragments"] = pa.array([entry.fragments for entry, _ in listed], pa.list_(pa.int64()))
        columns["count"] = pa.array([count for _, count in listed], pa.int64())
        return {"first": pa.table(columns)}

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        table = tables["first"]
        first = len(self.order)
        places = [-1 - place for place in range(first)] + list(self.columns)
        known = zip(places, table.schema.types, strict=False)
        self._types = {
            id: type for id, type in known if not pa.types.is_null(type)
        }  # of no rows, none is known
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            *cells, fragments, count = row
            entry = BufferedRow(tuple(cells[:first]), tuple(cells[first:]), tuple(fragments))
            if count:
                self.buffer.change(self._key(entry.order), entry, count)
            else:
                self.buffer.limit, self.buffer.at_limit = self._key(entry.order), entry
