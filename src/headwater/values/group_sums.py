"""Sums and averages of groups, by codes: of ints, floats and decimals, each kept exact.

>>> from headwater.values.types import INT
>>> sums, specials = empty_sums(INT), Specials()
>>> sums.ensure(1)
>>> add_codes(sums, np.array([0, 0]), np.array([3, 4]), 1, specials)
>>> aggregated(sums, "sum", np.array([0]), np.array([2]), specials).tolist()
[7]
"""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EvaluationError
from headwater.values.decimal_types import average_type, sum_type
from headwater.values.exact_sum import MASK, SETTLE_EVERY, ExactIntSums, ExactSums, settle, with_groups
from headwater.values.special import NULL, Specials, is_special
from headwater.values.types import FLOAT, Type

Ints = NDArray[np.int64]
_DECIMAL_LIMBS = 7  # 127 bits, and 2**63 values


class ExactDecimalSums:
    """Exact sums of decimals of one type by group number: of their unscaled values, which have up to 127 bits.

    >>> from headwater.values.types import decimal_of
    >>> sums, specials = ExactDecimalSums(decimal_of(38, 2)), Specials()
    >>> sums.ensure(1)
    >>> sums.add(np.array([0, 0]), np.array([5, specials.code(10**37)]), 1, specials)
    >>> specials.value(int(sums.sum_codes(np.array([0]), np.array([2]), specials)[0]))
    10000000000000000000000000000000000005
    """

    def __init__(self, type: Type) -> None:
        """Start without groups."""
        self.type = type
        self._limbs = np.zeros((0, _DECIMAL_LIMBS), dtype=np.int64)
        self._unsettled = 0

    def __len__(self) -> int:
        """How many groups there are."""
        return len(self._limbs)

    def ensure(self, n: int) -> None:
        """Let there be at least the groups 0 to n - 1; new ones are empty."""
        self._limbs = with_groups(self._limbs, n)

    def add(self, groups: Ints, codes: Ints, sign: int, specials: Specials) -> None:
        """Add each value to its group's sum; with sign -1, take away values added before."""
        self._unsettled += len(groups)
        if self._unsettled > SETTLE_EVERY:
            settle(self._limbs)
            self._unsettled = len(groups)
        wide = is_special(codes)
        if wide.any():
            for group, units in zip(groups[wide].tolist(), specials.decode(codes[wide]), strict=True):
                for limb in range(_DECIMAL_LIMBS):
                    part = int(units) >> (32 * limb)  # type: ignore[arg-type]
                    last = limb == _DECIMAL_LIMBS - 1
                    self._limbs[group, limb] += sign * (part if last else part & int(MASK))
            groups, codes = groups[~wide], codes[~wide]
        flat, place = self._limbs.reshape(-1), _DECIMAL_LIMBS * groups
        np.add.at(flat, place, sign * (codes & MASK))
        np.add.at(flat, place + 1, sign * (codes >> 32))

    def sum_codes(self, groups: Ints, counts: Ints, specials: Specials) -> Ints:
        """The codes of the sums; `overflow` for one that has too many digits for `sum_type`."""
        low, narrow = self._narrow(groups)
        type = sum_type(self.type)
        if narrow.all() and type.precision > 18:
            return specials.int_codes(low)
        return self._codes([self.total(group) for group in groups.tolist()], type, specials)

    def average_codes(self, groups: Ints, counts: Ints, specials: Specials) -> Ints:
        """The codes of the averages, rounded half up to the scale of `average_type`."""
        type = average_type(self.type)
        more = 10 ** (type.scale - self.type.scale)
        pairs = zip(groups.tolist(), counts.tolist(), strict=True)
        return self._codes(
            [_half_up(self.total(group) * more, count) for group, count in pairs], type, specials
        )

    def save(self, groups: Ints) -> Ints:
        """The state of some groups, for `restore`."""
        saved = self._limbs[groups]
        settle(saved)
        return saved

    def load(self, saved: Ints) -> None:
        """Become what was saved, of groups 0 and on."""
        self._limbs, self._unsettled = saved.copy(), 0

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self._limbs.nbytes

    def restore(self, groups: Ints, saved: Ints) -> None:
        """Put groups back to what they were when saved."""
        self._limbs[groups] = saved

    def _narrow(self, groups: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """The sums as 64-bit ints, and which of them fit: all limbs above the second repeat their sign."""
        limbs = self.save(groups)
        negative = limbs[:, 1] >= 2**31
        rest = np.where(negative, MASK, 0)
        inner = (limbs[:, 2:-1] == rest[:, None]).all(axis=1)
        return (limbs[:, 1] << 32) | limbs[:, 0], inner & (limbs[:, -1] == np.where(negative, -1, 0))

    def total(self, group: int) -> int:
        """The sum of one group in units of the last digit, whatever its size."""
        return sum(int(limb) << (32 * place) for place, limb in enumerate(self._limbs[group].tolist()))

    def _codes(self, units: list[int], type: Type, specials: Specials) -> Ints:
        limit = 10**type.precision
        for each in units:
            if not -limit < each < limit:
                shown = Decimal(each).scaleb(-type.scale, Context(prec=200))
                hint = "sum fewer digits: decimal(X, 18, 2)"
                raise EvaluationError("overflow", f"{shown:f} does not fit {type}", hint=hint)
        return specials.number_codes(units, intern=True)


def _half_up(total: int, count: int) -> int:
    """A quotient rounded half up, away from zero."""
    rounded = (2 * abs(total) + count) // (2 * count)
    return -rounded if total < 0 else rounded


AnySums = ExactSums | ExactIntSums | ExactDecimalSums


def empty_sums(type: Type | None) -> AnySums:
    """What keeps sums of values of this type."""
    if type is not None and type.name == "decimal":
        return ExactDecimalSums(type)
    return ExactSums() if type == FLOAT else ExactIntSums()


def add_codes(sums: AnySums, groups: Ints, codes: Ints, sign: int, specials: Specials) -> None:
    """Add values, given by their codes, none of them null, to the sums of their groups; or take them away."""
    if isinstance(sums, ExactDecimalSums):
        sums.add(groups, codes, sign, specials)
    elif isinstance(sums, ExactSums):
        sums.add(groups, specials.numbers(codes).view(np.float64), sign)
    else:
        sums.add(groups, specials.numbers(codes), sign)


def aggregated(sums: AnySums, function: str, groups: Ints, counts: Ints, specials: Specials) -> Ints:
    """The codes of the sum or the average (`avg`) of each group; NULL for one of no values."""
    filled = counts > 0
    if filled.all():
        return _codes(sums, function, groups, counts, specials)
    codes = np.full(groups.shape[0], NULL, np.int64)
    codes[filled] = _codes(sums, function, groups[filled], counts[filled], specials)
    return codes


def _codes(sums: AnySums, function: str, groups: Ints, counts: Ints, specials: Specials) -> Ints:
    if isinstance(sums, ExactDecimalSums):
        return (sums.average_codes if function == "avg" else sums.sum_codes)(groups, counts, specials)
    if function == "avg":
        return specials.float_codes(sums.average(groups, counts).view(np.int64))
    if isinstance(sums, ExactIntSums):
        return specials.int_codes(sums.value(groups))
    return specials.float_codes(sums.value(groups).view(np.int64))
