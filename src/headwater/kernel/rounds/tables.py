"""The tables that `advance` goes by: what each column of them is.

Relations, indexes, rules, their further steps and the queues of the stratum's own relations are rows of tables of
int64. An entry is a number, an address (`addresses`), or where something begins in the *heap*, in which all lists of
columns and constants are one after another; the length of such a list is in the column after it. The stratum's own
relations come first, with the same numbers in the table of queues.
"""

from __future__ import annotations

from itertools import count

_relation, _index, _rule, _step, _queue, _place = count(), count(), count(), count(), count(), count()

# Relations. `CAPACITY` is how many rows there is room for; `ADDED` and `TWICE` are told: how many tuples were added,
# and whether one of them was a second support.
ROWS, WIDTH, STATE, CAPACITY = (next(_relation) for _ in range(4))
SLOTS, SLOTS_LENGTH, FREE, FREE_LENGTH = (next(_relation) for _ in range(4))
JOURNAL_ROWS, JOURNAL, JOURNAL_LENGTH = (next(_relation) for _ in range(3))
CREATED, CREATED_LENGTH, SIZES, SCRATCH = (next(_relation) for _ in range(4))
ARITY, COUNT_COLUMN, HEAD_RANK_COLUMN = (next(_relation) for _ in range(3))
FIRST_INDEX, INDEXES, GROUPS, SINGLE = (next(_relation) for _ in range(4))
CRITERIA, CRITERIA_LENGTH, ADDED, TWICE, CHOSEN, LARGEST = (next(_relation) for _ in range(6))
RELATION_WIDTH = next(_relation)

# Indexes: lists (`POOL`) or chains (`POOL` and `PREVIOUS` are the rows that follow, and those before).
IS_LISTS, COLUMNS, COLUMNS_LENGTH, KEYS, KEYS_LENGTH = (next(_index) for _ in range(5))
POOL, POOL_LENGTH, PREVIOUS, INDEX_SIZES, INDEX_SIZES_LENGTH, INDEXED = (next(_index) for _ in range(6))
INDEX_WIDTH = next(_index)

# Rules: a join of the delta's rows by an index, then further steps. `FOUND`, `LOOKED` and `BEGUN` are told:
# derivations, rows that the join looked at, and rows that it began from.
DELTA, JOINED, SOURCES, SOURCES_LENGTH = (next(_rule) for _ in range(4))
CONSTANTS, CONSTANTS_LENGTH, OUTPUTS, OUTPUTS_LENGTH = (next(_rule) for _ in range(4))
RESULT_CONSTANTS, RESULT_CONSTANTS_LENGTH, OWN, EARLIER = (next(_rule) for _ in range(4))
FIRST_STEP, LAST_STEP, HEAD, FOUND, LOOKED, BEGUN = (next(_rule) for _ in range(6))
RULE_WIDTH = next(_rule)

# Steps after the join; none of them gives more bindings than it takes. `SEEN` is told: rows looked at.
KIND, READ, STEP_SOURCES, STEP_SOURCES_LENGTH = (next(_step) for _ in range(4))
STEP_CONSTANTS, STEP_CONSTANTS_LENGTH, STEP_OUTPUTS, STEP_OUTPUTS_LENGTH = (next(_step) for _ in range(4))
STEP_OWN, STEP_EARLIER, LEFT, RIGHT, SUBTRACT, SEEN = (next(_step) for _ in range(6))
STEP_WIDTH = next(_step)
WHOLE, ABSENT, SUM, FLOAT_SUM, PROJECT = range(5)
"""Kinds of steps: the row that a binding spells out is there, or is not; the sum of two columns; columns."""

# Queues of the own relations: buffers of `ROOM` row numbers, and how many are in them.
FRESH, FALLING, DEAD, AFFECTED, BATCH, WANTED, GONE, FIRSTS = (next(_queue) for _ in range(8))
FRESH_LENGTH, FALLING_LENGTH, DEAD_LENGTH, AFFECTED_LENGTH = (next(_queue) for _ in range(4))
BATCH_LENGTH, WANTED_LENGTH, GONE_LENGTH, ROOM = (next(_queue) for _ in range(4))
QUEUE_WIDTH = next(_queue)
LENGTH = FRESH_LENGTH - FRESH
"""From the column of a buffer to that of its length."""

# Where the work stands, from one call to the next.
PHASE, DOWN_ONLY, RULE, CURSOR = (next(_place) for _ in range(4))
_ = [next(_place) for _ in range(4)]
PENDING, APPLIED, STAGE, INDEX, BEGIN, END = (next(_place) for _ in range(6))
CLOCK, LAST_CLOCK, ROUNDS, LAST_ROUND, BREATH, CYCLES, TUPLES = (next(_place) for _ in range(7))
DIED, DOUBTFUL, SURE, LIMIT, NEEDS, MUCH, STEP, BUFFER, BOUND = (next(_place) for _ in range(9))
BUFFERS, BEATING, ORDER, ORDER_LENGTH, SPECIAL, SPECIAL_LENGTH, VALUES = (next(_place) for _ in range(7))
STEP_CURSOR = next(_place)
_ = [next(_place) for _ in range(3)]
MOST_CRITERIA = 8
BEST = next(_place)
_ = [next(_place) for _ in range(MOST_CRITERIA)]
PLACE_LENGTH = next(_place)

FALL, FALL_RUN, UP, CHOOSE, SHOW, SHOW_RUN = range(6)
"""Phases: a round of going down begins, and runs; what died is asked about; the best are chosen; a round of news
begins, and runs."""
DONE, HANDED_OVER, PAUSED, GIVEN_UP, ASKED, JOURNAL_FULL, QUEUE_FULL, ROWS_FULL, INDEX_FULL, SPECIAL_SUM = (
    range(10)
)
"""Why a call ended: all is done; it goes on elsewhere (too much for here); for a breath; too much has died; dead rows
may have other derivations; `NEEDS` has no room for `MUCH` more in its journal, its queues, its rows or an index; a
sum is not its own code."""
LOWER, OWN_BEFORE, OWN_AFTER, AVOIDED, RISING = range(5)
"""Which rows premises see: of lower strata, of the own one before and after the delta; and what must not be there.
From `RISING` on the same for rounds of news."""
