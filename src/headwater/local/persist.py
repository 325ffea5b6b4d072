"""A database as tables and metadata for the store, and back.

What is stored are values, never codes: a state can be read by any later process. Views are stored with their
ranks and counts, so opening does not derive them again (unless they were kept by a strategy without ranks, and
are opened by one that needs them); groups of count, sum and avg are filled anew, and their rows are there for those
who only read (`at_rest`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headwater.kernel.relation import Relation
from headwater.local.table_names import RANKS, ROWS, SOFT, TIME, UNRANKED, VISIBLE, TableName
from headwater.maintain.base.soft_state import SoftState
from headwater.maintain.engine import Engine
from headwater.maintain.view import View
from headwater.plan.steps import Ints
from headwater.rules.checked import UNIT, RelationInfo
from headwater.values.arrow_numbers import array_of, numbers_of
from headwater.values.codec import Codec

if TYPE_CHECKING:
    import pyarrow as pa

Keep = Callable[[str, Ints, int], npt.NDArray[np.bool_]]
"""Which rows of a relation's part (by its place among the parts) belong here."""


def to_table(codec: Codec, rows: Ints, info: RelationInfo) -> pa.Table:
    """Rows as a table; a relation without columns gets one, or the number of rows would be lost."""
    import pyarrow as pa

    if info.arity == 0:
        return pa.table({VISIBLE: array_of(np.ones(rows.shape[0], bool))})
    return info.layout.stored(codec, np.ascontiguousarray(rows))


def from_table(codec: Codec, table: pa.Table, info: RelationInfo) -> Ints:
    """Rows from what `to_table` gave; further columns are left alone."""
    if info.arity == 0:
        return np.zeros((table.num_rows, 0), np.int64)
    return info.layout.restore(codec, table, info.name)


class Tables(Mapping[str, "pa.Table"]):
    """Tables by name, each made when it is looked up: a checkpoint takes the memory of one table at a time."""

    def __init__(self, makers: Mapping[str, Callable[[], pa.Table]]):
        self._makers = dict(makers)

    def __getitem__(self, name: str) -> pa.Table:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __or__(self, others: Mapping[str, pa.Table]) -> Tables:
        return Tables({**self._makers, **{name: partial(others.__getitem__, name) for name in others}})


def dump_relations(engine: Engine, codec: Codec, without: Collection[str] = ()) -> Tables:
    """A table per relation that has rows, except those not asked for."""
    makers = {}
    unranked = engine.unranked()
    for name, relation in engine.workspace.relations.items():
        info = engine.workspace.infos[name]
        table_name = str(TableName(ROWS, name))
        if relation.stored == 0 or name == UNIT or table_name in without:
            continue
        makers[table_name] = partial(_dump, relation, info, codec, name not in unranked)
    return Tables(makers)


def _dump(relation: Relation, info: RelationInfo, codec: Codec, ranked: bool) -> pa.Table:
    """All live rows, with ranks and counts (where there are any), and whether they are visible."""
    import pyarrow as pa

    codes, ranks, visible = relation.dump()
    if not ranked:
        ranks = np.full_like(ranks, UNRANKED)
    columns = {RANKS[column]: array_of(ranks[:, column]) for column in range(ranks.shape[1])}
    columns[VISIBLE] = array_of(visible)
    table = to_table(codec, codes, info) if info.arity else None
    for column, values in columns.items():
        table = pa.table({column: values}) if table is None else table.append_column(column, values)
    return table


def identity(engine: Engine, view: View) -> str:
    """What a stratum's ranks and counts depend on: its rules and selections. (Of what it reads, only the rows.)"""
    infos = engine.workspace.infos
    rules = [(rule.label, rule.head, rule.body, rule.aggregate) for rule in view.stratum.rules]
    selections = [infos[name].selections for name in view.stratum.relations]
    return hashlib.sha256(repr((view.stratum.relations, rules, selections)).encode()).hexdigest()[:24]


