"""count, sum, avg, min and max over the bindings of groups, exact under inserts and deletes.

Each group costs what changes in it, but for a min or max that is lost. Sums of floats are sums of fractions, rounded
once. The results are those of `values/group_sums`: a sum that does not fit is an error, nulls are left out, a group
whose bindings are all null has a count of 0 and a sum of null. Where nobody has declared the type of a column, the
values themselves say what is summed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from headwater.errors import EvaluationError
from headwater.values.codec import Codec
from headwater.values.decimal_types import average_type, sum_type
from headwater.values.group_sums import add_codes, aggregated, empty_sums
from headwater.values.keys import order_key
from headwater.values.scalars import INT_MAX, INT_MIN, Misfit, common_type
from headwater.values.special import LabelledNull
from headwater.values.types import FLOAT, INT, INTERVAL, INTERVAL_MONTHS, Type

_SUMMED = {"sum": (INT, FLOAT, INTERVAL, INTERVAL_MONTHS), "avg": (INT, FLOAT)}
"""What can be added up, beside decimals."""


class GroupValue:
    """The bindings of one group."""

    __slots__ = ("_total", "bindings", "values")

    def __init__(self) -> None:
        self.bindings = 0
        self.values: dict[Any, int] = {}
        """How often each value is there, by its type and itself; not kept for a count."""
        self._total: Any = 0

    def change(self, function: str, value: Any, counted: bool, sign: int) -> None:
        """A binding has come or gone; `counted` says that its value may be null, and is then left out."""
        self.bindings += sign
        if function == "count":
            self._total += sign if not counted or value is not None else 0
            return
        if value is None or isinstance(value, LabelledNull):
            return
        left = self.values.get(value, 0) + sign
        if left:
            self.values[value] = left
        else:
            del self.values[value]
        if type(value) is int:
            self._total += sign * value

    def result(self, function: str, type_: Type | None) -> Any:
        """What the group amounts to."""
        if function == "count":
            return self._total
        if not self.values:
            return 0 if function == "sum" and not self.bindings else None
        if function in ("min", "max"):
            return (min if function == "min" else max)(self.values, key=order_key)
        if type_ is None:
            type_ = _summed_type(function, self.values)
        if type_ == INT and INT_MIN <= self._total <= INT_MAX:
            return self._total if function == "sum" else self._total / sum(self.values.values())
        if type_ == FLOAT and all(map(math.isfinite, self.values)):
            return self._of_floats(function)
        return self._as_columns(function, type_)

    def _of_floats(self, function: str) -> float:
        total = sum((Fraction(value) * times for value, times in self.values.items()), Fraction(0))
        if function == "avg":
            total /= sum(self.values.values())
        try:
            return float(total)
        except OverflowError:
            return math.inf if total > 0 else -math.inf

    def _as_columns(self, function: str, type_: Type) -> Any:
        """As set-at-a-time evaluation does it, with its errors."""
        codec, sums = Codec(), empty_sums(type_)
        values = [value for value, times in self.values.items() for _ in range(times)]
        codes = codec.encode_column(values, type_)
        sums.ensure(1)
        group = np.zeros(1, np.int64)
        add_codes(sums, np.zeros(len(values), np.int64), codes, 1, codec.specials)
        found = aggregated(sums, function, group, np.array([len(values)]), codec.specials)
        return codec.decode_value(int(found[0]), _result(function, type_))


def _summed_type(function: str, values: Iterable[Any]) -> Type:
    """The type that holds all values of a group; refused if they are nothing to add up."""
    try:
        found = common_type(values)
    except Misfit:
        found = None
    if found is None or found.name != "decimal" and found not in _SUMMED[function]:
        shown = "values of several kinds" if found is None else f"{found} values"
        hint = "count, min and max take values of any type"
        raise EvaluationError("type-clash", f"{function} needs numbers, not {shown}", hint=hint)
    return found


def _result(function: str, type_: Type) -> Type:
    """The type of a sum or an average."""
    if type_.name == "decimal":
        return average_type(type_) if function == "avg" else sum_type(type_)
    return FLOAT if function == "avg" else type_
