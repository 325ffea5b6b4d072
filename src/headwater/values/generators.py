"""Functions that give any number of values a row: `range`.

`range(a, b)` counts from a to just before b, downward if b is below a; `range(a, b, step)` goes in steps. Of floats
each value is the one before plus the step, as in Souffle, so the steps' rounding adds up.

There may be very many values, so they are to be had in pieces.

>>> for rows, values in count_ints(np.array([0, 5]), np.array([3, 3])).pieces(4):
...     print(rows.tolist(), values.tolist())
[0, 0, 0, 1] [0, 1, 2, 5]
[1] [4]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwater.errors import EvaluationError
from headwater.values.columns import float_bits
from headwater.values.dictionary import Codes
from headwater.values.signatures import Signature, ints_as_floats, parse_signature
from headwater.values.special import Specials, has_special
from headwater.values.types import FLOAT, INT, Type

MOST_VALUES = 10**9
"""More are refused at once: hardly a relation could hold them. Of fewer, what is kept must fit the memory budget."""


@dataclass(frozen=True)
class Expansion:
    """All values that a call gives; `largest` is how many there are of one row, about.

    `pieces` gives at most so many values at a time: for each the row it belongs to, and its code.
    """

    largest: int
    pieces: Callable[[int], Iterator[tuple[Codes, Codes]]]


@dataclass(frozen=True)
class Generator:
    """One way to call a generator."""

    signature: Signature
    run: Callable[..., Expansion]

    def expand(self, columns: Sequence[Codes], types: Sequence[Type | None], specials: Specials) -> Expansion:
        """All values, where the arguments fit; ints become floats where those are taken. Nulls give nothing."""
        if self.signature.parameters[0] == FLOAT:
            columns = [
                ints_as_floats(column, specials) if type == INT else column
                for column, type in zip(columns, types, strict=True)
            ]
        if not any(map(has_special, columns)):
            return self._coded(self.run(*columns), specials, None)
        columns = np.broadcast_arrays(*columns)
        rows = np.flatnonzero(~np.logical_or.reduce([specials.nulls(column) for column in columns]))
        found = self.run(*(specials.numbers(column[rows]) for column in columns))
        return self._coded(found, specials, rows)

    def _coded(self, found: Expansion, specials: Specials, rows: Codes | None) -> Expansion:
        """The numbers as codes, of the rows that are left of all."""
        coded = specials.float_codes if self.signature.parameters[0] == FLOAT else specials.int_codes

        def pieces(most: int) -> Iterator[tuple[Codes, Codes]]:
            for places, numbers in found.pieces(most):
                yield places if rows is None else rows[places], coded(numbers)

        return Expansion(found.largest, pieces)


def count_ints(start: Codes, stop: Codes, step: Codes | None = None) -> Expansion:
    """The ints from `start` to just before `stop`, row by row."""
    if step is None:
        step = np.where(start <= stop, 1, -1)
    start, stop, step = np.broadcast_arrays(start, stop, step)
    _refuse_standing(step == 0, start, stop, step)
    bounds = zip(start.tolist(), stop.tolist(), step.tolist(), strict=True)
    lengths = [max(0, -((first - last) // by)) for first, last, by in bounds]
    _refuse_long(sum(lengths))
    ends = np.cumsum(np.array(lengths, dtype=np.int64))
    begins = ends - lengths

    def pieces(most: int) -> Iterator[tuple[Codes, Codes]]:
        total = sum(lengths)
        for first in range(0, total, most):
            places = np.arange(first, min(first + most, total))
            rows = np.searchsorted(ends, places, side="right")
            yield rows, start[rows] + (places - begins[rows]) * step[rows]

    return Expansion(max(lengths, default=0), pieces)


def count_floats(start: Codes, stop: Codes, step: Codes | None = None) -> Expansion:
    """The same of floats, given and told by their bits. A bound that is NaN gives nothing."""
    first, last = start.view(np.float64), stop.view(np.float64)
    by = np.where(first <= last, 1.0, -1.0) if step is None else step.view(np.float64)
    first, last, by = np.broadcast_arrays(first, last, by)
    wanted = np.where(by > 0, first < last, first > last)
    standing = (first + by == first) | (np.isinf(first) & np.isinf(by))
    _refuse_standing((by == 0) | (wanted & standing), first, last, by)
    with np.errstate(all="ignore"):
        lengths = np.where(wanted, np.ceil((last - first) / by), 0.0)
    _refuse_long(math.fsum(lengths))

    def pieces(most: int) -> Iterator[tuple[Codes, Codes]]:
        rows: list[Codes] = []
        runs: list[NDArray[np.float64]] = []
        for row, bounds in enumerate(zip(first, last, by, lengths.astype(np.int64), strict=True)):
            for run in _runs(*bounds, most):
                if sum(map(len, runs)) + len(run) > most:
                    yield np.concatenate(rows), float_bits(np.concatenate(runs))
                    rows, runs = [], []
                rows.append(np.full(len(run), row, dtype=np.int64))
                runs.append(run)
        if runs:
            yield np.concatenate(rows), float_bits(np.concatenate(runs))

    return Expansion(int(lengths.max(initial=0.0)), pieces)


def _runs(first: float, last: float, by: float, length: int, most: int) -> Iterator[NDArray[np.float64]]:
    """Each value is the one before plus `by`; rounding may make them a few more or less than `length`."""
    value = first
    while value < last if by > 0 else value > last:
        steps = np.full(min(length + 2, most), by)
        steps[0] = value
        values = np.add.accumulate(steps)
        inside = values[values < last] if by > 0 else values[values > last]
        yield inside
        if len(inside) < len(values):
            return
        value = values[-1] + by
        _refuse_standing(np.array([value == values[-1]]), *np.array([[first], [last], [by]]))


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
