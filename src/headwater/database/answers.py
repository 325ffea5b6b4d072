"""Answers to a question: rows with the goal's variables as columns, as they were when it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.calls import public_class
from headwater.database.frames import as_pandas, as_polars
from headwater.errors import DataError
from headwater.local.explain import Explanation
from headwater.maintain.goals import GoalStatistics
from headwater.notebook import MOST_ROWS, paragraph, rows_table
from headwater.plan.goals import GoalProgram
from headwater.plan.steps import Ints
from headwater.values import arguments
from headwater.values.codec import Codec
from headwater.values.layout import Layout
from headwater.values.ordering import order_keys
from headwater.values.scalars import show
from headwater.values.types import INT, Type

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame


@public_class
@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    """The rows that a question found. They stay as they are, whatever happens to the database.

    A goal without variables has one row without columns if it holds, and none if it does not: `bool` tells.
    """

    layout: Layout
    codec: Codec
    matrix: Ints
    program: GoalProgram | None = None
    """What was evaluated; `None` where rows were only read."""
    statistics: GoalStatistics = field(default_factory=GoalStatistics)
    spark_session: Any = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The variables of the goal, or the relation's columns."""
        return self.layout.columns

    @property
    def types(self) -> tuple[Type | None, ...]:
        """The types of the columns; `None` where nothing tells."""
        return self.layout.types

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows())

    def __contains__(self, row: object) -> bool:
        """Whether the row is among them, NaN and nulls being equal to themselves. Nothing else than a tuple is."""
        if not isinstance(row, tuple) or len(row) != self.layout.arity:
            return False
        if not row:
            return bool(self)
        try:
            codes, _ = self.layout.find(self.codec, [row], "answers", asked=True)
        except DataError:
            return False
        return bool((self.matrix == codes).all(axis=1).any()) if len(codes) else False

    def count(self) -> int:
        """How many rows there are."""
        return len(self)

    # ------------------------------------------------------------------ some of them

    def head(self, rows: int = 10) -> Answers:
        """The first rows, ten if nothing else is said."""
        arguments.whole_number("head(rows)", rows, least=0)
        return replace(self, matrix=self.matrix[:rows])

    def order_by(self, *columns: str, descending: bool = False) -> Answers:
        """The same rows in the order of these columns (of all, if none is given), from the first to the last.

        Nulls come last, also in descending order.
        """
        arguments.flag("descending", descending)
        places = [self._column(name) for name in columns] or list(range(self.layout.arity))
        if not places or not len(self):
            return self
        keys = [self._keys(place, descending) for place in places]
        return replace(self, matrix=self.matrix[np.lexsort(keys[::-1])])

    def _column(self, name: str) -> int:
        if not isinstance(name, str) or name not in self.columns:
            raise DataError(
                "unknown-column",
                f"there is no column {show(name)}",
                hint=f"there are: {', '.join(self.columns) or 'none'}",
            )
        return self.columns.index(name)

    def _keys(self, place: int, descending: bool) -> Ints:
        """Numbers in the order of a column's values. Nulls come last in either direction."""
        codes = np.ascontiguousarray(self.matrix[:, self.layout.code(place)])
        (keys,) = order_keys([codes], self.types[place] or INT, self.codec)
        return np.where(self.codec.specials.nulls(codes), keys, ~keys) if descending else keys

    # ------------------------------------------------------------------ in other forms

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows as Python tuples."""
        if not self.columns:
            return [()] * len(self)
        return self.layout.decode(self.codec, self.matrix)

    def arrow(self, *, labels: bool = False) -> pa.Table:
        """All rows as an Arrow table. Labelled nulls are NULL; `labels` adds a column `x?` with their texts for each
        column `x` that can hold one."""
        arguments.flag("labels", labels)
        return self.layout.table(self.codec, self.matrix, labels=labels)

    def pandas(self, *, labels: bool = False) -> pd.DataFrame:
        """All rows as a pandas DataFrame; `labels` as for `arrow`."""
        return as_pandas(partial(self.arrow, labels=labels))

    def polars(self, *, labels: bool = False) -> pl.DataFrame:
        """All rows as a polars DataFrame; `labels` as for `arrow`."""
        return as_polars(partial(self.arrow, labels=labels))

    def spark(self, *, labels: bool = False) -> DataFrame:
        """All rows as a Spark DataFrame, in the database's session (`spark=` of `connect`) or the running one;
        `labels` as for `arrow`."""
        from headwater.spark.frames import frame_of
        from headwater.spark.session import spark_session

        return frame_of(self.spark_session or spark_session(), self.arrow(labels=labels))

    # ------------------------------------------------------------------ in words

    def explain(self) -> Explanation:
        """What was evaluated for these answers: patterns of calls, the rewritten rules, what was looked at."""
        lines = [] if self.program is None else self.program.lines()
        return Explanation((*lines, *self.statistics.lines()))

    def __repr__(self) -> str:
        if not self.columns:
            return f"<answer: {'yes' if self else 'no'}>"
        shape = ", ".join(f"{c}: {t or '?'}" for c, t in zip(self.columns, self.types, strict=True))
        return f"<answers({shape}), {len(self):,} rows>"

    def _repr_html_(self) -> str:
        if not self.columns:
            return paragraph("yes" if self else "no")
        shown = self.head(MOST_ROWS).rows()
        return rows_table(self.columns, self.types, shown, len(self))
