"""Work that takes long shows itself: views, rounds, derivations and time, where somebody looks on.

On a terminal that is one line of standard error, which is gone when the work is done; in a notebook a line of output.
Nothing is shown of what is soon done, or where nobody would see it.
"""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import Any, Protocol, TextIO

from headwater.version.statistics import StratumStatistics

PATIENCE = 1.0
"""Seconds after which work is shown."""
BETWEEN = 0.1
"""Seconds between two pictures of it."""


class Screen(Protocol):
    """Where a line can be shown in the place of the one before."""

    def show(self, line: str) -> None:
        """Show it; an empty one leaves nothing behind."""
        ...


class TerminalLine:
    """The line of a terminal on which the cursor is."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def show(self, line: str) -> None:
        width = _columns(self._stream)
        self._stream.write(f"\r\x1b[2K{line[: width - 1]}")
        self._stream.flush()


class NotebookLine:
    """A line in the output of a notebook's cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, line: str) -> None:
        from IPython.display import HTML, display

        from headwater.notebook import paragraph

        shown = HTML(paragraph(line) if line else "")
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)
        if not line:
            self._handle = None


def screen_of(wanted: bool | None) -> Screen | None:
    """Where work is shown: if nothing is `wanted`, where somebody sees it; `HEADWATER_PROGRESS=0` is a no."""
    if wanted is None:
        wanted = os.environ.get("HEADWATER_PROGRESS") != "0"
    if not wanted:
        return None
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return NotebookLine()
    stream = sys.stderr
    return TerminalLine(stream) if stream is not None and stream.isatty() else None


class Spectator:
    """Looks on while a view is brought up to date: `with spectator.over(cost): ...`, and `look` from time to time."""

    def __init__(self, screen: Screen | None = None, patience: float = PATIENCE):
        self._screen = screen
        self._patience = patience
        self._cost: StratumStatistics | None = None
        self._shown = False
        self._started = self._next = 0.0

    @property
    def looks_on(self) -> bool:
        """Whether anything would be shown."""
        return self._screen is not None

    def over(self, cost: StratumStatistics) -> Spectator:
        """Of which view."""
        if self._screen is not None:
            self._cost = cost
            self._started = time.perf_counter()
            self._next = self._started + self._patience
        return self

    def __enter__(self) -> Spectator:
        return self

    def look(self) -> None:
        """Show how far it is, if it is time to."""
        if self._cost is None or self._screen is None or time.perf_counter() < self._next:
            return
        elapsed = time.perf_counter() - self._started
        self._next = self._started + elapsed + BETWEEN
        self._shown = True
        self._screen.show(line_of(self._cost, elapsed))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cost = None
        if self._shown and self._screen is not None:
            self._shown = False
            self._screen.show("")


def line_of(cost: StratumStatistics, elapsed: float) -> str:
    """How far a view is.

    >>> line_of(StratumStatistics(("reach",), "support", rounds=3, derivations={"reach#1": 1200}), 2.34)
    'deriving reach: 1,200 derivations, 3 rounds, 2.3 s'
    """
    found = sum(cost.derivations.values())
    names = ", ".join(cost.relations)
    return f"deriving {names}: {found:,} derivations, {cost.rounds:,} rounds, {elapsed:.1f} s"


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
