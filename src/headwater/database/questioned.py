"""The engine that questions about provenance are asked of: that of this process, or a copy of what nodes hold.

A copy is made when somebody asks, and serves until the next version.
"""

from __future__ import annotations

from headwater.database.standing import Standing
from headwater.database.versions import Versions
from headwater.maintain.engine import Engine


class Questioned:
    """Whom questions are asked."""

    def __init__(self, versions: Versions, standing: Standing):
        self._versions = versions
        self._standing = standing
        self._copy: tuple[int, Engine] | None = None

    def engine(self) -> Engine:
        """An engine with all rows, as they are now."""
        runner = self._versions.runner
        if runner.here:
            self._copy = None
            return runner.engine
        version = self._standing.number
        if self._copy is None or self._copy[0] != version:
            self._copy = None  # never two at a time
            self._copy = version, runner.copied()
        return self._copy[1]
