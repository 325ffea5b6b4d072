"""What changes of tables do to a block without state: the lowest operators of every tree (sections 5.2 to 5.5).

With one access, its delta is filtered and projected here. With several, what joins with a delta stays in the backend:
the block is run there with deltas in the place of some accesses. The backend holds the tables as they are *after* the
version, so for accesses R and S the delta is ΔR⋈S + R⋈ΔS − ΔR⋈ΔS; in general, each set of changed accesses is
replaced once, and added where it has an odd number of members, else taken away. Signs multiply (the paper's text
drops pairs of mixed sign).

Rows of a delta that fail a condition on their access, or whose key no row on the other side has (by a Bloom filter),
are left out first; where none is left, the backend is not asked.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from headwater.language.sql.algebra import (
    AggregateCall,
    GroupBy,
    Named,
    NamedAggregate,
    Operator,
    Project,
    Scan,
    Select,
    ThetaJoin,
)
from headwater.language.sql.scalars import Attribute, Compare, Function, Scalar, attributes_in, conjunction
from headwater.sketch.maintain.annotated import AnnotatedRows, together
from headwater.sketch.maintain.columnwise import Columnwise, compile_scalar
from headwater.sketch.maintain.few_rows import FewRows
from headwater.sketch.maintain.fragment_sets import Bools, FragmentSets
from headwater.sketch.maintain.join_walk import JoinWalk
from headwater.sketch.maintain.joined_rows import TooManyRows
from headwater.sketch.maintain.numbering import FragmentNumbers
from headwater.sketch.maintain.operator import Stateless, TableChanges
from headwater.sketch.maintain.partners import PartnerKeys, Partners
from headwater.sketch.maintain.row_tests import RowTest, compile_test
from headwater.sketch.maintain.stateless import projected
from headwater.sketch.maintain.stateless_block import KeyPair, StatelessBlock, tested_together
from headwater.sketch.maintain.switches import Switches
from headwater.sketch.maintain.table_access import FreshIds, GivenAccess, annotate
from headwater.sketch.tables.backend import TableDelta
from headwater.values.types import INT

KEYS = "_keys"
"""The table of keys that rows are asked for by."""


class BlockDelta(Stateless):
    """A block, and the columns of it that something above reads."""

    def __init__(
        self,
        block: StatelessBlock,
        wanted: Sequence[int],
        numbers: FragmentNumbers,
        fresh: FreshIds,
        switches: Switches,
    ):
        super().__init__()
        self.block = block
        self.columns = tuple(attribute for attribute in block.plan.attributes if attribute.id in set(wanted))
        self.numbers = numbers
        self.fresh = fresh
        self.switches = switches
        read = block.read(wanted)
        self.accesses = {
            scan.access: GivenAccess(scan, sorted(read[scan.access]), numbers, fresh) for scan in block.scans
        }
        self._tables = frozenset(scan.table for scan in block.scans)
        self._total = fresh.attribute("_total")
        self._asked = [fresh.attribute(f"_key_{place}") for place in range(len(self.columns))]
        self._read = read
        self._filters = {scan.access: self._local_filters(scan) for scan in block.scans}
        self._here = self._compiled_here()
        self._keys = PartnerKeys(block, self.accesses, fresh, switches)
        self._plans: dict[BlockInputs, Operator] = {}
        self._walk = JoinWalk(block, self.accesses, self.columns, switches.kept_rows)
        self.asked = 0
        """How often the backend was asked."""

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return self._walk.nbytes + self._keys.nbytes

    @property
    def left_out(self) -> int:
        """How many rows of deltas need not go to the backend."""
        return self._keys.left_out

    @property
    def computes_here(self) -> bool:
        """Whether deltas are followed without asking the backend."""
        return self._here is not None

    def few_rows(self) -> FewRows | None:
        """What follows deltas of few rows, if they are followed here and no column is read above."""
        if self._here is None or self.columns:
            return None
        return FewRows(self.accesses[self.block.scans[0].access], self._tests, self.numbers)

    def columns_of(self, table: str) -> frozenset[str]:
        """The columns of a table that are read of its deltas."""
        return frozenset(
            attribute.name
            for scan in self.block.scans
            if scan.table == table
            for attribute in scan.attributes
            if attribute.id in self._read[scan.access]
        )

    def change(self, changes: TableChanges) -> AnnotatedRows:
        if changes.deltas is None:
            return self.whole(changes)
        if not any(table in self._tables and len(delta.signs) for table, delta in changes.deltas.items()):
            return AnnotatedRows.none()
        return self._evaluate_here(changes) if self._here is not None else self._ask(changes)

    def current(self, changes: TableChanges) -> AnnotatedRows:
        return self.whole(changes)

    def matching(
        self, changes: TableChanges, columns: Sequence[int], keys: Sequence[pa.Array]
    ) -> AnnotatedRows:
        if not columns:
            return self.whole(changes)
        if not len(keys[0]):
            return AnnotatedRows.none()
        by = BlockInputs()
        plan = self._replaced(self.block.plan, by)
        types = {attribute.id: attribute for attribute in self.block.plan.attributes}
        asked = [
            replace(types[id], id=self._asked[place].id, name=f"_key_{place}")
            for place, id in enumerate(columns)
        ]
        equal = conjunction(
            tuple(Compare("=", types[id], key) for id, key in zip(columns, asked, strict=True))
        )
        joined = ThetaJoin("inner", plan, Scan(KEYS, KEYS, -1, tuple(asked)), equal)
        table = pa.table({key.name: column for key, column in zip(asked, keys, strict=True)})
        table = table.group_by([key.name for key in asked]).aggregate([])
        return self._rows_of(changes, joined, by, {KEYS: table}, 1)

    # ------------------------------------------------------------------ one access

    def _compiled_here(self) -> dict[int, Columnwise] | None:
        """The columns as functions of one access, if there is but one and all can be computed."""
        if len(self.block.scans) != 1:
            return None
        columns = {each.id: compile_scalar(self.block.meaning(each)) for each in self.columns}
        if any(compile_scalar(each) is None for each in self.block.conditions):
            return None
        known = {id: column for id, column in columns.items() if column is not None}
        return known if len(known) == len(columns) else None

    @cached_property
    def _tests(self) -> list[RowTest]:
        """All conditions of a block with one access, those that read no column too."""
        compiled = (compile_test(each) for each in tested_together(self.block.conditions))
        return [each for each in compiled if each is not None]

    def _local_filters(self, scan: Scan) -> list[RowTest]:
        """The conditions on an access that need no backend."""
        here = [each for each in self.block.about(scan) if compile_scalar(each) is not None]
        compiled = (compile_test(each) for each in tested_together(here))
        return [each for each in compiled if each is not None]

    def _evaluate_here(self, changes: TableChanges) -> AnnotatedRows:
        assert changes.deltas is not None and self._here is not None
        access = self.accesses[self.block.scans[0].access]
        delta = changes.deltas[access.scan.table]
        return projected(
            annotate(delta, access.names, self.numbers, self._tests, self._shown_here), self._here
        )

    @cached_property
    def _shown_here(self) -> dict[int, str]:
        """The names of attributes that columns are computed of, in a block with one access."""
        meanings = (self.block.meaning(each) for each in self.columns)
        names = self.accesses[self.block.scans[0].access].names
        return {each.id: names[each.id] for meaning in meanings for each in attributes_in(meaning)}

    # ------------------------------------------------------------------ several accesses

    def _ask(self, changes: TableChanges) -> AnnotatedRows:
        if self._can_walk:
            try:
                return self._walked(changes)
            except TooManyRows:
                self._can_walk = False
                self._keys.forget_counts()
        given = dict(self._given(changes))
        parts = []
        for changed in _subsets(tuple(given)):
            if all(given[access].num_rows for access in changed):
                sign = 1 if len(changed) % 2 else -1
                parts.append(self._run(changes, {access: given[access] for access in changed}, sign))
        return together(parts)

    @cached_property
    def _can_walk(self) -> bool:
        """Whether deltas are joined by lookups; not again once these have found too many rows."""
        filtered = all(
            compile_scalar(each) is not None for scan in self.block.scans for each in self.block.about(scan)
        )
        return self.switches.lookups and filtered and self._walk.can_walk

    def _walked(self, changes: TableChanges) -> AnnotatedRows:
        assert changes.deltas is not None
        rows = {
            scan.access: self._annotated(scan, changes.deltas[scan.table])
            for scan in self.block.scans
            if scan.table in changes.deltas
        }
        asked = self._walk.asked
        try:
            found = self._walk.change(
                rows,
                changes,
                lambda pair, keys: self._partners(pair, keys, changes, rows.get(pair.other)),
                () if self.switches.push_selections else tuple(itertools.chain(*self._filters.values())),
            )
        finally:
            self.asked += self._walk.asked - asked
        for number, annotated in rows.items():
            self._keys.learn(number, annotated)
        return found

    def _partners(
        self, pair: KeyPair, keys: pa.Array, changes: TableChanges, delta: AnnotatedRows | None
    ) -> Partners:
        """How many rows of the pair's other access have keys, once that is worth knowing."""
        if not self._keys.are_kept(pair) and not self._walk.is_worth_it(pair.other, changes):
            return Partners.unknown(len(keys))
        return self._keys.partners(pair, keys, changes, delta)

    def _given(self, changes: TableChanges) -> Iterator[tuple[int, pa.Table]]:
        """The deltas of accesses that changed, without what can have no part in the result.

        A row of a delta that no row of another access *before the version* joins with did nothing then: it may
        count as having been there all along. So it leaves the delta, and is from then on one of the old rows that
        deltas of other accesses may join with. New orders with their lines are such rows: of three terms, only
        Δlines ⋈ orders is left to ask for. Small deltas come first, since large ones belong to large tables, which
        are better not joined with.
        """
        assert changes.deltas is not None
        rows = {
            scan.access: self._annotated(scan, changes.deltas[scan.table])
            for scan in self.block.scans
            if scan.table in changes.deltas
        }
        for number in sorted(rows, key=lambda access: len(rows[access])):
            staying = self._with_old_partners(number, rows[number], changes)
            self._keys.learn(number, rows[number].where(~staying))
            rows[number] = rows[number].where(staying)
        for number, annotated in rows.items():
            self._keys.learn(number, annotated)
            yield number, self.accesses[number].table_of(annotated)

    def _annotated(self, scan: Scan, delta: TableDelta) -> AnnotatedRows:
        """What of a delta passes the conditions on its access."""
        tests = self._filters[scan.access] if self.switches.push_selections else ()
        return annotate(delta, self.accesses[scan.access].names, self.numbers, tests)

    def _with_old_partners(self, access: int, rows: AnnotatedRows, changes: TableChanges) -> Bools:
        """Which rows of a delta may join with old rows of all other accesses, by filters."""
        staying = np.ones(len(rows), bool)
        for pair in self.block.key_pairs:
            if pair.access == access and staying.any():
                staying &= self._keys.may_have_had(pair, rows.columns[pair.attribute.id], changes)
        return staying

    # ------------------------------------------------------------------ the backend

    def whole(self, changes: TableChanges) -> AnnotatedRows:
        """All rows that the block has now."""
        return self._run(changes, {}, 1)

    def annotated_plan(self) -> Operator:
        """The block as it is in the backend, with the fragments of its rows: `fragments`."""
        return self._replaced(self.block.plan, BlockInputs(annotated=True))

    @property
    def fragments(self) -> tuple[Attribute, ...]:
        """The attributes of `annotated_plan` that have fragments."""
        return tuple(each for access in self.accesses.values() for each in access.fragments)

    def _replaced(self, plan: Operator, by: BlockInputs) -> Operator:
        match plan:
            case Scan():
                access = self.accesses[plan.access]
                if plan.access in by.given:
                    return access.given()
                return access.annotated() if by.annotated else plan
            case Select():
                return Select(self._replaced(plan.input, by), plan.condition)
            case ThetaJoin():
                left, right = self._replaced(plan.left, by), self._replaced(plan.right, by)
                return ThetaJoin(plan.kind, left, right, plan.condition)
            case Project():
                input = self._replaced(plan.input, by)
                there = {attribute.id for attribute in input.attributes}
                wanted = tuple(each for each in plan.columns if self._computable(each.expression, there))
                said = {each.attribute.id for each in wanted}
                hidden = (each for each in self._hidden(by) if each.id in there and each.id not in said)
                return Project(input, (*wanted, *(Named(each, each) for each in hidden)))
            case _:
                raise AssertionError(plan)

    def _hidden(self, by: BlockInputs) -> Iterator[Attribute]:
        """What is carried along: fragments or what they are found by, and counts."""
        for number, access in self.accesses.items():
            yield from access.fragments if by.has_fragments(number) else access.partitioned_by
            if number in by.given:
                yield access.count

    @staticmethod
    def _computable(scalar: Scalar, there: set[int]) -> bool:
        """Whether a column can be computed: deltas have only those attributes that something reads."""
        return all(attribute.id in there for attribute in attributes_in(scalar))

    def _run(self, changes: TableChanges, given: Mapping[int, pa.Table], sign: int) -> AnnotatedRows:
        by = BlockInputs(tuple(given), annotated=not given)
        tables = {self.accesses[access].name: table for access, table in given.items()}
        plan = self._plans.get(by)
        if plan is None:
            plan = self._plans[by] = self._replaced(self.block.plan, by)
        return self._rows_of(changes, plan, by, tables, sign)

    def _rows_of(
        self, changes: TableChanges, plan: Operator, by: BlockInputs, given: Mapping[str, pa.Table], sign: int
    ) -> AnnotatedRows:
        counts = [self.accesses[access].count for access in by.given]
        carried = [each for each in self._hidden(by) if each not in counts]
        keys = {each.id: each for each in (*self.columns, *carried)}
        total = NamedAggregate(self._total, _total_of(counts))
        grouped = GroupBy(plan, tuple(Named(each, each) for each in keys.values()), (total,))
        found = self.ask(changes, grouped, given, annotated=by.annotated)
        return self.rows_from(found, list(keys), by, sign)

    def ask(
        self,
        changes: TableChanges,
        plan: Operator,
        given: Mapping[str, pa.Table] | None = None,
        *,
        annotated: bool = True,
    ) -> pa.Table:
        """The rows of a plan over what `annotated_plan` gives, or over accesses as they are."""
        self.asked += 1
        ranges = self.numbers.ranges if annotated else None
        return changes.backend.run(plan, versions=changes.versions, given=given, fragments=ranges)

    def column(self, id: int) -> Attribute:
        """One of our columns."""
        return next(each for each in self.columns if each.id == id)

    @staticmethod
    def no_fragments(rows: int) -> FragmentSets:
        """The annotations of rows of which nobody asks what they rest on."""
        return FragmentSets.matrix([], rows)

    def rows_from(
        self, found: pa.Table, ids: Sequence[int], by: BlockInputs | None = None, sign: int = 1
    ) -> AnnotatedRows:
        """Rows from a backend: columns with these ids, and then how often each row occurs."""
        by = by or BlockInputs(annotated=True)
        places = {id: place for place, id in enumerate(ids)}
        wanted = [each.id for each in self.columns if each.id in places]
        columns = {id: _one_chunk(found.column(places[id])) for id in wanted}
        numbered, slots = [], []
        for number, access in self.accesses.items():
            as_values = not by.has_fragments(number)
            attributes = access.partitioned_by if as_values else access.fragments
            for slot, attribute in zip(access.slots, attributes, strict=True):
                column = found.column(places[attribute.id])
                numbered.append(access.fragments_of(column, slot, as_values=as_values))
                slots.append(slot)
        counts = np.asarray(found.column(len(ids)).cast(pa.int64()).fill_null(0)).astype(np.int64) * sign
        sets = FragmentSets.matrix(numbered, len(counts), disjoint=len(set(slots)) == len(slots))
        return AnnotatedRows(columns, counts, sets).where(counts != 0)


@dataclass(frozen=True)
class BlockInputs:
    """How a block is run: with which accesses given, and whether the others have fragments (else what these are found
    by: a delta joins with few rows, whose fragments are found here)."""

    given: tuple[int, ...] = ()
    annotated: bool = False

    def has_fragments(self, access: int) -> bool:
        """Whether an access has its fragments as a column."""
        return self.annotated or access in self.given


def _total_of(counts: Sequence[Attribute]) -> AggregateCall:
    """How often a row occurs: the product of the counts of what it was joined from, summed."""
    if not counts:
        return AggregateCall("count", None)
    product: Scalar = counts[0]
    for each in counts[1:]:
        product = Function("multiply", (product, each), INT)
    return AggregateCall("sum", product)


def _subsets(accesses: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(1, len(accesses) + 1):
        yield from itertools.combinations(accesses, size)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()
