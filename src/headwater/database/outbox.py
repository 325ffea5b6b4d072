"""What watches are owed: staged with an open version, in its record of the log, and kept until it is acknowledged.

A durable watch is in the log, and each event with its version, so that what was not delivered is there after a crash.
An action that changes the database is acknowledged in the record of the version that it makes, so it is done exactly
once; any other is acknowledged beside the log, once it is done: at least once, with the version to tell by.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.active.event import OwedEvent
from headwater.active.rules import trigger_of
from headwater.active.trigger import Armed, Fired
from headwater.active.watch import Action, WatchDefinition, WatchLine, in_short, rule_lines
from headwater.calls import warn
from headwater.catalog import Catalog
from headwater.database.acknowledged import Acknowledged
from headwater.errors import DataError, HeadwaterError, HeadwaterWarning
from headwater.local.runner import Runner
from headwater.maintain.goals import Means
from headwater.rules.checked import described
from headwater.values import arguments
from headwater.values.codec import Codec
from headwater.values.types import TypeClash, unify
from headwater.version.version import Version

if TYPE_CHECKING:
    import pyarrow as pa

FILE = "watches.json"
Tables = dict[str, "pa.Table"]


class Outbox:
    """All watches by name, and what a version to come owes them."""

    def __init__(self, codec: Codec, folder: Path | None, *, sync: bool = True):
        self.lines: dict[str, WatchLine] = {}
        self.cause: Callable[[], tuple[str, ...]] = tuple
        """The watches whose actions lead to the version that is being made."""
        self.action_of: Callable[[WatchLine], Action | None] = lambda line: None
        """What an active rule does."""
        self._codec = codec
        self._durable = folder is not None
        self._said = Acknowledged(folder, FILE, sync=sync)
        self._unsettled: dict[str, WatchLine] = {}
        self._events: dict[str, OwedEvent] = {}
        self._done: dict[str, int] = {}
        self._defined: Callable[[], None] | None = None
        self._catalog: Catalog | None = None
        self._coming: tuple[Catalog, dict[str, WatchLine]] | None = None

    # ------------------------------------------------------------------ with a version

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalog in which what is watched is not there any more, or cannot be followed, and warn
        where a rule goes that has something left to do."""
        rules = {str(rule.id) for rule in catalog.active}
        coming = rule_lines(catalog, durable=self._durable)
        for line in self.lines.values():
            if line.rule is not None:
                if line.owed and (line.name not in coming or coming[line.name].rule != line.rule):
                    warn(
                        HeadwaterWarning(
                            "forgotten",
                            f"rule {line.name} goes, and with it {len(line.owed):,} events it has not acted on",
                            hint="db.watches.deliver() lets it be done first",
                        )
                    )
                continue
            if line.name.partition("/")[0] in rules:
                raise DataError(
                    "other-watch",
                    f"there is a watch {line.name} already, and a rule of that name",
                    hint="give the rule another label",
                )
            try:
                line.armed(catalog)
            except HeadwaterError as error:
                raise DataError(
                    "still-read",
                    f"{line.name} watches {line.definition.goal}, and could not go on: {error.message}",
                    hint=f"end that first: db.watches[{line.name!r}].stop()",
                ) from error
        self._check_types(catalog)

    def _check_types(self, catalog: Catalog) -> None:
        """Refuse other types of what is watched: one event could not tell rows that go and rows that come."""
        before = {} if self._catalog is None else self._catalog.program.relations
        watched = {
            line.armed(catalog).trigger.relation: line.name
            for line in self.lines.values()
            if line.rule is None
        }
        watched.update((trigger_of(rule).relation, str(rule.id)) for rule in catalog.active)
        for name, who in watched.items():
            old, new = before.get(name), catalog.program.relations.get(name)
            if old is None or new is None:
                continue
            try:
                for was, becomes in zip(old.types, new.types, strict=False):
                    unify(was, becomes)
            except TypeClash as clash:
                raise DataError(
                    "still-read",
                    f"{who} watches {name}, a column of which would have another type: {clash}",
                    hint=f"end {who} first, and let it begin again afterwards",
                ) from clash

    def attend(self, catalog: Catalog) -> None:
        """Go by the active rules of a catalog: those that are as before keep what they are owed."""
        if catalog is not self._catalog:
            self.lines = self._following(catalog)
            self._catalog = catalog

    def _following(self, catalog: Catalog) -> dict[str, WatchLine]:
        """All watches, as they are with the active rules of a catalog."""
        found = {name: line for name, line in self.lines.items() if line.rule is None}
        for name, line in rule_lines(catalog, durable=self._durable).items():
            known = self.lines.get(name)
            same = known is not None and known.rule == line.rule
            found[name] = known if known is not None and same else line
            found[name].action = self.action_of(found[name])
        return found

    def owe(
        self,
        version: Version,
        catalog: Catalog,
        runner: Runner,
        means: Callable[[], Means],
        *,
        durable: bool = True,
    ) -> None:
        """Work out, while the version is open, what it does for each watch; tell those that are told at once."""
        lines = self.lines
        if catalog is not self._catalog:
            lines = self._following(catalog)
            version.join(self)
            self._coming = catalog, lines
        if not lines:
            return
        version.join(self)
        at, cause = time.time(), self.cause()
        for line in tuple(lines.values()):
            if line.definition.durable and not durable:
                continue
            try:
                armed = line.armed(catalog)
            except HeadwaterError as error:
                if line.rule is not None:
                    raise
                line.park(in_short(error))  # in a reader: the writer has dropped what is watched
                continue
            if not armed.concerns(version.changes):
                continue
            event = OwedEvent(version.number, armed.trigger.relation, at, self._nothing(armed), cause=cause)
            if line.now:
                fired = self._typed(armed.fired(version.changes, runner, means()), armed, catalog)
                self._tell(line, replace(event, fired=fired))
                continue
            try:
                fired = self._typed(armed.fired(version.changes, runner, means()), armed, catalog)
                event = replace(event, fired=fired)
            except HeadwaterError as error:
                event = replace(event, failure=in_short(error))
            if event.fired or event.failure is not None:
                self._events[line.name] = event

    def _typed(self, fired: Fired, armed: Armed, catalog: Catalog) -> Fired:
        """Rows that go have the types of before, where nothing tells types any more."""
        before, view = self._catalog, armed.trigger.relation
        if armed.question is not None or before is None or None not in fired.layout.types:
            return fired
        infos = described(before.program.relations, catalog.program.relations)
        return replace(fired, layout=infos[view].layout) if view in infos else fired

    def _nothing(self, armed: Armed) -> Fired:
        return Fired(armed.layout, self._codec, armed.layout.empty(), armed.layout.empty())

    @staticmethod
    def _tell(line: WatchLine, event: OwedEvent) -> None:
        """Let an action see what an open version does; if it fails, so does the version."""
        if event.fired and line.action is not None:
            arguments.answer(f"watch {line.name}", line.action.perform, event.told(line.name, 1))

    def acknowledge_with(self, version: Version, done: Mapping[str, int]) -> None:
        """Acknowledge, together with a version that is open, what led to it."""
        if done:
            version.join(self)
            self._done = dict(done)

    def define(self, version: Version, name: str, line: WatchLine | None) -> dict[str, Any] | None:
        """Get ready to take on a watch, or (`None`) to end one; the metadata of the record, if that needs one."""
        version.join(self)
        self._defined = lambda: self._define(name, line)
        known = self.lines.get(name)
        if not any(one is not None and one.definition.durable for one in (line, known)):
            return None
        lasts = line is not None and line.definition.durable
        return {"name": name, "watch": asdict(line.definition) if line is not None and lasts else None}

    def record(self) -> tuple[dict[str, Any], Tables]:
        """What the record of the open version must hold: of durable watches, what they are owed."""
        lines = self.lines if self._coming is None else self._coming[1]
        events = {name: one for name, one in self._events.items() if lines[name].definition.durable}
        meta: dict[str, Any] = {"done": self._done} if self._done else {}
        if events:
            meta["events"] = [[name, one.about()] for name, one in events.items()]
        return meta, _tables(events.values())

    def commit(self, version: Version) -> None:
        """The version is committed: what it owes is owed, and what it acknowledges is done with."""
        if self._coming is not None:
            self._catalog, self.lines = self._coming
        self._take(self._events, self._done)
        if self._defined is not None:
            self._defined()
        self.rollback()

    def rollback(self) -> None:
        """The version is taken back."""
        self._events, self._done, self._defined, self._coming = {}, {}, None, None

    def _take(self, events: Mapping[str, OwedEvent], done: Mapping[str, int]) -> None:
        for name, event in events.items():
            if name in self.lines:
                self.lines[name].owed.append(event)
        for name, version in done.items():
            if name in self.lines:
                self.lines[name].done(version)

    def _define(self, name: str, line: WatchLine | None) -> None:
        self.lines.pop(name, None)
        if line is not None:
            self.lines[name] = line

    # ------------------------------------------------------------------ acknowledging

    def acknowledge(self, line: WatchLine, version: int) -> None:
        """A watch needs nothing up to this version any more."""
        line.done(version)
        if line.definition.durable:
            self._unsettled[line.name] = line

    def settle(self) -> None:
        """Write down what was acknowledged. It is done with, even if that cannot be written."""
        unsettled, self._unsettled = self._unsettled, {}
        if unsettled:
            try:
                self._said.write({
                    one.definition.identity: one.delivered
                    for one in tuple(self.lines.values())
                    if one.definition.durable
                })  # fmt: skip
            except OSError as error:
                for line in unsettled.values():
                    line.error = f"version {line.delivered} may be told again after a restart: {error}"

    # ------------------------------------------------------------------ recovery

    def replay(self, kind: str, meta: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Take on a version from its record."""
        if kind == "watch":
            said = meta["watch"]
            self._define(meta["name"], None if said is None else WatchLine(WatchDefinition(**said)))
            return
        self._take(self._read(meta.get("events", []), tables), meta.get("done", {}))

    def _read(self, listed: list[Any], tables: Mapping[str, pa.Table]) -> dict[str, OwedEvent]:
        return {
            name: OwedEvent.read(self._codec, about, tables, number)
            for number, (name, about) in enumerate(listed)
        }

    def dump(self) -> tuple[dict[str, Any], Tables]:
        """All of it, for a checkpoint."""
        lines = [line for line in self.lines.values() if line.definition.durable]
        events = [(line.name, event) for line in lines for event in tuple(line.owed)]
        meta = {
            "definitions": [asdict(line.definition) for line in lines if line.rule is None],
            "delivered": {line.name: line.delivered for line in lines},
            "events": [[name, event.about()] for name, event in events],
        }
        return meta, _tables(event for _, event in events)

    def load(self, meta: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Take what `dump` gave."""
        for said in meta["definitions"]:
            definition = WatchDefinition(**said)
            self._define(definition.name, WatchLine(definition))
        for name, delivered in meta["delivered"].items():
            self.lines[name].delivered = delivered
        for number, (name, about) in enumerate(meta["events"]):
            self.lines[name].owed.append(OwedEvent.read(self._codec, about, tables, number))

    def recall(self) -> None:
        """Remember what was acknowledged beside the log."""
        said = self._said.read()
        for line in self.lines.values():
            line.done(said.get(line.definition.identity, 0))


def _tables(events: Iterable[OwedEvent]) -> Tables:
    return {key: table for number, event in enumerate(events) for key, table in event.tables(number).items()}
