"""Whether facts that a proof rests on hold in the data: asked of the backend once, then of every delta."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.language.sql.algebra import Scan, Select, TopK
from headwater.language.sql.scalars import Attribute, Value
from headwater.sketch.safety.facts import DataFact
from headwater.sketch.tables.backend import Backend, TableDelta
from headwater.values.types import INT


class ObservedFacts:
    """What a backend's data says about facts at its newest versions."""

    def __init__(self, backend: Backend):
        self.backend = backend
        self._known: dict[tuple[DataFact, int], bool] = {}

    def __call__(self, fact: DataFact) -> bool:
        schema = self.backend.schemas().get(fact.table)
        column = None if schema is None else schema.column(fact.column)
        if schema is None or column is None:
            return False
        at = self.backend.version(fact.table)
        known = self._known.get((fact, at))
        if known is None:
            attribute = Attribute(0, column.name, column.type)
            scan = Scan(fact.table, fact.table, 0, (attribute,))
            plan = TopK(Select(scan, fact.broken(attribute)), (), Value(1, INT))
            known = self.backend.run(plan, versions={fact.table: at}).num_rows == 0
            self._known[(fact, at)] = known
        return known


def broken_by(delta: TableDelta, facts: Iterable[DataFact]) -> tuple[DataFact, ...]:
    """The facts about a table that rows which have come do not fulfil."""
    found = []
    come = delta.rows.filter(delta.signs > 0)
    names = {name.lower(): name for name in come.column_names}
    for fact in sorted(facts):
        if fact.table == delta.table and fact.column.lower() in names:
            values = come.column(names[fact.column.lower()]).to_pylist()
            if not all(fact.holds(value) for value in values):
                found.append(fact)
    return tuple(found)
