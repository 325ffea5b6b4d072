"""What an annotation is: a commutative semiring over the derivations of rows (green-2007 section 3.2).

Premises that are used together are combined with `times`, alternative derivations with `plus`. `one` is what
needs nothing, `zero` what cannot be derived. Base rows are numbered; see `variables` for the numbers.

What holds for every annotation here (tests check it on random values):
- `plus` and `times` are associative and commutative, `zero` and `one` are their neutral elements;
- `times` distributes over `plus`, and anything times `zero` is `zero`;
- if `idempotent`, a + a = a. If `absorptive`, a + a·b = a, which includes 1 + a = 1 and a + a = a;
- `decode(encode(a))` equals a.

Derivations may go round in circles. A row then has infinitely many derivations, and its annotation is the
least solution of a system of equations. That solution is reached in finitely many steps if going round once
more adds nothing (all absorptive ones), or if there are finitely many values over a set of base rows and sums
only grow (lineage, why). Others say in `diverges` why they have no finite value there, and `refuse_cycles`
turns that into an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol, TypeVar

from headwater.errors import EvaluationError, Place
from headwater.values.scalars import show

A = TypeVar("A")

Names = Callable[[int], str]
"""How a base row's number is shown."""


def plain(variable: int) -> str:
    """The names of liu-2008: p1, p2 and so on."""
    return f"p{variable}"


class Annotation(Protocol[A]):
    """A commutative semiring, with base rows, rules, a text form and a wire form."""

    name: str
    idempotent: bool
    absorptive: bool
    diverges: str | None = None
    """Why it has no finite value where derivations go round in circles; `None` where it has."""
    zero: A
    one: A

    def plus(self, left: A, right: A) -> A:
        """Either of two derivations."""
        ...

    def times(self, left: A, right: A) -> A:
        """Both of two premises."""
        ...

    def equal(self, left: A, right: A) -> bool:
        """Whether two annotations are the same element."""
        return bool(left == right)

    def variable(self, number: int) -> A:
        """What a base row carries if nothing else is said of it."""
        return self.one

    def value(self, given: object) -> A:
        """What a user says of a base row or a rule, as an element; refused if it is none."""
        ...

    def through(self, rule: str, value: A) -> A:
        """What a row derived by a rule carries, given the product of its premises."""
        return value

    def encode(self, value: A) -> bytes:
        """The wire form."""
        ...

    def decode(self, data: bytes) -> A:
        """The element with that wire form."""
        ...

    def show(self, value: A, names: Names = plain) -> str:
        """The element as text."""
        return str(value)

    @property
    def converges_on_cycles(self) -> bool:
        """Whether there is a finite value also where derivations go round in circles."""
        return self.diverges is None


class Restrictable(Annotation[A], Protocol[A]):
    """An annotation that knows which base rows it rests on, and can take some of them away."""

    def restrict(self, value: A, gone: Collection[int]) -> A:
        """The element with these base rows replaced by `zero`."""
        ...

    def beyond(self, value: A, known: A) -> A:
        """What of a value adds to what is known; all of it will do."""
        return value

    def support(self, value: A) -> frozenset[int]:
        """The numbers of all base rows that occur."""
        ...


AnyAnnotation = Annotation[Any]


def total(annotation: Annotation[A], values: Iterable[A]) -> A:
    """The sum of many."""
    result = annotation.zero
    for value in values:
        result = annotation.plus(result, value)
    return result


def product(annotation: Annotation[A], values: Iterable[A]) -> A:
    """The product of many."""
    result = annotation.one
    for value in values:
        result = annotation.times(result, value)
    return result


def refuse_cycles(annotation: AnyAnnotation, where: str, place: Place | None = None) -> None:
    """Raise if the annotation has no finite value where derivations go round in circles."""
    if annotation.diverges is not None:
        raise EvaluationError(
            "diverges",
            f"{annotation.name} has no finite value for {where}, whose derivations go round in circles:"
            f" {annotation.diverges}",
            place=place,
            hint="use an annotation that converges there: dnf, why, lineage, trust, tropical, viterbi, clearance",
        )


def not_an_element(annotation: AnyAnnotation, given: object, expected: str) -> EvaluationError:
    """The error for a value that is no element of the annotation."""
    return EvaluationError(
        "bad-annotation",
        f"{show(given)} is no value of the annotation {annotation.name}: expected {expected}",
    )
