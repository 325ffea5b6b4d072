"""Arrow columns to codes and back.

Arrow types that hold nothing a column's type could not hold come in a chunk at a time: narrower ints,
ints and narrower floats in float columns, large and view strings, dictionaries, other timestamp units,
timestamps with a zone (an instant, taken in UTC). The rest goes value by value through `scalars`, which
accepts what is exact (a decimal that is a whole number in an int column) and says what is wrong with the
rest.

pyarrow is imported by the functions here, not by the module.

>>> import pyarrow
>>> encode_arrow(pyarrow.array([3, None]), INT, Dictionaries(), intern=True).tolist() == [3, NULL]
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.values.arrow_calls import dictionary_encoded
from headwater.values.arrow_numbers import array_of, numbers_of
from headwater.values.arrow_types import (
    arrow_type,
    column_type,
    is_binary,
    is_string,
    type_from_arrow,
    unwrapped,
)
from headwater.values.arrow_values import OUTSIDE, arrow_values, python_values
from headwater.values.columns import decode_column, encode_canonical, encode_column, float_bits
from headwater.values.dictionaries import Dictionaries
from headwater.values.dictionary import Codes, Dictionary
from headwater.values.instants import DAY, FIRST_DAY, FIRST_MICROSECOND, LAST_DAY, LAST_MICROSECOND
from headwater.values.labelled import LABEL
from headwater.values.scalars import Misfit, is_coded
from headwater.values.special import NULL, Specials, has_special, is_special
from headwater.values.types import BINARY, BOOL, DATE, FLOAT, INT, INTERVAL, MOST_DIGITS, STRING, TIME, Type

__all__ = ["arrow_type", "column_type", "encode_arrow", "to_table", "type_from_arrow"]

MOST_STRINGS_TAKEN_SINGLY = 4096
"""Longer columns are always reduced to their distinct strings first."""
STRINGS_COMPARED = 100
"""How many strings tell whether most are distinct."""


# ------------------------------------------------------------------ in


def encode_arrow(array: Any, type: Type, dictionaries: Dictionaries, *, intern: bool) -> Codes:
    """The codes of an Arrow array, chunked or not; raises `Misfit`, with its row, like `encode_column`."""
    if type == STRING and getattr(array, "num_chunks", 1) > 1:
        array = array.combine_chunks()  # each distinct string is then looked up once, not once a chunk
    parts = []
    done = 0
    for chunk in getattr(array, "chunks", [array]):
        plain = _plain_ints(chunk) if type == INT else None
        if plain is not None:
            parts.append(dictionaries.specials.int_codes(plain, intern=intern))
            done += len(chunk)
            continue
        try:
            parts.append(_encode_chunk(chunk, type, dictionaries, intern))
        except Misfit as misfit:
            misfit.row += done
            raise
        done += len(chunk)
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _plain_ints(chunk: Any) -> Codes | None:
    """The numbers of a chunk that holds 64-bit ints and no null, where they lie; `None` for any other. (Asked first:
    with few rows, what is asked of a column costs more than its numbers do.)"""
    from pyarrow import Int64Array

    if chunk.__class__ is not Int64Array or chunk.null_count:
        return None
    return numbers_of(chunk)


def _encode_chunk(chunk: Any, type: Type, dictionaries: Dictionaries, intern: bool) -> Codes:
    from pyarrow import ArrowException
    from pyarrow import types as kinds

    if not kinds.is_dictionary(chunk.type) or type not in (STRING, BINARY):
        chunk = unwrapped(chunk)
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
    return encode_column(python_values(chunk, type), type, dictionaries, intern=intern)


def _around_nulls(chunk: Any, type: Type, dictionaries: Dictionaries, intern: bool) -> Codes:
    places = np.flatnonzero(numbers_of(chunk.is_valid()))
    codes = np.full(len(chunk), NULL, np.int64)
    if places.size:
        try:
            codes[places] = _encode_chunk(chunk.drop_null(), type, dictionaries, intern)
        except Misfit as misfit:
            misfit.row = int(places[misfit.row])
            raise
    return codes


def _whole(chunk: Any, type: Type, dictionaries: Dictionaries, intern: bool) -> Codes | None:
    """The codes of a whole chunk at once; `None` or an Arrow error where values need a closer look."""
    import pyarrow as pa
    from pyarrow import types as kinds

    arrow = chunk.type
    if type == INT and (kinds.is_integer(arrow) or kinds.is_decimal(arrow)):
        return dictionaries.specials.int_codes(_integers(chunk.cast(pa.int64())), intern=intern)
    if type == FLOAT and (kinds.is_floating(arrow) or kinds.is_integer(arrow)):
        # The cast refuses ints that no float equals.
        bits = float_bits(numbers_of(chunk.cast(pa.float64())))
        return dictionaries.specials.float_codes(bits, intern=intern)
    if type == BOOL and kinds.is_boolean(arrow):
        return numbers_of(chunk).astype(np.int64)
    if type == DATE and kinds.is_date(arrow):
        days = _integers(chunk.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()))
        _check_range(days, FIRST_DAY, LAST_DAY)
        return days
    if type == TIME and kinds.is_time(arrow):
        micros = _integers(chunk.cast(pa.time64("us")).cast(pa.int64()))
        _check_range(micros, 0, DAY - 1, "it is outside of a day")
        return micros
    if type.name.startswith("timestamp") and kinds.is_timestamp(arrow):
        return _timestamps(chunk, type, dictionaries.specials, intern)
    if type == INTERVAL and kinds.is_duration(arrow):
        micros = _integers(chunk.cast(pa.duration("us")).cast(pa.int64()))
        return dictionaries.specials.int_codes(micros, intern=intern)
    if type.name == "decimal" and (kinds.is_decimal(arrow) or kinds.is_integer(arrow)):
        return _decimals(chunk, type, dictionaries.specials, intern)
    stored = arrow.value_type if kinds.is_dictionary(arrow) else arrow
    if type == STRING and is_string(stored) or type == BINARY and is_binary(stored):
        return _texts(chunk, type, dictionaries, intern)
    return None


def _timestamps(chunk: Any, type: Type, specials: Specials, intern: bool) -> Codes:
    import pyarrow as pa

    if chunk.type.tz is not None and "ntz" in type.name:
        raise Misfit(
            f"it is in the time zone {chunk.type.tz}",
            hint="declare the column a timestamp, or take the zone off",
        )
    unit = "ns" if type.name.endswith("_ns") else "us"
    counts = _integers(chunk.cast(pa.timestamp(unit, chunk.type.tz)).cast(pa.int64()))
    if unit == "ns":
        return specials.int_codes(counts, intern=intern)
    _check_range(counts, FIRST_MICROSECOND, LAST_MICROSECOND)
    return counts


def _decimals(chunk: Any, type: Type, specials: Specials, intern: bool) -> Codes | None:
    """Arrow keeps 128 bits a value: where the upper half is the sign of the lower one, that is the code."""
    import pyarrow as pa

    if pa.types.is_integer(chunk.type):
        chunk = chunk.cast(pa.int64())
    wide = chunk.cast(pa.decimal128(MOST_DIGITS, type.scale))  # refuses what it would have to round
    words = np.frombuffer(wide.buffers()[1], np.int64).reshape(-1, 2)[wide.offset : wide.offset + len(wide)]
    low, high = words[:, 0], words[:, 1]
    limit = 10**type.precision
    if (high == low >> 63).all():
        numbers = np.ascontiguousarray(low)
        if limit > 2**63 - 1 or (numbers.max() < limit and numbers.min() > -limit):
            return specials.int_codes(numbers, intern=intern)
        return None
    units = [
        (upper << 64) | lower
        for upper, lower in zip(high.tolist(), low.view(np.uint64).tolist(), strict=True)
    ]
    if max(units) >= limit or min(units) <= -limit:
        return None
    return specials.number_codes(units, intern=intern)


def _integers(chunk: Any) -> Codes:
    return np.array(numbers_of(chunk), dtype=np.int64)


def _check_range(codes: Codes, first: int, last: int, words: str = OUTSIDE) -> None:
    outside = np.flatnonzero((codes < first) | (codes > last))
    if outside.size:
        raise Misfit(words, row=int(outside[0]))


def _texts(chunk: Any, type: Type, dictionaries: Dictionaries, intern: bool) -> Codes | None:
    """Only the distinct strings (or bytes) are looked up, and of a dictionary only those that some row uses; all
    strings, where that costs no more."""
    import pyarrow as pa

    strings = dictionaries.strings
    listed = isinstance(chunk, pa.DictionaryArray)
    if type == STRING and not listed and (strings.takes_columns(len(chunk)) or _mostly_distinct(chunk)):
        return strings.encode_texts(chunk, intern=intern)
    if listed:
        used, places = np.unique(numbers_of(chunk.indices), return_inverse=True)
        distinct = chunk.dictionary.take(array_of(used))
        if distinct.null_count:
            return None
    else:
        if str(chunk.type) == "string_view":
            chunk = chunk.cast(pa.large_string())
        elif str(chunk.type) == "binary_view":
            chunk = chunk.cast(pa.large_binary())
        encoded = dictionary_encoded(chunk)
        distinct, places = encoded.dictionary, numbers_of(encoded.indices)
    if type == STRING:
        codes = strings.encode_texts(distinct, intern=intern)
    else:
        codes = encode_canonical(distinct.to_pylist(), type, dictionaries, intern=intern)
    return codes[places.reshape(-1)]


def _mostly_distinct(chunk: Any) -> bool:
    """Whether hardly any string of a short chunk comes twice, by the first ones: finding out which do costs a third
    of looking all of them up."""
    if len(chunk) > MOST_STRINGS_TAKEN_SINGLY:
        return False
    some = chunk.slice(0, STRINGS_COMPARED).to_pylist()
    return len(set(some)) >= 0.95 * len(some)


# ------------------------------------------------------------------ out


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
    if type.name == "decimal":
        return _decimal_array(codes, type, dictionaries.specials)
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
        return array_of(codes, nulls)
    if type == FLOAT:
        return array_of(codes.view(np.float64), nulls)
    if type == BOOL:
        return array_of(codes.astype(bool), nulls)
    if type == DATE:
        return array_of(codes.astype(np.int32), nulls).cast(pa.date32())
    if type.name.startswith(("time", "timestamp")) or type == INTERVAL:
        return array_of(codes, nulls).cast(arrow_type(type))
    if type == STRING:
        return _string_array(codes, nulls, dictionaries.strings, dictionary)
    values = decode_column(codes, type, dictionaries)
    if nulls is not None:
        values = [None if null else value for null, value in zip(nulls.tolist(), values, strict=True)]
    return pa.array(arrow_values(values, type), arrow_type(type))


def _decimal_array(codes: Codes, type: Type, specials: Specials) -> Any:
    import pyarrow as pa

    words = np.empty((len(codes), 2), np.int64)
    words[:, 0], words[:, 1] = codes, codes >> 63
    valid = None
    if has_special(codes):
        nulls = specials.nulls(codes)
        for place in np.flatnonzero(is_special(codes) & ~nulls).tolist():
            units = int(specials.value(int(codes[place])))  # type: ignore[arg-type]
            words[place] = np.frombuffer(units.to_bytes(16, "little", signed=True), np.int64)
        valid = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
    return pa.Array.from_buffers(arrow_type(type), len(codes), [valid, pa.py_buffer(words)])


def _string_array(
    codes: Codes, nulls: NDArray[np.bool_] | None, strings: Dictionary, dictionary: bool
) -> Any:
    import pyarrow as pa

    if not dictionary:
        return strings.texts(codes, nulls)
    used, places = np.unique(codes, return_inverse=True)
    indices = array_of(places.reshape(-1).astype(np.int32), nulls)
    return pa.DictionaryArray.from_arrays(indices, strings.texts(used))
