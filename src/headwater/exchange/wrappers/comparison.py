"""Capture by comparison, for databases without triggers: a copy of each table as it was left, and what differs.

What users did is then what came of it: a row that came and went between two captures was never seen. Reading costs
what the table costs; the comparison is the database's own (`EXCEPT`). The copies, `headwater_copy_B`, are brought up
to date with the next capture, when what was captured is known to be kept; until then a capture gives the same again
and more. What we apply ourselves goes into table and copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.exchange.edit import Edit
from headwater.exchange.wrappers.stored_rows import from_stored
from headwater.exchange.wrappers.wrapper import Captured, CaptureMark, WrappedTable
from headwater.foreign.own_names import beside

TURN = "headwater_turn"
Tables = Sequence[tuple[WrappedTable, Any]]


class ComparisonCapture:
    """Copies of tables, and copies of what was captured last and may not be kept yet."""

    def install(self, connection: Any, tables: Tables) -> None:
        from sqlalchemy.schema import CreateTable

        for _, table in tables:
            for copy in (_copy(table, "copy"), _copy(table, "next")):
                connection.execute(CreateTable(copy, if_not_exists=True))
        connection.execute(CreateTable(_turns(), if_not_exists=True))

    def everything(self, connection: Any, tables: Tables) -> Captured:
        for _, table in tables:
            connection.execute(_copy(table, "copy").delete())
        return self._differences(connection, tables, 0)

    def take(self, connection: Any, tables: Tables, mark: CaptureMark) -> Captured:
        """The mark counts captures: if it is that of the last one, its edits are kept."""
        from sqlalchemy import select

        if connection.execute(select(_turns().c.turn)).scalar() == mark["turn"]:
            for _, table in tables:
                copy = _copy(table, "copy")
                connection.execute(copy.delete())
                connection.execute(_all_of(copy, _copy(table, "next")))
        return self._differences(connection, tables, int(mark["turn"]))

    def applying(self, connection: Any, tables: Tables, on: bool) -> None:
        """Before: what users did and nobody captured is put aside. After: what we did is in the copies as well."""
        for _, table in tables:
            before = _copy(table, "before")
            if on:
                _temporary(connection, before)
                connection.execute(_all_of(before, table))
            else:
                for copy in (_copy(table, "copy"), _copy(table, "next")):
                    _follow(connection, copy, before, table)
                before.drop(connection)

    def _differences(self, connection: Any, tables: Tables, turn: int) -> Captured:
        edits: list[Edit] = []
        for wrapped, table in tables:
            copy, following = _copy(table, "copy"), _copy(table, "next")
            for sign, these, those in (("-", copy, table), ("+", table, copy)):
                for row in connection.execute(_except(these, those)).mappings():
                    edits.append(Edit(sign, wrapped.relation, from_stored(wrapped, row)))  # type: ignore[arg-type]
            connection.execute(following.delete())
            connection.execute(_all_of(following, table))
        turns = _turns()
        connection.execute(turns.delete())
        connection.execute(turns.insert().values(turn=turn + 1))
        return Captured((tuple(edits),) if edits else (), {"turn": turn + 1})


def _turns() -> Any:
    from sqlalchemy import BigInteger, Column, MetaData, Table

    return Table(TURN, MetaData(), Column("turn", BigInteger))


def _copy(table: Any, what: str) -> Any:
    from sqlalchemy import Column, MetaData, Table

    columns = [Column(column.name, column.type) for column in table.columns]
    prefixes = ["TEMPORARY"] if what == "before" else []
    schema = None if what == "before" else table.schema
    return Table(
        beside(f"headwater_{what}_", table.name), MetaData(), *columns, schema=schema, prefixes=prefixes
    )


def _temporary(connection: Any, table: Any) -> None:
    from sqlalchemy.schema import CreateTable, DropTable

    connection.execute(DropTable(table, if_exists=True))
    connection.execute(CreateTable(table))


def _columns(table: Any, like: Any) -> list[Any]:
    return [table.c[column.name] for column in like.columns]


def _all_of(target: Any, source: Any) -> Any:
    from sqlalchemy import select

    names = [column.name for column in target.columns]
    return target.insert().from_select(names, select(*_columns(source, target)).distinct())


def _except(these: Any, those: Any) -> Any:
    from sqlalchemy import select

    return select(*_columns(these, these)).except_(select(*_columns(those, these)))


def _follow(connection: Any, copy: Any, before: Any, after: Any) -> None:
    """Do to a copy what was done between two states of the table."""
    from sqlalchemy import and_, exists, select

    gone = _except(before, after).subquery()
    come = _except(after, before).subquery()
    same = and_(*[copy.c[column.name].is_not_distinct_from(gone.c[column.name]) for column in copy.columns])
    connection.execute(copy.delete().where(exists(select(1).select_from(gone).where(same))))
    names = [column.name for column in copy.columns]
    new = select(*[come.c[name] for name in names]).except_(select(*_columns(copy, copy)))
    connection.execute(copy.insert().from_select(names, new))
