"""Comparing answers: equal as multisets of rows, or refused.

Each row becomes a 64-bit fingerprint of its values (floats by their bits); the sorted fingerprints of both
sides must be the same array. Two different answers of millions of rows pass as equal about once in ten million
comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.database.relation_view import RelationView
from headwater.errors import HeadwaterError

Columns = Sequence[npt.NDArray[Any]]
"""A table as its columns, of int64 or float64."""


class WrongAnswer(HeadwaterError):
    """Our answer and the rival's differ, so that there is nothing to measure."""


def columns_of(view: RelationView) -> list[npt.NDArray[Any]]:
    """The columns of one of our relations."""
    return [column.to_numpy() for column in view.arrow().columns]


def columns_from(rows: Sequence[Sequence[Any]]) -> list[npt.NDArray[Any]]:
    """The columns of Python rows; there must be at least one row."""
    return [np.asarray(values) for values in zip(*rows, strict=True)]


def fingerprints(columns: Columns) -> npt.NDArray[np.uint64]:
    """One number for each row, sorted.

    >>> a, b = np.array([1, 2]), np.array([3, 4])
    >>> bool((fingerprints([a, b]) == fingerprints([a[::-1], b[::-1]])).all())
    True
    >>> bool((fingerprints([a, b]) == fingerprints([a, b[::-1]])).any())
    False
    """
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        plain = np.ascontiguousarray(column, np.float64 if column.dtype.kind == "f" else np.int64)
        mixed = (mixed ^ plain.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    mixed.sort()
    return mixed


def compare(ours: Columns, theirs: Columns, what: str, against: str) -> int:
    """The number of rows, if both sides hold the same; else `WrongAnswer`."""
    left, right = fingerprints(ours), fingerprints(theirs)
    if not np.array_equal(left, right):
        only_ours, only_theirs = np.setdiff1d(left, right).size, np.setdiff1d(right, left).size
        raise WrongAnswer(
            "wrong-answer",
            f"{what}: we have {left.size:,} rows and {against} has {right.size:,}; "
            f"{only_ours:,} are only ours and {only_theirs:,} only theirs",
            hint="this is a bug: please report it with the options of the run",
        )
    return int(left.size)
