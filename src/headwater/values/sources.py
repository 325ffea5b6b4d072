"""Rows in whatever form a user holds them, as columns.

A source is an iterable of tuples, lists or dicts by column name; a 2-D numpy array; a pandas or polars
DataFrame; an Arrow Table, RecordBatch or RecordBatchReader, or what else offers an Arrow stream. What users give is
put in the relation's order by `in_order`, which knows whose names count (see `names`); `read_source` itself takes
columns by name when their names are the relation's in any order, else by position.
pandas and polars are recognised by name and never imported here.

A table may have texts of labelled nulls in columns of their own (`label_columns`).

A NaN in a pandas float column is the value NaN (pandas cannot tell it from a missing one); its other missing
values are nulls.

>>> source = read_source([{"dst": "b", "src": "a"}], "link", ("src", "dst"))
>>> source.columns, source.count
([['a'], ['b']], 1)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from headwater.errors import DataError
from headwater.values.integer_rows import integer_columns
from headwater.values.label_columns import merged
from headwater.values.names import made_up, order_by_name
from headwater.values.scalars import class_name, is_missing, show
from headwater.values.special import LabelledNull
from headwater.values.types import PYTHON_TYPES
from headwater.values.value_column import ValueColumn, classes_of

FEWEST_ROWS_IN_COLUMNS = 64
"""So many rows are made columns before anything else is done with them."""
FEWEST_COLUMNS_FLATTENED = 4
ROWS_FLATTENED = 1 << 9
"""How rows of some columns are taken apart: so many at a time, which the processor's cache holds."""
KEEP_NULLS = b"headwater.keep_nulls"
"""In the metadata of an Arrow schema: see `keeping_nulls`."""


@dataclass(frozen=True)
class SourceColumns:
    """Columns of equal length: Python lists, numpy arrays or Arrow arrays; and their names, if any."""

    columns: list[Any]
    count: int
    names: tuple[str, ...] | None = None
    index: tuple[str, ...] = ()
    """Names beside those of the columns: of a pandas index."""

    keep_nulls: bool = False
    """Whether columns take nulls from now on, where these rows have some."""

    def __len__(self) -> int:
        return self.count

    def nullable(self) -> tuple[bool, ...]:
        """Which columns have a null or a labelled null."""
        return tuple(map(_has_null, self.columns))

    def row(self, place: int) -> list[Any]:
        """The values of one row, for a message."""
        values = [column[place] for column in self.columns]
        return [value.as_py() if hasattr(value, "as_py") else value for value in values]


def keeping_nulls(table: Any) -> Any:
    """An Arrow table whose nulls are to be taken: the columns they stand in take nulls from now on."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), KEEP_NULLS: b"1"})


def in_columns(data: Any) -> Any:
    """Many tuples or lists as columns, for those who read them more than once; anything else, and rows that are not
    all as long, as they are."""
    if type(data) is not list or len(data) < FEWEST_ROWS_IN_COLUMNS:
        return data
    integers = integer_columns(data)
    if integers is not None:
        return SourceColumns(integers, len(data))
    if not set(map(type, data)) <= {tuple, list}:
        return data
    lengths = set(map(len, data))
    arity = lengths.pop()
    return data if lengths or not arity else SourceColumns(_transposed(data, arity), len(data))


def columns_of(data: Any, relation: str) -> SourceColumns:
    """Rows as columns."""
    return data if isinstance(data, SourceColumns) else _read(data, relation, None)


def held(data: Any, relation: str) -> Any:
    """Rows as they are given, or as columns where they are a table: what can be read more than once."""
    return data if isinstance(data, (list, tuple, set, frozenset)) else _read(data, relation, None)


def names_of(data: Any) -> tuple[str, ...] | None:
    """The names that rows come with, those made up by a library apart; of rows that were `held`."""
    if isinstance(data, SourceColumns):
        names = data.names
    else:
        names = _row_names(data[0]) if isinstance(data, (list, tuple)) and data else None
    return None if names is None or made_up(names) else names


def _row_names(row: Any) -> tuple[str, ...] | None:
    """The names in one row: of a mapping, a named tuple, or a row of Spark's, SQLAlchemy's or sqlite3's."""
    if type(row) in (tuple, list):
        return None
    if isinstance(row, Mapping):
        return tuple(map(str, row))
    names = getattr(row, "_fields", None) or getattr(row, "__fields__", None)
    if names is None and hasattr(row, "keys") and hasattr(row, "__getitem__"):
        names = row.keys()
    return None if names is None else tuple(map(str, names))


def in_order(data: Any, relation: str, columns: Sequence[str], *, declared: bool) -> Any:
    """Rows that were `held`, with their columns in the relation's order, as their names say.

    Refuses names that do not fit: see `names`. `declared` tells whether the relation's names are a promise.
    """
    if isinstance(data, SourceColumns):
        names, source = data.names, data
    else:
        names, source = _row_names(data[0]) if isinstance(data, (list, tuple)) and data else None, None
        if names is not None and set(names) == set(columns):
            return [_ordered(row, columns) for row in data]
    if names is None:
        return data
    found = f"the rows given for {relation} have the columns"
    index = source.index if source is not None else ()
    order = order_by_name(names, columns, declared=declared, relation=relation, found=found, index=index)
    source = _read(data, relation, None) if source is None else source
    if order is None:
        return replace(source, names=None, index=())
    return replace(source, columns=[source.columns[i] for i in order], names=tuple(columns), index=())


