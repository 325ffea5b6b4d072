"""Absorption provenance as reduced ordered binary decision diagrams (liu-2008 section 4.1), through `oxidd`.

Equal functions are the same diagram, so absorption happens by itself. A diagram can be far smaller than the
list of its terms, and is slower to work with while there are few. All functions here are monotone; that is
what makes `forall` the restriction to false, and the prime implicants easy to read off.

Diagrams live in a manager of fixed capacity, and those of two managers must never meet: each `BDD` has its
own, and what leaves it is the wire form of `minimal_dnf`.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

from headwater.annotations.minimal_dnf import MinimalDNF, bits, mask_of, minimal
from headwater.annotations.protocol import Names, Restrictable, plain
from headwater.errors import EvaluationError, MissingExtra

Diagram = Any
"""`oxidd.bdd.BDDFunction`."""

NODES = 1 << 20
COLLECT_EVERY = 1 << 12
"""After how many operations the manager is asked to collect its garbage."""


class BDD(Restrictable[Diagram]):
    """Positive Boolean expressions by their decision diagrams; `nodes` is the capacity of the manager.

    >>> bdd = BDD()
    >>> p1, p2 = map(bdd.variable, (1, 2))
    >>> bdd.show(bdd.plus(p1, bdd.times(p1, p2)))
    'p1'
    """

    name = "bdd"
    idempotent = True
    absorptive = True

    def __init__(self, nodes: int = NODES) -> None:
        try:
            library = import_module("oxidd.bdd")
            errors = import_module("oxidd.util")
        except ImportError as error:
            raise MissingExtra(
                "missing-extra",
                "decision diagrams need the library oxidd",
                hint="pip install 'headwater[provenance]', or use the annotation dnf",
            ) from error
        self._manager = library.BDDManager(nodes, max(1024, nodes // 4), 1)
        self._full: type[BaseException] = errors.DDMemoryError
        self._dnf = MinimalDNF()
        self._operations = 0
        self.zero = self._manager.false()
        self.one = self._manager.true()

    def plus(self, left: Diagram, right: Diagram) -> Diagram:
        self._tick()
        try:
            return left | right
        except self._full as error:
            raise self._exhausted() from error

    def times(self, left: Diagram, right: Diagram) -> Diagram:
        self._tick()
        try:
            return left & right
        except self._full as error:
            raise self._exhausted() from error

    def variable(self, number: int) -> Diagram:
        try:
            missing = number + 1 - self._manager.num_vars()
            if missing > 0:
                self._manager.add_vars(missing)
            return self._manager.var(number)
        except self._full as error:
            raise self._exhausted() from error

    def value(self, given: object) -> Diagram:
        """True, False, or a collection of sets of numbers."""
        return self._of(self._dnf.value(given))

    def restrict(self, value: Diagram, gone: Collection[int]) -> Diagram:
        """The function with these rows false: for a monotone one, that it holds whatever they are."""
        known = [number for number in gone if number < self._manager.num_vars()]
        if not known:
            return value
        self._tick()
        try:
            cube = self.one
            for number in known:
                cube = cube & self._manager.var(number)
            return value.forall(cube)
        except self._full as error:
            raise self._exhausted() from error

    def support(self, value: Diagram) -> frozenset[int]:
        """The rows the function depends on."""
        found: set[int] = set()
        seen: set[Diagram] = set()
        todo = [value]
        while todo:
            node = todo.pop()
            if node in seen or node.cofactors() is None:
                continue
            seen.add(node)
            found.add(node.node_var())
            todo.extend(node.cofactors())
        return frozenset(found)

    def terms(self, value: Diagram) -> list[list[int]]:
        """The prime implicants, smallest first."""
        return self._dnf.terms(self._primes(value))

    def encode(self, value: Diagram) -> bytes:
        """Prime implicants, as `minimal_dnf` writes them."""
        return self._dnf.encode(self._primes(value))

    def decode(self, data: bytes) -> Diagram:
        """The function with these prime implicants."""
        return self._of(self._dnf.decode(data))

    def show(self, value: Diagram, names: Names = plain) -> str:
        """A sum of products."""
        return self._dnf.show(self._primes(value), names)

    def _of(self, terms: frozenset[int]) -> Diagram:
        result = self.zero
        for term in terms:
            product = self.one
            for number in bits(term):
                product = self.times(product, self.variable(number))
            result = self.plus(result, product)
        return result

    def _primes(self, value: Diagram) -> frozenset[int]:
        """For a monotone f = x·g + h: those of h, and x with those of g that none of h absorbs."""
        known: dict[Diagram, frozenset[int]] = {self.zero: frozenset(), self.one: frozenset((0,))}
        todo = [value]
        while todo:
            node = todo[-1]
            if node in known:
                todo.pop()
                continue
            with_it, without = node.cofactors()
            waiting = [child for child in (with_it, without) if child not in known]
            if waiting:
                todo.extend(waiting)
                continue
            todo.pop()
            mask = mask_of((node.node_var(),))
            known[node] = minimal([*known[without], *(term | mask for term in known[with_it])])
        return known[value]

    def _tick(self) -> None:
        self._operations += 1
        if self._operations % COLLECT_EVERY == 0:
            self._manager.gc()

    def _exhausted(self) -> EvaluationError:
        return EvaluationError(
            "out-of-nodes",
            "the decision diagrams do not fit into their manager",
            hint="give BDD more nodes, or use the annotation dnf",
        )
