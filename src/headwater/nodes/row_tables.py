"""Matrices of codes as Arrow tables of values, and back.

Strings and lists cross as Arrow dictionaries of their distinct values; all other codes are values already, except
special ones, whose texts cross in a column of their own.

>>> from headwater.values.types import INT, STRING
>>> here, there = Codec(), Codec()
>>> rows = here.to_matrix([("x", 1), ("y", 2), ("x", 3)], (STRING, INT), "r", ("a", "b"))
>>> _ = there.encode_value("y", STRING)
>>> there.decode_rows(unpack(there, pack(here, rows, (STRING, INT)), (STRING, INT)), (STRING, INT))
[('x', 1), ('y', 2), ('x', 3)]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.plan.steps import Ints
from headwater.values.arrow_numbers import numbers_of
from headwater.values.codec import Codec
from headwater.values.labelled import LABEL
from headwater.values.scalars import is_coded
from headwater.values.special import has_special, is_special
from headwater.values.types import Type

Types = Sequence[Type | None]


def pack(codec: Codec, rows: Ints, types: Types) -> pa.Table:
    """Rows as values; a relation without columns sends a column of zeros, for their number."""
    columns, names = [], []
    for column in range(rows.shape[1]):
        codes = np.ascontiguousarray(rows[:, column])
        type_ = types[column] if column < len(types) else None
        if column < len(types) and has_special(codes):
            special = is_special(codes)
            columns.append(_texts(codec, codes, special))
            names.append(f"{column}{LABEL}")
            codes = np.where(special, codes[~special][0] if not special.all() else 0, codes)
            type_ = None if special.all() else type_
        if type_ is not None and is_coded(type_):
            distinct, places = np.unique(codes, return_inverse=True)
            values = codec.to_table(distinct.reshape(-1, 1), ("v",), (type_,)).column(0).combine_chunks()
            columns.append(pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), values))
        else:
            columns.append(pa.array(codes))
        names.append(str(column))
    if not columns:
        columns, names = [pa.array(np.zeros(rows.shape[0], np.int8))], ["0"]
    return pa.table(columns, names=names)


def _texts(codec: Codec, codes: Ints, special: npt.NDArray[np.bool_]) -> pa.Array:
    """What special codes stand for, as texts; nothing where a code is plain."""
    distinct, places = np.unique(codes[special], return_inverse=True)
    texts = pa.array(codec.specials.texts(distinct), pa.string())
    indices = np.zeros(codes.shape[0], np.int32)
    indices[special] = places.reshape(-1)
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=~special), texts)


def unpack(codec: Codec, table: pa.Table, types: Types, extra: int = 0) -> Ints:
    """Rows from what `pack` gave, as codes of this codec; `extra` plain columns follow those with types."""
    width = len(types) + extra
    rows = np.empty((table.num_rows, width), np.int64)
    for column in range(width):
        array = table.column(str(column))
        if pa.types.is_dictionary(array.type):
            rows[:, column] = _decoded(array, partial(_values, codec, types[column]))
        else:
            rows[:, column] = numbers_of(array)
        if f"{column}{LABEL}" in table.column_names:
            special = table.column(f"{column}{LABEL}")
            there = numbers_of(special.is_valid())
            codes = _decoded(special, lambda texts: codec.specials.parsed(texts.to_pylist()))
            rows[there, column] = codes[there]
    return rows


def _values(codec: Codec, type_: Type | None, values: pa.Array) -> Ints:
    return codec.from_table(pa.table({"v": values}), (type_,), "message", ("v",))[:, 0]


def _decoded(array: pa.ChunkedArray, codes_of: Callable[[pa.Array], Ints]) -> Ints:
    """The codes of an array of dictionaries, whose values are looked up once each; 0 where there is none."""
    parts = [np.empty(0, np.int64)]
    for chunk in array.chunks:
        codes = np.append(codes_of(chunk.dictionary), 0)
        parts.append(codes[numbers_of(chunk.indices.fill_null(len(codes) - 1))])
    return np.concatenate(parts)
