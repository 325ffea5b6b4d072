"""Entries as rows of a table in a database that all peers can reach; peer and number are its key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headwater.errors import StoreError
from headwater.foreign.engine import open_engine, said_by, without_password

TABLE = "headwater_published_log"


class SqlPlace:
    """A table of published entries, made if it is not there."""

    def __init__(self, url: str):
        from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, String, Table

        self.what = without_password(url)
        self._engine = open_engine(url)
        self._table = Table(
            TABLE,
            MetaData(),
            Column("peer", String(200), primary_key=True),
            Column("number", BigInteger, primary_key=True, autoincrement=False),
            Column("entry", LargeBinary, nullable=False),
        )
        self._made = False

    def put(self, peer: str, number: int, data: bytes) -> bool:
        from sqlalchemy.exc import IntegrityError

        try:
            with self._connected() as connection:
                self._make(connection)
                connection.execute(self._table.insert().values(peer=peer, number=number, entry=data))
        except IntegrityError:
            return False
        return True

    def get(self, peer: str, number: int) -> bytes | None:
        from sqlalchemy import select

        wanted = (self._table.c.peer == peer) & (self._table.c.number == number)
        with self._connected() as connection:
            if not self._there(connection):
                return None
            found = connection.execute(select(self._table.c.entry).where(wanted)).scalar()
        return None if found is None else bytes(found)

    def numbers(self, peer: str) -> list[int]:
        from sqlalchemy import select

        number = self._table.c.number
        with self._connected() as connection:
            if not self._there(connection):
                return []
            found = connection.execute(select(number).where(self._table.c.peer == peer).order_by(number))
            return [int(one) for one in found.scalars()]

    def peers(self) -> list[str]:
        from sqlalchemy import select

        with self._connected() as connection:
            if not self._there(connection):
                return []
            return sorted(connection.execute(select(self._table.c.peer).distinct()).scalars())

    def _there(self, connection: Any) -> bool:
        from headwater.foreign.schema import has_table

        self._made = self._made or has_table(connection, TABLE)
        return self._made

    def _make(self, connection: Any) -> None:
        from sqlalchemy.schema import CreateTable

        if not self._there(connection):
            connection.execute(CreateTable(self._table, if_not_exists=True))

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """A transaction; what the database refuses is our error, except that a number is taken."""
        from sqlalchemy.exc import IntegrityError, SQLAlchemyError

        try:
            with self._engine.begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            hint = "is the server there, and may this user read and write the table? nothing was changed"
            raise StoreError(
                "unreachable", f"published logs at {self.what}: {said_by(error)}", hint=hint
            ) from error
