"""What a version did whose cost does not follow the change, and other things worth telling, as data.

An event has a code and named fields: programs look at those. `str(event)` is the sentence for people, and this module
is the only place where such sentences are written. An event crosses process borders as JSON (`to_json`, `from_json`).

    >>> event = Scanned("link", ("reach",))
    >>> event.code, event.relation
    ('scanned', 'link')
    >>> str(event)
    'scanned link for reach'
    >>> from_json(event.to_json()) == event
    True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import ClassVar, Literal

JsonValue = str | int | float | list[str] | tuple[str, ...]
"""What the fields of events hold."""


Reason = Literal[
    "large-change",
    "support-lost",
    "strategy",
    "was-stopped",
    "no-provenance",
    "no-counts",
    "improves-itself",
    "rules-changed",
    "new-network",
]
"""Why a view was recomputed."""
IMPROVES_ITSELF: Reason = "improves-itself"


@dataclass(frozen=True)
class Event:
    """Something that a version did. Each kind has a `code` of its own, which stays what it is."""

    code: ClassVar[str]

    def to_json(self) -> dict[str, JsonValue]:
        """The code and the fields, for a message or a log."""
        return {"code": self.code, **asdict(self)}


@dataclass(frozen=True)
class Recomputed(Event):
    """A recursive view was derived anew, because that was expected to cost less or was the only way."""

    code: ClassVar[str] = "recomputed"
    relations: tuple[str, ...]
    reason: Reason
    share: float = 0.0
    """With `support-lost`: the share of rows that may lose all support before recomputing is cheaper."""

    def __str__(self) -> str:
        why = {
            "large-change": "the change takes away a large part of what it is derived from",
            "support-lost": f"more than {self.share:.0%} of its rows lost all support",
            "strategy": "strategy recompute",
            "was-stopped": "it was stopped at the limit of rounds before",
            "no-provenance": "its provenance was not kept",
            "no-counts": "its counts were not kept",
            "improves-itself": "its best rows improve themselves",
            "rules-changed": "its rules are others",
            "new-network": "nodes that do not wait for each other begin a network for each definition",
        }
        return f"recomputed {', '.join(self.relations)}: {why[self.reason]}"


WhyChanged = Literal["too-large", "improves-itself"]
"""Why a view was left to another strategy."""


@dataclass(frozen=True)
class StrategyChanged(Event):
    """A view was left to a strategy that needs less, and derived anew by it. It stays with that one."""

    code: ClassVar[str] = "strategy-changed"
    relations: tuple[str, ...]
    before: str
    now: str
    reason: WhyChanged

    def __str__(self) -> str:
        why = {
            "too-large": "its provenance grew too large",
            "improves-itself": "its best rows improve themselves",
        }
        return f"left {', '.join(self.relations)} from {self.before} to {self.now}: {why[self.reason]}"


@dataclass(frozen=True)
class Stopped(Event):
    """A recursion was left unfinished at the limit of rounds."""

    code: ClassVar[str] = "stopped"
    relations: tuple[str, ...]
    rounds: int

    def __str__(self) -> str:
        return f"stopped {', '.join(self.relations)} after {self.rounds:,} rounds: rows may be missing"


@dataclass(frozen=True)
class SearchedGroup(Event):
    """A large group lost its best row, and all of it was searched for another."""

    code: ClassVar[str] = "searched-group"
    relation: str
    rows: int

    def __str__(self) -> str:
        return f"went through {self.rows:,} rows for a new best of {self.relation}"


@dataclass(frozen=True)
class SortedValues(Event):
    """All strings of the database were sorted to find a least or greatest one."""

    code: ClassVar[str] = "sorted-values"
    relation: str
    values: int

    def __str__(self) -> str:
        return f"sorted {self.values:,} values to order {self.relation}"


@dataclass(frozen=True)
class Scanned(Event):
    """A whole relation was read, since no premise bound any of its columns."""

    code: ClassVar[str] = "scanned"
    relation: str
    views: tuple[str, ...]

    def __str__(self) -> str:
        return f"scanned {self.relation} for {', '.join(self.views)}"


@dataclass(frozen=True)
class Indexed(Event):
    """An index was built over a whole relation; from now on it is maintained."""

    code: ClassVar[str] = "indexed"
    relation: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"indexed {self.relation} by ({', '.join(self.columns)}), once"


@dataclass(frozen=True)
class Compacted(Event):
    """The places of dead rows were given back by moving the live ones together."""

    code: ClassVar[str] = "compacted"
    relation: str

    def __str__(self) -> str:
        return f"compacted {self.relation}"


@dataclass(frozen=True)
class CheckpointFailed(Event):
    """The version is in the log, but the checkpoint that was due could not be written."""

    code: ClassVar[str] = "checkpoint-failed"
    error: str
    """The code of the error."""
    message: str

    def __str__(self) -> str:
        return f"no checkpoint: {self.message}"


@dataclass(frozen=True)
class MovedToNodes(Event):
    """The state outgrew this process's budget and lives on nodes now."""

    code: ClassVar[str] = "moved-to-nodes"
    version: int
    size: int
    budget: int

    def __str__(self) -> str:
        return f"moved at version {self.version}: {self.size:,} bytes outgrew the budget of {self.budget:,}"


@dataclass(frozen=True)
class Repartitioned(Event):
    """All rows were distributed over the nodes anew, since these relations are too large for copies on each."""

    code: ClassVar[str] = "repartitioned"
    relations: tuple[str, ...]

    def __str__(self) -> str:
        return f"placed all rows anew: {', '.join(self.relations)} outgrew a node"


@dataclass(frozen=True)
class KindChosen(Event):
    """A view of kind `auto` is stored or watched from now on: to see what it costs, or because of what it cost."""

    code: ClassVar[str] = "kind-chosen"
    relation: str
    kind: str
    reason: Literal["tried", "measured"]
    stored: float
    """The average seconds that a version costs, as far as it was measured."""
    watched: float

    def __str__(self) -> str:
        why = "to see what that costs"
        if self.reason == "measured":
            why = f"a version costs {self.stored * 1e3:.3f} ms stored, {self.watched * 1e3:.3f} ms watched"
        return f"{self.relation} is {self.kind} from now on: {why}"


@dataclass(frozen=True)
class ReadWhole(Event):
    """What maintains a sketch has read all rows of a table, or their keys: from now on it asks for less."""

    code: ClassVar[str] = "read-whole"
    relation: str
    rows: int

    def __str__(self) -> str:
        return f"read {self.rows:,} rows of {self.relation} once, to look up less from now on"


@dataclass(frozen=True)
class PreviewedBeside(Event):
    """What an update would do was worked out in a copy that computed everything: something has to be decided."""

    code: ClassVar[str] = "previewed-beside"
    rows: int
    """Base rows that the copy was made of."""

    def __str__(self) -> str:
        return f"the preview computed everything again, of {self.rows:,} base rows"


EVENTS: dict[str, type[Event]] = {kind.code: kind for kind in Event.__subclasses__()}
"""All kinds of events by code."""


def from_json(data: Mapping[str, JsonValue]) -> Event:
    """The event from what `to_json` gave, after a way through JSON."""
    kind = EVENTS[str(data["code"])]
    values = {field.name: data[field.name] for field in fields(kind)}
    return kind(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    )
