"""A column of Python values to codes, and codes back to Python values.

Columns whose values are all of the one expected Python class take a short way that never runs Python code per
value; any other column is first made canonical value by value. Both ways give the same codes.

>>> from headwater.values.scalars import list_key
>>> strings, lists = Dictionary(), Dictionary(list_key)
>>> encode_column(["b", "a", "b"], STRING, strings, lists, intern=True).tolist()
[0, 1, 0]
>>> encode_column(["a", "z"], STRING, strings, lists, intern=False).tolist()
[1, -1]
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.values.dictionary import Codes, Dictionary
from headwater.values.scalars import (
    EPOCH,
    EPOCH_DAY,
    INT_MAX,
    INT_MIN,
    MICROSECOND,
    NAN,
    Misfit,
    canonical,
)
from headwater.values.types import DATE, INT, STRING, TIMESTAMP, Type

_class_of = type  # where a parameter is called `type`
_FEWEST_ENCODED_BY_ARROW = 20_000
_OWN_KEYS = (INT, STRING, DATE, TIMESTAMP)  # lists of these are their own keys, see `list_key`
_CLASSES: dict[str, type] = {
    "int": int, "float": float, "string": str, "bool": bool,
    "date": datetime.date, "timestamp": datetime.datetime,
}  # fmt: skip


def float_codes(values: NDArray[np.float64]) -> Codes:
    """The codes of floats: their bits, after -0.0 became 0.0 and every NaN the one NaN."""
    values = np.add(values, 0.0, dtype=np.float64)
    values[np.isnan(values)] = np.nan
    return values.view(np.int64)


def floats(codes: Codes) -> NDArray[np.float64]:
    """The floats with these codes."""
    return np.ascontiguousarray(codes, dtype=np.int64).view(np.float64)


def encode_column(
    values: Sequence[Any] | NDArray[Any],
    type: Type,
    strings: Dictionary,
    lists: Dictionary,
    *,
    intern: bool,
) -> Codes:
    """The codes of `values`; raises `Misfit`, with its row, at the first that is not of `type`.

    Without `intern` no dictionary grows and unknown strings and lists get -1.
    """
    if len(values) == 0:
        return np.empty(0, dtype=np.int64)
    if isinstance(values, np.ndarray):
        codes = _encode_array(values, type)
        if codes is not None:
            return codes
        exact = values.dtype.kind == "M" or values.dtype.itemsize > 8  # where tolist() would lose something
        values = list(values) if exact and values.dtype.kind in "Mfc" else values.tolist()
    expected = _CLASSES.get(type.name)
    if expected is not None:
        classes = set(map(_class_of, values))
        if classes != {expected}:
            if classes == {int, float} and type.name == "float" and (codes := _mixed(values)) is not None:
                return codes
            values = _canonical_all(values, type)
    elif not _are_canonical_lists(values, type):
        values = _canonical_all(values, type)
    try:
        return encode_canonical(values, type, strings, lists, intern=intern)
    except (OverflowError, UnicodeError, _AwareError):
        return encode_canonical(_canonical_all(values, type), type, strings, lists, intern=intern)


class _AwareError(Exception):
    """A datetime with a time zone was met on the short way."""


def _encode_array(values: NDArray[Any], type: Type) -> Codes | None:
    """The codes of a numpy array whose element type says that all its values fit."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if type.name == "int" and (kind == "i" or kind == "u" and size < 8):
        return values.astype(np.int64)
    if type.name == "bool" and kind == "b":
        return values.astype(np.int64)
    if type.name == "float" and (kind == "f" and size <= 8 or kind in "iu" and size < 8):
        return float_codes(values.astype(np.float64))
    if type.name == "float" and kind == "i" and not (values >> 53).any():
        return float_codes(values.astype(np.float64))
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


def _mixed(values: Sequence[Any]) -> Codes | None:
    """Codes of ints and floats as floats, unless some int may be too large to be one."""
    try:
        column = np.fromiter(values, dtype=np.float64, count=len(values))
    except OverflowError:
        return None
    large = np.flatnonzero(np.abs(column) >= 2.0**53)
    if any(isinstance(values[i], int) for i in large.tolist()):
        return None
    return float_codes(column)


def encode_canonical(
    values: Sequence[Any], type: Type, strings: Dictionary, lists: Dictionary, *, intern: bool
) -> Codes:
    """The codes of values already known to be canonical values of `type`."""
    count = len(values)
    name = type.name
    if name == "int" or name == "bool":
        return np.fromiter(values, dtype=np.int64, count=count)
    if name == "float":
        return float_codes(np.fromiter(values, dtype=np.float64, count=count))
    if name == "date":
        return np.fromiter(map(datetime.date.toordinal, values), dtype=np.int64, count=count) - EPOCH_DAY
    if name == "timestamp":
        if any(value.tzinfo is not None for value in values):
            raise _AwareError
        moments = ((value - EPOCH) // MICROSECOND for value in values)
        return np.fromiter(moments, dtype=np.int64, count=count)
    if name == "string":
        return _encode_strings(values, strings, intern)
    keys = values if type.element in _OWN_KEYS else None
    return lists.encode(values, keys) if intern else lists.find_all(values, keys)


def _encode_strings(values: Sequence[str], strings: Dictionary, intern: bool) -> Codes:
    """Long columns are reduced to their distinct strings by Arrow, which is faster than a Python dict."""
    if len(values) >= _FEWEST_ENCODED_BY_ARROW:
        import pyarrow

        encoded = pyarrow.array(values, pyarrow.large_string()).dictionary_encode()
        distinct = encoded.dictionary.to_pylist()
        codes = strings.encode(distinct) if intern else strings.find_all(distinct)
        indices: NDArray[np.int32] = encoded.indices.to_numpy()
        return codes[indices]
    "".join(values).encode()  # raises UnicodeEncodeError, as Arrow does
    return strings.encode(values) if intern else strings.find_all(values)


def decode_column(codes: Codes, type: Type, strings: Dictionary, lists: Dictionary) -> list[Any]:
    """The values with these codes."""
    name = type.name
    if name == "int":
        return codes.tolist()  # type: ignore[no-any-return]
    if name == "string" or name == "list":
        return (strings if type == STRING else lists).decode(codes)
    if name == "bool":
        return codes.astype(bool).tolist()  # type: ignore[no-any-return]
    if name == "float":
        column = floats(codes)
        nans = np.isnan(column)
        if nans.any():  # one NaN object, so that lists made of the values are equal when they should be
            return [NAN if nan else value for value, nan in zip(column.tolist(), nans.tolist(), strict=True)]
        return column.tolist()  # type: ignore[no-any-return]
    return codes.view("datetime64[D]" if name == "date" else "datetime64[us]").tolist()  # type: ignore[no-any-return]
