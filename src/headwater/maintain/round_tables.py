"""The tables that the kernel runs small rounds of a stratum by (see `kernel/rounds/tables`), made from its plans.

Column lists, constants and numbers of relations are written once for some plans and indexes. Addresses are written
again where an array has grown: `refresh` tells by the arrays themselves, which it does not keep.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.kernel.index import Index
from headwater.kernel.lists import Lists
from headwater.kernel.relation import Relation
from headwater.kernel.rounds import tables
from headwater.kernel.rounds.addresses import address
from headwater.kernel.rounds.choosing import MOST_CHOSEN
from headwater.kernel.rounds.running import WIDEST
from headwater.maintain.selection import Chooser
from headwater.maintain.workspace import RuleSet, Workspace
from headwater.plan.steps import AddNumbers, AntiJoin, Ints, Join, Plan, Step

FIRST_ROOM = 2048
"""How many rows a queue has room for at first."""
SUPPORTS_AHEAD = 1 << 24
"""How many more supports a row may get in one call, at the most."""
QUEUE_COUNT = tables.BATCH + 1
"""How many queues an own relation has."""


class StratumTables:
    """The tables for the rules of one stratum by certain plans, and the queues of its relations."""

    def __init__(self, workspace: Workspace, rules: RuleSet, plans: list[Plan], choosers: dict[str, Chooser]):
        self.workspace = workspace
        self.recursive = rules.recursive
        self.plans = plans
        self.choosers = choosers
        self.own = tuple(sorted(rules.own))
        self.fitting = all(map(_fits, plans)) and all(_chooses(chooser) for chooser in choosers.values())
        self.names: list[str] = list(self.own)
        for name in _read(plans) if self.fitting else ():
            if name not in self.names:
                self.names.append(name)
        looked_up = {*self.own, *(step.relation for plan in plans for step in _spelt_out(plan))}
        self._looked_up = [name in looked_up for name in self.names]
        """Whose rows are looked for as a whole."""
        self.known: list[tuple[Relation, list[Index | Lists]]] = []
        """The relations and indexes that the tables are about."""
        self._arrays: list[list[weakref.ref[npt.NDArray[Any]]]] = []
        """What the addresses in the tables are those of, as long as it is there."""
        self.buffers: list[QueueBuffers] = []

    def serves(self, plans: list[Plan], choosers: dict[str, Chooser]) -> bool:
        """Whether it is for these plans."""
        return choosers is self.choosers and all(
            one is other for one, other in zip(plans, self.plans, strict=True)
        )

    @property
    def width(self) -> int:
        """How many bytes the numbers of its relations have, once it is ready."""
        return self.known[0][0].rows.itemsize

    def ready(self) -> bool:
        """Have tables that are about the relations as they are now; whether the kernel can go by them."""
        if not self.fitting:
            return False
        relations = self.workspace.relations
        for plan in self.plans:
            step = plan.first_join
            assert step is not None
            other = relations[step.relation]
            if other.selected:
                return False
            self.workspace.executor.needs_index(step, other)
            other.index(step.key)
        for name, chooser in self.choosers.items():
            relations[name].chains(chooser.group)
        known = [(relations[name], list(relations[name].indexes.values())) for name in self.names]
        if known != self.known:
            self.known = known
            self._write()
        width = self.known[0][0].rows.dtype
        for number, (relation, _) in enumerate(self.known):
            own = number < len(self.own)
            if relation.rows.dtype != width or (own and not self._open(relation)):
                return False
        self.refresh()
        return True

    @staticmethod
    def _open(relation: Relation) -> bool:
        """Whether rows are added to a relation in the usual way, and their numbers have room to grow."""
        ahead = relation.supports + SUPPORTS_AHEAD
        return relation.backup is None and not relation.distinct and ahead < relation.largest

    def _write(self) -> None:
        """Write all that is known without addresses."""
        heap: list[int] = list(range(max(relation.arity for relation, _ in self.known)))
        numbers = {name: number for number, name in enumerate(self.names)}
        self.relations: Ints = np.zeros((len(self.names), tables.RELATION_WIDTH), np.int64)
        self.queues: Ints = np.zeros((len(self.own), tables.QUEUE_WIDTH), np.int64)
        every = [(number, index) for number, (_, held) in enumerate(self.known) for index in held]
        self.indexes: Ints = np.zeros((len(every), tables.INDEX_WIDTH), np.int64)
        self._criteria: dict[str, Ints] = {}
        for number, (relation, held) in enumerate(self.known):
            row = self.relations[number]
            row[tables.WIDTH], row[tables.ARITY] = relation.width, relation.arity
            row[tables.COUNT_COLUMN] = relation.count_column
            row[tables.HEAD_RANK_COLUMN] = relation.head_rank_column
            row[tables.FIRST_INDEX] = next((i for i, (r, _) in enumerate(every) if r == number), 0)
            row[tables.INDEXES], row[tables.GROUPS] = len(held), -1
            row[tables.SCRATCH] = address(relation.scratch)
        for number, (of, index) in enumerate(every):
            row = self.indexes[number]
            row[tables.IS_LISTS], row[tables.INDEXED] = isinstance(index, Lists), of
            _put(row, tables.COLUMNS, heap, index.columns)
        for name, chooser in self.choosers.items():
            self._write_chooser(numbers[name], chooser)
        for number in range(len(self.own)):
            self.make_queues(number, FIRST_ROOM)
        self._write_rules(heap, numbers)
        self.heap: Ints = np.array(heap, np.int64)
        self._arrays = [[] for _ in self.names]

    def _write_chooser(self, number: int, chooser: Chooser) -> None:
        relation, held = self.known[number]
        row = self.relations[number]
        row[tables.GROUPS] = row[tables.FIRST_INDEX] + held.index(relation.chains(chooser.group))
        row[tables.SINGLE] = chooser.single
        row[tables.CRITERIA] = address(chooser.criteria)
        row[tables.CRITERIA_LENGTH] = chooser.criteria.shape[0]

    def _write_rules(self, heap: list[int], numbers: Mapping[str, int]) -> None:
        self.rule_table: Ints = np.zeros((len(self.plans), tables.RULE_WIDTH), np.int64)
        steps: list[tuple[Plan, Step | None]] = []
        for row, plan, (rule, position, _) in zip(self.rule_table, self.plans, self.recursive, strict=True):
            join = plan.first_join
            assert join is not None
            other = numbers[join.relation]
            row[tables.DELTA], row[tables.HEAD] = numbers[plan.start.relation], numbers[rule.relation]
            found = self.known[other][0].index(join.key)
            row[tables.JOINED] = self.relations[other, tables.FIRST_INDEX] + self.known[other][1].index(found)
            whole = plan.results[0]
            _put(row, tables.SOURCES, heap, join.sources)
            _put(row, tables.CONSTANTS, heap, join.constants)
            _put(row, tables.OUTPUTS, heap, join.outputs if whole is None else whole)
            _put(row, tables.RESULT_CONSTANTS, heap, () if whole is None else plan.constants)
            row[tables.OWN], row[tables.EARLIER] = join.own, join.position < position
            row[tables.FIRST_STEP] = len(steps)
            steps += [(plan, step) for step in plan.steps[1:]]
            if whole is None and not plan.identity:
                steps.append((plan, None))
            row[tables.LAST_STEP] = len(steps)
        self.steps = steps
        self.step_table: Ints = np.zeros((len(steps), tables.STEP_WIDTH), np.int64)
        for row, (plan, step) in zip(self.step_table, steps, strict=True):
            _write_step(row, plan, step, heap, numbers)

    def make_queues(self, number: int, size: int) -> None:
        """Have queues of so many rows for an own relation, with what was in them."""
        row, name = self.queues[number], self.own[number]
        before = self.buffers[number] if number < len(self.buffers) else None
        made = QueueBuffers(size, choosing=name in self.choosers)
        for which in range(QUEUE_COUNT):
            there = int(row[which + tables.LENGTH])
            if before is not None and there:
                made.rows[which, :there] = before.queue(row, which)
            row[which] = made.start + 4 * size * which
        if name in self.choosers:
            chosen = address(made.chosen)
            for place, which in enumerate((tables.WANTED, tables.GONE, tables.FIRSTS)):
                row[which] = chosen + 4 * MOST_CHOSEN * place
        row[tables.ROOM] = size
        self.buffers[number:] = [made, *self.buffers[number + 1 :]]

    def refresh(self) -> None:
        """Have the addresses of now, where arrays have grown."""
        index = 0
        for number, (relation, held) in enumerate(self.known):
            arrays: list[npt.NDArray[Any]] = [
                relation.rows, relation.state, relation.free, relation.journal_rows, relation.journal,
                relation.created, relation.sizes,
            ]  # fmt: skip
            if self._looked_up[number]:
                arrays.append(relation.slots)
            for one in held:
                arrays.append(one.slots)
                arrays += [one.pool] if isinstance(one, Lists) else [one.next, one.previous]
            before = self._arrays[number]
            if len(before) != len(arrays) or any(
                held_at() is not one for held_at, one in zip(before, arrays, strict=True)
            ):
                self._arrays[number] = [weakref.ref(one) for one in arrays]
                self._write_addresses(self.relations[number], relation, self._looked_up[number])
                for place, one in enumerate(held):
                    _write_index(self.indexes[index + place], one)
            index += len(held)

    @staticmethod
    def _write_addresses(row: Ints, relation: Relation, looked_up: bool) -> None:
        row[tables.ROWS], row[tables.STATE] = address(relation.rows), address(relation.state)
        row[tables.CAPACITY] = relation.state.shape[0]
        if looked_up:
            row[tables.SLOTS], row[tables.SLOTS_LENGTH] = address(relation.slots), relation.slots.shape[0]
        row[tables.FREE], row[tables.FREE_LENGTH] = address(relation.free), relation.free.shape[0]
        row[tables.JOURNAL_ROWS] = address(relation.journal_rows)
        row[tables.JOURNAL] = address(relation.journal)
        row[tables.JOURNAL_LENGTH] = relation.journal_rows.shape[0]
        row[tables.CREATED] = address(relation.created)
        row[tables.CREATED_LENGTH], row[tables.SIZES] = relation.created.shape[0], address(relation.sizes)


class QueueBuffers:
    """The buffers of an own relation's queues, and of what is chosen in it."""

    def __init__(self, size: int, *, choosing: bool):
        self.rows = np.empty((QUEUE_COUNT, size), np.int32)
        self.start = address(self.rows)
        self.chosen = np.empty((3, MOST_CHOSEN if choosing else 0), np.int32)

    def queue(self, row: Ints, which: int) -> npt.NDArray[np.int32]:
        """The rows in a queue: it may have changed its buffer for that of another."""
        place = (int(row[which]) - self.start) // (4 * self.rows.shape[1])
        return self.rows[place, : row[which + tables.LENGTH]]


