"""From a source's columns to a relation's: a filter and expressions in Spark SQL, and schemas that must fit.

The filter and the expressions become part of the query plan, so Spark prunes columns and pushes filters down into
files and databases. Columns that a source has got since the last time are ignored. A column that is gone, or
has a type that does not fit, is refused, with both schemas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.errors import PipelineError
from headwater.files.missing import OnNull, on_null
from headwater.pipeline.refusals import refusals
from headwater.pipeline.shape import SHAPE, fits
from headwater.pipeline.source import Choice
from headwater.rules.checked import RelationInfo
from headwater.spark.frames import quoted, spark_type
from headwater.values.names import made_up
from headwater.values.types import FLOAT, TIMESTAMP

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


ROW = "_headwater_row"
"""A column that numbers rows, where somebody asks which one it is."""


@dataclass(frozen=True)
class Projection:
    """`columns`: a Spark SQL expression for each column of the relation that is not taken by its name."""

    columns: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    text: bool = False  # the source knows no types (CSV): what it holds is cast, and fails if it cannot be
    on_null: str = "fail"
    nan: str = "value"

    @classmethod
    def of(cls, source: Choice, *, text: bool = False) -> Projection:
        """As a source says."""
        return cls(source.columns, source.where, text, source.on_null, source.nan)

    @property
    def way(self) -> OnNull:
        """What becomes of rows without a value where one is needed."""
        return on_null(self.on_null)

    def apply(
        self, frame: DataFrame, info: RelationInfo, source: str, before: str | None = None
    ) -> DataFrame:
        """The relation's columns, and those of the shape of changes that are there.

        `before` is the source's schema at the last time it was read, for the error.
        """
        self._check(info, source)
        with refusals(source):
            chosen, shape = self._selected(frame, info, source, before)
            wrong = []
            final: list[Column] = []
            for column, type in zip(info.columns, info.types, strict=True):
                found = chosen.schema[column].dataType
                if not (self.text or fits(found, type)):
                    wrong.append(f"{column} is {found.simpleString()}, and {type} is needed")
                final.append(_converted(chosen, column, found, type, self.nan == "null"))
        if wrong:
            raise drift(source, info, frame, "; ".join(wrong), before)
        return chosen.select(*final, *map(quoted, shape))

    def texts(self, frame: DataFrame, info: RelationInfo, source: str) -> DataFrame:
        """The relation's columns before they are cast, and the ids of rows."""
        return self._selected(frame, info, source, None)[0]

    def _selected(
        self, frame: DataFrame, info: RelationInfo, source: str, before: str | None
    ) -> tuple[DataFrame, list[str]]:
        shape = [column for column in frame.columns if column in SHAPE or column == ROW]
        kept = frame.where(self.where) if self.where is not None else frame
        return kept.selectExpr(*self._expressions(frame, info, source, before), *map(quoted, shape)), shape

    def _check(self, info: RelationInfo, source: str) -> None:
        for column in self.columns:
            if column not in info.columns:
                raise PipelineError(
                    "unknown-column",
                    f"{source}: {info.name} has no column {column}",
                    hint=f"its columns are {', '.join(info.columns)}",
                )

    def _expressions(
        self, frame: DataFrame, info: RelationInfo, source: str, before: str | None
    ) -> list[str]:
        there = [column for column in frame.columns if column not in SHAPE and column != ROW]
        asked = [column for column in info.columns if column not in self.columns]
        missing = [column for column in asked if column not in there]
        nameless = made_up(there) or not (info.named or set(there) & set(info.columns))
        if nameless and len(missing) == info.arity == len(there):
            return [f"{quoted(old)} AS {quoted(new)}" for old, new in zip(there, info.columns, strict=True)]
        if missing:
            raise drift(source, info, frame, f"there is no column {', '.join(missing)}", before)
        return [f"{self.columns.get(column, quoted(column))} AS {quoted(column)}" for column in info.columns]


def _converted(frame: DataFrame, column: str, found: Any, type: Any, nan_is_null: bool) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql.types import DoubleType, FloatType, TimestampNTZType

    value = F.col(quoted(column))
    if nan_is_null and (type == FLOAT or isinstance(found, DoubleType | FloatType)):
        value = F.when(~F.isnan(value.cast("double")), value).alias(column)
    if type is None:
        return value
    if type == TIMESTAMP and isinstance(found, TimestampNTZType):  # in UTC, whatever the session's zone
        since = f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', {quoted(column)})"
        return F.expr(f"timestamp_micros({since})").alias(column)
    return value.cast(spark_type(type)).alias(column)


def schema_text(frame: DataFrame) -> str:
    """The columns of a DataFrame that are data, as one line."""
    return ", ".join(
        f"{f.name} {f.dataType.simpleString()}"
        for f in frame.schema.fields
        if f.name not in SHAPE and f.name != ROW
    )


def drift(source: str, info: RelationInfo, frame: DataFrame, what: str, before: str | None) -> PipelineError:
    """A refusal that shows what the source is, what it was, and what the relation needs."""
    wanted = ", ".join(f"{c} {t or 'of any type'}" for c, t in zip(info.columns, info.types, strict=True))
    lines = [f"{source} does not fit {info.name}: {what}", f"  {info.name} has:     {wanted}"]
    lines += [f"  the source has: {schema_text(frame)}"]
    if before is not None and before != schema_text(frame):
        lines += [f"  it had before:  {before}"]
    otherwise = [
        f"{column} is written {name} there; say so: columns = {{ {column} = '{name}' }}"
        for column in info.columns
        for name in frame.columns
        if name not in info.columns and column not in frame.columns and name.casefold() == column.casefold()
    ]
    cast = (
        "say where columns come from, with a cast if it is meant: columns = {cost = 'cast(price AS bigint)'}"
    )
    hints = [*otherwise, *_slips(frame.columns, info.columns), cast]
    return PipelineError("schema-drift", "\n".join(lines), hint=hints[0])


def _slips(there: Sequence[str], columns: Sequence[str]) -> list[str]:
    """What may be wrong with a file of which no column is what it should be."""
    if not there:
        return ["the file is empty: it needs a header at least"]
    for separator in (",", ";", "|", "\t"):
        if len(there) == 1 and separator in there[0]:
            return [f"its cells seem to be separated by {separator!r}: options = {{ sep = {separator!r} }}"]
    for column in columns:
        if sum(re.fullmatch(rf"{re.escape(column)}\d+", name) is not None for name in there) > 1:
            return [f"two of its columns are called {column}"]
    if len(there) == len(columns) and any(re.fullmatch(r"[\d.+-]+", name) for name in there):
        return ["its first line seems to be a row, and no header: header = false"]
    return []
