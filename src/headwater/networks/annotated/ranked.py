"""Ranked support on nodes: rows fall only when nothing older supports them (`docs/explanation.md`).

A row has a rank, given when it comes: greater than the ranks of the premises that it followed from then. An instance
*supports* the row that follows if all its premises have smaller ranks, so support never runs in circles. Each node
that derives a row tells its home the least rank by which it can support it, and what becomes of that, by the number
of the first message about it (`numbered`); the home keeps what it is told by each. A row without support falls. When
all nodes are at rest (`QuietStage.REDERIVE`), what fell and is still said to follow comes back, with a new rank.

Deletions cost what rests on the deleted row and nothing older, where delete-and-rederive takes all that rests on it.
So ranks are best that grow with time, by Lamport's clocks: a node's clock is ahead of all it has heard of, and most
instances that come later find older premises. (A clock that all nodes share would do no better.) Where best rows are
selected, ranks are steps from base rows: a row that takes the place of another like it has the same rank.

Best rows of a recursion pass on at once, but not in a group in which one has fallen that had passed on: the best of
the others may rest on the fallen one, without its node knowing yet. To go on with such a row may never end: each lap
of a loop of links is a longer path, and the news of the failure comes a lap later. A row rests on rows of smaller
ranks only. So if the rank is no greater than that of the fallen one, the row does not rest on it: the feasibility
condition of DUAL (Garcia-Luna-Aceves 1993), by ranks in the place of distances. But it may rest on another link that
failed at the same time: of the rows that passed on after one link in ten had failed, two in five fell again. So it
passes on if the node that took the fallen one back supports it, too: it knows of the failure, and tells this row in
the other's place. Else the group waits until all nodes are at rest. Between two such moments bounds only shrink, rows
of ranks up to a bound are finitely many, and a row falls once: it ends. What passed on and fell goes after what takes
its place has come, so that those who hear of it need not look for another. A link that costs more or less is one wave
of news that way, and not one of falling rows and one of new ones.

A best row that is beaten is not joined with anything any more until it is best again: over a link that changes only
best rows are told. What followed from it before stays, in reserve.

Changes may overlap with others under way, as in `dred`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set
from typing import Any

from headwater.networks.annotated.instances import LocalInstances
from headwater.networks.annotated.numbered import Fact, HeardRows, ToldRows
from headwater.networks.annotated.scheme import Host, Scheme, SchemeMaker
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.orders.order import Update
from headwater.networks.runtime.message_codec import row_size
from headwater.networks.runtime.messages import Message, Reranked, Supported, Withdrawn
from headwater.networks.runtime.passing_on import FallenBest
from headwater.networks.runtime.row_table import Entry, Row
from headwater.networks.runtime.value_codec import varint_size
from headwater.networks.strands.strand import Strand

OUTSIDE = -1
"""Who states base rows, in the place of a node's number."""
PASSED = -2
"""A selection that passes its best rows on."""
_BEFORE_ALL = 0

Claims = dict[int, int]
"""Who says that a row follows, and from premises of at most which rank."""


class RankAndClaims:
    """A row's rank, what is said of it, and whether it passed on and was beaten: what entries carry."""

    __slots__ = ("beaten", "claims", "rank")

    def __init__(self, rank: int, claims: Claims):
        self.rank = rank
        self.claims = claims
        self.beaten = False

    def supported(self) -> bool:
        """Whether something older supports the row."""
        rank = self.rank
        return any(oldest < rank for oldest in self.claims.values())


