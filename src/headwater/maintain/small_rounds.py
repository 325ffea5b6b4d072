"""A fixpoint's small rounds, run by the kernel in one call: see `kernel/rounds`, which says why.

`SmallRounds` hands the kernel the rows that a `Fixpoint` holds, does what only Python can do when it is asked to, and
gives back what is left (`round_tables` has the tables that the kernel goes by). It serves
strata whose recursive rules all join the changed rows by a list of another relation and then only look up single
rows, add numbers or pick columns; others, and rounds with many rows, are run by `fixpoint` as before, to the same
effect.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from headwater.errors import EvaluationError, OutOfMemory
from headwater.kernel import room
from headwater.kernel.at_hand import at_hand, missed
from headwater.kernel.relation import Relation, Rows
from headwater.kernel.rounds import advance, tables
from headwater.kernel.rounds.addresses import address
from headwater.kernel.states import Accept
from headwater.maintain.round_tables import StratumTables
from headwater.maintain.workspace import Workspace
from headwater.plan.execute import DOWN, DOWN_FIRST, PRESENT, Access
from headwater.plan.steps import AddNumbers, AntiJoin, Ints, Join
from headwater.rules.checked import placed

if TYPE_CHECKING:
    from headwater.maintain.fixpoint import Fixpoint

ROUNDS_A_BREATH = 256
"""After how many rounds somebody may interrupt, or look on."""
MOST_ROUNDS = 1 << 62
"""More than anybody can wait for."""
ROUNDS_OF_A_CHANGE = 20
"""How many rounds a change takes, about."""


class GiveUp(Exception):
    """So much has died that starting over is cheaper."""


def small_rounds(fixpoint: Fixpoint) -> SmallRounds | None:
    """What runs the small rounds of a fixpoint, if that can be done by the kernel and need not be compiled first."""
    workspace, rules = fixpoint.workspace, fixpoint.rules
    if not rules.recursive or rules.demanded or fixpoint.redefined is not None or not fixpoint.quiet:
        return None
    if workspace.stops or workspace.executor.pinned:
        return None
    width = workspace.relations[min(rules.own)].rows.itemsize
    if not at_hand(advance.advance, width):
        missed(advance.advance, width, ROUNDS_OF_A_CHANGE)
        return None
    plans = [rules.plan(rule, position) for rule, position, _ in rules.recursive]
    known = rules.small
    if known is None or not known.stratum.serves(plans, fixpoint.choosers):
        known = SmallRounds(workspace, StratumTables(workspace, rules, plans, fixpoint.choosers))
        rules.small = known
    return known if known.stratum.fitting else None


class SmallRounds:
    """The small rounds of one stratum."""

    def __init__(self, workspace: Workspace, stratum: StratumTables):
        self.workspace = workspace
        self.stratum = stratum
        self.at: Ints = np.zeros(tables.PLACE_LENGTH, np.int64)
        self._special: Ints = np.empty(0, np.int64)
        self._special_start = 0
        """Keys of special codes, and where they are."""

    def down(self, fixpoint: Fixpoint, access: Access) -> bool:
        """Take down what falls, and what falls with it; whether all of it was done here."""
        return self._run(fixpoint, tables.FALL, access, down_only=True)

    def rise(self, fixpoint: Fixpoint) -> bool:
        """Show what is new and what follows from it, until nothing is; whether all of it was done here."""
        return self._run(fixpoint, tables.CHOOSE, DOWN, down_only=False)

    def _run(self, fixpoint: Fixpoint, phase: int, access: Access, *, down_only: bool) -> bool:
        if not self.stratum.ready() or not at_hand(advance.advance, self.stratum.width):
            return False
        at, statistics, workspace = self.at, fixpoint.statistics, self.workspace
        at[:] = 0
        at[tables.PHASE], at[tables.DOWN_ONLY] = phase, down_only
        at[tables.CLOCK], at[tables.ROUNDS] = workspace.clock, statistics.rounds
        at[tables.LAST_CLOCK] = min(
            relation.largest for relation, _ in self.stratum.known[: len(self.stratum.own)]
        )
        at[tables.LAST_ROUND] = min(workspace.max_rounds, MOST_ROUNDS)
        at[tables.BREATH] = statistics.rounds + ROUNDS_A_BREATH
        at[tables.DIED], at[tables.DOUBTFUL] = statistics.died, statistics.doubtful
        at[tables.SURE] = 100 * fixpoint.cost_of_sure_death
        at[tables.LIMIT] = min(100 * fixpoint.limit, float(1 << 62))
        buffers = workspace.small_buffers()
        at[tables.BUFFERS], at[tables.BEATING], at[tables.VALUES] = buffers.addresses
        self.accepts = _accepts(access)
        self._load(fixpoint)
        try:
            return self._go(fixpoint)
        finally:
            self._tell(fixpoint)

    def _go(self, fixpoint: Fixpoint) -> bool:
        at, stratum = self.at, self.stratum
        while True:
            special = self.workspace.codec.specials.keys()
            if special.base is not self._special.base or special.shape != self._special.shape:
                self._special, self._special_start = special, address(special)
            at[tables.SPECIAL], at[tables.SPECIAL_LENGTH] = self._special_start, special.shape[0]
            at[tables.ORDER] = self._special_start
            why = advance.advance(
                at, stratum.relations, stratum.indexes, stratum.rule_table, stratum.step_table, stratum.heap,
                stratum.queues, self.accepts, stratum.known[0][0].rows,
            )  # fmt: skip
            if why in (tables.DONE, tables.HANDED_OVER):
                self._unload(fixpoint)
                return bool(why == tables.DONE)
            if why == tables.GIVEN_UP:
                raise GiveUp
            if why != tables.ASKED:
                try:
                    self._attend(why)
                except (EvaluationError, OutOfMemory) as error:
                    raise self._placed(error) from error
                stratum.refresh()
            elif not self._ask(fixpoint):
                return False

    def _placed(self, error: EvaluationError | OutOfMemory) -> EvaluationError | OutOfMemory:
        """An error with the rule that was run, if one was."""
        if self.at[tables.PHASE] not in (tables.FALL_RUN, tables.SHOW_RUN):
            return error
        return placed(error, self.stratum.recursive[int(self.at[tables.RULE])][0])

    def _ask(self, fixpoint: Fixpoint) -> bool:
        """Have dead rows looked into that may have other derivations; whether the kernel can go on then: rules that
        are run backwards may need indexes which were not there, and ranks more bits."""
        self._tell(fixpoint)
        self._unload(fixpoint)
        fixpoint.up(PRESENT)
        self.at[tables.CLOCK] = self.workspace.clock
        if not self.stratum.ready():
            return False
        self._load(fixpoint)
        return True

    def _attend(self, why: int) -> None:
        """Do what the kernel cannot."""
        at, workspace = self.at, self.workspace
        needy, much = int(at[tables.NEEDS]), int(at[tables.MUCH])
        relation = self.stratum.known[needy][0]
        if why == tables.PAUSED:
            workspace.pause()
            at[tables.TUPLES] = 0
            at[tables.BREATH] = at[tables.ROUNDS] + ROUNDS_A_BREATH
        elif why == tables.JOURNAL_FULL:
            room.journal(relation, much)
        elif why == tables.QUEUE_FULL:
            self.stratum.make_queues(needy, 2 * max(much, int(self.stratum.queues[needy, tables.ROOM])))
        elif why == tables.ROWS_FULL:
            if not room.adding(relation, much):
                for each, _ in self.stratum.known:
                    room.widen(each)
        elif why == tables.INDEX_FULL:
            created = relation.created[at[tables.BEGIN] : at[tables.END]]
            self._enter(relation, int(at[tables.INDEX]), created, much)
            at[tables.INDEX] = self.stratum.relations[needy, tables.INDEXES]
        else:
            assert why == tables.SPECIAL_SUM
            self._add_specially()

    @staticmethod
    def _enter(relation: Relation, index: int, created: npt.NDArray[np.int32], done: int) -> None:
        """Enter rows into an index that has only some of them, and into those after it. Indexes that lack some rows
        go, as in `Relation.add`."""
        held = list(relation.indexes.items())
        try:
            held[index][1].insert(relation, created[done:])
            for _, later in held[index + 1 :]:
                index += 1
                later.insert(relation, created)
        except BaseException:
            for columns, _ in held[index:]:
                del relation.indexes[columns]
            raise

    def _add_specially(self) -> None:
        """Take a step with sums of which one is not its own code."""
        at, both = self.at, self.workspace.small_buffers().bindings
        here, count, width = int(at[tables.BUFFER]), int(at[tables.PENDING]), int(at[tables.BOUND]) + 1
        bindings = both[here].reshape(-1)[: count * width].reshape(count, width)
        step = self.stratum.steps[int(at[tables.STEP])][1]
        assert isinstance(step, AddNumbers)
        out = self.workspace.executor.add_numbers(step, bindings)
        both[1 - here].reshape(-1)[: out.size] = out.reshape(-1)
        at[tables.BUFFER], at[tables.BOUND] = 1 - here, out.shape[1] - 1
        at[tables.PENDING] = out.shape[0]
        at[tables.STEP] += 1

    # ------------------------------------------------------------------ rows in and out

    def _load(self, fixpoint: Fixpoint) -> None:
        """Take the rows that a fixpoint holds into the queues."""
        for number, name in enumerate(self.stratum.own):
            row = self.stratum.queues[number]
            row[tables.FRESH_LENGTH : tables.AFFECTED_LENGTH + 1] = 0
            for held, which in _queues_of(fixpoint):
                rows = held.get(name)
                if not rows:
                    continue
                every = rows[0] if len(rows) == 1 else np.concatenate(rows)
                if every.shape[0] > row[tables.ROOM]:
                    self.stratum.make_queues(number, 2 * every.shape[0])
                row[which + tables.LENGTH] = every.shape[0]
                self.stratum.buffers[number].queue(row, which)[:] = every
                held[name] = []

    def _unload(self, fixpoint: Fixpoint) -> None:
        """Give all rows in the queues back."""
        for number, name in enumerate(self.stratum.own):
            row = self.stratum.queues[number]
            lengths = row[tables.FRESH_LENGTH : tables.AFFECTED_LENGTH + 1]
            if not lengths.any():
                continue
            for held, which in _queues_of(fixpoint):
                if row[which + tables.LENGTH]:
                    held[name] = [self.stratum.buffers[number].queue(row, which).copy()]
            lengths[:] = 0

    def _tell(self, fixpoint: Fixpoint) -> None:
        """Tell everybody what was done."""
        at, statistics, executor = self.at.tolist(), fixpoint.statistics, self.workspace.executor
        self.workspace.clock, statistics.rounds = at[tables.CLOCK], at[tables.ROUNDS]
        lossy = at[tables.DIED] > statistics.died  # in some own relation: which one is seen when dead rows go
        statistics.died, statistics.doubtful = at[tables.DIED], at[tables.DOUBTFUL]
        told = self.stratum.rule_table[:, tables.FOUND :].tolist()
        for (found, looked, begun), plan, (rule, _, _) in zip(
            told, self.stratum.plans, self.stratum.recursive, strict=True
        ):
            if begun:
                assert plan.first_join is not None
                statistics.derived(rule.label, found)
                executor.look(plan.first_join.relation, looked)
                executor.look(plan.start.relation, begun)
        self.stratum.rule_table[:, tables.FOUND :] = 0
        if self.stratum.steps:
            for seen, (_, step) in zip(
                self.stratum.step_table[:, tables.SEEN].tolist(), self.stratum.steps, strict=True
            ):
                if seen:
                    assert isinstance(step, Join | AntiJoin)
                    executor.look(step.relation, seen)
            self.stratum.step_table[:, tables.SEEN] = 0
        own = self.stratum.relations[: len(self.stratum.own), tables.ADDED :]
        for (added, twice, chosen, largest), (relation, _) in zip(
            own.tolist(), self.stratum.known, strict=False
        ):
            relation.supports += added
            relation.entered = int(relation.sizes[4])
            relation.once = relation.once and not twice
            relation.lossy = relation.lossy or lossy
            if chosen:
                chooser = self.stratum.choosers[relation.name]
                chooser.touched += chosen
                chooser.largest = max(chooser.largest, largest)
        own[:] = 0


def _queues_of(fixpoint: Fixpoint) -> tuple[tuple[dict[str, list[Rows]], int], ...]:
    """What a fixpoint holds rows in, and the queue for it."""
    return (
        (fixpoint.fresh, tables.FRESH),
        (fixpoint.falling, tables.FALLING),
        (fixpoint.dead, tables.DEAD),
        (fixpoint.affected, tables.AFFECTED),
    )


@cache
def _accepts_of(down_first: bool) -> npt.NDArray[np.uint8]:
    access = DOWN_FIRST if down_first else DOWN
    return np.stack([*_seen(access), *_seen(PRESENT)])


def _seen(access: Access) -> tuple[Accept, Accept, Accept, Accept]:
    return access.before, access.own_before, access.own_after, access.absent_before


def _accepts(access: Access) -> npt.NDArray[np.uint8]:
    """Which rows premises see: four while going down, and four in a round of news."""
    return _accepts_of(access is DOWN_FIRST)