def _fits(plan: Plan) -> bool:
    """Whether the kernel can run a plan."""
    join = plan.first_join
    if join is None or join.equalities.size:
        return False
    widths = [join.outputs.shape[0], plan.outputs.shape[0]]
    for step in plan.steps[1:]:
        if isinstance(step, Join):
            if not step.whole or step.equalities.size:
                return False
        elif isinstance(step, AddNumbers):
            if step.solves:
                return False
        elif not isinstance(step, AntiJoin):
            return False
        widths.append(step.outputs.shape[0] + 1)
    return bool(max(widths) < WIDEST)


def _chooses(chooser: Chooser) -> bool:
    """Whether the kernel can choose as it does."""
    return chooser.ordered is None and chooser.criteria.shape[0] <= tables.MOST_CRITERIA


def _spelt_out(plan: Plan) -> Iterator[Join | AntiJoin]:
    """The steps of a plan that look for single rows."""
    return (step for step in plan.steps[1:] if isinstance(step, Join | AntiJoin))


def _read(plans: list[Plan]) -> Iterator[str]:
    """The relations that plans read."""
    for plan in plans:
        assert plan.first_join is not None
        yield plan.first_join.relation
        yield from (step.relation for step in _spelt_out(plan))


def _put(row: Ints, column: int, heap: list[int], values: Ints | tuple[int, ...]) -> None:
    """Put a list into the heap, and where it is into a table."""
    row[column], row[column + 1] = len(heap), len(values)
    heap.extend(int(value) for value in values)


