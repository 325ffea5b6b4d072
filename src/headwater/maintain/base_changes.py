"""From the rows a user inserts and deletes to what happens to base relations.

Keys: a row with the key of a stored one replaces it. Lifetimes: rows whose time is over are deleted. Sizes:
when there are too many rows, the oldest are deleted. All of it belongs to the version and is undone with it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwater.kernel.relation import Relation
from headwater.maintain.keys import last_by_key, replaced
from headwater.maintain.soft_state import SoftState
from headwater.plan.steps import Ints
from headwater.rules.checked import Checked

Rows = dict[str, Ints]


class BaseChanges:
    """The soft state of all base relations that have any, and the rules for keys."""

    def __init__(self) -> None:
        self.soft: dict[str, SoftState] = {}

    def adopt(self, checked: Checked, relations: Mapping[str, Relation], now: float) -> Rows:
        """Take on relations that have a lifetime or a size now. Lifetimes of rows that are there begin now;
        rows too many are returned, to be deleted."""
        too_many: Rows = {}
        for name, info in checked.relations.items():
            if info.base and (info.lifetime is not None or info.size is not None) and name not in self.soft:
                soft = self.soft[name] = SoftState(info.arity, info.lifetime, info.size)
                evicted = soft.insert(relations[name].matrix(), now)
                if evicted.shape[0]:
                    too_many[name] = evicted
        return too_many

    def work_out(
        self, checked: Checked, relations: Mapping[str, Relation], deletes: Rows, inserts: Rows, now: float
    ) -> tuple[Rows, Rows]:
        """All deletes and inserts that follow from those asked for, and from the time."""
        deletes, inserts = dict(deletes), dict(inserts)
        for name, soft in self.soft.items():
            expired = soft.expire(now)
            if expired.shape[0]:
                deletes[name] = plus(deletes.get(name), expired)
        for name, rows in list(inserts.items()):
            info = checked.relations[name]
            if info.key is not None and len(info.key) < info.arity:
                rows = inserts[name] = last_by_key(rows, info.key)
                old = without(replaced(relations[name], rows, info.key), rows)
                deletes[name] = plus(deletes.get(name), old)
        for name, soft in self.soft.items():
            if name in deletes:
                soft.delete(deletes[name])
            if name in inserts:
                evicted = soft.insert(inserts[name], now)
                if evicted.shape[0]:
                    inserts[name] = without(inserts[name], evicted)
                    stored = evicted[relations[name].find(evicted) >= 0]
                    deletes[name] = plus(deletes.get(name), stored)
        return deletes, inserts

    def commit(self) -> None:
        """Keep what the version did."""
        for soft in self.soft.values():
            soft.commit()

    def rollback(self) -> None:
        """Undo what the version did."""
        for soft in self.soft.values():
            soft.rollback()


def plus(rows: Ints | None, more: Ints) -> Ints:
    """The rows and those of the others that are not among them."""
    return more if rows is None else np.concatenate([rows, without(more, rows)])


def without(rows: Ints, gone: Ints) -> Ints:
    """The rows that are not among the others.

    >>> without(np.array([[1, 2], [3, 4]]), np.array([[3, 4], [5, 6]])).tolist()
    [[1, 2]]
    """
    if rows.shape[0] == 0 or gone.shape[0] == 0:
        return rows
    keys = {row.tobytes() for row in np.ascontiguousarray(gone)}
    keep = [row.tobytes() not in keys for row in np.ascontiguousarray(rows)]
    return np.ascontiguousarray(rows[keep])
