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
from headwater.foreign.engine import open_engine
from headwater.foreign.rows import same_row
from headwater.foreign.types import NoSqlType, sql_type
from headwater.pipeline.fields import check_fields
from headwater.pipeline.sink import Publication, others, together
from headwater.values.types import Type


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
        columns = [Column(c, _column_type(t, self)) for c, t in zip(info.columns, info.types, strict=True)]
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


def _column_type(type: Type | None, sink: SqlSink) -> Any:
    try:
        return sql_type(type)
    except NoSqlType as error:
        hint = "declare its type; lists can be published to folders, Delta and Spark tables"
        raise PipelineError("bad-sink", f"{sink.name}: {error}", hint=hint) from None