class RankedScheme(Scheme):
    """One node's rows with their ranks."""

    waits_for_rest = True

    def __init__(self, host: Host):
        self.host = host
        self.instances = LocalInstances(host)
        self._tables = host.tables
        self._selected = host.plan.selected
        self.claimed: list[dict[Row, int]] = [{} for _ in host.plan.relations]
        """By relation: the rows that this node says follow, and the rank that it has told."""
        self.clock = _BEFORE_ALL
        self._told = ToldRows()
        self._heard = HeardRows()
        self.fallen: dict[Fact, Claims] = {}
        self._leaving: list[tuple[int, Row]] = []
        """Rows that had passed on and whose candidates have fallen: they go after what takes their place has come."""
        self._losing: deque[tuple[int, Row, int, int | None]] = deque()

    @property
    def steady(self) -> bool:
        """Whether no row has fallen that may yet come back."""
        return not self.fallen

    @property
    def passes_on(self) -> bool:
        """A group in which a best row fell waits for itself (`Selector`): no other does."""
        return True

    def takes_together(self, message: Message) -> bool:
        """What comes may be; a loss is followed when nothing is on its way into a table."""
        return isinstance(message, Supported)

    # ------------------------------------------------------------------ changes

    def insert(self, relation: int, row: Row) -> None:
        self.host.arrive(relation, row, {OUTSIDE: _BEFORE_ALL})

    def delete(self, relation: int, row: Row) -> None:
        self._lose(relation, row, OUTSIDE, None)

    def receive(self, sender: int, message: Message) -> None:
        if isinstance(message, Supported):
            self._heard.hear(sender, (message.relation, message.row))
            self._claim(message.relation, message.row, sender, message.rank)
        elif isinstance(message, Reranked):
            self._claim(*self._heard.known(sender, message.number), sender, message.rank)
        else:
            assert isinstance(message, Withdrawn)
            for number in message.numbers:
                self._lose(*self._heard.forget(sender, number), sender, None)

    def wants(self) -> QuietStage:
        return QuietStage.REDERIVE if self.fallen else QuietStage.NOTHING

    def settled(self) -> bool:
        leaving, self._leaving = self._leaving, []
        for relation, row in leaving:
            self._lose(relation, row, PASSED, None)
        return bool(leaving)

    def replaces(self, entry: Entry, fallen: FallenBest) -> bool:
        return bool(entry.value.rank <= fallen.rank and fallen.teller in entry.value.claims)

    def begin(self, stage: QuietStage) -> None:
        if stage is QuietStage.REDERIVE:
            fallen, self.fallen = self.fallen, {}
            for (relation, row), claims in fallen.items():
                if claims:
                    self.host.arrive(relation, row, claims)

    # ------------------------------------------------------------------ rows in and out

    def store(self, update: Update, stamp: int) -> Entry | None:
        relation, row, claims = update.relation, update.row, update.value
        table = self._tables[relation]
        entry = table.rows.get(row)
        if entry is not None:
            entry.value.claims.update(claims)
            if not entry.value.beaten:
                return None
            entry.value.beaten = False
            return entry
        if not claims:
            return None
        if self.fallen and (relation, row) in self.fallen:
            self.fallen[relation, row].update(claims)
            return None
        entry = Entry(relation, row, RankAndClaims(self._rank(relation, claims), claims), stamp)
        table.add(entry)
        return entry

    def _rank(self, relation: int, claims: Claims) -> int:
        if relation in self._selected:
            return min(claims.values()) + 1
        self.clock = max(self.clock, *claims.values()) + 1
        return self.clock

    def derived(self, strand: Strand, row: Row, entries: Sequence[Entry | None], news: Any) -> None:
        relation = self.instances.heads[strand.rule]
        claimed = self.claimed[relation]
        if row not in claimed and not any(entry is not None and entry.value.beaten for entry in entries):
            claimed[row] = rank = _highest(entries)
            self._tell(relation, row, rank)

    def carried(self, entry: Entry) -> int:
        return varint_size(entry.value.rank) + sum(map(varint_size, entry.value.claims.values()))

    def kept(self) -> int:
        return sum(
            row_size(relation, row) + varint_size(rank)
            for relation, claimed in enumerate(self.claimed)
            for row, rank in claimed.items()
        )

    def passed(self, entry: Entry) -> Any:
        return {PASSED: entry.value.rank}

    def beaten(self, relation: int, rows: Set[Row]) -> None:
        table = self._tables[relation].rows
        for row in rows:
            entry = table.get(row)
            if entry is not None:
                entry.value.beaten = True

    def _tell(self, relation: int, row: Row, rank: int) -> None:
        """Say for the first time that a row follows."""
        home = self.host.home(relation, row)
        if home == self.host.number:
            self._claim(relation, row, home, rank)
        elif home is not None:
            self._told.tell(home, (relation, row))
            self.host.send(home, Supported(relation, row, rank))

    def _claim(self, relation: int, row: Row, who: int, rank: int) -> None:
        """Somebody says that a row follows, for the first time or by another instance than before."""
        entry = self._tables[relation].rows.get(row)
        if entry is None or who not in entry.value.claims:
            self.host.arrive(relation, row, {who: rank})
        else:
            self._lose(relation, row, who, rank)

    # ------------------------------------------------------------------ losses

    def _lose(self, relation: int, row: Row, who: int, rank: int | None) -> None:
        """Somebody's support of a row is gone, or is by premises of this rank now."""
        self._losing.append((relation, row, who, rank))
        if len(self._losing) == 1:
            while self._losing:
                self._lost(*self._losing[0])
                self._losing.popleft()

    def _lost(self, relation: int, row: Row, who: int, rank: int | None) -> None:
        for update in self.instances.underway(relation, row):
            _change(update.value, who, rank)
        fallen = self.fallen.get((relation, row))
        if fallen is not None:
            _change(fallen, who, rank)
        entry = self.instances.entry(relation, row)
        if entry is None:
            return
        _change(entry.value.claims, who, rank)
        if entry.value.supported():
            return
        used: dict[Fact, int] = {}

        def found(rule: int, head: Row, entries: Sequence[Entry | None]) -> None:
            fact, highest = (self.instances.heads[rule], head), _highest(entries)
            used[fact] = min(highest, used.get(fact, highest))

        self.instances.using(entry, found)
        passing = self.instances.passing.get(relation)
        if passing is not None:
            self.host.falls(relation, row, entry.value.rank, who)
            self._leaving.append((passing, row))
        self.instances.remove(entry)
        self.fallen[relation, row] = entry.value.claims
        for (head, following), highest in used.items():
            self._support_again(head, following, highest)

    def _support_again(self, relation: int, row: Row, lost: int) -> None:
        """An instance by which a row followed is destroyed: tell by which other it does, if that was the one told."""
        claimed = self.claimed[relation]
        told = claimed.get(row)
        if told is None or lost > told:
            return
        ranks: list[int] = []
        self.instances.deriving(relation, row, lambda rule, _, entries: ranks.append(_highest(entries)))
        rank = min(ranks, default=None)
        if rank == told:
            return
        if rank is None:
            del claimed[row]
        else:
            claimed[row] = rank
        home = self.host.home(relation, row)
        if home == self.host.number:
            self._losing.append((relation, row, home, rank))
        elif home is not None:
            self.host.send(home, self._correction((relation, row), rank))

    def _correction(self, fact: Fact, rank: int | None) -> Message:
        """What is said when a row that was told follows no more, or from premises of another rank."""
        if rank is None:
            return Withdrawn((self._told.withdraw(fact),), *fact, (fact[1],))
        return Reranked(self._told.number(fact), rank, *fact)


def _change(claims: Claims, who: int, rank: int | None) -> None:
    if rank is None:
        claims.pop(who, None)
    else:
        claims[who] = rank


def _highest(entries: Sequence[Entry | None]) -> int:
    highest = _BEFORE_ALL
    for entry in entries:
        if entry is not None and entry.value.rank > highest:
            highest = entry.value.rank
    return highest


def ranked() -> SchemeMaker:
    """Ranked support."""
    return RankedScheme
