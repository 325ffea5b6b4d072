"""Tables as files. A file is there whole or not at all: it is written beside its place, then renamed.

Souffle's plain text has no quotes: a string with a delimiter or a line end in it cannot be told from two
cells or lines, so it is refused there; CSV holds any string. A spreadsheet computes cells that begin with `=`, `+`,
`-`, `@`, a tab or a carriage return, whoever put them there; on request they get a `'` in front, which readers that
are no spreadsheets then find in the string.

>>> import pyarrow as pa
>>> table = pa.table({"x": [1, 2], "y": ["a", "b, c"]})
>>> print(encode(table, 2, WRITTEN["csv"]).to_pybytes().decode(), end="")
x,y
1,a
2,"b, c"
>>> print(encode(table, 2, SOUFFLE).to_pybytes().decode().expandtabs(4), end="")
1   a
2   b, c
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError
from headwater.files.cells import to_text
from headwater.files.formats import SOUFFLE, WRITTEN, Format
from headwater.files.json_rows import write_json
from headwater.files.text import MARK
from headwater.values.arrow_types import column_type
from headwater.values.arrow_values import python_values

__all__ = ["SOUFFLE", "WRITTEN", "encode", "write"]

_FORMULA = "^[=+@\t\r-]"
_CANNOT_WRITE = "give a folder that you may write to, with room left on its disk: -D"
_ROWS = 1 << 18  # rows made text at a time


def write(path: Path, table: Any, rows: int, format: Format) -> int:
    """Put the table into the file; return its size. `rows` counts those of a table without columns."""
    data = encode(table, rows, format, name=path.name)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        with open(beside, "xb") as file:
            file.write(data)
        os.replace(beside, path)
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        with contextlib.suppress(OSError, ValueError):
            beside.unlink()
        reason = getattr(error, "strerror", None) or error
        raise DataError("cannot-write", f"cannot write {path}: {reason}", hint=_CANNOT_WRITE) from None
    return len(data)


def encode(table: Any, rows: int, format: Format, *, name: str = "the output") -> Any:
    """The bytes of a file that holds the table, as an Arrow buffer."""
    if format.kind == "text":
        data = b"".join(_text_parts(table, rows, format, name))
        return pa.py_buffer(MARK + data if data.startswith(MARK) else data)  # readers drop the first one
    if format.kind in ("json", "jsonl"):
        values = [python_values(column, column_type(column, ours=True)) for column in table.columns]
        found = list(zip(*values, strict=True)) if values else [()] * rows
        return pa.py_buffer(write_json(table.column_names, found).encode())
    if not table.column_names and rows:
        raise DataError(
            "unsupported",
            f"{name}: a {format.kind} file cannot hold rows without columns",
            hint="write text or JSON",
        )
    sink = pa.BufferOutputStream()
    if format.kind == "parquet":
        from pyarrow import parquet

        try:
            parquet.write_table(table, sink)
        except pa.ArrowNotImplementedError as error:  # what Parquet lacks is known to its writer alone
            message = f"{name}: Parquet does not hold all of its columns: {error}"
            hint = "write Arrow, CSV or JSON; or make months an int in a rule"
            raise DataError("unsupported-type", message, hint=hint) from None
    else:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


# ------------------------------------------------------------------ text


def _text_parts(table: Any, rows: int, format: Format, name: str) -> Any:
    if not table.column_names:
        yield b"()\n" * rows
        return
    if format.header:
        names = [pa.array([column], pa.string()) for column in table.column_names]
        yield _lines(names, format, name).to_pybytes()
    for start in range(0, table.num_rows, _ROWS):
        part = table.slice(start, _ROWS).combine_chunks()
        columns = [_texts(_whole(column), format) for column in part.columns]
        yield _lines(columns, format, name).to_pybytes()


def _texts(column: Any, format: Format) -> Any:
    texts = to_text(column, short_floats=format.short_floats)
    if not format.escape_formulas or not pa.types.is_string(column.type):
        return texts  # numbers may begin with `-`, and are none
    formula = pc.match_substring_regex(texts, _FORMULA)
    return pc.if_else(formula, pc.binary_join_element_wise("'", texts, ""), texts)


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _lines(columns: list[Any], format: Format, name: str) -> Any:
    """The records of all rows, one after another: the values of an Arrow array lie in memory just so."""
    delimiter = format.delimiter
    if format.quoted:
        cells = [_quoted(column, delimiter) for column in columns]
    else:
        for column in columns:
            _refuse_breaks(column, delimiter, name)
        cells = [pc.fill_null(column, "") for column in columns]
    end = pa.scalar("\n", pa.large_string())
    wide = [cell.cast(pa.large_string()) for cell in cells]
    joined = pc.binary_join_element_wise(*wide, pa.scalar(delimiter, pa.large_string()))
    joined = pc.binary_join_element_wise(joined, end, pa.scalar("", pa.large_string()))
    return _values(joined)


def _values(array: Any) -> Any:
    first, last = array.offset, array.offset + len(array)
    _, offsets, values = array.buffers()
    ends = memoryview(offsets).cast("q")
    return values[ends[first] : ends[last]] if values is not None else pa.py_buffer(b"")


def _quoted(column: Any, delimiter: str) -> Any:
    """Quotes where a cell needs them: an empty text does, since an empty cell is NULL."""
    special = pc.match_substring_regex(column, f'[\r\n"]|{re.escape(delimiter)}|^$')
    if pc.any(special).as_py():
        doubled = pc.replace_substring(column, '"', '""')
        column = pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), column)
    return pc.fill_null(column, "")


def _refuse_breaks(column: Any, delimiter: str, name: str) -> None:
    broken = pc.match_substring_regex(column, f"[\r\n]|{re.escape(delimiter)}")
    if pc.any(broken).as_py():
        value = column.filter(broken)[0].as_py()
        shown = repr(value) if len(value) < 60 else repr(value[:57]) + "..."
        raise DataError(
            "unquotable",
            f"{name}: {shown} holds a delimiter or a line end, which plain text cannot tell from its own",
            hint="write CSV, which has quotes: --format csv, or rfc4180=true in `.output`",
        )
