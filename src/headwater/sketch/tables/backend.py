"""What is asked of a system that holds tables and runs plans: Spark, DuckDB, PostgreSQL.

A table's *version* is a number that grows with every change of its rows. Whoever runs a plan says at which
versions; what a backend no longer has (or never had: only Delta tables keep their past), it refuses with the code
`no-such-version`.

A plan reads the tables of the backend by name, and beside them rows that are given with it: a delta that is joined
with a table is a plan that scans both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import numpy.typing as npt

from headwater.errors import SketchError
from headwater.language.sql.algebra import Operator
from headwater.language.sql.scalars import Scalar
from headwater.language.sql.tables import TableSchema
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.integer_columns import FEW_ROWS, IntegerColumn, integer_column

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.sketch.tables.key_lookup import KeyLookup
    from headwater.sketch.tables.layout import TableLayout


CountsKeys = Literal["here", "there", "never"]


@dataclass(frozen=True)
class TableDelta:
    """What changed in a table between two versions: rows, and how often each has come (or, below 0, gone).

    Net: no row has come and gone. `rows` has at least the columns that were asked for, in the order of the table.
    """

    table: str
    after: int
    upto: int
    rows: pa.Table
    signs: npt.NDArray[np.int64]

    @cached_property
    def size(self) -> int:
        """How many rows came or went."""
        return int(np.abs(self.signs).sum())

    @cached_property
    def is_one_way(self) -> bool:
        """Whether rows only came, or only went: then fewer of their columns are net as well."""
        return bool((self.signs > 0).all() or (self.signs < 0).all())

    @cached_property
    def listed_signs(self) -> list[int]:
        """The signs as Python has them: for loops over few rows."""
        found: list[int] = self.signs.tolist()
        return found

    @cached_property
    def _columns(self) -> dict[str, pa.Array]:
        return {}

    @cached_property
    def _integers(self) -> dict[str, IntegerColumn | None]:
        return {}

    def column(self, name: str) -> pa.Array:
        """A column in one piece."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = one_piece(self.rows.column(name))
        return found

    def integers(self, name: str) -> IntegerColumn | None:
        """A column as integers, if its values are some; made once, for all who read this delta."""
        if name not in self._integers:
            self._integers[name] = integer_column(self.column(name))
        return self._integers[name]

    def prepare(self, names: Collection[str]) -> None:
        """Make these columns as integers, for what reads some of them and perhaps others."""
        for name in names:
            column = self.integers(name)
            if column is not None and len(self.signs) <= FEW_ROWS:
                column.listed  # noqa: B018

    def has_prepared(self, names: Set[str]) -> bool:
        """Whether that was done."""
        return names <= self._integers.keys()

    def prepare_like(self, earlier: TableDelta) -> None:
        """Make what was made of an earlier delta of the same table."""
        self.is_one_way, self.size, self.listed_signs  # noqa: B018
        self.prepare(tuple(earlier._integers))  # readers in other threads may make more meanwhile

    def only(self, chosen: npt.NDArray[np.bool_]) -> TableDelta:
        """Some of its rows."""
        if chosen.all():
            return self
        import pyarrow as pa

        return replace(self, rows=self.rows.filter(pa.array(chosen)), signs=self.signs[chosen])


@dataclass(frozen=True, eq=False)
class WantedRows:
    """What of a table's changes is asked for, again and again: these columns (default: all), and no rows for which
    the condition, which reads attributes by name, is not true. Others may come along."""

    columns: frozenset[str] | None = None
    condition: Scalar | None = None

    def among(self, names: Sequence[str]) -> list[str]:
        """The columns of a table that are wanted, in its order; one where none is, since Arrow does not count the
        rows of tables without columns.

        >>> WantedRows(frozenset("cb")).among(["a", "b", "c"]), WantedRows(frozenset()).among(["a", "b"])
        (['b', 'c'], ['a'])
        """
        found = [name for name in names if self.columns is None or name in self.columns]
        return found or list(names[:1])


@dataclass(frozen=True)
class News:
    """The versions that tables have at one moment, and what has changed in those that had others before."""

    versions: Mapping[str, int]
    deltas: Mapping[str, TableDelta]


def other_table(what: str, why: str) -> SketchError:
    """What is said of a table that is not the one that was taken in."""
    return SketchError("table-replaced", f"{what} {why}", hint="name it again: sketches.table(...)")


