"""What can begin at moments when no node has work and no message is under way.

Some schemes need such moments: rows may be derived again only when all that has to fall has fallen. Each node says
what it wants to begin, and the most urgent stage that any of them wants begins on all. Rows that will expire and
timers that will fire are no work: a network that is never quiet has such moments, too.
"""

from __future__ import annotations

from enum import IntEnum


class QuietStage(IntEnum):
    """The most urgent first."""

    ITERATE = 0
    """The next iteration of nodes that iterate together."""
    COLLECT = 1
    """Rows that nobody has answered for fall."""
    REDERIVE = 2
    """What fell and still follows comes back; what may hang on itself is tested."""
    RELEASE = 3
    """What was put off until all rows that are there follow from base rows."""
    NOTHING = 4
    """Nobody waits for anything."""
