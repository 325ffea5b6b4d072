"""Aggregates of groups as they are maintained: exact, with NULLs left out, by the numbers of groups (sections 5.6 and 5.7).

A `GroupAggregate` takes signed values and says what each group amounts to. Sums are exact (`values/exact_sum`): adding and
taking away leaves no drift that could flip a HAVING. The sum of no values is NULL, their count 0. Nothing here knows which
groups there are: a group that goes has had all its values taken away, so its number can be used again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from headwater.kernel.accumulating import Accumulating
from headwater.sketch.maintain.coding import CodedColumn
from headwater.sketch.maintain.fragment_sets import Ints
from headwater.sketch.maintain.merge import negative_count
from headwater.values.codec import Codec
from headwater.values.decimal_types import average_type, sum_type
from headwater.values.exact_sum import with_groups
from headwater.values.group_sums import AnySums, add_codes, aggregated, empty_sums
from headwater.values.special import NULL
from headwater.values.types import FLOAT, INT, Type

if TYPE_CHECKING:
    import pyarrow as pa


class GroupAggregate(Protocol):
    """What is asked of an aggregate."""

    def change(self, groups: Ints, column: pa.Array | None, counts: Ints) -> None:
        """Take values in, each as often as its count says (or out, below 0)."""
        ...

    def column(self, groups: Ints) -> pa.Array:
        """What groups amount to."""
        ...

    def commit(self) -> None:
        """End the version."""
        ...

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        ...


class Counted:
    """`count(x)`: how many values a group has."""

    def __init__(self) -> None:
        self._values = np.zeros((0, 1), np.int64)

    def change(self, groups: Ints, column: pa.Array | None, counts: Ints) -> None:
        self._values = _for_groups(self._values, groups)
        if column is not None and column.null_count:
            valid = np.asarray(column.is_valid(), dtype=bool)
            groups, counts = groups[valid], counts[valid]
        np.add.at(self._values[:, 0], groups, counts)

    def values(self, groups: Ints) -> Ints:
        """How many."""
        self._values = _for_groups(self._values, groups)
        found = self._values[groups, 0]
        if (found < 0).any():
            raise negative_count("a group")
        return found

    def column(self, groups: Ints) -> pa.Array:
        import pyarrow as pa

        return pa.array(self.values(groups))

    def commit(self) -> None:
        """Nothing is left over."""

    @property
    def nbytes(self) -> int:
        return self._values.nbytes


class Summed:
    """`sum(x)` and `avg(x)`."""

    def __init__(self, codec: Codec, function: str, argument: Type | None, name: str):
        self.function = function
        self.coded = CodedColumn(codec, name, argument)
        self.count = Counted()
        self._sums: AnySums | None = None

    def change(self, groups: Ints, column: pa.Array | None, counts: Ints) -> None:
        assert column is not None
        self.count.change(groups, column, counts)
        codes = self.coded.codes(column)
        valid = codes != NULL
        if not valid.all():
            groups, codes, counts = groups[valid], codes[valid], counts[valid]
        self.add_codes(groups, codes, counts)

    def add_codes(self, groups: Ints, codes: Ints, counts: Ints) -> None:
        """Add values by their codes, none of them NULL."""
        sums = self._of_groups(groups)
        for sign in (1, -1):
            which = np.flatnonzero(counts * sign > 0)
            if len(which):
                times = counts[which] * sign
                if (times != 1).any():
                    which = np.repeat(which, times)
                add_codes(sums, groups[which], codes[which], sign, self.coded.codec.specials)

    def column(self, groups: Ints) -> pa.Array:
        sums = self._of_groups(groups)
        specials = self.coded.codec.specials
        codes = aggregated(sums, self.function, groups, self.count.values(groups), specials)
        return CodedColumn(self.coded.codec, self.coded.name, self._result()).column(codes)

    def commit(self) -> None:
        """Nothing is left over."""

    @property
    def nbytes(self) -> int:
        held = 0 if self._sums is None else self._sums._limbs.nbytes
        return self.count.nbytes + held

    def _of_groups(self, groups: Ints) -> AnySums:
        if self._sums is None:
            self._sums = empty_sums(self.coded.type)
        if len(groups):
            self._sums.ensure(int(groups.max()) + 1)
        return self._sums

    def _result(self) -> Type:
        argument = self.coded.type
        if argument is not None and argument.name == "decimal":
            return sum_type(argument) if self.function == "sum" else average_type(argument)
        return FLOAT if self.function == "avg" or argument == FLOAT else INT


class OfDistinct:
    """An aggregate of the distinct values of each group: how often each occurs is known."""

    def __init__(self, codec: Codec, argument: Type | None, name: str, inner: Counted | Summed):
        self.coded = inner.coded if isinstance(inner, Summed) else CodedColumn(codec, name, argument)
        self.inner = inner
        self._values = Accumulating(f"distinct {name}", 2)

    def change(self, groups: Ints, column: pa.Array | None, counts: Ints) -> None:
        assert column is not None
        codes = self.coded.codes(column)
        valid = codes != NULL
        self._values.add(np.column_stack((groups[valid], codes[valid])), counts[valid])
        if len(self._values.negative()):
            raise negative_count(f"a value of {self.coded.name}")
        touched = self._values.touched
        change = (self._values.counts[touched] > 0).astype(np.int64) - (self._values.before(touched) > 0)
        touched, change = touched[change != 0], change[change != 0]
        owners, values = self._values.rows[touched, 0], self._values.rows[touched, 1]
        if isinstance(self.inner, Summed):
            self.inner.count.change(owners, None, change)
            self.inner.add_codes(owners, values, change)
        else:
            self.inner.change(owners, None, change)
        self._values.commit()

    def column(self, groups: Ints) -> pa.Array:
        return self.inner.column(groups)

    def commit(self) -> None:
        """Nothing is left over."""

    @property
    def nbytes(self) -> int:
        return self._values.nbytes + self.inner.nbytes


def _for_groups(values: Ints, groups: Ints) -> Ints:
    return with_groups(values, int(groups.max()) + 1 if len(groups) else 0)



