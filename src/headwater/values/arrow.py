"""Arrow columns to codes and back.

Arrow types that hold nothing a column's type could not hold come in a chunk at a time: narrower ints,
ints and narrower floats in float columns, large and view strings, dictionaries, other timestamp units,
timestamps with a zone (an instant, taken in UTC). The rest goes value by value through `scalars`, which
accepts what is exact (a decimal that is a whole number in an int column) and says what is wrong with the
rest.

pyarrow is imported by the functions here, not by the module.

>>> import pyarrow
>>> str(arrow_type(list_of(INT))), str(type_from_arrow(pyarrow.int32()))
('list<element: int64>', 'int')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.values.columns import decode_column, encode_canonical, encode_column, float_bits
from headwater.values.dictionaries import Dictionaries
from headwater.values.dictionary import Codes, Dictionary
from headwater.values.scalars import (
    FIRST_DAY,
    FIRST_MICROSECOND,
    LAST_DAY,
    LAST_MICROSECOND,
    Misfit,
    is_coded,
)
from headwater.values.special import NULL, Specials, has_special
from headwater.values.types import BOOL, DATE, FLOAT, INT, STRING, TIMESTAMP, Type, list_of

_STRING_BYTES = 2**31 - 1


def arrow_type(type: Type | None) -> Any:
    """The Arrow type of a column of `type`; Arrow's null type where it is not known."""
    import pyarrow as pa

    if type is None:
        return pa.null()
    if type.name == "list":
        return pa.list_(pa.field("element", arrow_type(type.element)))
    return {
        "int": pa.int64(), "float": pa.float64(), "string": pa.string(), "bool": pa.bool_(),
        "date": pa.date32(), "timestamp": pa.timestamp("us"),
    }[type.name]  # fmt: skip


def type_from_arrow(arrow: Any) -> Type | None:
    """The type of columns that come as this Arrow type; `None` if only a declaration can tell."""
    from pyarrow import types as kinds

    if kinds.is_dictionary(arrow):
        return type_from_arrow(arrow.value_type)
    if kinds.is_integer(arrow):
        return INT
    if kinds.is_decimal(arrow):
        return INT if arrow.scale <= 0 and arrow.precision - arrow.scale <= 18 else None
    if kinds.is_floating(arrow):
        return FLOAT
    if _is_string(arrow):
        return STRING
    if kinds.is_boolean(arrow):
        return BOOL
    if kinds.is_date(arrow):
        return DATE
    if kinds.is_timestamp(arrow):
        return TIMESTAMP
    if _is_list(arrow):
        return list_of(type_from_arrow(arrow.value_type))
    return None


def _is_string(arrow: Any) -> bool:
    from pyarrow import types as kinds

    return bool(kinds.is_string(arrow) or kinds.is_large_string(arrow) or str(arrow) == "string_view")


def _is_list(arrow: Any) -> bool:
    from pyarrow import types as kinds

    plain = kinds.is_list(arrow) or kinds.is_large_list(arrow) or kinds.is_fixed_size_list(arrow)
    return bool(plain or str(arrow).startswith(("list_view<", "large_list_view<")))


# ------------------------------------------------------------------ in


def encode_arrow(array: Any, type: Type, dictionaries: Dictionaries, *, intern: bool) -> Codes:
    """The codes of an Arrow array, chunked or not; raises `Misfit`, with its row, like `encode_column`."""
    if type == STRING and getattr(array, "num_chunks", 1) > 1:
        array = array.combine_chunks()  # each distinct string is then looked up once, not once a chunk
    parts = []
    done = 0
    for chunk in getattr(array, "chunks", [array]):
        try:
            parts.append(_encode_chunk(chunk, type, dictionaries, intern))
        except Misfit as misfit:
            misfit.row += done
            raise
        done += len(chunk)
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _encode_chunk(chunk: Any, type: Type, dictionaries: Dictionaries, intern: bool) -> Codes:
    from pyarrow import ArrowException, BaseExtensionType
    from pyarrow import types as kinds

    if kinds.is_dictionary(chunk.type) and type != STRING or isinstance(chunk.type, BaseExtensionType):
        chunk = chunk.dictionary_decode() if kinds.is_dictionary(chunk.type) else chunk.storage
    if len(chunk) == 0:
        return np.empty(0, dtype=np.int64)
    if chunk.null_count:
        return _around_nulls(chunk, type, dictionaries, intern)
    try:
        codes = _whole(chunk, type, dictionaries, intern)
    except ArrowException:
        codes = None
    if codes is not None:
        return codes
    return encode_column(_python_values(chunk), type, dictionaries, intern=intern)


