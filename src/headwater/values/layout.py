"""Which codes a row consists of: the logical columns that users see, and the code columns that the kernel sees.

This is the one place where the two are told apart. Everything above asks a relation's `Layout` how many codes its
rows have, where those of a column are, and for codes of rows and rows of codes. The kernel, and plans, know code
columns only. What the codes of a column mean, and how many there are, is its `Coding`; that of all types so far is
plain: one code a value. A column that holds more than its type's values (a missing one, say) takes a code more.

What must hold for a coding: two values are equal exactly when all their codes are. Then joins, keys and the index
over whole rows need not know of it.

>>> from headwater.values.types import INT, STRING
>>> layout, codec = Layout(("node", "cost"), (STRING, INT)), Codec()
>>> rows = layout.encode(codec, [("a", 1), ("b", 2)], "edge")
>>> rows.tolist(), layout.decode(codec, rows), layout.codes((1,))
([[0, 1], [1, 2]], [('a', 1), ('b', 2)], (1,))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headwater.values.codec import Codec, misfit_error
from headwater.values.dictionary import Codes
from headwater.values.scalars import Misfit, is_coded
from headwater.values.sources import read_source
from headwater.values.types import Type, type_of

if TYPE_CHECKING:
    import pyarrow as pa


class Coding(Protocol):
    """How the values of a column are codes, several for each value.

    `code_types` tells for each of these codes of which type it is one: where that has a dictionary, the code means
    something in this process only.
    """

    @property
    def code_types(self) -> tuple[Type, ...]:
        """The types of a value's codes."""
        ...

    def encode(self, values: Any, codec: Codec, intern: bool) -> Codes:
        """A row of codes for each value of a list, a numpy array or an Arrow array; raises `Misfit`.

        Without `intern` no dictionary grows, and a value never seen has a negative code first.
        """
        ...

    def decode(self, codes: Codes, codec: Codec) -> list[Any]:
        """The values."""
        ...

    def array(self, codes: Codes, codec: Codec) -> pa.Array:
        """The values as an Arrow array, for files and other processes; `encode` takes it back."""
        ...


