"""Tables of other databases, as snapshots: over JDBC by Spark, or over SQLAlchemy by this process.

JDBC needs the database's driver jar in the session; Spark pushes filters and projections down into the
database. SQLAlchemy needs a Python driver only; filters and projections are worked out on Spark, after
reading, because they are written in Spark's SQL and the database may speak another one. To filter in the
database, give a query instead of a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.calls import public_class
from headwater.errors import PipelineError
from headwater.foreign.engine import open_engine
from headwater.pipeline.fields import check_fields
from headwater.pipeline.projection import Projection
from headwater.pipeline.refusals import refusals
from headwater.pipeline.snapshot import compare
from headwater.pipeline.source import Batch, Choice, Unseen, known
from headwater.spark.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headwater.database import Database


@public_class
@dataclass(frozen=True)
class Jdbc(Choice, Unseen):
    """A table, or a query in parentheses with a name after it, at a JDBC address."""

    relation: str
    url: str
    table: str
    options: Mapping[str, str] = field(default_factory=dict)
    whole = True

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "name", self.name or f"jdbc:{self.table}")

    def frame(self, session: SparkSession) -> DataFrame:
        """The table as a DataFrame."""
        reader = session.read.format("jdbc").options(url=self.url, dbtable=self.table, **self.options)
        return reader.load()

    def poll(self, session: SparkSession, database: Database, mark: Any) -> Batch | None:
        """What differs between the table and the relation."""
        with refusals(self.name):
            frame = self.frame(session)
        projection = Projection.of(self)
        return compare(session, database, self.relation, frame, projection, self.name, known(mark))


@public_class
@dataclass(frozen=True)
class SqlAlchemy(Choice, Unseen):
    """A table or a query at a SQLAlchemy address."""

    relation: str
    url: str
    table: str | None = None
    query: str | None = None
    whole = True

    def __post_init__(self) -> None:
        check_fields(self)
        if (self.table is None) == (self.query is None):
            raise PipelineError(
                "bad-source", f"{self.relation}: give a table or a query", hint="and not both of them"
            )
        object.__setattr__(self, "name", self.name or f"sqlalchemy:{self.table or self.relation}")

    def poll(self, session: SparkSession, database: Database, mark: Any) -> Batch | None:
        """What differs between the table and the relation."""
        import pyarrow as pa

        rows, names, declared = self._read()
        kinds = dict(zip(names, declared, strict=True))
        arrays = {name: _array([row[i] for row in rows], kinds[name]) for i, name in enumerate(names)}
        with refusals(self.name):
            frame = frame_of(session, pa.table(arrays))
        projection = Projection.of(self)
        return compare(session, database, self.relation, frame, projection, self.name, known(mark))

    def _read(self) -> tuple[list[Any], list[str], list[Any]]:
        from sqlalchemy import MetaData, Table, select, text
        from sqlalchemy.exc import SQLAlchemyError

        engine = open_engine(self.url)
        try:
            with engine.connect() as connection:
                if self.query is not None:
                    found = connection.execute(text(self.query))
                    names = list(found.keys())
                    return list(found), names, [None] * len(names)
                assert self.table is not None
                schema, _, bare = self.table.rpartition(".")
                table = Table(bare, MetaData(), autoload_with=connection, schema=schema or None)
                kinds = [_python_type(column) for column in table.columns]
                return list(connection.execute(select(table))), [c.name for c in table.columns], kinds
        except SQLAlchemyError as error:
            said = (str(error) or type(error).__name__).splitlines()[0]
            raise PipelineError(
                "missing-source", f"{self.name}: {said}", hint="are the address and the name right?"
            ) from error
        finally:
            engine.dispose()


def _python_type(column: Any) -> Any:
    try:
        return column.type.python_type
    except NotImplementedError:  # SQLAlchemy's answer for types that are none of Python's
        return None


def _array(values: list[Any], declared: Any) -> Any:
    """A column; where no value tells its type, the one that the database declares."""
    import datetime
    import decimal

    import pyarrow as pa

    known = {
        int: pa.int64(),
        float: pa.float64(),
        str: pa.string(),
        bool: pa.bool_(),
        datetime.date: pa.date32(),
        datetime.datetime: pa.timestamp("us"),
        decimal.Decimal: None,
    }
    try:
        return pa.array(values, known.get(declared))
    except (pa.ArrowException, TypeError):
        return pa.array(values)