def _ordered(row: Any, columns: Sequence[str]) -> Any:
    """A row with names in the relation's order. Mappings are looked at when they are read, as all else is."""
    names = None if isinstance(row, Mapping) else _row_names(row)
    if names is None or set(names) != set(columns):
        return row
    return tuple(row[names.index(column)] for column in columns)


def all_special(values: Any) -> bool:
    """Whether a column holds nothing but nulls and labelled nulls, so that its type need not be known."""
    if isinstance(values, (list, np.ndarray)):
        return all(is_missing(value) or isinstance(value, LabelledNull) for value in values)
    return bool(values.null_count == len(values))


def read_source(data: Any, relation: str, columns: Sequence[str]) -> SourceColumns:
    """The columns of `data` in the order of `columns`; raises `DataError` if they are not as many."""
    source = data if isinstance(data, SourceColumns) else _read(data, relation, columns)
    if source.names is not None and len(source.columns) == len(columns):
        order = _by_name(source.names, columns)
        return SourceColumns([source.columns[i] for i in order], source.count, tuple(columns))
    if len(source.columns) != len(columns):
        raise DataError(
            "wrong-arity",
            f"{relation} has {_columns(len(columns))} ({', '.join(columns)}), the rows given have "
            f"{len(source.columns)}",
        )
    return source


def _by_name(names: Sequence[str], columns: Sequence[str]) -> list[int]:
    if set(names) == set(columns) and len(set(names)) == len(names):
        return [names.index(column) for column in columns]
    return list(range(len(columns)))


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _read(data: Any, relation: str, columns: Sequence[str] | None) -> SourceColumns:
    source = _read_table(data, relation)
    if source is None:
        return _read_rows(data if isinstance(data, (list, tuple)) else list(data), relation, columns)
    if source.names is None:
        return source
    found, names = merged(source.columns, source.names)
    return replace(source, columns=found, names=names)


def _read_table(data: Any, relation: str) -> SourceColumns | None:
    """The columns of an array, a frame or a table; `None` for rows one by one."""
    if isinstance(data, np.ndarray):
        return _read_array(data, relation)
    library = type(data).__module__.partition(".")[0]
    if library == "pandas" and hasattr(data, "iloc") and hasattr(data, "columns"):
        return _read_pandas(data, relation)
    if library == "polars" and hasattr(data, "collect"):
        data = data.collect()
    if library == "polars" and hasattr(data, "to_arrow") and hasattr(data, "columns"):
        from headwater.values.data_frames import from_polars

        return _read_arrow(from_polars(data, relation), relation)
    if library == "pyarrow" or hasattr(data, "__arrow_c_stream__"):
        return _read_arrow(data, relation)
    if isinstance(data, (str, bytes, Mapping)) or not isinstance(data, Iterable):
        raise DataError(
            "wrong-arity",
            f"rows of {relation} cannot be read from {class_name(data)}",
            hint="give a list of tuples, a table or a data frame",
        )
    return None


# ------------------------------------------------------------------ tables


def _read_arrow(data: Any, relation: str) -> SourceColumns:
    import pyarrow as pa

    try:
        if isinstance(data, pa.RecordBatchReader):
            data = data.read_all()
        elif not isinstance(data, (pa.Table, pa.RecordBatch)):
            data = pa.table(data)
        keep = KEEP_NULLS in (data.schema.metadata or {})
        names = tuple(data.schema.names)
        return SourceColumns(list(sound(data).columns), data.num_rows, names, keep_nulls=keep)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise DataError(
            "unreadable",
            f"rows of {relation} cannot be read from {class_name(data)}: {str(error).partition(chr(10))[0]}",
            hint="give a table whose validate(full=True) passes",
        ) from error


def sound(data: Any) -> Any:
    """The Arrow data itself, after all that its buffers say was found to be so; raises `ValueError`.

    Arrow believes offsets, dictionary indices and lengths that come from outside, and reads wherever they point.
    The look at all of them costs a hundredth of what encoding the same rows does.
    """
    data.validate(full=True)
    for field in data.schema:
        _check_texts(field)
    return data


def _check_texts(field: Any) -> None:
    """Look at every name in a field and its type, which Arrow does not: raises `UnicodeDecodeError`."""
    _, type = field.name, field.type
    getattr(type, "tz", None)
    for number in range(type.num_fields):
        _check_texts(type.field(number))


