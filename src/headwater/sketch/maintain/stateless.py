"""Selection, projection and union: each row of a delta by itself, its fragments as they are (sections 5.3, 5.4 and 5.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from headwater.sketch.maintain.annotated import AnnotatedRows, together
from headwater.sketch.maintain.columnwise import Columnwise, as_column, holds
from headwater.sketch.maintain.operator import Incremental, Stateless, TableChanges


class Selection(Stateless):
    """σ: rows for which the condition is true."""

    def __init__(self, input: Incremental, condition: Columnwise):
        super().__init__(input)
        self.condition = condition

    def change(self, changes: TableChanges) -> AnnotatedRows:
        rows = self.inputs[0].change(changes)
        return selected(rows, self.condition)


class Projection(Stateless):
    """Π: columns computed from each row."""

    def __init__(self, input: Incremental, columns: Mapping[int, Columnwise]):
        super().__init__(input)
        self.columns = columns

    def change(self, changes: TableChanges) -> AnnotatedRows:
        rows = self.inputs[0].change(changes)
        return projected(rows, self.columns)


class Union(Stateless):
    """∪: the rows of all inputs; `names` says for each input which of its columns is which of ours."""

    def __init__(self, inputs: Sequence[Incremental], names: Sequence[Mapping[int, int]]):
        super().__init__(*inputs)
        self.names = names

    def change(self, changes: TableChanges) -> AnnotatedRows:
        parts = []
        for input, names in zip(self.inputs, self.names, strict=True):
            rows = input.change(changes)
            if len(rows):
                parts.append(rows.with_columns({ours: rows.columns[theirs] for ours, theirs in names.items()}))
        return together(parts)


def selected(rows: AnnotatedRows, condition: Columnwise) -> AnnotatedRows:
    """The rows for which a condition is true."""
    return rows.where(holds(condition(rows.columns), len(rows))) if len(rows) else rows


def projected(rows: AnnotatedRows, columns: Mapping[int, Columnwise]) -> AnnotatedRows:
    """Rows with other columns."""
    if not len(rows):
        return rows
    made: dict[int, pa.Array] = {id: as_column(column(rows.columns), len(rows)) for id, column in columns.items()}
    return rows.with_columns(made)
