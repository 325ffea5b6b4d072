"""Absorption provenance (liu-2008 section 4) that chooses an encoding for each expression by its size.

An expression of a few terms is a minimal DNF: nothing is smaller or faster (`minimal_dnf`). One of many terms is a
decision diagram (`bdd`), whose nodes are shared with other diagrams: full provenance of dense networks has hundreds
of minimal terms a row and a few dozen nodes, if variables are in the order of the network. On the wire the shorter of
both forms is taken; a tag byte tells which.

A diagram becomes a DNF again once rows were taken away from it and it is small. Between the two limits either may
stand for a function, so elements are compared with `equal`. Without the library for diagrams (`oxidd`), everything is
a DNF, and what would have very many terms is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from headwater.annotations import wire
from headwater.annotations.bdd import BDD, NODES, Diagram, Locality, alike, same
from headwater.annotations.minimal_dnf import MinimalDNF, Terms, mask_of
from headwater.annotations.protocol import Names, Restrictable, plain
from headwater.errors import EvaluationError, MissingExtra

MOST_TERMS_LISTED = 24
"""An expression of more terms is a diagram..."""
MOST_NODES_LISTED = 16
"""...until it has no more nodes than this, ends included: such a diagram has few paths, and no more terms."""

MOST_TERMS_MULTIPLIED = 1 << 20
"""How many terms a product may have before absorption, where there are no diagrams: that takes some seconds."""

MOST_DRAWN = 1 << 12
"""Of how many lists of terms the diagram is remembered."""


class Drawing:
    """A diagram, and the rows that it may depend on, as a mask: all of those of what it was made from that were not
    taken away. (To look which of them matter takes a walk through the diagram.)"""

    __slots__ = ("function", "rows")

    def __init__(self, function: Diagram, rows: int):
        self.function = function
        self.rows = rows


Mixed = Terms | Drawing


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
        self.groups = 0
        """Which rows belong together, and how many groups of them there are, if that is known; to be said before
        there are any."""
        self._most_terms = most_terms
        self._bdd: BDD | None = None
        self._missing = False
        self._known: dict[Terms, Diagram] = {}
        """Lists of terms that were needed as diagrams."""

    # ------------------------------------------------------------------ forms

    def listed(self, value: Mixed) -> bool:
        """Whether the value is a minimal DNF."""
        return isinstance(value, frozenset)

    def _diagrams(self) -> BDD | None:
        """Where diagrams are, made when the first one is needed; `None` without the library."""
        if self._bdd is None and not self._missing:
            try:
                self._bdd = BDD(self._nodes, lambda number: self.locality(number), self.groups)
            except MissingExtra:
                self._missing = True
        return self._bdd

    def _drawn(self, value: Mixed) -> Diagram:
        """The value as a diagram."""
        assert self._bdd is not None
        if isinstance(value, Drawing):
            return value.function
        found = self._known.get(value)
        if found is None:
            if len(self._known) >= MOST_DRAWN:
                self._known.clear()
            found = self._known[value] = self._bdd.of_masks(value)
        return found

    def _settled(self, value: Diagram, rows: int) -> Mixed:
        """A diagram, or the terms of one that has become small."""
        assert self._bdd is not None
        if value.node_count() <= MOST_NODES_LISTED:
            return self._bdd.primes(value)
        return Drawing(value, rows)

    def nodes(self, value: Mixed) -> int:
        """How many nodes the diagram of a value has, ends included."""
        return int(self._drawn(value).node_count())

    def mask(self, value: Mixed) -> int:
        """The rows that a value may depend on, as a mask."""
        if isinstance(value, Drawing):
            return value.rows
        found = 0
        for term in value:
            found |= term
        return found

    # ------------------------------------------------------------------ the algebra

    def plus(self, left: Mixed, right: Mixed) -> Mixed:
        if (
            isinstance(left, frozenset)
            and isinstance(right, frozenset)
            and (len(left) + len(right) <= self._most_terms or self._diagrams() is None)
        ):
            return self._dnf.plus(left, right)
        assert self._bdd is not None
        both = self._bdd.plus(self._drawn(left), self._drawn(right))
        return Drawing(both, self.mask(left) | self.mask(right))

    def times(self, left: Mixed, right: Mixed) -> Mixed:
        if (
            isinstance(left, frozenset)
            and isinstance(right, frozenset)
            and (len(left) * len(right) <= self._most_terms or self._diagrams() is None)
        ):
            if len(left) * len(right) > MOST_TERMS_MULTIPLIED:
                raise EvaluationError(
                    "out-of-terms",
                    f"a row would have up to {len(left) * len(right):,} derivations",
                    hint="pip install 'headwater[provenance]' keeps them as decision diagrams",
                )
            return self._dnf.times(left, right)
        assert self._bdd is not None
        both = self._bdd.times(self._drawn(left), self._drawn(right))
        return Drawing(both, self.mask(left) | self.mask(right))

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
        return self._settled(self._drawn(found), self.mask(found))

    def value(self, given: object) -> Mixed:
        """True, False, or a collection of sets of numbers."""
        return self._dnf.value(given)

    def restrict(self, value: Mixed, gone: Collection[int]) -> Mixed:
        if isinstance(value, frozenset):
            return self._dnf.restrict(value, gone)
        assert self._bdd is not None
        left = value.rows & ~mask_of(gone)
        if left == value.rows:
            return value
        return self._settled(self._bdd.restrict(value.function, gone), left)

    def beyond(self, value: Mixed, known: Mixed) -> Mixed:
        """The terms that the known ones do not absorb; of a diagram, all of it."""
        if isinstance(value, frozenset) and isinstance(known, frozenset):
            return self._dnf.beyond(value, known)
        return value

    def support(self, value: Mixed) -> frozenset[int]:
        if isinstance(value, frozenset):
            return self._dnf.support(value)
        assert self._bdd is not None
        return self._bdd.support(value.function)

    def terms(self, value: Mixed) -> list[list[int]]:
        """The prime implicants, smallest first."""
        if isinstance(value, frozenset):
            return self._dnf.terms(value)
        assert self._bdd is not None
        return self._bdd.terms(value.function)

    def forget(self, numbers: Collection[int]) -> None:
        """No expression uses these rows any more, and their numbers may come to stand for others."""
        self._known.clear()
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

    def drawing(self, value: Drawing, name: Callable[[int], int]) -> bytes:
        """The diagram of a value that is one, for others who call rows by other names."""
        assert self._bdd is not None
        return self._bdd.diagram(value.function, name)

    def drawn(self, data: bytes, number: Callable[[int], int | None]) -> Mixed:
        """The value of such a diagram, in which rows that have no number are false."""
        bdd = self._diagrams() or BDD(self._nodes)  # the error for a missing library
        rows = 0

        def known(name: int) -> int | None:
            nonlocal rows
            found = number(name)
            if found is not None:
                rows |= 1 << found
            return found

        return self._settled(bdd.drawn(data, known), rows)

    def decode(self, data: bytes) -> Mixed:
        if data[:1] != bytes((wire.DIAGRAM,)):
            return self._dnf.decode(data)
        return self.drawn(data, same)

    def show(self, value: Mixed, names: Names = plain) -> str:
        if isinstance(value, frozenset):
            return self._dnf.show(value, names)
        assert self._bdd is not None
        return self._bdd.show(value.function, names)
