"""Ctrl-C while a version is open: held back until it can be acted on.

An exception between two steps of a kernel operation could leave an index half made. So an interrupt is noted,
and raised at the next round of a fixpoint, where a version can be taken back, or else once the version is
committed. A second thread never gets interrupts; a handler of the user's own is left alone.
"""

from __future__ import annotations

# `signal` looks up each handler in an enumeration first, which takes longer than the rest of a small version.
import _signal  # type: ignore[import-not-found]
import threading
from types import FrameType, TracebackType


class Interrupts:
    """A context in which Ctrl-C is only noted; may be entered again inside itself."""

    def __init__(self) -> None:
        self._depth = 0
        self._noted = False
        self._holding = False

    def __enter__(self) -> Interrupts:
        if self._depth == 0:
            self._holding = (
                threading.current_thread() is threading.main_thread()
                and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
            )
            if self._holding:
                _signal.signal(_signal.SIGINT, self._note)
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0 and self._holding:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
            if kind is None:
                self.check()
            self._noted = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = True

    def note(self) -> None:
        """As if there had been one: for a node, whose driver got it."""
        self._noted = True

    def pending(self) -> bool:
        """Whether there was one that nobody has acted on."""
        return self._noted

    def forget(self) -> None:
        """Somebody has acted on it."""
        self._noted = False

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if there was one."""
        if self._noted:
            self._noted = False
            raise KeyboardInterrupt
