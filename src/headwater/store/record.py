"""One committed version, and its payload in a frame.

    length of the JSON head (4 bytes), the head, padding to 8, the tables as Arrow streams one after another

The head holds the kind, the metadata, and name and length of each table. Nothing in a payload is code, and
nothing is unpickled. What JSON does to metadata happens here too: tuples come back as lists, keys as strings.

>>> rows = pa.table({"src": ["a"], "dst": ["b"]})
>>> record = Record(3, "apply", {"batch": 17}, {"insert/link": rows})
>>> again = decode(3, b"".join(encode(record)))
>>> again.kind, again.meta["batch"], again.tables["insert/link"].to_pylist()
('apply', 17, [{'src': 'a', 'dst': 'b'}])
"""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headwater.errors import StoreError
from headwater.store.arrow import read_stream, stream_bytes

_LENGTH = struct.Struct("<I")
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
MOST_LEVELS = 64
"""How deep lists and dicts of somebody else may be nested: what is written must be read again, at any stack."""


@dataclass(frozen=True)
class Record:
    """One committed version: what kind of change, JSON-able metadata, and tables by name."""

    version: int
    kind: str
    meta: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


class PayloadError(ValueError):
    """A payload that no `encode` made; the log says where it is."""


def json_text(value: object) -> str:
    """The value as JSON text in ASCII, refused if it has no such text.

    >>> json_text({"clock": (1, 2)})
    '{"clock":[1,2]}'
    """
    try:
        return _JSON.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _not_json(str(error)) from error


def json_copy(value: Mapping[str, Any]) -> Any:
    """The value as it will be when it is read from JSON text, and nobody else's.

    >>> json_copy({"clock": (1, 2)})
    {'clock': [1, 2]}
    """
    inside: Collection[Any] = [dict(value)]
    for _ in range(MOST_LEVELS + 1):
        inside = {id(part): part for one in inside for part in _nested(one)}.values()
    if inside:
        raise _not_json(f"it is nested more than {MOST_LEVELS} levels deep")
    return json.loads(json_text(dict(value)))


def _nested(value: Any) -> Iterator[Any]:
    """The lists and dicts in a list or dict."""
    parts = value.values() if isinstance(value, dict) else value
    return (part for part in parts if isinstance(part, dict | list | tuple))


def _not_json(why: str) -> StoreError:
    hint = "use only None, bool, int, float (finite), str, lists and dicts with str keys"
    return StoreError("not-json", f"metadata cannot be written as JSON: {why}", hint=hint)


def encode(record: Record) -> list[bytes | memoryview]:
    """The payload in parts, each a multiple of 8 bytes long (Arrow reads aligned data without copying)."""
    streams = [stream_bytes(table) for table in record.tables.values()]
    sizes = [[name, len(stream)] for name, stream in zip(record.tables, streams, strict=True)]
    head = json_text({"kind": record.kind, "meta": dict(record.meta), "tables": sizes}).encode("ascii")
    head += b" " * (-(_LENGTH.size + len(head)) % 8)
    return [_LENGTH.pack(len(head)) + head, *streams]


def decode(version: int, payload: bytes) -> Record:
    """The record whose payload this is; the tables share the payload's memory."""
    try:
        (length,) = _LENGTH.unpack_from(payload)
        offset = _LENGTH.size + length
        head = json.loads(payload[_LENGTH.size : offset])
        whole = pa.py_buffer(payload)
        tables: dict[str, pa.Table] = {}
        for name, size in head["tables"]:
            tables[name] = read_stream(whole.slice(offset, size))
            offset += size
        return Record(version, head["kind"], head["meta"], tables)
    except (
        struct.error,
        ValueError,
        LookupError,
        TypeError,
        RecursionError,
        OSError,
        pa.ArrowException,
    ) as error:
        raise PayloadError(str(error)) from error
