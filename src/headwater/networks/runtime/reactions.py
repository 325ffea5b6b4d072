"""How a node reacts to events: update rules, run in local fixpoints (P2).

What holds:
- one thing from outside at a time (an event, a row to insert or delete, a timer) begins a *local fixpoint*. Events
  that rules raise at this node belong to the same one; each distinct event fires its rules once;
- while it runs, tables do not change. What rules insert and delete is done afterwards, in the order in which it was
  derived; views follow at once, as far as this node can tell. Rows that tables have gained by then, or that were
  said again where they have a lifetime, fire the rules without an event: the next local fixpoint, before anything
  else from outside;
- what belongs to other nodes is sent when the fixpoint ends.

A refreshed row does not fire the rules of its own recursion: it would refresh itself for ever.

Rows that are given are base rows to the node's scheme: what views derive from them is maintained. A scheme may take
its time about deletions, so update rules read such rows in tables of their own. What a rule has inserted
stays until it is deleted, replaced by key, evicted or expired.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from headwater.errors import EvaluationError
from headwater.networks.runtime.event_aggregates import aggregates
from headwater.networks.runtime.messages import EventRaised, Happening, Message, RowDeleted, RowInserted
from headwater.networks.runtime.moment import NodeMoment
from headwater.networks.runtime.row_table import Entry, Row, RowTable
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.strands.strand import ALL_STAMPS, Firing, Strand
from headwater.networks.strands.update_strands import UpdateStrands
from headwater.rules.checked import UpdateAggregate, UpdateKind
from headwater.rules.network_text import BROADCAST

MOST_EVENTS_AT_ONCE = 100_000
"""In one local fixpoint; more than that is most likely a rule that raises its own event for ever."""

Change = tuple[UpdateKind, int, Row]
"""What is done with a row of a relation, by number."""
_MESSAGES: dict[UpdateKind, type[Happening]] = {
    UpdateKind.RAISE: EventRaised, UpdateKind.INSERT: RowInserted, UpdateKind.DELETE: RowDeleted,
}  # fmt: skip
_KINDS = {message: kind for kind, message in _MESSAGES.items()}


class ReactingHost(Protocol):
    """What reactions ask of their node."""

    number: int
    plan: NodePlan
    tables: list[RowTable]

    def home(self, relation: int, row: Row) -> int | None: ...

    def address(self, node: int) -> Any: ...

    def neighbours(self) -> Iterable[int]: ...

    def send(self, receiver: int, message: Message) -> None: ...

    def put(self, relation: int, row: Row) -> tuple[bool, list[Row]]: ...

    def take(self, relation: int, row: Row) -> bool: ...

    def follow(self) -> None: ...

    def saw(self, relation: int, row: Row) -> None: ...


class _Appearing:
    """The rows that a view has gained and lost since somebody looked."""

    def __init__(self, reactions: Reactions, relation: int):
        self.reactions = reactions
        self.relation = relation

    def appeared(self, row: Row) -> None:
        self.reactions.gained[self.relation, row] = True

    def vanished(self, row: Row) -> None:
        self.reactions.gained.pop((self.relation, row), None)
        self.reactions.lost[self.relation, row] = None


class Reactions:
    """One node's."""

    def __init__(self, host: ReactingHost, moment: NodeMoment):
        self.host = host
        self.plan = host.plan
        self.moment = moment
        self.undelivered = 0
        """What belongs to an address that no node has."""
        self.gained: dict[tuple[int, Row], bool] = {}
        """Rows that tables have gained, or (`False`) that were said again."""
        self.lost: dict[tuple[int, Row], None] = {}
        self.tables = [
            RowTable(relation.arity, self.plan.indexes[number]) if relation.base else host.tables[number]
            for number, relation in enumerate(self.plan.relations)
        ]
        """What update rules read: rows that are given, as they are now, and views as far as the scheme has them."""
        self._outside: deque[Change] = deque()
        self._firing = Firing(self.tables, self._found)
        self._firing.moment = moment
        self._bindings: list[Row] = []
        self._told: dict[tuple[int, Row], Row] = {}
        """Of aggregates over tables: what was said last of each group."""
        for number, relation in enumerate(self.plan.relations):
            if self.plan.fired[number] and not relation.base:
                self.tables[number].watchers.append(_Appearing(self, number))

    # ------------------------------------------------------------------ from outside

    def happened(self, kind: UpdateKind, relation: int, row: Row) -> None:
        """Something that `run` will react to, after all that has come before."""
        self._outside.append((kind, relation, row))

    def receive(self, message: Happening) -> None:
        """Another node's rules did something here."""
        self.happened(_KINDS[type(message)], message.relation, message.row)

    def run(self) -> None:
        """React until nothing is left."""
        while True:
            while self.gained or self.lost:
                gained, self.gained = self.gained, {}
                lost, self.lost = self.lost, {}
                self._fixpoint([(relation, row, new) for (relation, row), new in gained.items()], lost)
            if not self._outside:
                return
            kind, relation, row = self._outside.popleft()
            if kind is UpdateKind.RAISE:
                self._fixpoint([(relation, row, True)], ())
            else:
                self._change([(kind, relation, row)])

    # ------------------------------------------------------------------ a local fixpoint

    def _fixpoint(self, starts: Iterable[tuple[int, Row, bool]], lost: Iterable[tuple[int, Row]]) -> None:
        fixpoint = _Fixpoint(self)
        for relation, row in lost:
            for compiled, strand in self.plan.fired[relation]:
                if compiled.whole is not None:
                    fixpoint.groups(compiled, strand, row)
        waiting = deque(starts)
        while waiting or fixpoint.raised:
            relation, row, new = waiting.popleft() if waiting else (*fixpoint.raised.popleft(), True)
            fixpoint.fire(relation, row, new)
        for receiver, message in fixpoint.messages:
            self.host.send(receiver, message)
        self._change(fixpoint.changes)

    def bindings(self, strand: Strand, row: Row) -> list[Row]:
        """What a strand finds, as rows of its rule's head."""
        self._bindings = []
        strand.fire(self._firing, row, None, ALL_STAMPS)
        return self._bindings

    def _found(self, row: Row, entries: list[Entry | None]) -> None:
        self._bindings.append(row)

    def is_news(self, compiled: UpdateStrands, group: Row, row: Row) -> bool:
        """Whether an aggregate of tables has another value than was said last."""
        if (
            compiled.kind is not UpdateKind.RAISE
            and self.plan.relations[compiled.relation].lifetime is not None
        ):
            self._told[compiled.number, group] = row
            return True
        if self._told.get((compiled.number, group)) == row:
            return False
        self._told[compiled.number, group] = row
        return True

    def said(self, compiled: UpdateStrands, group: Row) -> Row | None:
        """What was said of a group last; nothing is, from now on."""
        return self._told.pop((compiled.number, group), None)

    def _change(self, changes: Iterable[Change]) -> None:
        """Do to tables what was decided, in order; views follow."""
        changed = False
        for kind, relation, row in changes:
            changed = True
            fires = bool(self.plan.fired[relation])
            table = self.tables[relation]
            new, gone = False, [row]
            if kind is UpdateKind.INSERT:
                new, gone = self.host.put(relation, row)
            elif not self.host.take(relation, row):
                continue
            for other in gone:
                table.remove(table.rows[other])
                if fires:
                    self.gained.pop((relation, other), None)
                    self.lost[relation, other] = None
            if new:
                table.add(Entry(relation, row, None, 0))
            if kind is UpdateKind.DELETE:
                continue
            if fires and new:
                self.lost.pop((relation, row), None)
                self.gained[relation, row] = True
            elif fires and self.plan.relations[relation].lifetime is not None:
                self.gained.setdefault((relation, row), False)
        if changed:
            self.host.follow()


