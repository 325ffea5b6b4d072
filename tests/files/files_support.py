"""Files as tests write and read them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwater.files.contents import FactFile
from headwater.files.formats import Format
from headwater.files.load import load
from headwater.files.read import read
from headwater.values.types import (
    Type,
    parse_type,
)


def rows(path: Path, columns: str, format: Format | None = None) -> list[tuple[Any, ...]]:
    """Read a file for a relation `r`, its columns given as `name: type`; without a type, it is inferred."""
    named = [column.strip().partition(": ") for column in columns.split(",") if column.strip()]
    types = tuple(parse_type(type) if type else None for _, _, type in named)
    names = tuple(name for name, _, _ in named)
    contents = read(FactFile(path, format), "r", names, types)

    def types_of(known: Mapping[str, tuple[Type | None, ...]]) -> Mapping[str, tuple[Type | None, ...]]:
        return {"r": known.get("r", types)}

    (table,) = load([contents], types_of)
    if isinstance(table, list):
        return table
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def file(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
