"""The first state of groups over a block: summed up in the backend by group and fragment, and not row by row here.

So what comes over is as much as the state itself: (group, fragment) with counts and sums. Sums of floats would come
rounded, so rows that are summed up as floats come by value, each with how often it occurs. Of min and max come only
the first values of each group, as many as buffers hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError, SketchError
from headwater.language.sql.algebra import (
    AggregateCall,
    GroupBy,
    Named,
    NamedAggregate,
    NamedWindow,
    Operator,
    Select,
    SortKey,
    Window,
    WindowCall,
)
from headwater.language.sql.inference import aggregate_type
from headwater.language.sql.scalars import Attribute, Compare, IsNull, Not, Value
from headwater.sketch.maintain.aggregates import GroupCount, GroupSum, OtherAverage
from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.block_delta import BlockDelta
from headwater.sketch.maintain.extremes import Extreme
from headwater.sketch.maintain.fragment_sets import Ints
from headwater.sketch.maintain.groups import AggregateColumn, Groups, Touched
from headwater.sketch.maintain.operator import TableChanges
from headwater.values.types import FLOAT, INT


def can_be_summed_up(block: object, groups: Groups) -> bool:
    """Whether the first state can be made from sums of groups and fragments."""
    return isinstance(block, BlockDelta) and all(_is_simple(each, block) for each in groups.aggregates)


def _is_simple(column: AggregateColumn, block: BlockDelta) -> bool:
    state = column.state
    if isinstance(state, GroupSum):
        return block.column(column.input).type not in (FLOAT, None)
    return state is None or isinstance(state, GroupCount | Extreme | OtherAverage)


def load_groups(block: BlockDelta, groups: Groups, changes: TableChanges) -> AnnotatedRows:
    """Make the state of groups from a block's rows, and give the groups' rows."""
    plan, fragments = block.annotated_plan(), block.fragments
    keys = [block.column(key.input) for key in groups.keys]
    wanted = [NamedAggregate(block.fresh.attribute("_rows"), AggregateCall("count", None))]
    for each in groups.aggregates:
        wanted += [
            NamedAggregate(block.fresh.attribute("_sum", aggregate_type(call)), call)
            for call in _calls(each, block)
        ]
    summed = GroupBy(plan, tuple(Named(each, each) for each in (*keys, *fragments)), tuple(wanted))
    found = block.ask(changes, summed)
    found = found.filter(
        pc.greater(found.column(len(keys) + len(fragments)), 0)
    )  # one of nothing, if by nothing
    rows = block.rows_from(found, [each.id for each in (*keys, *fragments)])
    numbers = groups.enter(rows)
    place = len(keys) + len(fragments) + 1
    for each in groups.aggregates:
        columns = [found.column(place + n).combine_chunks() for n in range(len(_calls(each, block)))]
        _take(each, numbers, columns)
        place += len(columns)
        if isinstance(each.state, Extreme):
            _fill(each, each.state, block, groups, changes, keys)
    everyone = groups.live()
    return groups.finish(Touched(everyone, np.zeros(len(everyone), bool), {}))


def _calls(column: AggregateColumn, block: BlockDelta) -> list[AggregateCall]:
    """What is asked of the backend for an aggregate: counts of values, and sums."""
    if column.state is None or isinstance(column.state, OtherAverage):
        return []
    argument = block.column(column.input)
    count = AggregateCall("count", argument)
    return [count, AggregateCall("sum", argument)] if isinstance(column.state, GroupSum) else [count]


def _take(column: AggregateColumn, numbers: Ints, columns: Sequence[pa.Array]) -> None:
    state = column.state
    if state is None or isinstance(state, OtherAverage):
        return
    counts = np.asarray(columns[0].cast(pa.int64())).astype(np.int64)
    counter = state.count if isinstance(state, GroupSum | Extreme) else state
    counter.change(numbers, None, counts)
    if isinstance(state, GroupSum):
        valid = np.asarray(columns[1].is_valid(), dtype=bool)
        codes = _codes(state, columns[1].drop_null())
        state.add_codes(numbers[valid], codes, np.ones(len(codes), np.int64))


def _codes(state: GroupSum, sums: pa.Array) -> Ints:
    """Sums of groups and fragments as values to be added up."""
    try:
        return state.coded.codes(sums)
    except DataError as error:
        what = f"a sum of {state.coded.name} in one fragment is too long to be kept"
        hint = "the sketch is captured anew when its tables change"
        raise SketchError("not-maintained", what, hint=hint) from error


def _fill(
    column: AggregateColumn,
    state: Extreme,
    block: BlockDelta,
    groups: Groups,
    changes: TableChanges,
    keys: Sequence[Attribute],
) -> None:
    """Fetch the first values of each group, one more than a buffer holds: that one says where it ends."""
    plan = block.annotated_plan()
    value = block.column(column.input)
    count = block.fresh.attribute("_count")
    named = tuple(Named(each, each) for each in (*keys, value))
    source: Operator = GroupBy(
        Select(plan, Not(IsNull(value))), named, (NamedAggregate(count, AggregateCall("count", None)),)
    )
    if state.most is not None:
        rank = block.fresh.attribute("_rank")
        order = (SortKey(value, state.descending, nulls_first=False),)
        ranked = Window(source, (NamedWindow(rank, WindowCall("dense_rank", (), tuple(keys), order)),))
        source = Select(ranked, Compare("<=", rank, Value(state.most + 1, INT)))
    found = block.ask(changes, source)
    columns = {each.id: found.column(place).combine_chunks() for place, each in enumerate((*keys, value))}
    counts = np.asarray(found.column(len(keys) + 1)).astype(np.int64)
    rows = AnnotatedRows(columns, counts, block.no_fragments(len(counts)))
    state.begin(groups.groups.find(groups.codes(rows)), columns[value.id], counts)
