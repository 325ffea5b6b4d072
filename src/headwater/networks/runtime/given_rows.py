"""The rows that a node was given, of base tables and of state that rules update: keys, lifetimes and sizes (NDlog's
`materialize`); values in canonical form.

A row with the key of another replaces it. A row expires its lifetime after it was last given; giving it again
refreshes it. When there are more rows at a node than the size allows, the oldest go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headwater.errors import DataError
from headwater.networks.runtime.row_table import Row
from headwater.networks.strands.network_program import Located
from headwater.networks.strands.node_plan import NodePlan
from headwater.values.codec import misfit_error, null_error
from headwater.values.scalars import Misfit, canonical, value_type
from headwater.values.types import INT

SAME_TIME = 1e-9
"""Seconds that clocks and sums of times may be off."""


class GivenRows:
    """What was given of each base relation, by number, in the order in which it was last given, with the time."""

    def __init__(self, plan: NodePlan):
        self._plan = plan
        self._rows: dict[int, dict[Row, float]] = {}
        self._keys: dict[tuple[int, Any], Row] = {}

    def checked(self, number: int, row: Row) -> Row:
        """The row with its values in canonical form; refused if it is none of the relation's."""
        info = self._plan.relations[number]
        if len(row) != info.arity:
            raise DataError("wrong-arity", f"{info.name}{row} has {len(row)} values, expected {info.arity}")
        found = []
        for column, (value, type) in enumerate(zip(row, info.types, strict=True), 1):
            try:
                found.append(_of_its_own_type(value) if type is None else canonical(value, type))
            except Misfit as misfit:
                raise misfit_error(misfit, type, info.name, str(column)) from None
            if found[-1] is None and info.nullable and info.nullable[column - 1] is False:
                raise null_error(row, 0, info.name, str(column), type)
        return tuple(found)

    def insert(self, number: int, row: Row, now: float) -> tuple[bool, list[Row]]:
        """A row is given: whether it is new, and which rows go for it."""
        info = self._plan.relations[number]
        rows = self._rows.setdefault(number, {})
        new = rows.pop(row, None) is None
        rows[row] = now
        gone = []
        if info.key is not None:
            key = (number, tuple(row[column] for column in info.key))
            other = self._keys.get(key)
            if other is not None and other != row:
                gone.append(other)
                self.delete(number, other)
            self._keys[key] = row
        while info.size is not None and len(rows) > info.size:
            oldest = next(iter(rows))
            gone.append(oldest)
            self.delete(number, oldest)
        return new, gone

    def delete(self, number: int, row: Row) -> bool:
        """A row is taken away; whether it was there."""
        info = self._plan.relations[number]
        if self._rows.get(number, {}).pop(row, None) is None:
            return False
        if info.key is not None:
            self._keys.pop((number, tuple(row[column] for column in info.key)), None)
        return True

    def expired(self, now: float) -> Iterator[tuple[int, Row]]:
        """The rows whose time is over, with their relations: they are to be deleted."""
        for number, info in self._expiring():
            for row, given in list(self._rows.get(number, {}).items()):
                if given + (info.lifetime or 0.0) > now + SAME_TIME:
                    break
                yield number, row

    def next_expiry(self) -> float | None:
        """When the first of the rows expires."""
        times = [
            next(iter(self._rows[number].values())) + (info.lifetime or 0.0)
            for number, info in self._expiring()
            if self._rows[number]
        ]
        return min(times, default=None)

    def there(self, now: float) -> Iterator[tuple[int, Row]]:
        """The rows whose time is not over, with their relations, in the order in which they were last given."""
        for number, rows in self._rows.items():
            lifetime = self._plan.relations[number].lifetime
            for row, given in rows.items():
                if lifetime is None or given + lifetime > now + SAME_TIME:
                    yield number, row

    def has(self, number: int, row: Row) -> bool:
        """Whether a row is there."""
        return row in self._rows.get(number, ())

    def lifetime(self, number: int) -> float | None:
        """After how many seconds rows of a relation expire."""
        return self._plan.relations[number].lifetime

    def _expiring(self) -> Iterator[tuple[int, Located]]:
        for number in self._rows:
            if self._plan.relations[number].lifetime is not None:
                yield number, self._plan.relations[number]


def _of_its_own_type(value: Any) -> Any:
    """The canonical form of a value in a column whose type nobody has declared."""
    if type(value) is str and value.isascii():
        return value
    return canonical(value, value_type(value) or INT)
