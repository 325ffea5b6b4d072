"""Running the rules of a stratum from given rows, a piece at a time: find, step by step, apply.

A rule begins from rows of one premise, or of its head. Its joins are *levels*: each extends the bindings of the level
below it by a piece at a time, which goes through the steps that follow, and then on to the next level. What comes out
of the last one is counted off, added, or brings dead rows back. Where that cannot go on, the place is kept in `at`
(see `tables`), and the next call continues there.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False
# ruff: noqa: F405

from __future__ import annotations

import numpy as np

from headwater.kernel import index as chains
from headwater.kernel.compiled import compiled
from headwater.kernel.join import (
    anti_join,
    append_float_sum,
    append_sum,
    gather,
    join_chain,
    join_row,
    project,
)
from headwater.kernel.list_join import join_bindings, join_rows
from headwater.kernel.lists import enter as enter_lists
from headwater.kernel.rounds.addresses import ints_at, numbers_at
from headwater.kernel.rounds.tables import *  # noqa: F403
from headwater.kernel.rounds.views import (
    behind,
    bindings_of,
    journal_of,
    journal_rows_of,
    listed,
    noting,
    paired,
    queueing,
    room_of,
    rows_of,
    scratch_of,
    sizes_of,
    slots_of,
    state_of,
)
from headwater.kernel.rowops import add, revive, subtract
from headwater.kernel.states import LEADING, VISIBLE

enter_chains = chains.enter
ANY_RANK = np.int64(0x7FFFFFFFFFFFFFFF)
MOST_TUPLES = 1 << 18
"""After how many derivations it is time for a breath; `BREATH` says after which round, at the latest."""
FINDING, STEPPING, APPLYING, ENTERING = range(4)
"""How far what a rule derives has come."""


@compiled()
def begun_from(at, rules, queues, k):
    """Where the rows are that a rule begins from in this phase, and how many."""
    phase = at[PHASE]
    if phase == LOSE_RUN:
        return rules[k, LOST], rules[k, LOST_LENGTH]
    if phase == GAIN_RUN:
        return rules[k, GAINED], rules[k, GAINED_LENGTH]
    if phase == UP_RUN:
        return queues[rules[k, HEAD], DEAD], queues[rules[k, HEAD], DEAD_LENGTH]
    return queues[rules[k, DELTA], BATCH], queues[rules[k, DELTA], BATCH_LENGTH]


@compiled()
def seen_by(at, relations, r, own, earlier):
    """Which rows of a relation a premise sees: the column of ranks if these matter, the highest, and the states."""
    rank_column, limit = np.int64(-1), ANY_RANK
    kind = np.int64(LOWER_BEFORE if earlier != 0 else LOWER_AFTER)
    if own != 0:
        kind = np.int64(OWN_BEFORE if earlier != 0 else OWN_AFTER)
        rank_column = relations[r, ARITY]
        if at[RISING] != 0:
            limit = at[CLOCK] if earlier != 0 else at[CLOCK] - 1
    return rank_column, limit, at[ACCESS] * ACCESS_WIDTH + kind


@compiled()
def find_first(at, relations, indexes, rules, heap, accepts, which, sample):
    """The next bindings of a rule, from the rows that it begins from."""
    k = at[RULE]
    r, j, width = rules[k, DELTA], rules[k, JOINED], rules[k, OUTPUTS_LENGTH]
    cursor = at[LEVELS + CURSOR : LEVELS + CURSOR + 5]
    constants = rules[k, CONSTANTS]
    equalities = paired(at, rules[k, EQUALITIES], rules[k, EQUALITIES_LENGTH])
    outputs, out = listed(heap, rules[k, OUTPUTS], width), room_of(at, np.int64(0), np.int64(0), width)
    left_rank = relations[r, ARITY] if rules[k, RECURS] != 0 else np.int64(-1)
    if j < 0:
        return gather(
            which,
            rows_of(relations, r, sample),
            paired(at, constants, rules[k, CONSTANTS_LENGTH]),
            equalities,
            left_rank,
            outputs,
            cursor,
            out,
        )
    other = indexes[j, INDEXED]
    rank_column, limit, seen = seen_by(at, relations, other, rules[k, OWN], rules[k, EARLIER])
    found = join_rows(
        which,
        rows_of(relations, r, sample),
        left_rank,
        listed(heap, rules[k, SOURCES], rules[k, SOURCES_LENGTH]),
        listed(heap, constants, rules[k, CONSTANTS_LENGTH]),
        listed(heap, indexes[j, COLUMNS], indexes[j, COLUMNS_LENGTH]),
        ints_at(indexes[j, KEYS], indexes[j, KEYS_LENGTH]),
        numbers_at(indexes[j, POOL], indexes[j, POOL_LENGTH]),
        rows_of(relations, other, sample),
        state_of(relations, other),
        accepts[seen],
        equalities,
        rank_column,
        limit,
        outputs,
        listed(heap, rules[k, RESULT_CONSTANTS], rules[k, RESULT_CONSTANTS_LENGTH]),
        cursor,
        out,
        scratch_of(relations, r),
    )
    rules[k, LOOKED] += cursor[2]
    cursor[2] = 0
    return found


@compiled()
def find_more(at, relations, indexes, steps, heap, accepts, level, sample):
    """The next bindings of a level above the first, from those of the one below."""
    below = LEVELS + (level - 1) * LEVEL_WIDTH
    s = at[below + STEP]
    r, j, width = steps[s, READ], steps[s, STEP_JOINED], steps[s, STEP_OUTPUTS_LENGTH]
    place = LEVELS + level * LEVEL_WIDTH
    cursor = at[place + CURSOR : place + CURSOR + 5]
    bindings = bindings_of(at, level - 1)
    rank_column, limit, seen = seen_by(at, relations, r, steps[s, STEP_OWN], steps[s, STEP_EARLIER])
    sources = listed(heap, steps[s, STEP_SOURCES], steps[s, STEP_SOURCES_LENGTH])
    constants = listed(heap, steps[s, STEP_CONSTANTS], steps[s, STEP_CONSTANTS_LENGTH])
    columns = listed(heap, indexes[j, COLUMNS], indexes[j, COLUMNS_LENGTH])
    keys = ints_at(indexes[j, KEYS], indexes[j, KEYS_LENGTH])
    pool = numbers_at(indexes[j, POOL], indexes[j, POOL_LENGTH])
    equalities = paired(at, steps[s, STEP_EQUALITIES], steps[s, STEP_EQUALITIES_LENGTH])
    outputs, out = listed(heap, steps[s, STEP_OUTPUTS], width), room_of(at, level, np.int64(0), width)
    rows, state = rows_of(relations, r, sample), state_of(relations, r)
    if steps[s, KIND] == CHAINED:
        found = join_chain(
            bindings, sources, constants, columns, keys, pool, rows, state, accepts[seen], equalities,
            rank_column, limit, outputs, cursor, out,
        )  # fmt: skip
    else:
        found = join_bindings(
            numbers_at(at[BUFFERS], np.int64(0)), bindings, at[below + BOUND], sources, constants, columns, keys,
            pool, rows, state, accepts[seen], equalities, rank_column, limit, outputs,
            listed(heap, steps[s, STEP_RESULTS], steps[s, STEP_RESULTS_LENGTH]), cursor, out,
            scratch_of(relations, r),
        )  # fmt: skip
    steps[s, SEEN] += cursor[2]
    cursor[2] = 0
    return found


@compiled()
def one_row(at, relations, steps, s, heap, accepts, bindings, out, sample):
    """A step that looks for the row that each binding spells out; how many bindings go on."""
    r = steps[s, READ]
    sources = listed(heap, steps[s, STEP_SOURCES], steps[s, STEP_SOURCES_LENGTH])
    constants = listed(heap, steps[s, STEP_CONSTANTS], steps[s, STEP_CONSTANTS_LENGTH])
    outputs = listed(heap, steps[s, STEP_OUTPUTS], steps[s, STEP_OUTPUTS_LENGTH])
    cursor = at[STEP_CURSOR : STEP_CURSOR + 3]
    cursor[:] = 0
    rows, state, slots = rows_of(relations, r, sample), state_of(relations, r), slots_of(relations, r)
    columns = listed(heap, np.int64(0), relations[r, ARITY])
    scratch = scratch_of(relations, r)
    if steps[s, KIND] == ABSENT:
        kind = np.int64(ABSENT_BEFORE if steps[s, STEP_EARLIER] != 0 else ABSENT_AFTER)
        avoided = accepts[at[ACCESS] * ACCESS_WIDTH + kind]
        m = anti_join(
            bindings, sources, constants, columns, slots, rows, state, avoided, outputs, cursor, out, scratch
        )
    else:
        rank_column, limit, seen = seen_by(at, relations, r, steps[s, STEP_OWN], steps[s, STEP_EARLIER])
        m = join_row(
            bindings, sources, constants, columns, slots, rows, state, accepts[seen],
            paired(at, steps[s, STEP_EQUALITIES], steps[s, STEP_EQUALITIES_LENGTH]), rank_column, limit, outputs,
            cursor, out, scratch,
        )  # fmt: skip
    steps[s, SEEN] += cursor[2]
    return m


@compiled()
def take_steps(at, relations, rules, steps, heap, accepts, level, sample):
    """Bring what a level has found through the steps up to the next join; whether a sum needs another look."""
    place = LEVELS + level * LEVEL_WIDTH
    while at[place + STEP] < rules[at[RULE], LAST_STEP] and at[place + PENDING] > 0:
        s = at[place + STEP]
        kind, width = steps[s, KIND], steps[s, STEP_OUTPUTS_LENGTH]
        if kind in (LISTED, CHAINED):
            return False
        there = 1 - at[place + BUFFER]
        bindings = bindings_of(at, level)
        constants = listed(heap, steps[s, STEP_CONSTANTS], steps[s, STEP_CONSTANTS_LENGTH])
        outputs = listed(heap, steps[s, STEP_OUTPUTS], width)
        if kind in (SUM, FLOAT_SUM):
            width += 1
        out = room_of(at, level, there, width)
        if kind in (WHOLE, ABSENT):
            at[place + PENDING] = one_row(at, relations, steps, s, heap, accepts, bindings, out, sample)
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
        at[place + BUFFER], at[place + BOUND] = there, width
        at[place + STEP] += 1
    return False


@compiled()
def lose(at, relations, queues, r, level, sample):
    """Count off what was found; those that die fall, and may be replaced as the best of their groups."""
    sizes = sizes_of(relations, r)
    arity = relations[r, ARITY]
    falling, dead, doubtful = subtract(
        bindings_of(at, level),
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
def gain(at, relations, queues, r, level, sample):
    """Add what was found, as far as there is room; what is new is to be shown, or chosen from."""
    sizes = sizes_of(relations, r)
    arity = relations[r, ARITY]
    waiting = AFFECTED if relations[r, GROUPS] >= 0 else FRESH
    at[BEGIN] = sizes[4]
    new = add(
        bindings_of(at, level)[at[APPLIED] :],
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
        False,
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
def bring_back(at, relations, queues, r, level, sample):
    """Let dead rows come back of which derivations were found."""
    bindings, n = bindings_of(at, level), at[LEVELS + level * LEVEL_WIDTH + PENDING]
    origins = room_of(at, level, 1 - at[LEVELS + level * LEVEL_WIDTH + BUFFER], np.int64(0)).reshape(-1)[:n]
    for i in range(n):
        origins[i] = bindings[i, 0]
    waiting = AFFECTED if relations[r, GROUPS] >= 0 else FRESH
    new = revive(
        origins,
        rows_of(relations, r, sample),
        state_of(relations, r),
        sizes_of(relations, r),
        journal_rows_of(relations, r),
        journal_of(relations, r),
        relations[r, ARITY],
        relations[r, COUNT_COLUMN],
        relations[r, HEAD_RANK_COLUMN],
        at[CLOCK] + 1,
        behind(queues, r, waiting),
    )
    queues[r, waiting + LENGTH] += new
    at[REVIVED] += new
    relations[r, ADDED] += n
    if new != n:
        relations[r, TWICE] = 1


@compiled()
def enter_level(at, rules, steps, level):
    """Begin a level: nothing of what it extends is done."""
    place = LEVELS + level * LEVEL_WIDTH
    at[place + CURSOR : place + CURSOR + 5] = 0
    if level > 0 and steps[at[place - LEVEL_WIDTH + STEP], KIND] == CHAINED:
        at[place + CURSOR + 1] = -1
    at[LEVEL] = level


@compiled()
def find_some(at, relations, indexes, rules, steps, heap, accepts, start, length, sample):
    """Find bindings of the present level; False if there are no more, and it is left."""
    level = at[LEVEL]
    place = LEVELS + level * LEVEL_WIDTH
    if level == 0:
        if at[place + CURSOR] >= length:
            return False
        which = numbers_at(start, length)
        at[place + PENDING] = find_first(at, relations, indexes, rules, heap, accepts, which, sample)
        at[place + BOUND] = rules[at[RULE], OUTPUTS_LENGTH]
        at[place + STEP] = rules[at[RULE], FIRST_STEP]
    else:
        if at[place + CURSOR] >= at[place - LEVEL_WIDTH + PENDING]:
            at[LEVEL] -= 1
            return True
        s = at[place - LEVEL_WIDTH + STEP]
        at[place + PENDING] = find_more(at, relations, indexes, steps, heap, accepts, level, sample)
        at[place + BOUND], at[place + STEP] = steps[s, STEP_OUTPUTS_LENGTH], s + 1
    at[place + BUFFER] = 0
    if at[place + PENDING] > 0:
        at[STAGE] = STEPPING
    return True


@compiled()
def run_rules(at, relations, indexes, rules, steps, heap, queues, accepts, sample):
    """Run the rules of the present phase, from where that stands; `DONE`, or why it cannot go on."""
    phase = at[PHASE]
    while at[RULE] < at[LAST_RULE]:
        k = at[RULE]
        r = rules[k, HEAD]
        if at[STAGE] == FINDING:
            start, length = begun_from(at, rules, queues, k)
            if at[TUPLES] > MOST_TUPLES:
                return PAUSED
            if not find_some(at, relations, indexes, rules, steps, heap, accepts, start, length, sample):
                rules[k, BEGUN] += length
                at[RULE] += 1
                enter_level(at, rules, steps, np.int64(0))
                continue
        level = at[LEVEL]
        place = LEVELS + level * LEVEL_WIDTH
        if at[STAGE] == STEPPING:
            if take_steps(at, relations, rules, steps, heap, accepts, level, sample):
                return SPECIAL_SUM
            at[STAGE] = FINDING
            if at[place + PENDING] == 0:
                continue
            if at[place + STEP] < rules[k, LAST_STEP]:
                enter_level(at, rules, steps, level + 1)
                continue
            rules[k, FOUND] += at[place + PENDING]
            at[TUPLES] += at[place + PENDING]
            at[STAGE], at[APPLIED] = APPLYING, 0
        if at[STAGE] == APPLYING:
            if not noting(at, relations, r, at[place + PENDING]):
                return JOURNAL_FULL
            if not queueing(at, queues, r, at[place + PENDING]):
                return QUEUE_FULL
            at[STAGE] = FINDING
            if phase in (LOSE_RUN, FALL_RUN):
                lose(at, relations, queues, r, level, sample)
            elif phase == UP_RUN:
                bring_back(at, relations, queues, r, level, sample)
            else:
                gain(at, relations, queues, r, level, sample)
                at[STAGE] = ENTERING
        if at[STAGE] == ENTERING:
            if enter_all(at, relations, indexes, heap, r, sample):
                return INDEX_FULL
            at[STAGE] = FINDING
            if at[APPLIED] < at[place + PENDING]:
                at[STAGE] = APPLYING
                at[NEEDS], at[MUCH] = r, at[place + PENDING] - at[APPLIED]
                return ROWS_FULL
    return DONE
