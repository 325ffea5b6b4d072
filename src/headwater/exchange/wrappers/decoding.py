"""Capture by PostgreSQL's logical decoding: what users do is read from the server's own log; no trigger slows them.

Needs `wal_level = logical` and a role with REPLICATION. A publication names the tables, a replication slot keeps the
log from the first capture on. A mark is a position in that log; the slot is moved to it with the next capture, when
what came before is known to be kept. Tables get REPLICA IDENTITY FULL, so that the log has whole rows that went.

What we apply ourselves is told by the table `headwater_exchange`, which is published too: a transaction that
changes it is ours. TRUNCATE is not captured row by row; it is refused, since nobody knows which rows went.
"""

from __future__ import annotations

import datetime
import decimal
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from headwater.errors import ExchangeError
from headwater.exchange.edit import Edit
from headwater.exchange.wrappers.pgoutput import (
    DecodedBegin,
    DecodedCommit,
    DecodedMessage,
    DecodedRow,
    DecodedTable,
    DecodedTruncate,
    Texts,
    parse_message,
)
from headwater.exchange.wrappers.stored_rows import StoredEdits, from_stored
from headwater.exchange.wrappers.wrapper import Captured, CaptureMark, WrappedTable
from headwater.values.forms import parse_time, parse_timestamp, parse_timestamp_ntz

Tables = Sequence[tuple[WrappedTable, Any]]
NOTES = "headwater_exchange"


class LogicalDecoding:
    """A publication and a replication slot of one peer."""

    def __init__(self, peer: str, database: str):
        """Slots have a name of their own in the whole server: it is made of the peer's and the database's."""
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in peer.lower())
        self.name = f"headwater_{plain[:30]}_{zlib.crc32(f'{database}/{peer}'.encode()):08x}"

    def install(self, connection: Any, tables: Tables) -> None:
        """Make the publication; the slot is made by the first capture, when there is no transaction yet."""
        preparer = connection.dialect.identifier_preparer
        names = [preparer.format_table(table) for _, table in tables]
        for name in names:
            connection.exec_driver_sql(f"ALTER TABLE {name} REPLICA IDENTITY FULL")
        listed = ", ".join([*names, NOTES])
        if self._there(connection, "pg_publication", "pubname"):
            connection.exec_driver_sql(f"ALTER PUBLICATION {self.name} SET TABLE {listed}")
        else:
            connection.exec_driver_sql(f"CREATE PUBLICATION {self.name} FOR TABLE {listed}")

    def everything(self, connection: Any, tables: Tables) -> Captured:
        """All rows, as they are where the slot begins: nobody changes the tables meanwhile."""
        from sqlalchemy import select, text

        if not self._there(connection, "pg_replication_slots", "slot_name"):
            with connection.engine.connect() as alone:  # a slot cannot be made where something was written
                alone.execute(
                    text("SELECT pg_create_logical_replication_slot(:n, 'pgoutput')"), {"n": self.name}
                )
                alone.commit()
        found: list[Edit] = []
        for _, table in tables:
            name = connection.dialect.identifier_preparer.format_table(table)
            connection.exec_driver_sql(f"LOCK TABLE {name} IN SHARE MODE")
        position = connection.exec_driver_sql("SELECT pg_current_wal_insert_lsn()::text").scalar()
        for wrapped, table in tables:
            rows = (from_stored(wrapped, row) for row in connection.execute(select(table)).mappings())
            found += [Edit("+", wrapped.relation, row) for row in dict.fromkeys(rows)]
        return Captured((tuple(found),) if found else (), {"position": position})

    def take(self, connection: Any, tables: Tables, mark: CaptureMark) -> Captured:
        from sqlalchemy import text

        position = str(mark["position"])
        moved = text(
            "SELECT pg_replication_slot_advance(slot_name, CAST(:to AS pg_lsn)) FROM pg_replication_slots"
            " WHERE slot_name = :name AND confirmed_flush_lsn < CAST(:to AS pg_lsn)"
        )
        connection.execute(moved, {"name": self.name, "to": position})
        asked = text(
            "SELECT data FROM pg_logical_slot_peek_binary_changes("
            ":slot, NULL, NULL, 'proto_version', '1', 'publication_names', :publication)"
        )
        found = connection.execute(asked, {"slot": self.name, "publication": self.name})
        messages = (parse_message(bytes(data)) for (data,) in found)
        transactions, end = _read(messages, {wrapped.table: wrapped for wrapped, _ in tables})
        behind = f"{end >> 32:X}/{end & 0xFFFFFFFF:X}" if end else position
        return Captured(tuple(transactions), {"position": behind})

    def applying(self, connection: Any, tables: Tables, on: bool) -> None:
        """The note of the version, in the same transaction, says it."""

    def _there(self, connection: Any, catalog: str, column: str) -> bool:
        from sqlalchemy import text

        asked = text(f"SELECT 1 FROM {catalog} WHERE {column} = :name")
        return connection.execute(asked, {"name": self.name}).first() is not None


