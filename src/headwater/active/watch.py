"""Somebody who is told what versions do to some rows: what is watched, as data, and the line of what is owed.

A watch is `following` (nothing is owed, or it is being told), `retrying` (its action failed and will be tried again),
`parked` (it failed too often: somebody has to look), or `waiting` (it has no action in this process: a durable watch
that nobody has attached to yet).
"""

from __future__ import annotations

import secrets
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from headwater.active.event import OwedEvent, WatchEvent
from headwater.active.rules import armed_action
from headwater.active.trigger import SIGNS, Armed, Trigger, armed, parse_trigger
from headwater.catalog import Catalog
from headwater.errors import DataError, HeadwaterError
from headwater.language.datalog.render import render
from headwater.language.program import ActiveRule, Atom, RuleAction, Wildcard

State = Literal["following", "retrying", "parked", "waiting"]
RETRIES = 3
PAUSE = 1.0
"""Seconds until the first retry."""
GROWTH = 4
"""How many times longer each pause is than the one before."""
MOST_GROWTHS = 100
"""How often pauses grow: beyond that a power is no float any more."""
LONGEST_PAUSE = 86400.0
"""Seconds that nothing is retried for at most: a day."""
OUTSIDE = ("call", "append", "run")
"""What actions do outside of the database."""
MOST_OF_AN_ERROR = 2000
"""Characters of an error that are kept, and of its traceback the last ones."""


@dataclass(frozen=True)
class WatchDefinition:
    """What is watched, in the words of whoever asked for it. The identity is drawn when the watch is made."""

    name: str
    goal: str
    on: str
    when: str | None
    durable: bool
    identity: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def said(self) -> str:
        """What is watched, in a line."""
        when = f" when {self.when}" if self.when else ""
        return f"{self.goal} {self.on}{when}"

    def trigger(self, catalog: Catalog) -> Trigger:
        """Event and condition; a goal that is only a name stands for all rows of that relation."""
        trigger = parse_trigger(self.goal if not bare(self.goal) else f"{self.goal}()", self.on, self.when)
        if not bare(self.goal):
            return trigger
        info = catalog.info(self.goal)
        return Trigger(SIGNS[self.on], Atom(info.name, (Wildcard(),) * info.arity), trigger.condition)

    def same_as(self, other: WatchDefinition, catalog: Catalog) -> bool:
        """Whether both watch the same, however it is written."""
        return _meaning(self.trigger(catalog)) == _meaning(other.trigger(catalog))


def bare(goal: str) -> bool:
    """Whether a goal is only the name of a relation."""
    return goal.strip().isidentifier()


def _meaning(trigger: Trigger) -> tuple[str, ...]:
    return (trigger.sign, render(trigger.event), *map(render, trigger.condition))


class Unperformable(DataError):
    """An action that cannot be tried until somebody does something about it."""


def rule_lines(catalog: Catalog, *, durable: bool) -> dict[str, WatchLine]:
    """What the active rules of a catalog do after a version or outside of the database, by name: the id of the rule,
    with a number if it does several such things."""
    found = {}
    for rule in catalog.active:
        told = [action for action in rule.actions if action.coupling == "after" or action.kind in OUTSIDE]
        for number, action in enumerate(told, 1):
            name = str(rule.id) if len(told) == 1 else f"{rule.id}/{number}"
            now = action.coupling == "now"
            goal = ", ".join([render(rule.event), *map(render, rule.condition)])
            on = next(word for word, sign in SIGNS.items() if sign == rule.sign)
            definition = WatchDefinition(name, goal, on, None, durable and not now, f"rule {name}")
            found[name] = WatchLine(definition, (rule, action), now=now)
    return found


@dataclass(frozen=True)
class Action:
    """What is done about an event; whether that has acknowledged the event, in the same version as what it did."""

    perform: Callable[[WatchEvent], object]
    transactional: bool = False


@dataclass
class WatchLine:
    """A watch while it runs: what it is owed, in the order of versions, and how telling it went. What an active rule
    does after a version is one, too, for each of its actions."""

    definition: WatchDefinition
    rule: tuple[ActiveRule, RuleAction] | None = None
    action: Action | None = None
    retries: int = RETRIES
    pause: float = PAUSE
    now: bool = False
    """Whether it is told while the version is open."""
    owed: deque[OwedEvent] = field(default_factory=deque)
    delivered: int = 0
    """The version of the last event that is done with."""
    attempts: int = 0
    """How often the first of the owed events was tried in vain."""
    due: float = 0.0
    parked: bool = False
    error: str | None = None
    trace: str = ""
    _armed: tuple[Catalog, Armed] | None = None

    @property
    def name(self) -> str:
        """The watch's name."""
        return self.definition.name

    @property
    def first(self) -> OwedEvent | None:
        """The event to tell next."""
        return next(iter(self.owed), None)

    @property
    def state(self) -> State:
        """Where it stands."""
        if self.action is None:
            return "waiting"
        if self.parked:
            return "parked"
        return "retrying" if self.attempts else "following"

    def armed(self, catalog: Catalog) -> Armed:
        """Checked against the catalog, once for each."""
        if self._armed is None or self._armed[0] is not catalog:
            self._armed = catalog, self._checked(catalog)
        return self._armed[1]

    def _checked(self, catalog: Catalog) -> Armed:
        if self.rule is not None:
            return armed_action(*self.rule, catalog).armed
        return armed(self.definition.trigger(catalog), catalog)

    def ready(self, now: float) -> bool:
        """Whether there is something to tell, and it may be tried now."""
        return bool(self.owed) and self.action is not None and not self.parked and self.due <= now

    def failed(self, error: Exception, now: float) -> None:
        """The action failed: try again later, or park the watch."""
        self.attempts += 1
        self.error = in_short(error)
        self.trace = "".join(traceback.format_exception(error))[-MOST_OF_AN_ERROR:]
        self.parked = self.attempts > self.retries or isinstance(error, Unperformable)
        self.due = now + min(self.pause * GROWTH ** min(self.attempts - 1, MOST_GROWTHS), LONGEST_PAUSE)

    def park(self, error: str) -> None:
        """Trying again would not help."""
        self.error, self.parked = error, True

    def done(self, version: int) -> None:
        """All events up to this version are done with."""
        while self.owed and self.owed[0].version <= version:
            self.delivered = self.owed.popleft().version
        self.anew()

    def anew(self) -> None:
        """Try as if nothing had failed."""
        self.attempts, self.due, self.parked, self.error, self.trace = 0, 0.0, False, None, ""


def in_short(error: BaseException) -> str:
    """An error in a line: of ours with its code, of others with their class."""
    if isinstance(error, HeadwaterError):
        hint = f" ({error.hint})" if error.hint else ""
        return f"error[{error.code}]: {error.message}{hint}"
    try:
        said = str(error)
    except Exception:  # somebody else's class: it may do anything
        said = "it cannot say why"
    return f"{type(error).__name__}: {said}"[:MOST_OF_AN_ERROR]
