"""Rows of joins on their way: signed, column by column, with the fragments of each access; and those of small tables,
which are kept by their keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.sketch.maintain.annotated import unified
from headwater.sketch.maintain.fragment_sets import Bools, Ints
from headwater.sketch.maintain.stateless_block import KeyPair
from headwater.sketch.sketch import Slot
from headwater.sketch.tables.bags import row_numbers


class TooManyRows(Exception):  # noqa: N818
    """So many rows join that the backend had better join them."""


@dataclass(frozen=True)
class JoinedRows:
    """Signed rows of some accesses, joined: columns by attribute, fragments by access and slot."""

    bound: frozenset[int]
    columns: Mapping[int, pa.Array]
    counts: Ints
    fragments: Mapping[tuple[int, Slot], Ints]

    def __len__(self) -> int:
        return len(self.counts)

    def take(self, rows: Ints) -> JoinedRows:
        """Some of the rows, by their places."""
        places = pa.array(rows)
        return JoinedRows(
            self.bound,
            {id: column.take(places) for id, column in self.columns.items()},
            self.counts[rows],
            {key: numbers[rows] for key, numbers in self.fragments.items()},
        )

    def where(self, mask: Bools) -> JoinedRows:
        """The rows for which the mask holds."""
        return self if mask.all() else self.take(np.flatnonzero(mask))


@dataclass(frozen=True)
class KeyOrder:
    """The places of rows by a key of ints, ascending; those without a key are left out."""

    keys: Ints
    places: Ints

    @staticmethod
    def of(column: pa.Array) -> KeyOrder:
        there = np.flatnonzero(np.asarray(column.is_valid(), dtype=bool))
        keys = np.asarray(column.drop_null().cast(pa.int64()))
        order = np.argsort(keys, kind="stable")
        return KeyOrder(keys[order], there[order])

    def found(self, keys: Ints) -> tuple[Ints, Ints]:
        """For each key where its rows begin, and how many there are."""
        first = np.searchsorted(self.keys, keys, "left")
        return first, np.searchsorted(self.keys, keys, "right") - first


@dataclass(frozen=True)
class KeptRows:
    """All rows that an access had at a version of its table; `None` if they were too many then."""

    version: int
    rows: JoinedRows | None
    _orders: dict[int, KeyOrder] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        columns = self.rows.columns.values() if self.rows is not None else ()
        total: int = sum(column.nbytes for column in columns)
        return total + sum(2 * each.keys.nbytes for each in self._orders.values())

    def joined(
        self, left: JoinedRows, pairs: Sequence[KeyPair], bound: frozenset[int], most: int
    ) -> JoinedRows:
        """Pairs of rows with equal keys: by the key of ints that fewest rows have, then by the others. Refused if
        these are more than `most`."""
        assert self.rows is not None
        leads = [pair for pair in pairs if self._leads(pair, left)]
        if not leads or not len(left):
            return matched(left, self.rows, pairs, bound)
        best: tuple[KeyPair, KeyOrder, Ints, Ints] | None = None
        for pair in leads:
            order = self._order(pair.other_attribute.id)
            first, lengths = order.found(np.asarray(left.columns[pair.attribute.id].cast(pa.int64())))
            if best is None or lengths.sum() < best[3].sum():
                best = pair, order, first, lengths
        assert best is not None
        lead, order, first, lengths = best
        if lengths.sum() > most:
            raise TooManyRows
        mine, within = _spread(first, lengths)
        joined = _side_by_side(left.take(mine), self.rows.take(order.places[within]), bound)
        for pair in pairs:
            if pair is not lead and len(joined):
                same = pc.equal(joined.columns[pair.attribute.id], joined.columns[pair.other_attribute.id])
                joined = joined.where(np.asarray(same.fill_null(False), dtype=bool))
        return joined

    def can_be_joined(self, pairs: Sequence[KeyPair]) -> bool:
        """Whether a key of ints leads to rows, so that not all of them need be looked at."""
        return self.rows is not None and any(
            pa.types.is_integer(self.rows.columns[pair.other_attribute.id].type) for pair in pairs
        )

    def _leads(self, pair: KeyPair, left: JoinedRows) -> bool:
        assert self.rows is not None
        columns = left.columns[pair.attribute.id], self.rows.columns[pair.other_attribute.id]
        return all(pa.types.is_integer(column.type) for column in columns)

    def _order(self, attribute: int) -> KeyOrder:
        assert self.rows is not None
        known = self._orders.get(attribute)
        if known is None:
            known = self._orders[attribute] = KeyOrder.of(self.rows.columns[attribute])
        return known


def matched(
    left: JoinedRows, right: JoinedRows, pairs: Sequence[KeyPair], bound: frozenset[int]
) -> JoinedRows:
    """Pairs of rows with equal keys; neither side has NULL where the left one was asked for them."""
    if not len(left) or not len(right):
        return JoinedRows(bound, {}, np.empty(0, np.int64), {})
    ours = [left.columns[pair.attribute.id] for pair in pairs]
    theirs = [right.columns[pair.other_attribute.id] for pair in pairs]
    one, other = _numbered(ours, theirs)
    order = np.argsort(other, kind="stable")
    ordered = other[order]
    first = np.searchsorted(ordered, one, "left")
    mine, within = _spread(first, np.searchsorted(ordered, one, "right") - first)
    return _side_by_side(left.take(mine), right.take(order[within]), bound)


def _spread(first: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """For spans that begin at some places: which span each member is of, and where it is."""
    mine = np.repeat(np.arange(len(first)), lengths)
    starts = np.cumsum(lengths) - lengths
    return mine, np.repeat(first - starts, lengths) + np.arange(len(mine))


def _side_by_side(left: JoinedRows, right: JoinedRows, bound: frozenset[int]) -> JoinedRows:
    """Rows of both sides, place by place, as one."""
    columns, fragments = {**left.columns, **right.columns}, {**left.fragments, **right.fragments}
    return JoinedRows(bound, columns, left.counts * right.counts, fragments)


def _numbered(ours: Sequence[pa.Array], theirs: Sequence[pa.Array]) -> tuple[Ints, Ints]:
    """A number for each row, the same for rows with equal keys; NULL of theirs has one that ours have not."""
    if len(ours) == 1 and pa.types.is_integer(ours[0].type) and not theirs[0].null_count:
        return np.asarray(ours[0].cast(pa.int64())), np.asarray(theirs[0].cast(pa.int64()))
    columns = [pa.concat_arrays(unified([a, b])) for a, b in zip(ours, theirs, strict=True)]
    numbers = row_numbers(pa.table({str(place): column for place, column in enumerate(columns)}))
    return numbers[: len(ours[0])], numbers[len(ours[0]) :]


def concatenated_rows(parts: Sequence[JoinedRows]) -> JoinedRows | None:
    """The rows of all parts; `None` if there are no parts."""
    filled = [part for part in parts if len(part)]
    if not filled:
        return parts[0] if parts else None
    if len(filled) == 1:
        return filled[0]
    columns = {
        id: pa.concat_arrays(unified([part.columns[id] for part in filled])) for id in filled[0].columns
    }
    fragments = {key: np.concatenate([part.fragments[key] for part in filled]) for key in filled[0].fragments}
    counts = np.concatenate([part.counts for part in filled])
    return JoinedRows(filled[0].bound, columns, counts, fragments)
