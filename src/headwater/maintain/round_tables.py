"""The tables that the kernel runs small rounds of a stratum by (see `kernel/rounds/tables`), made from its plans.

Column lists, constants and numbers of relations are written once for some plans and indexes. Addresses are written
again where an array has grown: `refresh` tells by the arrays themselves, which it does not keep.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.kernel import indexing
from headwater.kernel.index import Index
from headwater.kernel.lists import Lists
from headwater.kernel.relation import Relation
from headwater.kernel.rounds import tables
from headwater.kernel.rounds.addresses import address
from headwater.kernel.rounds.choosing import MOST_CHOSEN
from headwater.kernel.rounds.views import WIDEST
from headwater.maintain.selection import Chooser
from headwater.maintain.workspace import RuleSet, Workspace
from headwater.plan.execute import NO_CODES
from headwater.plan.steps import AddNumbers, AntiJoin, Ints, Join, Plan, Step
from headwater.rules.checked import CheckedRule

FIRST_ROOM = 2048
"""How many rows a queue has room for at first."""
SUPPORTS_AHEAD = 1 << 24
"""How many more supports a row may get in one call, at the most."""
QUEUE_COUNT = tables.BATCH + 1
"""How many queues an own relation has."""


class PlannedRule(NamedTuple):
    """A rule that the kernel runs by a plan from rows of the premise at a position, or from dead rows of its head."""

    rule: CheckedRule
    position: int
    plan: Plan


class NeededRules:
    """Which rules of a stratum the kernel is to run: those that recurse, and others once they were needed (each takes
    indexes)."""

    def __init__(self) -> None:
        self.lower: dict[tuple[str, int], CheckedRule] = {}
        """Rules that a change below was begun from, and from which of their premises."""
        self.asked: dict[str, None] = {}
        """Relations of whose dead rows other derivations were looked for."""

    def runs(self, rules: RuleSet) -> tuple[list[PlannedRule], list[PlannedRule], list[PlannedRule]]:
        """Those that recurse, those from lower strata, and those that ask, by the plans of now."""
        plan = rules.plan
        return (
            [PlannedRule(rule, position, plan(rule, position)) for rule, position, _ in rules.recursive],
            [PlannedRule(rule, position, plan(rule, position)) for (_, position), rule in self.lower.items()],
            [PlannedRule(rule, -1, plan(rule, -1)) for rule in rules.rules if rule.relation in self.asked],
        )


class StratumTables:
    """The tables for the rules of one stratum by certain plans, and the queues of its relations."""

    def __init__(
        self,
        workspace: Workspace,
        own: Iterable[str],
        runs: tuple[list[PlannedRule], list[PlannedRule], list[PlannedRule]],
        choosers: dict[str, Chooser],
    ):
        self.workspace = workspace
        self.choosers = choosers
        self.own = tuple(sorted(own))
        recursive, lower, asking = runs
        self.given = runs
        self.fitting = all(map(_fits, recursive)) and all(_chooses(chooser) for chooser in choosers.values())
        self.lower = {(run.rule.label, run.position): run for run in lower if _fits(run)}
        """The rules that are begun from lower strata here."""
        unfit = {run.rule.relation for run in asking if not _fits(run)}
        self.askable = frozenset(run.rule.relation for run in asking) - unfit
        """The relations of whose dead rows other derivations can be looked for here."""
        asking = [run for run in asking if run.rule.relation in self.askable]
        self.runs = [*recursive, *self.lower.values(), *asking] if self.fitting else []
        self.groups = len(recursive), len(recursive) + len(self.lower)
        """Where the rules from lower strata begin, and those that ask."""
        self.places = {key: len(recursive) + place for place, key in enumerate(self.lower)}
        self.names: list[str] = list(dict.fromkeys((*self.own, *_read(self.runs))))
        looked_up = {*self.own, *(step.relation for run in self.runs for step in _spelt_out(run.plan))}
        self._looked_up = [name in looked_up for name in self.names]
        """Whose rows are looked for as a whole."""
        self.known: list[tuple[Relation, list[Index | Lists]]] = []
        """The relations and indexes that the tables are about."""
        self._arrays: list[list[weakref.ref[npt.NDArray[Any]]]] = []
        """What the addresses in the tables are those of, as long as it is there."""
        self.buffers: list[QueueBuffers] = []
        self.relations: Ints = np.zeros((0, tables.RELATION_WIDTH), np.int64)
        self.rule_table: Ints = np.zeros((len(self.runs), tables.RULE_WIDTH), np.int64)
        self.step_table: Ints = np.zeros((0, tables.STEP_WIDTH), np.int64)
        self.steps: list[tuple[PlannedRule, Step | None]] = []

    def serves(
        self,
        runs: tuple[list[PlannedRule], list[PlannedRule], list[PlannedRule]],
        choosers: dict[str, Chooser],
    ) -> bool:
        """Whether it is for these rules by these plans."""
        return choosers is self.choosers and all(
            len(some) == len(given)
            and all(one.plan is other.plan for one, other in zip(some, given, strict=True))
            for some, given in zip(runs, self.given, strict=True)
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
        for run in self.runs:
            for step in run.plan.steps:
                if isinstance(step, Join) and not step.whole:
                    other = relations[step.relation]
                    if step.key not in other.indexes:
                        self.workspace.executor.needs_index(step, other)
                        other.index(step.key)
        for name in self.names:
            indexing.complete(relations[name])
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
        self.relations = np.zeros((len(self.names), tables.RELATION_WIDTH), np.int64)
        self.queues: Ints = np.zeros((len(self.own), tables.QUEUE_WIDTH), np.int64)
        every = [(number, index) for number, (_, held) in enumerate(self.known) for index in held]
        self.indexes: Ints = np.zeros((len(every), tables.INDEX_WIDTH), np.int64)
        for number, (relation, held) in enumerate(self.known):
            row = self.relations[number]
            row[tables.WIDTH], row[tables.ARITY] = relation.width, relation.arity
            row[tables.COUNT_COLUMN] = relation.count_column
            row[tables.HEAD_RANK_COLUMN] = relation.head_rank_column
            row[tables.FIRST_INDEX] = next((i for i, (r, _) in enumerate(every) if r == number), 0)
            row[tables.INDEXES], row[tables.GROUPS] = len(held), -1
            row[tables.SCRATCH] = address(relation.scratch)
            row[tables.ASKABLE] = self.names[number] in self.askable
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
        self.heap_start = address(self.heap)
        self._arrays = [[] for _ in self.names]

    def _write_chooser(self, number: int, chooser: Chooser) -> None:
        relation, held = self.known[number]
        row = self.relations[number]
        row[tables.GROUPS] = row[tables.FIRST_INDEX] + held.index(relation.chains(chooser.group))
        row[tables.SINGLE] = chooser.single
        row[tables.CRITERIA] = address(chooser.criteria)
        row[tables.CRITERIA_LENGTH] = chooser.criteria.shape[0]

    def _write_rules(self, heap: list[int], numbers: Mapping[str, int]) -> None:
        self.rule_table = np.zeros((len(self.runs), tables.RULE_WIDTH), np.int64)
        steps: list[tuple[PlannedRule, Step | None]] = []
        for row, run in zip(self.rule_table, self.runs, strict=True):
            plan = run.plan
            row[tables.DELTA], row[tables.HEAD] = numbers[plan.start.relation], numbers[run.rule.relation]
            row[tables.RECURS] = plan.start.own
            done = self._write_start(row, run, heap, numbers)
            row[tables.FIRST_STEP] = len(steps)
            steps += [(run, step) for step in plan.steps[done:]]
            last = plan.steps[-1] if plan.steps else None
            written = isinstance(last, Join) and (done == len(plan.steps) or self._listed(last))
            if not written and not plan.identity:
                steps.append((run, None))
            row[tables.LAST_STEP] = len(steps)
        self.steps = steps
        self.step_table = np.zeros((len(steps), tables.STEP_WIDTH), np.int64)
        for row, (run, step) in zip(self.step_table, steps, strict=True):
            self._write_step(row, run, step, heap, numbers)

    def _listed(self, step: Join) -> bool:
        """Whether a join is by lists: it can write what its plan is to give."""
        return not step.whole and not self.workspace.relations[step.relation].selected

    def _write_start(self, row: Ints, run: PlannedRule, heap: list[int], numbers: Mapping[str, int]) -> int:
        """Write how a rule begins; how many steps of its plan that takes."""
        plan, join = run.plan, run.plan.first_join
        if join is None or not self._listed(join):
            row[tables.JOINED] = -1
            _put(row, tables.CONSTANTS, heap, plan.start.constants)
            _put(row, tables.EQUALITIES, heap, plan.start.equalities)
            _put(row, tables.OUTPUTS, heap, plan.start.outputs)
            return 0
        row[tables.JOINED] = self._place_of(join, numbers)
        whole = plan.results[0]
        _put(row, tables.SOURCES, heap, join.sources)
        _put(row, tables.CONSTANTS, heap, join.constants)
        _put(row, tables.EQUALITIES, heap, join.equalities)
        _put(row, tables.OUTPUTS, heap, join.outputs if whole is None else whole)
        _put(row, tables.RESULT_CONSTANTS, heap, NO_CODES if whole is None else plan.constants)
        row[tables.OWN], row[tables.EARLIER] = join.own, join.position < _split(plan)
        return 1

    def _place_of(self, join: Join, numbers: Mapping[str, int]) -> int:
        """The number of the index that a join goes by."""
        number = numbers[join.relation]
        relation, held = self.known[number]
        return int(self.relations[number, tables.FIRST_INDEX]) + held.index(relation.index(join.key))

    def _write_step(
        self, row: Ints, run: PlannedRule, step: Step | None, heap: list[int], numbers: Mapping[str, int]
    ) -> None:
        """Write a further step, or what is made of the bindings in the end."""
        plan = run.plan
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
        row[tables.STEP_EARLIER] = step.position < _split(plan)
        if isinstance(step, Join):
            row[tables.KIND], row[tables.STEP_OWN] = tables.WHOLE, step.own
            _put(row, tables.STEP_EQUALITIES, heap, step.equalities)
            if not step.whole:
                row[tables.STEP_JOINED] = self._place_of(step, numbers)
                row[tables.KIND] = tables.LISTED if self._listed(step) else tables.CHAINED
                if self._listed(step) and step is plan.steps[-1]:
                    assert plan.results[1] is not None
                    _put(row, tables.STEP_OUTPUTS, heap, plan.results[1])
                    _put(row, tables.STEP_RESULTS, heap, plan.constants)

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


def _fits(run: PlannedRule) -> bool:
    """Whether the kernel can run a rule by a plan."""
    plan = run.plan
    widths = [plan.start.outputs.shape[0], plan.outputs.shape[0]]
    levels = 1
    for step in plan.steps:
        if isinstance(step, Join):
            if not step.key:
                return False
            levels += not step.whole
        elif not isinstance(step, AntiJoin | AddNumbers):
            return False
        widths.append(step.outputs.shape[0] + 1)
    return bool(max(widths) < WIDEST) and levels <= tables.MOST_LEVELS


def _chooses(chooser: Chooser) -> bool:
    """Whether the kernel can choose as it does."""
    return chooser.ordered is None and chooser.criteria.shape[0] <= tables.MOST_CRITERIA


def _spelt_out(plan: Plan) -> Iterator[Join | AntiJoin]:
    """The steps of a plan that look for single rows."""
    for step in plan.steps:
        if isinstance(step, AntiJoin) or (isinstance(step, Join) and step.whole):
            yield step


def _read(runs: list[PlannedRule]) -> Iterator[str]:
    """The relations that rules read."""
    for run in runs:
        yield run.plan.start.relation
        yield from (step.relation for step in run.plan.steps if isinstance(step, Join | AntiJoin))


def _split(plan: Plan) -> int:
    """The position that premises are before or after of."""
    return -1 if plan.start.position is None else plan.start.position


def _put(row: Ints, column: int, heap: list[int], values: Ints) -> None:
    """Put a list into the heap, and where it is into a table; of pairs, so many pairs."""
    row[column], row[column + 1] = len(heap), len(values)
    heap.extend(values.reshape(-1).tolist())


def _write_index(row: Ints, index: Index | Lists) -> None:
    """Write where an index is."""
    row[tables.KEYS], row[tables.KEYS_LENGTH] = address(index.slots), index.slots.shape[0]
    row[tables.INDEX_SIZES], row[tables.INDEX_SIZES_LENGTH] = address(index.sizes), index.sizes.shape[0]
    if isinstance(index, Lists):
        row[tables.POOL], row[tables.POOL_LENGTH] = address(index.pool), index.pool.shape[0]
    else:
        row[tables.POOL], row[tables.POOL_LENGTH] = address(index.next), index.next.shape[0]
        row[tables.PREVIOUS] = address(index.previous)
