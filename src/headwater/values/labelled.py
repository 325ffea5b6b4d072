"""Labelled nulls: values of which only the identity is known, by the function and the arguments that made them.

Two are equal exactly when functions and arguments are, types included: `?f(1)` is not `?f(1.0)`. Their text says all
of it (see `label_text`); so it is also how they are stored and sent.

>>> LabelledNull("f", (1, "it's", LabelledNull("g", (None, 2.0))))
?f(1, 'it\\'s', ?g(null, 2.0))
>>> LabelledNull("f", (1,)) == LabelledNull("f", (1.0,))
False
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Hashable, Mapping
from typing import Any

from headwater.errors import DataError
from headwater.values.misfit import class_name, show

LABEL = "?"
"""Ends the name of a column that holds the texts of another's labelled nulls."""
DEEPEST = 60
"""Levels of labelled nulls inside each other, few enough for a text to write them. Rules may make them of each other
without end."""
_NAME = re.compile(r"[^\W\d]\w*")


class LabelledNull:
    """A value made by `?function(arguments)`, equal to nothing but itself."""

    __slots__ = ("_depth", "_hash", "_key", "arguments", "function")

    function: str
    arguments: tuple[Any, ...]
    _depth: int
    _key: tuple[Any, ...]
    _hash: int

    def __init__(self, function: str, arguments: tuple[Any, ...] | list[Any] = ()):
        """Name the function and its arguments, which are values of any type, nulls and labelled nulls among them."""
        if not isinstance(function, str) or not _NAME.fullmatch(function):
            raise DataError(
                "wrong-type",
                f"{show(function)} is not the name of a function",
                hint="LabelledNull('f', (1, 'a')) is ?f(1, 'a')",
            )
        if not isinstance(arguments, (tuple, list)):
            raise DataError(
                "wrong-type", f"LabelledNull takes a tuple of arguments, not {class_name(arguments)}"
            )
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "arguments", tuple(map(_frozen, arguments)))
        object.__setattr__(self, "_depth", 1 + max(map(_depth, self.arguments), default=0))
        if self._depth > DEEPEST:
            raise DataError(
                "too-deep",
                f"labelled nulls are nested more than {DEEPEST} levels deep: ?{function}(...)",
                hint="make them of values, as ?f(X) of an X that is in rows",
            )
        key = (function, tuple(map(_identity, self.arguments)))
        object.__setattr__(self, "_key", key)
        try:
            object.__setattr__(self, "_hash", hash(key))
        except TypeError as error:
            raise DataError(
                "wrong-type", f"?{function} has an argument that is no value: {show(self.arguments)}"
            ) from error

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a labelled null cannot be changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a labelled null cannot be changed: {name}")

    def __reduce__(self) -> tuple[type[LabelledNull], tuple[str, tuple[Any, ...]]]:
        return LabelledNull, (self.function, self.arguments)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, LabelledNull):
            return NotImplemented
        return self._hash == other._hash and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        from headwater.values.label_text import literal

        return literal(self)


def _depth(value: Any) -> int:
    """How deeply labelled nulls are nested in a value."""
    if isinstance(value, LabelledNull):
        return value._depth
    return max(map(_depth, value), default=0) if isinstance(value, tuple) else 0


def _frozen(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    return value + 0.0 if isinstance(value, float) else value


def _identity(value: Any) -> Hashable:
    """What tells a value from all others, also where Python holds `1 == 1.0 == True`."""
    if isinstance(value, tuple):
        return ("list", *map(_identity, value))
    if isinstance(value, Mapping):
        return (type(value).__name__, *((_identity(key), _identity(each)) for key, each in value.items()))
    if isinstance(value, float) and value != value:
        return ("float", "nan")
    if isinstance(value, decimal.Decimal):
        return ("decimal", value.as_tuple())
    if isinstance(
        value, datetime.datetime
    ):  # a class tells only whether there are nanoseconds, as the value does
        return ("timestamp" if value.tzinfo else "timestamp_ntz", value)
    return (type(value).__name__, value)
