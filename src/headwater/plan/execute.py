"""Running a plan over the relations' present rows, a cacheful at a time; which of them premises see is `access`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.kernel import join
from headwater.kernel.beside import SecondThread
from headwater.kernel.index import Index
from headwater.kernel.lists import Lists
from headwater.kernel.near_join import NearRows
from headwater.kernel.prefetch import BLOCK
from headwater.kernel.relation import Relation, Stored, least_bytes
from headwater.kernel.states import Accept
from headwater.plan.access import ANY_RANK, Access
from headwater.plan.list_pieces import (
    NOTHING_LEFT,
    ROWS_A_PIECE,
    JoinChain,
    JoinedAhead,
    JoinLeft,
    LaidNear,
    ListJoin,
    SeenRows,
    pieces,
)
from headwater.plan.steps import AddNumbers, AntiJoin, Extend, Filter, Generate, Ints, Join, Plan, Start
from headwater.plan.term_values import TermValues, appended
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.types import Type

MOST_STARTS_AT_ONCE = 1 << 17
"""From how many rows a join may begin before it can be interrupted, however few rows it finds."""
NO_CODES: Ints = np.empty(0, np.int64)
AT_START: Ints = np.array([0, 0, 0], np.int64)
AT_CHAIN: Ints = np.array([0, -1, 0], np.int64)
"""Where joins begin: see `join`."""
FEWEST_STARTS_CHAINED = 1 << 10
"""From how many rows on a run is made a chain of joins."""
AHEAD = -1
"""The depth of pieces that are joined ahead."""


def _nothing() -> None:
    """Nobody looks on."""


Sink = Callable[[Ints], None]


class PlanRun(NamedTuple):
    """One run of a plan: the types of its variables, which rows its premises see, and who gets what it finds."""

    plan: Plan
    types: Mapping[str, Type | None]
    access: Access
    sink: Sink


class Executor:
    """Runs plans; keeps the buffers between runs.

    `looked` counts the rows looked at by relation, `scans` whole scans; `built` lists the indexes
    made on first use.
    """

    def __init__(
        self,
        relations: Mapping[str, Relation],
        codec: Codec,
        functions: Functions,
        between_pieces: Callable[[], None] = lambda: None,
    ):
        self.between_pieces = between_pieces
        self.relations = relations
        self.codec = codec
        self.terms = TermValues(codec, functions)
        self.looked: defaultdict[str, int] = defaultdict(int)
        self.touched = 0
        """How many rows were looked at, of all relations."""
        self.scans: dict[str, int] = {}
        self.built: list[tuple[str, tuple[int, ...]]] = []
        self.pinned: dict[str, Accept] = {}
        """Relations that are always read in one state, whatever a premise is to see: those that belong to another
        engine, whose open version is none of this one's."""
        self.near = LaidNear()
        self._scratch: Ints = np.empty(2 * BLOCK, np.int64)
        self._buffers: dict[tuple[int, int], Ints] = {}

    def run(
        self,
        plan: Plan,
        types: Mapping[str, Type | None],
        rows: npt.NDArray[np.int32],
        access: Access,
        sink: Sink,
        beside: SecondThread | None = None,
    ) -> int:
        """Find all bindings from the given start rows and hand them to `sink` in pieces; return how many. Whoever
        gives another thread for it (`beside`) promises that `sink` changes nothing that the plan reads."""
        if rows.shape[0] == 0:
            return 0
        relation = self.relations[plan.start.relation]
        rank_column = relation.rank_column if plan.start.own else -1
        rows = rows if rows.flags.c_contiguous else np.ascontiguousarray(rows)
        asked = PlanRun(plan, types, access, sink)
        return self._start(asked, rows, relation.rows, rank_column, beside)

    def ask(
        self, plan: Plan, types: Mapping[str, Type | None], tuples: Ints, access: Access, sink: Sink
    ) -> int:
        """As `run`, for a plan from the head, with rows that need not be stored: origins are places in `tuples`."""
        if tuples.shape[0] == 0:
            return 0
        tuples = np.require(tuples, np.int64, ("C", "W"))
        rows = np.arange(tuples.shape[0], dtype=np.int32)
        return self._start(PlanRun(plan, types, access, sink), rows, tuples, -1)

    def _buffer(self, depth: int, width: int) -> Ints:
        key = (depth, width)
        found = self._buffers.get(key)
        if found is None:
            found = self._buffers[key] = np.empty((ROWS_A_PIECE, width), np.int64)
        return found

    def free_buffers(self) -> None:
        """Keep no memory between runs: they are made anew, as far as they are needed."""
        self._buffers.clear()

    def _start(
        self,
        run: PlanRun,
        rows: npt.NDArray[np.int32],
        matrix: Stored,
        rank_column: int,
        beside: SecondThread | None = None,
    ) -> int:
        plan = run.plan
        start: Start = plan.start
        if plan.first_join is not None:
            other = self.relations[plan.first_join.relation]
            if other.rows.dtype == matrix.dtype and not other.selected:
                return self._join_starts(run, rows, matrix, rank_column, beside)
        outputs = start.outputs if plan.gathered is None else plan.gathered
        out = self._buffer(0, outputs.shape[0] + 1)
        cursor = AT_START.copy()
        found = 0
        while True:
            n = join.gather(
                rows, matrix, start.constants, start.equalities, rank_column, outputs, cursor, out
            )
            if n and plan.gathered is not None:
                run.sink(out[:n])
                found += n
            elif n:
                found += self._steps(run, 0, out[:n])
            if n < ROWS_A_PIECE or cursor[0] >= rows.shape[0]:
                break
            self.between_pieces()
        self.look(start.relation, rows.shape[0])
        return found

    def _join_starts(
        self,
        run: PlanRun,
        rows: npt.NDArray[np.int32],
        matrix: Stored,
        rank_column: int,
        beside: SecondThread | None,
    ) -> int:
        """Run a plan that begins with a join of the start's rows themselves. Few rows are joined step by step: that
        takes less than to find out whether it could be more at once."""
        plan = run.plan
        self.look(plan.start.relation, rows.shape[0])
        if rows.shape[0] < FEWEST_STARTS_CHAINED:
            assert plan.first_join is not None
            left = JoinLeft(matrix, rows, rank_column)
            results = plan.results[0] if len(plan.steps) == 1 else None
            return self._join_lists(run, 0, plan.first_join, left, results)
        joins = self._first_joins(run, rows.shape[0])
        whole, width = len(joins) == len(plan.steps), joins[-1].width
        chain: ListJoin | JoinChain = joins[0]
        for depth, last in enumerate(joins[1:], 1):
            chain = JoinChain(chain, last, self._buffer(depth, joins[depth - 1].width))
        buffer, found = self._buffer(len(joins), width), 0
        for begin in range(0, rows.shape[0], MOST_STARTS_AT_ONCE):
            if begin:
                self.between_pieces()
            joins[0].begin(JoinLeft(matrix, rows[begin : begin + MOST_STARTS_AT_ONCE], rank_column))
            ahead = None if beside is None else JoinedAhead(beside, self._buffer(AHEAD, width))
            for piece in pieces(chain, buffer, self._scratch, self.between_pieces, ahead):
                if whole:
                    run.sink(piece)
                    found += piece.shape[0]
                else:
                    found += self._steps(run, 1, piece)
        for each in joins:
            self.look(each.step.relation, int(each.cursor[2]))
        return found

    def _first_joins(self, run: PlanRun, starts: int) -> list[ListJoin]:
        """The joins that a run from so many rows begins with: all of its steps, where they are nothing but joins and
        what these look in is there; else the first one. (Others make indexes when something was found for them.)"""
        plan = run.plan
        steps = plan.chain
        seen = [self._seen(run, step) for step in steps]
        at_hand = [self._at_hand(step, each, starts) for step, each in zip(steps, seen, strict=True)]
        made = 1 if None in at_hand[1:] else len(steps)
        results = plan.results[made > 1] if made == len(plan.steps) else None
        return [
            self._list_join(
                plan,
                steps[i],
                at_hand[i] or self._lists(steps[i]),
                seen[i],
                NOTHING_LEFT,
                results if i + 1 == made else None,
            )
            for i in range(made)
        ]

    def _at_hand(self, step: Join, seen: SeenRows, starts: int) -> Lists | NearRows | None:
        """What a join may look in without an index being made: rows that were laid side by side, or an index that is
        there."""
        relation = self.relations[step.relation]
        if relation.selected:
            return None
        near = self.near.of(step, relation, seen, starts, self.look)
        return near if near is not None or step.key not in relation.indexes else self._lists(step)

    def look(self, relation: str, rows: int) -> None:
        """Count rows that were looked at."""
        self.looked[relation] += rows
        self.touched += rows

    def _steps(self, run: PlanRun, depth: int, bindings: Ints) -> int:
        plan = run.plan
        while depth < len(plan.steps):
            step = plan.steps[depth]
            if isinstance(step, Join):
                return self._join(run, depth, step, bindings)
            if isinstance(step, Generate):
                return self._generate(run, depth, step, bindings)
            depth += 1
            if isinstance(step, AntiJoin):
                bindings = self._anti_join(run, depth, step, bindings)
            elif isinstance(step, Filter):
                bindings = self.terms.filtered(step, run.types, bindings)
            elif isinstance(step, Extend):
                bindings = self.terms.extended(step, run.types, bindings)
            else:
                bindings = self.terms.with_sum(step, bindings)
            if bindings.shape[0] == 0:
                return 0
        if not plan.identity:
            out = np.empty((bindings.shape[0], plan.outputs.shape[0] + 1), np.int64)
            join.project(bindings, plan.outputs, plan.constants, out)
            bindings = out
        run.sink(bindings)
        return int(bindings.shape[0])

    def _join(self, run: PlanRun, depth: int, step: Join, bindings: Ints) -> int:
        relation = self.relations[step.relation]
        if step.key and not step.whole and not relation.selected:
            results = run.plan.results[1] if depth + 1 == len(run.plan.steps) else None
            return self._join_lists(run, depth, step, JoinLeft.of_bindings(bindings), results)
        accept, rank_column, limit = self._seen(run, step)
        out = self._buffer(depth + 1, step.outputs.shape[0] + 1)
        cursor = (AT_CHAIN if step.key else AT_START).copy()
        index = None
        if step.key and not step.whole:
            chains = self._index(step, relation)
            assert isinstance(chains, Index)
            index = chains
        which = None
        if not step.whole and not step.key:
            relation.ask(4 * int(relation.sizes[0]), f"a scan of {relation.name}")
            which = np.empty(int(relation.sizes[0]), np.int32)
            n = join.scan(relation.sizes[0], relation.rows, relation.state, accept, rank_column, limit, which)
            which = which[:n]
            self.scans[step.relation] = self.scans.get(step.relation, 0) + 1
            self.look(step.relation, int(relation.sizes[0]))
        found = 0
        while cursor[0] < bindings.shape[0]:
            if index is not None:
                n = join.join_chain(
                    bindings, step.sources, step.constants, index.columns, index.slots, index.next, relation.rows,
                    relation.state, accept, step.equalities, rank_column, limit, step.outputs, cursor, out,
                )  # fmt: skip
            elif which is not None:
                n = join.join_list(
                    bindings, which, relation.rows, relation.state, accept, step.scan_constants, step.equalities,
                    rank_column, limit, step.outputs, cursor, out,
                )  # fmt: skip
            else:
                n = join.join_row(
                    bindings, step.sources, step.constants, relation.columns, relation.slots, relation.rows,
                    relation.state, accept, step.equalities, rank_column, limit, step.outputs, cursor, out,
                    self._scratch,
                )  # fmt: skip
            if n:
                found += self._steps(run, depth + 1, out[:n])
        self.look(step.relation, int(cursor[2]))
        return found

    def _seen(self, run: PlanRun, step: Join) -> SeenRows:
        """What of a premise counts."""
        access, earlier = run.access, step.position < run.plan.split
        if step.own:
            accept, limit = access.own_after, access.rank_after
            if earlier:
                accept, limit = access.own_before, access.rank_before
            return SeenRows(accept, self.relations[step.relation].rank_column, limit)
        accept = access.before if earlier else access.after
        return SeenRows(self.pinned.get(step.relation, accept), -1, ANY_RANK)

    def needs_index(self, step: Join, relation: Relation) -> None:
        """Take note that an index is about to be made, if it is."""
        if step.key not in relation.indexes and relation.stored:
            self.built.append((step.relation, step.key))

    def _index(self, step: Join, relation: Relation) -> Index | Lists:
        """The index that a join looks in; that one is made is taken note of."""
        found = relation.indexes.get(step.key)
        if found is None or relation.waiting:
            self.needs_index(step, relation)
            found = relation.index(step.key)
        return found

    def _lists(self, step: Join) -> Lists:
        """The index of lists that a join looks in."""
        found = self._index(step, self.relations[step.relation])
        assert isinstance(found, Lists)
        return found

    def _list_join(
        self,
        plan: Plan,
        step: Join,
        rows: Lists | NearRows,
        seen: SeenRows,
        left: JoinLeft,
        results: Ints | None,
    ) -> ListJoin:
        """A join by lists, or by rows side by side. With `results`, what it writes is what the plan gives."""
        outputs, constants = (step.outputs, NO_CODES) if results is None else (results, plan.constants)
        return ListJoin(step, self.relations[step.relation], rows, seen, outputs, constants, left)

    def _join_lists(self, run: PlanRun, depth: int, step: Join, left: JoinLeft, results: Ints | None) -> int:
        """A join of bindings, or of the start's rows, by lists of rows."""
        seen = self._seen(run, step)
        listed = self._list_join(run.plan, step, self._lists(step), seen, left, results)
        between = self.between_pieces if depth == 0 else _nothing
        found = 0
        for piece in pieces(listed, self._buffer(depth + 1, listed.width), self._scratch, between):
            if results is not None:
                run.sink(piece)
                found += piece.shape[0]
            else:
                found += self._steps(run, depth + 1, piece)
        self.look(step.relation, int(listed.cursor[2]))
        return found

    def _anti_join(self, run: PlanRun, depth: int, step: AntiJoin, bindings: Ints) -> Ints:
        relation = self.relations[step.relation]
        is_earlier = step.position < run.plan.split
        avoid = run.access.absent_before if is_earlier else run.access.absent_after
        avoid = self.pinned.get(step.relation, avoid)
        out = self._buffer(depth, step.outputs.shape[0] + 1)
        cursor = np.zeros(3, np.int64)
        n = join.anti_join(
            bindings, step.sources, step.constants, relation.columns, relation.slots, relation.rows,
            relation.state, avoid, step.outputs, cursor, out, self._scratch,
        )  # fmt: skip
        self.look(step.relation, bindings.shape[0])
        return out[:n]

    def _generate(self, run: PlanRun, depth: int, step: Generate, bindings: Ints) -> int:
        """Go on with some of the values at a time: there may be many more of them than bindings."""
        plan = run.plan
        expansion = self.terms.expanded(step, run.types, bindings)
        if all(isinstance(later, Extend | AddNumbers) for later in plan.steps[depth + 1 :]):
            needed = expansion.largest * least_bytes(plan.outputs.shape[0])
            self.codec.budget.ask_ever(needed, f"{expansion.largest:,} rows from one {step.function}")
        found = 0
        for rows, values in expansion.pieces(ROWS_A_PIECE):
            longer = appended(step.outputs, bindings[rows], values)
            found += self._steps(run, depth + 1, longer)
            self.between_pieces()
        return found
