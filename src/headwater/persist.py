"""A database as tables and metadata for the store, and back.

What is stored are values, never codes: a state can be read by any later process. Views are stored with their
ranks and counts, so opening does not derive them again (unless they were kept by a strategy without ranks, and
are opened by one that needs them); groups of count, sum and avg are filled anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.maintain.engine import UNIT, Engine
from headwater.maintain.soft_state import SoftState
from headwater.maintain.statistics import VersionStatistics
from headwater.plan.steps import Ints
from headwater.rules.checked import RelationInfo
from headwater.values.codec import Codec
from headwater.values.types import Type, parse_type

if TYPE_CHECKING:
    import pyarrow as pa

RANKS = ("~rank", "~count", "~head_rank")
UNRANKED = -1
"""The rank of all rows of a relation whose strategy does not keep ranks."""
VISIBLE = "~visible"
TIME = "~time"


def types_to_json(types: tuple[Type | None, ...]) -> list[str | None]:
    """Types by name."""
    return [None if type_ is None else str(type_) for type_ in types]


def types_from_json(names: list[str | None]) -> tuple[Type | None, ...]:
    """Types from what `types_to_json` gave."""
    return tuple(None if name is None else parse_type(name) for name in names)


def to_table(codec: Codec, rows: Ints, info: RelationInfo) -> pa.Table:
    """Rows as a table; a relation without columns gets one, or the number of rows would be lost."""
    import pyarrow as pa

    if info.arity == 0:
        return pa.table({VISIBLE: pa.array([True] * rows.shape[0])})
    return codec.to_table(np.ascontiguousarray(rows), info.columns, info.types)


def from_table(codec: Codec, table: pa.Table, info: RelationInfo) -> Ints:
    """Rows from what `to_table` gave; further columns are left alone."""
    if info.arity == 0:
        return np.zeros((table.num_rows, 0), np.int64)
    values = table.select(range(info.arity)).rename_columns(list(info.columns))
    return codec.from_table(values, info.types, info.name, info.columns)


def dump_relations(engine: Engine, codec: Codec, without: Collection[str] = ()) -> dict[str, pa.Table]:
    """A table per relation that has rows, except those that are quickly made anew and tables not asked for."""
    import pyarrow as pa

    tables = {}
    unranked = engine.unranked()
    for name, relation in engine.workspace.relations.items():
        info = engine.workspace.infos[name]
        if relation.stored == 0 or name == UNIT or info.aggregate is not None or f"rows/{name}" in without:
            continue
        codes, ranks, visible = relation.dump()
        if name in unranked:
            ranks = np.full_like(ranks, UNRANKED)
        columns = {RANKS[column]: pa.array(ranks[:, column]) for column in range(ranks.shape[1])}
        columns[VISIBLE] = pa.array(visible)
        table = to_table(codec, codes, info) if info.arity else None
        for column, values in columns.items():
            table = pa.table({column: values}) if table is None else table.append_column(column, values)
        tables[f"rows/{name}"] = table
    return tables


def load_relations(engine: Engine, codec: Codec, tables: Mapping[str, pa.Table]) -> None:
    """Fill the relations of a freshly defined engine, then its groups."""
    unranked: set[str] = set()
    for name, relation in engine.workspace.relations.items():
        info = engine.workspace.infos[name]
        table = tables.get(f"rows/{name}")
        if table is None:
            if name != UNIT:
                relation.clear()
            continue
        codes = from_table(codec, table, info)
        ranks = np.column_stack(
            [table.column(column).to_numpy() for column in RANKS[: relation.width - info.arity]]
        )
        if (ranks == UNRANKED).any():
            unranked.add(name)
        relation.load(codes, ranks.astype(np.int64), table.column(VISIBLE).to_numpy().astype(bool))
    engine.complete(VersionStatistics(), unranked)


def dump_soft_state(soft: Mapping[str, SoftState], engine: Engine, codec: Codec) -> dict[str, pa.Table]:
    """A table per relation with a lifetime or a size."""
    import pyarrow as pa

    tables = {}
    for name, state in soft.items():
        if len(state):
            info = engine.workspace.infos[name]
            rows, times = state.dump()
            table = to_table(codec, rows, info)
            tables[f"soft/{name}"] = table.append_column(TIME, pa.array(times, pa.float64()))
    return tables


def load_soft_state(
    soft: Mapping[str, SoftState], engine: Engine, codec: Codec, tables: Mapping[str, Any]
) -> None:
    """Take what `dump_soft_state` gave."""
    for name, state in soft.items():
        table = tables.get(f"soft/{name}")
        if table is not None:
            info = engine.workspace.infos[name]
            state.load(from_table(codec, table, info), table.column(TIME).to_pylist())
