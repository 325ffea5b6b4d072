"""Joins of deltas with tables by *lookups*: from access to access along the keys that join them, each table asked for
the rows with the keys at hand (section 5.5, with the fetches of 9.4).

Of changed accesses R and S, ΔR⋈S_old + R_new⋈ΔS is their delta. The backend holds new states; an old one is the new
one without its delta. What is kept of keys (`partners`) says where no question is needed: rows that had no partners
before join with the delta of the other side only, and so do those that have none now. So new orders with their lines
cost no statement, nor do deleted ones, however many tables are joined with them afterwards: each of these is asked
once, for all changes together. Where nothing is read of an access but its key, the number of its rows is enough.

A lookup that finds very many rows gives up, and the block is run in the backend instead (`block_delta`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from headwater.events import ReadWhole
from headwater.language.sql.scalars import Attribute, Compare, attributes_in, conjunction
from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.columnwise import Columnwise, as_column, compile_scalar
from headwater.sketch.maintain.fragment_sets import Bools, FragmentSets
from headwater.sketch.maintain.joined_rows import (
    JoinedRows,
    KeptRows,
    TooManyRows,
    concatenated_rows,
    matched,
)
from headwater.sketch.maintain.operator import TableChanges
from headwater.sketch.maintain.partners import Partners, is_counted_only
from headwater.sketch.maintain.row_tests import RowTest, compile_test
from headwater.sketch.maintain.stateless_block import KeyPair, StatelessBlock
from headwater.sketch.maintain.table_access import GivenAccess
from headwater.sketch.tables.key_lookup import KeyLookup

FEWEST_FOUND_AT_MOST = 20_000
"""A lookup may find so many rows,"""
MOST_FOUND_PER_ROW = 50
"""or so many for each row that asks."""
FEW_KEPT = 20_000
"""So few rows of an access are read again as soon as their table has changed."""
STAYS_AFTER = 3
"""More are read again when they are asked for so often at one version."""
MOST_BYTES_KEPT = 8 * 2**20
"""Of one access."""
SOON_READ = 0.1
"""What takes so few seconds to read as a whole is read when that could first save a lookup."""
KEY_TYPES = ("int", "string", "date")
"""Types of keys that are compared here as every backend compares them."""
FindPartners = Callable[[KeyPair, pa.Array], Partners]
"""How many rows of the pair's other access have keys."""


@dataclass(frozen=True)
class WalkStep:
    """From the accesses that are bound to another one."""

    target: int
    pairs: tuple[KeyPair, ...]
    """From bound accesses to the target."""
    lookup: KeyLookup
    conditions: tuple[RowTest, ...]
    """What can be tested as soon as the target is bound."""
    is_counted: bool
    """Whether nothing of the target matters but how many rows have a key."""