class Backend(Protocol):
    """A system with tables. Names of tables are those that queries use."""

    @property
    def dialect(self) -> str:
        """The SQL that it speaks, as `language/sql/render` names it."""
        ...

    def schemas(self) -> Mapping[str, TableSchema]:
        """All tables that were named to it."""
        ...

    def refuse_others(self, tables: Iterable[str]) -> None:
        """Refuse tables that are gone (`unknown-table`, `missing-source`), and those that are other ones now than
        were taken in, or have other columns (`table-replaced`)."""
        ...

    def marks(self, versions: Mapping[str, int]) -> dict[str, int]:
        """Where tables can go back to older versions, as databases do that are restored: what tells versions from
        others with the same numbers, where it is known."""
        ...

    def version(self, table: str) -> int:
        """The version it has now."""
        ...

    def versions(self, tables: Sequence[str]) -> dict[str, int]:
        """The versions that tables have now, of one moment where the backend has such a thing."""
        ...

    def moment(self) -> AbstractContextManager[None]:
        """While it is open, this thread sees the tables as they are at one moment, whoever changes them; where
        tables keep their old versions there is nothing to do for that."""
        ...

    def rows(self, table: str) -> int:
        """About how many rows a table has."""
        ...

    def seconds_for_keys(self, table: str) -> float:
        """About how long it takes to fetch a whole column of a table; 0 where that is no matter."""
        ...

    @property
    def counts_keys(self) -> CountsKeys:
        """Where rows are counted by a key: `here`, since columns come out whole fast; `there`; `never`, since deltas
        are joined there anyway."""
        ...

    def layout(self, table: str, attribute: str, version: int | None = None) -> TableLayout | None:
        """How rows lie in blocks that can be skipped by an attribute; `None` where nobody knows."""
        ...

    def sample(self, table: str, attribute: str, most: int) -> pa.ChunkedArray:
        """Values of a column: all of them, or if there are more than `most`, about so many at random."""
        ...

    def run(
        self,
        plan: Operator,
        *,
        versions: Mapping[str, int] | None = None,
        given: Mapping[str, pa.Table] | None = None,
        fragments: Mapping[Slot, Ranges] | None = None,
    ) -> pa.Table:
        """The rows of a plan, columns named and ordered as its attributes.

        `versions` says which version of which table is read (default: the newest). `given` has further tables by
        name. `fragments`: scans of a slot's table have another column, `fragment_column(slot)`, with a row's
        fragment.
        """
        ...

    def lookup(
        self, asked: KeyLookup, keys: Sequence[pa.Array], *, versions: Mapping[str, int], most: int
    ) -> pa.Table | None:
        """The rows that have these keys; `None` if there are more than `most`, or where a statement costs so much
        that joins are better run as a whole."""
        ...

    def tasks(self) -> tuple[int, int] | None:
        """How many tasks of what runs now are done, of how many; `None` where nothing runs or that is not known."""
        ...

    def changes(
        self,
        table: str,
        after: int,
        upto: int,
        *,
        columns: Sequence[str] | None = None,
        condition: Scalar | None = None,
    ) -> TableDelta:
        """What changed between two versions. Refused with the code `no-changes` where the backend has forgotten.

        Rows for which the condition, which reads attributes by name, is not true need not come along.
        """
        ...

    def news(self, seen: Mapping[str, int], wanted: Mapping[str, WantedRows]) -> News:
        """What has happened to tables since these versions; refused as `changes` is."""
        ...

    def update(self, table: str, insert: pa.Table | None, delete: pa.Table | None) -> int:
        """Change a table: all of it or nothing; the version it has then. Deletes one row for each row given."""
        ...


def news_by_table(backend: Backend, seen: Mapping[str, int], wanted: Mapping[str, WantedRows]) -> News:
    """`news` of a backend whose tables are asked one by one."""
    now = backend.versions(tuple(seen))
    deltas = {}
    for table, version in now.items():
        if version != seen[table]:
            asked = wanted[table]
            columns = None if asked.columns is None else sorted(asked.columns)
            deltas[table] = backend.changes(
                table, seen[table], version, columns=columns, condition=asked.condition
            )
    return News(now, deltas)


def one_piece(column: pa.ChunkedArray) -> pa.Array:
    """All values of a column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def fragment_column(slot: Slot) -> str:
    """The name of the column that scans have beside those of the table."""
    return f"_fragment_{slot.attribute}"
