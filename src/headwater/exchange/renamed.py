"""The rows of a stored relation that users see with other values: those that hold unknown values which became known.

All other rows are seen as they are stored, and are not kept here. A version is worked in at its own cost: rows that
it changed, and rows that hold values which are equal to others since, or no longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from headwater.database import Database
from headwater.exchange.edit import Row

Shown = Mapping[object, object]
"""Unknown values of a class, and what is shown in their place."""
NOTHING: Shown = {}


class RenamedRows:
    """Of one stored relation. `classes` are those of its columns, 0 if no values are equal there; `chosen` says by
    class what is shown."""

    def __init__(
        self, database: Database, name: str, classes: Sequence[int], chosen: Mapping[int, Shown]
    ) -> None:
        self._database = database
        self._name = name
        self._classes = classes
        self._chosen = chosen
        self._images: dict[Row, Row] = {}
        self._times: Counter[Row] = Counter()
        self._was: dict[Row, Row | None] = {}
        self._more: Counter[Row] = Counter()
        self._inserted: Collection[Row] = ()
        self._deleted: Collection[Row] = ()
        self._put_all(chosen)

    def image(self, row: Row) -> Row:
        """A row as it is shown."""
        return tuple(
            self._chosen.get(number, NOTHING).get(value, value)
            for number, value in zip(self._classes, row, strict=True)
        )

    def stored(self, image: Row) -> Row:
        """A stored row that is shown so; itself, if it is stored."""
        if not self._times[image] or image in self._there:
            return image
        return next(row for row, shown in self._images.items() if shown == image)

    def holds(self, image: Row) -> bool:
        """Whether some row is shown so."""
        return self._times[image] > 0 or (image not in self._images and image in self._there)

    def held(self, image: Row) -> bool:
        """Whether some row was shown so before the last change."""
        if self._times[image] - self._more[image] > 0:
            return True
        there = image in self._deleted or (image not in self._inserted and image in self._there)
        return there and self._was.get(image, self._images.get(image)) is None

    def follow(
        self, inserted: Collection[Row], deleted: Collection[Row], values: Mapping[int, Iterable[object]]
    ) -> set[Row]:
        """Work in what changed: rows, and by class values that others are shown for; what is shown may differ for the
        rows that are returned."""
        self._was, self._more, self._inserted, self._deleted = {}, Counter(), inserted, deleted
        for row in deleted:
            self._put(row, None)
        for row in inserted:
            self._put(row, self.image(row))
        self._put_all(values)
        return {*inserted, *deleted, *self._was, *self._more}

    def _put_all(self, values: Mapping[int, Iterable[object]]) -> None:
        """Look at the rows that hold some values."""
        if not any(values.values()) or not len(self._there):
            return
        columns = self._there.columns
        for place, number in enumerate(self._classes):
            for value in values.get(number, ()):
                asked: dict[str, Any] = {columns[place]: value}
                for row in self._there.where(**asked).rows():
                    self._put(row, self.image(row))

    def _put(self, row: Row, image: Row | None) -> None:
        before = self._images.get(row)
        after = None if image == row else image
        if before == after:
            return
        self._was.setdefault(row, before)
        if before is not None:
            self._times[before] -= 1
            self._more[before] -= 1
            del self._images[row]
        if after is not None:
            self._times[after] += 1
            self._more[after] += 1
            self._images[row] = after

    @property
    def _there(self) -> Any:
        return self._database[self._name]