def _around_nulls(chunk: Any, type: Type, dictionaries: Dictionaries, intern: bool) -> Codes:
    places = np.flatnonzero(chunk.is_valid().to_numpy(zero_copy_only=False))
    codes = np.full(len(chunk), NULL, np.int64)
    if places.size:
        try:
            codes[places] = _encode_chunk(chunk.drop_null(), type, dictionaries, intern)
        except Misfit as misfit:
            misfit.row = int(places[misfit.row])
            raise
    return codes


def _python_values(chunk: Any) -> list[Any]:
    from pyarrow import types as kinds

    if kinds.is_timestamp(chunk.type):
        return list(chunk.to_numpy(zero_copy_only=False))
    if (kinds.is_list(chunk.type) or kinds.is_large_list(chunk.type)) and not chunk.null_count:
        # Much faster than to_pylist() of lists.
        ends = chunk.offsets.to_pylist()
        elements = _python_values(chunk.values[ends[0] : ends[-1]])
        ends = [end - ends[0] for end in ends]
        return [tuple(elements[start:end]) for start, end in zip(ends, ends[1:], strict=False)]
    try:
        values: list[Any] = chunk.to_pylist()
    except (OverflowError, ValueError):
        raise Misfit("it is outside the years 1 to 9999", row=_first_unreadable(chunk)) from None
    return values


def _first_unreadable(chunk: Any) -> int:
    """The first value that Python has nothing for; for elements of a list, counted among all elements."""
    for row, value in enumerate(chunk):
        try:
            value.as_py()
        except (OverflowError, ValueError):
            return row
    return 0


def _whole(chunk: Any, type: Type, dictionaries: Dictionaries, intern: bool) -> Codes | None:
    """The codes of a whole chunk at once; `None` or an Arrow error where values need a closer look."""
    import pyarrow as pa
    from pyarrow import types as kinds

    arrow = chunk.type
    if type == INT and (kinds.is_integer(arrow) or kinds.is_decimal(arrow)):
        return dictionaries.specials.int_codes(_integers(chunk.cast(pa.int64())), intern=intern)
    if type == FLOAT and (kinds.is_floating(arrow) or kinds.is_integer(arrow)):
        # The cast refuses ints that no float equals.
        bits = float_bits(chunk.cast(pa.float64()).to_numpy(zero_copy_only=False))
        return dictionaries.specials.float_codes(bits, intern=intern)
    if type == BOOL and kinds.is_boolean(arrow):
        return chunk.to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
    if type == DATE and kinds.is_date(arrow):
        days = _integers(chunk.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()))
        _check_range(days, FIRST_DAY, LAST_DAY)
        return days
    if type == TIMESTAMP and kinds.is_timestamp(arrow):
        micros = _integers(chunk.cast(pa.timestamp("us", arrow.tz)).cast(pa.int64()))
        _check_range(micros, FIRST_MICROSECOND, LAST_MICROSECOND)
        return micros
    if type == STRING and (_is_string(arrow) or kinds.is_dictionary(arrow) and _is_string(arrow.value_type)):
        return _strings(chunk, dictionaries, intern)
    return None


def _integers(chunk: Any) -> Codes:
    return np.array(chunk.to_numpy(zero_copy_only=False), dtype=np.int64)


def _check_range(codes: Codes, first: int, last: int) -> None:
    outside = np.flatnonzero((codes < first) | (codes > last))
    if outside.size:
        raise Misfit("it is outside the years 1 to 9999", row=int(outside[0]))


