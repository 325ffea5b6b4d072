"""Who listens to the watched views of a database: made known before each version, when it has changed."""

from __future__ import annotations

from headwater.active.cascade import Cascade
from headwater.active.hearing import audience
from headwater.active.trigger import Armed
from headwater.database.outbox import Outbox
from headwater.database.progress import Progress
from headwater.errors import HeadwaterError
from headwater.local.runner import Runner
from headwater.maintain.engine import Engine


class Listeners:
    """Watches, active rules and subscribers."""

    def __init__(self, outbox: Outbox, progress: Progress):
        self._outbox = outbox
        self._progress = progress
        self._known: tuple[Engine, Cascade, tuple[Armed, ...], tuple[str, ...]] | None = None

    def tell(self, runner: Runner, cascade: Cascade) -> None:
        """Let an engine in this process know for whom it computes changes of watched views."""
        if not runner.here or not cascade.catalog.program.followed:
            return
        armed = self._armed(cascade)
        views = tuple(sorted({one.view for one in self._progress.subscriptions.values()}))
        known = self._known
        same = (
            known is not None
            and known[0] is runner.engine
            and known[1] is cascade
            and known[3] == views
            and len(known[2]) == len(armed)
            and all(one is other for one, other in zip(known[2], armed, strict=True))
        )
        if not same:
            self._known = runner.engine, cascade, armed, views
            runner.engine.unstored.listen(audience(armed, cascade.actions, views))

    def _armed(self, cascade: Cascade) -> tuple[Armed, ...]:
        found = []
        for line in tuple(self._outbox.lines.values()):
            try:
                found.append(line.armed(cascade.catalog))
            except HeadwaterError:
                continue  # it is parked: what it watches is not there
        return tuple(found)
