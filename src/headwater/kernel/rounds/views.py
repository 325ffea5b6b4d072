"""What the tables of `rounds` are about, as arrays; and the queues of rows.

Functions that give an array are part of their callers before these are compiled.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False
# ruff: noqa: F405

from __future__ import annotations

import numpy as np

from headwater.kernel.compiled import compiled
from headwater.kernel.prefetch import BLOCK
from headwater.kernel.rounds.addresses import bytes_at, entries_at, ints_at, matrix_at, numbers_at, stored_at
from headwater.kernel.rounds.tables import *  # noqa: F403

BINDINGS_A_LEVEL = 256
"""How many bindings are found before they are dealt with."""
WIDEST = 16
"""How many columns they may have."""


@compiled(view=True)
def rows_of(relations, r, sample):
    """The rows of a relation."""
    return stored_at(relations[r, ROWS], relations[r, CAPACITY], relations[r, WIDTH], sample)


@compiled(view=True)
def state_of(relations, r):
    """The states of its rows."""
    return bytes_at(relations[r, STATE], relations[r, CAPACITY])


@compiled(view=True)
def slots_of(relations, r):
    """Its table over whole rows."""
    return entries_at(relations[r, SLOTS], relations[r, SLOTS_LENGTH])


@compiled(view=True)
def sizes_of(relations, r):
    """Its sizes."""
    return ints_at(relations[r, SIZES], np.int64(6))


@compiled(view=True)
def journal_rows_of(relations, r):
    """Which rows are in its journal."""
    return numbers_at(relations[r, JOURNAL_ROWS], relations[r, JOURNAL_LENGTH])


@compiled(view=True)
def journal_of(relations, r):
    """What they were."""
    return matrix_at(relations[r, JOURNAL], relations[r, JOURNAL_LENGTH], np.int64(4))


@compiled(view=True)
def scratch_of(relations, r):
    """What its kernels use while they run."""
    return ints_at(relations[r, SCRATCH], np.int64(2 * BLOCK))


@compiled(view=True)
def listed(heap, start, length):
    """A list of the heap."""
    return heap[start : start + length]


@compiled(view=True)
def paired(at, start, length):
    """Pairs of the heap."""
    return matrix_at(at[HEAP] + 8 * start, length, np.int64(2))


@compiled(view=True)
def room_of(at, level, which, width):
    """One of the two buffers of a level, for bindings of so many columns and their ranks."""
    apart = np.int64(BINDINGS_A_LEVEL * WIDEST * 8)
    return matrix_at(at[BUFFERS] + (2 * level + which) * apart, np.int64(BINDINGS_A_LEVEL), width + 1)


@compiled(view=True)
def bindings_of(at, level):
    """The bindings that a level has found."""
    start = at[BUFFERS] + (2 * level + at[LEVELS + level * LEVEL_WIDTH + BUFFER]) * np.int64(
        BINDINGS_A_LEVEL * WIDEST * 8
    )
    return matrix_at(
        start, at[LEVELS + level * LEVEL_WIDTH + PENDING], at[LEVELS + level * LEVEL_WIDTH + BOUND] + 1
    )


@compiled(view=True)
def queued(queues, r, which):
    """The rows in a queue."""
    return numbers_at(queues[r, which], queues[r, which + LENGTH])


@compiled(view=True)
def behind(queues, r, which):
    """The room behind them."""
    there = queues[r, which + LENGTH]
    return numbers_at(queues[r, which] + 4 * there, queues[r, ROOM] - there)


@compiled()
def append(queues, r, which, more):
    """Put rows into a queue that has room for them."""
    there = queues[r, which + LENGTH]
    queue = numbers_at(queues[r, which], queues[r, ROOM])
    for i in range(more.shape[0]):
        queue[there + i] = more[i]
    queues[r, which + LENGTH] = there + more.shape[0]


@compiled()
def swapped(queues, r, one, other):
    """Let two queues change places."""
    queues[r, one], queues[r, other] = queues[r, other], queues[r, one]
    first, second = queues[r, one + LENGTH], queues[r, other + LENGTH]
    queues[r, one + LENGTH] = second
    queues[r, other + LENGTH] = first


@compiled()
def total(queues, which):
    """How many rows are in a queue of all own relations."""
    found = np.int64(0)
    for r in range(queues.shape[0]):
        found += queues[r, which + LENGTH]
    return found


@compiled()
def noting(at, relations, r, extra):
    """Whether the journal of a relation has room for so many entries more; else take note of what it needs."""
    sizes = sizes_of(relations, r)
    room = relations[r, JOURNAL_LENGTH]
    if sizes[3] + extra <= room or sizes[1] - sizes[4] <= room:
        return True
    at[NEEDS], at[MUCH] = r, extra
    return False


@compiled()
def queueing(at, queues, r, extra):
    """Whether the queues of a relation have room for so many rows more; else take note of what it needs."""
    most = np.int64(0)
    for which in range(FRESH, BATCH + 1):
        most = max(most, queues[r, which + LENGTH])
    if most + extra <= queues[r, ROOM]:
        return True
    at[NEEDS], at[MUCH] = r, most + extra
    return False