def _strings(chunk: Any, dictionaries: Dictionaries, intern: bool) -> Codes | None:
    """Only the distinct strings are looked up, and of a dictionary only those that some row uses."""
    import pyarrow as pa

    if not isinstance(chunk, pa.DictionaryArray):
        if str(chunk.type) == "string_view":
            chunk = chunk.cast(pa.large_string())
        chunk = chunk.dictionary_encode()
    used, places = np.unique(chunk.indices.to_numpy(zero_copy_only=False), return_inverse=True)
    distinct = chunk.dictionary.take(pa.array(used))
    if distinct.null_count:
        return None
    codes = encode_canonical(distinct.to_pylist(), STRING, dictionaries, intern=intern)
    return codes[places.reshape(-1)]


# ------------------------------------------------------------------ out


LABEL = "?"
"""Ends the name of a column that holds the texts of labelled nulls of the column before."""


def to_table(
    matrix: Codes,
    columns: Sequence[str],
    types: Sequence[Type | None],
    dictionaries: Dictionaries,
    *,
    dictionary: bool = False,
    labels: Sequence[int] = (),
) -> Any:
    """The rows of a matrix as an Arrow table; `dictionary` leaves strings dictionary-encoded.

    Labelled nulls are NULL; for the columns that `labels` names, another one at the end has their texts.
    """
    import pyarrow as pa

    arrays = [
        _array(np.ascontiguousarray(matrix[:, i]), type, dictionaries, dictionary)
        for i, type in enumerate(types)
    ]
    if not arrays:
        return pa.table({})
    texts = [_label_texts(matrix[:, i], dictionaries.specials) for i in labels]
    return pa.table([*arrays, *texts], names=[*columns, *(columns[i] + LABEL for i in labels)])


def _label_texts(codes: Codes, specials: Specials) -> Any:
    import pyarrow as pa

    labelled = specials.labelled(codes)
    texts = [
        str(specials.value(code)) if one else None for code, one in zip(codes.tolist(), labelled, strict=True)
    ]
    return pa.array(texts, pa.string())


def _array(codes: Codes, type: Type | None, dictionaries: Dictionaries, dictionary: bool) -> Any:
    import pyarrow as pa

    if type is None:
        return pa.nulls(len(codes))
    nulls = None
    if has_special(codes):
        nulls = dictionaries.specials.nulls(codes)
        if nulls.all():
            return pa.nulls(len(codes), arrow_type(type))
        if is_coded(type):
            codes = np.where(nulls, codes[~nulls][0], codes)
        else:
            codes = dictionaries.specials.numbers(codes)
    if type == INT:
        return pa.array(codes, mask=nulls)
    if type == FLOAT:
        return pa.array(codes.view(np.float64), mask=nulls)
    if type == BOOL:
        return pa.array(codes.astype(bool), mask=nulls)
    if type == DATE:
        return pa.array(codes.astype(np.int32), mask=nulls).cast(pa.date32())
    if type == TIMESTAMP:
        return pa.array(codes, mask=nulls).cast(pa.timestamp("us"))
    if type == STRING:
        return _string_array(codes, nulls, dictionaries.strings, dictionary)
    values = decode_column(codes, type, dictionaries)
    if nulls is not None:
        values = [None if null else value for null, value in zip(nulls.tolist(), values, strict=True)]
    return pa.array(values, arrow_type(type))


def _string_array(
    codes: Codes, nulls: NDArray[np.bool_] | None, strings: Dictionary, dictionary: bool
) -> Any:
    import pyarrow as pa

    used, places = np.unique(codes, return_inverse=True)
    places = places.reshape(-1)
    values = strings.decode(used)
    distinct = pa.array(values, pa.string())
    if dictionary:
        return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32), mask=nulls), distinct)
    lengths = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
    if 4 * int(lengths[places].sum()) > _STRING_BYTES:  # one Arrow string array holds 2 GiB
        return pa.array(list(map(values.__getitem__, places.tolist())), pa.string(), mask=nulls)
    return distinct.take(pa.array(places, mask=nulls))
