"""Room for what a version does to a relation, made before it is done.

Whoever makes room asks the relation's `Room` first, so that a version is refused while it can still be undone, which
needs no room. Arrays of some size grow in place (see `memory`); the last one to grow is the one whose length says
what there is room for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headwater.kernel.compiled import load_endings
from headwater.kernel.memory import LARGE, empty, grown, zeros
from headwater.kernel.row_table import ENTRY_BYTES, has_room, table_size

if TYPE_CHECKING:
    from headwater.kernel.relation import Relation

NARROW, WIDE = np.dtype(np.int32), np.dtype(np.int64)
"""How numbers of rows are stored."""
FEWEST_ROWS_GROWN = 256
"""By how many rows a relation grows at the least."""
FEWEST_ROWS_DOUBLED = 4096
"""From how many rows on a relation is doubled, until its arrays grow in place."""
FEWEST_NOTED_DOUBLED = 2048
"""From how many entries on journals are doubled."""
SPARE = 16
"""How many rows there is room for beyond what is needed or expected."""
JOURNAL_BYTES = 36
"""What an entry of the journal takes."""


def rows(relation: Relation, extra: int) -> None:
    """Make room for `extra` more rows, though not for finding them."""
    need = int(relation.sizes[0]) + extra
    if need > relation.state.shape[0]:
        size = max(need, _larger(relation))
        relation.ask(
            (size - relation.state.shape[0]) * relation.row_bytes,
            f"room for {size:,} rows of {relation.name}",
        )
        ready_to_end(relation, size, relation.rows.dtype)
        relation.rows = grown(relation.rows, size, empty)
        for index in relation.indexes.values():
            index.reserve(size)
        relation.state = grown(relation.state, size)  # last: its length says what there is room for


def ready_to_end(relation: Relation, rows: int, stored: np.dtype[Any], *, leaving: bool = False) -> None:
    """Have what ends the open version of a relation with so many rows, whose numbers are stored so. Where it has made
    all of them, and none is `leaving`, undoing it is clearing the relation."""
    load_endings(rows, stored.itemsize)
    if leaving or relation.pinned or relation.sizes[1] > relation.sizes[4]:
        load_endings(rows, stored.itemsize, "earlier")
        if relation.selected:
            load_endings(rows, stored.itemsize, "chains")
        relation.ready = True


def widen(relation: Relation) -> None:
    """Store numbers in 64 bits from now on."""
    if relation.rows.dtype == WIDE:
        return
    ready_to_end(relation, relation.state.shape[0], WIDE)
    relation.ask(WIDE.itemsize * relation.rows.size, f"rows of {relation.name} with numbers of 64 bits")
    wide: npt.NDArray[np.int64] = empty(relation.rows.shape, WIDE)
    wide[: relation.sizes[0]] = relation.rows[: relation.sizes[0]]
    if relation.backup is not None:
        relation.backup = relation.backup._replace(ranks=relation.backup.ranks.astype(WIDE))
    relation.rows, relation.largest = wide, int(np.iinfo(WIDE).max)


def numbers(relation: Relation, supports: int, rank: int) -> None:
    """Make sure that so many more supports of a row, and the rank, can be stored."""
    relation.supports += supports
    if max(relation.supports, rank) > relation.largest:
        counts = relation.rows[: relation.sizes[0], relation.count_column]
        relation.supports = supports + max(int(counts.max(initial=0)), -int(counts.min(initial=0)))
        if max(2 * relation.supports, rank) > relation.largest:
            widen(relation)


def _larger(relation: Relation) -> int:
    """How many rows there should be room for when there is too little. Arrays that are not large are copied each
    time: those of some size are doubled, but many small relations should not take twice what they need."""
    there: int = relation.state.shape[0]
    if relation.rows.nbytes < LARGE and there > FEWEST_ROWS_DOUBLED:
        return 2 * there
    return there * 17 // 16 + FEWEST_ROWS_GROWN


def _longer(length: int) -> int:
    """How long what a version notes should be when it is too short. It begins short: a few steps lead from there to a
    length that is of use."""
    return length * (8 if length < FEWEST_NOTED_DOUBLED else 2)


def finding(relation: Relation, extra: int) -> None:
    """Make room for finding `extra` more rows."""
    rows, numbers = relation.stored + extra, int(relation.sizes[0]) + extra
    if not has_room(relation.slots, rows, numbers):
        size = table_size(rows, numbers, relation.slots.shape[0])
        relation.ask(size * ENTRY_BYTES, f"finding {rows:,} rows of {relation.name}")
        relation.slots = relation.table(size)


def adding(relation: Relation, extra: int) -> bool:
    """Make room for `extra` more rows and journal entries; whether there was too little for the rows."""
    top, stored, _, _, new, _ = relation.sizes.tolist()
    lengths = relation.state.shape[0], relation.slots.shape[0], relation.created.shape[0]
    enough = top + extra <= lengths[0] and new + extra <= lengths[2]
    if enough and has_room(relation.slots, stored + extra, top + extra):
        journal(relation, extra)
        return False
    appending(relation, extra)
    finding(relation, extra)
    journal(relation, extra)
    return lengths != (relation.state.shape[0], relation.slots.shape[0], relation.created.shape[0])


def appending(relation: Relation, extra: int) -> None:
    """Make room for `extra` more rows that are new, though not for finding them."""
    rows(relation, extra)
    need = int(relation.sizes[4]) + extra
    if need > relation.created.shape[0]:
        size = max(need, _longer(relation.created.shape[0]))
        relation.ask(
            (size - relation.created.shape[0]) * 4, f"{need:,} new rows of {relation.name} in one version"
        )
        relation.created = grown(relation.created, size, empty)


def journal(relation: Relation, extra: int) -> None:
    """Make room for `extra` more entries of the journal: one at most for each row from before the version, and none
    where there is a copy of all of these."""
    if relation.ready and relation.sizes[3] + extra <= relation.journal_rows.shape[0]:
        return
    before = 0 if relation.backup is not None else int(relation.sizes[1] - relation.sizes[4])
    if before and not relation.ready:
        ready_to_end(relation, relation.state.shape[0], relation.rows.dtype)
    entries = min(int(relation.sizes[3]) + extra, before)
    if entries > relation.journal_rows.shape[0]:
        size = min(max(entries, _longer(relation.journal_rows.shape[0])), before)
        relation.ask(
            (size - relation.journal_rows.shape[0]) * JOURNAL_BYTES,
            f"undoing {entries:,} changes of {relation.name} if need be",
        )
        relation.journal = grown(relation.journal, size, empty)
        # last: its length says what there is room for
        relation.journal_rows = grown(relation.journal_rows, size, empty)


def successor(relation: Relation, expected: int, *, distinct: bool = False) -> Relation:
    """An empty relation to take the place of another: indexes on the same columns, numbers as wide, and room for so
    many rows; `distinct` promises that none is added twice."""
    made = type(relation)(relation.name, relation.arity, selected=relation.selected, room=relation.room)
    size = expected + SPARE
    made.ask(size * (relation.row_bytes + 16), f"room for {size:,} rows of {relation.name}")
    ready_to_end(made, size, relation.rows.dtype)
    made.rows = empty((size, relation.width), relation.rows.dtype)
    made.largest = relation.largest
    made.distinct = distinct
    if distinct:
        del made.slots
    else:
        made.slots = zeros((table_size(size, size),), np.uint32)
    made.created = empty((size,), np.int32)
    made.indexes = {columns: index.successor(size) for columns, index in relation.indexes.items()}
    made.state = zeros((size,), np.uint8)
    return made


def leaving(relation: Relation, extra: int) -> None:
    """Make room for the places of so many rows that go, and of those that lists have yet to let go of; and have the
    table that they are taken out of."""
    _ = relation.slots
    need = int(relation.sizes[0] - relation.sizes[1]) + extra
    if need > relation.free.shape[0]:
        relation.free = grown(relation.free, max(need, 2 * relation.free.shape[0]), empty)
