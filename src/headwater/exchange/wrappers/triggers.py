"""Capture by triggers: what users do to a table is written to an edit log beside it, in the same transaction.

The table `B` gets an edit log `headwater_edits_B` with its columns, a number, a sign, and (where the database tells)
the user's transaction. What is read from a log is deleted with the next capture, when it is known to be kept. So it
does not matter that transactions with lower numbers may become visible later.

What we apply ourselves is no edit. In PostgreSQL a setting says so for the length of the transaction; in SQLite,
which has one writer at a time, a row of `headwater_capture`. Identifiers are quoted by the dialect; no statement
holds data.

What does not hold: SQLite fires no trigger for rows that `INSERT OR REPLACE` removes, unless `PRAGMA
recursive_triggers` is on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from headwater.exchange.edit import Edit
from headwater.exchange.wrappers.stored_rows import StoredEdits, from_stored, stored_columns
from headwater.exchange.wrappers.wrapper import Captured, CaptureMark, WrappedTable
from headwater.foreign.own_names import beside
from headwater.foreign.schema import has_table, split_name

PAUSED = "headwater_capture"
NUMBER, SIGN, TRANSACTION = "headwater_number", "headwater_sign", "headwater_transaction"
Tables = Sequence[tuple[WrappedTable, Any]]


class TriggerCapture:
    """Edit logs filled by triggers, in SQLite and PostgreSQL."""

    def install(self, connection: Any, tables: Tables) -> None:
        postgres = connection.dialect.name == "postgresql"
        if not postgres and not has_table(connection, PAUSED):
            connection.exec_driver_sql(f"CREATE TABLE {PAUSED} (paused INTEGER NOT NULL)")
            connection.exec_driver_sql(f"INSERT INTO {PAUSED} VALUES (0)")
        for wrapped, table in tables:
            log = _edit_log(table)
            _make_log(connection, wrapped, log)
            if postgres:
                for statement in _postgres(connection, wrapped, table, log):
                    connection.exec_driver_sql(statement)
            else:
                for statement in _sqlite(connection, wrapped, table, log):
                    connection.exec_driver_sql(statement)

    def everything(self, connection: Any, tables: Tables) -> Captured:
        from sqlalchemy import select

        found: list[Edit] = []
        for wrapped, table in tables:
            if connection.dialect.name == "postgresql":
                name = connection.dialect.identifier_preparer.format_table(table)
                connection.exec_driver_sql(f"LOCK TABLE {name} IN SHARE MODE")
            connection.execute(_edit_log(table).delete())
            rows = (from_stored(wrapped, row) for row in connection.execute(select(table)).mappings())
            found += [Edit("+", wrapped.relation, row) for row in dict.fromkeys(rows)]
        return Captured((tuple(found),) if found else (), {"taken": []})

    def take(self, connection: Any, tables: Tables, mark: CaptureMark) -> Captured:
        taken = dict(mark.get("taken", ()))
        found: list[tuple[Any, int, Edit]] = []
        numbers: list[list[Any]] = []
        for wrapped, table in tables:
            log = _edit_log(table)
            if taken.get(wrapped.relation):
                gone = [{"gone": number} for number in taken[wrapped.relation]]
                connection.execute(_delete_number(log), gone)
            rows = list(_read(connection, wrapped, log))
            if rows:
                numbers.append([wrapped.relation, [number for _, number, _ in rows]])
            found += [(transaction, number, edit) for transaction, number, edit in rows if edit is not None]
        return Captured(tuple(_transactions(found)), {"taken": numbers})

    def applying(self, connection: Any, tables: Tables, on: bool) -> None:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SET LOCAL headwater.applying = '{'on' if on else 'off'}'")
        else:
            connection.exec_driver_sql(f"UPDATE {PAUSED} SET paused = {int(on)}")


def _edit_log(table: Any) -> Any:
    """The edit log of a table; beside it, in the same schema."""
    from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table

    return Table(
        beside("headwater_edits_", table.name),
        MetaData(),
        Column(NUMBER, BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
        Column(SIGN, String(1), nullable=False),
        Column(TRANSACTION, BigInteger),
        *[Column(column.name, column.type) for column in table.columns],
        schema=table.schema,
        sqlite_autoincrement=True,
    )


def _make_log(connection: Any, wrapped: WrappedTable, log: Any) -> None:
    """Make the edit log, or give it columns that the table has got since."""
    from sqlalchemy.schema import CreateColumn, CreateTable

    from headwater.foreign.schema import columns_of

    name = f"{log.schema}.{log.name}" if log.schema else log.name
    there = columns_of(connection, name)
    if there is None:
        connection.execute(CreateTable(log, if_not_exists=True))
        return
    preparer = connection.dialect.identifier_preparer
    for column in log.columns:
        if column.name not in there:
            added = CreateColumn(column).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {preparer.format_table(log)} ADD COLUMN {added}")


def _delete_number(log: Any) -> Any:
    from sqlalchemy import bindparam

    return log.delete().where(log.c[NUMBER] == bindparam("gone"))


def _read(connection: Any, wrapped: WrappedTable, log: Any) -> Iterator[tuple[Any, int, Edit | None]]:
    """Transaction, number and edit, in the order of numbers: that in which changes of one row were made."""
    from sqlalchemy import select

    edits = StoredEdits()
    for row in connection.execute(select(log).order_by(log.c[NUMBER])).mappings():
        yield row[TRANSACTION], row[NUMBER], edits.edit(row[SIGN], wrapped, row)
    edits.check()


def _transactions(found: list[tuple[Any, int, Edit]]) -> Iterator[tuple[Edit, ...]]:
    """Edits by transaction; those of which none is known are one each time they are captured."""
    if not found:
        return
    if any(transaction is None for transaction, _, _ in found):
        yield tuple(edit for _, _, edit in found)
        return
    ordered = sorted(found, key=lambda one: (one[0], one[2].relation, one[1]))
    for _, group in itertools.groupby(ordered, key=lambda one: one[0]):
        yield tuple(edit for _, _, edit in group)


# ------------------------------------------------------------------ the triggers


def _sqlite(connection: Any, wrapped: WrappedTable, table: Any, log: Any) -> Iterator[str]:
    quote = connection.dialect.identifier_preparer.quote
    names = list(stored_columns(wrapped))
    into = f"INSERT INTO {quote(log.name)} ({SIGN}, {', '.join(map(quote, names))}) VALUES"

    def row(sign: str, side: str) -> str:
        return f"{into} ('{sign}', {', '.join(f'{side}.{quote(name)}' for name in names)});"

    actions = {
        "INSERT": row("+", "NEW"),
        "DELETE": row("-", "OLD"),
        "UPDATE": f"{row('-', 'OLD')} {row('+', 'NEW')}",
    }
    for event, action in actions.items():
        trigger = quote(beside(f"headwater_{event.lower()}_", table.name))
        yield f"DROP TRIGGER IF EXISTS {trigger}"
        yield (
            f"CREATE TRIGGER {trigger} AFTER {event} ON {quote(table.name)} FOR EACH ROW"
            f" WHEN (SELECT paused FROM {PAUSED}) = 0 BEGIN {action} END"
        )


def _postgres(connection: Any, wrapped: WrappedTable, table: Any, log: Any) -> Iterator[str]:
    preparer = connection.dialect.identifier_preparer
    quote = preparer.quote
    names = list(stored_columns(wrapped))
    schema, bare = split_name(wrapped.table)
    function = quote(beside("headwater_capture_", bare))
    if schema:
        function = f"{quote(schema)}.{function}"
    on, into = preparer.format_table(table), preparer.format_table(log)
    columns = f"{SIGN}, {TRANSACTION}, {', '.join(map(quote, names))}"

    def row(sign: str, side: str) -> str:
        values = ", ".join(f"{side}.{quote(name)}" for name in names)
        return f"INSERT INTO {into} ({columns}) VALUES ('{sign}', txid_current(), {values});"

    every = f"INSERT INTO {into} ({columns}) SELECT '-', txid_current(), {', '.join(map(quote, names))} FROM {on};"
    body = (
        "BEGIN IF current_setting('headwater.applying', true) = 'on' THEN RETURN NULL; END IF;"
        f" IF TG_OP = 'TRUNCATE' THEN {every} RETURN NULL; END IF;"
        f" IF TG_OP <> 'INSERT' THEN {row('-', 'OLD')} END IF;"
        f" IF TG_OP <> 'DELETE' THEN {row('+', 'NEW')} END IF; RETURN NULL; END"
    )
    tag = next(f"$headwater{n}$" for n in itertools.count() if f"$headwater{n}$" not in body)
    path = connection.exec_driver_sql("SELECT current_schema()").scalar() or schema or "public"
    yield (
        f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
        f" SET search_path = {quote(path)}, pg_temp AS {tag}{body}{tag}"
    )
    for suffix, events, each in (
        ("rows", "AFTER INSERT OR UPDATE OR DELETE", "ROW"),
        ("all", "BEFORE TRUNCATE", "STATEMENT"),
    ):
        trigger = quote(beside(f"headwater_{suffix}_", bare))
        yield f"DROP TRIGGER IF EXISTS {trigger} ON {on}"
        yield f"CREATE TRIGGER {trigger} {events} ON {on} FOR EACH {each} EXECUTE FUNCTION {function}()"
