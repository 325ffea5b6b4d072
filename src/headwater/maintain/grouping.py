"""count, sum and avg, kept exact under inserts and deletes at the cost of the changed groups.

Each group has a number (its row in a relation of groups), a count of bindings, how many of these have no value to
take in, and, for sum and avg, an exact sum: integers in two lanes, floats in as many 32-bit limbs as their exponents
need. Nothing is ever rounded but the result, so deletes leave no drift. A group without bindings has no row; one
whose bindings have no value has a count of 0, and NULL for a sum or an average. A count of values leaves out NULL,
sums and averages labelled nulls too.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.errors import EvaluationError
from headwater.kernel import tallying
from headwater.kernel.memory import grown
from headwater.kernel.relation import Relation
from headwater.maintain.exchange import ADD, LOSE
from headwater.maintain.workspace import NO_CHANGE, Delta, Redefined, Rows, RuleSet, Workspace, quiet
from headwater.plan.access import EARLIER, GAINED, LOST, PRESENT, Access
from headwater.plan.steps import Ints
from headwater.rules.checked import CheckedRule, RelationInfo, placed
from headwater.values.exact_sum import ExactIntSums
from headwater.values.group_sums import AnySums, add_codes, aggregated, empty_sums
from headwater.values.scalars import show
from headwater.values.special import NULL, has_special
from headwater.values.types import Type, unify
from headwater.version.statistics import StratumStatistics

MOST_BINDINGS_KEPT = 1024
"""Bindings that come in smaller pieces than this are counted together, once all pieces have come."""
MOST_SORTED_AS_LIST = 64
"""Up to so many numbers are faster made distinct as a list."""
NO_LANES: Ints = np.empty((0, 0), np.int64)


class Saved(NamedTuple):
    """Groups as they were before they were first changed in a transition of a version, and what held their sums."""

    groups: Ints
    counts: Ints
    missing: Ints | None
    holder: Any
    sums: Any


class Grouping:
    """The groups of one aggregate relation, and the rows they amount to."""

    def __init__(self, workspace: Workspace, info: RelationInfo, rules: RuleSet):
        assert info.aggregate is not None
        self.workspace = workspace
        self.info = info
        self.rules = rules
        self.aggregate = info.aggregate
        self.result = workspace.relations[info.name]
        arity = info.layout.code_arity - 1
        self.place = info.layout.code(info.aggregate.position)
        """The code column that receives the aggregate."""
        self.groups = Relation(f"groups of {info.name}", arity, pinned=True, room=workspace.budget)
        self.counts: Ints = np.zeros(16, np.int64)
        self.missing: Ints | None = None
        """How many bindings of each group have no value; `None` while none has."""
        self.summed: Type | None = None
        """The type of what is summed up."""
        self.sums: AnySums | None = None
        if self.aggregate.function != "count":
            self.summed = reduce(unify, (rule.types.get(_argument(rule)) for rule in rules.rules), None)
            self.sums = empty_sums(self.summed)
        self.values: Ints = np.zeros(16, np.int64)
        self.present: npt.NDArray[np.bool_] = np.zeros(16, np.bool_)
        self._saved: list[Saved] = []
        self._settled = 0
        """How many of those saved are of transitions that are over."""
        self._published: list[tuple[Ints, Ints, npt.NDArray[np.bool_]]] = []
        """The groups that each transition changed, with what they amounted to before."""
        self._dirty: npt.NDArray[np.bool_] = np.zeros(16, np.bool_)
        self._kept: tuple[list[Ints], list[Ints]] = [], []
        """Bindings that have come and are not counted yet: those to take out, and those to enter."""
        self._keeping = 0

    @property
    def nbytes(self) -> int:
        """Bytes allocated for the groups."""
        return self.groups.nbytes + self.counts.nbytes + self.values.nbytes

    # ------------------------------------------------------------------ bindings in

    def change(
        self,
        rules: RuleSet,
        deltas: dict[str, Delta],
        statistics: StratumStatistics,
        redefined: Redefined | None = None,
    ) -> None:
        """Follow the changes of the relations below, and of the rules."""
        self.rules = rules
        gained = frozenset[str]() if redefined is None else redefined.gained
        if redefined is not None and redefined.lost is not None:
            for rule in redefined.lost.rules:
                self._lose_rule(redefined.lost, rule, statistics)
        for access, sign in ((LOST, -1), (GAINED, 1)):
            for rule, position, relation, negated in self.rules.lower:
                delta = deltas.get(relation, NO_CHANGE)
                rows = delta.gained if negated == (sign < 0) else delta.lost
                if rows.shape[0] and rule.label not in gained:
                    self._take(rule, position, rows, access, sign, statistics)
        for rule in self.rules.rules:
            if rule.label in gained:
                self._take_all(rule, self.rules.smallest_premise(rule), statistics)
        self._swap(redefined)
        self._publish()

    def takes_over(self, other: Grouping) -> bool:
        """Whether groups of another are groups of this one: then only rules may differ."""
        mine, theirs = self.aggregate, other.aggregate
        return (mine.function, mine.position, mine.argument is None, self.summed) == (
            theirs.function, theirs.position, theirs.argument is None, other.summed,
        )  # fmt: skip

    def from_scratch(self, rules: RuleSet, statistics: StratumStatistics) -> None:
        """Empty all groups and fill them anew; rows that the groups do not know of go."""
        self.rules = rules
        if self.result.stored and not self.groups.stored:
            self.result.kill_all()
        everyone = self.groups.live_rows().astype(np.int64)
        self._save(everyone)
        self.counts[everyone] = 0
        if self.missing is not None:
            self.missing[everyone] = 0
        if self.sums is not None:
            empty = empty_sums(self.summed)
            empty.ensure(self.counts.shape[0])
            self.sums = empty
        for rule, position in self.rules.starts():
            self._take_all(rule, position, statistics)
        self._swap()
        self._publish()

    def _take_all(self, rule: CheckedRule, position: int, statistics: StratumStatistics) -> None:
        """Enter all bindings of a rule."""
        rows = self.rules.premise_rows(rule, position)
        self._take(rule, position, rows, PRESENT, 1, statistics)

    def _lose_rule(self, lost: RuleSet, rule: CheckedRule, statistics: StratumStatistics) -> None:
        """Take out all bindings that a rule which is gone had when the version began."""
        position = lost.smallest_premise(rule)
        rows = lost.premise_relation(rule, position).earlier_rows()
        exchange = self.workspace.exchange
        sink = exchange.outward(rule, LOSE, lambda tuples: self._take_in(tuples, -1), before=True)
        found = lost.run(rule, position, rows, EARLIER, sink)
        statistics.derived(rule.label, found - exchange.dropped())

    def _take(
        self,
        rule: CheckedRule,
        position: int,
        rows: Rows,
        access: Access,
        sign: int,
        statistics: StratumStatistics,
    ) -> None:
        exchange = self.workspace.exchange
        sink = exchange.outward(rule, ADD if sign > 0 else LOSE, lambda tuples: self._take_in(tuples, sign))
        found = self.rules.run(rule, position, rows, access, sink)
        statistics.derived(rule.label, found - exchange.dropped())

    def _swap(self, redefined: Redefined | None = None) -> None:
        """Take the bindings that other nodes found for groups that are held here."""
        exchange = self.workspace.exchange
        if not quiet(exchange, self.rules, redefined):
            swapped = exchange.swap(self.workspace.clock)
            self.workspace.clock = swapped.clock
            for parcel in swapped.parcels:
                self._take_in(parcel.rows, 1 if parcel.kind == ADD else -1)

    def _take_in(self, tuples: Ints, sign: int) -> None:
        """Enter (or take out) bindings: group columns, the argument if any, and the rank (which says nothing)."""
        if tuples.shape[0] > MOST_BINDINGS_KEPT:
            self._count(tuples, tuples.shape[0] if sign < 0 else 0)
            return
        self._kept[sign > 0].append(tuples.copy())  # it may be a buffer
        self._keeping += tuples.shape[0]
        if self._keeping > MOST_BINDINGS_KEPT:
            self._count_kept()

    def _count_kept(self) -> None:
        """Count what was kept."""
        if self._keeping:
            (out, into), self._kept, self._keeping = self._kept, ([], []), 0
            every = [*out, *into]
            self._count(every[0] if len(every) == 1 else np.concatenate(every), sum(map(len, out)))

    def _count(self, tuples: Ints, lost: int) -> None:
        """Take out the first `lost` bindings, and enter the others."""
        lanes = self._lanes()
        if tuples.shape[0] <= MOST_BINDINGS_KEPT and lanes is not None:
            found = self._tally(tuples, lost, lanes)
            if found == tallying.NEW_GROUP:
                self._make_groups(tuples)
                found = self._tally(tuples, lost, self._lanes())
            if found != tallying.NO_PLAIN_NUMBER:
                return
        numbers = self.groups.find(tuples).astype(np.int64)
        if numbers.shape[0] and (numbers.min() < 0 or not self.groups.live(numbers)):
            self._make_groups(tuples)
            numbers = self.groups.find(tuples).astype(np.int64)
        self._save(numbers)
        for sign, some in ((-1, slice(lost)), (1, slice(lost, None))):
            if numbers[some].shape[0]:
                self._add(numbers[some], tuples[some], sign)

    def _make_groups(self, tuples: Ints) -> None:
        """Have the groups of bindings."""
        arity = self.groups.arity
        keys = np.zeros((tuples.shape[0], arity + 1), np.int64)
        keys[:, :arity] = tuples[:, :arity]
        self.groups.insert(keys, 0)
        self._reserve(int(self.groups.sizes[0]))

    def _lanes(self) -> Ints | None:
        """The lanes that the kernel keeps of sums, none for a count; `None` where it cannot."""
        if self.missing is not None:
            return None
        if self.sums is None:
            return NO_LANES
        return self.sums.lanes if isinstance(self.sums, ExactIntSums) else None

    def _tally(self, tuples: Ints, lost: int, lanes: Ints | None) -> int:
        """Have the kernel take a few bindings out and enter the others; how many groups it has met first, or why it
        has done nothing."""
        assert lanes is not None
        count, groups = tuples.shape[0], self.groups
        met, before = np.empty(count, np.int64), np.empty((count, 1 + lanes.shape[1]), np.int64)
        found: int = tallying.tally(
            tuples, lost, groups.arity, -1 if self.aggregate.argument is None else groups.arity, groups.rows,
            groups.state, groups.slots, self.counts, lanes, self._dirty, np.empty(count, np.int64), met, before,
            groups.scratch,
        )  # fmt: skip
        if found > 0:
            before = before[:found]
            self._saved.append(Saved(met[:found], before[:, 0], None, self.sums, before[:, 1:]))
        return found

    def _add(self, numbers: Ints, tuples: Ints, sign: int) -> None:
        """Add bindings to the counts and sums of groups, or take them off."""
        np.add.at(self.counts, numbers, sign)
        if self.aggregate.argument is None:
            return
        values = np.ascontiguousarray(tuples[:, self.groups.arity])
        if has_special(values):
            numbers, values = self._with_value(numbers, values, sign)
        if self.sums is not None:
            add_codes(self.sums, numbers, values, sign, self.workspace.codec.specials)

    def _with_value(self, numbers: Ints, values: Ints, sign: int) -> tuple[Ints, Ints]:
        """The bindings that have a value, as numbers; the others are counted."""
        specials = self.workspace.codec.specials
        none = values == NULL if self.sums is None else specials.nulls(values)
        if none.any():
            if self.missing is None:
                self.missing = np.zeros(self.counts.shape[0], np.int64)
            np.add.at(self.missing, numbers[none], sign)
        return numbers[~none], values[~none]

    def _reserve(self, size: int) -> None:
        if size > self.counts.shape[0]:
            size = max(size, 2 * self.counts.shape[0])
            self.values = grown(self.values, size)
            self.present = grown(self.present, size)
            self._dirty = grown(self._dirty, size)
            if self.missing is not None:
                self.missing = grown(self.missing, size)
            self.counts = grown(self.counts, size)  # last: its length says what there is room for
        if self.sums is not None:
            self.sums.ensure(self.counts.shape[0])

    def _save(self, numbers: Ints) -> None:
        first = len(self._saved) == self._settled
        new = numbers if first else numbers[~self._dirty[numbers]]
        if new.shape[0]:
            new = _distinct(new)
            sums = self.sums.save(new) if self.sums is not None else None
            missing = None if self.missing is None else self.missing[new]
            self._saved.append(Saved(new, self.counts[new], missing, self.sums, sums))
            self._dirty[new] = True

    # ------------------------------------------------------------------ rows out

    def _publish(self) -> None:
        """Bring the aggregate's own rows in line with the groups that changed."""
        self._count_kept()
        if len(self._saved) == self._settled:
            return
        unpublished = [saved.groups for saved in self._saved[self._settled :]]
        dirty = unpublished[0] if len(unpublished) == 1 else np.concatenate(unpublished)
        if not self._amount(dirty):
            self._publish_columns(dirty)
        self._settled = len(self._saved)

    def _amount(self, dirty: Ints) -> bool:
        """Have the kernel say what a few groups amount to, and write that; whether it could."""
        lanes, count = self._lanes(), dirty.shape[0]
        if lanes is None or count > MOST_BINDINGS_KEPT or self.aggregate.function == "avg":
            return False
        groups, width = self.groups, self.groups.arity + 2
        before, was = np.empty(count, np.int64), np.empty(count, np.bool_)
        gone, come = np.empty((count, width), np.int64), np.empty((count, width), np.int64)
        emptied = np.empty(count, np.int32)
        goes, comes, empties = tallying.amount(
            dirty, groups.arity, self.place, groups.rows, self.counts, lanes, self.values, self.present, self._dirty,
            before, was, gone, come, emptied,
        )  # fmt: skip
        if goes < 0:
            return False
        self._published.append((dirty, before, was))
        if goes:
            self.result.delete(gone[:goes])
        if comes:
            self.result.insert(come[:comes], 1)
        if empties:
            groups.kill(emptied[:empties])
        return True

    def _publish_columns(self, dirty: Ints) -> None:
        """The same for any number of groups, and whatever they amount to."""
        filled = self.counts[dirty] > 0
        now = dirty[filled]
        before, was = self.values[dirty], self.present[dirty]
        self._published.append((dirty, before, was))
        try:
            self.values[now] = self._results(now)
        except EvaluationError as error:
            raise placed(self._with_group(error, now), self.rules.rules[0]) from error
        self.present[dirty] = filled
        after = self.values[dirty]
        other = (before != after) | (was != filled)
        gone, come = was & other, filled & other
        if gone.any():
            self.result.delete(self._rows(dirty[gone], before[gone]))
        if come.any():
            self.result.insert(self._rows(dirty[come], after[come]), 1)
        if now.shape[0] < dirty.shape[0]:
            self.groups.kill(np.ascontiguousarray(dirty[~filled], np.int32))
        self._dirty[dirty] = False

    def _results(self, numbers: Ints) -> Ints:
        """The aggregate of each group, as a code."""
        counts = self.counts[numbers]
        if self.missing is not None:
            counts -= self.missing[numbers]
        if self.sums is None:
            return counts
        return aggregated(self.sums, self.aggregate.function, numbers, counts, self.workspace.codec.specials)

    def _with_group(self, error: EvaluationError, numbers: Ints) -> EvaluationError:
        """The error of the first group that has one, with its columns."""
        for number in numbers.tolist():
            try:
                self._results(np.array([number], np.int64))
            except EvaluationError as found:
                types = [each for place, each in enumerate(self.info.types) if place != self.place]
                row = zip(self.groups.rows[number, : self.groups.arity].tolist(), types, strict=True)
                shown = ", ".join(show(self.workspace.codec.decode_value(code, type_)) for code, type_ in row)
                return EvaluationError(
                    found.code, f"{found.message}, for the group ({shown})", hint=found.hint
                )
        return error

    def _rows(self, numbers: Ints, values: Ints) -> Ints:
        """Tuples of the aggregate relation (with a rank of 0) for some groups."""
        position, arity = self.place, self.groups.arity
        out = np.zeros((numbers.shape[0], arity + 2), np.int64)
        keys = self.groups.rows[numbers, :arity]
        out[:, :position] = keys[:, :position]
        out[:, position] = values
        out[:, position + 1 : arity + 1] = keys[:, position:]
        return out

    # ------------------------------------------------------------------ versions

    def commit(self) -> None:
        """Keep what was done."""
        self._saved, self._settled, self._published = [], 0, []
        self.groups.commit()

    def rollback(self) -> None:
        """Put every changed group back."""
        for dirty, before, was in reversed(self._published):
            self.values[dirty] = before
            self.present[dirty] = was
        for saved in reversed(self._saved):
            self.counts[saved.groups] = saved.counts
            if self.missing is not None:
                self.missing[saved.groups] = 0 if saved.missing is None else saved.missing
            if saved.holder is not None:
                saved.holder.restore(saved.groups, saved.sums)
                self.sums = saved.holder  # the first to be saved was that of before the version
            self._dirty[saved.groups] = False
        self._saved, self._settled, self._published = [], 0, []
        self._kept, self._keeping = ([], []), 0
        self.groups.rollback()


def _distinct(numbers: Ints) -> Ints:
    """Each number once, in order."""
    if numbers.shape[0] > MOST_SORTED_AS_LIST:
        return np.unique(numbers)
    return np.array(sorted(set(numbers.tolist())), np.int64)


def _argument(rule: CheckedRule) -> str:
    assert rule.aggregate is not None and rule.aggregate.argument is not None
    return str(rule.aggregate.argument.name)
