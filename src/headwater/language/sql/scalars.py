"""Scalar expressions of plans: what is computed from one row, with SQL's three-valued logic.

Frozen dataclasses; nothing in them runs. Two scalars are equal when they compute the same in the same way:
places never take part in comparison. An `Attribute` is a column of a plan and, in an expression, a reference to
it; its `id` is unique in its query, so no scope is needed to read an expression. `type` is `None` where nothing
tells it.

What binding has lowered never occurs here: BETWEEN is two comparisons, `x IS NOT NULL` is `Not(IsNull(x))`, an
interval is a `Value` whose type says so, a simple CASE is a searched one. An `InList` holds scalars only;
subqueries are joins (`algebra`).

>>> from headwater.values.types import INT
>>> price = Attribute(3, "price", INT)
>>> condition = And((Compare(">", price, Value(100, INT)), Not(IsNull(price))))
>>> [attribute.name for attribute in attributes_in(condition)]
['price', 'price']
>>> conjuncts(condition)[0] == Compare(">", price, Value(100, INT))
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from headwater.errors import Place
from headwater.values.types import BOOL, Type


@dataclass(frozen=True)
class Attribute:
    """A column of a plan. Those of a `Scan` have the name that the table gives them."""

    id: int
    name: str
    type: Type | None = None
    nullable: bool = True
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Days:
    """An interval of days of the calendar. 24 hours are another one: they are not the whole day on which clocks are
    put back, and Spark makes a time of a date and hours."""

    days: int


@dataclass(frozen=True)
class Value:
    """A constant: `None`, bool, int, float, Decimal, str, date, datetime, timedelta, `Days` or `Months`."""

    value: object
    type: Type | None = None
    place: Place | None = field(default=None, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        """Beside equal values, equal kinds of values: `1`, `1.0` and `TRUE` are three."""
        return (
            isinstance(other, Value)
            and type(self.value) is type(other.value)
            and (self.value, self.type) == (other.value, other.type)
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class Parameter:
    """A constant that is not known yet: `:name` or `?` (numbered from 1) in a text, or one that a template left
    open."""

    name: str
    type: Type | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Function:
    """A function of scalars by the name that `functions` knows; operators are functions too (`add`, `negate`)."""

    name: str
    arguments: tuple[Scalar, ...]
    type: Type | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Compare:
    """`left operator right` with one of `= <> < <= > >=`; unknown if a side is NULL.

    `<=>` is never unknown: two NULLs are equal.
    """

    operator: str
    left: Scalar
    right: Scalar
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class And:
    """All of these (none of which is an `And`)."""

    parts: tuple[Scalar, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Or:
    """One of these (none of which is an `Or`)."""

    parts: tuple[Scalar, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Not:
    """True where the argument is false; unknown where it is unknown."""

    argument: Scalar
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class IsNull:
    """Whether the argument is NULL (or unknown). Never unknown itself."""

    argument: Scalar
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Like:
    """Whether a string matches a pattern of `%` and `_`."""

    argument: Scalar
    pattern: Scalar
    escape: str | None = None
    ignore_case: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class InList:
    """Whether the argument equals one of the items; unknown if not and something is NULL."""

    argument: Scalar
    items: tuple[Scalar, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Case:
    """The result of the first condition that is true, else `otherwise` (NULL where the text has no ELSE)."""

    branches: tuple[tuple[Scalar, Scalar], ...]
    otherwise: Scalar
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Cast:
    """The argument as a value of another type. `strict` fails where there is none; else (`TRY_CAST`) it is NULL.

    `spelling` is the type in SQL's words, which tell widths that ours do not.
    """

    argument: Scalar
    type: Type
    strict: bool = True
    spelling: str = ""
    place: Place | None = field(default=None, compare=False, repr=False)


Scalar = (
    Attribute | Value | Parameter | Function | Compare | And | Or | Not | IsNull | Like | InList | Case | Cast
)

TRUE = Value(True, BOOL)
NULL = Value(None)
FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}
"""The operator of a comparison whose sides have changed places."""
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""The operator that is false exactly where another is true, and unknown where it is."""


def parts_of(scalar: Scalar) -> tuple[Scalar, ...]:
    """The scalars that a scalar is made of, in the order in which they are written."""
    match scalar:
        case Attribute() | Value() | Parameter():
            return ()
        case Function(arguments=arguments):
            return arguments
        case Compare(left=left, right=right):
            return (left, right)
        case And(parts=parts) | Or(parts=parts):
            return parts
        case Not(argument=argument) | IsNull(argument=argument) | Cast(argument=argument):
            return (argument,)
        case Like(argument=argument, pattern=pattern):
            return (argument, pattern)
        case InList(argument=argument, items=items):
            return (argument, *items)
        case Case(branches=branches, otherwise=otherwise):
            return (*(part for branch in branches for part in branch), otherwise)


def with_parts(scalar: Scalar, parts: tuple[Scalar, ...]) -> Scalar:
    """The same scalar made of other parts: as many as `parts_of` gives."""
    match scalar:
        case Attribute() | Value() | Parameter():
            return scalar
        case Function():
            return replace(scalar, arguments=parts)
        case Compare():
            return replace(scalar, left=parts[0], right=parts[1])
        case And() | Or():
            return replace(scalar, parts=parts)
        case Not() | IsNull() | Cast():
            return replace(scalar, argument=parts[0])
        case Like():
            return replace(scalar, argument=parts[0], pattern=parts[1])
        case InList():
            return replace(scalar, argument=parts[0], items=parts[1:])
        case Case():
            pairs = tuple(zip(parts[:-1:2], parts[1:-1:2], strict=True))
            return replace(scalar, branches=pairs, otherwise=parts[-1])


def walk_scalar(scalar: Scalar) -> Iterator[Scalar]:
    """A scalar and all that it is made of, from the outside in."""
    yield scalar
    for part in parts_of(scalar):
        yield from walk_scalar(part)


def transform_scalar(scalar: Scalar, change: Callable[[Scalar], Scalar]) -> Scalar:
    """The scalar with `change` applied to each of its parts, then to itself: from the inside out."""
    parts = parts_of(scalar)
    changed = tuple(transform_scalar(part, change) for part in parts)
    return change(scalar if changed == parts else with_parts(scalar, changed))


def substitute(scalar: Scalar, meanings: Mapping[int, Scalar]) -> Scalar:
    """The scalar with other scalars in the place of attributes, which are given by their ids."""

    def change(part: Scalar) -> Scalar:
        return meanings.get(part.id, part) if isinstance(part, Attribute) else part

    return transform_scalar(scalar, change)


def attributes_in(scalar: Scalar) -> Iterator[Attribute]:
    """The attributes that a scalar reads, each as often as it does."""
    return (part for part in walk_scalar(scalar) if isinstance(part, Attribute))


def conjuncts(condition: Scalar | None) -> tuple[Scalar, ...]:
    """The conditions that must all be true for one to be true; none for `None` and `TRUE`."""
    match condition:
        case None | Value(value=True):
            return ()
        case And(parts=parts):
            return parts
        case _:
            return (condition,)


def conjunction(conditions: tuple[Scalar, ...], place: Place | None = None) -> Scalar:
    """One condition that says all of these."""
    flat = tuple(part for condition in conditions for part in conjuncts(condition))
    if len(flat) == 1:
        return flat[0]
    return And(flat, place) if flat else TRUE
