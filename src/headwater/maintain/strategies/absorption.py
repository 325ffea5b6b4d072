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
which it went. (Across nodes it is not; see `networks/annotated/tombstones`.)
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.annotations.minimal_dnf import MinimalDNF, Terms, bits
from headwater.maintain.strategies.annotated import Annotated
from headwater.maintain.strategies.expression_table import ExpressionTable, RowExpression
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
        self.table = ExpressionTable()
        self.numbers: dict[Ground, int] = {}
        self.premises: dict[int, Ground] = {}
        self._free: list[int] = []
        self._freed: list[int] = []
        self._given: list[int] = []
        self._next = 0
        self._news: dict[int, Terms] = {}
        self._delta: dict[int, Terms] = {}
        self._tests = 0

    def derivable(self, row: Ground) -> bool:
        """Whether the expression is not false."""
        return self.table.number(row) is not None

    def sent(self, row: Ground) -> Terms:
        """What was propagated of a row's expression."""
        number = self.table.number(row)
        return self.dnf.zero if number is None else self.table.get(number).sent

    def expression(self, row: Ground) -> Terms:
        """The whole expression of a row: what was propagated or held back."""
        number = self.table.number(row)
        return self.dnf.zero if number is None else self.dnf.plus(*self.table.get(number))

    def proofs(self, row: Ground) -> list[frozenset[Ground]] | None:
        """All minimal sets of premises that derive a row; `None` where they are not all known (lazy), or none is."""
        if self.lazy or not self.derivable(row):
            return None
        return [frozenset(self.premises[number] for number in bits(term)) for term in self.sent(row)]

    # ------------------------------------------------------------------ derivations in

    def enter(self, instance: Instance) -> None:
        """Add the product of the premises' expressions to the head's."""
        self._tests -= TESTS
        product = self.dnf.one
        for place, premise in enumerate(instance.premises):
            number = self.table.number(premise)
            if number is None:
                factor = frozenset((1 << self._number(premise),))
            elif place == instance.position and number in self._delta:
                factor = self._delta[number]
            else:
                factor = self.table.get(number).sent
            product = self._times(product, factor)
        number = self.table.number(instance.head)
        if number is None:
            self._send(instance.head, None, RowExpression(self.dnf.zero), product)
            return
        known = self.table.get(number)
        both = self._plus(known.sent, product)
        if both == known.sent:
            return
        if self.lazy:
            more = self._plus(known.kept, frozenset(both - known.sent))
            if more != known.kept:
                self.table.put(instance.head, number, known._replace(kept=more))
        else:
            self._send(instance.head, number, known, both)

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

    def _send(self, row: Ground, number: int | None, before: RowExpression, sent: Terms) -> None:
        """Have `sent` propagated as the row's expression; what is new of it is news."""
        number = self.table.put(row, number, before._replace(sent=sent))
        known = self._news.get(number, self.dnf.zero)
        self._news[number] = self.dnf.plus(known, frozenset(sent - before.sent))

    def news(self) -> list[Ground]:
        """Rows with terms that their consequences do not know of yet."""
        self._delta, self._news = self._news, {}
        return [self.table.row(number) for number in self._delta]

    def waiting(self) -> bool:
        """Whether there are such rows."""
        return bool(self._news)

    def announce(self, row: Ground) -> None:
        """All terms of the row are news."""
        number = self.table.number(row)
        if number is not None:
            self._delta.pop(number, None)

    # ------------------------------------------------------------------ premises out

    def lose(self, gone: Iterable[Ground]) -> tuple[list[Ground], int]:
        """Make variables false; rows without a term left take what was held back, or fall."""
        mask = 0
        rows: dict[int, None] = {}
        for premise in gone:
            variable = self.numbers.get(premise)
            if variable is None:
                continue
            mask |= 1 << variable
            self.journal.drop(self.numbers, premise)
            self.journal.drop(self.premises, variable)
            self._freed.append(variable)
            rows.update(dict.fromkeys(self.table.using(variable)))
            self.table.drop(variable)
        dead: list[Ground] = []
        for number in rows:
            for pending in (self._news, self._delta):
                if number in pending:
                    pending[number] = _without(pending[number], mask)
                    if not pending[number]:
                        del pending[number]
            known = self.table.get(number)
            left = RowExpression(_without(known.sent, mask), _without(known.kept, mask))
            row = self.table.row(number)
            if left.sent:
                self.table.put(row, number, left)
            elif left.kept:
                self._send(row, number, RowExpression(self.dnf.zero), left.kept)
            else:
                dead.append(row)
                self.table.remove(number)
        return dead, len(rows)

    def forget(self, instances: Iterable[Instance]) -> tuple[list[Ground], int]:
        """Terms do not tell by which rule they came about."""
        raise AssertionError("expressions cannot forget a rule")

    def release(self, rows: Iterable[Ground]) -> int:
        """Drop the expressions of rows."""
        numbers = [number for row in rows if (number := self.table.number(row)) is not None]
        for number in numbers:
            self._news.pop(number, None)
            self._delta.pop(number, None)
            self.table.remove(number)
        return len(numbers)

    # ------------------------------------------------------------------ variables

    def _number(self, premise: Ground) -> int:
        number = self.numbers.get(premise)
        if number is None:
            if self._free:
                number = self._free.pop()
            else:
                number = self._next
                self._next += 1
            self._given.append(number)
            self.journal.put(self.numbers, premise, number)
            self.journal.put(self.premises, number, premise)
        return number

    def describe(self) -> str:
        """Rows, terms and variables."""
        terms = sum(len(self.expression(row)) for row in self.table)
        return f"{len(self.table):,} expressions of {terms:,} terms over {len(self.numbers):,} variables"

    def commit(self) -> None:
        """Keep the version; variables that went are free."""
        self.journal.commit()
        self.table.commit()
        self._free += self._freed
        self._end()

    def rollback(self) -> None:
        """Undo the version; variables that it gave are free."""
        self.journal.rollback()
        self.table.rollback()
        self._free += self._given
        self._end()

    def _end(self) -> None:
        self._tests = 0
        self._freed, self._given = [], []
        self._news, self._delta = {}, {}


def _without(terms: Terms, mask: int) -> Terms:
    """The terms with none of these variables."""
    if not any(term & mask for term in terms):
        return terms
    return frozenset(term for term in terms if not term & mask)


def absorption_lazy() -> Annotated:
    """Absorption provenance with lazy propagation."""
    return Annotated("absorption", Expressions(lazy=True))


def absorption_eager() -> Annotated:
    """Absorption provenance with eager propagation."""
    return Annotated("absorption-eager", Expressions(lazy=False))
