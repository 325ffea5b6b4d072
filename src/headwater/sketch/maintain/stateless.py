"""Selection, projection and union: each row of a delta by itself, its fragments as they are (sections 5.3, 5.4 and
5.9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from headwater.sketch.maintain.annotated import AnnotatedRows, together
from headwater.sketch.maintain.columnwise import Columnwise, as_column, holds
from headwater.sketch.maintain.operator import Incremental, Stateless, TableChanges


class SelectionDelta(Stateless):
    """σ: rows for which the condition is true."""

    def __init__(self, input: Incremental, condition: Columnwise):
        super().__init__(input)
        self.condition = condition

    def change(self, changes: TableChanges) -> AnnotatedRows:
        return selected(self.inputs[0].change(changes), self.condition)

    def current(self, changes: TableChanges) -> AnnotatedRows:
        return selected(self.inputs[0].current(changes), self.condition)

    def matching(
        self, changes: TableChanges, columns: Sequence[int], keys: Sequence[pa.Array]
    ) -> AnnotatedRows:
        return selected(self.inputs[0].matching(changes, columns, keys), self.condition)


class ProjectionDelta(Stateless):
    """Π: columns computed from each row."""

    def __init__(self, input: Incremental, columns: Mapping[int, Columnwise], passed: Mapping[int, int]):
        super().__init__(input)
        self.columns = columns
        self.passed = passed
        """Which columns are only passed on, and what they are in the input."""

    def change(self, changes: TableChanges) -> AnnotatedRows:
        return projected(self.inputs[0].change(changes), self.columns)

    def current(self, changes: TableChanges) -> AnnotatedRows:
        return projected(self.inputs[0].current(changes), self.columns)

    def matching(
        self, changes: TableChanges, columns: Sequence[int], keys: Sequence[pa.Array]
    ) -> AnnotatedRows:
        if any(column not in self.passed for column in columns):
            return self.current(changes)
        below = [self.passed[column] for column in columns]
        return projected(self.inputs[0].matching(changes, below, keys), self.columns)


class UnionDelta(Stateless):
    """∪: the rows of all inputs; `names` says for each input which of its columns is which of ours."""

    def __init__(self, inputs: Sequence[Incremental], names: Sequence[Mapping[int, int]]):
        super().__init__(*inputs)
        self.names = names

    def change(self, changes: TableChanges) -> AnnotatedRows:
        return self._together(each.change(changes) for each in self.inputs)

    def current(self, changes: TableChanges) -> AnnotatedRows:
        return self._together(each.current(changes) for each in self.inputs)

    def matching(
        self, changes: TableChanges, columns: Sequence[int], keys: Sequence[pa.Array]
    ) -> AnnotatedRows:
        return self._together(
            input.matching(changes, [names[column] for column in columns], keys)
            for input, names in zip(self.inputs, self.names, strict=True)
        )

    def _together(self, parts: Iterable[AnnotatedRows]) -> AnnotatedRows:
        named = zip(parts, self.names, strict=True)
        return together(
            [
                rows.with_columns({ours: rows.columns[theirs] for ours, theirs in names.items()})
                for rows, names in named
                if len(rows)
            ]
        )


def selected(rows: AnnotatedRows, condition: Columnwise) -> AnnotatedRows:
    """The rows for which a condition is true."""
    return rows.where(holds(condition(rows.columns), len(rows))) if len(rows) else rows


def projected(rows: AnnotatedRows, columns: Mapping[int, Columnwise]) -> AnnotatedRows:
    """Rows with other columns."""
    if not len(rows) or not (columns or rows.columns):
        return rows
    made: dict[int, pa.Array] = {
        id: as_column(column(rows.columns), len(rows)) for id, column in columns.items()
    }
    return rows.with_columns(made)
