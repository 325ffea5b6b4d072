"""Absorption provenance (liu-2008 section 4): a row carries the minimal sets of premises that derive it.

Every premise from below (a row, the absence of a row, the choice of a best row) has a variable; a row of the
recursion carries a monotone Boolean expression over them. When premises go, their variables become false in the
expressions of the rows that an index gives, and rows whose expression is false fall: nothing is searched or
derived again, and cycles are no trouble, since expressions name only what is outside the cycle.

*Eager*: every derivation that is not absorbed is propagated to the consequences. In dense data there are very
many. *Lazy* (liu-2008 section 5, `MinShip`): only the first is; others are held back, and propagated when what was
propagated before has become false. A row's consequences then rest on some of its derivations, never on none.

There may be exponentially many minimal sets, whether propagated at once or kept back. Where one expression has more
than `MOST_TERMS`, or a version tests terms for absorption out of all proportion to the derivations it finds
(`MOST_TESTS`), the stratum is left to ranked support (`TooLarge`).

In one process nothing is under way between versions, so a variable's number is free again after the version in
which it went. (Across nodes it is not; see `headwater.networks.simulated`.)
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.annotations.minimal_dnf import MinimalDNF, Terms, bits
from headwater.maintain.strategies.annotated import Annotated
from headwater.maintain.strategies.journal import Journal
from headwater.maintain.strategies.ledger import Ground, Instance, Ledger, TooLarge

MOST_TERMS = 4096
"""Terms of one expression, before absorption."""
TESTS = 256
"""Tests whether a term absorbs another that a derivation may cost on average..."""
MOST_TESTS = 1 << 25
"""...beyond these."""


class Expressions(Ledger):
    """Expressions by row: what has been propagated, and (lazy) what has been held back."""

    def __init__(self, *, lazy: bool):
        self.lazy = lazy
        self.dnf = MinimalDNF()
        self.journal = Journal()
        self.clear()

    def clear(self) -> None:
        """Forget all rows and variables."""
        self.journal.commit()
        self.sent: dict[Ground, Terms] = {}
        self.kept: dict[Ground, Terms] = {}
        self.numbers: dict[Ground, int] = {}
        self.premises: dict[int, Ground] = {}
        self.rows_of: dict[int, dict[Ground, None]] = {}
        self.masks: dict[Ground, int] = {}
        self._free: list[int] = []
        self._freed: list[int] = []
        self._next = 0
        self._news: dict[Ground, Terms] = {}
        self._delta: dict[Ground, Terms] = {}
        self._tests = 0

    def derivable(self, row: Ground) -> bool:
        """Whether the expression is not false."""
        return row in self.sent

    def expression(self, row: Ground) -> Terms:
        """The whole expression of a row: what was propagated or held back."""
        return self.dnf.plus(self.sent.get(row, self.dnf.zero), self.kept.get(row, self.dnf.zero))

    def proofs(self, row: Ground) -> list[frozenset[Ground]] | None:
        """All minimal sets of premises that derive a row; `None` where they are not all known (lazy), or none is."""
        if self.lazy or row not in self.sent:
            return None
        return [frozenset(self.premises[number] for number in bits(term)) for term in self.sent[row]]

    # ------------------------------------------------------------------ derivations in

    def enter(self, instance: Instance) -> None:
        """Add the product of the premises' expressions to the head's."""
        self._tests -= TESTS
        product = self.dnf.one
        for place, premise in enumerate(instance.premises):
            found = self.sent.get(premise)
            if found is None:
                factor = frozenset((1 << self._number(premise),))
            elif place == instance.position:
                factor = self._delta.get(premise, found)
            else:
                factor = found
            product = self._times(product, factor)
        row = instance.head
        sent = self.sent.get(row)
        if sent is None:
            self._send(row, self.dnf.zero, product)
            return
        both = self._plus(sent, product)
        if both == sent:
            return
        if self.lazy:
            kept = self.kept.get(row, self.dnf.zero)
            more = self._plus(kept, frozenset(both - sent))
            if more != kept:
                self.journal.put(self.kept, row, more)
                self._register(row, more)
        else:
            self._send(row, sent, both)

    def _times(self, left: Terms, right: Terms) -> Terms:
        pairs = len(left) * len(right)
        if pairs > MOST_TERMS:
            raise TooLarge
        found = self.dnf.times(left, right)
        self._tested(pairs * len(found))
        return found

    def _plus(self, left: Terms, right: Terms) -> Terms:
        if len(left) + len(right) > MOST_TERMS:
            raise TooLarge
        self._tested(len(left) * len(right))
        return self.dnf.plus(left, right)

    def _tested(self, tests: int) -> None:
        self._tests += tests
        if self._tests > MOST_TESTS:
            raise TooLarge

    def _send(self, row: Ground, before: Terms, after: Terms) -> None:
        self.journal.put(self.sent, row, after)
        self._register(row, after)
        self._news[row] = self.dnf.plus(self._news.get(row, self.dnf.zero), frozenset(after - before))

    def news(self) -> list[Ground]:
        """Rows with terms that their consequences do not know of yet."""
        self._delta, self._news = self._news, {}
        return list(self._delta)

    def waiting(self) -> bool:
        """Whether there are such rows."""
        return bool(self._news)

    def announce(self, row: Ground) -> None:
        """All terms of the row are news."""
        self._delta.pop(row, None)

    # ------------------------------------------------------------------ premises out

    def lose(self, gone: Iterable[Ground]) -> tuple[list[Ground], int]:
        """Make variables false; rows without a term left take what was held back, or fall."""
        mask = 0
        rows: dict[Ground, None] = {}
        for premise in gone:
            number = self.numbers.get(premise)
            if number is None:
                continue
            mask |= 1 << number
            self.journal.drop(self.numbers, premise)
            self.journal.drop(self.premises, number)
            self._freed.append(number)
            rows.update(self.rows_of.get(number, {}))
            self.journal.drop(self.rows_of, number)
        dead: list[Ground] = []
        for row in rows:
            self.journal.put(self.masks, row, self.masks[row] & ~mask)
            kept = self._cut(self.kept, row, mask)
            for pending in (self._news, self._delta):
                if row in pending:
                    pending[row] = frozenset(term for term in pending[row] if not term & mask)
                    if not pending[row]:
                        del pending[row]
            if row not in self.sent or self._cut(self.sent, row, mask):
                continue
            if kept:
                self.journal.drop(self.kept, row)
                self._send(row, self.dnf.zero, kept)
            else:
                dead.append(row)
                for number in bits(self.masks[row]):
                    if number in self.rows_of:
                        self.journal.drop(self.rows_of[number], row)
                self.journal.drop(self.masks, row)
        return dead, len(rows)

    def forget(self, instances: Iterable[Instance]) -> tuple[list[Ground], int]:
        """Terms do not tell by which rule they came about."""
        raise AssertionError("expressions cannot forget a rule")

    def _cut(self, table: dict[Ground, Terms], row: Ground, mask: int) -> Terms:
        """Drop the terms with any of these variables, and the entry if none is left."""
        value = table.get(row)
        if value is None:
            return self.dnf.zero
        left = frozenset(term for term in value if not term & mask)
        if not left:
            self.journal.drop(table, row)
        elif left != value:
            self.journal.put(table, row, left)
        return left

    # ------------------------------------------------------------------ variables

    def _number(self, premise: Ground) -> int:
        number = self.numbers.get(premise)
        if number is None:
            if self._free:
                number = self._free.pop()
            else:
                number = self._next
                self._next += 1
            self.journal.put(self.numbers, premise, number)
            self.journal.put(self.premises, number, premise)
            self.journal.put(self.rows_of, number, {})
        return number

    def _register(self, row: Ground, value: Terms) -> None:
        """Enter the row under all its variables, so that it is found when one of them goes."""
        known = self.masks.get(row, 0)
        mask = known
        for term in value:
            mask |= term
        if mask != known:
            for number in bits(mask & ~known):
                self.journal.put(self.rows_of[number], row, None)
            self.journal.put(self.masks, row, mask)

    def describe(self) -> str:
        """Rows, terms and variables."""
        terms = sum(map(len, self.sent.values())) + sum(map(len, self.kept.values()))
        return f"{len(self.sent):,} expressions of {terms:,} terms over {len(self.numbers):,} variables"

    def commit(self) -> None:
        """Keep the version; variables that went are free."""
        self._tests = 0
        self.journal.commit()
        self._free += self._freed
        self._freed = []

    def rollback(self) -> None:
        """Undo the version. (Numbers it took are not given again: a few bits lost.)"""
        self.journal.rollback()
        self._tests = 0
        self._freed = []
        self._news = {}
        self._delta = {}


def absorption_lazy() -> Annotated:
    """Absorption provenance with lazy propagation."""
    return Annotated("absorption", Expressions(lazy=True))


def absorption_eager() -> Annotated:
    """Absorption provenance with eager propagation."""
    return Annotated("absorption-eager", Expressions(lazy=False))