@dataclass(frozen=True)
class Layout:
    """The columns of a relation with their types; a coding is given only for columns that are not plain."""

    columns: tuple[str, ...]
    types: tuple[Type | None, ...]
    codings: tuple[Coding | None, ...] = ()

    @property
    def arity(self) -> int:
        """How many logical columns there are."""
        return len(self.columns)

    @cached_property
    def plain(self) -> bool:
        """Whether every column is one code, so that logical columns and code columns are the same."""
        return not any(self.codings)

    @cached_property
    def code_types(self) -> tuple[Type | None, ...]:
        """The type of each code; `None` where it is not known."""
        if self.plain:
            return self.types
        coded = zip(self.codings, self.types, strict=True)
        return tuple(
            each for coding, type_ in coded for each in ((type_,) if coding is None else coding.code_types)
        )

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        codings = self.codings or (None,) * self.arity
        return (0, *accumulate(1 if coding is None else len(coding.code_types) for coding in codings))

    @property
    def code_arity(self) -> int:
        """How many codes a row has."""
        return self._ends[-1]

    def slice(self, column: int) -> slice:
        """The code columns of a logical column."""
        return slice(self._ends[column], self._ends[column + 1])

    def width(self, column: int) -> int:
        """How many codes a value of the column has."""
        return self._ends[column + 1] - self._ends[column]

    def code(self, column: int) -> int:
        """The one code column of a column that has to be plain: a number that is computed with, or compared."""
        assert self.width(column) == 1, f"{self.columns[column]} has {self.width(column)} codes"
        return self._ends[column]

    def codes(self, columns: Iterable[int]) -> tuple[int, ...]:
        """The code columns of some logical columns (a key, a group), in their order."""
        return tuple(code for c in columns for code in range(self._ends[c], self._ends[c + 1]))

    def names(self, codes: Iterable[int]) -> tuple[str, ...]:
        """The names of the logical columns that code columns belong to, each once."""
        owners = [column for column in range(self.arity) for _ in range(self.width(column))]
        return tuple(dict.fromkeys(self.columns[owners[code]] for code in codes))

    def empty(self) -> Codes:
        """No rows."""
        return np.empty((0, self.code_arity), np.int64)

    # ------------------------------------------------------------------ values in

    def encode(self, codec: Codec, data: Any, relation: str) -> Codes:
        """The codes of rows in any form that `sources` knows; `relation` is for errors."""
        if self.plain:
            return codec.to_matrix(data, self.types, relation, self.columns)
        return self._encoded(codec, data, relation, intern=True)[0]

    def find(self, codec: Codec, data: Any, relation: str) -> tuple[Codes, int]:
        """The codes of rows whose values are all known, and how many others there were; nothing is added."""
        if self.plain:
            return codec.find_rows(data, self.types, relation=relation, columns=self.columns)
        return self._encoded(codec, data, relation, intern=False)

    def constant(self, codec: Codec, column: int, value: object) -> tuple[int, ...]:
        """The codes of a constant that a rule has in this column."""
        coding = self.codings[column] if self.codings else None
        if coding is None:
            return (constant_code(codec, value),)
        return tuple(coding.encode([value], codec, True)[0].tolist())

    def _encoded(self, codec: Codec, data: Any, relation: str, intern: bool) -> tuple[Codes, int]:
        source = read_source(data, relation, self.columns)
        codec.budget.ask(8 * source.count * self.code_arity, f"taking in {source.count:,} rows of {relation}")
        rows = np.empty((source.count, self.code_arity), np.int64)
        known = np.ones(source.count, bool)
        if source.count == 0:
            return rows, 0
        for column, values in enumerate(source.columns):
            codes = rows[:, self.slice(column)] = self._column(codec, column, values, relation, intern)
            if not intern and self._may_be_unknown(column):
                known &= codes[:, 0] >= 0
        return (rows, 0) if known.all() else (np.ascontiguousarray(rows[known]), int((~known).sum()))

    def _column(self, codec: Codec, column: int, values: Any, relation: str, intern: bool) -> Codes:
        coding, type_ = self.codings[column], self.types[column]
        if coding is None:
            return codec.encode_given(values, type_, relation, self.columns[column], intern).reshape(-1, 1)
        try:
            return coding.encode(values, codec, intern)
        except Misfit as misfit:
            raise misfit_error(misfit, type_, relation, self.columns[column]) from None

    def _may_be_unknown(self, column: int) -> bool:
        type_ = self.types[column]
        return self.codings[column] is not None or (type_ is not None and is_coded(type_))

    # ------------------------------------------------------------------ values out

    def decode(self, codec: Codec, rows: Codes) -> list[tuple[Any, ...]]:
        """The rows as Python tuples."""
        if self.plain:
            return codec.decode_rows(rows, self.types)
        columns = [
            self.decode_column(codec, column, rows[:, self.slice(column)]) for column in range(self.arity)
        ]
        return list(zip(*columns, strict=True))

    def decode_column(self, codec: Codec, column: int, codes: Codes) -> list[Any]:
        """The values of one column, from a matrix of its codes."""
        coding, type_ = self.codings[column] if self.codings else None, self.types[column]
        if coding is not None:
            return coding.decode(codes, codec)
        assert type_ is not None, "rows without a type"
        return codec.decode_column(np.ascontiguousarray(codes[:, 0]), type_)

    def table(self, codec: Codec, rows: Codes, *, dictionary: bool = False) -> pa.Table:
        """The rows as an Arrow table; `dictionary` leaves strings dictionary-encoded."""
        if self.plain:
            return codec.to_table(rows, self.columns, self.types, dictionary=dictionary)
        import pyarrow as pa

        arrays = []
        for column, coding in enumerate(self.codings):
            codes = rows[:, self.slice(column)]
            if coding is not None:
                arrays.append(coding.array(codes, codec))
            else:
                plain = codec.to_table(codes, ("",), (self.types[column],), dictionary=dictionary)
                arrays.append(plain.column(0))
        return pa.table(arrays, names=list(self.columns))


def constant_code(codec: Codec, value: object) -> int:
    """The code of a constant of a rule, which has its own type, in a plain column."""
    type_ = type_of(value)
    assert type_ is not None, value
    return codec.encode_value(value, type_)
