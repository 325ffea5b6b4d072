"""A fixpoint's small rounds, run by the kernel in one call: see `kernel/rounds`, which says why.

`SmallRounds` hands the kernel the rows that a `Fixpoint` holds and what changed below it, does what only Python can
do when it is asked to, and gives back what is left (`round_tables` has the tables that the kernel goes by). It serves
strata whose rules join by keys, look up single rows, add numbers or pick columns; others, and rounds with many rows,
are run by `fixpoint` as before, to the same effect.
"""

from __future__ import annotations

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
from headwater.maintain.round_tables import NeededRules, StratumTables
from headwater.maintain.selection import Chooser
from headwater.maintain.workspace import Delta, RuleSet, Workspace
from headwater.plan.access import DOWN, DOWN_FIRST, GAINED, LOST, PRESENT, STAYING, Access
from headwater.plan.steps import AddNumbers, AntiJoin, Ints, Join
from headwater.rules.checked import CheckedRule, placed

if TYPE_CHECKING:
    from headwater.maintain.fixpoint import Fixpoint

ROUNDS_A_BREATH = 256
"""After how many rounds somebody may interrupt, or look on."""
MOST_ROUNDS = 1 << 62
"""More than anybody can wait for."""
RUNNING = (tables.LOSE_RUN, tables.FALL_RUN, tables.UP_RUN, tables.GAIN_RUN, tables.SHOW_RUN)
FROM_BELOW = (tables.LOSE, tables.GAIN)
DEAD_ROWS = tables.DEAD + tables.LENGTH
MOST_ROWS_BEGUN = 256
"""How many rows of lower strata rules are begun from here, all rules together: what more lead to at once is better
derived in large pieces, with a second thread."""
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
    known = rules.small
    if known is None or known.stratum.choosers is not fixpoint.choosers:
        known = rules.small = SmallRounds(workspace, rules, fixpoint.choosers)
    for rule, position, relation, _ in rules.lower:
        if relation in fixpoint.deltas and (rule.label, position) not in known.needed.lower:
            known.needed.lower[rule.label, position] = rule
    known.keep_up(rules)
    return known if known.stratum.fitting else None


