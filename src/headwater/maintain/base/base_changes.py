"""From the rows a user inserts and deletes to what happens to base relations.

Keys: a row with the key of a stored one replaces it. Lifetimes: rows whose time is over are deleted. Sizes:
when there are too many rows, the oldest are deleted. All of it belongs to the version and is undone with it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwater.errors import DataError
from headwater.kernel.relation import Relation
from headwater.maintain.base.keys import last_by_key, replaced
from headwater.maintain.base.soft_state import SoftState
from headwater.plan.steps import Ints
from headwater.rules.checked import Checked, RelationInfo
from headwater.version.row_change import without
from headwater.version.version import Version

Rows = dict[str, Ints]


class BaseChanges:
    """The soft state of all base relations that have any, and the rules for keys."""

    def __init__(self) -> None:
        self.soft: dict[str, SoftState] = {}
        self._before: dict[str, SoftState] | None = None
        """What there was when the version began, if it has made or dropped any."""
        self._adopted: Mapping[str, RelationInfo] | None = None
        """The relations whose lifetimes and sizes are taken on, if nothing was taken back since."""

    def adopt(self, checked: Checked, relations: Mapping[str, Relation], now: float) -> Rows:
        """Take on the lifetimes and sizes that relations have now. Where there was none before, the lifetimes of
        rows that are there begin now; rows too many are returned, to be deleted."""
        too_many: Rows = {}
        if checked.relations is self._adopted:
            return too_many
        if self._before is None:
            self._before = dict(self.soft)
        for name in self.soft.keys() - checked.relations.keys():
            del self.soft[name]
        for name, info in checked.relations.items():
            soft = self.soft.get(name)
            if soft is not None and (soft.lifetime, soft.size) == (info.lifetime, info.size):
                continue
            if not info.base or (info.lifetime is None and info.size is None):
                self.soft.pop(name, None)
                continue
            rows, times = soft.dump() if soft is not None else (relations[name].matrix(), None)
            soft = self.soft[name] = SoftState(info.layout.code_arity, info.lifetime, info.size)
            soft.load(rows, times if times is not None else [now] * rows.shape[0])
            evicted = soft.insert(rows[:0], now)
            if evicted.shape[0]:
                too_many[name] = evicted
        self._adopted = checked.relations
        return too_many

    @staticmethod
    def check_keys(old: Checked, new: Checked, relations: Mapping[str, Relation]) -> None:
        """Refuse a key that rows already there do not have."""
        if new.relations is old.relations:
            return
        for name, info in new.relations.items():
            before = old.relations.get(name)
            if before is None or not info.base or info.key in (None, before.key):
                continue
            assert info.key is not None
            rows = relations[name].matrix()
            if np.unique(rows[:, info.layout.codes(info.key)], axis=0).shape[0] < rows.shape[0]:
                columns = ", ".join(info.columns[column] for column in info.key)
                raise DataError(
                    "duplicate-key",
                    f"{name} has rows that share a value of its new key ({columns})",
                    hint="delete all but one of each, or declare the key before there are rows",
                )

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
                key = info.layout.codes(info.key)
                rows = inserts[name] = last_by_key(rows, key)
                old = without(replaced(relations[name], rows, key), rows)
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

    def commit(self, version: Version) -> None:
        """Keep what the version did."""
        for soft in self.soft.values():
            soft.commit()
        self._before = None

    def rollback(self) -> None:
        """Undo what the version did."""
        if self._before is not None:
            self.soft, self._before, self._adopted = self._before, None, None
        for soft in self.soft.values():
            soft.rollback()


def plus(rows: Ints | None, more: Ints) -> Ints:
    """The rows and those of the others that are not among them."""
    return more if rows is None else np.concatenate([rows, without(more, rows)])
