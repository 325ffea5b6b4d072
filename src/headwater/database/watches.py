"""The watches of a database as its user sees them: where each stands, and what can be done about one that failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from headwater.active.watch import State, WatchLine
from headwater.calls import public_class
from headwater.database.uninterrupted import uninterrupted
from headwater.database.watch_keeper import WatchKeeper
from headwater.local.runner import Runner
from headwater.notebook import table
from headwater.values import arguments
from headwater.version.guard import Guard
from headwater.wording import aligned

if TYPE_CHECKING:
    import pyarrow as pa

HEADINGS = ("watch", "goal", "on", "state", "delivered", "owed", "error")
MOST_SHOWN = 80
"""Characters of an error in a table."""


class Watchable(Protocol):
    """What is watched: a database."""

    guard: Guard
    _watching: WatchKeeper

    @property
    def runner(self) -> Runner:
        """Where the relations are."""
        ...

    def _check_writable(self) -> None: ...


@public_class
class Watch:
    """A watch of a database, as it stands when it is asked."""

    def __init__(self, database: Watchable, name: str):
        self._database = database
        self.guard = database.guard
        self.name = name

    @property
    def runner(self) -> Runner:
        """Where the relations are."""
        return self._database.runner

    @property
    def _watching(self) -> WatchKeeper:
        return self._database._watching

    @property
    def _line(self) -> WatchLine:
        return self._watching.line(self.name)

    @property
    def goal(self) -> str:
        """What is watched: a relation, or a goal with constants and conditions."""
        return self._line.definition.goal

    @property
    def on(self) -> str:
        """Whether rows are told that are added, removed, or either."""
        return self._line.definition.on

    @property
    def when(self) -> str | None:
        """The condition."""
        return self._line.definition.when

    @property
    def durable(self) -> bool:
        """Whether it outlives the process."""
        return self._line.definition.durable

    @property
    def identity(self) -> str:
        """What tells it from any other of that name; drawn when it was made."""
        return self._line.definition.identity

    @property
    def state(self) -> State:
        """`following`, `retrying`, `parked`, or `waiting` for an action in this process."""
        return self._line.state

    @property
    def delivered(self) -> int:
        """The version of the last event that is done with; 0 if there was none."""
        return self._line.delivered

    @property
    def owed(self) -> tuple[int, ...]:
        """The versions of the events that are not done with, in order."""
        return tuple(event.version for event in tuple(self._line.owed))

    @property
    def error(self) -> str | None:
        """What the action, or the condition, failed with last."""
        return self._line.error

    @property
    def trace(self) -> str:
        """Where the action failed last: the end of the traceback."""
        return self._line.trace

    def retry(self) -> int:
        """Try again now, as if nothing had failed; how many events could be delivered to all watches."""
        self._line.anew()
        return self._watching.delivery.deliver()

    def skip(self) -> int:
        """Give up the first of the events that are owed, and go on with the next one."""
        line = self._line
        if self.durable:
            self._database._check_writable()
        first = line.first
        if first is not None:
            self._watching.skip(line, first.version)
        return self._watching.delivery.deliver()

    @uninterrupted
    def stop(self) -> None:
        """End the watch, and forget what it is owed."""
        if self.durable:
            self._database._check_writable()
        self._watching.stop(self.name)

    def __repr__(self) -> str:
        line = self._line
        failed = f": {line.error}" if line.error else ""
        return f"<watch {line.name} of {line.definition.said}, {line.state}, {len(line.owed):,} owed{failed}>"


@public_class
class Watches(Mapping[str, Watch]):
    """All watches by name. It prints as a table; `rows()` and `arrow()` give that as data."""

    def __init__(self, database: Watchable):
        self._database = database

    @property
    def _watching(self) -> WatchKeeper:
        return self._database._watching

    def __getitem__(self, name: str) -> Watch:
        return Watch(self._database, self._watching.line(name).name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._watching.lines

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._watching.lines))

    def __len__(self) -> int:
        return len(self._watching.lines)

    def deliver(self, wait: float = 0.0) -> int:
        """Tell watches what is due, and wait so many seconds for what will be; how many events were delivered."""
        seconds = arguments.seconds("wait", wait)
        return self._watching.delivery.wait(seconds) if seconds > 0 else self._watching.delivery.deliver()

    def rows(self) -> list[tuple[str, str, str, str, int, int, str | None]]:
        """For each watch its name, goal, what it is told of, state, last version told, events owed, last error."""
        return [
            (
                line.name,
                line.definition.goal + (f", {line.definition.when}" if line.definition.when else ""),
                line.definition.on,
                line.state,
                line.delivered,
                len(line.owed),
                line.error,
            )
            for line in tuple(self._watching.lines.values())
        ]

    def arrow(self) -> pa.Table:
        """The same as an Arrow table."""
        import pyarrow as pa

        rows = self.rows()
        return pa.table({heading: [row[place] for row in rows] for place, heading in enumerate(HEADINGS)})

    def _texts(self) -> list[list[str]]:
        return [["" if value is None else _shown(value) for value in row] for row in self.rows()]

    def __repr__(self) -> str:
        return aligned(HEADINGS, self._texts())

    def _repr_html_(self) -> str:
        return table(HEADINGS, [[escape(text) for text in row] for row in self._texts()], right={4, 5})


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    text = " ".join(str(value).split())
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."
