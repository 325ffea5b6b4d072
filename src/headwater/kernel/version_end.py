"""How a version ends for a relation: what it did is kept, and dead rows go; or every row is put back.

Dead rows are taken out one by one; where few others are left, these are moved together instead, which costs less.
What needs memory is done beforehand, in `planned`, while the version can still be refused. Of very many dead rows
only some are removed with the version, and some more with each later one (*ghosts*): nobody sees them, and the
version that killed them need not wait for it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headwater.kernel import indexing, journal, room, version_change
from headwater.kernel.memory import empty, first_load, grown, shrunk, vacate
from headwater.kernel.states import LIVE, SEALED, STORED, TOUCHED, translate

if TYPE_CHECKING:
    from headwater.kernel.relation import Relation, Rows

MOST_ROWS_REMOVED = 1 << 13
"""How many dead rows a version removes; more are left to later versions."""
FEWEST_ROWS_REBUILT_WITHOUT = 256
"""From how many dead rows on it is worth asking whether so few are left that building anew is cheaper."""
FEWEST_ROWS_LOADED = 1 << 16
"""From how many rows on a version that made all rows of a relation is a large load (see `memory.FirstLoad`)."""


class CommitPlan(NamedTuple):
    """What a commit will do: rows to remove now, dead rows left for later; or be empty; or compact, which is `told`
    where that costs more than the version did."""

    removed: Rows
    ghosts: Rows
    empty: bool = False
    compact: bool = False
    told: bool = True


NOTHING_DEAD = CommitPlan(np.empty(0, np.int32), np.empty(0, np.int32))


def planned(relation: Relation) -> CommitPlan:
    """What the end of the open version will do to a relation; there is room for it from now on."""
    indexing.complete(relation)
    ghosts = relation.ghosts
    if not relation.lossy and not ghosts.shape[0]:
        return NOTHING_DEAD
    dead = version_change.dead(relation)
    if dead.shape[0] >= FEWEST_ROWS_REBUILT_WITHOUT and ghosts.shape[0]:
        ghosts = _dead_for_long(relation, ghosts)
    count = ghosts.shape[0] + dead.shape[0]
    if count == 0:
        return NOTHING_DEAD
    if count < min(FEWEST_ROWS_REBUILT_WITHOUT, MOST_ROWS_REMOVED) and not ghosts.shape[0]:
        _ready_to_remove(relation, count)
        return CommitPlan(dead, ghosts)
    few = relation.pinned or count <= MOST_ROWS_REMOVED
    some = count if few else MOST_ROWS_REMOVED
    of_dead = max(0, dead.shape[0] - some)
    of_ghosts = max(0, ghosts.shape[0] - max(0, some - dead.shape[0]))
    removed = _still_dead(relation, ghosts[of_ghosts:], dead[of_dead:])
    left = ghosts[:of_ghosts] if of_dead == 0 else np.concatenate((ghosts, dead[:of_dead]))
    if removed.shape[0]:
        _ready_to_remove(relation, removed.shape[0])
    # At the least so many are left: ghosts may have come back to life.
    few_left = (relation.stored - count) * 2 <= dead.shape[0]
    if dead.shape[0] >= FEWEST_ROWS_REBUILT_WITHOUT and few_left and not relation.pinned:
        rest = int(np.count_nonzero(relation.state[: relation.sizes[0]] & LIVE))
        if rest * 2 <= dead.shape[0]:
            return CommitPlan(removed, left, empty=rest == 0, compact=rest > 0, told=False)
    if few:
        return CommitPlan(removed, left)
    mostly_free = (count + int(relation.sizes[0] - relation.sizes[1])) * 2 > int(relation.sizes[0])
    return CommitPlan(removed, left, compact=mostly_free)


def _ready_to_remove(relation: Relation, count: int) -> None:
    """Have what takes so many rows out."""
    room.leaving(relation, count)
    if not relation.ready:
        room.ready_to_end(relation, relation.state.shape[0], relation.rows.dtype, leaving=True)


def _dead_for_long(relation: Relation, ghosts: Rows) -> Rows:
    """Those of rows that died earlier which this version has not changed: others are alive, or have died again."""
    unchanged: Rows = ghosts[(relation.state[ghosts] & (STORED | LIVE | TOUCHED)) == STORED]
    return unchanged


def _still_dead(relation: Relation, ghosts: Rows, dead: Rows) -> Rows:
    """Rows that died now, and those that did earlier, each once: they may have come back to life, and died again."""
    if ghosts.shape[0] == 0:
        return dead
    rows = np.unique(np.concatenate((ghosts, dead)))
    gone: Rows = rows[(relation.state[rows] & (STORED | LIVE)) == STORED]
    return gone


def commit(relation: Relation, plan: CommitPlan) -> bool:
    """Forget the journal and do what is planned; return whether the relation was compacted at a cost of its own."""
    created = relation.sizes[4]
    all_new = created >= FEWEST_ROWS_LOADED and created == relation.sizes[1]
    if relation.backup is not None:
        translate(relation.state[: relation.sizes[0]], SEALED)
        _forget(relation)
    else:
        _forgotten(relation, _sealed(relation))
    if all_new:
        _settle(relation)
    if plan.empty and _emptied(relation):
        return False
    if plan.compact and _compacted(relation):
        return plan.told
    relation.ghosts = plan.ghosts
    if plan.removed.shape[0]:
        _remove(relation, plan.removed)
    return False


def rollback(relation: Relation) -> None:
    """Put every touched row back as it was when the version began. Takes no memory to speak of."""
    entries = int(relation.sizes[3])
    if relation.backup is not None:
        top = relation.backup.state.shape[0]
        relation.rows[:top, relation.arity :] = relation.backup.ranks
        relation.state[:top] = relation.backup.state
        entries = relation.backup.journal
    if entries:
        journal.restore(
            relation.journal_rows[:entries], relation.journal, relation.rows, relation.state,
            relation.rank_column, relation.count_column, relation.head_rank_column,
        )  # fmt: skip
    _lower(relation)
    created = relation.created[: relation.sizes[4]]
    if created.shape[0] == relation.stored and not relation.pinned and _emptied(relation):
        return
    if created.shape[0]:
        for key, index in relation.indexes.items():
            index.retract(relation, created[: relation.waiting.get(key, relation.entered)])
        journal.uncreate(
            created, relation.columns, relation.rows, relation.state, relation.slots, relation.free, relation.sizes
        )  # fmt: skip
    _forget(relation)
    _trim(relation)


def _lower(relation: Relation) -> None:
    """Take back that ranks were lifted."""
    if relation.lifted:
        for column in {relation.rank_column, relation.head_rank_column}:
            relation.rows[: relation.sizes[0], column] -= relation.lifted


def _compacted(relation: Relation) -> bool:
    """Compact, unless there is no memory for it: then it is left to a later version."""
    try:
        relation.compact()
    except MemoryError:
        return False
    return True


def _emptied(relation: Relation) -> bool:
    """Start over with small arrays, unless there is no memory for it."""
    try:
        relation.clear()
    except MemoryError:
        return False
    return True


def _settle(relation: Relation) -> None:
    """End a large load: after the first one of a process, a relation need not have what it grew by. (After later
    ones, most of which derive again what has changed, that would be work for nothing.)"""
    if first_load.end():
        with contextlib.suppress(MemoryError):
            relation.fit_table()
        top = int(relation.sizes[0])
        vacate(relation.rows, top)
        vacate(relation.state, top)
        for index in relation.indexes.values():
            index.vacate(top)


def _trim(relation: Relation) -> None:
    """Give back the room that a version which was undone had made, if it is most of what there is."""
    top, there = int(relation.sizes[0]), relation.state.shape[0]
    if there - top <= MOST_ROWS_REMOVED or there <= 2 * top:
        return
    fitting = top * 9 // 8 + room.SPARE
    with contextlib.suppress(MemoryError):
        relation.state = shrunk(relation.state, fitting)  # first: its length says what there is room for
        relation.rows = shrunk(relation.rows, fitting)
        for index in relation.indexes.values():
            index.trim(fitting)
        relation.fit_table()


def _sealed(relation: Relation) -> int:
    """Let all rows in the journal be as the next version finds them, and empty it; how many these were."""
    return int(journal.seal(relation.journal_rows, relation.created, relation.sizes, relation.state, SEALED))


def _forget(relation: Relation) -> None:
    """Empty the journal."""
    sizes = relation.sizes
    entries = int(sizes[3] + sizes[4])
    sizes[3] = sizes[4] = 0
    _forgotten(relation, entries)


def _forgotten(relation: Relation, entries: int) -> None:
    """Nothing is known of the version any more; what a journal with so many entries took is given back."""
    relation.entered = 0
    relation.waiting, relation.asked = {}, {}
    if relation.lost_indexes:
        _free_places(relation)
    relation.backup = None
    relation.lifted = 0
    relation.proceeded = relation.lossy = False
    if entries > MOST_ROWS_REMOVED:
        with contextlib.suppress(MemoryError):
            relation.empty_journal()


def _free_places(relation: Relation) -> None:
    """Have all places free that no row is at. An index that is gone lets go of no row: if there are dead ones in
    lists, the other indexes go as well, until they are needed."""
    relation.lost_indexes = False
    top = int(relation.sizes[0])
    if top - relation.sizes[1] > relation.sizes[2]:
        with contextlib.suppress(MemoryError):
            places = np.flatnonzero((relation.state[:top] & STORED) == 0)
            relation.free = grown(relation.free, places.shape[0], empty)
            relation.free[: places.shape[0]] = places
            relation.sizes[2] = places.shape[0]
            relation.indexes = {}


def _remove(relation: Relation, dead: Rows) -> None:
    if dead.shape[0] == relation.stored and not relation.pinned and _emptied(relation):
        return
    lists = 0 if relation.selected else len(relation.indexes)
    journal.remove(
        dead, relation.columns, relation.rows, relation.state, relation.slots, relation.free, relation.sizes,
        relation.scratch, relation.count_column, lists,
    )  # fmt: skip
    for index in relation.indexes.values():
        index.remove(relation, dead)
