"""What a database has taken from the world outside and what it owes to it, committed with each version.

*Marks* say how far each source was read: any JSON, by the name of the source. A mark is in the same record of
the log as the rows it stands for, so that after a crash a source goes on exactly behind them.

*Subscriptions* are the other side (a transactional outbox). While somebody subscribes to a view, what each
version did to the view is logged with the version, and kept until the subscriber has acknowledged it. So
what was committed and not yet published is there after a crash, whoever made the version and how.

What does not hold: an acknowledgement is written beside the log, and may be lost in a crash. Then a version is
owed again; who publishes must know by its number that it is done.
"""

from __future__ import annotations

import copy
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.database.acknowledged import Acknowledged
from headwater.errors import DataError
from headwater.store.record import json_copy
from headwater.values import arguments
from headwater.version.changes import Change
from headwater.version.version import Version

if TYPE_CHECKING:
    import pyarrow as pa

ACKNOWLEDGED = "acknowledged.json"
OWED = "out/"
"""How the tables of a record are named that hold what a version did to a view."""


@dataclass(frozen=True)
class Owed:
    """What one version did to a view: its rows with `_change_type`, or `None` if nobody asks for rows."""

    version: int
    at: float
    table: pa.Table | None


@dataclass(frozen=True)
class Subscription:
    """Somebody who is told what happens to a view. The identity is drawn when the subscription is made."""

    view: str
    rows: bool
    identity: str
    since: int
    acknowledged: int
    labels: bool = False
    """Whether rows come with the texts of their labelled nulls."""

    @classmethod
    def to(cls, view: str, rows: bool, version: int, *, labels: bool = False) -> Subscription:
        """A new one, which is owed everything from this version on."""
        return cls(view, rows, secrets.token_hex(8), version, version - 1, labels)

    @property
    def shape(self) -> str:
        """What is kept of a version for it, by name: the view's rows, with labels or without."""
        return f"{self.view} with labels" if self.labels else self.view


