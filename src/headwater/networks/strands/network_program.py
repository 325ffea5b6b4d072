"""A program whose rule bodies are local: what localisation makes of checked rules. Data only.

What holds:
- every relation has a *location*: the value in one of its columns, or one place for all rows (`NOWHERE`). Which node
  that is, is for a `Directory` to say: an address is a node's name, any other value is hashed;
- all premises of a rule are at the same location, so that a node can run it on what it holds (claim 1 of loo-2006);
  only its head may live elsewhere, and is shipped there;
- *update rules* are run by their node as events come, on what tables hold then; they may have aggregates and absent
  premises, which are looked up where they are. What they do is inserting, deleting, or raising further events;
- all other rules are positive and have no aggregates. What is not monotone is *published*: a node that sees the
  input of a group, or that nothing answers to a key, states a row of the published relation as if it were a base row
  of its own, and takes it back when that is over. A publication reads relations at one location, those of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.rules.checked import CheckedRule, Kind, Selection, Timer, UpdateRule
from headwater.values.types import Type

NOWHERE = None
"""The location column of a relation that lives at one place as a whole."""


@dataclass(frozen=True)
class Located:
    """A relation of a local program. `name` is what it is for: `owner` is the user's relation that it serves."""

    name: str
    types: tuple[Type | None, ...]
    location: int | None
    base: bool = False
    owner: str | None = None
    key: tuple[int, ...] | None = None
    lifetime: float | None = None
    size: int | None = None
    kind: Kind = Kind.STORED
    nullable: tuple[bool | None, ...] = ()
    """Of a base relation: whether each column takes nulls, where that was said."""

    @property
    def event(self) -> bool:
        """Whether its rows are events, and never stored."""
        return self.kind is Kind.EVENT

    @property
    def arity(self) -> int:
        """The number of columns."""
        return len(self.types)


@dataclass(frozen=True)
class Bindings:
    """The bindings that one rule gives to an aggregate: the columns of its groups, and of what is aggregated."""

    relation: str
    group: tuple[int, ...]
    argument: int | None


@dataclass(frozen=True)
class PublishedGroups:
    """Rows of `relation` are the groups of all bindings, with count, sum or avg in column `position`.

    With `asked`, there is a row for each of that relation's rows and for no others; a count or sum of nothing is 0.
    """

    relation: str
    function: str
    position: int
    type: Type | None
    inputs: tuple[Bindings, ...]
    asked: str | None = None

    def reads(self) -> set[str]:
        """The relations that it depends on."""
        return {each.relation for each in self.inputs} | ({self.asked} if self.asked is not None else set())


@dataclass(frozen=True)
class Best:
    """Rows of `relation` are the best `candidates`: by any of the selections, which have the same groups."""

    relation: str
    candidates: str
    selections: tuple[Selection, ...]

    def reads(self) -> set[str]:
        """The relations that it depends on."""
        return {self.candidates}


@dataclass(frozen=True)
class Missing:
    """Rows of `relation` are those that are `asked` for and that `present` does not have."""

    relation: str
    asked: str
    present: str

    def reads(self) -> set[str]:
        """The relations that it depends on."""
        return {self.asked, self.present}


Publication = PublishedGroups | Best | Missing


@dataclass(frozen=True)
class PassingOn:
    """AggSel inside a recursion: best `candidates` pass on to `relation` as they are, with what they rest on."""

    relation: str
    candidates: str
    selections: tuple[Selection, ...]


@dataclass(frozen=True)
class NetworkProgram:
    """Relations by name, rules with local bodies, and what is published or passes on where.

    `addressed` says that locations are addresses of nodes, by the text's `@`. `views` are the users' relations, and
    where a node reads the rows of each: those of a selection are read off its candidates. `facts` are base rows that
    the text states; `given` names the base relation that takes rows for a derived one.
    """

    relations: Mapping[str, Located]
    rules: tuple[CheckedRule, ...]
    publications: tuple[Publication, ...] = ()
    passing: tuple[PassingOn, ...] = ()
    views: Mapping[str, str | Best] = field(default_factory=dict)
    facts: Mapping[str, tuple[tuple[object, ...], ...]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    addressed: bool = False
    recursive: frozenset[str] = frozenset()
    """The relations that depend on themselves."""
    updates: tuple[UpdateRule, ...] = ()
    """Rules with local bodies that events and new rows fire; their heads may live elsewhere."""
    timers: tuple[Timer, ...] = ()
    watched: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """The relations of links, that a broadcast goes along."""

    @property
    def reactive(self) -> bool:
        """Whether anything happens by events, or updates tables."""
        return bool(self.updates or self.timers)

    @property
    def endless(self) -> bool:
        """Whether timers go on for ever: such a network is never quiet."""
        return any(timer.times is None for timer in self.timers)
