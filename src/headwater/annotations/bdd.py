"""Absorption provenance as reduced ordered binary decision diagrams (liu-2008 section 4.1), through `oxidd`.

Equal functions are the same diagram, so absorption happens by itself. A diagram can be far smaller than the
list of its terms, and is slower to work with while there are few. All functions here are monotone; that is
what makes `forall` the restriction to false, and the prime implicants easy to read off.

Diagrams live in a manager of fixed capacity, and those of two managers must never meet: each `BDD` has its
own, and what leaves it is a wire form: prime implicants (`encode`), or the diagram itself (`diagram`).

How large a diagram is depends on the order of its variables. Rows that occur together in derivations should be next
to each other: for networks, those of one stub. `locality` says which rows belong together: rows of the same value
have neighbouring levels, whatever order they come in, and rows of lower values are above those of higher ones. If it
is known how many values there are, their levels are there from the beginning: putting levels between others takes a
walk through all diagrams.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from typing import Any

from headwater.annotations import wire
from headwater.annotations.minimal_dnf import MinimalDNF, bits, mask_of, minimal
from headwater.annotations.protocol import Names, Restrictable, plain
from headwater.errors import EvaluationError, MissingExtra

Diagram = Any
"""`oxidd.bdd.BDDFunction`."""

NODES = 1 << 20
LOOK_EVERY = 1 << 12
"""After how many operations the number of nodes is looked at..."""
FEW_NODES = 1 << 16
"""...and garbage is collected if there are more than these, and twice as many as were in use the last time."""
LEVELS_AT_ONCE = 16
"""How many neighbouring levels a locality gets at a time."""
MOST_GROUPS_READY = 1 << 9
"""Of more localities than these, levels are made when their first rows come."""

Locality = Callable[[int], int]
"""To which group a row belongs, by its number."""


def alike(number: int) -> int:
    """All rows are of one group: they are in the order in which they came."""
    return 0


def same(number: int) -> int:
    """Rows have the same numbers outside."""
    return number


class BDD(Restrictable[Diagram]):
    """Positive Boolean expressions by their decision diagrams; `nodes` is the capacity of the manager. Rows of one
    `locality` have neighbouring levels; there are `groups` of them, from 0 on, if that is known.

    >>> bdd = BDD()
    >>> p1, p2 = map(bdd.variable, (1, 2))
    >>> bdd.show(bdd.plus(p1, bdd.times(p1, p2)))
    'p1'
    """

    name = "bdd"
    idempotent = True
    absorptive = True

    def __init__(self, nodes: int = NODES, locality: Locality = alike, groups: int = 0) -> None:
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
        self._in_use = 0
        self._locality = locality
        self._levels: dict[int, int] = {}
        """What the manager calls a row's variable."""
        self._rows: dict[int, int] = {}
        self._spare: dict[int, list[int]] = {}
        self._order: list[int] = []
        self._groups: list[int] = []
        """The groups of all levels, in order, each as often as it got levels."""
        for group in range(groups if groups <= MOST_GROUPS_READY else 0):
            levels = self._manager.add_vars(LEVELS_AT_ONCE)
            self._spare[group] = list(reversed(levels))
            self._order += levels
            self._groups.append(group)
        self.zero = self._manager.false()
        self.one = self._manager.true()

    def plus(self, left: Diagram, right: Diagram) -> Diagram:
        return self._done(lambda: left | right)

    def times(self, left: Diagram, right: Diagram) -> Diagram:
        return self._done(lambda: left & right)

    def variable(self, number: int) -> Diagram:
        level = self._level(number)
        return self._done(lambda: self._manager.var(level))

    def _level(self, number: int) -> int:
        level = self._levels.get(number)
        return self._taken(number) if level is None else level

    def _height(self, level: int) -> int:
        """The lowest first: products are cheapest from below."""
        return -int(self._manager.var_to_level(level))

    def _taken(self, number: int) -> int:
        """A variable of the manager for a row that had none, near those of its locality."""
        group = self._locality(number)
        spare = self._spare.setdefault(group, [])
        if not spare:
            spare += reversed(self._manager.add_vars(LEVELS_AT_ONCE))
            before = bisect_right(self._groups, group)
            place = before * LEVELS_AT_ONCE
            self._groups.insert(before, group)
            self._order[place:place] = reversed(spare)
            if place + LEVELS_AT_ONCE < len(self._order):
                self._manager.set_var_order(self._order)
        level = self._levels[number] = spare.pop()
        self._rows[level] = number
        return level

    def forget(self, numbers: Collection[int]) -> None:
        """No diagram uses these rows any more, and their numbers may come to stand for others."""
        for number in numbers:
            level = self._levels.pop(number, None)
            if level is not None:
                del self._rows[level]
                self._spare[self._locality(number)].append(level)

    def value(self, given: object) -> Diagram:
        """True, False, or a collection of sets of numbers."""
        return self.of_masks(self._dnf.value(given))

    def restrict(self, value: Diagram, gone: Collection[int]) -> Diagram:
        """The function with these rows false: for a monotone one, that it holds whatever they are."""
        known = [self._levels[number] for number in gone if number in self._levels]
        if not known:
            return value
        cube = self.one
        for level in known:
            cube = cube & self._manager.var(level)
        return self._done(lambda: value.forall(cube))

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
            found.add(self._rows[node.node_var()])
            todo.extend(node.cofactors())
        return frozenset(found)

    def of(self, terms: Iterable[Iterable[int]]) -> Diagram:
        """The function with these terms."""
        return self.of_masks(self._dnf.of(terms))

    def terms(self, value: Diagram) -> list[list[int]]:
        """The prime implicants, smallest first."""
        return self._dnf.terms(self.primes(value))

    def encode(self, value: Diagram) -> bytes:
        """Prime implicants, as `minimal_dnf` writes them."""
        return self._dnf.encode(self.primes(value))

    def decode(self, data: bytes) -> Diagram:
        """The function with these prime implicants, or this diagram."""
        if data[:1] == bytes((wire.DIAGRAM,)):
            return self.drawn(data)
        return self.of_masks(self._dnf.decode(data))

    def diagram(self, value: Diagram, name: Callable[[int], int] = same) -> bytes:
        """The diagram itself: each node's row, and how far back its two followers are; those come first. `name` says
        what rows are called outside."""
        places: dict[Diagram, int] = {self.zero: 0, self.one: 1}
        out = bytearray()
        todo = [value]
        while todo:
            node = todo[-1]
            waiting = [] if node in places else [child for child in node.cofactors() if child not in places]
            if waiting:
                todo += waiting
                continue
            todo.pop()
            if node not in places:
                place = len(places)
                wire.put_varint(out, name(self._rows[node.node_var()]))
                for child in node.cofactors():
                    wire.put_varint(out, 0 if child == self.zero else place - places[child])
                places[node] = place
        head = bytearray((wire.DIAGRAM,))
        wire.put_varint(head, places[value] if value in (self.zero, self.one) else len(places))
        return bytes(head + out)

    def drawn(self, data: bytes, number: Callable[[int], int | None] = same) -> Diagram:
        """The function of a diagram, whatever order of variables it was drawn in. `number` gives the number of a row
        by what it is called outside; a row that has none is gone, and false."""
        reader = wire.WireReader(data, wire.DIAGRAM)
        size = reader.varint()
        known = [self.zero, self.one]
        while len(known) < size:
            found = number(reader.varint())
            with_it = self._follower(known, reader.varint())
            without = self._follower(known, reader.varint())
            known.append(without if found is None else self._chosen(found, with_it, without))
        reader.end()
        return known[size] if size < 2 else known[-1]

    def _chosen(self, number: int, with_it: Diagram, without: Diagram) -> Diagram:
        """One function if a row is there, another if it is not. The first follows from the second in every diagram
        that was drawn here; what others have drawn is made monotone."""
        variable = self._manager.var(self._level(number))
        return self._done(lambda: variable.ite(with_it | without, without))

    def _follower(self, known: list[Diagram], back: int) -> Diagram:
        if back == 0:
            return self.zero
        if back >= len(known):
            raise wire.damaged("a node follows one that is not there")
        return known[-back]

    def show(self, value: Diagram, names: Names = plain) -> str:
        """A sum of products."""
        return self._dnf.show(self.primes(value), names)

    def of_masks(self, terms: frozenset[int]) -> Diagram:
        """The function with these terms, as masks."""
        result = self.zero
        for term in terms:
            product = self.one
            for level in sorted(map(self._level, bits(term)), key=self._height):
                product = self.times(self._manager.var(level), product)
            result = self.plus(result, product)
        return result

    def primes(self, value: Diagram) -> frozenset[int]:
        """The minimal terms. For a monotone f = x·g + h: those of h, and x with those of g that none of h absorbs."""
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
            mask = mask_of((self._rows[node.node_var()],))
            known[node] = minimal([*known[without], *(term | mask for term in known[with_it])])
        return known[value]

    def _collect(self) -> None:
        if self._manager.approx_num_inner_nodes() > 2 * max(self._in_use, FEW_NODES):
            self._manager.gc()
            self._in_use = self._manager.approx_num_inner_nodes()

    def _done(self, operation: Callable[[], Diagram]) -> Diagram:
        """The outcome of an operation; garbage is collected now and then, and when there is no room."""
        self._operations += 1
        if self._operations % LOOK_EVERY == 0:
            self._collect()
        try:
            return operation()
        except self._full:
            self._manager.gc()
        try:
            return operation()
        except self._full as error:
            raise EvaluationError(
                "out-of-nodes",
                "the decision diagrams do not fit into their manager",
                hint='"absorption" ships and keeps far less than "absorption-eager"; BDD(nodes=...) has more room',
            ) from error
