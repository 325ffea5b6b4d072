"""Running the rules of a stratum from the rows of a round, a piece at a time: find, step by step, apply.

Each piece of what a rule derives is found by its join, goes through the further steps of its plan, and is counted off
or added. Where that cannot go on, the place is kept (`tables`), and the next call continues there.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False
# ruff: noqa: F405

from __future__ import annotations

import numpy as np

from headwater.kernel import index as chains
from headwater.kernel.compiled import compiled
from headwater.kernel.join import anti_join, append_float_sum, append_sum, join_row, project
from headwater.kernel.list_join import join_rows
from headwater.kernel.lists import enter as enter_lists
from headwater.kernel.rounds.addresses import ints_at, matrix_at, numbers_at
from headwater.kernel.rounds.tables import *  # noqa: F403
from headwater.kernel.rounds.views import (
    behind,
    journal_of,
    journal_rows_of,
    listed,
    noting,
    queued,
    queueing,
    rows_of,
    scratch_of,
    sizes_of,
    slots_of,
    state_of,
)
from headwater.kernel.rowops import add, subtract
from headwater.kernel.states import LEADING, VISIBLE

enter_chains = chains.enter
PIECE = 1024
"""How many bindings are found before they are dealt with."""
WIDEST = 16
"""How many columns they may have."""
ANY_RANK = np.int64(0x7FFFFFFFFFFFFFFF)
FINDING, STEPPING, APPLYING, ENTERING = range(4)
"""How far what a rule derives has come."""


@compiled()
def find_some(at, relations, indexes, rules, heap, queues, accepts, rising, sample):
    """The next derivations by the present rule from its batch, as its join gives them, in the first buffer."""
    k = at[RULE]
    r, j = rules[k, DELTA], rules[k, JOINED]
    other, width = indexes[j, INDEXED], rules[k, OUTPUTS_LENGTH]
    cursor = at[CURSOR : CURSOR + 5]
    rank_column, limit = np.int64(-1), ANY_RANK
    base = np.int64(RISING) if rising else np.int64(0)
    accept = accepts[base + LOWER]
    if rules[k, OWN] != 0:
        rank_column = relations[other, ARITY]
        accept = accepts[base + OWN_BEFORE] if rules[k, EARLIER] != 0 else accepts[base + OWN_AFTER]
        if rising:
            limit = at[CLOCK] if rules[k, EARLIER] != 0 else at[CLOCK] - 1
    found = join_rows(
        queued(queues, r, BATCH),
        rows_of(relations, r, sample),
        relations[r, ARITY],
        listed(heap, rules[k, SOURCES], rules[k, SOURCES_LENGTH]),
        listed(heap, rules[k, CONSTANTS], rules[k, CONSTANTS_LENGTH]),
        listed(heap, indexes[j, COLUMNS], indexes[j, COLUMNS_LENGTH]),
        ints_at(indexes[j, KEYS], indexes[j, KEYS_LENGTH]),
        numbers_at(indexes[j, POOL], indexes[j, POOL_LENGTH]),
        rows_of(relations, other, sample),
        state_of(relations, other),
        accept,
        matrix_at(at[BUFFERS], np.int64(0), np.int64(2)),
        rank_column,
        limit,
        listed(heap, rules[k, OUTPUTS], width),
        listed(heap, rules[k, RESULT_CONSTANTS], rules[k, RESULT_CONSTANTS_LENGTH]),
        cursor,
        matrix_at(at[BUFFERS], np.int64(PIECE), width + 1),
        scratch_of(relations, r),
    )
    rules[k, LOOKED] += cursor[2]
    cursor[2] = 0
    return found


@compiled()
def one_row(at, relations, steps, s, heap, accepts, rising, bindings, out, sample):
    """A step that looks for the row that each binding spells out; how many bindings go on."""
    r = steps[s, READ]
    own, earlier = steps[s, STEP_OWN] != 0, steps[s, STEP_EARLIER] != 0
    sources = listed(heap, steps[s, STEP_SOURCES], steps[s, STEP_SOURCES_LENGTH])
    constants = listed(heap, steps[s, STEP_CONSTANTS], steps[s, STEP_CONSTANTS_LENGTH])
    outputs = listed(heap, steps[s, STEP_OUTPUTS], steps[s, STEP_OUTPUTS_LENGTH])
    cursor = at[STEP_CURSOR : STEP_CURSOR + 3]
    cursor[:] = 0
    rows, state, slots = rows_of(relations, r, sample), state_of(relations, r), slots_of(relations, r)
    columns = listed(heap, np.int64(0), relations[r, ARITY])
    scratch = scratch_of(relations, r)
    base = np.int64(RISING) if rising else np.int64(0)
    if steps[s, KIND] == ABSENT:
        m = anti_join(
            bindings, sources, constants, columns, slots, rows, state, accepts[base + AVOIDED], outputs, cursor, out,
            scratch,
        )  # fmt: skip
    else:
        rank_column, limit = np.int64(-1), ANY_RANK
        accept = accepts[base + LOWER]
        if own:
            rank_column = relations[r, ARITY]
            accept = accepts[base + OWN_BEFORE] if earlier else accepts[base + OWN_AFTER]
            if rising:
                limit = at[CLOCK] if earlier else at[CLOCK] - 1
        m = join_row(
            bindings, sources, constants, columns, slots, rows, state, accept,
            matrix_at(at[BUFFERS], np.int64(0), np.int64(2)), rank_column, limit, outputs, cursor, out, scratch,
        )  # fmt: skip
    steps[s, SEEN] += cursor[2]
    return m


@compiled()
def take_steps(at, relations, rules, steps, heap, accepts, rising, sample):
    """Bring what was found through the further steps of its rule; whether a sum needs another look."""
    while at[STEP] < rules[at[RULE], LAST_STEP] and at[PENDING] > 0:
        s = at[STEP]
        here = at[BUFFER]
        there = 1 - here
        size = np.int64(PIECE * WIDEST * 8)
        bindings = matrix_at(at[BUFFERS] + here * size, at[PENDING], at[BOUND] + 1)
        constants = listed(heap, steps[s, STEP_CONSTANTS], steps[s, STEP_CONSTANTS_LENGTH])
        outputs = listed(heap, steps[s, STEP_OUTPUTS], steps[s, STEP_OUTPUTS_LENGTH])
        kind, width = steps[s, KIND], steps[s, STEP_OUTPUTS_LENGTH]
        if kind in (SUM, FLOAT_SUM):
            width += 1
        out = matrix_at(at[BUFFERS] + there * size, at[PENDING], width + 1)
        if kind in (WHOLE, ABSENT):
            at[PENDING] = one_row(at, relations, steps, s, heap, accepts, rising, bindings, out, sample)
        elif kind == PROJECT:
            project(bindings, outputs, constants, out)
        else:
            left, right, subtracted = steps[s, LEFT], steps[s, RIGHT], steps[s, SUBTRACT] != 0
            if kind == SUM:
                odd = append_sum(bindings, left, right, constants, subtracted, outputs, out)
            else:
                odd = append_float_sum(bindings, left, right, constants, subtracted, outputs, out)
            if odd >= 0:
                return True
        at[BUFFER], at[BOUND] = there, width
        at[STEP] += 1
    return False


@compiled()
def lose(at, relations, queues, r, sample):
    """Count off what was found; those that die fall, and may be replaced as the best of their groups."""
    sizes = sizes_of(relations, r)
    arity = relations[r, ARITY]
    size = np.int64(PIECE * WIDEST * 8)
    falling, dead, doubtful = subtract(
        matrix_at(at[BUFFERS] + at[BUFFER] * size, at[PENDING], at[BOUND] + 1),
        arity,
        rows_of(relations, r, sample),
        state_of(relations, r),
        slots_of(relations, r),
        sizes,
        journal_rows_of(relations, r),
        journal_of(relations, r),
        arity,
        relations[r, COUNT_COLUMN],
        relations[r, HEAD_RANK_COLUMN],
        behind(queues, r, FALLING),
        behind(queues, r, DEAD),
        scratch_of(relations, r),
    )
    at[DIED] += dead
    at[DOUBTFUL] += doubtful
    if relations[r, GROUPS] >= 0:
        dying, state = behind(queues, r, DEAD)[:dead], state_of(relations, r)
        affected, n = behind(queues, r, AFFECTED), np.int64(0)
        for i in range(dead):
            if (
                state[np.int64(dying[i])] & (VISIBLE | LEADING) != 0
            ):  # others were not the best of their groups
                affected[n] = dying[i]
                n += 1
        queues[r, AFFECTED_LENGTH] += n
    queues[r, FALLING_LENGTH] += falling
    queues[r, DEAD_LENGTH] += dead


@compiled()
def gain(at, relations, queues, r, sample):
    """Add what was found, as far as there is room; what is new is to be shown, or chosen from."""
    sizes = sizes_of(relations, r)
    arity, width = relations[r, ARITY], at[BOUND] + 1
    size = np.int64(PIECE * WIDEST * 8)
    start = at[BUFFERS] + at[BUFFER] * size + 8 * at[APPLIED] * width
    waiting = AFFECTED if relations[r, GROUPS] >= 0 else FRESH
    at[BEGIN] = sizes[4]
    new = add(
        matrix_at(start, at[PENDING] - at[APPLIED], width),
        arity,
        rows_of(relations, r, sample),
        state_of(relations, r),
        slots_of(relations, r),
        numbers_at(relations[r, FREE], relations[r, FREE_LENGTH]),
        sizes,
        journal_rows_of(relations, r),
        journal_of(relations, r),
        numbers_at(relations[r, CREATED], relations[r, CREATED_LENGTH]),
        relations[r, COUNT_COLUMN],
        relations[r, HEAD_RANK_COLUMN],
        at[CLOCK] + 1,
        behind(queues, r, waiting),
        scratch_of(relations, r),
    )
    queues[r, waiting + LENGTH] += new
    done = sizes[5]
    if new != done:
        relations[r, TWICE] = 1
    relations[r, ADDED] += done
    at[APPLIED] += done
    at[END] = sizes[4]


@compiled()
def enter_all(at, relations, indexes, heap, r, sample):
    """Enter created rows into the indexes of their relation; whether one is too full."""
    created = numbers_at(relations[r, CREATED] + 4 * at[BEGIN], at[END] - at[BEGIN])
    rows = rows_of(relations, r, sample)
    while at[INDEX] < relations[r, INDEXES] and at[END] > at[BEGIN]:
        j = relations[r, FIRST_INDEX] + at[INDEX]
        columns = listed(heap, indexes[j, COLUMNS], indexes[j, COLUMNS_LENGTH])
        keys = ints_at(indexes[j, KEYS], indexes[j, KEYS_LENGTH])
        pool = numbers_at(indexes[j, POOL], indexes[j, POOL_LENGTH])
        sizes = ints_at(indexes[j, INDEX_SIZES], indexes[j, INDEX_SIZES_LENGTH])
        if indexes[j, IS_LISTS] != 0:
            done = enter_lists(
                created, np.int64(0), rows, columns, keys, pool, sizes, scratch_of(relations, r)
            )
        else:
            previous = numbers_at(indexes[j, PREVIOUS], indexes[j, POOL_LENGTH])
            done = enter_chains(created, np.int64(0), rows, columns, keys, pool, previous, sizes)
        if done < created.shape[0]:
            at[NEEDS], at[MUCH] = r, done
            return True
        at[INDEX] += 1
    at[INDEX] = 0
    return False


@compiled()
def run_rules(at, relations, indexes, rules, steps, heap, queues, accepts, rising, sample):
    """Run the rules from the present batches, from where that stands; `DONE`, or why it cannot go on."""
    while at[RULE] < rules.shape[0]:
        k = at[RULE]
        r = rules[k, HEAD]
        if at[STAGE] == FINDING:
            if at[CURSOR] >= queues[rules[k, DELTA], BATCH_LENGTH]:
                rules[k, BEGUN] += queues[rules[k, DELTA], BATCH_LENGTH]
                at[RULE] += 1
                at[CURSOR : CURSOR + 5] = 0
                continue
            at[PENDING] = find_some(at, relations, indexes, rules, heap, queues, accepts, rising, sample)
            at[BUFFER], at[BOUND], at[STEP] = 0, rules[k, OUTPUTS_LENGTH], rules[k, FIRST_STEP]
            at[STAGE], at[APPLIED] = STEPPING, 0
        if at[STAGE] == STEPPING:
            if take_steps(at, relations, rules, steps, heap, accepts, rising, sample):
                return SPECIAL_SUM
            rules[k, FOUND] += at[PENDING]
            at[TUPLES] += at[PENDING]
            at[STAGE] = APPLYING if at[PENDING] > 0 else FINDING
        if at[STAGE] == APPLYING:
            if not noting(at, relations, r, at[PENDING]):
                return JOURNAL_FULL
            if not queueing(at, queues, r, at[PENDING]):
                return QUEUE_FULL
            at[STAGE] = FINDING
            if rising:
                gain(at, relations, queues, r, sample)
                at[STAGE] = ENTERING
            else:
                lose(at, relations, queues, r, sample)
        if at[STAGE] == ENTERING:
            if enter_all(at, relations, indexes, heap, r, sample):
                return INDEX_FULL
            at[STAGE] = FINDING
            if at[APPLIED] < at[PENDING]:
                at[STAGE] = APPLYING
                at[NEEDS], at[MUCH] = r, at[PENDING] - at[APPLIED]
                return ROWS_FULL
    return DONE
