"""What rows of a relation have in common, from a look at some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headwater.kernel import hashing
from headwater.kernel.states import STORED

if TYPE_CHECKING:
    from headwater.kernel.relation import Relation

ROWS_SAMPLED = 1024
SPREAD = 2_654_435_761
"""How many rows are looked at, and what spreads them."""


def rows_per_key(relation: Relation, columns: Sequence[int]) -> float:
    """About how many rows have the same values in these columns, from a look at some rows.

    The more of the values seen are seen once, the more others there are (the first estimator of Haas and Stokes,
    1998): it is exact where all rows differ, and where all values were seen several times.
    """
    top = int(relation.sizes[0])
    places = (
        np.unique(np.arange(1, ROWS_SAMPLED + 1) * SPREAD % top) if top > ROWS_SAMPLED else np.arange(top)
    )
    places = places[(relation.state[places] & STORED) != 0]
    if not places.shape[0]:
        return 1.0
    keys = np.zeros(places.shape[0], np.uint64)
    for column in columns:
        keys = (keys ^ relation.rows[places, column].astype(np.uint64)) * hashing.MIX_1
        keys ^= keys >> np.uint64(32)
    counts = np.unique(keys, return_counts=True)[1]
    once = np.count_nonzero(counts == 1) / places.shape[0]
    distinct = counts.shape[0] / (1 - (1 - places.shape[0] / relation.stored) * once)
    return float(relation.stored / min(distinct, relation.stored))
