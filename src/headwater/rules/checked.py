"""Rules ready to be planned: checked, normalised, typed and put into strata. Data only.

What holds for a `Checked` program:
- a head is variables and constants; a variable may occur twice;
- a body is premises, absent premises, tests and computations. A premise's arguments are variables, constants
  and wildcards; an absent premise's are variables and constants only;
- every variable is bound by a premise or a computation from bound ones (safety), and has an entry in `types`;
- items stand in an order in which each variable is bound before it is used; premises keep the order of
  writing. A body may be without premises;
- a computation may call a generator (`range`); it then gives one binding for each of its values, and its
  variable is bound by nothing else;
- a relation is base (rows come from outside) or derived (rows come from rules), never both;
- count, sum and avg stand alone: a relation with an aggregate has only aggregate rules, one aggregate each,
  the same function at the same position. Their premises are all in lower strata, and hold no wildcards. The
  aggregate ranges over the bindings of all the relation's rules, those of different rules being different;
- but an aggregate by demand (`Aggregate.demand`) is in a recursion, as the one rule of its relation;
- min and max are selections of a relation: all derivable rows are candidates, only a group's best are in the
  relation. This is the only non-monotone thing allowed inside a recursive stratum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from headwater.errors import EvaluationError, OutOfMemory, Place
from headwater.language.program import Column, Constant, Term, Variable, Wildcard
from headwater.values.layout import Layout
from headwater.values.types import Type

UNIT = "~unit"
"""A base relation without columns and with one row: the premise of rules that have none."""


@dataclass(frozen=True)
class Premise:
    """A row of `relation` that matches."""

    relation: str
    args: tuple[Variable | Constant | Wildcard, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Absent:
    """No row of `relation` is equal to these (bound) arguments."""

    relation: str
    args: tuple[Variable | Constant, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Test:
    """`left op right` over bound variables; op is one of `= != < <= > >=`."""

    op: str
    left: Term
    right: Term
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Compute:
    """`variable = value`. Binds the variable, or tests it where it is bound already."""

    variable: Variable
    value: Term
    place: Place | None = field(default=None, compare=False, repr=False)


Item = Premise | Absent | Test | Compute


@dataclass(frozen=True)
class Aggregate:
    """`function` (count, sum or avg) of `argument` over all bindings of the body, per group of the other head
    columns; `position` is the head column that receives it. `argument` is `None` for a count of all bindings.

    With a `demand`, the rule is part of a recursion. The demand is a relation of its own stratum, the one premise
    that is, with the group's columns: each of its rows gives one row. count and sum over no bindings are then 0; min
    and max are functions like the others.
    """

    function: str
    position: int
    argument: Variable | None
    demand: str | None = None


@dataclass(frozen=True)
class CheckedRule:
    """One normalised rule. For an aggregate rule, `head[aggregate.position]` is a placeholder variable.

    `nullable` are the variables that can be null. `label` is its own; `written` is the id of the rule in the text
    that it comes from, whose label users know. It is empty for rules that stand for nothing in a text: those of
    projections, copies and twins.
    """

    label: str
    relation: str
    head: tuple[Variable | Constant, ...]
    body: tuple[Item, ...]
    types: Mapping[str, Type | None]
    aggregate: Aggregate | None = None
    nullable: frozenset[str] = frozenset()
    place: Place | None = field(default=None, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)
    written: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class Selection:
    """Only rows whose `value` is the `best` (min or max) among those of equal `group` are in the relation."""

    group: tuple[int, ...]
    value: int
    best: str


class UpdateKind(Enum):
    """What an update rule does with the rows of its head."""

    RAISE = "raise"
    """They are events."""
    INSERT = "insert"
    DELETE = "delete"


@dataclass(frozen=True)
class UpdateAggregate:
    """An aggregate of an update rule's head: over the join of its event, or over the rows of a group."""

    function: str
    argument: Variable | None


@dataclass(frozen=True)
class UpdateRule:
    """A rule that an event fires, or a new row of a table where its body has none (P2).

    `rule` has the body, and a head whose aggregates are left out; `head` is the whole one. `event` is the premise
    that fires it, by its place among the premises. What it inserts is not taken back when what fired it is gone.
    """

    rule: CheckedRule
    kind: UpdateKind
    head: tuple[Variable | Constant | UpdateAggregate, ...]
    event: int | None

    @property
    def relation(self) -> str:
        """The relation of its head."""
        return self.rule.relation

    @property
    def label(self) -> str:
        """The rule's label."""
        return self.rule.label

    @property
    def aggregates(self) -> tuple[UpdateAggregate, ...]:
        """The aggregates of its head."""
        return tuple(term for term in self.head if isinstance(term, UpdateAggregate))


