"""Provenance polynomials with rule names, as in green-2007 section 3.2: m1(p3) + m4(p1·p2).

The most general annotation: every summand is a derivation tree. A rule's name is a function that distributes
over sums, so m3(m1(p3) + m4(p1·p2)) = m3(m1(p3)) + m3(m4(p1·p2)). `evaluate` maps a polynomial into any other
annotation, given what base rows and rules carry there.

>>> polynomials = Polynomial()
>>> p1, p2, p3 = map(polynomials.variable, (1, 2, 3))
>>> pv = polynomials.plus(polynomials.through("m1", p3), polynomials.through("m4", polynomials.times(p1, p2)))
>>> polynomials.show(pv)
'm1(p3) + m4(p1·p2)'
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from headwater.annotations import wire
from headwater.annotations.protocol import Annotation, Names, Restrictable, not_an_element, plain

A = TypeVar("A")

Factor = Any
"""A base row's number, or a pair of a rule's name and a monomial."""
Monomial = tuple[Factor, ...]
Sum = tuple[tuple[Monomial, int], ...]
"""Monomials in order, each with how often it occurs."""


def _order(factor: Factor) -> tuple[Any, ...]:
    """Rules by name after base rows by number; nested ones by what is in them."""
    if isinstance(factor, int):
        return (0, factor)
    return (1, factor[0], tuple(map(_order, factor[1])))


def _monomial(factors: Iterable[Factor]) -> Monomial:
    return tuple(sorted(factors, key=_order))


def _sum(counts: dict[Monomial, int]) -> Sum:
    return tuple(sorted(counts.items(), key=lambda entry: tuple(map(_order, entry[0]))))


def _rows(monomial: Monomial) -> set[int]:
    found: set[int] = set()
    for factor in monomial:
        found |= {factor} if isinstance(factor, int) else _rows(factor[1])
    return found


class Polynomial(Restrictable[Sum]):
    """Polynomials over base rows with natural coefficients, and rules' names as functions."""

    name = "polynomial"
    idempotent = False
    absorptive = False
    diverges = "each turn is another summand, so that the sum never ends"
    zero: Sum = ()
    one: Sum = (((), 1),)

    def plus(self, left: Sum, right: Sum) -> Sum:
        """All summands of both."""
        counts = dict(left)
        for monomial, count in right:
            counts[monomial] = counts.get(monomial, 0) + count
        return _sum(counts)

    def times(self, left: Sum, right: Sum) -> Sum:
        """Each summand with each."""
        counts: dict[Monomial, int] = {}
        for a, m in left:
            for b, n in right:
                monomial = _monomial(a + b)
                counts[monomial] = counts.get(monomial, 0) + m * n
        return _sum(counts)

    def variable(self, number: int) -> Sum:
        return (((number,), 1),)

    def value(self, given: object) -> Sum:
        """A natural number, as a constant."""
        if isinstance(given, int) and given >= 0:
            return (((), int(given)),) if given else ()
        raise not_an_element(self, given, "a number from 0 up")

    def through(self, rule: str, value: Sum) -> Sum:
        """The rule's name around each summand."""
        return _sum({((rule, monomial),): count for monomial, count in value})

    def restrict(self, value: Sum, gone: Collection[int]) -> Sum:
        """The summands without any of these rows."""
        lost = frozenset(gone)
        return tuple(entry for entry in value if lost.isdisjoint(_rows(entry[0])))

    def support(self, value: Sum) -> frozenset[int]:
        """All rows that occur."""
        return frozenset().union(*(_rows(monomial) for monomial, _ in value))

    def encode(self, value: Sum) -> bytes:
        """Summands with their counts; a factor is a number, or 0 with a name and factors."""
        out = bytearray([wire.POLYNOMIAL])
        wire.put_varint(out, len(value))
        for monomial, count in value:
            wire.put_varint(out, count)
            _put(out, monomial)
        return bytes(out)

    def decode(self, data: bytes) -> Sum:
        reader = wire.WireReader(data, wire.POLYNOMIAL)
        counts: dict[Monomial, int] = {}
        for _ in range(reader.count()):
            count = reader.varint()
            monomial = _get(reader, 0)
            if not count or monomial in counts:
                raise wire.damaged("a summand that occurs never, or twice")
            counts[monomial] = count
        reader.end()
        return _sum(counts)

    def show(self, value: Sum, names: Names = plain) -> str:
        """A sum of products, with powers as in p1²."""
        if not value:
            return "0"
        return " + ".join(_show(monomial, count, names) for monomial, count in value)


DEEPEST = 200
"""How many rules may be nested in what comes off the wire."""


def _put(out: bytearray, monomial: Monomial) -> None:
    wire.put_varint(out, len(monomial))
    for factor in monomial:
        if isinstance(factor, int):
            wire.put_varint(out, factor + 1)
        else:
            name = factor[0].encode()
            wire.put_varint(out, 0)
            wire.put_varint(out, len(name))
            out += name
            _put(out, factor[1])


def _get(reader: wire.WireReader, depth: int) -> Monomial:
    if depth > DEEPEST:
        raise wire.damaged(f"more than {DEEPEST} rules deep")
    factors: list[Factor] = []
    for _ in range(reader.count()):
        number = reader.varint()
        if number:
            factors.append(number - 1)
            continue
        try:
            name = reader.raw(reader.count()).decode()
        except UnicodeDecodeError as error:
            raise wire.damaged("a rule's name is no text") from error
        factors.append((name, _get(reader, depth + 1)))
    return _monomial(factors)


def _show(monomial: Monomial, count: int, names: Names) -> str:
    parts: list[str] = []
    for factor in dict.fromkeys(monomial):
        text = names(factor) if isinstance(factor, int) else f"{factor[0]}({_show(factor[1], 1, names)})"
        power = monomial.count(factor)
        parts.append(text if power == 1 else text + str(power).translate(_RAISED))
    if count > 1 or not parts:
        parts.insert(0, str(count))
    return "·".join(parts)


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def evaluate(
    value: Sum, annotation: Annotation[A], base: Callable[[int], A], rules: Callable[[str], A] | None = None
) -> A:
    """The polynomial in another annotation: rows and rules replaced by what they carry there.

    A rule carries `one` if nothing is said; using it multiplies by what it carries, as in green-2007 section 3.3.
    """

    def product(monomial: Monomial) -> A:
        result = annotation.one
        for factor in monomial:
            if isinstance(factor, int):
                result = annotation.times(result, base(factor))
            else:
                inner = annotation.through(factor[0], product(factor[1]))
                if rules is not None:
                    inner = annotation.times(rules(factor[0]), inner)
                result = annotation.times(result, inner)
        return result

    result = annotation.zero
    for monomial, count in value:
        once = product(monomial)
        for _ in range(1 if annotation.idempotent else count):
            result = annotation.plus(result, once)
    return result