class JoinWalk:
    """A block of several accesses whose deltas are joined by lookups."""

    def __init__(
        self,
        block: StatelessBlock,
        accesses: Mapping[int, GivenAccess],
        columns: Sequence[Attribute],
        kept_rows: int,
    ):
        self.block = block
        self.accesses = accesses
        self.columns = tuple(columns)
        self.most_kept = kept_rows
        self.asked = 0
        self.spent: dict[int, float] = {}
        """The seconds that lookups in accesses have taken."""
        self._costs: dict[int, float] = {}
        """Those that reading keys of all their rows would take."""
        self._kept: dict[int, KeptRows] = {}
        self._newer: dict[int, tuple[int, int]] = {}
        """Of accesses that are kept as they were before: the version now, and how often rows were asked for since."""
        self._steps: dict[tuple[frozenset[int], int], WalkStep] = {}

    # ------------------------------------------------------------------ whether it can be done

    @cached_property
    def can_walk(self) -> bool:
        """Whether all that is tested and shown can be computed here, and keys lead to every access."""
        if any(each is None for each in self._shown.values()) or any(
            each is None for _, each in self._conditions
        ):
            return False
        reached = {self.block.scans[0].access}
        while more := {pair.other for pair in self._keys if pair.access in reached} - reached:
            reached |= more
        return reached == set(self.accesses)

    @cached_property
    def _keys(self) -> tuple[KeyPair, ...]:
        return tuple(
            pair
            for pair in self.block.key_pairs
            if pair.attribute.type is not None
            and pair.attribute.type.name in KEY_TYPES
            and pair.attribute.type == pair.other_attribute.type
        )

    @cached_property
    def _shown(self) -> dict[int, Columnwise | None]:
        return {each.id: compile_scalar(self.block.meaning(each)) for each in self.columns}

    @cached_property
    def _conditions(self) -> list[tuple[frozenset[int], RowTest | None]]:
        """What must hold across accesses, beside equal keys."""
        joined = {frozenset((pair.attribute.id, pair.other_attribute.id)) for pair in self._keys}
        found = []
        for each in self.block.conditions:
            about = frozenset(self.block.accesses_of(each))
            is_key = (
                isinstance(each, Compare)
                and each.operator == "="
                and (
                    frozenset(attribute.id for attribute in attributes_in(each)) in joined
                    and isinstance(each.left, Attribute)
                    and isinstance(each.right, Attribute)
                )
            )
            if len(about) != 1 and not is_key:
                found.append((about, compile_test(each)))
        return found

    @cached_property
    def _constants(self) -> tuple[RowTest, ...]:
        """Conditions that read no access: no step binds what they are about."""
        return tuple(each for about, each in self._conditions if not about and each is not None)

    # ------------------------------------------------------------------ a version

    def change(
        self,
        deltas: Mapping[int, AnnotatedRows],
        changes: TableChanges,
        partners: FindPartners,
        untested: Sequence[RowTest] = (),
    ) -> AnnotatedRows:
        """What the deltas of accesses do to the block. They fulfil what is said of each alone, but for what is
        `untested`."""
        version = _WalkedVersion(self, self._rows_of_deltas(deltas), changes, partners)
        found = version.change()
        for test in (*self._constants, *untested):
            if found is not None and len(found):
                found = found.where(test(found.columns, len(found)))
        return self._annotated(found)

    def _rows_of_deltas(self, deltas: Mapping[int, AnnotatedRows]) -> dict[int, JoinedRows]:
        found = {}
        for number, rows in deltas.items():
            slots = self.accesses[number].slots
            members = rows.fragments.sets().members.reshape(len(rows), len(slots))
            fragments = {(number, slot): members[:, place] for place, slot in enumerate(slots)}
            found[number] = JoinedRows(frozenset((number,)), rows.columns, rows.counts, fragments)
        return found

    def _annotated(self, rows: JoinedRows | None) -> AnnotatedRows:
        if rows is None or not len(rows):
            return AnnotatedRows.none()
        columns = {}
        for id, column in self._shown.items():
            assert column is not None
            columns[id] = as_column(column(rows.columns), len(rows))
        numbered = [
            rows.fragments[(number, slot)]
            for number, access in self.accesses.items()
            for slot in access.slots
        ]
        slots = [slot for access in self.accesses.values() for slot in access.slots]
        sets = FragmentSets.matrix(numbered, len(rows), disjoint=len(set(slots)) == len(slots))
        return AnnotatedRows(columns, rows.counts, sets).where(rows.counts != 0)

    def next_step(self, bound: frozenset[int], among: frozenset[int]) -> WalkStep | None:
        """Where to go next: to accesses that few rows pass, first."""
        reachable = sorted(
            {pair.other for pair in self._keys if pair.access in bound and pair.other in among - bound},
            key=lambda access: (not self.block.about(self.accesses[access].scan), access),
        )
        return self._step(bound, reachable[0]) if reachable else None

    def _step(self, bound: frozenset[int], target: int) -> WalkStep:
        known = self._steps.get((bound, target))
        if known is None:
            pairs = tuple(pair for pair in self._keys if pair.access in bound and pair.other == target)
            now = bound | {target}
            conditions = tuple(
                compiled
                for about, compiled in self._conditions
                if compiled is not None and about <= now and not about <= bound
            )
            lookup = self._lookup(self.accesses[target], pairs)
            is_counted = is_counted_only(self.accesses[target], pairs[0].other_attribute)
            known = self._steps[(bound, target)] = WalkStep(target, pairs, lookup, conditions, is_counted)
        return known

    def _lookup(self, access: GivenAccess, pairs: Sequence[KeyPair]) -> KeyLookup:
        about = self.block.about(access.scan)
        columns = {each.id: each for each in (*access.wanted, *access.partitioned_by)}
        keys = tuple({pair.other_attribute.id: pair.other_attribute for pair in pairs}.values())
        return KeyLookup(access.scan, tuple(columns.values()), conjunction(about) if about else None, keys)

    @property
    def nbytes(self) -> int:
        """What the rows that are kept take."""
        return sum(each.nbytes for each in self._kept.values())

    def kept_rows(self, step: WalkStep, changes: TableChanges) -> KeptRows | None:
        """All rows of an access whose table has not changed, if they are few.

        Those of a table that changes now and then are read again once it has stayed as it is for a while: reading
        them costs about as much as a lookup, but not after every change.
        """
        if not self.most_kept:
            return None
        access = step.target
        version = changes.versions[self.accesses[access].scan.table]
        known = self._kept.get(access)
        if known is None and not self.is_worth_it(access, changes):
            return None
        if known is None or (known.rows is not None and known.version != version):
            if known is not None and not self._stays(access, known, version):
                return None
            known = self._kept[access] = self._read_whole(access, version, changes)
        usable = known.rows is not None and (len(known.rows) <= FEW_KEPT or known.can_be_joined(step.pairs))
        return known if usable else None

    def is_worth_it(self, access: int, changes: TableChanges) -> bool:
        """Whether lookups in an access have taken as long as reading keys of all its rows, or that takes no time to
        speak of: whatever comes, not more than twice as long is spent as was needed."""
        cost = self._costs.get(access)
        if cost is None:
            cost = changes.backend.seconds_for_keys(self.accesses[access].scan.table)
            self._costs[access] = cost
        return cost <= SOON_READ or self.spent.get(access, 0.0) >= cost

    def _stays(self, access: int, known: KeptRows, version: int) -> bool:
        """Whether a table has had this version for as long as it takes for its rows to be read again."""
        before, seen = self._newer.get(access, (version, 0))
        self._newer[access] = version, (seen if before == version else 0) + 1
        assert known.rows is not None
        return len(known.rows) <= FEW_KEPT or self._newer[access][1] >= STAYS_AFTER

    def _read_whole(self, access: int, version: int, changes: TableChanges) -> KeptRows:
        lookup = self._lookup(self.accesses[access], ())
        self.asked += 1
        found = changes.backend.lookup(lookup, (), versions=changes.versions, most=self.most_kept)
        read = self.most_kept if found is None else found.num_rows
        if read > FEW_KEPT:
            changes.events.append(ReadWhole(self.accesses[access].scan.table, read))
        if found is None or found.nbytes > MOST_BYTES_KEPT:
            return KeptRows(version, None)
        return KeptRows(version, self.found_rows(self.accesses[access], lookup, found))

    def found_rows(self, access: GivenAccess, lookup: KeyLookup, found: pa.Table) -> JoinedRows:
        """The rows of a lookup."""
        places = {attribute.id: place for place, attribute in enumerate(lookup.columns)}
        fragments = {
            (access.scan.access, slot): access.fragments_of(
                found.column(places[attribute.id]), slot, as_values=True
            )
            for slot, attribute in zip(access.slots, access.partitioned_by, strict=True)
        }
        columns = {each.id: _array(found.column(places[each.id])) for each in access.wanted}
        counts = np.ones(found.num_rows, np.int64)
        return JoinedRows(frozenset((access.scan.access,)), columns, counts, fragments)


