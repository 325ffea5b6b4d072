"""The bits of a row's state, which states a premise accepts, and what becomes of all at once (see `relation`)."""

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
NO_BITS = np.uint8(0)

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

_ALL = np.arange(256, dtype=np.uint8)
SEALED = _ALL & np.uint8(0xFF ^ (DYING | TOUCHED | WAS | LEADING))
"""What a state becomes when a version ends: what is visible now is what was there when the next one begins."""
SEALED[(SEALED & VISIBLE) != 0] |= WAS
KILLED = np.where(_ALL & STORED, (_ALL & WAS) | STORED | TOUCHED, _ALL).astype(np.uint8)
"""What it becomes when all rows are made dead and invisible at once; all count as touched."""
TRANSLATED = 1 << 14
"""How many states are translated at a time."""


def translate(state: Accept, table: Accept) -> None:
    """Give each state the one that a table has for it. Takes no memory to speak of."""
    for start in range(0, state.shape[0], TRANSLATED):
        piece = state[start : start + TRANSLATED]
        piece[:] = table[piece]
