"""A column of Python values to codes, and codes back to Python values.

Columns whose values are all of the one expected Python class take a short way that never runs Python code per
value; any other column is first made canonical value by value. Both ways give the same codes.

>>> dictionaries = Dictionaries()
>>> encode_column(["b", "a", "b"], STRING, dictionaries, intern=True).tolist()
[0, 1, 0]
>>> encode_column(["a", "z"], STRING, dictionaries, intern=False).tolist()
[1, -1]
>>> decode_column(encode_column(["a", None], STRING, dictionaries, intern=True), STRING, dictionaries)
['a', None]
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.values.arrow_numbers import numbers_of, text_array
from headwater.values.dictionaries import Dictionaries
from headwater.values.dictionary import Codes, Dictionary
from headwater.values.instants import EPOCH_DAY
from headwater.values.nanosecond import EPOCH, MICROSECOND, UTC
from headwater.values.scalars import (
    INT_MAX,
    INT_MIN,
    NAN,
    Misfit,
    canonical,
    fixed_code,
    fixed_value,
    is_coded,
)
from headwater.values.special import Entry, LabelledNull, Specials, has_special, is_special
from headwater.values.types import DATE, INT, STRING, TIMESTAMP, Type
from headwater.values.value_column import classes_of

_class_of = type  # where a parameter is called `type`
_NONE = type(None)
_FEWEST_ENCODED_BY_ARROW = 20_000
_OWN_KEYS = (INT, STRING, DATE, TIMESTAMP)  # lists of these are their own keys, see `known_by`
_CLASSES: dict[str, type] = {
    "int": int, "float": float, "string": str, "bool": bool,
    "date": datetime.date, "timestamp_ntz": datetime.datetime,
}  # fmt: skip


def float_bits(values: NDArray[np.float64]) -> Codes:
    """The bits of floats, after -0.0 became 0.0 and every NaN the one NaN; see `Specials.float_codes`."""
    values = np.add(values, 0.0, dtype=np.float64)
    nans = values != values
    if nans.any():
        values[nans] = np.nan
    return values.view(np.int64)


def float_codes(values: NDArray[np.float64], specials: Specials) -> Codes:
    """The codes of floats."""
    return specials.float_codes(float_bits(values))


def floats(codes: Codes, specials: Specials) -> NDArray[np.float64]:
    """The floats with these codes; 0.0 where there is none."""
    return np.ascontiguousarray(specials.numbers(codes), dtype=np.int64).view(np.float64)


def encode_column(
    values: Sequence[Any] | NDArray[Any],
    type: Type,
    dictionaries: Dictionaries,
    *,
    intern: bool,
) -> Codes:
    """The codes of `values`; raises `Misfit`, with its row, at the first that is not of `type`.

    Without `intern` no dictionary grows, unknown strings and lists get -1, and unknown special values `UNKNOWN`.
    Missing values are `NULL`.
    """
    if len(values) == 0:
        return np.empty(0, dtype=np.int64)
    if isinstance(values, np.ndarray):
        codes = _encode_array(values, type, dictionaries.specials, intern)
        if codes is not None:
            return codes
        exact = values.dtype.kind in "mM" or values.dtype.itemsize > 8  # where tolist() would lose something
        values = list(values) if exact and values.dtype.kind in "mMfc" else values.tolist()
    expected = _CLASSES.get(type.name)
    classes = classes_of(values)
    if any(_may_be_missing(each) for each in classes) or LabelledNull in classes:
        return encode_canonical(_canonical_all(values, type), type, dictionaries, intern=intern)
    if expected is not None:
        if classes != {expected}:
            if classes == {int, float} and type.name == "float":
                codes = _mixed(values, dictionaries.specials, intern)
                if codes is not None:
                    return codes
            values = _canonical_all(values, type)
    elif not _are_canonical_lists(values, type):
        values = _canonical_all(values, type)
    try:
        return _encode_plain(values, type, dictionaries, intern)
    except (OverflowError, UnicodeError, _AwareError):
        return _encode_plain(_canonical_all(values, type), type, dictionaries, intern)


def _may_be_missing(kind: type) -> bool:
    return kind is _NONE or kind.__name__ in ("NAType", "NaTType", "datetime64", "timedelta64")


class _AwareError(Exception):
    """A datetime with a time zone was met on the short way."""


def _encode_array(values: NDArray[Any], type: Type, specials: Specials, intern: bool) -> Codes | None:
    """The codes of a numpy array whose element type says that all its values fit."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if type.name == "int" and (kind == "i" or kind == "u" and size < 8):
        return specials.int_codes(values.astype(np.int64), intern=intern)
    if type.name == "bool" and kind == "b":
        return values.astype(np.int64)
    if type.name == "float" and (kind == "f" and size <= 8 or kind in "iu" and size < 8):
        return specials.float_codes(float_bits(values.astype(np.float64)), intern=intern)
    if type.name == "float" and kind == "i" and not (values >> 53).any():
        return float_bits(values.astype(np.float64))
    return None


def _canonical_all(values: Sequence[Any], type: Type) -> list[Any]:
    result = []
    try:
        for value in values:
            result.append(canonical(value, type))
    except Misfit as misfit:
        misfit.row = len(result)
        raise
    return result


def _are_canonical_lists(values: Sequence[Any], type: Type) -> bool:
    """Whether all values are seen at a glance to be canonical lists of `type`: tuples of ints or strings."""
    if type.element not in (INT, STRING) or set(map(_class_of, values)) != {tuple}:
        return False
    if set(map(_class_of, chain.from_iterable(values))) - {_CLASSES[type.element.name]}:
        return False
    leaves = set(chain.from_iterable(values))
    if type.element == STRING:
        return _are_unicode(leaves)
    return not leaves or (min(leaves) >= INT_MIN and max(leaves) <= INT_MAX)


