"""The indexes of a relation: when they are made, and when rows enter them.

An index is made when somebody first asks for it, and has all rows from then on (`enter`), except where all rows are
new, and many: then it *waits*, and gets what it lacks at once, when somebody asks for it or the version ends.
`relation.entered` says how many of the rows that the version created are in the indexes, and `relation.waiting` how
many those have that wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headwater.kernel.index import Index
from headwater.kernel.list_building import lists_of
from headwater.kernel.lists import Lists
from headwater.kernel.states import STORED

if TYPE_CHECKING:
    from headwater.kernel.relation import Relation

ROWS_ENTERED_AT_ONCE = 1 << 20
"""How many rows enter a new index at a time."""
FEWEST_ROWS_WAITING = 1 << 12
"""From how many rows on, all of them new, rows need not be in an index that nobody asks for."""
MOST_TIMES_ASKED = 2
"""How often an index that waited is asked for in a version before it waits no more."""


def empty_index(relation: Relation, columns: tuple[int, ...]) -> Index | Lists:
    """Chains where only the best rows count, lists elsewhere."""
    return Index(columns) if relation.selected else Lists(columns)


def index_on(relation: Relation, key: tuple[int, ...]) -> Index | Lists:
    """The index on exactly these columns, built on first use."""
    if key in relation.waiting:
        relation.asked[key] = relation.asked.get(key, 0) + 1
        _catch_up(relation, key)
    found = relation.indexes.get(key)
    if found is None:
        found = empty_index(relation, key)
        needed = found.row_bytes * relation.state.shape[0]
        relation.ask(needed, f"an index of {relation.stored:,} rows of {relation.name}")
        found.reserve(relation.state.shape[0])
        created = relation.created[: relation.sizes[4]]  # these come last, as if they had been created now
        for start in range(0, int(relation.sizes[0]), ROWS_ENTERED_AT_ONCE):
            stored = relation.state[start : min(start + ROWS_ENTERED_AT_ONCE, relation.sizes[0])] & STORED
            stored[created[(created >= start) & (created < start + ROWS_ENTERED_AT_ONCE)] - start] = 0
            found.insert(relation, (np.flatnonzero(stored) + start).astype(np.int32))
        found.insert(relation, created)
        relation.indexes[key] = found
    return found


def complete(relation: Relation) -> None:
    """Have all rows in all indexes."""
    for key in list(relation.waiting):
        _catch_up(relation, key)


def _catch_up(relation: Relation, key: tuple[int, ...]) -> None:
    """Have all rows in an index that waits. One that has few of them is made anew: whoever is looking at the one
    before goes on with that."""
    has, index = relation.waiting.pop(key), relation.indexes[key]
    try:
        if 2 * has < relation.entered:
            relation.indexes[key] = lists_of(relation, key, relation.created[: relation.entered])
        else:
            index.insert(relation, relation.created[has : relation.entered])
    except BaseException:
        relation.lost_indexes = True
        del relation.indexes[key]
        raise


def enter(relation: Relation, upto: int) -> None:
    """Enter the rows that the version has created in the indexes, up to so many.

    Where all rows are new, and many, an index waits: it costs less to make it of all of them, when somebody asks
    for it or the version ends. One that is asked for again and again has them at once.
    """
    if upto <= relation.entered:
        return
    created, complete = relation.created[relation.entered : upto], 0
    may_wait = upto >= FEWEST_ROWS_WAITING and relation.all_new and not relation.selected
    try:
        for key, index in relation.indexes.items():
            if key in relation.waiting or (may_wait and relation.asked.get(key, 0) < MOST_TIMES_ASKED):
                relation.waiting.setdefault(key, relation.entered)
            else:
                index.insert(relation, created)
            complete += 1
    except BaseException:
        # Rows that an index lacks cannot be taken out of it again: such indexes go, until they are needed.
        relation.lost_indexes = True
        relation.indexes = dict(list(relation.indexes.items())[:complete])
        relation.waiting = {key: has for key, has in relation.waiting.items() if key in relation.indexes}
        raise
    finally:
        relation.entered = upto


def fill(relation: Relation, n: int) -> None:
    """Have all rows, which are the first `n` and none before, in all indexes."""
    relation.sizes[0] = relation.sizes[1] = n
    every = np.arange(n, dtype=np.int32)
    for key, index in relation.indexes.items():
        if isinstance(index, Lists):
            relation.indexes[key] = lists_of(relation, key, every)
        else:
            index.reserve(relation.state.shape[0])
            index.insert(relation, every)
