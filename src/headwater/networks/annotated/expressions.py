"""Boolean expressions of a node: variables of the network under numbers of the node's own.

Variables of a large network have large numbers, and a node meets few of them. So each node numbers those that it
knows from 0 on, and gives a number again when its variable is gone. Expressions inside are over these numbers, in any
`Restrictable` annotation; outside they are terms over the network's variables, or diagrams where `dnf_or_bdd` makes
those: variables of one node are next to each other in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from headwater.annotations.dnf_or_bdd import DnfOrBdd
from headwater.annotations.minimal_dnf import MinimalDNF, bits
from headwater.annotations.wire import damaged
from headwater.networks.runtime.message_codec import terms_size
from headwater.networks.runtime.messages import Shape

MOST_TERMS_KNOWN = 1 << 14
"""Terms that are remembered with their form outside."""
BYTES_OF_A_DRAWN_NODE = 3
"""Of a diagram outside, before any has been written."""


class BooleanExpressions(Protocol):
    """An annotation whose elements are monotone Boolean functions: `minimal_dnf`, `bdd`."""

    zero: Any
    one: Any

    def plus(self, left: Any, right: Any) -> Any: ...

    def times(self, left: Any, right: Any) -> Any: ...

    def equal(self, left: Any, right: Any) -> bool: ...

    def variable(self, number: int) -> Any: ...

    def restrict(self, value: Any, gone: tuple[int, ...]) -> Any: ...

    def beyond(self, value: Any, known: Any) -> Any: ...

    def support(self, value: Any) -> frozenset[int]: ...

    def terms(self, value: Any) -> list[list[int]]: ...

    def of(self, terms: Iterable[Iterable[int]]) -> Any: ...


class Numbering:
    """The variables that a node knows, and expressions over them, in and out."""

    def __init__(self, algebra: BooleanExpressions):
        self.algebra = algebra
        self.numbers: dict[int, int] = {}
        self._variables: list[int] = []
        self._free: list[int] = []
        self._lists = isinstance(algebra, MinimalDNF | DnfOrBdd)
        """Whether expressions of few terms are sets of masks."""
        self._mixed = algebra if isinstance(algebra, DnfOrBdd) else None
        self._out: dict[int, tuple[int, ...]] = {}
        self._spans: dict[int, int] = {}
        self._drawn_nodes, self._drawn_bytes = 1, BYTES_OF_A_DRAWN_NODE

    def number(self, variable: int) -> int:
        """The node's number of a variable, a new one if need be."""
        found = self.numbers.get(variable)
        if found is None:
            if self._free:
                found = self._free.pop()
                self._variables[found] = variable
            else:
                found = len(self._variables)
                self._variables.append(variable)
            self.numbers[variable] = found
        return found

    def drop(self, variable: int) -> int | None:
        """Forget a variable that no expression has any more; the number that it had."""
        number = self.numbers.pop(variable, None)
        if number is not None:
            self._free.append(number)
            self._out.clear()
            self._spans.clear()
        return number

    def grouped(self, group: Callable[[int], int], groups: int) -> None:
        """Have variables of one of so many groups next to each other in diagrams."""
        if self._mixed is not None:
            self._mixed.locality = lambda number: group(self.variable(number))
            self._mixed.groups = groups

    def released(self, number: int) -> None:
        """No expression has this number any more."""
        if self._mixed is not None:
            self._mixed.forget((number,))

    def variable(self, number: int) -> int:
        """The variable with this number."""
        return self._variables[number]

    def load(self, terms: Shape, is_gone: Callable[[int], bool]) -> Any:
        """An expression from outside, without the terms that rest on variables that are gone."""
        numbers = self.numbers
        if isinstance(terms, bytes):
            if self._mixed is None:
                raise damaged("a diagram, where nobody makes any")
            return self._mixed.drawn(
                terms, lambda variable: None if is_gone(variable) else self.number(variable)
            )
        if self._lists:
            masks = []
            for term in terms:
                mask = 0
                for variable in term:
                    number = numbers.get(variable)
                    if number is None:
                        if is_gone(variable):
                            break
                        number = self.number(variable)
                    mask |= 1 << number
                else:
                    masks.append(mask)
            return frozenset(masks)
        left = [term for term in terms if not any(map(is_gone, term))]
        return self.algebra.of([map(self.number, term) for term in left])

    def export(self, value: Any) -> Shape:
        """An expression as others read it."""
        if isinstance(value, frozenset):
            if len(value) == 1:
                (mask,) = value
                return (self._term(mask),)
            return tuple(sorted(map(self._term, value)))
        if self._mixed is not None:
            drawing = self._mixed.drawing(value, self.variable)
            self._drawn_nodes += self._mixed.nodes(value)
            self._drawn_bytes += len(drawing)
            return drawing
        terms = self.algebra.terms(value)
        return tuple(sorted(tuple(sorted(self._variables[number] for number in term)) for term in terms))

    def size(self, value: Any) -> int:
        """How many bytes an expression takes as others read it; of a diagram about, by those that were written."""
        if self._mixed is not None and not isinstance(value, frozenset):
            return self._mixed.nodes(value) * self._drawn_bytes // self._drawn_nodes
        return terms_size(self.export(value))

    def _term(self, mask: int) -> tuple[int, ...]:
        found = self._out.get(mask)
        if found is None:
            if len(self._out) >= MOST_TERMS_KNOWN:
                self._out.clear()
            found = self._out[mask] = tuple(sorted(map(self._variables.__getitem__, bits(mask))))
        return found

    def support(self, value: Any) -> int:
        """The numbers that an expression may rest on, as a mask."""
        mask = 0
        if isinstance(value, frozenset):
            for term in value:
                mask |= term
            return mask
        if self._mixed is not None:
            return self._mixed.mask(value)
        for number in self.algebra.support(value):
            mask |= 1 << number
        return mask

    def span(self, value: Any, owner: Callable[[int], int]) -> int:
        """How many nodes own what an expression may rest on, 1 if it rests on nothing. `owner` never changes."""
        mask = self.support(value)
        found = self._spans.get(mask)
        if found is None:
            if len(self._spans) >= MOST_TERMS_KNOWN:
                self._spans.clear()
            owners = {owner(self._variables[number]) for number in bits(mask)}
            found = self._spans[mask] = max(1, len(owners))
        return found

    def without(self, value: Any, number: int) -> Any:
        """The expression with a variable false."""
        if isinstance(value, frozenset):
            return frozenset([term for term in value if not term >> number & 1])
        return self.algebra.restrict(value, (number,))

    def news(self, value: Any, known: Any, both: Any) -> Any:
        """What goes on of a value that adds to what was known: the terms that are new, but of a diagram the whole
        function of `both`. Diagrams of whole functions are smaller than those of differences."""
        if self._mixed is not None and not isinstance(both, frozenset):
            return both
        return self.algebra.beyond(value, known)

    def one_term(self, value: Any) -> Any:
        """An expression of one of the terms, a shortest one."""
        if isinstance(value, frozenset):
            return value if len(value) == 1 else frozenset((min(value, key=_size),))
        return self.algebra.of(self.algebra.terms(value)[:1])


def _size(term: int) -> tuple[int, int]:
    return term.bit_count(), term