def _read(
    messages: Iterator[DecodedMessage | None], tables: Mapping[str, WrappedTable]
) -> tuple[list[tuple[Edit, ...]], int]:
    """The transactions of users, and the position behind the last transaction."""
    described: dict[int, DecodedTable] = {}
    transactions: list[tuple[Edit, ...]] = []
    edits: list[Edit] = []
    read = StoredEdits()
    ours, end = False, 0
    for message in messages:
        if isinstance(message, DecodedBegin):
            edits, ours = [], False
        elif isinstance(message, DecodedTable):
            described[message.number] = message
        elif isinstance(message, DecodedTruncate):
            names = ", ".join(described[number].name for number in message.numbers)
            raise ExchangeError(
                "truncated",
                f"{names} was truncated, and PostgreSQL's log does not say which rows went",
                hint="delete the rows with DELETE; for this time, drop the replication slot and capture anew",
            )
        elif isinstance(message, DecodedRow):
            table = described[message.number]
            ours = ours or table.name == NOTES
            wrapped = tables.get(table.name) or tables.get(f"{table.schema}.{table.name}")
            if wrapped is not None:
                edits += _edits(read, wrapped, table, message)
        elif isinstance(message, DecodedCommit):
            end = message.end
            if edits and not ours:
                transactions.append(tuple(edits))
    read.check()
    return transactions, end


def _edits(
    read: StoredEdits, wrapped: WrappedTable, table: DecodedTable, message: DecodedRow
) -> Iterator[Edit]:
    for sign, texts in (("-", message.old), ("+", message.new)):
        if texts is not None:
            edit = read.edit(sign, wrapped, _stored(wrapped, table, texts))
            if edit is not None:
                yield edit


def _stored(wrapped: WrappedTable, table: DecodedTable, texts: Texts) -> dict[str, Any]:
    stored: dict[str, Any] = dict(zip(table.columns, texts, strict=True))
    for column in wrapped.columns:
        text = stored.get(column.name)
        if text is not None:
            with suppress(
                ValueError
            ):  # what has no value of ours (an infinite date) is refused as it is written
                stored[column.name] = _FROM_TEXT[column.type.name](text)
    return stored


def _interval(text: str) -> datetime.timedelta:
    """What `intervalstyle = postgres` writes: `1 day 02:03:04.5`; months and years are no lengths of time."""
    days, _, clock = text.rpartition(" ") if ":" in text else (text, "", "")
    total = datetime.timedelta()
    words = days.split()
    for amount, unit in zip(words[::2], words[1::2], strict=True):
        if not unit.startswith("day"):
            raise ValueError(f"{text!r} has {unit}")
        total += datetime.timedelta(days=int(amount))
    if clock:
        hours, minutes, seconds = clock.lstrip("+-").split(":")
        length = datetime.timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))
        total += -length if clock.startswith("-") else length
    return total


def _zoned(text: str) -> datetime.datetime:
    """`2024-02-29 12:30:00+00`, whose offset may have hours alone."""
    return parse_timestamp(text + ":00" if text[-3] in "+-" else text)


_FROM_TEXT: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "decimal": decimal.Decimal,
    "string": str,
    "bool": lambda text: text == "t",
    "date": datetime.date.fromisoformat,
    "time": parse_time,
    "timestamp": _zoned,
    "timestamp_ntz": parse_timestamp_ntz,
    "interval": _interval,
    "binary": lambda text: bytes.fromhex(text.removeprefix("\\x")),
}
"""From PostgreSQL's text of a value to ours, by the name of the type."""
