"""Matrices of codes as Arrow tables of values, and back.

Strings and lists cross as Arrow dictionaries of their distinct values; all other codes are values already.

>>> from headwater.values.types import INT, STRING
>>> here, there = Codec(), Codec()
>>> rows = here.to_matrix([("x", 1), ("y", 2), ("x", 3)], (STRING, INT), "r", ("a", "b"))
>>> _ = there.encode_value("y", STRING)
>>> there.decode_rows(unpack(there, pack(here, rows, (STRING, INT)), (STRING, INT)), (STRING, INT))
[('x', 1), ('y', 2), ('x', 3)]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headwater.plan.steps import Ints
from headwater.values.codec import Codec
from headwater.values.scalars import is_coded
from headwater.values.types import Type

Types = Sequence[Type | None]


def pack(codec: Codec, rows: Ints, types: Types) -> pa.Table:
    """Rows as values; a relation without columns sends a column of zeros, for their number."""
    columns = []
    for column in range(rows.shape[1]):
        codes = np.ascontiguousarray(rows[:, column])
        type_ = types[column] if column < len(types) else None
        if type_ is not None and is_coded(type_):
            distinct, places = np.unique(codes, return_inverse=True)
            values = codec.to_table(distinct.reshape(-1, 1), ("v",), (type_,)).column(0).combine_chunks()
            columns.append(pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), values))
        else:
            columns.append(pa.array(codes))
    if not columns:
        columns = [pa.array(np.zeros(rows.shape[0], np.int8))]
    return pa.table(columns, names=[str(number) for number in range(len(columns))])


def unpack(codec: Codec, table: pa.Table, types: Types, extra: int = 0) -> Ints:
    """Rows from what `pack` gave, as codes of this codec; `extra` plain columns follow those with types."""
    width = len(types) + extra
    rows = np.empty((table.num_rows, width), np.int64)
    for column in range(width):
        array = table.column(column)
        type_ = types[column] if column < len(types) else None
        if type_ is not None and is_coded(type_):
            done = 0
            for chunk in array.chunks:
                values = pa.table({"v": chunk.dictionary})
                codes = codec.from_table(values, (type_,), "message", ("v",))[:, 0]
                rows[done : done + len(chunk), column] = codes[chunk.indices.to_numpy(zero_copy_only=False)]
                done += len(chunk)
        else:
            rows[:, column] = array.to_numpy()
    return rows
