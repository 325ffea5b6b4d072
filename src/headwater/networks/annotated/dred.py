"""Delete and rederive on nodes (Gupta, Mumick and Subrahmanian; liu-2008 section 3.2): the yardstick.

Rows carry nothing but who says that they follow. A node says so once for each row, however often it derives it. A
deletion first takes away all that rests on the deleted row in any way: who loses an instance takes back the row
that followed, whether or not there is another, and so on. When all nodes are at rest (`QuietStage.REDERIVE`), a row
that fell comes back if somebody else still says that it follows, and each node says again what it took back and can
still derive.

With `requests`, homes do not remember who has said what, as in a system that keeps rows only: they ask all nodes
that may have said so and did not take it back, and these answer. That is counted to show what it costs; who is
asked is looked up in what is remembered.

Changes may overlap with others under way. A row that fell is not taken up again before the next such moment,
whoever says that it follows: else a wave of rows and one of deletions could follow each other around a cycle for
ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from headwater.networks.annotated.instances import LocalInstances
from headwater.networks.annotated.scheme import Host, Scheme, SchemeMaker
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.orders.order import Update
from headwater.networks.runtime.message_codec import row_size
from headwater.networks.runtime.messages import AskedFor, Follows, Message, TakenBack
from headwater.networks.runtime.row_table import Entry, Row
from headwater.networks.strands.strand import Strand

OUTSIDE = 1
"""The bit of those who state base rows."""
PASSED = 2
"""The bit of a selection that passes its best rows on."""
_FIRST_NODE = 4
"""The bit of node 0; the others follow."""
_STATED = OUTSIDE | PASSED

Fact = tuple[int, Row]
"""A relation and a row of it."""


class DRedScheme(Scheme):
    """One node's rows: entries carry the set of those who say that they follow, as bits."""

    waits_for_rest = True

    def __init__(self, host: Host, *, requests: bool = False):
        self.host = host
        self.requests = requests
        self.instances = LocalInstances(host)
        self.said: list[set[Row]] = [set() for _ in host.plan.relations]
        """By relation: what this node says."""
        self.taken_back: dict[Fact, None] = {}
        self.fallen: dict[Fact, int] = {}
        """Rows that fell, and who still says that they follow."""
        self._falling: deque[tuple[int, Row, int]] = deque()
        self._me = _FIRST_NODE << host.number

    @property
    def steady(self) -> bool:
        """Whether no row has fallen that may yet come back."""
        return not self.fallen

    # ------------------------------------------------------------------ changes

    def insert(self, relation: int, row: Row) -> None:
        self.host.arrive(relation, row, OUTSIDE)

    def delete(self, relation: int, row: Row) -> None:
        self._fall(relation, row, OUTSIDE)

    def receive(self, sender: int, message: Message) -> None:
        who = _FIRST_NODE << sender
        if isinstance(message, Follows):
            self.host.arrive(message.relation, message.row, who)
        elif isinstance(message, TakenBack):
            self._fall(message.relation, message.row, who)
        else:
            assert isinstance(message, AskedFor)
            if message.row in self.said[message.relation]:
                self.host.send(sender, Follows(message.relation, message.row))

    def wants(self) -> QuietStage:
        return QuietStage.REDERIVE if self.fallen or self.taken_back else QuietStage.NOTHING

    def begin(self, stage: QuietStage) -> None:
        if stage is QuietStage.REDERIVE:
            self._rederive()

    # ------------------------------------------------------------------ rows in and out

    def store(self, update: Update, stamp: int) -> Entry | None:
        fact = (update.relation, update.row)
        entry = self.instances.entry(*fact)
        if entry is not None:
            entry.value |= update.value
            return None
        if not update.value:
            return None
        if fact in self.fallen:
            self.fallen[fact] |= update.value
            return None
        entry = Entry(update.relation, update.row, update.value, stamp)
        self.host.tables[update.relation].add(entry)
        return entry

    def derived(self, strand: Strand, row: Row, entries: Sequence[Entry | None], news: Any) -> None:
        self._say(self.instances.heads[strand.rule], row)

    def carried(self, entry: Entry) -> int:
        return 0

    def kept(self) -> int:
        return sum(row_size(relation, row) for relation, said in enumerate(self.said) for row in said)

    def passed(self, entry: Entry) -> Any:
        return PASSED

    def _say(self, relation: int, row: Row) -> None:
        said = self.said[relation]
        if row not in said:
            said.add(row)
            self.instances.tell(
                relation, row, Follows(relation, row), lambda: self.host.arrive(relation, row, self._me)
            )

    # ------------------------------------------------------------------ phases

    def _fall(self, relation: int, row: Row, who: int) -> None:
        """Somebody no longer says that a row follows: it falls, and with it all that rests on it."""
        self._falling.append((relation, row, who))
        while self._falling:
            self._take_away(*self._falling.popleft())

    def _take_away(self, relation: int, row: Row, who: int) -> None:
        for update in self.instances.underway(relation, row):
            update.value &= ~who
        entry = self.instances.entry(relation, row)
        if entry is None:
            if (relation, row) in self.fallen:
                self.fallen[relation, row] &= ~who
            return
        self.fallen[relation, row] = entry.value & ~who

        def found(rule: int, head: Row, entries: object) -> None:
            self._take_back(self.instances.heads[rule], head)

        self.instances.using(entry, found)
        self.instances.remove(entry)
        passing = self.instances.passing.get(relation)
        if passing is not None:
            self._falling.append((passing, row, PASSED))

    def _take_back(self, relation: int, row: Row) -> None:
        said = self.said[relation]
        if row in said:
            said.discard(row)
            self.taken_back[relation, row] = None
            self.instances.tell(
                relation,
                row,
                TakenBack(relation, row),
                lambda: self._falling.append((relation, row, self._me)),
            )

    def _rederive(self) -> None:
        fallen, self.fallen = self.fallen, {}
        taken_back, self.taken_back = self.taken_back, {}
        for (relation, row), who in fallen.items():
            if self.requests:
                for node in self.host.others():
                    if who & _FIRST_NODE << node:
                        self.host.send(node, AskedFor(relation, row))
                who &= _STATED | self._me
            if who:
                self.host.arrive(relation, row, who)
        for relation, row in taken_back:
            if row not in self.said[relation] and self.instances.derives(relation, row):
                self._say(relation, row)


def dred(*, requests: bool = False) -> SchemeMaker:
    """Delete and rederive; with `requests`, as it would be without remembering who has said what."""
    return lambda host: DRedScheme(host, requests=requests)
