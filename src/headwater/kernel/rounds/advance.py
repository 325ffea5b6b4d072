"""Small rounds of a fixpoint, as many as there are, in one call (see `maintain/fixpoint` for what they mean).

A change that follows a recursion takes some tens of rounds with some rows each. Each is a handful of calls of the
kernel, and calling takes longer than what is done. Here the rounds themselves are compiled: falling rows, the
derivations that they take along, choosing best rows, showing what is new and what follows from it. The calls are the
same as those that `fixpoint` makes, in the same order.

What needs Python ends the call (`tables` has the reasons) and the next one goes on from there: room for more, a
number that is no plain one, rules to ask for other derivations that are not there yet, or a round that is not small.
"""
# mypy: disallow-untyped-defs = False, disallow-untyped-calls = False
# ruff: noqa: F405

from __future__ import annotations

import numpy as np

from headwater.kernel.compiled import compiled
from headwater.kernel.rounds.addresses import numbers_at
from headwater.kernel.rounds.choosing import choose_all, halve, move_to_front, wait
from headwater.kernel.rounds.running import MOST_TUPLES, enter_level, run_rules
from headwater.kernel.rounds.tables import *  # noqa: F403
from headwater.kernel.rounds.views import (
    append,
    journal_of,
    journal_rows_of,
    noting,
    queued,
    queueing,
    rows_of,
    sizes_of,
    state_of,
    swapped,
    total,
)
from headwater.kernel.rowops import NOT_DYING, clear_bits, fall, show

LARGEST_ROUND = 8192
"""From how many rows on a round is not small."""
MOST_CYCLES = 64
"""How often best rows may be displaced by better ones, one after another, before somebody has to look whether that
ends."""
MOST_ROUNDS_WITHOUT = 100_000
"""How many rounds run without it before it is compiled: that takes as long as it would have saved by then."""


@compiled()
def too_much(at, rows):
    """Whether a round with so many rows is none for here, or one too many."""
    return rows > LARGEST_ROUND or at[ROUNDS] >= at[LAST_ROUND] or at[CLOCK] + 2 >= at[LAST_CLOCK]


@compiled()
def begin_rules(at, steps, rules, phase, first, last, access, rising):
    """Begin to run some of the rules."""
    at[PHASE], at[RULE], at[LAST_RULE] = phase, first, last
    at[ACCESS], at[RISING] = access, rising
    enter_level(at, rules, steps, np.int64(0))


@compiled()
def sift_dead(at, relations, queues, sample):
    """Keep of dead rows those that may have other derivations; how many there are, and whether all can be asked
    about."""
    doubtful, askable = np.int64(0), True
    for r in range(queues.shape[0]):
        dead, rows = queued(queues, r, DEAD), rows_of(relations, r, sample)
        n = np.int64(0)
        for i in range(dead.shape[0]):
            if rows[np.int64(dead[i]), relations[r, COUNT_COLUMN]] >= 0:
                dead[n] = dead[i]
                n += 1
        queues[r, DEAD_LENGTH] = n
        doubtful += n
        if n > 0 and relations[r, ASKABLE] == 0:
            askable = False
    return doubtful, askable


