"""Ranked support on nodes: rows fall only when nothing older supports them (`docs/explanation.md`).

A row has a rank, given when it comes: greater than the ranks of all that it followed from then. An instance
*supports* the row that follows if all its premises have smaller ranks, so support never runs in circles. Each node
that derives a row tells its home the least rank by which it can support it, and what becomes of that; the home
keeps what it is told by each. A row without support falls. When all nodes are at rest (`QuietStage.REDERIVE`), what
fell and is still said to follow comes back, with a new rank.

Deletions cost what rests on the deleted row and nothing older, where delete-and-rederive takes all that rests on
it. Ranks are counted by Lamport's clocks, which is all that is needed: a node's clock is ahead of all it has heard
of. With a clock that all nodes share (the simulator's) nothing would be different but the numbers.

Changes may overlap with others under way, as in `dred`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from headwater.networks.annotated.instances import LocalInstances
from headwater.networks.annotated.scheme import Host, Scheme, SchemeMaker
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.orders.order import Update
from headwater.networks.runtime.message_codec import row_size, varint_size
from headwater.networks.runtime.messages import Message, Supported, TakenBack
from headwater.networks.runtime.row_table import Entry, Row
from headwater.networks.strands.strand import Strand

OUTSIDE = -1
"""Who states base rows, in the place of a node's number."""
PASSED = -2
"""A selection that passes its best rows on."""
_BEFORE_ALL = 0

Fact = tuple[int, Row]
"""A relation and a row of it."""
Claims = dict[int, int]
"""Who says that a row follows, and from premises of at most which rank."""


class RankAndClaims:
    """A row's rank, and what is said of it: what entries carry."""

    __slots__ = ("claims", "rank")

    def __init__(self, rank: int, claims: Claims):
        self.rank = rank
        self.claims = claims

    def supported(self) -> bool:
        """Whether something older supports the row."""
        rank = self.rank
        return any(oldest < rank for oldest in self.claims.values())


class RankedScheme(Scheme):
    """One node's rows with their ranks."""

    def __init__(self, host: Host):
        self.host = host
        self.instances = LocalInstances(host)
        self.clock = _BEFORE_ALL
        self.claimed: list[dict[Row, int]] = [{} for _ in host.plan.relations]
        """By relation: the rows that this node says follow, and the rank that it has told."""
        self.fallen: dict[Fact, Claims] = {}
        self._doubtful = False
        """Whether a row has fallen that selections depend on."""
        self._losing: deque[tuple[int, Row, int, int | None]] = deque()

    @property
    def steady(self) -> bool:
        """Whether no row has fallen that may yet come back."""
        return not self.fallen

    @property
    def passes_on(self) -> bool:
        """Rows that fell with a published value that changed, and that no selection depends on, do not hold it up."""
        return not self._doubtful

    # ------------------------------------------------------------------ changes

    def insert(self, relation: int, row: Row) -> None:
        self.host.arrive(relation, row, {OUTSIDE: _BEFORE_ALL})

    def delete(self, relation: int, row: Row) -> None:
        self._lose(relation, row, OUTSIDE, None)

    def receive(self, sender: int, message: Message) -> None:
        if isinstance(message, Supported):
            self._claim(message.relation, message.row, sender, message.rank)
        else:
            assert isinstance(message, TakenBack)
            self._lose(message.relation, message.row, sender, None)

    def wants(self) -> QuietStage:
        return QuietStage.REDERIVE if self.fallen else QuietStage.NOTHING

    def begin(self, stage: QuietStage) -> None:
        if stage is QuietStage.REDERIVE:
            fallen, self.fallen = self.fallen, {}
            self._doubtful = False
            for (relation, row), claims in fallen.items():
                if claims:
                    self.host.arrive(relation, row, claims)

    # ------------------------------------------------------------------ rows in and out

    def store(self, update: Update, stamp: int) -> Entry | None:
        fact, claims = (update.relation, update.row), update.value
        entry = self.instances.entry(*fact)
        if entry is not None:
            entry.value.claims.update(claims)
            return None
        if not claims:
            return None
        if fact in self.fallen:
            self.fallen[fact].update(claims)
            return None
        self.clock = max(self.clock, *claims.values()) + 1
        entry = Entry(update.relation, update.row, RankAndClaims(self.clock, claims), stamp)
        self.host.tables[update.relation].add(entry)
        return entry

    def derived(self, strand: Strand, row: Row, entries: Sequence[Entry | None], news: Any) -> None:
        relation = self.instances.heads[strand.rule]
        claimed = self.claimed[relation]
        if row not in claimed:
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

    def _tell(self, relation: int, row: Row, rank: int) -> None:
        here = self.host.number
        self.instances.tell(
            relation,
            row,
            Supported(relation, row, rank),
            lambda: self._claim(relation, row, here, rank),
        )

    def _claim(self, relation: int, row: Row, who: int, rank: int) -> None:
        """Somebody says that a row follows, for the first time or by another instance than before."""
        entry = self.instances.entry(relation, row)
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
        self.instances.remove(entry)
        self.fallen[relation, row] = entry.value.claims
        self._doubtful = self._doubtful or relation in self.host.plan.selected
        passing = self.instances.passing.get(relation)
        if passing is not None:
            self._losing.append((passing, row, PASSED, None))
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
        here = self.host.number
        if not ranks:
            del claimed[row]
            self.instances.tell(
                relation,
                row,
                TakenBack(relation, row),
                lambda: self._losing.append((relation, row, here, None)),
            )
        elif min(ranks) != told:
            rank = claimed[row] = min(ranks)
            self.instances.tell(
                relation,
                row,
                Supported(relation, row, rank),
                lambda: self._losing.append((relation, row, here, rank)),
            )


def _change(claims: Claims, who: int, rank: int | None) -> None:
    if rank is None:
        claims.pop(who, None)
    else:
        claims[who] = rank


def _highest(entries: Sequence[Entry | None]) -> int:
    return max((entry.value.rank for entry in entries if entry is not None), default=_BEFORE_ALL)


def ranked() -> SchemeMaker:
    """Ranked support."""
    return RankedScheme
