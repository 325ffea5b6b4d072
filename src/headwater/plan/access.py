"""What a premise sees: rows from before or after the version, with or without rows that are falling.

It depends on where the premise stands relative to the delta and on what is being computed. `Access` says so, and is
the whole difference between finding derivations that are lost and derivations that are gained, each exactly once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headwater.kernel.states import EITHER, KEPT, NEW, OLD, STANDING_OR_DYING, Accept

ANY_RANK = np.iinfo(np.int64).max


class Access(NamedTuple):
    """Which rows premises see, by position before or after the delta: of lower strata, of the own stratum
    (with a rank limit), and for absent premises which rows must not be there."""

    before: Accept
    after: Accept
    absent_before: Accept
    absent_after: Accept
    own_before: Accept = NEW
    own_after: Accept = NEW
    rank_before: int = ANY_RANK
    rank_after: int = ANY_RANK


LOST = Access(OLD, KEPT, OLD, EITHER)
"""Derivations that held before the version and lose a premise of a lower stratum."""
GAINED = Access(NEW, KEPT, NEW, EITHER)
"""Derivations that hold after the version and gain a premise of a lower stratum."""
DOWN_FIRST = Access(KEPT, KEPT, EITHER, EITHER, STANDING_OR_DYING, NEW)
"""Derivations that fall with a row of the own stratum, lower strata as far as they stay."""
DOWN = Access(NEW, NEW, NEW, NEW, STANDING_OR_DYING, NEW)
"""The same, once what lower strata gained has been taken in."""
STAYING = Access(KEPT, KEPT, EITHER, EITHER)
"""Derivations from what stays."""
PRESENT = Access(NEW, NEW, NEW, NEW)
"""Derivations from what is there now."""
EARLIER = Access(OLD, OLD, OLD, OLD, OLD, OLD)
"""Derivations from what was there when the version began."""


def round_access(rank: int) -> Access:
    """One round of semi-naive evaluation whose delta has the given rank."""
    return Access(NEW, NEW, NEW, NEW, NEW, NEW, rank, rank - 1)
