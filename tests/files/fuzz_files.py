"""Damaged fact files of every format, each made from a name and a number, and a program that reads them.

    python tests/files/fuzz_files.py FIRST COUNT [NAME ...]

reads the damaged files `FIRST` to `FIRST + COUNT - 1` of each original, and prints the case before it reads it: a
process that dies has named the case. What is no error of ours is printed as `foreign`, and the exit code is 1.
"""

from __future__ import annotations

import datetime
import gzip
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from headwater.errors import HeadwaterError
from headwater.files.contents import FactFile
from headwater.files.feed import changes_of
from headwater.files.load import load
from headwater.files.read import read
from headwater.values.codec import Codec
from headwater.values.types import BOOL, DATE, FLOAT, INT, STRING, TIMESTAMP, Type, list_of

COLUMNS = ("n", "f", "s", "b", "d", "t", "l")
TYPES = (INT, FLOAT, STRING, BOOL, DATE, TIMESTAMP, list_of(STRING))
MEMORY = 6 << 30  # bytes of address space: a length out of a damaged header must not take all there is
PATIENCE = 60  # seconds for one file


def table() -> Any:
    """Some rows with a column of each type."""
    day, moment = (
        datetime.date(2024, 2, 29),
        datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc),
    )
    return pa.table(
        {
            "n": pa.array([1, -(2**63), 7, 7], pa.int64()),
            "f": pa.array([1.5, float("nan"), -0.0, 1e300]),
            "s": pa.array(["a", "", "é😀", "a much longer string, with a comma"]),
            "b": pa.array([True, False, True, True]),
            "d": pa.array([day] * 4, pa.date32()),
            "t": pa.array([moment] * 4, pa.timestamp("us")),
            "l": pa.array([["x", "y"], [], ["z"], ["x"]], pa.list_(pa.string())),
        }
    )


def _ipc(rows: Any, *, stream: bool = False, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(sink, rows.schema, options=options) as writer:
        writer.write_table(rows, max_chunksize=3)
    return bytes(sink.getvalue())


def _parquet(rows: Any, **options: Any) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(rows, sink, row_group_size=3, **options)
    return sink.getvalue()


def _cells() -> list[list[str]]:
    return [
        ["1", "1.5", "a", "true", "2024-02-29", "2024-02-29T12:30:00", "[x, y]"],
        ["-5", "nan", "", "false", "2024-02-29", "2024-02-29T12:30:00", "[]"],
        ["7", "1e300", 'é "quoted"', "true", "0001-01-01", "2024-02-29T12:30:00.5", '["a, b", c]'],
    ]


def _csv(delimiter: str, *, header: bool) -> bytes:
    lines = [list(COLUMNS)] if header else []
    lines += [['"' + cell.replace('"', '""') + '"' for cell in cells] for cells in _cells()]
    return "".join(delimiter.join(line) + "\n" for line in lines).encode()


def _json(*, lines: bool) -> bytes:
    rows = [
        {"n": 1, "f": 1.5, "s": "a", "b": True, "d": "2024-02-29", "t": "2024-02-29T12:30:00", "l": ["x"]},
        {"n": 2, "f": "nan", "s": "é", "b": False, "d": "2024-02-29", "t": "2024-02-29T12:30:00", "l": []},
    ]
    return ("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows)).encode()


def _feed(rows: Any) -> Any:
    kinds = ["insert", "update_preimage", "update_postimage", "delete"]
    return rows.append_column("_change_type", pa.array(kinds)).append_column(
        "_commit_version", pa.array([1, 2, 2, 3])
    )


def _coded(rows: Any) -> Any:
    return rows.set_column(2, "s", rows.column("s").dictionary_encode())


def _wide(rows: Any) -> Any:
    """The same values in less common types."""
    columns = {
        "n": rows.column("n").slice(2).cast(pa.decimal128(19)),
        "f": rows.column("f").slice(2).cast(pa.float32()),
        "s": rows.column("s").slice(2).cast(pa.large_string()),
        "b": rows.column("b").slice(2),
        "d": rows.column("d").slice(2).cast(pa.date64()),
        "t": rows.column("t").slice(2).cast(pa.timestamp("ns", "UTC")),
        "l": rows.column("l").slice(2).cast(pa.large_list(pa.string())),
    }
    return pa.table(columns)


def originals() -> Mapping[str, bytes]:
    """A good file of each format and variant, by its name."""
    rows = table()
    return {
        "plain.arrow": _ipc(rows),
        "stream.arrow": _ipc(rows, stream=True),
        "lz4.feather": _ipc(rows, compression="lz4"),
        "zstd.arrow": _ipc(rows, compression="zstd"),
        "coded.arrow": _ipc(_coded(rows)),
        "coded_stream.arrow": _ipc(_coded(rows), stream=True),
        "wide.arrow": _ipc(_wide(rows)),
        "feed.arrow": _ipc(_feed(rows)),
        "plain.parquet": _parquet(rows, compression="none", use_dictionary=False),
        "snappy.parquet": _parquet(rows),
        "zstd.parquet": _parquet(rows, compression="zstd", data_page_version="2.0"),
        "delta.parquet": _parquet(
            rows, use_dictionary=False, column_encoding={"n": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY"}
        ),
        "wide.parquet": _parquet(_wide(rows)),
        "feed.parquet": _parquet(_feed(rows)),
        "header.csv": _csv(",", header=True),
        "bare.csv": _csv(",", header=False),
        "header.tsv": _csv("\t", header=True),
        "packed.csv.gz": gzip.compress(_csv(",", header=True), mtime=0),
        "plain.facts": "".join("\t".join(cells) + "\n" for cells in _cells()).encode(),
        "packed.facts.gz": gzip.compress(
            "".join("\t".join(cells) + "\n" for cells in _cells()).encode(), mtime=0
        ),
        "array.json": _json(lines=False),
        "packed.json.gz": gzip.compress(_json(lines=False), mtime=0),
        "lines.jsonl": _json(lines=True),
    }


# ------------------------------------------------------------------ damage

_HUGE = (
    b"\xff" * 4,
    b"\xff\xff\xff\x7f",
    b"\xff" * 8,
    b"\xff" * 7 + b"\x7f",
    b"\0" * 7 + b"\x40",
    b"\0\0\0\x10",
    b"\0" * 8,
)
_TEXTS = (
    b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\r", b"\n", b'"', b"\t", b",", b"[" * 20_000,
    b"{\"a\":" * 20_000, b"9" * 5000, b"1e999", b"NaN", b"-Infinity", b"\\ud800", b"null", b"[[",
    b"]", b"0x", b"\xef\xbb\xbf", b"\x1f\x8b",
    b"PAR1", b"ARROW1",
)  # fmt: skip


def _flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 2, 5, 30))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _replace(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 3, 20))):
        data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _lengthen(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data)) // 4 * 4
    huge = rng.choice(_HUGE)
    data[at : at + len(huge)] = huge