@dataclass(frozen=True)
class _WalkedVersion:
    """One version on its way."""

    walk: JoinWalk
    deltas: Mapping[int, JoinedRows]
    changes: TableChanges
    partners: FindPartners

    def change(self) -> JoinedRows | None:
        """Each changed access in turn: its delta with those before it as they are now, those after it as they were.

        All terms go to the other changed accesses first. Where all of them meet there, the rest is walked once.
        """
        order = sorted(self.deltas, key=lambda access: len(self.deltas[access]))
        changed = frozenset(self.deltas)
        terms = []
        for place, access in enumerate(order):
            rows = self.deltas[access]
            if len(rows):
                rows = self._along(rows, changed, old=frozenset(order[place + 1 :]))
                terms.append((rows, frozenset(order[place + 1 :])))
        everything = frozenset(self.walk.accesses)
        met = [rows for rows, _ in terms if rows.bound == changed]
        apart = [(rows, old) for rows, old in terms if rows.bound != changed and len(rows)]
        done = [self._along(rows, everything, old) for rows, old in apart]
        together = concatenated_rows(met)
        if together is not None and len(together):
            done.append(self._along(together, everything, frozenset()))
        return concatenated_rows([rows for rows in done if rows.bound == everything])

    def _along(self, rows: JoinedRows, among: frozenset[int], old: frozenset[int]) -> JoinedRows:
        while len(rows):
            step = self.walk.next_step(rows.bound, among)
            if step is None:
                break
            rows = self._joined(rows, step, is_old=step.target in old)
        return rows

    def _joined(self, rows: JoinedRows, step: WalkStep, *, is_old: bool) -> JoinedRows:
        """Rows with their partners in another access, as it is now or as it was."""
        bound = rows.bound | {step.target}
        keys = [rows.columns[pair.attribute.id] for pair in step.pairs]
        valid = np.ones(len(rows), bool)
        for column in keys:
            if column.null_count:
                valid &= np.asarray(column.is_valid(), dtype=bool)
        delta = self.deltas.get(step.target)
        parts = []
        kept = None if delta is not None else self.walk.kept_rows(step, self.changes)
        if kept is not None:
            return self._tested(
                kept.joined(rows.where(valid), step.pairs, bound, _most_found(rows)), step, bound
            )
        before, after = valid.copy(), valid.copy()
        for pair, column in zip(step.pairs, keys, strict=True):
            found = self.partners(pair, column)
            if found.exact and len(step.pairs) == 1 and step.is_counted:
                return self._tested(_counted(rows, pair, valid, found, bound, is_old=is_old), step, bound)
            before, after = before & (found.before > 0), after & (found.after > 0)
        asked = before & after
        if asked.any():
            asking = rows.where(asked)
            parts.append(matched(asking, self._looked_up(asking, step), step.pairs, bound))
        if delta is not None and is_old and before.any():
            gone = replace(delta, counts=-delta.counts)
            parts.append(matched(rows.where(before), gone, step.pairs, bound))
        if delta is not None and not is_old and not before.all():
            parts.append(matched(rows.where(valid & ~before), delta, step.pairs, bound))
        return self._tested(concatenated_rows(parts), step, bound)

    @staticmethod
    def _tested(joined: JoinedRows | None, step: WalkStep, bound: frozenset[int]) -> JoinedRows:
        """The rows that pass what can be tested now."""
        if joined is None:
            return JoinedRows(bound, {}, np.empty(0, np.int64), {})
        for condition in step.conditions:
            if len(joined):
                joined = joined.where(condition(joined.columns, len(joined)))
        return joined

    def _looked_up(self, rows: JoinedRows, step: WalkStep) -> JoinedRows:
        walk = self.walk
        first = {pair.other_attribute.id: pair.attribute.id for pair in reversed(step.pairs)}
        keys = [rows.columns[first[each.id]] for each in step.lookup.keys]
        walk.asked += 1
        started = time.perf_counter()
        found = self.changes.backend.lookup(
            step.lookup,
            keys,
            versions=self.changes.versions,
            most=_most_found(rows),
        )
        walk.spent[step.target] = walk.spent.get(step.target, 0.0) + time.perf_counter() - started
        if found is None:
            raise TooManyRows
        return walk.found_rows(walk.accesses[step.target], step.lookup, found)


def _counted(
    rows: JoinedRows, pair: KeyPair, valid: Bools, partners: Partners, bound: frozenset[int], *, is_old: bool
) -> JoinedRows:
    """Rows with partners of which nothing is read but their number."""
    times = np.where(valid, partners.before if is_old else partners.after, 0)
    there = np.flatnonzero(times)
    joined = rows.take(there)
    columns = {**joined.columns, pair.other_attribute.id: joined.columns[pair.attribute.id]}
    return JoinedRows(bound, columns, joined.counts * times[there], joined.fragments)


def _most_found(rows: JoinedRows) -> int:
    """How many rows may be found for these."""
    return max(FEWEST_FOUND_AT_MOST, MOST_FOUND_PER_ROW * len(rows))


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
