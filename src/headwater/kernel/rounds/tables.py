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
# and whether one of them was a second support. `ASKABLE`
# says that rules are there to find other derivations of its dead rows.
ROWS, WIDTH, STATE, CAPACITY = (next(_relation) for _ in range(4))
SLOTS, SLOTS_LENGTH, FREE, FREE_LENGTH = (next(_relation) for _ in range(4))
JOURNAL_ROWS, JOURNAL, JOURNAL_LENGTH = (next(_relation) for _ in range(3))
CREATED, CREATED_LENGTH, SIZES, SCRATCH = (next(_relation) for _ in range(4))
ARITY, COUNT_COLUMN, HEAD_RANK_COLUMN = (next(_relation) for _ in range(3))
FIRST_INDEX, INDEXES, GROUPS, SINGLE = (next(_relation) for _ in range(4))
CRITERIA, CRITERIA_LENGTH, ASKABLE = (next(_relation) for _ in range(3))
ADDED, TWICE, CHOSEN, LARGEST = (next(_relation) for _ in range(4))
RELATION_WIDTH = next(_relation)

# Indexes: lists (`POOL`) or chains (`POOL` and `PREVIOUS` are the rows that follow, and those before).
IS_LISTS, COLUMNS, COLUMNS_LENGTH, KEYS, KEYS_LENGTH = (next(_index) for _ in range(5))
POOL, POOL_LENGTH, PREVIOUS, INDEX_SIZES, INDEX_SIZES_LENGTH, INDEXED = (next(_index) for _ in range(6))
INDEX_WIDTH = next(_index)

# Rules, each from rows of one of its premises, or of its head. `JOINED` is the index by which the rows themselves are
# joined; without one (-1) they are taken apart into bindings first. Then come further steps. Rows of lower strata are
# given (`LOST`, `GAINED`); others are in queues. `FOUND`, `LOOKED` and `BEGUN` are told: derivations, rows that the
# first join looked at, and rows that were begun from.
DELTA, HEAD, RECURS, JOINED = (next(_rule) for _ in range(4))
SOURCES, SOURCES_LENGTH, CONSTANTS, CONSTANTS_LENGTH = (next(_rule) for _ in range(4))
EQUALITIES, EQUALITIES_LENGTH, OUTPUTS, OUTPUTS_LENGTH = (next(_rule) for _ in range(4))
RESULT_CONSTANTS, RESULT_CONSTANTS_LENGTH, OWN, EARLIER = (next(_rule) for _ in range(4))
FIRST_STEP, LAST_STEP, LOST, LOST_LENGTH, GAINED, GAINED_LENGTH = (next(_rule) for _ in range(6))
FOUND, LOOKED, BEGUN = (next(_rule) for _ in range(3))
RULE_WIDTH = next(_rule)

# Steps after that. `SEEN` is told: rows looked at.
KIND, READ, STEP_SOURCES, STEP_SOURCES_LENGTH = (next(_step) for _ in range(4))
STEP_CONSTANTS, STEP_CONSTANTS_LENGTH, STEP_OUTPUTS, STEP_OUTPUTS_LENGTH = (next(_step) for _ in range(4))
STEP_EQUALITIES, STEP_EQUALITIES_LENGTH, STEP_RESULTS, STEP_RESULTS_LENGTH = (next(_step) for _ in range(4))
STEP_JOINED, STEP_OWN, STEP_EARLIER, LEFT, RIGHT, SUBTRACT, SEEN = (next(_step) for _ in range(7))
STEP_WIDTH = next(_step)
WHOLE, ABSENT, SUM, FLOAT_SUM, PROJECT, LISTED, CHAINED = range(7)
"""Kinds of steps: the row that a binding spells out is there, or is not; the sum of two columns; columns; and joins,
which may give more bindings than they take: the rows of a key's list, or of its chain."""

# Queues of the own relations: buffers of `ROOM` row numbers, and how many are in them.
FRESH, FALLING, DEAD, AFFECTED, BATCH, WANTED, GONE, FIRSTS = (next(_queue) for _ in range(8))
FRESH_LENGTH, FALLING_LENGTH, DEAD_LENGTH, AFFECTED_LENGTH = (next(_queue) for _ in range(4))
BATCH_LENGTH, WANTED_LENGTH, GONE_LENGTH, ROOM = (next(_queue) for _ in range(4))
QUEUE_WIDTH = next(_queue)
LENGTH = FRESH_LENGTH - FRESH
"""From the column of a buffer to that of its length."""

# Where the work stands, from one call to the next.
PHASE, FIRST, GAINS, RULE, LAST_RULE, LEVEL, STAGE = (next(_place) for _ in range(7))
APPLIED, INDEX, BEGIN, END = (next(_place) for _ in range(4))
CLOCK, LAST_CLOCK, ROUNDS, LAST_ROUND, BREATH, CYCLES, TUPLES = (next(_place) for _ in range(7))
DIED, DOUBTFUL, REVIVED, SURE, LIMIT, NEEDS, MUCH = (next(_place) for _ in range(7))
LOWER_RULES, ASKING_RULES, HEAP, ACCESS, RISING = (next(_place) for _ in range(5))
BUFFERS, BEATING, ORDER, ORDER_LENGTH, SPECIAL, SPECIAL_LENGTH, VALUES = (next(_place) for _ in range(7))
STEP_CURSOR = next(_place)
_ = [next(_place) for _ in range(3)]
MOST_CRITERIA = 8
BEST = next(_place)
_ = [next(_place) for _ in range(MOST_CRITERIA)]
MOST_LEVELS = 4
CURSOR, PENDING, BUFFER, BOUND, STEP = 0, 5, 6, 7, 8
LEVEL_WIDTH = 9
"""What is known of a level, which is the start of a rule or one of its joins, with the steps that follow it: how far
what it extends has come (see `list_join`), how many bindings it gave, in which of its two buffers, how many columns
they have beside the rank, and the next step."""
LEVELS = next(_place)
PLACE_LENGTH = LEVELS + MOST_LEVELS * LEVEL_WIDTH

LOSE, LOSE_RUN, FALL, FALL_RUN, UP, UP_RUN, GAIN, GAIN_RUN, CHOOSE, SHOW, SHOW_RUN, OVER = range(12)
"""Phases: what lower strata lost is begun from; a round of going down begins, and runs; what died is asked about;
what lower strata gained is begun from; the best are chosen; a round of news begins, and runs. After the first time,
which `FIRST` tells, going down and asking lead to choosing. `GAINS` says that all rules from what lower strata gained
are there."""
DONE, HANDED_OVER, PAUSED, GIVEN_UP, ASKED, JOURNAL_FULL, QUEUE_FULL, ROWS_FULL, INDEX_FULL, SPECIAL_SUM = (
    range(10)
)
"""Why a call ended: all is done; it goes on elsewhere (too much for here); for a breath; too much has died; dead rows
may have other derivations, for which no rules are there; `NEEDS` has no room for `MUCH` more in its journal, its
queues, its rows or an index; a sum is not its own code."""
LOWER_BEFORE, LOWER_AFTER, OWN_BEFORE, OWN_AFTER, ABSENT_BEFORE, ABSENT_AFTER = range(6)
ACCESS_WIDTH = 6
"""Which rows premises see before and after what a rule begins from: of lower strata, of the own one, and what must
not be there."""
AT_LOSING, AT_FALLING_FIRST, AT_ASKING_FIRST, AT_GAINING, AT_FALLING, AT_PRESENT = range(6)
"""When they see them: see `plan.access`."""