class SmallRounds:
    """The small rounds of one stratum."""

    def __init__(self, workspace: Workspace, rules: RuleSet, choosers: dict[str, Chooser]):
        self.workspace = workspace
        self.needed = NeededRules()
        self.stratum = StratumTables(workspace, rules.own, self.needed.runs(rules), choosers)
        self.at: Ints = np.zeros(tables.PLACE_LENGTH, np.int64)
        self._special: Ints = np.empty(0, np.int64)
        self._special_start = 0
        """Keys of special codes, and where they are."""
        self._below: list[Rows] = []
        """The rows of lower strata that rules begin from."""

    def keep_up(self, rules: RuleSet) -> None:
        """Have tables for the rules that are needed now, by the plans of now."""
        runs, stratum = self.needed.runs(rules), self.stratum
        if not stratum.serves(runs, stratum.choosers):
            self.stratum = StratumTables(self.workspace, stratum.own, runs, stratum.choosers)

    def _begins(self, fixpoint: Fixpoint) -> bool:
        """Whether all that changed below the stratum can be begun from here, and is little. On nodes, what is derived
        from lower strata may belong elsewhere: the rows that are begun from have to tell."""
        rows = 0
        for rule, position, relation, _ in fixpoint.rules.lower:
            delta = fixpoint.deltas.get(relation)
            if delta is not None:
                rows += delta.lost.shape[0] + delta.gained.shape[0]
                if (rule.label, position) not in self.stratum.lower or not fixpoint.exchange.tells(
                    rule, position
                ):
                    return False
        return rows <= MOST_ROWS_BEGUN

    def run(self, fixpoint: Fixpoint, phase: int) -> int:
        """Bring the stratum on from a phase (see `kernel/rounds/tables`) in which nothing is done yet. Returns the
        one that it is in then: `OVER`, or one that Python has to go on with."""
        if not self.stratum.ready() or not at_hand(advance.advance, self.stratum.width):
            return phase
        if phase in FROM_BELOW and not self._begins(fixpoint):
            return phase
        at, statistics, workspace = self.at, fixpoint.statistics, self.workspace
        last_clock = min(relation.largest for relation, _ in self.stratum.known[: len(self.stratum.own)])
        if workspace.clock >= last_clock:  # rows that come need more bits for their ranks
            return phase
        at[:] = 0
        at[tables.PHASE], at[tables.FIRST] = phase, phase < tables.GAIN
        at[tables.GAINS] = self._begins(fixpoint)
        at[tables.CLOCK], at[tables.LAST_CLOCK] = workspace.clock, last_clock
        at[tables.ROUNDS] = statistics.rounds
        at[tables.LAST_ROUND] = min(workspace.max_rounds, MOST_ROUNDS)
        at[tables.BREATH] = statistics.rounds + ROUNDS_A_BREATH
        at[tables.DIED], at[tables.DOUBTFUL] = statistics.died, statistics.doubtful
        at[tables.REVIVED] = statistics.revived
        at[tables.SURE] = 100 * fixpoint.cost_of_sure_death
        at[tables.LIMIT] = min(100 * fixpoint.limit, float(1 << 62))
        buffers = workspace.small_buffers()
        at[tables.BUFFERS], at[tables.BEATING], at[tables.VALUES] = buffers.addresses
        self._load(fixpoint)
        try:
            return self._go(fixpoint)
        finally:
            self._tell(fixpoint)

    def _go(self, fixpoint: Fixpoint) -> int:
        at = self.at
        while True:
            stratum = self.stratum
            special = self.workspace.codec.specials.keys()
            if special.base is not self._special.base or special.shape != self._special.shape:
                self._special, self._special_start = special, address(special)
            at[tables.SPECIAL], at[tables.SPECIAL_LENGTH] = self._special_start, special.shape[0]
            at[tables.ORDER] = self._special_start
            why = advance.advance(
                at, stratum.relations, stratum.indexes, stratum.rule_table, stratum.step_table, stratum.heap,
                stratum.queues, ACCEPTS, stratum.known[0][0].rows,
            )  # fmt: skip
            if why in (tables.DONE, tables.HANDED_OVER):
                self._unload(fixpoint)
                reached = int(at[tables.PHASE])
                return tables.CHOOSE if reached == tables.FALL and not at[tables.FIRST] else reached
            if why == tables.GIVEN_UP:
                raise GiveUp
            if why != tables.ASKED:
                try:
                    self._attend(why)
                except (EvaluationError, OutOfMemory) as error:
                    raise self._placed(error) from error
                stratum.refresh()
            elif not self._ask(fixpoint):
                return int(at[tables.PHASE])

    def _placed(self, error: EvaluationError | OutOfMemory) -> EvaluationError | OutOfMemory:
        """An error with the rule that was run, if one was."""
        if self.at[tables.PHASE] not in RUNNING:
            return error
        return placed(error, self.stratum.runs[int(self.at[tables.RULE])].rule)

    def _ask(self, fixpoint: Fixpoint) -> bool:
        """Have dead rows looked into that may have other derivations; whether the kernel can go on then: rules that
        are run backwards may need indexes which were not there, and ranks more bits."""
        at = self.at
        asked = [
            name for name, row in zip(self.stratum.own, self.stratum.queues, strict=True) if row[DEAD_ROWS]
        ]
        self._tell(fixpoint)
        self._unload(fixpoint)
        if not self.needed.asked.keys() >= set(asked):
            self.needed.asked.update(dict.fromkeys(asked))
            self.keep_up(fixpoint.rules)
            at[tables.GAINS] = self._begins(fixpoint)
        ready = self.stratum.ready()
        if not ready or not self.stratum.askable >= set(asked):
            fixpoint.up(STAYING if at[tables.FIRST] else PRESENT)
            at[tables.PHASE] = tables.GAIN if at[tables.FIRST] else tables.CHOOSE
            at[tables.CLOCK], at[tables.REVIVED] = self.workspace.clock, fixpoint.statistics.revived
            ready = self.stratum.ready()
        if not ready:
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
            relation.lost_indexes = True
            for columns, _ in held[index:]:
                del relation.indexes[columns]
            raise

    def _add_specially(self) -> None:
        """Take a step with sums of which one is not its own code."""
        level = int(self.at[tables.LEVEL])
        at = self.at[tables.LEVELS + level * tables.LEVEL_WIDTH :]
        both = self.workspace.small_buffers().bindings[2 * level : 2 * level + 2]
        here, count, width = int(at[tables.BUFFER]), int(at[tables.PENDING]), int(at[tables.BOUND]) + 1
        bindings = both[here, : count * width].reshape(count, width)
        step = self.stratum.steps[int(at[tables.STEP])][1]
        assert isinstance(step, AddNumbers)
        out = self.workspace.executor.terms.with_sum(step, bindings)
        both[1 - here, : out.size] = out.reshape(-1)
        at[tables.BUFFER], at[tables.BOUND] = 1 - here, out.shape[1] - 1
        at[tables.PENDING] = out.shape[0]
        at[tables.STEP] += 1

    # ------------------------------------------------------------------ rows in and out

    def _load(self, fixpoint: Fixpoint) -> None:
        """Take the rows that a fixpoint holds into the queues, and those that changed below it."""
        at, stratum = self.at, self.stratum
        at[tables.LOWER_RULES], at[tables.ASKING_RULES] = stratum.groups
        at[tables.HEAP] = stratum.heap_start
        self._below = []
        for rule, position, relation, negated in (
            fixpoint.rules.lower if at[tables.GAINS] and at[tables.PHASE] <= tables.GAIN else ()
        ):
            delta = fixpoint.deltas.get(relation)
            place = stratum.places.get((rule.label, position))
            if delta is not None and place is not None:
                if not fixpoint.exchange.alone:
                    delta = self._kept(fixpoint, rule, position, relation, delta)
                lost, gained = (delta.gained, delta.lost) if negated else delta
                self._give(stratum.rule_table[place], tables.LOST, lost)
                self._give(stratum.rule_table[place], tables.GAINED, gained)
        for number, name in enumerate(stratum.own):
            row = stratum.queues[number]
            row[tables.FRESH_LENGTH : tables.AFFECTED_LENGTH + 1] = 0
            for held, which in _queues_of(fixpoint):
                rows = held.get(name)
                if not rows:
                    continue
                every = rows[0] if len(rows) == 1 else np.concatenate(rows)
                if every.shape[0] > row[tables.ROOM]:
                    stratum.make_queues(number, 2 * every.shape[0])
                row[which + tables.LENGTH] = every.shape[0]
                stratum.buffers[number].queue(row, which)[:] = every
                held[name] = []

    def _kept(self, fixpoint: Fixpoint, rule: CheckedRule, position: int, name: str, delta: Delta) -> Delta:
        """What changed below and leads to rows that are held here."""
        relation, exchange = self.workspace.relations[name], fixpoint.exchange
        kept = (
            rows[exchange.leads_here(rule, position, relation.codes(rows))] if rows.shape[0] else rows
            for rows in delta
        )
        return Delta(*kept)

    def _give(self, row: Ints, column: int, rows: Rows) -> None:
        """Give rows of a lower stratum to a rule, and keep them until all is done."""
        rows = np.ascontiguousarray(rows)
        self._below.append(rows)
        row[column], row[column + 1] = address(rows), rows.shape[0]

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
        statistics.revived = at[tables.REVIVED]
        told = self.stratum.rule_table[:, tables.FOUND :].tolist()
        for (found, looked, begun), run in zip(told, self.stratum.runs, strict=True):
            if begun or found:
                statistics.derived(run.rule.label, found)
                executor.look(run.plan.start.relation, begun)
                if looked:
                    assert run.plan.first_join is not None
                    executor.look(run.plan.first_join.relation, looked)
        self.stratum.rule_table[:, tables.LOST :] = 0
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


def _seen(access: Access) -> tuple[Accept, ...]:
    return (
        access.before, access.after, access.own_before, access.own_after, access.absent_before, access.absent_after,
    )  # fmt: skip


ACCEPTS: npt.NDArray[np.uint8] = np.stack(
    [accept for access in (LOST, DOWN_FIRST, STAYING, GAINED, DOWN, PRESENT) for accept in _seen(access)]
)
"""Which rows premises see, one time after another: see `tables.ACCESS_WIDTH`."""
