"""A column of Python values that knows which classes they are of.

Whoever takes in a column asks that several times: whether there may be nulls, which type the values tell, whether
they can be encoded at once. Looking at every value takes longer than encoding it.

>>> column = ValueColumn([1, 2, "a"])
>>> sorted(kind.__name__ for kind in classes_of(column)), column == [1, 2, "a"]
(['int', 'str'], True)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any


class ValueColumn(list[Any]):
    """Values that nobody changes any more once the classes have been asked for."""

    @cached_property
    def classes(self) -> frozenset[type]:
        """The classes of all values."""
        return frozenset(map(type, self))


def classes_of(values: Iterable[Any]) -> frozenset[type]:
    """The classes of all values of a column."""
    return values.classes if isinstance(values, ValueColumn) else frozenset(map(type, values))
