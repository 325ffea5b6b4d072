"""Sums that can be added to and taken from for ever without drift: `ExactSums` and `ExactIntSums`.

What holds: after any stream of additions and removals, the sum of a group is the exact sum of what is left in
it. A sum of floats is rounded once, as `math.fsum` would do, and infinite where it lies beyond the largest
float; a sum of ints that does not fit 64 bits is the error `overflow`, though it may do so while it is not
asked for. Sums depend on nothing but what is left: not on order, history or company. NaNs and infinities are
counted apart, so they can be removed too; while there are any, the sum is what IEEE addition makes of them. A
sum of zero is 0.0.

How: a float64 is a 53-bit integer times a power of two, and all of them are multiples of 2**-1074. A group's
sum is such a multiple, kept as limbs of 32 bits in signed 64-bit accumulators; one addition changes three
limbs by less than 2**33 each, so carries need to be settled only once in 2**28 additions (and limbs that are put back
unsettled, on top of as many, still fit). Only the limbs
between the lowest and the highest exponent seen so far, over all groups, are there. A sum of ints has two.

>>> sums = ExactSums()
>>> sums.ensure(1)
>>> sums.add(np.array([0, 0, 0]), np.array([1e300, 1.0, 0.1]))
>>> sums.add(np.array([0]), np.array([1e300]), -1)
>>> sums.value(np.array([0])).tolist()
[1.1]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EvaluationError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LOWEST = -1074  # all float64 are multiples of 2**LOWEST: limb 0 counts these
MASK = np.int64(2**32 - 1)
SETTLE_EVERY = 2**28
_FEWEST_TAKEN_BY_COLUMN = 8


def split(values: Floats) -> tuple[Ints, Ints]:
    """Finite floats as integers of at most 53 bits and a sign, times powers of two.

    >>> mantissa, exponent = split(np.array([-0.75]))
    >>> math.ldexp(int(mantissa[0]), int(exponent[0]))
    -0.75
    """
    fraction, exponent = np.frexp(values)
    power = np.maximum(exponent.astype(np.int64) - 53, LOWEST)
    # Shifting the fraction by less than 53 (for subnormals) keeps it an integer: its lower bits are zero.
    return np.ldexp(fraction, (exponent - power).astype(np.int32)).astype(np.int64), power


def accumulate(limbs: Ints, base: int, groups: Ints, mantissa: Ints, exponent: Ints, sign: int) -> None:
    """Add `sign * mantissa * 2**exponent` to the limbs of each group; `limbs[:, 0]` is limb number `base`.

    One plain loop over plain arrays. The shifted mantissa has up to 84 bits, so it is shifted in two halves.
    """
    for i in range(len(groups)):
        shift = exponent[i] - LOWEST - 32 * base
        limb = shift >> 5
        bits = shift & 31
        value = sign * mantissa[i]
        low = (value & 0xFFFFFFFF) << bits
        high = (value >> 32) << bits
        limbs[groups[i], limb] += low & 0xFFFFFFFF
        limbs[groups[i], limb + 1] += (low >> 32) + (high & 0xFFFFFFFF)
        limbs[groups[i], limb + 2] += high >> 32


def accumulate_columns(
    limbs: Ints, base: int, groups: Ints, mantissa: Ints, exponent: Ints, sign: int
) -> None:
    """What `accumulate` does, a column at a time."""
    shift = exponent - (LOWEST + 32 * base)
    bits = shift & 31
    value = sign * mantissa
    low = (value & MASK) << bits
    high = (value >> 32) << bits
    flat = limbs.reshape(-1)
    place = groups * limbs.shape[1] + (shift >> 5)
    np.add.at(flat, place, low & MASK)
    np.add.at(flat, place + 1, (low >> 32) + (high & MASK))
    np.add.at(flat, place + 2, high >> 32)


def settle(limbs: Ints) -> None:
    """Carry, so that all limbs but the highest are in 0 to 2**32 - 1; the highest takes the sign."""
    for limb in range(limbs.shape[1] - 1):
        limbs[:, limb + 1] += limbs[:, limb] >> 32
        limbs[:, limb] &= MASK


@dataclass(frozen=True)
class SavedSums:
    """What `ExactSums.restore` needs to put groups back."""

    limbs: Ints
    base: int
    special: Ints


class ExactSums:
    """Exact sums of floats by group number."""

    def __init__(self) -> None:
        """Start without groups."""
        self._limbs = np.zeros((0, 0), dtype=np.int64)
        self._base = 0
        self._special = np.zeros((0, 3), dtype=np.int64)  # how many NaN, +infinity, -infinity
        self._unsettled = 0

    def __len__(self) -> int:
        """How many groups there are."""
        return len(self._limbs)

    def ensure(self, n: int) -> None:
        """Let there be at least the groups 0 to n - 1; new ones are empty."""
        self._special = with_groups(self._special, n)
        self._limbs = with_groups(self._limbs, n)  # last: its length says how many groups there are

    def add(self, groups: Ints, values: Floats, sign: int = 1) -> None:
        """Add each value to its group's sum; with sign -1, take away values added before."""
        finite = np.isfinite(values)
        if not finite.all():
            self._add_special(groups[~finite], values[~finite], sign)
            groups, values = groups[finite], values[finite]
        for start in range(0, len(groups), SETTLE_EVERY):
            part = slice(start, start + SETTLE_EVERY)
            mantissa, exponent = split(values[part])
            self._cover(exponent)
            self._unsettled += len(mantissa)
            if self._unsettled > SETTLE_EVERY:
                settle(self._limbs)
                self._unsettled = len(mantissa)
            run = accumulate if len(mantissa) < _FEWEST_TAKEN_BY_COLUMN else accumulate_columns
            run(self._limbs, self._base, groups[part], mantissa, exponent, sign)

    def value(self, groups: Ints) -> Floats:
        """The sums of groups, rounded to the nearest float, ties to even."""
        if len(groups) < _FEWEST_TAKEN_BY_COLUMN:
            sums = np.array([_divide(self._integer(group), 1) for group in groups.tolist()], dtype=np.float64)
        else:
            sums, _ = self._rounded(groups)
        return self._with_special(groups, sums)

    def average(self, groups: Ints, counts: Ints) -> Floats:
        """The sums divided by `counts`, rounded once from the true quotient."""
        sums, exact = self._rounded(groups)
        averages: Floats = sums / counts
        for row in np.flatnonzero(~exact | (np.abs(counts) >= 2**53)).tolist():
            averages[row] = _divide(self._integer(int(groups[row])), int(counts[row]))
        return self._with_special(groups, averages)

    def save(self, groups: Ints) -> SavedSums:
        """The state of some groups, for `restore`."""
        return SavedSums(self._limbs[groups], self._base, self._special[groups])

    def load(self, saved: SavedSums) -> None:
        """Become what was saved, of groups 0 and on."""
        self._limbs, self._base, self._special = saved.limbs.copy(), saved.base, saved.special.copy()
        self._unsettled = SETTLE_EVERY  # nobody knows: settled with the next addition

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self._limbs.nbytes + self._special.nbytes

    def restore(self, groups: Ints, saved: SavedSums) -> None:
        """Put groups back to what they were when saved, in place."""
        offset = saved.base - self._base
        self._limbs[groups] = 0
        self._limbs[:, offset : offset + saved.limbs.shape[1]][groups] = saved.limbs
        self._special[groups] = saved.special

    # --------------------------------------------------------------

    def _add_special(self, groups: Ints, values: Floats, sign: int) -> None:
        kind = np.where(np.isnan(values), 0, np.where(values > 0, 1, 2))
        np.add.at(self._special, (groups, kind), sign)

    def _with_special(self, groups: Ints, values: Floats) -> Floats:
        special = self._special[groups] > 0
        if not special.any():
            return values
        nan = special[:, 0] | special[:, 1] & special[:, 2]
        infinite = np.where(special[:, 1], np.inf, -np.inf)
        return np.where(nan, np.nan, np.where(special.any(axis=1), infinite, values))

    def _cover(self, exponent: Ints) -> None:
        """Widen the window of limbs to hold these exponents, with two limbs above for carries."""
        if len(exponent) == 0:
            return
        lowest = (int(exponent.min()) - LOWEST) >> 5
        highest = ((int(exponent.max()) - LOWEST) >> 5) + 5
        groups, width = self._limbs.shape
        if width == 0:
            self._base = lowest
        base, end = min(lowest, self._base), max(highest, self._base + width)
        if end - base > width:
            wider = np.zeros((groups, end - base), dtype=np.int64)
            wider[:, self._base - base : self._base - base + width] = self._limbs
            self._limbs, self._base = wider, base

    def _integer(self, group: int) -> int:
        """The exact sum of a group in units of 2**LOWEST."""
        total = 0
        for limb in reversed(self._limbs[group].tolist()):
            total = (total << 32) + limb
        return total << (32 * self._base)

    def _rounded(self, groups: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """The nearest floats to the sums, and which of them are the sums themselves."""
        if self._limbs.shape[1] == 0:
            return np.zeros(len(groups)), np.ones(len(groups), dtype=bool)
        limbs = np.concatenate([np.zeros((len(groups), 2), dtype=np.int64), self._limbs[groups]], axis=1)
        settle(limbs)
        negative = limbs[:, -1] < 0
        limbs[negative] = -limbs[negative]
        settle(limbs)
        # The highest limb that is not 0, and the two below it, have 65 to 96 significant bits. Of these take
        # the upper 64, the last one also standing for all that is dropped, so that rounding to 53 is right.
        rows = np.arange(len(groups))
        top = limbs.shape[1] - 1 - np.argmax(limbs[:, ::-1] != 0, axis=1)
        top = np.maximum(top, 2)
        first, second, third = (limbs[rows, top - i].astype(np.uint64) for i in range(3))
        below = np.cumsum(limbs != 0, axis=1)[rows, top - 2] > (third != 0)
        zeros = (32 - np.frexp(first.astype(np.float64))[1]).clip(0, 31).astype(np.uint64)
        word = (((first << 32) | second) << zeros) | (third >> (32 - zeros))
        sticky = below | ((third << zeros) & np.uint64(MASK) != 0)
        kept, dropped = word >> 11, (word & 0x7FF) | sticky
        up = (dropped > 0x400) | (dropped == 0x400) & (kept & 1 == 1)
        power = 32 * (top - 3 + self._base) + 11 - zeros.astype(np.int64) + LOWEST
        with np.errstate(over="ignore"):
            sums = np.ldexp((kept + up).astype(np.float64), power.astype(np.int32))
        return np.where(negative, -sums, sums), (dropped == 0) & np.isfinite(sums)


class ExactIntSums:
    """Exact sums of ints by group number.

    >>> sums = ExactIntSums()
    >>> sums.ensure(2)
    >>> sums.add(np.array([0, 0, 1]), np.array([2**63 - 1, 2**63 - 1, 5]))
    >>> sums.add(np.array([0]), np.array([2**63 - 1]), -1)
    >>> sums.value(np.array([0, 1])).tolist()
    [9223372036854775807, 5]
    """

    def __init__(self) -> None:
        """Start without groups."""
        self._limbs = np.zeros((0, 2), dtype=np.int64)
        self._unsettled = 0

    def __len__(self) -> int:
        """How many groups there are."""
        return len(self._limbs)

    @property
    def lanes(self) -> Ints:
        """The sums themselves, each as its low 32 bits and what is above them: whoever writes them carries."""
        return self._limbs

    def ensure(self, n: int) -> None:
        """Let there be at least the groups 0 to n - 1; new ones are empty."""
        self._limbs = with_groups(self._limbs, n)

    def add(self, groups: Ints, values: Ints, sign: int = 1) -> None:
        """Add each value to its group's sum; with sign -1, take away values added before."""
        for start in range(0, len(groups), SETTLE_EVERY):
            part = slice(start, start + SETTLE_EVERY)
            self._unsettled += len(groups[part])
            if self._unsettled > SETTLE_EVERY:
                settle(self._limbs)
                self._unsettled = len(groups[part])
            flat, place = self._limbs.reshape(-1), 2 * groups[part]
            np.add.at(flat, place, sign * (values[part] & MASK))
            np.add.at(flat, place + 1, sign * (values[part] >> 32))

    def value(self, groups: Ints) -> Ints:
        """The sums of groups; `overflow` if one does not fit 64 bits."""
        limbs = self._limbs[groups]
        settle(limbs)
        bad = (limbs[:, 1] < -(2**31)) | (limbs[:, 1] >= 2**31)
        if bad.any():
            total = self.total(int(groups[np.argmax(bad)]))
            raise EvaluationError(
                "overflow",
                f"the sum {total} does not fit a 64-bit int",
                hint="sum decimals or floats: decimal(X, 38, 0), to_float(X)",
            )
        return (limbs[:, 1] << 32) | limbs[:, 0]

    def average(self, groups: Ints, counts: Ints) -> Floats:
        """The sums divided by `counts`, rounded once from the true quotient; the sums need not fit."""
        limbs = self._limbs[groups]
        settle(limbs)
        averages: Floats = (limbs[:, 1] * 2.0**32 + limbs[:, 0]) / counts
        # An int below 2**53 is a float, and the quotient of two floats is rounded once.
        large = (limbs[:, 1] < -(2**20)) | (limbs[:, 1] >= 2**20) | (np.abs(counts) >= 2**53)
        for row in np.flatnonzero(large).tolist():
            averages[row] = self.total(int(groups[row])) / int(counts[row])
        return averages

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

    def total(self, group: int) -> int:
        """The sum of one group, whatever its size."""
        low, high = self._limbs[group].tolist()
        return (int(high) << 32) + int(low)


def with_groups(rows: Ints, n: int) -> Ints:
    """The rows, one a group, with zeros for new groups if there are fewer than `n`: half as many more, or `n`."""
    if n <= len(rows):
        return rows
    grown = np.zeros((max(n, len(rows) + len(rows) // 2), rows.shape[1]), dtype=np.int64)
    grown[: len(rows)] = rows
    return grown


def _divide(total: int, count: int) -> float:
    """`total * 2**LOWEST / count`, rounded once: Python divides integers that way."""
    try:
        return total / (count << -LOWEST)
    except OverflowError:
        return math.inf if (total > 0) == (count > 0) else -math.inf
