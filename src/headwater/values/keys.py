"""What values with parts are known by in their dictionary, and which of two values comes first.

>>> sorted([(2, None), (1,), ()], key=order_key), known_by((True,))
([(), (1,), (2, None)], (('bool', True),))
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Mapping
from decimal import Decimal
from typing import Any

from headwater.values.labelled import LabelledNull
from headwater.values.nanosecond import NanosecondDatetime
from headwater.values.record import FrozenMap, Struct

_ALIKE = (float, bool, NanosecondDatetime)


def known_by(value: Any) -> Hashable:
    """What a canonical list, map, record or bytes is known by in its dictionary.

    Python holds `(1,) == (1.0,) == (True,) == (Decimal(1),)`; these are four lists here, so leaves of all but one of
    these kinds are known by their kind as well.

    >>> known_by((1, None)), known_by((True,)), known_by((Decimal("1.50"),))
    ((1, None), (('bool', True),), (('Decimal', -2, Decimal('1.50')),))
    """
    kind = type(value)
    if kind is tuple:
        return tuple(map(known_by, value))
    if kind in _ALIKE:
        return (kind.__name__, value)
    if kind is Decimal:
        return (kind.__name__, value.as_tuple().exponent, value)
    if kind is Struct or kind is FrozenMap:
        items = tuple((known_by(key), known_by(item)) for key, item in value.items())
        return (kind.__name__, items)
    return value  # type: ignore[no-any-return]


def order_key(value: Any) -> Any:
    """A key that is comparable whatever the parts are: NaN is above all numbers, null above all values, and labelled
    nulls above that."""
    if isinstance(value, tuple):
        return ("list", tuple(map(order_key, value)))
    if isinstance(value, Mapping):
        keys = tuple(map(order_key, value)) if type(value) is FrozenMap else ()
        return ("map", keys, tuple(map(order_key, value.values())))
    if value is None:
        return ("~null",)
    if isinstance(value, LabelledNull):
        return ("~null?", str(value))
    if isinstance(value, (int, float, Decimal)):
        return ("number", 1, 0.0) if value != value else ("number", 0, value)
    if isinstance(value, datetime.datetime):
        return ("moment", value.tzinfo is None, value)
    return (type(value).__name__, 0, value)
