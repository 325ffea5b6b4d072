"""What a text says, as data: terms, atoms, literals, rules, declarations.

Frozen dataclasses; nothing in them runs. Every node remembers its place in the text, and places never take
part in comparison. What is only known to some dialects is kept as written: NDlog's `@` (on variables and
constants that are addresses) and `#` (on link literals), Souffle's directives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf

from headwater.errors import HeadwaterWarning, LanguageError, Place
from headwater.values.types import Type

# ------------------------------------------------------------------ terms


@dataclass(frozen=True)
class Variable:
    """A named variable. `address` is NDlog's `@`."""

    name: str
    address: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Wildcard:
    """`_`: any value, another one at each occurrence."""

    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Constant:
    """A value: `None` (null), bool, int, float, str, datetime.date, datetime.datetime, a tuple (a list), or a
    labelled null. `type` is that of the variable whose place it took, if it took one's. `identifier`: P2's `0x1I`."""

    value: object
    address: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)
    type: Type | None = field(default=None, compare=False, repr=False)
    identifier: bool = field(default=False, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Call:
    """A function of terms. Operators are calls too: `+ - * / % ^ neg`; a list `[a, b]` is `list`; `?f(a)`
    makes a labelled null.

    `f_concatPath(link(@S,@D,C), P)` holds `Call("link", ...)` as its first argument.
    """

    function: str
    args: tuple[Term, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class HeadAggregate:
    """`min<C>`, `count<*>`: only as an argument of a head. `function`: count, sum, min, max, avg, list or
    countdistinct. `address` is NDlog's `@`, as in `lookup(@min<B>, K)`."""

    function: str
    argument: Variable | None
    address: bool = field(default=False, kw_only=True)
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class BodyAggregate:
    """`count : { ... }`, `sum X : { ... }`: an operand in a body. `function`: count, sum, min, max or avg."""

    function: str
    target: Term | None
    body: tuple[Literal, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


Term = Variable | Wildcard | Constant | Call | HeadAggregate | BodyAggregate

# ------------------------------------------------------------------ literals


@dataclass(frozen=True)
class Atom:
    """`relation(terms)`; `link` is NDlog's `#`."""

    relation: str
    args: tuple[Term, ...]
    link: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Positive:
    """The atom holds. (A call of a boolean function, such as `contains("a", X)`, parses as this too.)"""

    atom: Atom


@dataclass(frozen=True)
class Negated:
    """`!atom`: no such row."""

    atom: Atom


@dataclass(frozen=True)
class NegatedGroup:
    """`!(a, b)`: no values make all of these hold. Variables that occur nowhere else are the group's own."""

    body: tuple[Literal, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Comparison:
    """`left op right` with op one of `= != < <= > >=`, or `:=` which must assign.

    `is` and `is not` are `=` and `!=` that never assign: their right side is null. `!<` holds where `<` does not, and
    so on: of nulls.
    """

    op: str
    left: Term
    right: Term
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Disjunction:
    """`(a, b ; c)`: one of the alternatives holds."""

    alternatives: tuple[tuple[Literal, ...], ...]
    place: Place | None = field(default=None, compare=False, repr=False)


Literal = Positive | Negated | NegatedGroup | Comparison | Disjunction

# ------------------------------------------------------------------ statements


@dataclass(frozen=True)
class Rule:
    """`label heads :- body.` A fact has no body. `delete` is NDlog's `label delete head :- body.`

    `id` names the rule for as long as it is defined: its label, or one that it was given; `None` until then.
    """

    label: str | None
    heads: tuple[Atom, ...]
    body: tuple[Literal, ...]
    delete: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)
    souffle: bool = field(default=False, compare=False, repr=False)
    id: str | None = field(default=None, compare=False, repr=False)


EventSign = OneOf["+", "-", "±"]
"""Rows that come, that go, or both."""
ActionKind = OneOf["insert", "delete", "call", "append", "run", "refuse"]
Coupling = OneOf["now", "after"]
"""In the same version, or once it is committed."""


@dataclass(frozen=True)
class RuleAction:
    """What an active rule does. `atom` has the rows to insert or delete, or the function to call and its arguments;
    `text` the file to append to, the command to run, or the message of a refusal, with `{X}` for the value of `X`."""

    kind: ActionKind
    coupling: Coupling
    atom: Atom | None = None
    text: str = ""
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class ActiveRule:
    """`label: on +event, condition do action, action.` Its id is as of a `Rule`."""

    label: str | None
    sign: EventSign
    event: Atom
    condition: tuple[Literal, ...]
    actions: tuple[RuleAction, ...]
    place: Place | None = field(default=None, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)
    id: str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Column:
    """A declared column; `type` is `None` where the declaration leaves it open. `nullable` is the mark of `int?`."""

    name: str
    type: Type | None
    nullable: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Declaration:
    """`.decl p(x: number, y: symbol)` or `p(x: int, y: string).`"""

    relation: str
    columns: tuple[Column, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Materialize:
    """`materialize(link, lifetime, size, keys(1,2)).` Infinity is `None`; keys count from 0 here."""

    relation: str
    lifetime: float | None
    size: int | None
    keys: tuple[int, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Directive:
    """`.input r(options)`, `.output r`, `.printsize r`, NDlog's `watch(r).` (kind `watch`), and what changes earlier
    texts: `.drop r`, `.rename r s`, `.drop rule r1` (kind `drop_rule`, which names no relation)."""

    kind: str
    relation: str
    options: Mapping[str, str] = field(default_factory=dict)
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Query:
    """`?- body.`, or NDlog's `Query: atom.`: what the text asks for."""

    body: tuple[Literal, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Program:
    """A whole text.

    `souffle` says whether it is written in Souffle's dialect (see `dialect`): its files are then read and written
    as Souffle does. `slips` are rules that can be read and are most likely not meant: whoever takes a new text
    on refuses or tells them. A text that was taken on stays valid.
    """

    rules: tuple[Rule, ...] = ()
    declarations: tuple[Declaration, ...] = ()
    tables: tuple[Materialize, ...] = ()
    directives: tuple[Directive, ...] = ()
    queries: tuple[Query, ...] = ()
    source: str = "<text>"
    text: str = field(default="", compare=False, repr=False)
    souffle: bool = field(default=False, compare=False, repr=False)
    slips: tuple[LanguageError | HeadwaterWarning, ...] = field(default=(), compare=False, repr=False)
    active: tuple[ActiveRule, ...] = ()
