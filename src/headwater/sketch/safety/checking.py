"""Facts as the data have them: looked up in a backend's tables, and checked on rows that come.

A fact that holds at one version may break at the next, by inserted rows only. So it is looked up once, and then
checked on each delta.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.language.sql.algebra import Named, Project, Scan, Select, TopK
from headwater.language.sql.scalars import Attribute, Value
from headwater.sketch.safety.facts import DataFact, KnownFacts
from headwater.sketch.tables.backend import Backend, TableDelta
from headwater.values.types import INT

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class FactsOfBackend:
    """Says of each fact whether the tables of a backend have it now; asks once for each version of a table.

    (It is what `prove` and `reusable` take as what is known.)
    """

    backend: Backend
    _found: dict[tuple[DataFact, int, int | None], bool] = field(default_factory=dict)

    def __call__(self, fact: DataFact) -> bool:
        return self._asked_once(fact, self.backend.version(fact.table))

    def at(self, versions: Mapping[str, int]) -> KnownFacts:
        """The same of other versions of tables; of tables that have none there nothing is known."""
        return lambda fact: fact.table in versions and self._asked_once(fact, versions[fact.table])

    def forget(self) -> None:
        """Ask anew: versions are given to other rows than before."""
        self._found.clear()

    def _asked_once(self, fact: DataFact, version: int) -> bool:
        key = (fact, version, self.backend.marks({fact.table: version}).get(fact.table))
        if key not in self._found:
            self._found[key] = self._holds(fact, version)
        return self._found[key]

    def _holds(self, fact: DataFact, version: int) -> bool:
        """Whether no row breaks it: the first one that does ends the search."""
        schema = self.backend.schemas().get(fact.table)
        column = None if schema is None else schema.column(fact.column)
        if schema is None or column is None:
            return False
        if fact.kind == "not null" and not column.nullable:
            return True
        ids = itertools.count()
        attributes = tuple(
            Attribute(next(ids), each.name, each.type, each.nullable) for each in schema.columns
        )
        read = next(each for each in attributes if each.name == column.name)
        broken = Select(Scan(fact.table, fact.table, 0, attributes), fact.broken(read))
        shown = Project(broken, (Named(Attribute(next(ids), column.name, column.type), read),))
        found = self.backend.run(TopK(shown, (), Value(1, INT)), versions={fact.table: version})
        return bool(found.num_rows == 0)


def broken_facts(facts: Iterable[DataFact], delta: TableDelta) -> frozenset[DataFact]:
    """The facts that the rows which a delta inserts break; one about a column that it lacks counts as broken."""
    return frozenset(_broken(facts, delta))


def _broken(facts: Iterable[DataFact], delta: TableDelta) -> Iterator[DataFact]:
    inserted = delta.rows.filter(np.asarray(delta.signs > 0))
    names = {name.lower(): name for name in inserted.column_names}
    for fact in facts:
        if fact.table != delta.table or inserted.num_rows == 0:
            continue
        name = names.get(fact.column.lower())
        if name is None or not _holds_for(fact, inserted.column(name)):
            yield fact


def _holds_for(fact: DataFact, column: pa.ChunkedArray) -> bool:
    """Whether all values of a column have it: the smallest and the greatest, and NULL, decide."""
    import pyarrow.compute as pc

    if fact.kind == "not null":
        return bool(column.null_count == 0)
    if _may_be_nan(column) and fact.kind == "<=" and pc.any(pc.is_nan(column)).as_py():
        return False
    extremes: dict[str, Any] = pc.min_max(column).as_py()
    value = extremes["min" if fact.kind == ">=" else "max"]
    return fact.holds(value)


def _may_be_nan(column: pa.ChunkedArray) -> bool:
    """Whether values may be NaN."""
    return str(column.type) in ("halffloat", "float", "double")
