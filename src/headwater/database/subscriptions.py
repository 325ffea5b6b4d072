"""What a database has taken from outside and what it owes to it: marks, subscriptions, pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headwater.database.versions import Versions, uninterrupted
from headwater.maintain.row_change import RowChange
from headwater.progress import Owed, Subscription
from headwater.values import arguments
from headwater.version.guard import reads

if TYPE_CHECKING:
    from headwater.pipeline import Pipeline


class Subscriptions(Versions):
    """A database with sources and subscribers."""

    @property
    def marks(self) -> Mapping[str, Any]:
        """How far each source was read: what `apply` was given as `marks`, the last of each name."""
        self.guard.check()
        return dict(self._progress.marks)

    @property
    def subscriptions(self) -> Mapping[str, Subscription]:
        """Who is told what happens to which view, and up to which version they have acknowledged it."""
        self.guard.check()
        return dict(self._progress.subscriptions)

    @uninterrupted
    def subscribe(self, name: str, view: str, *, rows: bool = True) -> Subscription:
        """From now on keep what each version does to a view until it is acknowledged; one version, if new.

        What is owed first are all rows the view has now. With `rows=False` only the versions are kept.
        """
        self._check_writable()
        arguments.name("name", name)
        arguments.flag("rows", rows)
        known = self._progress.subscriptions.get(name)
        if known is not None and (known.view, known.rows) == (view, rows):
            return known
        self.info(view)
        made = Subscription.to(view, rows, self.version + 1)
        empty = self.info(view).layout.empty()
        matrix = self.runner.matrix(view) if rows else empty
        first = self._shown({view: RowChange(empty, matrix)})[view]
        self._record_subscription(name, made, first.arrow() if rows else None)
        return made

    @uninterrupted
    def unsubscribe(self, name: str) -> None:
        """End a subscription, and forget what it was owed; one version."""
        self._check_writable()
        self._progress.owed(name)
        self._record_subscription(name, None, None)

    def _record_subscription(self, name: str, subscription: Subscription | None, table: Any) -> None:
        try:
            meta, tables = self._progress.stage_subscription(name, subscription, table)
            self._append("subscribe", {"now": self.now, **meta}, tables)
        except BaseException:
            with self.guard.or_break_off():
                if self._committed():
                    self._progress.commit()
                    self.version += 1
                self._progress.rollback()
            raise
        self._progress.commit()
        self.version += 1

    @reads
    def owed(self, name: str) -> list[Owed]:
        """What a subscriber has not acknowledged yet, in the order of versions."""
        return self._progress.owed(name)

    @uninterrupted
    def acknowledge(self, name: str, version: int) -> None:
        """A subscriber needs nothing up to this version (of those there are) any more."""
        self._check_writable()
        arguments.whole_number("version", version, least=0, most=self.version)
        self._progress.acknowledge(name, version)

    def pipeline(self, sources: Sequence[Any], sinks: Sequence[Any] = (), **options: Any) -> Pipeline:
        """Read sources into base relations and publish views, through Spark; see `headwater.pipeline`."""
        from headwater.pipeline import Pipeline

        return Pipeline(self._whole, sources, sinks, **options)
