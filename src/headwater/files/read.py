"""A file's rows: first as they are written, then, when the types are known, as values.

The two steps are apart because the type of a column that nobody declared depends on the texts of all files
(see `alike`).

>>> import tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp(), "cost.csv")
>>> _ = path.write_text("item,price\\npen,2.5\\nink,ten\\n")
>>> contents = read(Origin(path), "cost", ("item", "price"), (STRING, FLOAT))
>>> contents.rows, contents.header
(2, True)
>>> typed(contents, (STRING, FLOAT))
Traceback (most recent call last):
headwater.errors.DataError: error[wrong-type]: ...cost.csv, line 3, column price: 'ten' is no float: ...
 --> ...cost.csv:3:5
  |
3 | ink,ten
  |     ^^^
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.errors import DataError, Place
from headwater.files.cells import BadCell, convert
from headwater.files.formats import SOUFFLE, Format, format_of
from headwater.files.header import Arrangement, arrange, settle, wrong_names
from headwater.files.json_rows import read_json, type_of_values, values_of
from headwater.files.text import Layout, TextFile
from headwater.values.arrow import arrow_type
from headwater.values.scalars import Misfit, show
from headwater.values.types import FLOAT, STRING, Type

__all__ = ["FLOAT", "STRING", "Contents", "Origin", "read", "typed"]


@dataclass(frozen=True)
class Origin:
    """A file to read; `None` for the path is standard input. Without a format, the extension tells."""

    path: Path | None
    format: Format | None = None

    def __str__(self) -> str:
        """What errors call it."""
        return str(self.path) if self.path is not None else "<stdin>"

    def bytes(self) -> bytes:
        """All of the file, unpacked."""
        try:
            data = self.path.read_bytes() if self.path is not None else sys.stdin.buffer.read()
            return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        except (OSError, EOFError, zlib.error) as error:
            raise unreadable(str(self), error) from None


@dataclass(frozen=True)
class Contents:
    """What a file holds for a relation: columns in the relation's order, as they are written.

    `kind` says how: `text` (Arrow columns of strings), `json` (sequences of Python values) or `table` (Arrow
    columns). `change_types` and `commit_versions` are those of a change feed.
    """

    origin: str
    relation: str
    names: tuple[str, ...]
    kind: str
    columns: tuple[Any, ...]
    rows: int
    header: bool = False
    change_types: Any = None
    commit_versions: Any = None
    place: Callable[[int, int], Place | None] = field(default=lambda row, column: None, compare=False)


def read(
    origin: Origin,
    relation: str,
    columns: Sequence[str],
    types: Sequence[Type | None],
    *,
    advance: Callable[[int], None] | None = None,
) -> Contents:
    """The rows of a relation with these columns, as the file has them; `advance` is told of bytes read."""
    chosen = origin.format or (format_of(origin.path) if origin.path is not None else None) or SOUFFLE
    if chosen.kind == "text":
        return _read_text(origin, chosen, relation, tuple(columns), types, advance)
    if chosen.kind in ("json", "jsonl"):
        names, values, rows = read_json(origin.bytes(), str(origin), lines=chosen.kind == "jsonl")
        kind = "json"
    else:
        table = _read_table(origin, chosen)
        names, values, rows, kind = tuple(table.column_names), list(table.columns), table.num_rows, "table"
    if advance is not None and origin.path is not None:
        advance(origin.path.stat().st_size)
    if rows == 0:
        return Contents(str(origin), relation, tuple(columns), kind, ((),) * len(columns), 0)
    found = arrange(names, columns) if names is not None else _in_order(len(values), len(columns))
    if found is None:
        shown = names if names is not None else [f"{len(values)} without names"]
        raise wrong_names(str(origin), shown, relation, columns)
    return _contents(origin, relation, columns, kind, values, rows, found)


def _in_order(width: int, arity: int) -> Arrangement | None:
    return Arrangement(tuple(range(arity))) if width == arity else None


def _contents(
    origin: Origin,
    relation: str,
    columns: Sequence[str],
    kind: str,
    values: Sequence[Any],
    rows: int,
    found: Arrangement,
    **more: Any,
) -> Contents:
    return Contents(
        str(origin),
        relation,
        tuple(columns),
        kind,
        tuple(values[i] for i in found.order),
        rows,
        change_types=None if found.change_type is None else values[found.change_type],
        commit_versions=None if found.commit_version is None else values[found.commit_version],
        **more,
    )


def _read_text(
    origin: Origin,
    chosen: Format,
    relation: str,
    columns: tuple[str, ...],
    types: Sequence[Type | None],
    advance: Callable[[int], None] | None,
) -> Contents:
    path = str(origin)
    data = origin.bytes().removeprefix(b"\xef\xbb\xbf")
    chosen, cells = settle(chosen, data, path, columns)
    found = arrange(cells, columns) if chosen.header else Arrangement(tuple(range(len(columns))))
    if found is None:
        raise wrong_names(path, cells, relation, columns)
    width = len(cells) if chosen.header else max(1, len(columns))
    keep_blank = not chosen.quoted and len(columns) == 1 and types[0] in (STRING, None)
    layout = Layout(chosen.delimiter, chosen.quoted, width, bool(chosen.header), keep_blank)
    file = TextFile(path, data, layout)
    values = file.columns(advance)
    if not columns:  # a relation without columns: a line `()` says that it holds
        _only_units(file, values[0])
    rows = len(values[0])

    def place(row: int, column: int) -> Place | None:
        return file.place(row, found.order[column])

    return _contents(
        origin, relation, columns, "text", values, rows, found, header=bool(chosen.header), place=place
    )


def _only_units(file: TextFile, texts: Any) -> None:
    for row, text in enumerate(texts.to_pylist()):
        if text.strip() != "()":
            place = file.place(row, 0)
            raise DataError("wrong-arity", f"{file.path}: {show(text)} is not ()", place=place)


def _read_table(origin: Origin, chosen: Format) -> Any:
    try:
        if chosen.kind == "parquet":
            from pyarrow import parquet

            return parquet.read_table(pa.BufferReader(origin.bytes()))
        data = pa.BufferReader(origin.bytes())
        try:
            return pa.ipc.open_file(data).read_all()
        except pa.ArrowInvalid:
            data.seek(0)
            return pa.ipc.open_stream(data).read_all()
    except (pa.ArrowException, OSError) as error:
        raise unreadable(str(origin), error) from None


def unreadable(path: str, error: Exception) -> DataError:
    """The error for a file that cannot be read at all."""
    reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    return DataError("unreadable", f"cannot read {path}: {reason}")


# ------------------------------------------------------------------ values


def typed(contents: Contents, types: Sequence[Type]) -> Any:
    """The rows as an Arrow table with columns of these types; a list of `()` if there are no columns."""
    if not contents.names:
        return [()] * contents.rows
    arrays = []
    for column, (values, type) in enumerate(zip(contents.columns, types, strict=True)):
        name = contents.names[column]
        if contents.kind == "text":
            try:
                arrays.append(convert(values, type))
            except BadCell as bad:
                raise bad_cell(contents, bad.row, column, type, bad.reason) from None
        elif contents.kind == "json":
            try:
                arrays.append(pa.array(values_of(values, type), arrow_type(type)))
            except Misfit as misfit:
                where = f"{contents.origin}, row {misfit.row + 1}, column {name}"
                raise DataError(misfit.code, f"{where}: {misfit.reason}, expected {type}") from None
        else:
            arrays.append(values)
    return pa.table(arrays, names=list(contents.names))


def own_type(contents: Contents, column: int) -> Type | None:
    """The type that the file itself gives a column; `None` if it is text, or without rows."""
    from headwater.values.codec import infer_types

    if contents.kind == "text" or contents.rows == 0:
        return None
    name, values = contents.names[column], contents.columns[column]
    if contents.kind == "table":
        return infer_types(pa.table([values], names=[name]), contents.origin)[0][0]
    try:
        return type_of_values(values)
    except Misfit as misfit:
        where = f"{contents.origin}, row {misfit.row + 1}, column {name}"
        raise DataError(misfit.code, f"{where}: {misfit.reason}", hint=misfit.hint) from None


def bad_cell(contents: Contents, row: int, column: int, type: Type, reason: str) -> DataError:
    """The error for a text that is no value of its column's type."""
    place = contents.place(row, column)
    text = contents.columns[column][row].as_py()
    line = f", line {place.line}" if place is not None else f", row {row + 1}"
    hint = None
    if row == 0 and not contents.header:
        hint = f"if this line is a header, let it name the columns: {', '.join(contents.names)}"
    return DataError(
        "wrong-type",
        f"{contents.origin}{line}, column {contents.names[column]}: {show(text)} is no {type}: {reason}",
        place=place,
        hint=hint,
    )
