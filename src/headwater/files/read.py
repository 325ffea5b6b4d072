"""A file's rows as they are written; `typed` makes values of them.

The two steps are apart because the type of a column that nobody declared depends on the texts of all files
(see `alike`).

>>> import tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp(), "cost.csv")
>>> _ = path.write_text("price,item\\n2.5,pen\\n3,ink\\n")
>>> contents = read(FactFile(path), "cost", ("item", "price"), (None, None))
>>> contents.header, [column.to_pylist() for column in contents.columns]
(True, [['pen', 'ink'], ['2.5', '3']])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from headwater.errors import DataError, Place
from headwater.files.contents import Contents, FactFile, unreadable
from headwater.files.formats import SOUFFLE, Format, format_of
from headwater.files.header import (
    Arrangement,
    are_repeated,
    are_words,
    arrange,
    likeness,
    refuse_header,
    settle,
)
from headwater.files.json_rows import read_json
from headwater.files.text import MARK, TextFile, TextLayout
from headwater.values.scalars import show
from headwater.values.sources import sound
from headwater.values.types import STRING, Type

__all__ = ["FactFile", "read"]


def read(
    origin: FactFile,
    relation: str,
    columns: Sequence[str],
    types: Sequence[Type | None],
    *,
    nullable: Sequence[bool | None] = (),
    named: bool = False,
    advance: Callable[[int], None] | None = None,
) -> Contents:
    """The rows of a relation with these columns, as the file has them; `advance` is told of bytes read.

    `nullable` tells which columns take nulls, `named` whether the names of the columns are declared.
    """
    chosen = origin.format or (format_of(origin.path) if origin.path is not None else None) or SOUFFLE
    if chosen.kind == "text":
        taking = [bool(takes) for takes in nullable] or [False] * len(columns)
        return _read_text(origin, chosen, relation, tuple(columns), types, taking, named, advance)
    if chosen.kind in ("json", "jsonl"):
        names, values, rows = read_json(origin.bytes(), str(origin), lines=chosen.kind == "jsonl")
        kind = "values"
    else:
        table = _read_table(origin, chosen)
        names, values, rows, kind = tuple(table.column_names), list(table.columns), table.num_rows, "table"
    if advance is not None and origin.path is not None:
        advance(origin.path.stat().st_size)
    if rows == 0:
        return Contents(str(origin), relation, tuple(columns), "values", ((),) * len(columns), 0)
    if names is not None:
        found = arrange(names, columns, named=named, relation=relation, path=str(origin))
    else:
        found = _in_order(origin, len(values), relation, columns)
    return _contents(origin, relation, columns, kind, values, rows, found)


def _in_order(origin: FactFile, width: int, relation: str, columns: Sequence[str]) -> Arrangement:
    if width != len(columns):
        raise DataError(
            "wrong-arity", f"{origin}: its rows have {width} values; {relation} has {', '.join(columns)}"
        )
    return Arrangement(tuple(range(width)))


def _contents(
    origin: FactFile,
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
    origin: FactFile,
    chosen: Format,
    relation: str,
    columns: tuple[str, ...],
    types: Sequence[Type | None],
    nullable: Sequence[bool],
    named: bool,
    advance: Callable[[int], None] | None,
) -> Contents:
    path = str(origin)
    data = origin.bytes().removeprefix(MARK)
    said, quoted = chosen.header, chosen.quoted
    chosen, cells = settle(chosen, data, path, columns)
    first_line = cells if said is None and not chosen.header else ()
    found = Arrangement(tuple(range(len(columns))))
    if chosen.header:
        found = arrange(cells, columns, named=named, relation=relation, path=path, said=bool(said))
    # Text that Souffle wrote into a .csv never has a header.
    suspected = are_words(first_line) and chosen.quoted == quoted
    alike = likeness(first_line, columns)
    if suspected and (alike == len(columns) or alike and len(first_line) != len(columns)):
        refuse_header(path, cells, relation, columns)
    width = len(cells) if chosen.header else max(1, len(columns))
    texts = [types[column] == STRING for column in range(len(columns))]
    keep_blank = len(columns) == 1 and (nullable[0] or not chosen.quoted and (texts[0] or types[0] is None))
    told_apart = [chosen.quoted and text and takes for text, takes in zip(texts, nullable, strict=True)]
    nulls = frozenset(found.order[column] for column, apart in enumerate(told_apart) if apart)
    layout = TextLayout(chosen.delimiter, chosen.quoted, width, bool(chosen.header), keep_blank, nulls)
    file = TextFile(path, data, layout)
    values = file.columns(advance)
    if not columns:  # a relation without columns: a line `()` says that it holds
        _only_units(file, values[0])
    rows = len(values[0])
    could_be = suspected and (alike or len(set(first_line)) == len(first_line))
    if could_be and not are_repeated(first_line, values):
        refuse_header(path, cells, relation, columns)

    def place(row: int, column: int) -> Place | None:
        return file.place(row, found.order[column])

    more = {"header": bool(chosen.header), "first_line": first_line, "place": place}
    return _contents(origin, relation, columns, "text", values, rows, found, **more)


def _only_units(file: TextFile, texts: Any) -> None:
    for row, text in enumerate(texts.to_pylist()):
        if text.strip() != "()":
            place = file.place(row, 0)
            raise DataError("wrong-arity", f"{file.path}: {show(text)} is not ()", place=place)


def _read_table(origin: FactFile, chosen: Format) -> Any:
    """The table in a Parquet or Arrow file, sound in all its parts: nothing was cast or decoded before that.

    Read in this thread: Arrow's readers on several threads were seen to wait for ever after an error in one of them.
    """
    data = origin.bytes()
    try:
        return sound(_parquet(data) if chosen.kind == "parquet" else _arrow(data))
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise unreadable(str(origin), error) from None


def _parquet(data: bytes) -> Any:
    from pyarrow import parquet

    file = parquet.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
    return file.read(use_threads=False)


def _arrow(data: bytes) -> Any:
    options = pa.ipc.IpcReadOptions(use_threads=False)
    if data.startswith(b"ARROW1"):
        return pa.ipc.open_file(pa.py_buffer(data), options=options).read_all()
    return pa.ipc.open_stream(pa.py_buffer(data), options=options).read_all()
