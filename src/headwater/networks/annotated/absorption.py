"""Absorption provenance on asynchronous nodes (liu-2008 sections 4 to 6), for any program.

A base row has a variable for each time it is inserted. A row carries a positive Boolean expression over variables, by
its minimal terms; a strand multiplies those of its premises. What goes on is what was not absorbed, rather than the
paper's difference `new ∧ ¬old`, which is not monotone and larger.

A deletion is told to all nodes by variable (`spreading`). Each makes it false, in one step, in all that it holds:
tables, what it has shipped, what it has kept back. Sender and receiver of a row so agree on what the receiver still
knows, whatever else is under way. A row all of whose shipped terms are false is shipped again, from what was kept
back or by deriving it again here; nothing is asked of others. What comes with a variable that is gone is dropped by
its tombstone. (The paper deletes tuple by tuple; with changes in flight that loses rows, or never ends.)

A variable that never left its node is deleted without a word to others.

Where shipping waits (`shipping`), derivations of a row are gathered until its turn comes. Rows that stay at this node
take their turns when no message waits, one after the other; those that leave it, when their time has come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

from headwater.annotations.dnf_or_bdd import DnfOrBdd
from headwater.annotations.minimal_dnf import bits
from headwater.networks.annotated.expressions import BooleanExpressions, Numbering
from headwater.networks.annotated.rows_by_span import NEAR, RowsBySpan
from headwater.networks.annotated.scheme import Host, Scheme, SchemeMaker
from headwater.networks.annotated.shipping import LAZY, Shipping
from headwater.networks.annotated.spreading import AlongLinks, Spreading, ToldToAll
from headwater.networks.annotated.tombstones import EVERY, Tombstones
from headwater.networks.annotated.variables import Numbers, OwnVariables
from headwater.networks.orders.order import Update
from headwater.networks.runtime.given_rows import SAME_TIME
from headwater.networks.runtime.message_codec import row_size
from headwater.networks.runtime.messages import Derived, Gone, Message, SeenDeletions
from headwater.networks.runtime.row_table import Entry, Row
from headwater.networks.strands.strand import ALL_STAMPS, Firing, Strand


class ShippedRow:
    """A row that this node has derived: what the receiver knows of it, and what was kept back."""

    __slots__ = ("kept", "mask", "relation", "row", "value")

    def __init__(self, relation: int, row: Row, zero: Any):
        self.relation = relation
        self.row = row
        self.value = zero
        self.kept = zero
        self.mask = 0


LISTED_TERMS = 64
"""An expression of more terms is a diagram. Lists of so many are worked with as fast, and few rows of lazy or bounded
shipping ever have more."""

Holder = Entry | ShippedRow
"""What has an expression: it is indexed under all variables of it."""


class Absorption(Scheme):
    """One node's side of absorption provenance."""

    steady = True

    def __init__(
        self,
        host: Host,
        shipping: Shipping,
        algebra: BooleanExpressions,
        reclaim_every: int | None,
        along_links: bool = False,
    ):
        self.host = host
        self.shipping = shipping
        self.algebra = algebra
        self.numbering = Numbering(algebra)
        self.numbers = Numbers(host.nodes, host.places)
        self.numbering.grouped(self._depth, host.nodes * host.places)
        self.tombstones = Tombstones(host.number, self.numbers, None if along_links else reclaim_every)
        self.spreading: Spreading = AlongLinks(host) if along_links else ToldToAll(host)
        self.own = OwnVariables(host.number, self.numbers, host.incarnation)
        self.base: dict[tuple[int, Row], int] = {}
        """The variables of the rows that are this node's own: base rows, and those that it publishes."""
        self.shipped: list[dict[Row, ShippedRow]] = [{} for _ in host.plan.relations]
        self._resting: dict[int, dict[Holder, None]] = {}
        self._exported = 0
        self._leaving: RowsBySpan[ShippedRow] = RowsBySpan()
        """Rows of other nodes with derivations to come."""
        self._staying: RowsBySpan[ShippedRow] = RowsBySpan()
        """The same of this node's own rows."""
        self._reach: int | None = None
        """Up to which span rows take their turns now."""
        self._flushing = False
        self._turn = NEAR
        self._due: float | None = None
        """When the timer has been set to."""
        self._again = Firing(host.tables, self._take)
        self._taken: list[Any] = []

    def _depth(self, variable: int) -> int:
        """Where a variable is in diagrams: by its place in the network, but this node's own are below all others.
        What others say comes whole, and is then multiplied by sums over what is here. So what is above stays as it
        is, and rows that differ in it share what is below."""
        groups = self.numbers.nodes * self.numbers.places
        return (self.numbers.place(variable) - (self.host.number + 1) * self.numbers.places) % groups

    # ------------------------------------------------------------------ own rows

    def insert(self, relation: int, row: Row) -> None:
        variable = self.own.give(self.host.place(relation, row))
        self.base[relation, row] = variable
        number = self.numbering.number(variable)
        self._exported &= ~(1 << number)
        self.host.arrive(relation, row, self.algebra.variable(number))
        self.spreading.inserted(relation, row, self.tombstones.gone)

    def delete(self, relation: int, row: Row) -> None:
        variable = self.base.pop((relation, row))
        number = self.numbering.number(variable)
        if self._exported >> number & 1:
            self.spreading.begin(self.tombstones.bury(variable))
            self._forget(variable)
        else:
            self._forget(variable)
            self.own.take_back(variable)

    # ------------------------------------------------------------------ messages

    def receive(self, sender: int, message: Message) -> None:
        if isinstance(message, Derived):
            value = self.numbering.load(message.terms, self.tombstones.is_gone)
            if not self.algebra.equal(value, self.algebra.zero):
                self.host.arrive(message.relation, message.row, value)
        elif isinstance(message, Gone):
            if self.tombstones.add(message):
                self.spreading.heard(sender, message)
                self._forget(message.variable)
        else:
            assert isinstance(message, SeenDeletions)
            self.tombstones.told(sender, message)
            self._free(self.tombstones.drop(self.host.send, [owner for owner, _ in message.seen]))

    def idle(self) -> None:
        if self.shipping.window is not None:
            self._flush()
        elif self._stays_near():
            self._reach = NEAR
        if self.tombstones.due():
            self.reclaim()

    def restless(self) -> bool:
        flushes = self.shipping.window is not None and len(self._leaving) + len(self._staying) > 0
        return flushes or self._stays_near() or self.tombstones.due()

    def _stays_near(self) -> bool:
        return self._staying.least() == NEAR

    def reclaim(self) -> None:
        """Tell the others which deletions were seen, and drop what can be dropped."""
        self.tombstones.tell(self.host.others(), self.host.send)
        self._free(self.tombstones.drop(self.host.send))

    def restarted(self, other: int, incarnation: int) -> None:
        own = self.tombstones.restarted(other, incarnation)
        self.spreading.restarted(other, own, self.tombstones.gone)
        for variable in [known for known in self.numbering.numbers if self.numbers.owner(known) == other]:
            if self.tombstones.is_gone(variable):
                self._forget(variable)
        for rows in self.shipped:
            for shipped in list(rows.values()):
                if self.host.home(shipped.relation, shipped.row) == other:
                    value = self.algebra.plus(shipped.value, shipped.kept)
                    shipped.value = shipped.kept = self.algebra.zero
                    self._ship(shipped, value)

    def woken(self) -> None:
        if self._due is not None and self.host.now() >= self._due - SAME_TIME:
            self._due = None
            self._flush()

    def holds_back(self) -> bool:
        return self._due is not None

    def _free(self, variables: list[int]) -> None:
        for variable in variables:
            self.own.take_back(variable)

    # ------------------------------------------------------------------ rows in

    def store(self, update: Update, stamp: int) -> Entry | None:
        table = self.host.tables[update.relation]
        entry = table.rows.get(update.row)
        if entry is None:
            if self.algebra.equal(update.value, self.algebra.zero):
                return None
            entry = Entry(update.relation, update.row, update.value, stamp)
            self._index(entry, update.value)
            table.add(entry)
            return entry
        known = entry.value
        both = self.algebra.plus(known, update.value)
        if self.algebra.equal(both, known):
            return None
        update.value = self.numbering.news(update.value, known, both)
        entry.value = both
        self._index(entry, update.value)
        return entry

    def carried(self, entry: Entry) -> int:
        return self.numbering.size(entry.value)

    def kept(self) -> int:
        total = 0
        for relation, shipped in enumerate(self.shipped):
            for row, one in shipped.items():
                total += row_size(relation, row) + self.numbering.size(one.value)
                total += self.numbering.size(one.kept)
        return total

    def passed(self, entry: Entry) -> Any:
        return entry.value

    def beaten(self, relation: int, rows: Set[Row]) -> None:
        for update in self.host.waiting() if rows else ():
            if update.relation == relation and update.row in rows:
                update.value = self.algebra.zero
        table = self.host.tables[relation]
        for row in rows:
            entry = table.rows.get(row)
            if entry is not None:
                self._unindex(entry)
                table.remove(entry)

    # ------------------------------------------------------------------ rows out

    def derived(self, strand: Strand, row: Row, entries: Sequence[Entry | None], news: Any) -> None:
        relation = self.host.plan.heads[strand.rule]
        shipped = self.shipped[relation].get(row)
        if shipped is not None and not self.shipping.keeps:
            return
        value = news
        for position, entry in enumerate(entries):
            if position != strand.position:
                assert entry is not None
                value = self.algebra.times(value, entry.value)
        if shipped is None:
            shipped = self.shipped[relation][row] = ShippedRow(relation, row, self.algebra.zero)
            self._ship(shipped, value if self.shipping.keeps else self.numbering.one_term(value))
            return
        if not self.shipping.absorbs:
            self._ship(shipped, value)
            return
        if self.shipping.waits:
            self._gather(shipped, value)
            return
        known = self.algebra.plus(shipped.value, shipped.kept)
        if self.algebra.equal(self.algebra.plus(known, value), known):
            return
        value = self.algebra.beyond(value, known)
        if self.shipping.at_once:
            self._ship(shipped, value)
        else:
            shipped.kept = self.algebra.plus(shipped.kept, value)
            self._index(shipped, value)

    def _gather(self, shipped: ShippedRow, value: Any) -> None:
        """Keep a derivation that adds something until its row's turn comes, beside all that was shipped: the diagram
        of a whole function is smaller than that of some derivations, of which others absorb parts."""
        nothing = self.algebra.equal(shipped.kept, self.algebra.zero)
        known = shipped.value if nothing else shipped.kept
        both = self.algebra.plus(known, value)
        if self.algebra.equal(both, known):
            return
        shipped.kept = both
        self._index(shipped, value)
        span = self._span(shipped.kept) if self.shipping.nearest_first else NEAR
        if self.host.home(shipped.relation, shipped.row) == self.host.number:
            self._staying.add(shipped, span)
            if span > NEAR:
                self._set_timer()
        else:
            self._leaving.add(shipped, span)
            self._set_timer()
            if self.shipping.window is not None and len(self._leaving) >= self.shipping.window:
                self._flush()

    def _span(self, value: Any) -> int:
        return self.numbering.span(value, self.numbers.owner)

    def _set_timer(self) -> None:
        if self.shipping.timer is not None and self._due is None:
            self._due = self.host.now() + self.shipping.timer
            self.host.wake(self.shipping.timer)

    def _flush(self) -> None:
        """Rows take their turns, also those that leave this node: the nearest, and each time a span more. Where one
        of the least span still gains derivations, others wait."""
        spans = [rows.least() for rows in (self._staying, self._leaving)]
        least = min((span for span in spans if span is not None), default=NEAR)
        self._turn = self._reach = min(self._turn + 1, least)
        self._flushing = True

    def settled(self) -> bool:
        """Rows that stay take their turns; when none of them is left, those that leave go."""
        if self._reach is None:
            return False
        shipped = self._staying.first(self._reach)
        if shipped is not None:
            self._ship_kept(shipped)
            return True
        if self._flushing:
            for shipped in self._leaving.take(self._reach):
                self._ship_kept(shipped)
            self._flushing = False
        self._reach = None
        if len(self._leaving) or len(self._staying):
            self._set_timer()
        else:
            self._turn = NEAR
        return False

    def _ship_kept(self, shipped: ShippedRow) -> None:
        """Ship what was gathered of a row, as far as it adds something."""
        zero, value = self.algebra.zero, shipped.kept
        shipped.kept = zero
        if not self.algebra.equal(value, zero):
            both = self.algebra.plus(shipped.value, value)
            if not self.algebra.equal(both, shipped.value):
                value = self.numbering.news(value, shipped.value, both)
                shipped.value = both
                self._send(shipped, value)

    def _ship(self, shipped: ShippedRow, value: Any) -> None:
        shipped.value = self.algebra.plus(shipped.value, value)
        self._send(shipped, value)

    def _send(self, shipped: ShippedRow, value: Any) -> None:
        self._index(shipped, value)
        receiver = self.host.home(shipped.relation, shipped.row)
        if receiver == self.host.number:
            self.host.arrive(shipped.relation, shipped.row, value)
        elif receiver is not None:
            self._exported |= self.numbering.support(value)
            self.host.send(receiver, Derived(shipped.relation, shipped.row, self.numbering.export(value)))

    # ------------------------------------------------------------------ deletions

    def _index(self, holder: Holder, value: Any) -> None:
        """Enter what has an expression under all variables of it."""
        news = self.numbering.support(value) & ~holder.mask
        if news:
            holder.mask |= news
            for number in bits(news):
                self._resting.setdefault(number, {})[holder] = None

    def _forget(self, variable: int) -> None:
        """Make a variable false in all that there is."""
        number = self.numbering.drop(variable)
        if number is None:
            return
        without = self.numbering.without
        for update in self.host.waiting():
            update.value = without(update.value, number)
        fallen: list[ShippedRow] = []
        for holder in self._resting.pop(number, ()):
            holder.mask &= ~(1 << number)
            holder.value = without(holder.value, number)
            left = not self.algebra.equal(holder.value, self.algebra.zero)
            if isinstance(holder, ShippedRow):
                holder.kept = without(holder.kept, number)
                if not left:
                    fallen.append(holder)
            elif not left:
                self._unindex(holder)
                self.host.tables[holder.table].remove(holder)
        for shipped in fallen:
            self._ship_again(shipped)
        self.numbering.released(number)

    def _unindex(self, holder: Holder) -> None:
        for number in bits(holder.mask):
            self._resting[number].pop(holder, None)
        holder.mask = 0

    def _ship_again(self, shipped: ShippedRow) -> None:
        """Nothing that was shipped of a row holds any more: ship what else does, if anything."""
        zero = self.algebra.zero
        value, shipped.kept = shipped.kept, zero
        if not self.shipping.keeps:
            value = self._derive(shipped.relation, shipped.row)
        if self.algebra.equal(value, zero):
            self._unindex(shipped)
            del self.shipped[shipped.relation][shipped.row]
            self._leaving.discard(shipped)
            self._staying.discard(shipped)
        else:
            self._ship(shipped, value)

    def _derive(self, relation: int, row: Row) -> Any:
        """One term of a row, from what this node holds; false if there is none."""
        taken = self._taken
        taken.clear()
        for strand in self.host.plan.deriving[relation]:
            strand.fire(self._again, row, None, ALL_STAMPS)
            if taken:
                return taken[0]
        return self.algebra.zero

    def _take(self, _: Row, entries: list[Entry | None]) -> None:
        if not self._taken:
            value = self.algebra.one
            for entry in entries:
                assert entry is not None
                value = self.algebra.times(value, self.numbering.one_term(entry.value))
            self._taken.append(value)


def lists_or_diagrams() -> BooleanExpressions:
    """Expressions of a node, each in the form that is smaller."""
    return DnfOrBdd(most_terms=LISTED_TERMS)


def absorption(
    shipping: Shipping = LAZY,
    *,
    algebra: Callable[[], BooleanExpressions] = lists_or_diagrams,
    reclaim_every: int | None = EVERY,
    along_links: bool = False,
) -> SchemeMaker:
    """Absorption provenance; `reclaim_every=None` where channels are not first in, first out. With `along_links`
    deletions go from neighbour to neighbour (`spreading`), and nothing is reclaimed."""
    return lambda host: Absorption(host, shipping, algebra(), reclaim_every, along_links)