def _read_pandas(frame: Any, relation: str) -> SourceColumns:
    import pyarrow as pa

    columns: list[Any] = []
    for i in range(frame.shape[1]):
        series = frame.iloc[:, i]
        if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iufb":
            columns.append(series.to_numpy())
        elif isinstance(series.dtype, np.dtype) and series.dtype.kind == "O":
            columns.append([None if _is_missing(value) else value for value in series.tolist()])
        else:
            columns.append(_series(series, relation))
            _read_arrow(pa.table([columns[-1]], names=[str(i)]), relation)
    index = tuple(str(name) for name in frame.index.names if name is not None)
    return SourceColumns(columns, frame.shape[0], _labels(frame.columns), index)


_UNHELD = {
    "period": "make it a timestamp: .dt.to_timestamp()",
    "interval": "keep its ends in two columns",
    "complex": "keep its parts in two columns",
}
"""Kinds of pandas columns that no relation holds, and what to do."""


def _series(series: Any, relation: str) -> Any:
    import pyarrow as pa

    kind = str(series.dtype)
    hint = next((hint for name, hint in _UNHELD.items() if kind.startswith(name)), None)
    try:
        if hint is None:
            return pa.Array.from_pandas(series.sparse.to_dense() if kind.startswith("Sparse") else series)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):  # as pandas' extensions please
        hint = "make it a type that Arrow has, too"
    raise DataError(
        "unsupported-type",
        f"{relation}, column {series.name}: a relation has no column of pandas' type {kind}",
        hint=hint,
    )


def _labels(labels: Any) -> tuple[str, ...] | None:
    """The names of a frame's columns; numbers are none."""
    listed = list(labels)
    if listed and all(isinstance(label, (int, np.integer)) for label in listed):
        return None
    return tuple(map(str, listed))


def _is_missing(value: object) -> bool:
    return is_missing(value) or isinstance(value, float) and value != value


def _read_array(array: Any, relation: str) -> SourceColumns:
    if array.ndim == 1 and array.dtype.names:
        fields = array.dtype.names
        return SourceColumns([array[name] for name in fields], array.shape[0], tuple(fields))
    if array.ndim != 2:
        raise DataError(
            "wrong-arity",
            f"rows of {relation} cannot be read from an array of {array.ndim} dimensions",
            hint="give a 2-D array: one row of it for each row",
        )
    return SourceColumns([array[:, i] for i in range(array.shape[1])], array.shape[0])


# ------------------------------------------------------------------ rows


def _read_rows(rows: Sequence[Any], relation: str, columns: Sequence[str] | None) -> SourceColumns:
    """Rows one by one; `columns` is `None` when the relation's are not known yet."""
    names: tuple[str, ...] | None = None
    if columns is None:
        if not rows:
            return SourceColumns([], 0)
        if isinstance(rows[0], Mapping):
            names = columns = tuple(rows[0])
    arity = len(columns) if columns is not None else _length(rows, 0, relation)
    classes = set(map(type, rows))
    if not classes <= {tuple, list}:
        rows = [_row(rows, i, relation, columns) for i in range(len(rows))]
    if set(map(len, rows)) - {arity}:
        wrong = next(i for i, row in enumerate(rows) if len(row) != arity)
        named = f" ({', '.join(columns)})" if columns else ""
        raise DataError(
            "wrong-arity",
            f"{relation}, row {wrong + 1}: {show(rows[wrong])} has {_columns(len(rows[wrong]))}, "
            f"expected {arity}{named}",
        )
    return SourceColumns(_transposed(rows, arity), len(rows), names)


def _transposed(rows: Sequence[Any], arity: int) -> list[Any]:
    """The columns of rows that all have this length; values by the hundred are moved at once, none by itself."""
    if arity < FEWEST_COLUMNS_FLATTENED:
        return [ValueColumn(map(itemgetter(i), rows)) for i in range(arity)]
    columns: list[Any] = [ValueColumn() for _ in range(arity)]
    for start in range(0, len(rows), ROWS_FLATTENED):
        values = list(chain.from_iterable(rows[start : start + ROWS_FLATTENED]))
        for i, column in enumerate(columns):
            column += values[i::arity]
    return columns


def _length(rows: Sequence[Any], place: int, relation: str) -> int:
    return len(_row(rows, place, relation, None))


def _row(rows: Sequence[Any], place: int, relation: str, columns: Sequence[str] | None) -> Any:
    row = rows[place]
    if isinstance(row, Mapping):
        if columns is None or set(row) != set(columns):
            expected = "a tuple like the rows before it" if columns is None else ", ".join(columns)
            message = f"its columns are {', '.join(map(str, row))}, expected {expected}"
            raise DataError("wrong-arity", f"{relation}, row {place + 1}: {message}")
        return [row[column] for column in columns]
    if isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, (str, bytes)):
        return row
    raise DataError(
        "wrong-arity",
        f"{relation}, row {place + 1}: {show(row)} is not a row",
        hint=f"a row is a tuple, also when it has one column: ({show(row)},)",
    )


def _has_null(column: Any) -> bool:
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufbSU":
        return False
    if isinstance(column, (list, np.ndarray)):
        if classes_of(column) <= _NEVER_NULL:
            return False
        return any(is_missing(value) or isinstance(value, LabelledNull) for value in column)
    return bool(column.null_count)


_NEVER_NULL = {kind for kind, _ in PYTHON_TYPES} | {tuple, list}