class Progress:
    """Marks, subscriptions and what is owed; staged with an open version, and taken on when it is committed."""

    def __init__(self, folder: Path | None):
        self._marks: dict[str, Any] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self._first: dict[
            str, Owed
        ] = {}  # by subscription: the view as it was when the subscription was made
        self._owed: dict[str, list[Owed]] = {}  # by the shape of subscriptions
        self._staged: Callable[[], None] | None = None
        self._said = Acknowledged(folder, ACKNOWLEDGED)

    @property
    def marks(self) -> dict[str, Any]:
        """The last mark of each source; the caller's own."""
        return copy.deepcopy(self._marks)

    # ------------------------------------------------------------------ with a version

    def stage(
        self, version: int, marks: Mapping[str, Any], changes: Mapping[str, Change]
    ) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """Get ready to take on a version; the metadata and the tables that its record must hold."""
        marks = json_copy(marks) if marks else {}
        owed: dict[str, Owed] = {}
        at = time.time() if self.subscriptions else 0.0
        for subscription in self.subscriptions.values():
            shape, rows = subscription.shape, subscription.rows
            known, change = owed.get(shape), changes.get(subscription.view)
            if change and (known is None or (rows and known.table is None)):
                owed[shape] = Owed(version, at, change.arrow(labels=subscription.labels) if rows else None)
        self._staged = lambda: self._take(marks, owed)
        meta: dict[str, Any] = {"marks": marks} if marks else {}
        if owed:
            meta["owed"] = {"at": at, "views": list(owed)}
        return meta, {OWED + view: one.table for view, one in owed.items() if one.table is not None}

    def stage_subscription(
        self, name: str, subscription: Subscription | None, table: pa.Table | None
    ) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """Get ready to take on a subscription, with all rows of the view there is; or (`None`) to end one."""
        at = time.time()
        self._staged = lambda: self._subscribe(name, subscription, at, table)
        if subscription is None:
            return {"name": name}, {}
        meta = {"name": name, "at": at, "subscription": vars(subscription)}
        return meta, {} if table is None else {OWED + subscription.shape: table}

    def commit(self, version: Version) -> None:
        """The version is committed."""
        staged, self._staged = self._staged, None
        if staged is not None:
            staged()

    def rollback(self) -> None:
        """The version is taken back."""
        self._staged = None

    def _take(self, marks: Mapping[str, Any], owed: Mapping[str, Owed]) -> None:
        self._marks.update(marks)
        for view, one in owed.items():
            self._owed.setdefault(view, []).append(one)

    def _subscribe(
        self, name: str, subscription: Subscription | None, at: float, table: pa.Table | None
    ) -> None:
        self.subscriptions.pop(name, None)
        self._first.pop(name, None)
        if subscription is not None:
            self.subscriptions[name] = subscription
            self._first[name] = Owed(subscription.since, at, table)
        self._forget()

    # ------------------------------------------------------------------ what is owed

    def owed(self, name: str) -> list[Owed]:
        """What a subscriber has not acknowledged, in the order of versions."""
        subscription = self._subscription(name)
        first = self._first.get(name)
        since = [one for one in self._owed.get(subscription.shape, ()) if one.version > subscription.since]
        owed = since if first is None else [first, *since]
        return [one for one in owed if one.version > subscription.acknowledged]

    def acknowledge(self, name: str, version: int) -> None:
        """A subscriber needs nothing up to this version any more. What nobody needs is forgotten."""
        subscription = self._subscription(name)
        version = arguments.whole_number("version", version, least=0)
        if version > subscription.acknowledged:
            self.subscriptions[name] = replace(subscription, acknowledged=version)
            self._forget()
            self._said.write({one.identity: one.acknowledged for one in self.subscriptions.values()})

    def _subscription(self, name: str) -> Subscription:
        found = self.subscriptions.get(arguments.name("name", name))
        if found is None:
            there = ", ".join(self.subscriptions) or "none"
            raise DataError(
                "unknown-subscription", f"nobody subscribes as {name!r}", hint=f"there are: {there}"
            )
        return found

    def _forget(self) -> None:
        for view, entries in list(self._owed.items()):
            readers = [one.acknowledged for one in self.subscriptions.values() if one.shape == view]
            left = [one for one in entries if readers and one.version > min(readers)]
            if left:
                self._owed[view] = left
            else:
                del self._owed[view]
        for name, first in list(self._first.items()):
            if first.version <= self.subscriptions[name].acknowledged:
                del self._first[name]

    # ------------------------------------------------------------------ recovery

    def replay(
        self, version: int, kind: str, meta: Mapping[str, Any], tables: Mapping[str, pa.Table]
    ) -> None:
        """Take on a version from its record."""
        if kind == "subscribe":
            said = meta.get("subscription")
            subscription = Subscription(**said) if said is not None else None
            table = tables.get(OWED + subscription.shape) if subscription is not None else None
            self._subscribe(meta["name"], subscription, meta.get("at", 0.0), table)
            return
        owed = meta.get("owed", {"at": 0.0, "views": []})
        entries = {view: Owed(version, owed["at"], tables.get(OWED + view)) for view in owed["views"]}
        self._take(meta.get("marks", {}), entries)

    def dump(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """All of it, for a checkpoint."""
        listed: list[list[Any]] = []
        tables: dict[str, pa.Table] = {}
        every = [(name, "", one) for name, one in self._first.items()]
        every += [("", view, one) for view, entries in self._owed.items() for one in entries]
        for number, (name, view, one) in enumerate(every):
            listed.append([name, view, one.version, one.at])
            if one.table is not None:
                tables[f"owed/{number}"] = one.table
        subscriptions = {name: vars(one) for name, one in self.subscriptions.items()}
        return {"marks": self._marks, "subscriptions": subscriptions, "owed": listed}, tables

    def load(self, meta: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Take what `dump` gave."""
        self._marks = dict(meta["marks"])
        self.subscriptions = {name: Subscription(**one) for name, one in meta["subscriptions"].items()}
        for number, (name, view, version, at) in enumerate(meta["owed"]):
            key = f"owed/{number}"
            one = Owed(version, at, tables.get(key))
            if name:
                self._first[name] = one
            else:
                self._owed.setdefault(view, []).append(one)

    def recall(self) -> None:
        """Remember what was acknowledged."""
        said = self._said.read()
        for name, one in self.subscriptions.items():
            known = said.get(one.identity, 0)
            if known > one.acknowledged:
                self.subscriptions[name] = replace(one, acknowledged=known)
        self._forget()