def _write_step(
    row: Ints, plan: Plan, step: Step | None, heap: list[int], numbers: Mapping[str, int]
) -> None:
    """Write a step after the join, or what is made of the bindings in the end."""
    if step is None:
        row[tables.KIND] = tables.PROJECT
        _put(row, tables.STEP_OUTPUTS, heap, plan.outputs)
        _put(row, tables.STEP_CONSTANTS, heap, plan.constants)
        return
    assert isinstance(step, Join | AntiJoin | AddNumbers)
    _put(row, tables.STEP_OUTPUTS, heap, step.outputs)
    _put(row, tables.STEP_CONSTANTS, heap, step.constants)
    if isinstance(step, AddNumbers):
        row[tables.KIND] = tables.FLOAT_SUM if step.floats else tables.SUM
        row[tables.LEFT], row[tables.RIGHT], row[tables.SUBTRACT] = step.left, step.right, step.subtract
        return
    row[tables.KIND], row[tables.READ] = tables.ABSENT, numbers[step.relation]
    _put(row, tables.STEP_SOURCES, heap, step.sources)
    split = -1 if plan.start.position is None else plan.start.position
    row[tables.STEP_EARLIER] = step.position < split
    if isinstance(step, Join):
        row[tables.KIND], row[tables.STEP_OWN] = tables.WHOLE, step.own


def _write_index(row: Ints, index: Index | Lists) -> None:
    """Write where an index is."""
    row[tables.KEYS], row[tables.KEYS_LENGTH] = address(index.slots), index.slots.shape[0]
    row[tables.INDEX_SIZES], row[tables.INDEX_SIZES_LENGTH] = address(index.sizes), index.sizes.shape[0]
    if isinstance(index, Lists):
        row[tables.POOL], row[tables.POOL_LENGTH] = address(index.pool), index.pool.shape[0]
    else:
        row[tables.POOL], row[tables.POOL_LENGTH] = address(index.next), index.next.shape[0]
        row[tables.PREVIOUS] = address(index.previous)
