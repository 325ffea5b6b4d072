"""What the open version has done to a relation so far: which rows it touched, lost and gained, and left dead.

All of it is read off the journal and the states of the rows in it, so that it costs what the version did. Where all
rows were killed at once there is a copy of what was before instead (`relation.backup`), and all states are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headwater.kernel import journal
from headwater.kernel.states import DYING, LEADING, LIVE, NO_BITS, TOUCHED, VISIBLE, WAS

if TYPE_CHECKING:
    from headwater.kernel.relation import Relation, Rows

NO_ROWS: Rows = np.empty(0, np.int32)
WAS_OR_IS_VISIBLE = np.uint8(WAS | VISIBLE)
FEWEST_ROWS_COPIED = 1 << 20
"""From how many rows on a part of an array is copied, so that the rest of it keeps no memory."""


def touched(relation: Relation) -> Rows:
    """The rows that this version changed or created."""
    if relation.backup is not None:
        return np.flatnonzero(relation.state[: relation.sizes[0]] & TOUCHED).astype(np.int32)
    return np.concatenate((relation.journal_rows[: relation.sizes[3]], relation.created[: relation.sizes[4]]))


def since_transition(relation: Relation) -> tuple[Rows, Rows]:
    """The rows that were in the relation when the version, or its present transition, began and are not now;
    and those that are in it now and were not."""
    if relation.backup is not None or relation.proceeded:
        changed = touched(relation)
        state = relation.state[changed] & WAS_OR_IS_VISIBLE
        return changed[state == WAS], changed[state == VISIBLE]
    entries, most = int(relation.sizes[3]), int(relation.sizes[3] + relation.sizes[4])
    if not most:
        return NO_ROWS, NO_ROWS
    lost, gained = np.empty(entries, np.int32), np.empty(most, np.int32)
    n, m = journal.sift(
        relation.journal_rows,
        relation.created,
        relation.sizes,
        relation.state,
        WAS_OR_IS_VISIBLE,
        WAS,
        VISIBLE,
        lost,
        gained,
    )
    return _first(lost, n), _first(gained, m)


def dead(relation: Relation) -> Rows:
    """The rows that this version changed or created, and that have no support now."""
    if not relation.lossy:
        return NO_ROWS
    if relation.backup is not None:
        changed = touched(relation)
        lifeless: Rows = changed[(relation.state[changed] & LIVE) == 0]
        return lifeless
    most = int(relation.sizes[3] + relation.sizes[4])
    if not most:
        return NO_ROWS
    gone = np.empty(most, np.int32)
    n, _ = journal.sift(
        relation.journal_rows,
        relation.created,
        relation.sizes,
        relation.state,
        LIVE,
        NO_BITS,
        LIVE,
        gone,
        NO_ROWS,
    )
    return _first(gone, n)


def proceed(relation: Relation) -> None:
    """End a transition of the open version: what is visible now `WAS` there when the next one begins. All of it
    can still be taken back."""
    relation.distinct = False
    changed = touched(relation)
    state = relation.state[changed] & np.uint8(0xFF ^ (DYING | WAS | LEADING))
    relation.state[changed] = np.where(state & VISIBLE, state | WAS, state)
    relation.proceeded = True


def since_version(relation: Relation) -> tuple[Rows, Rows]:
    """The rows lost and gained since the version began, over all its transitions."""
    if not relation.proceeded:
        return since_transition(relation)
    changed, entries = touched(relation), int(relation.sizes[3])
    if relation.backup is None:
        was = np.zeros(changed.shape[0], np.uint8)
        was[:entries] = relation.journal[:entries, 3]
    else:
        before = np.zeros(int(relation.sizes[0]), np.uint8)
        before[: relation.backup.state.shape[0]] = relation.backup.state
        entries = relation.backup.journal
        before[relation.journal_rows[:entries]] = relation.journal[:entries, 3]
        before[relation.created[: relation.sizes[4]]] = 0
        was = before[changed]
    was, now = was & VISIBLE, relation.state[changed] & VISIBLE
    return changed[was > now], changed[was < now]


def _first(rows: Rows, count: int) -> Rows:
    """The first rows of an array that is not needed any more; those after them keep no memory to speak of."""
    if count == rows.shape[0]:
        return rows
    return (
        rows[:count]
        if rows.shape[0] < FEWEST_ROWS_COPIED or 2 * count > rows.shape[0]
        else rows[:count].copy()
    )
