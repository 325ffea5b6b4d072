"""Aggregates of groups as they are maintained: exact, with NULLs left out, by the numbers of groups (sections 5.6 and
5.7).

A `GroupAggregate` takes signed values and says what each group amounts to. Sums are exact (`values/exact_sum`):
adding and taking away leaves no drift that could flip a HAVING. The sum of no values is NULL, their count 0. Nothing
here knows which groups there are: a group that goes has had all its values taken away, so its number can be used
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from headwater.kernel.accumulating import Accumulating
from headwater.sketch.maintain.coding import CodedColumn
from headwater.sketch.maintain.database_averages import AverageRule
from headwater.sketch.maintain.fragment_sets import Ints
from headwater.sketch.maintain.merge import negative_count
from headwater.values.codec import Codec
from headwater.values.decimal_types import average_type, sum_type
from headwater.values.exact_sum import ExactSums, SavedSums, with_groups
from headwater.values.group_sums import AnySums, add_codes, aggregated, empty_sums
from headwater.values.special import NULL
from headwater.values.types import FLOAT, INT, Type, parse_type


@dataclass(frozen=True)
class SavedState:
    """What an aggregate keeps, as tables by name and a few words."""

    tables: Mapping[str, pa.Table]
    words: Mapping[str, str] = field(default_factory=dict)


class GroupAggregate(Protocol):
    """What is asked of an aggregate."""

    def change(self, groups: Ints, column: pa.Array | None, counts: Ints) -> None:
        """Take values in, each as often as its count says (or out, below 0)."""
        ...

    def column(self, groups: Ints) -> pa.Array:
        """What groups amount to."""
        ...

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        ...

    def save(self, groups: Ints) -> SavedState:
        """What is kept of these groups, which are numbered from 0 on there."""
        ...

    def load(self, saved: SavedState) -> None:
        """Take over what was saved; this one is new."""
        ...


class GroupCount:
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
        found: Ints = self._values[groups, 0]
        if (found < 0).any():
            raise negative_count("a group")
        return found

    def column(self, groups: Ints) -> pa.Array:
        return pa.array(self.values(groups))

    @property
    def nbytes(self) -> int:
        return self._values.nbytes

    def save(self, groups: Ints) -> SavedState:
        return SavedState({"counts": pa.table({"count": self.values(groups)})})

    def load(self, saved: SavedState) -> None:
        self._values = np.asarray(saved.tables["counts"].column(0)).reshape(-1, 1).copy()


class GroupSum:
    """`sum(x)`, `avg(x)` and bounds of it."""

    def __init__(
        self,
        codec: Codec,
        function: str,
        argument: Type | None,
        name: str,
        averages: AverageRule | None = None,
    ):
        self.function = function
        self.averages = averages
        """How averages are rounded, if not as they are here."""
        self.coded = CodedColumn(codec, name, argument)
        self.count = GroupCount()
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
        if self.averages is not None and not isinstance(sums, ExactSums):
            return self.averaged(groups, self.averages)
        specials = self.coded.codec.specials
        codes = aggregated(sums, self.function, groups, self.count.values(groups), specials)
        return CodedColumn(self.coded.codec, self.coded.name, self._result()).column(codes)

    def averaged(self, groups: Ints, rule: AverageRule) -> pa.Array:
        """The averages of groups by a rule; not of floats."""
        sums = self._of_groups(groups)
        assert not isinstance(sums, ExactSums)
        scale = 0 if self.coded.type is None else self.coded.type.scale
        return rule.column(sums, groups, self.count.values(groups), scale)

    @property
    def nbytes(self) -> int:
        return self.count.nbytes + (0 if self._sums is None else self._sums.nbytes)

    def save(self, groups: Ints) -> SavedState:
        saved = self._of_groups(groups).save(groups)
        limbs = saved.limbs if isinstance(saved, SavedSums) else saved
        tables = {**self.count.save(groups).tables, "limbs": _matrix(limbs)}
        words = {"type": "" if self.coded.type is None else str(self.coded.type)}
        if isinstance(saved, SavedSums):
            return SavedState(
                {**tables, "special": _matrix(saved.special)}, {**words, "base": str(saved.base)}
            )
        return SavedState(tables, words)

    def load(self, saved: SavedState) -> None:
        self.count.load(saved)
        self.coded.type = parse_type(saved.words["type"]) if saved.words["type"] else None
        self._sums = empty_sums(self.coded.type)
        limbs = _ints(saved.tables["limbs"])
        if isinstance(self._sums, ExactSums):
            self._sums.load(SavedSums(limbs, int(saved.words["base"]), _ints(saved.tables["special"])))
        else:
            self._sums.load(limbs)

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

    def __init__(self, codec: Codec, argument: Type | None, name: str, inner: GroupCount | GroupSum):
        self.coded = inner.coded if isinstance(inner, GroupSum) else CodedColumn(codec, name, argument)
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
        if isinstance(self.inner, GroupSum):
            self.inner.count.change(owners, None, change)
            self.inner.add_codes(owners, values, change)
        else:
            self.inner.change(owners, None, change)
        self._values.commit()

    def column(self, groups: Ints) -> pa.Array:
        return self.inner.column(groups)

    @property
    def nbytes(self) -> int:
        return self._values.nbytes + self.inner.nbytes

    def save(self, groups: Ints) -> SavedState:
        inner = self.inner.save(groups)
        numbers = np.full(int(groups.max(initial=-1)) + 1, -1)
        numbers[groups] = np.arange(len(groups))
        live = self._values.live_rows()
        owners, codes = self._values.rows[live, 0], self._values.rows[live, 1]
        values = pa.table({
            "group": numbers[owners], "value": self.coded.column(codes), "count": self._values.counts[live],
        })  # fmt: skip
        words = {**inner.words, "type": "" if self.coded.type is None else str(self.coded.type)}
        return SavedState({**inner.tables, "distinct": values}, words)

    def load(self, saved: SavedState) -> None:
        self.inner.load(saved)
        self.coded.type = parse_type(saved.words["type"]) if saved.words["type"] else None
        table = saved.tables["distinct"]
        codes = self.coded.codes(table.column(1).combine_chunks())
        self._values.add(np.column_stack((np.asarray(table.column(0)), codes)), np.asarray(table.column(2)))
        self._values.commit()


class OtherAverage:
    """Averages by another rule of the values that a `GroupSum` beside this one takes in: it has no state."""

    def __init__(self, beside: GroupSum, rule: AverageRule):
        self.beside = beside
        self.rule = rule
        self.nbytes = 0

    def change(self, groups: Ints, column: pa.Array | None, counts: Ints) -> None:
        pass

    def column(self, groups: Ints) -> pa.Array:
        return self.beside.averaged(groups, self.rule)

    def save(self, groups: Ints) -> SavedState:
        return SavedState({})

    def load(self, saved: SavedState) -> None:
        pass


def _matrix(rows: Ints) -> pa.Table:
    return pa.table({str(place): np.ascontiguousarray(rows[:, place]) for place in range(rows.shape[1])})


def _ints(table: pa.Table) -> Ints:
    columns = [np.asarray(column) for column in table.columns]
    return np.column_stack(columns) if columns else np.zeros((table.num_rows, 0), np.int64)


def _for_groups(values: Ints, groups: Ints) -> Ints:
    return with_groups(values, int(groups.max()) + 1 if len(groups) else 0)