class _Fixpoint:
    """One local fixpoint while it runs: events to come, and what is to be done in the end."""

    def __init__(self, reactions: Reactions):
        self.reactions = reactions
        self.host = reactions.host
        self.raised: deque[tuple[int, Row]] = deque()
        self.changes: dict[Change, None] = {}
        self.messages: dict[tuple[int, Happening], None] = {}
        self._seen: set[tuple[int, Row]] = set()
        self._grouped: set[tuple[int, Row]] = set()

    def fire(self, relation: int, row: Row, new: bool) -> None:
        """Fire the rules of an event, or of a row that a table has gained."""
        if (relation, row) in self._seen:
            return
        self._seen.add((relation, row))
        if len(self._seen) > MOST_EVENTS_AT_ONCE:
            name = self.host.plan.relations[relation].name
            raise EvaluationError(
                "no-fixpoint",
                f"{len(self._seen):,} events at one node at once, the last of them of {name}",
                hint="does a rule raise its own event again and again? Let a timer do that, or bound it",
            )
        if self.host.plan.relations[relation].event:
            self.host.saw(relation, row)
        for compiled, strand in self.host.plan.fired[relation]:
            if not new and relation in compiled.recursive:
                continue
            if not compiled.aggregates:
                for found in self.reactions.bindings(strand, row):
                    self._do(compiled, found)
            elif compiled.event:
                self._of_event(compiled, strand, row)
            else:
                self.groups(compiled, strand, row)

    def _of_event(self, compiled: UpdateStrands, strand: Strand, row: Row) -> None:
        groups: dict[Row, list[Row]] = {}
        for found in self.reactions.bindings(strand, row):
            groups.setdefault(found[: compiled.group], []).append(found[compiled.group :])
        if not groups and compiled.empty is not None:
            groups = {group: [] for group in self.reactions.bindings(compiled.empty, row)}
        for group, arguments in groups.items():
            self._do(compiled, _aggregated(compiled, group, arguments))

    def groups(self, compiled: UpdateStrands, strand: Strand, row: Row) -> None:
        """Look again at the groups that a row of a table belongs to, or did."""
        assert compiled.whole is not None
        for group in dict.fromkeys(found[: compiled.group] for found in self.reactions.bindings(strand, row)):
            if (compiled.number, group) in self._grouped:
                continue
            self._grouped.add((compiled.number, group))
            bindings = self.reactions.bindings(compiled.whole, group)
            if not bindings:
                before = self.reactions.said(compiled, group)
                if before is not None and compiled.kind is UpdateKind.INSERT:
                    self._do(compiled, before, UpdateKind.DELETE)
                continue
            head = _aggregated(compiled, group, [found[compiled.group :] for found in bindings])
            if self.reactions.is_news(compiled, group, head):
                self._do(compiled, head)

    def _do(self, compiled: UpdateStrands, row: Row, kind: UpdateKind | None = None) -> None:
        """Take down what follows, for this node or another."""
        relation, kind = compiled.relation, kind or compiled.kind
        home = self.host.home(relation, row)
        if home == self.host.number:
            if kind is UpdateKind.RAISE:
                self.raised.append((relation, row))
            else:
                self.changes[kind, relation, row] = None
        elif home is not None:
            self.messages[home, _MESSAGES[kind](relation, row)] = None
        elif (column := self.host.plan.relations[relation].location) is not None and row[column] == BROADCAST:
            for other in self.host.neighbours():
                sent = (*row[:column], self.host.address(other), *row[column + 1 :])
                self.messages[other, _MESSAGES[kind](relation, sent)] = None
        else:
            self.reactions.undelivered += 1


def _aggregated(compiled: UpdateStrands, group: Row, bindings: Sequence[Row]) -> Row:
    """The row of the head: the group's terms and the aggregates, each in its place."""
    plain = iter(group)
    columns = [[arguments[place] for arguments in bindings] for place in range(len(compiled.aggregates))]
    functions = [term.function for term in compiled.aggregates]
    values = iter(aggregates(functions, columns))
    return tuple(next(values) if isinstance(term, UpdateAggregate) else next(plain) for term in compiled.head)
