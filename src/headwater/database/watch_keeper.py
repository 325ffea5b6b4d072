"""Making watches, ending them, and telling them after versions: what `Database.watch` and `Database.watches` do."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from headwater.active.actions.append import append
from headwater.active.actions.call import ActionFunction, call
from headwater.active.actions.run import run
from headwater.active.delivery import Delivery
from headwater.active.event import WatchEvent
from headwater.active.trigger import SIGNS
from headwater.active.watch import Action, WatchDefinition, WatchLine
from headwater.calls import warn
from headwater.database.running import Running
from headwater.database.versions import Versions
from headwater.errors import DataError, HeadwaterWarning
from headwater.language.program import RuleAction
from headwater.options import Options
from headwater.plan.steps import Ints
from headwater.spelling import did_you_mean
from headwater.values import arguments
from headwater.version.guard import Guard
from headwater.version.row_change import RowChange

COUPLINGS = ("now", "after")


class WatchKeeper:
    """The watches of a database, and the loop that tells them."""

    def __init__(self, versions: Versions, running: Running, options: Options, guard: Guard, durable: bool):
        self._versions = versions
        self._running = running
        self._guard = guard
        self._timeout = options.action_timeout
        self.functions = dict(options.actions or {})
        """What active rules can call, by name."""
        self._outbox = outbox = versions.outbox
        self._durable = durable
        self._unnamed = 0
        self.delivery = Delivery(
            lambda: tuple(outbox.lines.values()),
            outbox.acknowledge,
            outbox.settle,
            lambda: guard.closed,
            options.max_cascade,
        )
        # The outbox must not hold who holds it: a database that nobody holds is gone at once, with its memory.
        outbox.cause = _weakly(self._cause)
        if options.mode == "w":
            outbox.action_of = _weakly(self._action)

    def _cause(self) -> tuple[str, ...]:
        return self.delivery.cause

    @property
    def lines(self) -> dict[str, WatchLine]:
        """All watches by name."""
        return self._outbox.lines

    def line(self, name: object) -> WatchLine:
        """A watch; refused if there is none of that name."""
        found = self.lines.get(arguments.name("name", name))
        if found is None:
            there = ", ".join(self.lines) or "none"
            hint = did_you_mean(str(name), self.lines) or f"there are: {there}"
            raise DataError("unknown-watch", f"there is no watch {name!r}", hint=hint)
        return found

    def line_for(
        self,
        goal: object,
        do: object,
        on: object,
        when: object,
        name: object,
        coupling: object,
        retries: object,
        pause: object,
    ) -> WatchLine:
        """A watch as a user wants it, which nobody is told of yet."""
        goal = arguments.text("goal", goal)
        on = arguments.one_of("on", on, SIGNS)
        when = None if when is None else arguments.text("when", when)
        now = arguments.one_of("coupling", coupling, COUPLINGS) == "now"
        called = self._next_name() if name is None else arguments.name("name", name)
        durable = self._durable and name is not None and not now
        return WatchLine(
            WatchDefinition(called, goal.strip(), on, when, durable),
            action=Action(_callback(do)),
            retries=arguments.whole_number("retries", retries, least=0),
            pause=_pause(pause),
            now=now,
        )

    def watch(self, line: WatchLine, *, replace: bool) -> None:
        """Take on a watch, or attach to the one of that name that watches the same."""
        catalog = self._versions.standing.catalog
        line.armed(catalog)
        known = self.lines.get(line.name)
        if known is not None and known.rule is not None:
            raise DataError(
                "other-watch",
                f"{line.name} is the name of an active rule",
                hint="give the watch another name",
            )
        if known is not None and known.definition.durable and not self._durable:
            raise DataError(
                "other-watch",
                f"{line.name} is a watch of the state, which only its writer can attach to",
                hint="give the watch of a reader another name",
            )
        if known is None or replace:
            self._versions.watch(line.name, line)
            return
        if known.now != line.now or not known.definition.same_as(line.definition, catalog):
            raise DataError(
                "other-watch",
                f"{line.name} watches {known.definition.said}, not {line.definition.said}",
                hint="give the new watch another name, or replace=True to forget the old one and what it is owed",
            )
        known.action, known.retries, known.pause = line.action, line.retries, line.pause
        known.anew()

    def take_over(self, others: WatchKeeper) -> None:
        """Go on with the watches of this process, where a reader has begun anew at a later version: what lies between
        is one event for each."""
        lines = {name: line for name, line in others.lines.items() if not line.definition.durable}
        catalog = others._versions.standing.catalog
        views = {line.armed(catalog).trigger.relation for line in lines.values() if not line.parked}
        between = {view: _between(others._versions, self._versions, view) for view in views}
        self._outbox.lines.update(lines)
        self._versions.tell({view: change for view, change in between.items() if any(change.counts)})

    def _next_name(self) -> str:
        """A name for a watch that got none."""
        while True:
            self._unnamed += 1
            if (name := f"watch-{self._unnamed}") not in self.lines:
                return name

    # ------------------------------------------------------------------ what active rules do

    def _action(self, line: WatchLine) -> Action:
        assert line.rule is not None
        action = line.rule[1]
        if action.kind in ("insert", "delete"):
            return Action(_weakly(self._change, action), transactional=True)
        return Action(_weakly(self._outside, action))

    def _outside(self, action: RuleAction, event: WatchEvent) -> None:
        if action.kind == "append":
            append(event, action.text)
        elif action.kind == "run":
            run(event, action.text, self._timeout)
        elif action.atom is not None:
            call(event, action.atom.relation, self.functions)

    def _change(self, action: RuleAction, event: WatchEvent) -> None:
        """Insert or delete the rows of an event, in a version that acknowledges the event."""
        assert action.atom is not None
        rows = {action.atom.relation: [*event.deleted, *event.inserted]}
        insert, delete = (rows, {}) if action.kind == "insert" else ({}, rows)
        self._guard.enter(f"watch {event.watch}", changing=True)
        try:
            with self._versions.runner.interrupts:
                self._versions.apply(insert, delete, {}, {event.watch: event.version})
                self._running.after_version()
        finally:
            self._guard.leave()

    def register(self, name: str, function: ActionFunction) -> None:
        """Let active rules call a function; those that waited for it go on."""
        self.functions[name] = function
        for line in self.lines.values():
            atom = line.rule[1].atom if line.rule is not None else None
            if line.parked and atom is not None and atom.relation == name:
                line.anew()

    # ------------------------------------------------------------------ ending

    def skip(self, line: WatchLine, version: int) -> None:
        """Let a watch go on behind a version."""
        self._outbox.acknowledge(line, version)
        self._outbox.settle()

    def stop(self, name: str) -> None:
        """End a watch, and forget what it is owed."""
        rule = self.line(name).rule
        if rule is not None:
            raise DataError(
                "still-defined",
                f"{name} is what an active rule does",
                hint=f"drop the rule: db.drop_rule({str(rule[0].id)!r})",
            )
        self._versions.watch(name, None)

    def warn_of_undelivered(self) -> None:
        """Say, before the database is gone, which events go with it."""
        for line in self.lines.values():
            untold = 0 if line.definition.durable else self.delivery.untold(line)
            if untold:
                count = f"{untold:,} event" + ("s" if untold > 1 else "")
                line.owed.clear()
                message = f"{line.name} was not told {count}: {line.error or 'there was no time'}"
                hint = "a watch with a name, of a database with a path, is told when it is attached again"
                warn(HeadwaterWarning("undelivered", message, hint=hint))


def _weakly(method: Callable[..., Any], *first: object) -> Callable[..., Any]:
    """A method to be called without holding whose it is, with these arguments first."""
    held = weakref.WeakMethod(method)

    def call(*arguments: object) -> Any:
        found = held()
        assert found is not None, "what calls it does not outlive it"
        return found(*first, *arguments)

    return call


def _callback(do: object) -> Callable[[WatchEvent], Any]:
    found = do if callable(do) else getattr(do, "publish", None)
    if not callable(found):
        raise arguments.wrong("do", do, "a function that is called with an event, or a sink")
    return found


def _pause(pause: object) -> float:
    found = arguments.seconds("pause", pause)
    if found < 0:
        raise arguments.wrong("pause", pause, "seconds, from 0")
    return found


def _between(before: Versions, after: Versions, view: str) -> RowChange:
    """The rows that a relation has lost and gained between two states with one codec."""
    old, new = (_keyed(versions, view) for versions in (before, after))
    empty = before.standing.catalog.info(view).layout.empty()
    lost = [row for key, row in old.items() if key not in new]
    gained = [row for key, row in new.items() if key not in old]
    return RowChange(*(np.array(rows) if rows else empty for rows in (lost, gained)))


def _keyed(versions: Versions, view: str) -> dict[bytes, Ints]:
    if view not in versions.standing.catalog.program.relations:
        return {}
    return {row.tobytes(): row for row in np.ascontiguousarray(versions.runner.matrix(view))}
