"""Values in, int64 codes through the engine, values out.

Every value inside is one int64. NULL, labelled nulls and a few numbers have special codes (see `special`); else an
int is itself, a bool 0 or 1, a float the bits of the float64, a date the days and a timestamp the microseconds since
1970 (UTC), a string or a list its position in an append-only dictionary. Rows are C-contiguous matrices of such
codes. Within one codec, two values of one type are equal exactly when their codes are; codes of strings, lists and
special values mean nothing to another codec.

What comes in is checked: each value against its column's type, and nothing is rounded or guessed (see
`scalars`). Rows are counted from 1 in messages.

>>> from headwater.values.types import INT, STRING
>>> codec = Codec()
>>> matrix = codec.to_matrix([("a", 1), ("b", 2)], (STRING, INT), "edge", ("node", "cost"))
>>> matrix.tolist(), codec.decode_rows(matrix, (STRING, INT))
([[0, 1], [1, 2]], [('a', 1), ('b', 2)])
>>> codec.find_rows([("b", 2), ("z", 1)], (STRING, INT), relation="edge", columns=("node", "cost"))
(array([[1, 2]]), 1)
>>> codec.to_matrix([("a", "1")], (STRING, INT), "edge", ("node", "cost"))
Traceback (most recent call last):
headwater.errors.DataError: error[wrong-type]: edge, row 1, column cost: '1' is a str, expected int
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.errors import DataError
from headwater.memory.budget import MemoryBudget
from headwater.values.columns import decode_column, encode_canonical, encode_column, entry_value
from headwater.values.dictionaries import Dictionaries
from headwater.values.dictionary import Codes
from headwater.values.inferred_types import infer_types
from headwater.values.scalars import (
    Misfit,
    canonical,
    fixed_code,
    fixed_value,
    is_coded,
    is_missing,
    is_wide,
    show,
)
from headwater.values.sources import SourceColumns, all_special, read_source
from headwater.values.special import (
    FIRST_PLAIN,
    LAST,
    LAST_PLAIN,
    NULL,
    UNKNOWN,
    LabelledNull,
    has_special,
    is_untyped,
    plain_float_code,
)
from headwater.values.types import FLOAT, INT, Type

__all__ = ["Codec", "infer_types"]

ROW_OBJECT, NUMBER_OBJECT = 64, 32
"""About what a tuple, and a number in it, take in memory."""
MOST_ROWS_ENCODED_SINGLY = 32


class Codec:
    """One dictionary of strings, one of lists, and the ways in and out."""

    def __init__(self, budget: MemoryBudget | None = None) -> None:
        """Start with empty dictionaries, which count in the budget."""
        self.budget = budget or MemoryBudget()
        self.dictionaries = Dictionaries(ask=self.budget.ask_to_keep)
        self.strings, self.lists = self.dictionaries.strings, self.dictionaries.lists
        self.specials = self.dictionaries.specials
        self.budget.keep(self)

    @property
    def nbytes(self) -> int:
        """About how much memory the dictionaries take."""
        return self.dictionaries.nbytes

    # -------------------------------------------------------------- one value

    def encode_value(self, value: object, type: Type | None) -> int:
        """The code of a value, which enters its dictionary if it is new."""
        plain = self._canonical(value, type)
        if plain is None or type is None or isinstance(plain, LabelledNull):
            return self.specials.code(plain)
        if is_coded(type):
            return self.dictionaries.of(type).code(plain)
        code = fixed_code(plain, type)
        return self.specials.code(plain if type == FLOAT else code) if is_wide(code, type) else code

    def find_value(self, value: object, type: Type | None) -> int | None:
        """The code of a value, or `None` if it is one never seen."""
        plain = self._canonical(value, type)
        if plain is None or type is None or isinstance(plain, LabelledNull):
            return self._known(self.specials.find(plain))
        if is_coded(type):
            found = self.dictionaries.of(type).find(plain)
            return None if found < 0 else found
        code = fixed_code(plain, type)
        if not is_wide(code, type):
            return code
        return self._known(self.specials.find(plain if type == FLOAT else code))

    def decode_value(self, code: int, type: Type | None) -> Any:
        """The value with this code."""
        if code <= LAST or type is None:
            return entry_value(self.specials.value(int(code)), type)
        return (
            self.dictionaries.of(type).decode([code])[0] if is_coded(type) else fixed_value(int(code), type)
        )

    @staticmethod
    def _known(code: int) -> int | None:
        return None if code == UNKNOWN else code

    # -------------------------------------------------------------- one column

    def encode_column(self, values: Sequence[Any], type: Type) -> Codes:
        """The codes of values that are canonical already, such as those `decode_column` gave."""
        return encode_canonical(values, type, self.dictionaries, intern=True)

    def decode_column(self, codes: Codes, type: Type | None) -> list[Any]:
        """The values with these codes."""
        return decode_column(codes, type, self.dictionaries)

    # -------------------------------------------------------------- rows

    def to_matrix(
        self,
        data: Any,
        types: Sequence[Type | None],
        relation: str,
        columns: Sequence[str],
        intern: bool = True,
        nullable: Sequence[bool] = (),
    ) -> Codes:
        """The rows of `data`, in any form that `sources` knows, as codes.

        Without `intern` no dictionary grows, and rows with a string or list never seen are left out. Nulls, and
        labelled ones, are refused in columns that are not `nullable` (none is if nothing is given).
        """
        few = self._few(data, types, intern, nullable)
        if few is not None:
            return few[0]
        source = read_source(data, relation, columns)
        return self._matrix(source, types, relation, columns, intern, nullable)[0]

    def find_places(
        self,
        data: Any,
        types: Sequence[Type | None],
        *,
        relation: str,
        columns: Sequence[str],
        nullable: Sequence[bool] = (),
    ) -> tuple[Codes, NDArray[np.bool_]]:
        """The rows of `data` whose values are all known, and for every row whether it is one of these."""
        source = read_source(data, relation, columns)
        codes, unknown = self._matrix(source, types, relation, columns, False, nullable)
        return codes, ~unknown

    def find_rows(
        self,
        data: Any,
        types: Sequence[Type | None],
        *,
        relation: str,
        columns: Sequence[str],
        nullable: Sequence[bool] = (),
    ) -> tuple[Codes, int]:
        """The rows of `data` whose values are all known, and how many others there were.

        No stored row can be equal to one of the others, so whoever deletes rows may ignore them.
        """
        few = self._few(data, types, False, nullable)
        if few is not None:
            return few
        source = read_source(data, relation, columns)
        codes, unknown = self._matrix(source, types, relation, columns, False, nullable)
        return codes, int(unknown.sum())

    def infer_types(
        self, data: Any, relation: str = "data"
    ) -> tuple[tuple[Type | None, ...], tuple[str, ...] | None]:
        """The types and names of the columns of `data`; see `inferred_types`."""
        return infer_types(data, relation)

    def encode_rows(
        self,
        rows: Sequence[Sequence[object]],
        types: Sequence[Type | None],
        *,
        relation: str,
        columns: Sequence[str],
    ) -> Codes:
        """The codes of Python rows."""
        return self.to_matrix(rows, types, relation, columns)

    def decode_rows(self, matrix: Codes, types: Sequence[Type | None]) -> list[tuple[Any, ...]]:
        """The rows of a matrix as Python tuples."""
        if len(types) == 0 or len(matrix) == 0:
            return [()] * len(matrix)
        each = ROW_OBJECT + sum(
            8 if type is not None and is_coded(type) else 8 + NUMBER_OBJECT for type in types
        )
        self.budget.ask(len(matrix) * each, f"{len(matrix):,} rows as Python tuples")
        values = [
            self.decode_column(np.ascontiguousarray(matrix[:, i]), type) for i, type in enumerate(types)
        ]
        return list(zip(*values, strict=True))

    def from_table(
        self, table: Any, types: Sequence[Type | None], relation: str, columns: Sequence[str]
    ) -> Codes:
        """The codes of an Arrow table's rows; nulls are taken in every column."""
        return self.to_matrix(table, types, relation, columns, nullable=(True,) * len(columns))

    def to_table(
        self,
        matrix: Codes,
        columns: Sequence[str],
        types: Sequence[Type | None],
        *,
        dictionary: bool = False,
        labels: Sequence[int] = (),
    ) -> Any:
        """The rows of a matrix as an Arrow table; see `arrow.to_table`."""
        from headwater.values.arrow import to_table

        self.budget.ask(16 * len(matrix) * len(types), f"{len(matrix):,} rows as an Arrow table")
        return to_table(matrix, columns, types, self.dictionaries, dictionary=dictionary, labels=labels)

    # --------------------------------------------------------------

    def _canonical(self, value: object, type: Type | None) -> Any:
        try:
            if type is None and not (is_missing(value) or isinstance(value, LabelledNull)):
                raise Misfit(f"the type of {show(value)} is not known", code="unknown-type")
            return canonical(value, type or INT)
        except Misfit as misfit:
            raise DataError(misfit.code, f"{misfit.reason}, expected {type}", hint=misfit.hint) from None

    def _few(
        self, data: Any, types: Sequence[Type | None], intern: bool, nullable: Sequence[bool]
    ) -> tuple[Codes, int] | None:
        """A few tuples of plain ints, floats and strings, value by value: for one row the columnar way costs ten
        times as much. Anything else, and anything wrong, is left to that: `None`."""
        if type(data) is not list or len(data) > MOST_ROWS_ENCODED_SINGLY:
            return None
        code = self.strings.code if intern else self.strings.find
        names = [None if expected is None else expected.name for expected in types]
        rows = []
        unknown = 0
        for values in data:
            if type(values) is not tuple or len(values) != len(types):
                return None
            row = []
            known = True
            for column, value in enumerate(values):
                kind, name = type(value), names[column]
                if kind is int and name == "int" and FIRST_PLAIN <= value <= LAST_PLAIN:
                    row.append(value)
                elif kind is str and name == "string" and value.isascii():
                    row.append(code(value))
                    known = known and row[-1] != -1
                elif kind is float and name == "float" and (bits := plain_float_code(value)) is not None:
                    row.append(bits)
                elif value is None and nullable and nullable[column]:
                    row.append(NULL)
                else:
                    return None
            if known:
                rows.append(row)
            else:
                unknown += 1
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(types)), unknown

    def _matrix(
        self,
        source: SourceColumns,
        types: Sequence[Type | None],
        relation: str,
        columns: Sequence[str],
        intern: bool,
        nullable: Sequence[bool],
    ) -> tuple[Codes, NDArray[np.bool_]]:
        """The rows whose values are all known, and which of all rows are others."""
        self.budget.ask(
            8 * source.count * (len(columns) + 1), f"taking in {source.count:,} rows of {relation}"
        )
        matrix = np.empty((source.count, len(columns)), dtype=np.int64)
        unknown = np.zeros(source.count, dtype=bool)
        if source.count:
            for i, (values, type) in enumerate(zip(source.columns, types, strict=True)):
                matrix[:, i] = self.encode_given(values, type, relation, columns[i], intern)
            special = has_special(matrix)  # of all columns at once: few rows cost less than asking for each
            for i, type in enumerate(types):
                codes = matrix[:, i]
                if special and not (nullable and nullable[i]) and has_special(codes):
                    self._refuse_nulls(codes, source, relation, columns[i], type)
                if special and not intern:
                    unknown |= codes == UNKNOWN
                if not intern and type is not None and is_coded(type):
                    unknown |= codes == -1
        return (np.ascontiguousarray(matrix[~unknown]) if unknown.any() else matrix), unknown

    def encode_given(self, values: Any, type: Type | None, relation: str, column: str, intern: bool) -> Codes:
        """The codes of a column as a source gives it; what does not fit is refused with its place."""
        try:
            if type is not None:
                return self._encode(values, type, intern)
            if all_special(values):
                return self._encode(values, INT, intern)
            if not intern:
                return self._find_untyped(values)
        except Misfit as misfit:
            raise misfit_error(misfit, type, relation, column) from None
        raise DataError(
            "unknown-type",
            f"{relation}, column {column}: its type is not known",
            hint=f"declare it: {relation}({column}: int, ...)",
        )

    def _find_untyped(self, values: Any) -> Codes:
        """Codes in a column without a type: it has nulls alone, so no row has another value."""
        given = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
        codes = [self.specials.find(value) if is_untyped(value) else UNKNOWN for value in given]
        return np.array(codes, np.int64)

    def _refuse_nulls(
        self, codes: Codes, source: SourceColumns, relation: str, column: str, type: Type | None
    ) -> None:
        nulls = self.specials.nulls(codes)
        if nulls.any():
            row = int(np.argmax(nulls))
            raise null_error(source.row(row), row, relation, column, type)

    def _encode(self, values: Any, type: Type, intern: bool) -> Codes:
        if isinstance(values, (list, np.ndarray)):
            return encode_column(values, type, self.dictionaries, intern=intern)
        from headwater.values.arrow import encode_arrow

        return encode_arrow(values, type, self.dictionaries, intern=intern)


def misfit_error(misfit: Misfit, type: Type | None, relation: str, column: str) -> DataError:
    """What is wrong with a value, and where it is."""
    where = f"{relation}, row {misfit.row + 1}, column {column}"
    expected = "" if type is None else f", expected {type}"
    return DataError(misfit.code, f"{where}: {misfit.reason}{expected}", hint=misfit.hint)


def null_error(
    values: Sequence[object], row: int, relation: str, column: str, type: Type | None
) -> DataError:
    """A null is in a column that takes none; `row` is counted from 0."""
    shown = ", ".join("null" if is_missing(value) else show(value) for value in values)
    return DataError(
        "null-value",
        f"{relation}, row {row + 1}, column {column}: there is no value (null), expected {type or 'one'}; "
        f"the row is ({shown})",
        hint=f"let the column have nulls, {relation}({column}: {type or 'int'}?, ...), or leave such rows out",
    )
