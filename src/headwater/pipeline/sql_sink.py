"""A view as a table of another database, changed in place over SQLAlchemy.

Deletes and inserts of a publication are one transaction of that database, together with the version, in the table
`headwater_published`. So a version is there or it is not, and one that is there is skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.calls import public_class
from headwater.database.progress import Owed
from headwater.errors import PipelineError
from headwater.pipeline.fields import check_fields
from headwater.pipeline.sink import Publication, others, together
from headwater.pipeline.sql_tables import open_engine
from headwater.values.types import Type

FLOAT_DIGITS = 15
"""So many digits a float keeps, and SQLite has no other numbers with a point: of more, it holds the text."""


@public_class
@dataclass(frozen=True)
class SqlSink:
    """A table, made if it is not there, that follows the view."""

    view: str
    url: str
    table: str
    name: str = ""
    rows = True

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "name", self.name or f"sql:{self.table}")

    def publish(self, owed: Sequence[Owed], to: Publication) -> None:
        """One transaction for all versions that are not there yet."""
        from sqlalchemy import Column, Integer, MetaData, String, Table, inspect, select
        from sqlalchemy.exc import SQLAlchemyError

        engine = open_engine(self.url)
        metadata = MetaData()
        notes = Table(
            "headwater_published",
            metadata,
            Column("target", String(200), primary_key=True),
            Column("identity", String(32), nullable=False),
            Column("version", Integer, nullable=False),
        )
        info = to.database.info(to.view)
        schema, _, bare = self.table.rpartition(".")
        columns = [Column(c, _sql_type(t, self)) for c, t in zip(info.columns, info.types, strict=True)]
        target = Table(bare, metadata, *columns, schema=schema or None)
        try:
            with engine.begin() as connection:
                there = inspect(connection).has_table(bare, schema=schema or None)
                metadata.create_all(connection)
                found = connection.execute(select(notes).where(notes.c.target == self.table)).first()
                if there and found is None or found is not None and found.identity != to.identity:
                    raise others(f"the table {self.table}", "is somebody else's")
                new = [one for one in owed if one.version > (found.version if found is not None else 0)]
                if not new:
                    return
                change(connection, target, together(new), to.nullable)
                if found is None:
                    connection.execute(
                        notes.insert().values(
                            target=self.table, identity=to.identity, version=new[-1].version
                        )
                    )
                else:
                    connection.execute(
                        notes.update().where(notes.c.target == self.table).values(version=new[-1].version)
                    )
        except SQLAlchemyError as error:
            said = (str(error) or type(error).__name__).splitlines()[0]
            raise PipelineError("sink-failed", f"{self.name}: {said}", hint="nothing was written") from error
        finally:
            engine.dispose()


def change(connection: Any, table: Any, changes: Any, nullable: Collection[str]) -> None:
    """Delete and insert rows, many with each statement."""
    names = [column.name for column in table.columns]
    goes: list[dict[str, Any]] = []
    comes: list[dict[str, Any]] = []
    for row in changes.to_pylist():
        values = {f"v{number}": row[name] for number, name in enumerate(names)}
        if row["_change_type"] == "insert":
            comes.append({name: row[name] for name in names})
        else:
            goes.append(values)
    if goes:
        connection.execute(table.delete().where(same_row(table, nullable)), goes)
    if comes:
        connection.execute(table.insert(), comes)


def same_row(table: Any, nullable: Collection[str]) -> Any:
    """Whether a row of the table is the one whose values are bound as `v0`, `v1` and so on.

    NULL equals nothing; so columns that can hold it are compared by `IS NOT DISTINCT FROM`, in the words of each
    dialect. (Floats can: NaN is NULL in databases that have no NaN.) Of the others, `=` can be answered by an index.
    """
    from sqlalchemy import Float, and_, bindparam

    def same(column: Any, value: Any) -> Any:
        may_be_null = column.name in nullable or isinstance(column.type, Float)
        return column.is_not_distinct_from(value) if may_be_null else column == value

    return and_(*[same(column, bindparam(f"v{number}")) for number, column in enumerate(table.columns)])


def _decimal_text() -> Any:
    from sqlalchemy import Text, TypeDecorator

    class DecimalText(TypeDecorator[Any]):
        """A decimal as its text."""

        impl = Text
        cache_ok = True

        def process_bind_param(self, value: Any, dialect: Any) -> str | None:
            return None if value is None else format(value, "f")

    return DecimalText()


def _sql_type(type: Type | None, sink: SqlSink) -> Any:
    from sqlalchemy import (
        BigInteger,
        Boolean,
        Date,
        DateTime,
        Float,
        Interval,
        LargeBinary,
        Numeric,
        Text,
        Time,
    )

    if type is not None and type.name == "decimal":
        number = Numeric(type.precision, type.scale)
        return number if type.precision <= FLOAT_DIGITS else number.with_variant(_decimal_text(), "sqlite")
    kinds: dict[str, Any] = {
        "int": BigInteger(),
        "float": Float(53),
        "string": Text(),
        "bool": Boolean(),
        "date": Date(),
        "binary": LargeBinary(),
        "time": Time(),
        "timestamp": DateTime(timezone=True),
        "timestamp_ntz": DateTime(),
        "interval": Interval(),
    }
    if type is None or type.name not in kinds:
        raise PipelineError(
            "bad-sink",
            f"{sink.name}: a column of {type or 'unknown type'} cannot be stored there",
            hint="declare its type; lists can be published to folders, Delta and Spark tables",
        )
    return kinds[type.name]
