"""Which rows of a delta have partners in another access of a block: by what is kept of that access's keys.

Keys of ints are counted (`key_counts`), where deltas are joined by lookups: what was there before a version and what
is there after it is known exactly. Others are in Bloom filters, which hold every key that ever was there. Both are
made when they are first asked for, by reading the keys of all rows once: an event says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headwater.events import ReadWhole
from headwater.language.sql.algebra import (
    AggregateCall,
    GroupBy,
    Named,
    NamedAggregate,
    Operator,
    Project,
    Select,
)
from headwater.language.sql.scalars import Attribute, conjunction
from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.bloom import BloomFilter, can_be_hashed
from headwater.sketch.maintain.fragment_sets import Bools, Ints
from headwater.sketch.maintain.key_counts import KeyCounts
from headwater.sketch.maintain.operator import TableChanges
from headwater.sketch.maintain.stateless_block import KeyPair, StatelessBlock
from headwater.sketch.maintain.switches import Switches
from headwater.sketch.maintain.table_access import FreshIds, GivenAccess

MOST_ROWS_COUNTED = 20_000_000
"""Keys of larger tables are in Bloom filters, which take less."""


@dataclass(frozen=True)
class Partners:
    """For some keys, how many rows of another access have them: before the version, and after it. If they are not
    `exact`, 0 is none, and others are perhaps some."""

    before: Ints
    after: Ints
    exact: bool = False

    @staticmethod
    def unknown(keys: int) -> Partners:
        some = np.ones(keys, np.int64)
        return Partners(some, some)


class PartnerKeys:
    """The keys of a block's accesses, as far as they are kept."""

    def __init__(
        self,
        block: StatelessBlock,
        accesses: Mapping[int, GivenAccess],
        fresh: FreshIds,
        switches: Switches,
    ):
        self.block = block
        self.accesses = accesses
        self.switches = switches
        self._count = fresh.attribute("_count")
        self._blooms: dict[KeyPair, BloomFilter] = {}
        self._counts: dict[KeyPair, KeyCounts] = {}
        self._uncounted: set[KeyPair] = set()
        self.left_out = 0
        """How many rows of deltas had no partners."""

    @property
    def nbytes(self) -> int:
        blooms, counts = self._blooms.values(), self._counts.values()
        return sum(each.nbytes for each in blooms) + sum(each.nbytes for each in counts)

    @property
    def kept(self) -> int:
        """How many keys of accesses are kept."""
        return len(self._blooms) + len(self._counts)

    def are_kept(self, pair: KeyPair) -> bool:
        """Whether the keys of the pair's other access are known."""
        return pair in self._blooms or pair in self._counts

    def partners(
        self, pair: KeyPair, keys: pa.Array, changes: TableChanges, delta: AnnotatedRows | None
    ) -> Partners:
        """How many rows of the pair's other access, of which this is the delta, have these keys."""
        counts = self._counted(pair, keys, changes, delta)
        if counts is None:
            perhaps = self.may_have_had(pair, keys, changes)
            return Partners(perhaps.astype(np.int64), np.ones(len(keys), np.int64))
        asked = _ints(keys)
        before = counts.of_keys(asked)
        after = before if delta is None or not len(delta) else before + _added(asked, *_keys_of(delta, pair))
        self.left_out += int((before == 0).sum())
        return Partners(before, after, exact=True)

    def may_have_had(self, pair: KeyPair, keys: pa.Array, changes: TableChanges) -> Bools:
        """Which of these keys a row of the pair's other access may have, before the version or after it."""
        bloom = None
        if self.switches.bloom_filters and can_be_hashed(keys.type):
            bloom = self._bloom(pair, changes)
        if bloom is None:
            return np.ones(len(keys), bool)
        staying = bloom.may_hold(keys)
        self.left_out += int((~staying).sum())
        return staying

    def learn(self, access: int, rows: AnnotatedRows) -> None:
        """Follow the delta of an access: filters learn the keys of deleted rows, too."""
        if not len(rows):
            return
        for pair, bloom in self._blooms.items():
            if pair.other == access:
                bloom.add(rows.columns[pair.other_attribute.id])
        for pair, counts in self._counts.items():
            if pair.other == access:
                counts.add(*_keys_of(rows, pair))

    def forget_counts(self) -> None:
        """Keep filters only: deltas are joined in the backend from now on."""
        self._counts.clear()

    # ------------------------------------------------------------------ reading keys

    def _counted(
        self, pair: KeyPair, keys: pa.Array, changes: TableChanges, delta: AnnotatedRows | None
    ) -> KeyCounts | None:
        """The counts of keys before the version."""
        known = self._counts.get(pair)
        if known is not None or pair in self._blooms or pair in self._uncounted:
            return known
        read = self._read(pair, changes) if self._can_be_counted(pair, keys, changes) else None
        if read is None:
            self._uncounted.add(pair)
            return None
        known = KeyCounts.of(*read)
        if delta is not None and len(delta):
            gone, signs = _keys_of(delta, pair)
            known.add(gone, -signs)
        self._counts[pair] = known
        return known

    def _can_be_counted(self, pair: KeyPair, keys: pa.Array, changes: TableChanges) -> bool:
        """Whether counts follow deltas: those must be of the rows that were counted, and deletions among them."""
        backend = changes.backend
        return (
            self.switches.bloom_filters
            and self.switches.push_selections
            and self.switches.shrink
            and pa.types.is_integer(keys.type)
            and backend.counts_keys != "never"
            and backend.rows(self.accesses[pair.other].scan.table) <= MOST_ROWS_COUNTED
        )

    def _read(self, pair: KeyPair, changes: TableChanges) -> tuple[Ints, Ints | None] | None:
        """The keys of all rows as they are now, or each once with its count; `None` if they are no ints there."""
        key = pair.other_attribute
        source = self._source(pair)
        is_grouped = changes.backend.counts_keys == "there"
        plan: Operator = Project(source, (Named(key, key),))
        if is_grouped:
            count = NamedAggregate(self._count, AggregateCall("count", None))
            plan = GroupBy(source, (Named(key, key),), (count,))
        found = changes.backend.run(plan, versions=changes.versions)
        changes.events.append(ReadWhole(self.accesses[pair.other].scan.table, found.num_rows))
        if not pa.types.is_integer(found.column(0).type):
            return None
        if found.column(0).null_count:
            found = found.filter(found.column(0).is_valid())
        counts = np.asarray(found.column(1).cast(pa.int64())) if is_grouped else None
        return np.asarray(found.column(0)).astype(np.int64, copy=False), counts

    def _bloom(self, pair: KeyPair, changes: TableChanges) -> BloomFilter | None:
        """The keys of the other side, as of now and of the delta that led here."""
        bloom = self._blooms.get(pair)
        if bloom is None:
            scan = self.accesses[pair.other].scan
            key = pair.other_attribute
            plan = GroupBy(self._source(pair), (Named(key, key),), ())
            column = changes.backend.run(plan, versions=changes.versions).column(0).combine_chunks()
            if not can_be_hashed(column.type):
                return None
            changes.events.append(ReadWhole(scan.table, len(column)))
            bloom = BloomFilter(2 * len(column))
            bloom.add(column)
            deltas = changes.deltas or {}
            if scan.table in deltas:
                bloom.add(deltas[scan.table].rows.column(key.name).combine_chunks())
            self._blooms[pair] = bloom
        return bloom

    def _source(self, pair: KeyPair) -> Operator:
        scan = self.accesses[pair.other].scan
        about = self.block.about(scan)
        return Select(scan, conjunction(about)) if about else scan


def is_counted_only(access: GivenAccess, key: Attribute) -> bool:
    """Whether nothing of an access matters but how many rows have a key."""
    return not access.slots and {each.id for each in access.wanted} <= {key.id}


def _ints(column: pa.Array) -> Ints:
    filled = column.fill_null(0) if column.null_count else column
    found: Ints = filled.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return found


def _keys_of(rows: AnnotatedRows, pair: KeyPair) -> tuple[Ints, Ints]:
    """The keys of a delta's rows with their counts, but for NULL."""
    column = rows.columns[pair.other_attribute.id]
    if not column.null_count:
        return _ints(column), rows.counts
    valid = np.asarray(column.is_valid(), dtype=bool)
    return _ints(column)[valid], rows.counts[valid]


def _added(asked: Ints, keys: Ints, counts: Ints) -> Ints:
    """By how much the counts of keys change."""
    order = np.argsort(keys, kind="stable")
    ordered, sums = keys[order], np.concatenate(([0], np.cumsum(counts[order])))
    first, last = np.searchsorted(ordered, asked, "left"), np.searchsorted(ordered, asked, "right")
    found: Ints = sums[last] - sums[first]
    return found