@dataclass(frozen=True)
class Timer:
    """`periodic(@N, E, T, K)`: rows of an event relation of its own, every `period` seconds, `times` times or for
    ever, at every node, the first of them after `first` seconds. A row is the node's address, a number that no other
    row has if it is `numbered`, and what the text says (`rest`)."""

    relation: str
    period: float
    times: int | None
    first: float
    numbered: bool
    rest: tuple[object, ...]


class Kind(Enum):
    """Where the rows of a relation come from, and whether they are kept."""

    BASE = "base"
    """From outside."""
    STORED = "stored"
    """From rules, and kept: a view."""
    VIRTUAL = "virtual"
    """From rules, when somebody asks."""
    WATCHED = "watched"
    """From rules, and never kept: what each version does to it is computed, and its rows when somebody asks."""
    HELPER = "helper"
    """From rules that a rewrite made, for its owner."""
    STATE = "state"
    """From outside, and from rules that update it: inserted by key, deleted by rules, or forgotten after a time."""
    EVENT = "event"
    """From outside, from rules, or from timers; there for one local fixpoint, and never stored."""


@dataclass(frozen=True)
class RelationInfo:
    """A relation's shape. `key`, `lifetime` and `size` are for base relations. All columns named here, by their
    numbers too, are logical ones; `layout` has the code columns.

    A row is in a relation with several selections when it is best by any one of them.

    A relation that no text names has an `owner`, the one that it serves: a helper has, and so has the twin that holds
    the rows given to a view, which is a base relation.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[Type | None, ...]
    kind: Kind
    owner: str | None = None
    key: tuple[int, ...] | None = None
    lifetime: float | None = None
    size: int | None = None
    selections: tuple[Selection, ...] = ()
    aggregate: Aggregate | None = None
    nullable: tuple[bool | None, ...] = ()
    """Whether each column takes nulls, or of a view can have some; `None` if nobody has said so far."""
    labelled: tuple[bool, ...] = ()
    """Whether each column can hold labelled nulls."""
    auto: bool = False
    """Whether it is stored or watched by what that was measured to cost."""
    told: str = "±"
    """Of a watched view: which of its rows are told, those that come (`+`), those that go (`-`), or both."""
    location: int | None = None
    """The column that says where a row lives, if the text does (NDlog's `@`)."""
    named: bool = False
    """Whether the columns' names are a promise: declared, or those of the first rows that had names. Else they are
    taken from variables, or made up."""

    @cached_property
    def layout(self) -> Layout:
        """Which codes the rows consist of."""
        return Layout(self.columns, self.types, tuple(map(bool, self.nullable)), self.labelled)

    @cached_property
    def plain(self) -> bool:
        """Whether rows are kept, and plain: of known types, without nulls, none of them chosen, of no location."""
        return (
            self.kind in (Kind.BASE, Kind.STORED)
            and self.location is None
            and not self.selections
            and None not in self.types
            and not any(self.nullable)
            and not any(self.labelled)
        )

    def typing(self, other: RelationInfo) -> RelationInfo:
        """Another relation of as many columns, whose columns have these types where none is known."""
        types = zip(other.types, self.types, strict=True)
        return replace(other, types=tuple(own or known for own, known in types))

    @property
    def declared(self) -> tuple[Column, ...]:
        """The columns as a declaration has them."""
        nullable = self.nullable or (None,) * self.arity
        parts = zip(self.columns, self.types, nullable, strict=True)
        return tuple(Column(name, type, bool(takes)) for name, type, takes in parts)

    @property
    def described(self) -> str:
        """The same in words: `src: string, weight: int?`."""
        return ", ".join(
            f"{one.name}: {one.type or ''}{'?' if one.nullable or one.type is None else ''}"
            for one in self.declared
        )

    @property
    def base(self) -> bool:
        """Whether rows are inserted and deleted, and do not follow from others."""
        return self.kind in (Kind.BASE, Kind.STATE, Kind.EVENT)

    @property
    def kept(self) -> bool:
        """Whether its rows are there, whoever asks."""
        return self.kind not in (Kind.VIRTUAL, Kind.WATCHED)

    @property
    def kind_shown(self) -> str:
        """Its kind as users see it: one that is stored is simply a view."""
        return "view" if self.kind is Kind.STORED else self.kind.value

    @property
    def internal(self) -> bool:
        """Whether no text names it."""
        return self.owner is not None

    @property
    def arity(self) -> int:
        """The number of columns."""
        return len(self.columns)


def described(before: Mapping[str, RelationInfo], now: Mapping[str, RelationInfo]) -> dict[str, RelationInfo]:
    """The relations that a version which defines something can speak of: those of now, and those it takes away.

    A type that nothing tells any more is that of before: the rows that go have it.
    """
    if before is now:
        return dict(now)
    found = {**before, **now}
    for name, info in before.items():
        if None in found[name].types and info.arity == found[name].arity:
            found[name] = info.typing(found[name])
    return found


@dataclass(frozen=True)
class Stratum:
    """Derived relations that depend on each other (one, if not recursive) and all their rules."""

    relations: tuple[str, ...]
    rules: tuple[CheckedRule, ...]
    recursive: bool


@dataclass(frozen=True)
class Unstored:
    """The relations of a program that are not stored, and their strata, in order."""

    relations: Mapping[str, RelationInfo] = field(default_factory=dict)
    strata: tuple[Stratum, ...] = ()


@dataclass(frozen=True)
class Checked:
    """A whole program, its strata in an order in which each one only reads base relations and earlier ones.

    `virtual` are the strata of relations that are not stored, in the same order among themselves. A stratum of
    `strata` reads one of them only if there are watched views: `followed` are then all strata whose changes are to be
    known, stored or not, in one order; it is empty if there are none. `facts` are the rows the text itself states, by
    base relation. `facades` gives, for a derived relation that also takes rows from outside, the hidden base relation
    that holds those. `notes` says which rewrites did something, in words for `explain`.
    """

    relations: Mapping[str, RelationInfo]
    strata: tuple[Stratum, ...]
    virtual: tuple[Stratum, ...] = ()
    facts: Mapping[str, tuple[tuple[object, ...], ...]] = field(default_factory=dict)
    facades: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    outputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sizes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()
    """The relations that are not in this part of a program: see `maintained`."""
    followed: tuple[Stratum, ...] = ()
    unstored: Unstored = Unstored()
    """What is left out, for those who evaluate it by demand."""
    updates: tuple[UpdateRule, ...] = ()
    """The rules that events and new rows fire; their heads are state or events. Networks only."""
    timers: tuple[Timer, ...] = ()
    watched: tuple[str, ...] = ()
    """What the text has traced, by `watch(...)`."""
    links: tuple[str, ...] = ()
    """The relations of links: those that the text marks with `#`, or a table called `link`."""

    @cached_property
    def places(self) -> Mapping[str, int]:
        """For each relation of a stratum in `strata`, where that is."""
        return {name: i for i, stratum in enumerate(self.strata) for name in stratum.relations}

    @cached_property
    def selecting(self) -> frozenset[str]:
        """The relations of which best rows are chosen."""
        return frozenset(name for name, info in self.relations.items() if info.selections)

    @cached_property
    def automatic(self) -> tuple[RelationInfo, ...]:
        """The views of kind `auto`."""
        return tuple(info for info in self.relations.values() if info.auto)

    def with_rules(self, strata: Iterable[Stratum]) -> Checked:
        """With other rules of the same relations: each of these strata takes the place of the one that has them."""
        found = list(self.strata)
        for stratum in strata:
            found[self.places[stratum.relations[0]]] = stratum
        changed = object.__new__(Checked)  # what was worked out of the relations holds for it as well
        changed.__dict__.update(self.__dict__, strata=tuple(found), facts={})
        changed.__dict__.pop("maintained", None)
        return changed

    @cached_property
    def maintained(self) -> Checked:
        """The program without what is not stored."""
        if not self.virtual:
            return self
        left_out = {name for stratum in self.virtual for name in stratum.relations}
        relations = {name: info for name, info in self.relations.items() if name not in left_out}
        infos = {name: info for name, info in self.relations.items() if name in left_out}
        return replace(
            self,
            relations=relations,
            virtual=(),
            left_out=frozenset(left_out),
            unstored=Unstored(infos, self.virtual),
        )


def placed(error: EvaluationError | OutOfMemory, rule: CheckedRule) -> EvaluationError | OutOfMemory:
    """The error, with the rule that was running if it does not say where it happened."""
    if error.place is not None:
        return error
    message = f"{error.message}, in rule {rule.written or rule.label}"
    return type(error)(error.code, message, place=rule.place, hint=error.hint)
