"""The rule instances of one node: a rule with a row for each of its premises, all of which are here.

An instance comes about with the last of its rows and is destroyed with the first that goes. New ones are found by
the node as it fires strands; these functions find those that a row which goes takes with it, and those by which a
given row follows. Nothing may be on its way into a table when they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headwater.networks.annotated.scheme import Host
from headwater.networks.orders.order import Update
from headwater.networks.runtime.messages import Message
from headwater.networks.runtime.row_table import Entry, Row
from headwater.networks.strands.strand import ALL_STAMPS, Firing

Found = Callable[[int, Row, Sequence[Entry | None]], None]
"""What is done with an instance: its rule, the row that follows, and its premises' entries, which are only lent."""

_NEWEST = ALL_STAMPS - 1


class LocalInstances:
    """Instances over the tables of a node, and where what follows from them lives."""

    def __init__(self, host: Host):
        self.host = host
        self.heads = host.plan.heads
        self._firing = Firing(host.tables, self._found)
        self._told: Found | None = None
        self._row: Row | None = None
        numbers = host.plan.numbers
        self.passing = {
            numbers[passing.candidates]: numbers[passing.relation] for passing in host.plan.program.passing
        }
        """By the number of the candidates, that of the table to which the best of them pass on."""

    def using(self, entry: Entry, found: Found) -> None:
        """Each instance that has this row among its premises, once."""
        entry.stamp = _NEWEST
        self._told, self._row = found, None
        for strand in self.host.plan.triggered[entry.table]:
            strand.fire(self._firing, entry.row, entry, _NEWEST)

    def deriving(self, relation: int, row: Row, found: Found) -> None:
        """Each instance by which a row follows."""
        self._told, self._row = found, row
        for strand in self.host.plan.deriving[relation]:
            strand.fire(self._firing, row, None, ALL_STAMPS)

    def _found(self, row: Row, entries: list[Entry | None]) -> None:
        strand = self._firing.strand
        assert strand is not None and self._told is not None
        self._told(strand.rule, row if self._row is None else self._row, entries)

    def derives(self, relation: int, row: Row) -> bool:
        """Whether a row follows from what is here."""
        rules: list[int] = []
        self.deriving(relation, row, lambda rule, _, entries: rules.append(rule))
        return bool(rules)

    def remove(self, entry: Entry) -> None:
        """Take a row out of its table."""
        self.host.tables[entry.table].remove(entry)

    def entry(self, relation: int, row: Row) -> Entry | None:
        """A row that is here."""
        return self.host.tables[relation].rows.get(row)

    def underway(self, relation: int, row: Row) -> list[Update]:
        """What has arrived of a row and is not yet in its table."""
        return [one for one in self.host.waiting() if one.relation == relation and one.row == row]

    def tell(self, relation: int, row: Row, message: Message, here: Callable[[], None]) -> None:
        """Send a message to the home of a row, or do what it says if that is this node."""
        home = self.host.home(relation, row)
        if home == self.host.number:
            here()
        elif home is not None:
            self.host.send(home, message)