def _truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def _cut(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 4, 8, 64))]


def _repeat(data: bytearray, rng: random.Random) -> None:
    at, size = rng.randrange(len(data)), rng.choice((1, 8, 64, 512))
    data[at:at] = data[at : at + size]


def _insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice(_TEXTS)


def _blank(data: bytearray, rng: random.Random) -> None:
    at, size = rng.randrange(len(data)), rng.choice((8, 64, 512))
    data[at : at + size] = bytes(min(size, len(data) - at))


def _garbage(data: bytearray, rng: random.Random) -> None:
    data[rng.choice((0, 8, len(data) // 2)) :] = rng.randbytes(rng.choice((0, 1, 12, 300)))


_DAMAGE: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip, _flip, _flip, _replace, _replace, _lengthen, _lengthen, _lengthen, _truncate, _cut, _repeat, _insert,
    _insert, _blank, _garbage,
)  # fmt: skip


def damaged(name: str, number: int, good: bytes) -> bytes:
    """The file that a number stands for; packed texts are damaged inside as often as outside."""
    rng = random.Random(f"{name} {number}")
    inside = name.endswith(".gz") and rng.random() < 0.5
    data = bytearray(gzip.decompress(good) if inside else good)
    for _ in range(rng.choice((1, 1, 2))):
        if data:
            rng.choice(_DAMAGE)(data, rng)
    return gzip.compress(bytes(data), mtime=0) if inside else bytes(data)


# ------------------------------------------------------------------ reading


def rows_of(path: Path, types: tuple[Type | None, ...] = TYPES) -> list[tuple[Any, ...]]:
    """The rows that get into a database, the whole way from the file to the codes."""
    contents = read(FactFile(path), "r", COLUMNS, types)

    def types_of(known: Mapping[str, tuple[Type | None, ...]]) -> Mapping[str, tuple[Type | None, ...]]:
        return {"r": known.get("r", types)}

    (found,) = load([contents], types_of)
    parts = [found]
    if contents.change_types is not None:
        parts = list(changes_of(contents, found))
    codec = Codec()
    rows: list[tuple[Any, ...]] = []
    for part in parts:
        settled = tuple(type or STRING for type in types) if None not in types else None
        if settled is None:
            settled = tuple(type or STRING for type in codec.infer_types(part)[0]) if len(part) else TYPES
        taking = (True,) * len(COLUMNS)  # empty cells are nulls; that a column takes none is said before this
        rows += codec.decode_rows(codec.to_matrix(part, settled, "r", COLUMNS, nullable=taking), settled)
    return rows


def bound_memory(most: int = MEMORY) -> None:
    """Let what asks for more memory than that fail, in this process alone."""
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(first: int, count: int, names: list[str]) -> int:
    """Read the damaged files, and say what came of each."""
    bound_memory()
    foreign = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, good in originals().items():
            if names and name not in names:
                continue
            for number in range(first, first + count):
                path = Path(folder, name)
                path.write_bytes(damaged(name, number, good))
                os.write(1, f"case {name} {number}\n".encode())
                signal.alarm(PATIENCE)
                try:
                    rows_of(path, TYPES if number % 2 else (None,) * len(TYPES))
                except HeadwaterError as error:
                    str(error).encode()  # it can be shown
                except Exception as error:
                    foreign += 1
                    os.write(
                        1,
                        f"foreign {name} {number}: {type(error).__name__}: {error}\n".encode(
                            errors="replace"
                        ),
                    )
                finally:
                    signal.alarm(0)
    return 1 if foreign else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
