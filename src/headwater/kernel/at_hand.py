"""Functions for which there are other ways: they are used where their machine code is at hand.

What takes long to compile is not compiled in the caller's way. Once it has been missed some times, another process
compiles it (see `ahead`). This one looks from time to time whether it is there, and then loads what was kept. Where
there can be no other process, it is compiled here, once it was missed very often (`missed_until`).
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any

from headwater.kernel import ahead
from headwater.kernel.compiled import COMPILER, Kernel, compile_ahead, kernel_of, load
from headwater.kernel.compiling import compiling
from headwater.kernel.machine_code import Function

MISSED_BEFORE_AHEAD = 2_000
"""How often a function is missed before it is compiled ahead."""
FIRST_LOOK, LAST_LOOK, LATER = 0.25, 30.0, 1.5
"""After how many seconds it is looked for: at first, at the most, and how much later each time."""


@dataclass
class Missed:
    """How often a function was missed, and when to look for it."""

    times: int = 0
    interval: float = FIRST_LOOK
    next_look: float = 0.0
    unfit: set[int] = field(default_factory=set)
    """For which widths what is kept was found to be damaged, or compiled by another numba."""

    def is_time(self) -> bool:
        """Whether to look now."""
        now = time.monotonic()
        if now < self.next_look:
            return False
        self.next_look = now + self.interval
        self.interval = min(LATER * self.interval, LAST_LOOK)
        return True


_missed: dict[Kernel, Missed] = {}


def at_hand(function: Function, width: int) -> bool:
    """Whether machine code of a function for a width is loaded, or was kept and is loaded now: else there are other
    ways."""
    kernel = kernel_of(function)
    if kernel is None or kernel.is_ready(width):
        return True
    return COMPILER in sys.modules and kernel.is_kept(width) and _is_taken(kernel, width)


def missed(function: Function, width: int, times: int) -> None:
    """Take note that a function which was not at hand was missed so often."""
    kernel = kernel_of(function)
    if kernel is None:
        return
    known = _missed.setdefault(kernel, Missed())
    known.times += times
    if known.times < MISSED_BEFORE_AHEAD:
        return
    if not ahead.is_possible():
        if known.times >= kernel.missed_until:
            load([kernel], [width])
    elif known.is_time() and (not kernel.is_kept(width, anew=True) or width in known.unfit):
        known.unfit.discard(width)
        compile_ahead([kernel], width)


def _is_taken(kernel: Kernel, width: int) -> bool:
    """Load what is kept, if it is fit for that; nothing is compiled."""
    load([kernel])
    code: Any = kernel.machine_code
    with compiling():
        fit = code._cache.has(kernel.signed(width), code.targetctx)
    if not fit:
        kernel.forget(width)
        _missed.setdefault(kernel, Missed()).unfit.add(width)
        return False
    kernel.ready(width)
    return True