def load_relations(
    engine: Engine,
    codec: Codec,
    tables: Mapping[str, pa.Table],
    known: Collection[str] | None = None,
    keep: Keep | None = None,
) -> list[str]:
    """Fill the relations of a freshly defined engine, then its groups; return the views that had to be derived.

    Of a state written by several nodes, all parts are read. `known` are the identities of the strata as they were
    written: any other stratum is derived anew. `keep` tells which rows belong here, where they do not all.
    """
    derived: list[str] = []
    for name, relation in engine.workspace.relations.items():
        if engine.workspace.infos[name].base and name != UNIT:
            _load(engine, codec, name, relation, tables, keep)
    for view in engine.views:
        loaded = view.grouping is None and (known is None or identity(engine, view) in known)
        if loaded:
            ranked = [
                _load(engine, codec, name, engine.workspace.relations[name], tables, keep)
                for name in view.stratum.relations
            ]
            loaded = all(ranked) or not view.strategy.ranked
        view.derived = loaded
        if not loaded:
            if view.grouping is None:
                derived += view.stratum.relations
            engine.derive(view)
    return derived


def _load(
    engine: Engine,
    codec: Codec,
    name: str,
    relation: Relation,
    tables: Mapping[str, pa.Table],
    keep: Keep | None,
) -> bool:
    """Fill a relation; say whether its rows came with ranks and counts."""
    info = engine.workspace.infos[name]
    found = [tables[part] for part in _parts(tables, TableName(ROWS, name))]
    if not found:
        relation.clear()
        return True
    codes, ranks, visible = [], [], []
    ranked = True
    for place, table in enumerate(found):
        rows = from_table(codec, table, info)
        beside = info.layout.further(table)
        numbers = [numbers_of(beside.column(column)) for column in RANKS[: relation.width - relation.arity]]
        shown = numbers_of(beside.column(VISIBLE)).astype(bool)
        ranked = ranked and not (numbers[0] == UNRANKED).any()  # of all, not only of mine
        mine = keep(name, rows, place) if keep is not None else slice(None)
        codes.append(rows[mine])
        ranks.append(np.column_stack(numbers).astype(np.int64)[mine])
        visible.append(shown[mine])
    relation.load(np.concatenate(codes), np.concatenate(ranks), np.concatenate(visible))
    return ranked


def _parts(tables: Mapping[str, Any], name: TableName) -> list[str]:
    """The tables of a name: one, or a part from each node that wrote them."""
    if str(name) in tables:
        return [str(name)]
    found = [part for part in map(TableName.parse, tables) if part.node is not None]
    return [str(part) for part in sorted(found, key=_node) if part == name.of_node(_node(part))]


def _node(name: TableName) -> int:
    return -1 if name.node is None else name.node


def dump_soft_state(soft: Mapping[str, SoftState], engine: Engine, codec: Codec) -> Tables:
    """A table per relation with a lifetime or a size."""
    infos = engine.workspace.infos
    return Tables(
        {
            str(TableName(SOFT, name)): partial(_dump_soft, state, infos[name], codec)
            for name, state in soft.items()
            if len(state)
        }
    )


def _dump_soft(state: SoftState, info: RelationInfo, codec: Codec) -> pa.Table:

    rows, times = state.dump()
    return to_table(codec, rows, info).append_column(TIME, array_of(np.asarray(times, np.float64)))


def load_soft_state(
    soft: Mapping[str, SoftState],
    engine: Engine,
    codec: Codec,
    tables: Mapping[str, Any],
    keep: Keep | None = None,
) -> None:
    """Take what `dump_soft_state` gave, here or on several nodes."""
    for name, state in soft.items():
        info = engine.workspace.infos[name]
        rows = info.layout.empty()
        times: list[float] = []
        for place, part in enumerate(_parts(tables, TableName(SOFT, name))):
            table = tables[part]
            found = from_table(codec, table, info)
            mine = keep(name, found, place) if keep is not None else np.ones(found.shape[0], bool)
            rows = np.concatenate([rows, found[mine]])
            times += numbers_of(info.layout.further(table).column(TIME))[mine].tolist()
        order = np.argsort(np.array(times), kind="stable")
        state.load(np.ascontiguousarray(rows[order]), [times[i] for i in order])