@compiled(
    "int64(int64[::1], int64[:, ::1], int64[:, ::1], int64[:, ::1], int64[:, ::1], int64[::1], int64[:, ::1],"
    " uint8[:, ::1], stored[:, ::1])",
    missed_until=MOST_ROUNDS_WITHOUT,
)
def advance(at, relations, indexes, rules, steps, heap, queues, accepts, sample):
    """Go on from where the work stands; why it ends."""
    recursive, lower = at[LOWER_RULES], at[ASKING_RULES]
    while True:
        phase = at[PHASE]
        if phase == LOSE:
            begin_rules(at, steps, rules, LOSE_RUN, recursive, lower, AT_LOSING, 0)
        elif phase == FALL:
            falling = total(queues, FALLING)
            if falling == 0:
                at[PHASE] = UP
                continue
            if 100 * at[DOUBTFUL] + at[SURE] * (at[DIED] - at[DOUBTFUL]) > at[LIMIT]:
                return GIVEN_UP
            if too_much(at, falling):
                return HANDED_OVER
            if at[TUPLES] > MOST_TUPLES or at[ROUNDS] >= at[BREATH]:
                return PAUSED
            for r in range(queues.shape[0]):
                if not noting(at, relations, r, queues[r, FALLING_LENGTH]):
                    return JOURNAL_FULL
            at[ROUNDS] += 1
            for r in range(queues.shape[0]):
                queues[r, BATCH_LENGTH] = 0
                swapped(queues, r, FALLING, BATCH)
                fall(
                    queued(queues, r, BATCH),
                    rows_of(relations, r, sample),
                    state_of(relations, r),
                    sizes_of(relations, r),
                    journal_rows_of(relations, r),
                    journal_of(relations, r),
                    relations[r, ARITY],
                    relations[r, COUNT_COLUMN],
                    relations[r, HEAD_RANK_COLUMN],
                )
            access = AT_FALLING_FIRST if at[FIRST] != 0 else AT_FALLING
            begin_rules(at, steps, rules, FALL_RUN, 0, recursive, access, 0)
        elif phase == UP:
            doubtful, askable = sift_dead(at, relations, queues, sample)
            if not askable:
                return ASKED
            access = AT_ASKING_FIRST if at[FIRST] != 0 else AT_PRESENT
            last = np.int64(rules.shape[0]) if doubtful > 0 else lower
            begin_rules(at, steps, rules, UP_RUN, lower, last, access, 0)
        elif phase == GAIN:
            if at[GAINS] == 0:
                return HANDED_OVER
            at[FIRST] = 0
            begin_rules(at, steps, rules, GAIN_RUN, recursive, lower, AT_GAINING, 0)
        elif phase in (LOSE_RUN, FALL_RUN, UP_RUN, GAIN_RUN, SHOW_RUN):
            why = run_rules(at, relations, indexes, rules, steps, heap, queues, accepts, sample)
            if why != DONE:
                return why
            if phase == FALL_RUN:
                for r in range(queues.shape[0]):
                    clear_bits(queued(queues, r, BATCH), state_of(relations, r), NOT_DYING)
            if phase == UP_RUN:
                for r in range(queues.shape[0]):
                    queues[r, DEAD_LENGTH] = 0
                at[PHASE] = GAIN if at[FIRST] != 0 else CHOOSE
            else:
                at[PHASE] = FALL if phase in (LOSE_RUN, FALL_RUN) else CHOOSE
        elif phase == CHOOSE:
            if total(queues, AFFECTED) == 0:
                at[PHASE] = SHOW
                continue
            if at[CYCLES] >= MOST_CYCLES or not choose_all(at, relations, indexes, heap, queues, sample):
                return HANDED_OVER
            for r in range(queues.shape[0]):
                if not noting(at, relations, r, queues[r, WANTED_LENGTH]):
                    return JOURNAL_FULL
                if not queueing(at, queues, r, queues[r, WANTED_LENGTH] + queues[r, GONE_LENGTH]):
                    return QUEUE_FULL
            displaced = total(queues, GONE) > 0
            for r in range(queues.shape[0]):
                wanted = numbers_at(queues[r, WANTED], queues[r, WANTED_LENGTH])
                gone = numbers_at(queues[r, GONE], queues[r, GONE_LENGTH])
                queues[r, AFFECTED_LENGTH] = 0
                better = np.int64(0) if displaced else halve(at, relations, r, wanted, sample)
                append(queues, r, FRESH, wanted[:better])
                append(queues, r, AFFECTED, wanted[better:])
                append(queues, r, AFFECTED, gone)
                append(queues, r, FALLING, gone)
                wait(at, relations, indexes, heap, r, wanted[better:], sample)
            at[CYCLES] += np.int64(displaced)
            at[PHASE] = FALL if displaced else SHOW
        elif phase == SHOW:
            fresh = total(queues, FRESH)
            if fresh == 0:
                at[PHASE] = OVER
                return DONE
            if too_much(at, fresh):
                return HANDED_OVER
            if at[TUPLES] > MOST_TUPLES or at[ROUNDS] >= at[BREATH]:
                return PAUSED
            for r in range(queues.shape[0]):
                if not noting(at, relations, r, queues[r, FRESH_LENGTH]):
                    return JOURNAL_FULL
            at[ROUNDS] += 1
            at[CLOCK] += 1
            for r in range(queues.shape[0]):
                queues[r, BATCH_LENGTH] = show(
                    queued(queues, r, FRESH),
                    rows_of(relations, r, sample),
                    state_of(relations, r),
                    sizes_of(relations, r),
                    journal_rows_of(relations, r),
                    journal_of(relations, r),
                    relations[r, ARITY],
                    relations[r, COUNT_COLUMN],
                    relations[r, HEAD_RANK_COLUMN],
                    at[CLOCK],
                    numbers_at(queues[r, BATCH], queues[r, ROOM]),
                )
                queues[r, FRESH_LENGTH] = 0
                if relations[r, GROUPS] >= 0:
                    move_to_front(relations, indexes, heap, r, queued(queues, r, BATCH), sample)
            begin_rules(at, steps, rules, SHOW_RUN, 0, recursive, AT_PRESENT, 1)
