"""Functions that give any number of values a row: `range`.

`range(a, b)` counts from a to just before b, downward if b is below a; `range(a, b, step)` goes in steps. Of floats
each value is the one before plus the step, as in Souffle, so the steps' rounding adds up.

>>> rows, values = count_ints(np.array([0, 5]), np.array([3, 3]))
>>> rows.tolist(), values.tolist()
([0, 0, 0, 1, 1], [0, 1, 2, 5, 4])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EvaluationError
from headwater.values.columns import float_codes, floats
from headwater.values.dictionary import Codes
from headwater.values.signatures import Signature, parse_signature
from headwater.values.types import FLOAT, INT, Type

MOST_VALUES = 10**9


@dataclass(frozen=True)
class Generator:
    """One way to call a generator: for each value it gives, the row it belongs to, and its code."""

    signature: Signature
    run: Callable[..., tuple[Codes, Codes]]

    def expand(self, columns: Sequence[Codes], types: Sequence[Type]) -> tuple[Codes, Codes]:
        """All values, where the arguments fit; ints become floats where those are taken."""
        if self.signature.parameters[0] == FLOAT:
            columns = [
                float_codes(column.astype(np.float64)) if type == INT else column
                for column, type in zip(columns, types, strict=True)
            ]
        return self.run(*columns)


def count_ints(start: Codes, stop: Codes, step: Codes | None = None) -> tuple[Codes, Codes]:
    """The ints from `start` to just before `stop`, row by row."""
    if step is None:
        step = np.where(start <= stop, 1, -1)
    start, stop, step = np.broadcast_arrays(start, stop, step)
    _refuse_standing(step == 0, start, stop, step)
    bounds = zip(start.tolist(), stop.tolist(), step.tolist(), strict=True)
    lengths = [max(0, -((first - last) // by)) for first, last, by in bounds]
    _refuse_long(sum(lengths))
    counts = np.array(lengths, dtype=np.int64)
    rows = np.repeat(np.arange(len(start)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, start[rows] + within * step[rows]


def count_floats(start: Codes, stop: Codes, step: Codes | None = None) -> tuple[Codes, Codes]:
    """The same of floats. A bound that is NaN gives nothing."""
    first, last = floats(start), floats(stop)
    by = np.where(first <= last, 1.0, -1.0) if step is None else floats(step)
    first, last, by = np.broadcast_arrays(first, last, by)
    wanted = np.where(by > 0, first < last, first > last)
    standing = (first + by == first) | (np.isinf(first) & np.isinf(by))
    _refuse_standing((by == 0) | (wanted & standing), first, last, by)
    with np.errstate(all="ignore"):
        lengths = np.where(wanted, np.ceil((last - first) / by), 0.0)
    _refuse_long(math.fsum(lengths))
    runs = [_steps(*bounds) for bounds in zip(first, last, by, lengths.astype(np.int64), strict=True)]
    rows = np.repeat(np.arange(len(first)), [len(run) for run in runs])
    return rows, float_codes(np.concatenate(runs) if runs else np.empty(0))


def _steps(first: float, last: float, by: float, length: int) -> NDArray[np.float64]:
    """Each value is the one before plus `by`; rounding may take one more or one less than `length`."""
    steps = np.full(length + 2, by)
    steps[0] = first
    values: NDArray[np.float64] = np.add.accumulate(steps)
    while length and (values[-1] < last if by > 0 else values[-1] > last):
        _refuse_standing(np.array([values[-1] + by == values[-1]]), *np.array([[first], [last], [by]]))
        _refuse_long(2 * len(values))
        more = np.full(len(values) + 1, by)
        more[0] = values[-1]
        values = np.concatenate([values, np.add.accumulate(more)[1:]])
    return values[values < last] if by > 0 else values[values > last]


def _refuse_standing(
    standing: NDArray[np.bool_],
    start: NDArray[np.generic],
    stop: NDArray[np.generic],
    step: NDArray[np.generic],
) -> None:
    if standing.any():
        row = int(np.argmax(standing))
        raise EvaluationError("zero-step", f"range({start[row]}, {stop[row]}, {step[row]}) never ends")


def _refuse_long(values: float) -> None:
    if not values <= MOST_VALUES:
        raise EvaluationError("range-too-long", f"ranges of {values:.0f} values in all cannot be held")


GENERATORS: Mapping[str, tuple[Generator, ...]] = {
    "range": (
        Generator(parse_signature("int, int -> int"), count_ints),
        Generator(parse_signature("int, int, int -> int"), count_ints),
        Generator(parse_signature("float, float -> float"), count_floats),
        Generator(parse_signature("float, float, float -> float"), count_floats),
    )
}
