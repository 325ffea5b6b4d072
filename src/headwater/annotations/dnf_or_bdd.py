"""Absorption provenance (liu-2008 section 4) that chooses an encoding for each expression by its size.

An expression of a few terms is a minimal DNF: nothing is smaller or faster (`minimal_dnf`). One of many terms is a
decision diagram (`bdd`), whose nodes are shared with other diagrams: full provenance of dense networks has hundreds
of minimal terms a row and a few dozen nodes, if variables are in the order of the network. On the wire the shorter of
both forms is taken; a tag byte tells which.

A diagram becomes a DNF again once it is small. Between the two limits either may stand for a function, so elements
are compared with `equal`. Without the library for diagrams (`oxidd`), everything is a DNF.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from headwater.annotations import wire
from headwater.annotations.bdd import BDD, NODES, Diagram, Locality, alike, same
from headwater.annotations.minimal_dnf import MinimalDNF, Terms
from headwater.annotations.protocol import Names, Restrictable, plain
from headwater.errors import MissingExtra

MOST_TERMS_LISTED = 24
"""An expression of more terms is a diagram..."""
MOST_NODES_LISTED = 16
"""...until it has no more nodes than this, ends included: such a diagram has few paths, and no more terms."""

Mixed = Terms | Diagram


class DnfOrBdd(Restrictable[Mixed]):
    """Positive Boolean expressions, each by its terms or by its diagram.

    >>> mixed = DnfOrBdd()
    >>> p1, p2 = map(mixed.variable, (1, 2))
    >>> mixed.show(mixed.plus(p1, mixed.times(p1, p2)))
    'p1'
    """

    name = "absorption"
    idempotent = True
    absorptive = True
    zero: Mixed = MinimalDNF.zero
    one: Mixed = MinimalDNF.one

    def __init__(
        self, nodes: int = NODES, locality: Locality = alike, most_terms: int = MOST_TERMS_LISTED
    ) -> None:
        self._dnf = MinimalDNF()
        self._nodes = nodes
        self.locality = locality
        """Which rows belong together; to be said before there are any."""
        self._most_terms = most_terms
        self._bdd: BDD | None = None
        self._missing = False

    # ------------------------------------------------------------------ forms

    def listed(self, value: Mixed) -> bool:
        """Whether the value is a minimal DNF."""
        return isinstance(value, frozenset)

    def _diagrams(self) -> BDD | None:
        """Where diagrams are, made when the first one is needed; `None` without the library."""
        if self._bdd is None and not self._missing:
            try:
                self._bdd = BDD(self._nodes, lambda number: self.locality(number))
            except MissingExtra:
                self._missing = True
        return self._bdd

    def _drawn(self, value: Mixed) -> Diagram:
        """The value as a diagram."""
        assert self._bdd is not None
        return self._bdd.of_masks(value) if isinstance(value, frozenset) else value

    def _settled(self, value: Diagram) -> Mixed:
        """A diagram, or the terms of one that has become small."""
        assert self._bdd is not None
        return self._bdd.primes(value) if value.node_count() <= MOST_NODES_LISTED else value

    # ------------------------------------------------------------------ the algebra

    def plus(self, left: Mixed, right: Mixed) -> Mixed:
        if (
            isinstance(left, frozenset)
            and isinstance(right, frozenset)
            and (len(left) + len(right) <= self._most_terms or self._diagrams() is None)
        ):
            return self._dnf.plus(left, right)
        assert self._bdd is not None
        return self._settled(self._bdd.plus(self._drawn(left), self._drawn(right)))

    def times(self, left: Mixed, right: Mixed) -> Mixed:
        if (
            isinstance(left, frozenset)
            and isinstance(right, frozenset)
            and (len(left) * len(right) <= self._most_terms or self._diagrams() is None)
        ):
            return self._dnf.times(left, right)
        assert self._bdd is not None
        return self._settled(self._bdd.times(self._drawn(left), self._drawn(right)))

    def equal(self, left: Mixed, right: Mixed) -> bool:
        if isinstance(left, frozenset) and isinstance(right, frozenset):
            return left == right
        return bool(self._drawn(left) == self._drawn(right))

    def variable(self, number: int) -> Mixed:
        return self._dnf.variable(number)

    def of(self, terms: Iterable[Iterable[int]]) -> Mixed:
        """The expression with these terms."""
        found = self._dnf.of(terms)
        if len(found) <= self._most_terms or self._diagrams() is None:
            return found
        return self._settled(self._drawn(found))

    def value(self, given: object) -> Mixed:
        """True, False, or a collection of sets of numbers."""
        return self._dnf.value(given)

    def restrict(self, value: Mixed, gone: Collection[int]) -> Mixed:
        if isinstance(value, frozenset):
            return self._dnf.restrict(value, gone)
        assert self._bdd is not None
        return self._settled(self._bdd.restrict(value, gone))

    def beyond(self, value: Mixed, known: Mixed) -> Mixed:
        """The terms that the known ones do not absorb; of a diagram, all of it unless all is known."""
        if isinstance(value, frozenset) and isinstance(known, frozenset):
            return self._dnf.beyond(value, known)
        return self.zero if self.equal(self.plus(value, known), known) else value

    def support(self, value: Mixed) -> frozenset[int]:
        if isinstance(value, frozenset):
            return self._dnf.support(value)
        assert self._bdd is not None
        return self._bdd.support(value)

    def terms(self, value: Mixed) -> list[list[int]]:
        """The prime implicants, smallest first."""
        if isinstance(value, frozenset):
            return self._dnf.terms(value)
        assert self._bdd is not None
        return self._bdd.terms(value)

    def forget(self, numbers: Collection[int]) -> None:
        """No expression uses these rows any more, and their numbers may come to stand for others."""
        if self._bdd is not None:
            self._bdd.forget(numbers)

    # ------------------------------------------------------------------ the wire

    def encode(self, value: Mixed) -> bytes:
        """Terms or diagram, whichever is shorter."""
        if isinstance(value, frozenset):
            listed = self._dnf.encode(value)
            if len(value) < self._most_terms or self._diagrams() is None:
                return listed
            return min(listed, self._drawing(value), key=len)
        return self._drawing(value)

    def _drawing(self, value: Mixed) -> bytes:
        assert self._bdd is not None
        return self._bdd.diagram(self._drawn(value))

    def drawing(self, value: Mixed, name: Callable[[int], int]) -> bytes | None:
        """The diagram of a value that is one, for others who call rows by other names; `None` for one that is not."""
        if isinstance(value, frozenset):
            return None
        assert self._bdd is not None
        return self._bdd.diagram(value, name)

    def drawn(self, data: bytes, number: Callable[[int], int | None]) -> Mixed:
        """The value of such a diagram, in which rows that have no number are false."""
        bdd = self._diagrams() or BDD(self._nodes)  # the error for a missing library
        return self._settled(bdd.drawn(data, number))

    def decode(self, data: bytes) -> Mixed:
        if data[:1] != bytes((wire.DIAGRAM,)):
            return self._dnf.decode(data)
        return self.drawn(data, same)

    def show(self, value: Mixed, names: Names = plain) -> str:
        if isinstance(value, frozenset):
            return self._dnf.show(value, names)
        assert self._bdd is not None
        return self._bdd.show(value, names)
