"""Changes of a database's tables as they are recorded there: read as they are asked for, and counted, since no more
of them are kept than are of use (`sql_history`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from headwater.language.sql.algebra import Named, Operator, Project, Scan, Select
from headwater.language.sql.scalars import Attribute, Scalar, attributes_in, substitute
from headwater.language.sql.tables import TableSchema
from headwater.sketch.tables.backend import TableDelta, WantedRows
from headwater.sketch.tables.bags import net_change
from headwater.sketch.tables.sql_history import FEWEST_CHANGES_KEPT
from headwater.sketch.tables.sql_records import SqlRecords
from headwater.sketch.tables.sql_rows import fetched
from headwater.sketch.tables.sql_statements import quoted
from headwater.values.types import INT

CHANGES_BETWEEN = FEWEST_CHANGES_KEPT // 4
"""After so many rows that came or went, it is asked whether more are kept than are of use."""
Rendered = Callable[[Operator, Mapping[str, str]], str]


class RecordedChanges:
    """The recorded changes of some tables of one database, whose plans are `rendered`."""

    def __init__(self, tables: Mapping[str, TableSchema], records: SqlRecords, rendered: Rendered):
        self._tables, self._records, self._rendered = tables, records, rendered
        self._names_wanted: WeakKeyDictionary[WantedRows, tuple[TableSchema, list[str]]] = WeakKeyDictionary()
        self._texts: WeakKeyDictionary[WantedRows, tuple[TableSchema, str, tuple[Attribute, ...]]] = (
            WeakKeyDictionary()
        )
        self._since: Counter[str] = Counter()
        self._due: set[str] = set()

    def read(self, connection: Any, table: str, after: int, upto: int, wanted: WantedRows) -> TableDelta:
        """What changed between two versions."""
        text, shown = self._text(table, wanted)
        found = fetched(connection, f"{text} WHERE _version > {after} AND _version <= {upto}", shown)
        signs = np.asarray(found.column("_sign"), dtype=np.int64)
        self.count(table, len(signs))
        rows, net = net_change(found.select([each.name for each in shown[2:]]), signs)
        return TableDelta(table, after, upto, rows, net)

    def names_of(self, table: str, wanted: WantedRows) -> list[str]:
        """The columns that are wanted, in the order of the table."""
        schema = self._tables[table]
        known = self._names_wanted.get(wanted)
        if known is None or known[0] is not schema:
            names = wanted.among([each.name for each in schema.columns])
            known = self._names_wanted[wanted] = schema, names
        return known[1]

    def _text(self, table: str, wanted: WantedRows) -> tuple[str, tuple[Attribute, ...]]:
        """The statement that reads the record of a table's changes, but for the versions; and its columns."""
        schema, log = self._tables[table], self._records.log(table)
        known = self._texts.get(wanted)
        if known is not None and known[0] is schema:
            return known[1:]
        version, sign = Attribute(-1, "_version", INT), Attribute(-2, "_sign", INT)
        attributes = {
            column.name: Attribute(-3 - n, column.name, column.type)
            for n, column in enumerate(schema.columns)
        }
        plan: Operator = Scan(log, log, 0, (version, sign, *attributes.values()))
        if wanted.condition is not None:
            plan = Select(plan, _by_name(wanted.condition, attributes))
        columns = [attributes[name] for name in wanted.among(list(attributes))]
        shown = (sign, version, *columns)
        plan = Project(plan, tuple(Named(each, each) for each in shown))
        text = f"SELECT * FROM ({self._rendered(plan, {log: quoted(log)})}) AS changed"
        self._texts[wanted] = schema, text, shown
        return text, shown

    # -------------------------------------------------------------- what is kept of them

    def begin(self, table: str) -> None:
        """Nobody knows how many changes are kept of a table that is taken in."""
        self._due.add(table)

    def count(self, table: str, rows: int) -> None:
        """So many rows came or went: made here, or read."""
        self._since[table] += rows
        if self._since[table] >= CHANGES_BETWEEN:
            self._due.add(table)

    def take_due(self) -> set[str]:
        """The tables of which more changes may be kept than are of use; none of them until more have come."""
        if not self._due:
            return self._due
        due, self._due = self._due, set()
        for table in due:
            self._since[table] = 0
        return due


def _by_name(condition: Scalar, attributes: Mapping[str, Attribute]) -> Scalar:
    """The condition over attributes of ours, found by their names."""
    return substitute(condition, {each.id: attributes[each.name] for each in attributes_in(condition)})
