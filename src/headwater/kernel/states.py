"""The bits of a row's state, and which states a premise accepts (see `relation`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

LIVE = np.uint8(1)
VISIBLE = np.uint8(2)
WAS = np.uint8(4)
DYING = np.uint8(8)
TOUCHED = np.uint8(16)
WANTED = np.uint8(32)
STORED = np.uint8(64)
LEADING = np.uint8(128)

Accept = npt.NDArray[np.uint8]


def _accept(any_of: int, all_of: int = 0) -> Accept:
    states = np.arange(256)
    accepted: Accept = (((states & any_of) != 0) & ((states & all_of) == all_of)).astype(np.uint8)
    return accepted


OLD = _accept(int(WAS))
"""The relation as it was when the version began."""
KEPT = _accept(int(WAS), int(VISIBLE))
"""Rows that were there and still are."""
NEW = _accept(int(VISIBLE))
"""The relation as it is now."""
EITHER = _accept(int(WAS | VISIBLE))
"""Rows that were there or are there now: what `not` must avoid in order to hold before and after."""
STANDING_OR_DYING = _accept(int(VISIBLE | DYING))
"""Going down: rows that stand, and those that fall in the present round."""
LIVE_ROWS = _accept(int(LIVE))
"""All rows with support, also those that are not the best of their group."""
