"""Choosing the best rows of groups within small rounds: as `maintain/selection` does, from the same kernels."""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False
# ruff: noqa: F405

from __future__ import annotations

import numpy as np

from headwater.kernel.best import choose, comparable
from headwater.kernel.compiled import compiled
from headwater.kernel.index import lead as to_front
from headwater.kernel.rounds.addresses import ints_at, matrix_at, numbers_at
from headwater.kernel.rounds.tables import *  # noqa: F403
from headwater.kernel.rounds.views import (
    journal_of,
    journal_rows_of,
    listed,
    queued,
    rows_of,
    sizes_of,
    state_of,
)
from headwater.kernel.rowops import lead

MOST_CHOSEN = 8192
"""Among how many rows best ones are chosen at once."""
SAMPLE = 32
"""How many values are looked at to know which half of all is the better one."""
FEWEST_HALVED = 256
"""From how many best rows on the better half goes first."""


@compiled()
def choose_all(at, relations, indexes, heap, queues, sample):
    """Choose best rows in the groups of affected ones; whether that can be done here."""
    order = ints_at(at[ORDER], at[ORDER_LENGTH])
    special = ints_at(at[SPECIAL], at[SPECIAL_LENGTH])
    counts, best = at[STEP_CURSOR : STEP_CURSOR + 4], at[BEST : BEST + MOST_CRITERIA]
    for r in range(queues.shape[0]):
        queues[r, WANTED_LENGTH] = queues[r, GONE_LENGTH] = 0
        affected = queued(queues, r, AFFECTED)
        if relations[r, GROUPS] < 0 or affected.shape[0] == 0:
            continue
        if affected.shape[0] > MOST_CHOSEN:
            return False
        j = relations[r, GROUPS]
        table = np.int64(0)
        if relations[r, SINGLE] != 0:
            table = np.int64(1)
            while table <= 2 * affected.shape[0]:
                table *= 2
        beating = matrix_at(at[BEATING], table, np.int64(2))
        beating[:] = -1
        counts[:] = 0
        room = np.int64(MOST_CHOSEN)
        choose(
            affected,
            listed(heap, indexes[j, COLUMNS], indexes[j, COLUMNS_LENGTH]),
            ints_at(indexes[j, KEYS], indexes[j, KEYS_LENGTH]),
            numbers_at(indexes[j, POOL], indexes[j, POOL_LENGTH]),
            rows_of(relations, r, sample),
            state_of(relations, r),
            matrix_at(relations[r, CRITERIA], relations[r, CRITERIA_LENGTH], np.int64(3)),
            order,
            special,
            best,
            numbers_at(queues[r, WANTED], room),
            numbers_at(queues[r, GONE], room),
            numbers_at(queues[r, FIRSTS], affected.shape[0]),
            counts,
            beating,
        )
        relations[r, CHOSEN] += counts[3]
        relations[r, LARGEST] = max(relations[r, LARGEST], counts[3] - affected.shape[0])
        if counts[0] > room or counts[1] > room:
            return False
        queues[r, WANTED_LENGTH], queues[r, GONE_LENGTH] = counts[0], counts[1]
    return True


@compiled()
def move_to_front(relations, indexes, heap, r, which, sample):
    """Let rows be the first of their chains."""
    j = relations[r, GROUPS]
    to_front(
        which,
        rows_of(relations, r, sample),
        listed(heap, indexes[j, COLUMNS], indexes[j, COLUMNS_LENGTH]),
        ints_at(indexes[j, KEYS], indexes[j, KEYS_LENGTH]),
        numbers_at(indexes[j, POOL], indexes[j, POOL_LENGTH]),
        numbers_at(indexes[j, PREVIOUS], indexes[j, POOL_LENGTH]),
    )


@compiled()
def halve(at, relations, r, wanted, sample):
    """Put the better half of many best rows before the others; how many these are."""
    n = np.int64(wanted.shape[0])
    if n < FEWEST_HALVED:
        return n
    criteria = matrix_at(relations[r, CRITERIA], relations[r, CRITERIA_LENGTH], np.int64(3))
    order = ints_at(at[ORDER], at[ORDER_LENGTH])
    special = ints_at(at[SPECIAL], at[SPECIAL_LENGTH])
    rows = rows_of(relations, r, sample)
    sample_values = ints_at(at[VALUES], np.int64(SAMPLE))
    for i in range(SAMPLE):
        row = np.int64(wanted[i * n // SAMPLE])
        value = comparable(rows[row, criteria[0, 0]], criteria[0, 1], criteria[0, 2], order, special)
        place = i
        while place > 0 and sample_values[place - 1] > value:
            sample_values[place] = sample_values[place - 1]
            place -= 1
        sample_values[place] = value
    middle = sample_values[SAMPLE // 2]
    better = np.int64(0)
    for i in range(n):
        row = wanted[i]
        value = comparable(
            rows[np.int64(row), criteria[0, 0]], criteria[0, 1], criteria[0, 2], order, special
        )
        if value <= middle:
            wanted[i] = wanted[better]
            wanted[better] = row
            better += 1
    return better


@compiled()
def wait(at, relations, indexes, heap, r, rows, sample):
    """Take note that rows are the best of their groups, though they cannot be shown yet."""
    if relations[r, SINGLE] != 0 and rows.shape[0] > 0:
        move_to_front(relations, indexes, heap, r, rows, sample)
        lead(
            rows,
            rows_of(relations, r, sample),
            state_of(relations, r),
            sizes_of(relations, r),
            journal_rows_of(relations, r),
            journal_of(relations, r),
            relations[r, ARITY],
            relations[r, COUNT_COLUMN],
            relations[r, HEAD_RANK_COLUMN],
        )
