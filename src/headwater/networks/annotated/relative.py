"""Relative provenance on nodes (liu-2008 section 4, after green-2007): rows carry the instances they follow from.

An instance names its rule and the rows of its premises, so the rows of all nodes form the graph of derivations.
*Lazily*, a node ships one instance of a row and keeps the others back until that one is destroyed; *eagerly* it
ships all of them, at once or every so many seconds. A deletion destroys the instances that used the row, where they
are. A row without instances falls, and those that used it are destroyed in turn. A row that lost some of them may
hang on itself: when all nodes are at rest (`QuietStage.REDERIVE`), such rows ask for their premises, node by node,
whether they follow from base rows. What nobody answered for when all nodes are at rest again falls
(`QuietStage.COLLECT`), until no row is in doubt. Then rows that fell and have instances again come back
(`QuietStage.RELEASE`), best rows pass on, and what is published changes.

Changes may overlap with others under way; those that come while rows are tested wait until that is over. A row that
fell is not taken up again before `QuietStage.RELEASE`: else a wave of rows and one of deletions could follow each
other around a cycle for ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from headwater.networks.annotated.instances import LocalInstances
from headwater.networks.annotated.scheme import Host, Scheme, SchemeMaker
from headwater.networks.annotated.shipping import LAZY, Shipping
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.orders.order import Update
from headwater.networks.runtime.message_codec import instances_size, row_size
from headwater.networks.runtime.messages import AskedFor, Dropped, FollowsBy, Grounded, Instance, Message
from headwater.networks.runtime.row_table import Entry, Row
from headwater.networks.strands.strand import Strand
from headwater.rules.checked import Premise

STATED: Instance = (-1, ())
"""The instance of a base row."""
PASSED: Instance = (-2, ())
"""That of a best row: it follows from the same row among the candidates."""

Fact = tuple[int, Row]
"""A relation and a row of it."""


class ShippedInstances:
    """A row that this node derives: the instances that its home knows, and those that are kept back."""

    __slots__ = ("kept", "told")

    def __init__(self) -> None:
        self.told: dict[Instance, None] = {}
        self.kept: dict[Instance, None] = {}


class RelativeScheme(Scheme):
    """One node's part of the graph: entries carry the instances of their rows."""

    waits_for_rest = True

    def __init__(self, host: Host, shipping: Shipping = LAZY):
        self.host = host
        self.shipping = shipping
        self.instances = LocalInstances(host)
        self.shipped: list[dict[Row, ShippedInstances]] = [{} for _ in host.plan.relations]
        self.doubtful: dict[Fact, None] = {}
        """Rows that lost some of their instances."""
        self.fallen: dict[Fact, dict[Instance, None]] = {}
        """Rows that fell, and the instances that they have nevertheless."""
        self.test: GroundingTest | None = None
        self._shaken = False
        self._later: list[tuple[bool, int, Row]] = []
        self._dropping: deque[tuple[int, Row, Instance]] = deque()
        self._waiting: dict[Fact, None] = {}
        self._premises = _premises(host)
        self._candidates = {best: candidates for candidates, best in self.instances.passing.items()}
        self._certain = _certain(host)

    @property
    def steady(self) -> bool:
        """Whether no row that is here is in doubt."""
        return not self._shaken

    # ------------------------------------------------------------------ changes

    def insert(self, relation: int, row: Row) -> None:
        if self.test is not None:
            self._later.append((True, relation, row))
        else:
            self._arrive(relation, row, (STATED,))

    def delete(self, relation: int, row: Row) -> None:
        if self.test is not None:
            self._later.append((False, relation, row))
        else:
            self._drop(relation, row, STATED)

    def receive(self, sender: int, message: Message) -> None:
        if isinstance(message, FollowsBy):
            self._arrive(message.relation, message.row, message.instances)
        elif isinstance(message, Dropped):
            self._drop(message.relation, message.row, message.instance)
        elif isinstance(message, AskedFor):
            self._testing().asked((message.relation, message.row), sender)
        else:
            assert isinstance(message, Grounded)
            self._testing().grounded_elsewhere((message.relation, message.row))

    def woken(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for relation, row in waiting:
            shipped = self.shipped[relation].get(row)
            if shipped is not None and shipped.kept:
                kept, shipped.kept = shipped.kept, {}
                shipped.told.update(kept)
                self._tell(relation, row, tuple(kept))

    def holds_back(self) -> bool:
        return bool(self._waiting)

    def wants(self) -> QuietStage:
        if self.test is not None:
            return QuietStage.COLLECT
        if self.doubtful:
            return QuietStage.REDERIVE
        return QuietStage.RELEASE if self._shaken else QuietStage.NOTHING

    def begin(self, stage: QuietStage) -> None:
        if stage is QuietStage.COLLECT:
            self._collect()
        elif stage is QuietStage.REDERIVE:
            doubtful, self.doubtful = self.doubtful, {}
            test = self._testing()
            for fact in doubtful:
                test.visit(fact)
        elif stage is QuietStage.RELEASE:
            self._release()

    def _testing(self) -> GroundingTest:
        if self.test is None:
            self.test = GroundingTest(self)
        return self.test

    # ------------------------------------------------------------------ rows in and out

    def store(self, update: Update, stamp: int) -> Entry | None:
        entry = self.instances.entry(update.relation, update.row)
        known = self.fallen.get((update.relation, update.row)) if entry is None else entry.value
        if known is not None:
            known.update(update.value)
            return None
        if not update.value:
            return None
        entry = Entry(update.relation, update.row, update.value, stamp)
        self.host.tables[update.relation].add(entry)
        return entry

    def carried(self, entry: Entry) -> int:
        return instances_size(instance for instance in entry.value if instance[0] >= 0)

    def kept(self) -> int:
        return sum(
            row_size(relation, row) + instances_size(one.told) + instances_size(one.kept)
            for relation, shipped in enumerate(self.shipped)
            for row, one in shipped.items()
        )

    def passed(self, entry: Entry) -> Any:
        return {PASSED: None}

    def derived(self, strand: Strand, row: Row, entries: Sequence[Entry | None], news: Any) -> None:
        relation = self.instances.heads[strand.rule]
        instance = _instance(strand.rule, entries)
        shipped = self.shipped[relation].get(row)
        if shipped is None:
            shipped = self.shipped[relation][row] = ShippedInstances()
        if not shipped.told or self.shipping.at_once:
            shipped.told[instance] = None
            self._tell(relation, row, (instance,))
        else:
            shipped.kept[instance] = None
            if self.shipping.timer is not None:
                if not self._waiting:
                    self.host.wake(self.shipping.timer)
                self._waiting[relation, row] = None

    def _tell(self, relation: int, row: Row, instances: tuple[Instance, ...]) -> None:
        self.instances.tell(
            relation,
            row,
            FollowsBy(relation, row, instances),
            lambda: self._arrive(relation, row, instances),
        )

    def _arrive(self, relation: int, row: Row, instances: tuple[Instance, ...]) -> None:
        entry = self.instances.entry(relation, row)
        if entry is not None:
            entry.value.update(dict.fromkeys(instances))
        else:
            self.host.arrive(relation, row, dict.fromkeys(instances))

    # ------------------------------------------------------------------ losses

    def _drop(self, relation: int, row: Row, instance: Instance) -> None:
        """An instance of a row of this node is destroyed."""
        self._dropping.append((relation, row, instance))
        self._work_off()

    def _collect(self) -> None:
        """Rows that nobody answered for fall, on all nodes at once; then changes that had to wait are made."""
        test, self.test = self.test, None
        entries = [self.instances.entry(*fact) for fact in test.cut_off()] if test is not None else []
        destroyed = [lost for entry in entries if entry is not None for lost in self._fall(entry)]
        for lost in destroyed:
            self._destroy(*lost)
        self._work_off()
        later, self._later = self._later, []
        for comes, relation, row in later:
            (self.insert if comes else self.delete)(relation, row)

    def _fall(self, entry: Entry) -> list[tuple[int, Row, Instance]]:
        """A row goes; the instances that it takes with it."""
        self._shaken = True
        self.fallen[entry.table, entry.row] = entry.value
        self.doubtful.pop((entry.table, entry.row), None)
        destroyed: list[tuple[int, Row, Instance]] = []

        def found(rule: int, head: Row, entries: Sequence[Entry | None]) -> None:
            destroyed.append((self.instances.heads[rule], head, _instance(rule, entries)))

        self.instances.using(entry, found)
        self.instances.remove(entry)
        passing = self.instances.passing.get(entry.table)
        if passing is not None:
            self._dropping.append((passing, entry.row, PASSED))
        return destroyed

    def _work_off(self) -> None:
        while self._dropping:
            self._dropped(*self._dropping.popleft())

    def _dropped(self, relation: int, row: Row, instance: Instance) -> None:
        for update in self.instances.underway(relation, row):
            update.value.pop(instance, None)
        self.fallen.get((relation, row), {}).pop(instance, None)
        entry = self.instances.entry(relation, row)
        if entry is None or instance not in entry.value:
            return
        self._shaken = True
        del entry.value[instance]
        if entry.value:
            if relation not in self._certain:
                self.doubtful[relation, row] = None
            return
        for lost in self._fall(entry):
            self._destroy(*lost)

    def _destroy(self, relation: int, row: Row, instance: Instance) -> None:
        """An instance of this node is no more: its home is told, and before that of another one, if there is any."""
        shipped = self.shipped[relation].get(row)
        if shipped is None or shipped.kept.pop(instance, 0) is None:
            return
        if shipped.told.pop(instance, 0) is not None:
            return
        if not shipped.told and shipped.kept:
            other = next(iter(shipped.kept))
            del shipped.kept[other]
            shipped.told[other] = None
            self._tell(relation, row, (other,))
        if not shipped.told:
            del self.shipped[relation][row]
        self.instances.tell(
            relation,
            row,
            Dropped(relation, row, instance),
            lambda: self._dropping.append((relation, row, instance)),
        )

    def _release(self) -> None:
        """No row is in doubt: those that fell and follow nevertheless come back."""
        self._shaken = False
        fallen, self.fallen = self.fallen, {}
        for (relation, row), instances in fallen.items():
            if instances:
                self.host.arrive(relation, row, instances)

    # ------------------------------------------------------------------ the graph

    def premises(self, fact: Fact, instance: Instance) -> Iterator[Fact]:
        """The premises of an instance that may be in doubt."""
        rule, rows = instance
        if instance == PASSED:
            yield self._candidates[fact[0]], fact[1]
        elif rule >= 0:
            for relation, row in zip(self._premises[rule], rows, strict=True):
                if relation not in self._certain:
                    yield relation, row


class GroundingTest:
    """Which rows in doubt follow from base rows: one node's part of the search, from rows to their premises."""

    def __init__(self, scheme: RelativeScheme):
        self.scheme = scheme
        self.host = scheme.host
        self.visited: dict[Fact, None] = {}
        self.grounded: set[Fact] = set()
        """Rows that follow: those of this node, and premises that others have answered for."""
        self._asked: set[Fact] = set()
        self._askers: dict[Fact, dict[int, None]] = {}
        self._resting: dict[Fact, list[tuple[Fact, Instance]]] = {}
        """Rows visited here and an instance of each, by a premise that they wait for."""

    def visit(self, fact: Fact) -> None:
        """Find out about a row of this node."""
        todo = [fact]
        while todo:
            one = todo.pop()
            entry = self.scheme.instances.entry(*one)
            if one in self.visited or entry is None:
                continue
            self.visited[one] = None
            for instance in entry.value:
                if one in self.grounded:
                    break
                todo += self._rest(one, instance)

    def _rest(self, fact: Fact, instance: Instance) -> list[Fact]:
        """Wait for the premises of an instance; those of this node that are yet to be visited."""
        missing = [one for one in self.scheme.premises(fact, instance) if one not in self.grounded]
        if not missing:
            self._found(fact)
            return []
        here = []
        for premise in missing:
            self._resting.setdefault(premise, []).append((fact, instance))
            if premise not in self._asked:
                self._asked.add(premise)
                home = self.host.home(*premise)
                if home == self.host.number:
                    here.append(premise)
                elif home is not None:
                    self.host.send(home, AskedFor(*premise))
        return here

    def asked(self, fact: Fact, sender: int) -> None:
        """Another node waits for a row of this one."""
        if fact in self.grounded:
            self.host.send(sender, Grounded(*fact))
        else:
            self._askers.setdefault(fact, {})[sender] = None
            self.visit(fact)

    def grounded_elsewhere(self, fact: Fact) -> None:
        """Another node has answered."""
        self._found(fact)

    def _found(self, fact: Fact) -> None:
        """A row follows, and with it perhaps those that wait for it."""
        todo = [fact]
        while todo:
            one = todo.pop()
            if one in self.grounded:
                continue
            self.grounded.add(one)
            for asker in self._askers.pop(one, ()):
                self.host.send(asker, Grounded(*one))
            for other, instance in self._resting.pop(one, ()):
                if other not in self.grounded and all(
                    premise in self.grounded for premise in self.scheme.premises(other, instance)
                ):
                    todo.append(other)

    def cut_off(self) -> list[Fact]:
        """The rows that nobody answered for."""
        return [fact for fact in self.visited if fact not in self.grounded]


def _instance(rule: int, entries: Sequence[Entry | None]) -> Instance:
    return rule, tuple([entry.row for entry in entries if entry is not None])


def _premises(host: Host) -> list[tuple[int, ...]]:
    """The relations of each rule's premises."""
    numbers = host.plan.numbers
    return [
        tuple(numbers[item.relation] for item in rule.body if isinstance(item, Premise))
        for rule in host.plan.rules
    ]


def _certain(host: Host) -> set[int]:
    """The relations whose rows cannot hang on themselves, nor on rows that do."""
    program, numbers = host.plan.program, host.plan.numbers
    doubtful = set(program.recursive) | {passing.relation for passing in program.passing}
    doubtful |= {passing.candidates for passing in program.passing}
    before = -1
    while before < len(doubtful):
        before = len(doubtful)
        for rule in program.rules:
            if any(isinstance(item, Premise) and item.relation in doubtful for item in rule.body):
                doubtful.add(rule.relation)
    return {number for name, number in numbers.items() if name not in doubtful}


def relative(shipping: Shipping = LAZY) -> SchemeMaker:
    """Relative provenance, shipped lazily, eagerly, or eagerly every so many seconds."""
    return lambda host: RelativeScheme(host, shipping)
