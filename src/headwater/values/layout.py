"""Which codes a row consists of: the logical columns that users see, and the code columns that the kernel sees.

This is the one place where the two are told apart. Everything above asks a relation's `Layout` how many codes its
rows have, where those of a column are, and for codes of rows and rows of codes. The kernel, and plans, know code
columns only. So far each logical column is one code column: NULL and labelled nulls are codes of their own in every
type (see `special`).

A layout also says which columns take nulls, and which can hold labelled ones: rows that break the former are refused,
and the latter get a column beside them with the texts, where tables are asked for `labels`.

>>> from headwater.values.types import INT, STRING
>>> layout, codec = Layout(("node", "cost"), (STRING, INT), (False, True)), Codec()
>>> rows = layout.encode(codec, [("a", 1), ("b", None)], "edge")
>>> layout.decode(codec, rows), layout.codes((1,))
([('a', 1), ('b', None)], (1,))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headwater.errors import DataError
from headwater.values.codec import Codec
from headwater.values.dictionary import Codes
from headwater.values.label_text import parse_label
from headwater.values.labelled import LABEL
from headwater.values.special import has_special
from headwater.values.types import Type, type_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Layout:
    """The columns of a relation with their types; whether they take nulls, and can hold labelled ones."""

    columns: tuple[str, ...]
    types: tuple[Type | None, ...]
    nullable: tuple[bool, ...] = ()
    labelled: tuple[bool, ...] = ()

    @property
    def arity(self) -> int:
        """How many logical columns there are."""
        return len(self.columns)

    @property
    def code_types(self) -> tuple[Type | None, ...]:
        """The type of each code; `None` where it is not known."""
        return self.types

    @property
    def code_arity(self) -> int:
        """How many codes a row has."""
        return len(self.columns)

    def code(self, column: int) -> int:
        """The code column of a column that is computed with, or compared."""
        return column

    def codes(self, columns: Iterable[int]) -> tuple[int, ...]:
        """The code columns of some logical columns (a key, a group), in their order."""
        return tuple(columns)

    def names(self, codes: Iterable[int]) -> tuple[str, ...]:
        """The names of the logical columns that code columns belong to, each once."""
        return tuple(dict.fromkeys(self.columns[code] for code in codes))

    def empty(self) -> Codes:
        """No rows."""
        return np.empty((0, self.code_arity), np.int64)

    # ------------------------------------------------------------------ values in

    def encode(self, codec: Codec, data: Any, relation: str, *, asked: bool = False) -> Codes:
        """The codes of rows in any form that `sources` knows; `relation` is for errors.

        Rows that are only `asked` for may have nulls in every column.
        """
        return codec.to_matrix(data, self.types, relation, self.columns, nullable=self._taking(asked))

    def find(self, codec: Codec, data: Any, relation: str, *, asked: bool = False) -> tuple[Codes, int]:
        """The codes of rows whose values are all known, and how many others there were; nothing is added."""
        return codec.find_rows(
            data, self.types, relation=relation, columns=self.columns, nullable=self._taking(asked)
        )

    def find_places(self, codec: Codec, data: Any, relation: str) -> tuple[Codes, NDArray[np.bool_]]:
        """As `find`, of rows that are asked for, and for every row whether it is among these."""
        return codec.find_places(
            data, self.types, relation=relation, columns=self.columns, nullable=self._taking(True)
        )

    def _taking(self, asked: bool) -> tuple[bool, ...]:
        return (True,) * self.arity if asked else self.nullable

    def restore(self, codec: Codec, table: pa.Table, relation: str) -> Codes:
        """The codes of rows that `table` gave with `labels`, here or in another process; further columns are left
        alone."""
        values = table.select(range(self.arity)).rename_columns(list(self.columns))
        rows = codec.from_table(values, self.types, relation, self.columns)
        further = self.further(table)
        for column, name in enumerate(self.columns):
            if name + LABEL in further.column_names:
                texts = further.column(name + LABEL).to_pylist()
                for row, text in enumerate(texts):
                    if text is not None:
                        rows[row, column] = codec.specials.code(parse_label(text))
        return rows

    def further(self, table: pa.Table) -> pa.Table:
        """What a table of rows says beside their values. (A value's column may have any name, also one of these.)"""
        return table.select(range(self.arity, table.num_columns))

    # ------------------------------------------------------------------ values out

    def decode(self, codec: Codec, rows: Codes) -> list[tuple[Any, ...]]:
        """The rows as Python tuples."""
        return codec.decode_rows(rows, self.types)

    def decode_column(self, codec: Codec, column: int, codes: Codes) -> list[Any]:
        """The values of one column, from its codes."""
        return codec.decode_column(np.ascontiguousarray(codes), self.types[column])

    def table(self, codec: Codec, rows: Codes, *, dictionary: bool = False, labels: bool = False) -> pa.Table:
        """The rows as an Arrow table; `dictionary` leaves strings dictionary-encoded, `labels` adds a column of texts
        for each that can hold a labelled null."""
        wanted = [column for column, holds in enumerate(self.labelled) if holds] if labels else []
        for column in wanted:
            self._refuse_taken(self.columns[column] + LABEL)
        return self._table(codec, rows, wanted, dictionary)

    def _refuse_taken(self, name: str) -> None:
        if name in self.columns:
            raise DataError(
                "reserved-column",
                f"labelled nulls are shown in a column {name}, and there is one of that name",
                hint="name the column differently, or take the rows as Python has them: rows()",
            )

    def stored(self, codec: Codec, rows: Codes) -> pa.Table:
        """The rows as an Arrow table that says all of them: with texts of the labelled nulls that there are."""
        holding = [
            column
            for column in range(self.arity)
            if has_special(rows[:, column]) and codec.specials.labelled(rows[:, column]).any()
        ]
        return self._table(codec, rows, holding, False)

    def _table(self, codec: Codec, rows: Codes, labels: Sequence[int], dictionary: bool) -> pa.Table:
        return codec.to_table(rows, self.columns, self.types, dictionary=dictionary, labels=labels)


def constant_code(codec: Codec, value: object) -> int:
    """The code of a constant of a rule, which has its own type."""
    return codec.encode_value(value, type_of(value))
