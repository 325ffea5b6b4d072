"""Arrow tables as bytes: a stream inside a log record, a file as a segment.

All Arrow types survive, dictionaries and lists among them, and so does the schema's metadata. In a segment
the chunks of a column share one dictionary, so codes may differ from those written; values do not. Columns
are compressed where that pays; a small table is not, because setting up the codec costs more than writing it.
What is read is validated in full, though checksums protect it: a folder may come from anywhere, and Arrow would
follow an offset out of its buffer.

>>> table = pa.table({"src": ["a", "b"], "path": [["a"], ["a", "b"]]})
>>> read_stream(pa.py_buffer(stream_bytes(table))).equals(table)
True
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from headwater.errors import StoreError

_COMPRESS_FROM = 8 << 10  # bytes of column data
_UNCOMPRESSED = pa.ipc.IpcWriteOptions()  # given, or Arrow asks the environment each time
_ROWS_PER_BATCH = 1 << 20  # bounds what is compressed at a time


class ByteSink(Protocol):
    """What Arrow needs of a file that it writes."""

    closed: bool

    def write(self, data: bytes) -> int:
        """Take all of `data`."""

    def flush(self) -> None:
        """Called by Arrow; need not do anything."""

    def close(self) -> None:
        """Called by Arrow; need not do anything."""


def _options(table: pa.Table) -> pa.ipc.IpcWriteOptions:
    compression = "zstd" if table.nbytes >= _COMPRESS_FROM else None
    return pa.ipc.IpcWriteOptions(compression=compression, unify_dictionaries=True)


def _unwritable(error: Exception) -> StoreError:
    return StoreError("table", f"Arrow cannot write this table: {error}", hint="use other column types")


def stream_bytes(table: pa.Table) -> memoryview:
    """The table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    try:
        if table.nbytes < _COMPRESS_FROM:
            with pa.ipc.new_stream(sink, table.schema, options=_UNCOMPRESSED) as writer:
                writer.write_table(table)
        else:
            with pa.ipc.new_stream(sink, table.schema, options=_options(table)) as writer:
                writer.write_table(table, max_chunksize=_ROWS_PER_BATCH)
    except pa.ArrowException as error:
        raise _unwritable(error) from error
    return memoryview(sink.getvalue())


def read_stream(data: pa.Buffer) -> pa.Table:
    """The table in an Arrow IPC stream; its columns are views of `data` where not compressed."""
    with pa.ipc.open_stream(data) as reader:
        return _sound(reader.read_all())


def write_file(table: pa.Table, sink: ByteSink) -> None:
    """Write the table as an Arrow IPC file, piece by piece; errors of the sink pass through."""
    try:
        with pa.ipc.new_file(pa.PythonFile(sink, "w"), table.schema, options=_options(table)) as writer:
            writer.write_table(table, max_chunksize=_ROWS_PER_BATCH)
    except pa.ArrowException as error:
        raise _unwritable(error) from error


def read_file(data: pa.Buffer) -> pa.Table:
    """The table in an Arrow IPC file; its columns are views of `data` where not compressed."""
    with pa.ipc.open_file(data) as reader:
        return _sound(reader.read_all())


def _sound(table: pa.Table) -> pa.Table:
    table.validate(full=True)
    return table
