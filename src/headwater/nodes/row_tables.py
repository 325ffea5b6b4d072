"""Matrices of codes as they travel: as values, never as codes; and back.

Strings and lists cross as Arrow dictionaries of their distinct values; all other codes are values already, except
special ones, whose texts cross in a column of their own. A few rows in which every code is a value cross as they lie:
making a table and reading one again takes longer than most changes.

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

from headwater.nodes.messages.message import PackedRows
from headwater.plan.steps import Ints
from headwater.values.arrow_numbers import array_of, numbers_of, text_array
from headwater.values.codec import Codec
from headwater.values.labelled import LABEL
from headwater.values.scalars import is_coded
from headwater.values.special import has_special, is_special
from headwater.values.types import Type

Types = Sequence[Type | None]
SMALL = 8 << 10
"""Bytes from which a table pays: it is compressed then."""


def pack(codec: Codec, rows: Ints, types: Types) -> PackedRows:
    """Rows as values."""
    width = rows.shape[1]
    if (
        width
        and rows.nbytes < SMALL
        and not (len(rows) and any(map(_coded, types)))
        and not has_special(rows)
    ):
        return PackedRows(width, rows.astype(np.int64, copy=False).tobytes(), None)
    return PackedRows(width, None, _table(codec, rows, types))


def _coded(type_: Type | None) -> bool:
    return type_ is not None and is_coded(type_)


def _table(codec: Codec, rows: Ints, types: Types) -> pa.Table:
    """A relation without columns sends a column of zeros, for their number."""
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
            columns.append(pa.DictionaryArray.from_arrays(array_of(places.astype(np.int32)), values))
        else:
            columns.append(array_of(codes))
        names.append(str(column))
    if not columns:
        columns, names = [array_of(np.zeros(rows.shape[0], np.int8))], ["0"]
    return pa.table(columns, names=names)


def _texts(codec: Codec, codes: Ints, special: npt.NDArray[np.bool_]) -> pa.Array:
    """What special codes stand for, as texts; nothing where a code is plain."""
    distinct, places = np.unique(codes[special], return_inverse=True)
    texts = text_array(codec.specials.texts(distinct))
    indices = np.zeros(codes.shape[0], np.int32)
    indices[special] = places.reshape(-1)
    return pa.DictionaryArray.from_arrays(array_of(indices, ~special), texts)


def unpack(codec: Codec, packed: PackedRows, types: Types, extra: int = 0) -> Ints:
    """Rows from what `pack` gave, as codes of this codec; `extra` plain columns follow those with types."""
    width, table = len(types) + extra, packed.table
    if table is None:
        assert packed.numbers is not None and packed.width == width
        return np.frombuffer(packed.numbers, np.int64).reshape(-1, width).copy()
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