def _are_unicode(values: Iterable[str]) -> bool:
    """Whether no string has half of a surrogate pair, which nothing outside Python could hold."""
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return False
    return True


def _mixed(values: Sequence[Any], specials: Specials, intern: bool) -> Codes | None:
    """Codes of ints and floats as floats, unless some int may be too large to be one."""
    try:
        column = np.fromiter(values, dtype=np.float64, count=len(values))
    except OverflowError:
        return None
    large = np.flatnonzero(np.abs(column) >= 2.0**53)
    if any(isinstance(values[i], int) for i in large.tolist()):
        return None
    return specials.float_codes(float_bits(column), intern=intern)


def encode_canonical(values: Sequence[Any], type: Type, dictionaries: Dictionaries, *, intern: bool) -> Codes:
    """The codes of values already known to be canonical values of `type`, nulls and labelled nulls among them."""
    special = {_NONE, LabelledNull}
    if special.isdisjoint(classes_of(values)):
        return _encode_plain(values, type, dictionaries, intern)
    places = np.fromiter((_class_of(value) in special for value in values), bool, len(values))
    codes = np.empty(len(values), np.int64)
    nulls = [value for value in values if _class_of(value) in special]
    codes[places] = dictionaries.specials.encode(nulls, intern=intern)
    plain = [value for value in values if _class_of(value) not in special]
    codes[~places] = _encode_plain(plain, type, dictionaries, intern)
    return codes


def _encode_plain(values: Sequence[Any], type: Type, dictionaries: Dictionaries, intern: bool) -> Codes:
    """The codes of canonical values, none of them null."""
    count = len(values)
    name = type.name
    if name == "int":
        return dictionaries.specials.int_codes(
            np.fromiter(values, dtype=np.int64, count=count), intern=intern
        )
    if name == "bool":
        return np.fromiter(values, dtype=np.int64, count=count)
    if name == "float":
        bits = float_bits(np.fromiter(values, dtype=np.float64, count=count))
        return dictionaries.specials.float_codes(bits, intern=intern)
    if name == "date":
        return np.fromiter(map(datetime.date.toordinal, values), dtype=np.int64, count=count) - EPOCH_DAY
    if name == "timestamp_ntz":
        if any(value.tzinfo is not None for value in values):
            raise _AwareError
        moments = ((value - EPOCH) // MICROSECOND for value in values)
        return np.fromiter(moments, dtype=np.int64, count=count)
    if name == "string":
        return _encode_strings(values, dictionaries.strings, intern)
    if not is_coded(type):
        return dictionaries.specials.number_codes(
            [fixed_code(value, type) for value in values], intern=intern
        )
    keys = values if type.element in _OWN_KEYS else None
    lists = dictionaries.of(type)
    return lists.encode(values, keys) if intern else lists.find_all(values, keys)


def _encode_strings(values: Sequence[str], strings: Dictionary, intern: bool) -> Codes:
    """Long columns are reduced to their distinct strings by Arrow, which is faster than a Python dict; or looked up
    as they are, where that costs no more."""
    if len(values) >= _FEWEST_ENCODED_BY_ARROW or strings.takes_columns(len(values)):
        texts = text_array(values)
        if strings.takes_columns(len(values)):
            return strings.encode_texts(texts, intern=intern)
        encoded = texts.dictionary_encode()
        indices: NDArray[np.int32] = numbers_of(encoded.indices)
        return strings.encode_texts(encoded.dictionary, intern=intern)[indices]
    "".join(values).encode()  # raises UnicodeEncodeError, as Arrow does
    return strings.encode(values) if intern else strings.find_all(values)


def decode_column(codes: Codes, type: Type | None, dictionaries: Dictionaries) -> list[Any]:
    """The values with these codes; all of them are special where the type is not known."""
    if type is None:
        return list(dictionaries.specials.decode(codes))
    if not has_special(codes):
        return _decode_plain(codes, type, dictionaries)
    places = is_special(codes)
    values = iter(_decode_plain(codes[~places], type, dictionaries))
    special = iter(dictionaries.specials.decode(codes[places]))
    return [entry_value(next(special), type) if place else next(values) for place in places.tolist()]


def entry_value(entry: Entry | None, type: Type | None) -> Any:
    """What an entry of the special values is in a column of `type`: wide numbers are their own codes there."""
    number = isinstance(entry, int) and type is not None and type != INT
    return fixed_value(entry, type) if number else entry  # type: ignore[arg-type]


def _decode_plain(codes: Codes, type: Type, dictionaries: Dictionaries) -> list[Any]:
    name = type.name
    if name == "int":
        return codes.tolist()  # type: ignore[no-any-return]
    if is_coded(type):
        return dictionaries.of(type).decode(codes)
    if name == "bool":
        return codes.astype(bool).tolist()  # type: ignore[no-any-return]
    if name == "float":
        column = codes.view(np.float64)
        nans = np.isnan(column)
        if nans.any():  # one NaN object, so that lists made of the values are equal when they should be
            return [NAN if nan else value for value, nan in zip(column.tolist(), nans.tolist(), strict=True)]
        return column.tolist()  # type: ignore[no-any-return]
    if name in ("date", "timestamp_ntz", "timestamp"):
        moments = codes.view("datetime64[D]" if name == "date" else "datetime64[us]").tolist()
        return [each.replace(tzinfo=UTC) for each in moments] if name == "timestamp" else moments
    return [fixed_value(code, type) for code in codes.tolist()]
