"""Reading a relation of a database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from headwater.calls import public_class
from headwater.database.answers import Answers
from headwater.database.frames import as_pandas, as_polars
from headwater.database.questions import Questions
from headwater.errors import DataError
from headwater.kernel.states import VISIBLE
from headwater.local.runner import Runner
from headwater.notebook import MOST_ROWS, rows_table
from headwater.rules.checked import RelationInfo
from headwater.values import arguments
from headwater.values.codec import Codec
from headwater.values.dictionary import Codes
from headwater.values.layout import Layout
from headwater.values.types import Type
from headwater.version.guard import Guard, reads

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame


class Readable(Protocol):
    """What a relation is read from."""

    guard: Guard
    codec: Codec
    spark: Any

    @property
    def runner(self) -> Runner:
        """Where the rows are."""
        ...

    def info(self, name: str) -> RelationInfo:
        """A relation's columns and types."""
        ...

    @property
    def questions(self) -> Questions:
        """What answers questions."""
        ...


@public_class
class RelationView:
    """A base relation or a view, as it is now. Row order means nothing."""

    def __init__(self, database: Readable, name: str):
        self._database = database
        self.guard = database.guard
        self.name = name

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._database.info(self.name).columns

    @property
    def types(self) -> tuple[Type | None, ...]:
        """The types of the columns; `None` where no rule and no row tells."""
        return self._database.info(self.name).types

    @reads
    def __len__(self) -> int:
        if self._virtual:
            return len(self.where())
        return self._database.runner.count(self.name)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows())

    @reads
    def __contains__(self, row: object) -> bool:
        """Whether the row is there: one look-up. Nothing that could not be a row is there."""
        if not isinstance(row, tuple):
            return False
        if not self._virtual and not self._database.runner.stored(self.name):
            return False
        try:
            matrix = self._codes(row)
        except DataError:
            return False
        if self._virtual:  # values never seen may be computed
            return bool(self.where(**dict(zip(self.columns, row, strict=True))))
        if matrix.shape[0] == 0:
            return False
        return self._database.runner.holds(self.name, matrix)

    @reads
    def holds(self, rows: Iterable[tuple[Any, ...]]) -> list[bool]:
        """Whether each of these rows is there: as `in` for every one of them, in a fraction of the time."""
        asked = list(rows)
        runner = self._database.runner
        if self._virtual or not runner.here or not asked:
            return [row in self for row in asked]
        if not runner.stored(self.name):
            return [False] * len(asked)
        try:
            codes, known = self._layout.find_places(self._database.codec, asked, self.name)
        except DataError:  # one of them could not be a row
            return [row in self for row in asked]
        relation = runner.engine.workspace.relations[self.name]
        numbers = relation.find(codes)
        known[known] = (numbers >= 0) & ((relation.state[numbers] & VISIBLE) != 0)
        return known.tolist()  # type: ignore[no-any-return]

    def _codes(self, row: tuple[Any, ...]) -> Codes:
        """The row, or none if it has a value never seen here. (Nodes make some that this process has yet to see.)"""
        codec, layout = self._database.codec, self._layout
        if self._database.runner.here:
            return layout.find(codec, [row], self.name, asked=True)[0]
        return layout.encode(codec, [row], self.name, asked=True)

    @property
    def _layout(self) -> Layout:
        return self._database.info(self.name).layout

    @property
    def _virtual(self) -> bool:
        """Whether its rows are derived when somebody asks."""
        return not self._database.info(self.name).kept

    @reads
    def rows(self) -> list[tuple[Any, ...]]:
        """All rows as Python tuples."""
        if self._virtual:
            return self.where().rows()
        return self._layout.decode(self._database.codec, self._database.runner.matrix(self.name))

    @reads
    def where(self, **values: Any) -> Answers:
        """The rows that have these values, by column: `db["reach"].where(src="a")`. Looked up by index."""
        return self._database.questions.where(self.name, values)

    def head(self, rows: int = 10) -> Answers:
        """Some rows, ten if nothing else is said."""
        return self.where().head(rows)

    def order_by(self, *columns: str, descending: bool = False) -> Answers:
        """All rows in the order of these columns (of all, if none is given)."""
        return self.where().order_by(*columns, descending=descending)

    def count(self) -> int:
        """How many rows there are."""
        return len(self)

    @reads
    def arrow(self, *, labels: bool = False) -> pa.Table:
        """All rows as an Arrow table. Labelled nulls are NULL; `labels` adds a column `x?` with their texts for each
        column `x` that can hold one."""
        arguments.flag("labels", labels)
        if self._virtual:
            return self.where().arrow(labels=labels)
        return self._database.runner.table(self.name, labels=labels)

    def pandas(self, *, labels: bool = False) -> pd.DataFrame:
        """All rows as a pandas DataFrame; `labels` as for `arrow`."""
        return as_pandas(partial(self.arrow, labels=labels))

    def polars(self, *, labels: bool = False) -> pl.DataFrame:
        """All rows as a polars DataFrame; `labels` as for `arrow`."""
        return as_polars(partial(self.arrow, labels=labels))

    @reads
    def spark(self, *, labels: bool = False) -> DataFrame:
        """All rows as a Spark DataFrame, in the database's session (`spark=` of `connect`) or the running one;
        `labels` as for `arrow`.

        Rows that are on nodes do not pass through this process: each node writes a file, which Spark reads.
        """
        from headwater.spark.frames import frame_of
        from headwater.spark.session import spark_session

        session = self._database.spark or spark_session()
        files = None if self._virtual else self._database.runner.export(self.name, labels=labels)
        if files is None:
            return frame_of(session, self.arrow(labels=labels))
        return session.read.parquet(*files)

    def __repr__(self) -> str:
        size = self._database.info(self.name).kind.value if self._virtual else f"{len(self):,} rows"
        return f"<{self.name}({self._database.info(self.name).described}), {size}>"

    def _repr_html_(self) -> str:
        found = self.where()
        return rows_table(self.columns, self.types, found.head(MOST_ROWS).rows(), len(found), of=self.name)
