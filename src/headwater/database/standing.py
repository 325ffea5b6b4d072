"""Where a database stands: what the last version left, but for rows. It changes when a version is committed."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping
from typing import Protocol

from headwater.catalog import Catalog
from headwater.errors import DataError
from headwater.rules.checked import RelationInfo, described
from headwater.values import arguments
from headwater.version.row_change import RowChange
from headwater.version.statistics import VersionStatistics
from headwater.version.version import Version


class Standing:
    """The number of the last version, its time and statistics, and the catalog."""

    def __init__(self, catalog: Catalog, *, real_time: bool):
        self.number = 0
        self.now = 0.0
        self.statistics = VersionStatistics()
        self.catalog = catalog
        self.coming = catalog
        """The catalog that the open version goes by; without one, the catalog."""
        self._real_time = real_time

    def time(self) -> float:
        """The time of a version that begins now."""
        return max(self.now, time.time()) if self._real_time else self.now

    def later(self, to: object) -> float:
        """The time to go on to: what a user asked for, or now, where the time is the time of day."""
        if to is None:
            if not self._real_time:
                raise DataError("no-time", "a logical clock advances to a time given", hint="advance(to=...)")
            to = self.time()
        to = arguments.seconds("advance(to=...)", to)
        if to < self.now:
            raise DataError(
                "time-goes-back", f"it is {self.now} already", hint=f"advance to {self.now} or later"
            )
        return to

    def described(self) -> dict[str, RelationInfo]:
        """The relations that the open version can speak of."""
        return described(self.catalog.program.relations, self.coming.program.relations)

    def commit(self, version: Version) -> None:
        """Stand where the version leads."""
        self.number, self.now, self.statistics = version.number, version.now, version.statistics
        self.catalog = self.coming

    def rollback(self) -> None:
        """Stand where it stood."""
        self.coming = self.catalog


class Follower(Protocol):
    """Somebody who takes note of what versions do."""

    def follow(self, changes: Mapping[str, RowChange]) -> None:
        """A version was committed."""
        ...


class Followers:
    """All followers that somebody still holds."""

    def __init__(self) -> None:
        self._held: weakref.WeakValueDictionary[int, Follower] = weakref.WeakValueDictionary()

    def add(self, follower: Follower) -> None:
        """Tell this one from now on."""
        self._held[id(follower)] = follower

    def commit(self, version: Version) -> None:
        """Tell them all."""
        if self._held:
            for follower in self._held.values():
                follower.follow(version.changes)

    def rollback(self) -> None:
        """Nobody was told anything yet."""
