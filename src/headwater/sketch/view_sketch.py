"""Sketches of recursive views: the fragments of base relations that the rows of a view rest on.

The annotation is that of the paper's operators, a set of fragments for each row, on the engine's own rules: a
base row carries the fragments that it is in, a derived row those of all its derivations, however often they go
round in circles. (Sets of fragments with union for both operations are a semiring with a finite value on cycles:
`annotations/lineage`.) The sets follow the database at the cost of what changed; uniting them into the sketch
looks at each row of the view.

Safe are views that only grow with their base relations: rules without negation and aggregates. Every derivation
of a row is from rows in its fragments, so the rules over these fragments alone derive the same rows, and no
others. A view that depends on a negated relation or an aggregate is refused with the code `unsafe-view`.

>>> import headwater as hw
>>> db = hw.connect()
>>> _ = db.define("reach(X, Y) :- link(X, Y). reach(X, Z) :- reach(X, Y), link(Y, Z).")
>>> _ = db.apply(insert={"link": [(1, 2), (2, 3), (3, 2), (17, 18), (18, 31)]})
>>> sketch = ViewSketch(db, "reach", {"link": Ranges("0", (10, 20))}, lambda row: row[0] == 1)
>>> print(sketch.sketch)
link.0: 1 of 4 fragments
>>> sketch.reads("link", (3, 2)), sketch.reads("link", (17, 18))
(True, False)
>>> _ = db.apply(insert={"link": [(3, 17)]})
>>> print(sketch.sketch)
link.0: 2 of 4 fragments
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headwater.database import Database
from headwater.errors import Place, SketchError
from headwater.rules.checked import Absent, Premise
from headwater.sketch.ranges import Ranges
from headwater.sketch.sketch import Sketch, SketchPart, Slot

Row = tuple[Any, ...]


class ViewSketch:
    """What a view (or the rows of it that some condition holds for) rests on, now: it follows the database."""

    def __init__(
        self,
        database: Database,
        view: str,
        ranges: Mapping[str, Ranges | Sequence[Ranges]],
        wanted: Callable[[Row], bool] = lambda row: True,
    ):
        """Partition base relations by ranges of their columns, which are given by name or number."""
        self.database = database
        self.view = view
        self.wanted = wanted
        _refuse_unsafe(database, view)
        self._ranges = {
            name: (each,) if isinstance(each, Ranges) else tuple(each) for name, each in ranges.items()
        }
        self._columns = {
            (name, each.attribute): _column(database, name, each.attribute)
            for name, parts in self._ranges.items()
            for each in parts
        }
        self._first: dict[Slot, int] = {}
        first = 0
        for name, parts in self._ranges.items():
            for each in parts:
                self._first[Slot(name, each.attribute)] = first
                first += each.count
        self._evaluation = database.evaluate(view, "lineage", self._carried)

    def _carried(self, relation: str, row: Row) -> set[int]:
        """The numbers of the fragments that a base row is in."""
        return {
            self._first[Slot(relation, each.attribute)]
            + each.fragment(row[self._columns[relation, each.attribute]])
            for each in self._ranges.get(relation, ())
        }

    @property
    def sketch(self) -> Sketch:
        """The fragments that the wanted rows rest on, at the version that the database has."""
        found: set[int] = set()
        for row, carried in self._evaluation.items():
            if carried and self.wanted(row):
                found |= carried
        return self._named(found)

    def of(self, row: Row) -> Sketch:
        """The fragments that one row rests on."""
        return self._named(set(self._evaluation[row] or ()))

    def reads(self, relation: str, row: Row) -> bool:
        """Whether a base row is in the sketch; rows of relations that are not partitioned are."""
        sketch = self.sketch
        return all(
            part.ranges.fragment(row[self._columns[relation, part.ranges.attribute]]) in part.fragments
            for part in sketch.of_table(relation)
        )

    def _named(self, found: set[int]) -> Sketch:
        parts = []
        for name, every in self._ranges.items():
            for each in every:
                first = self._first[Slot(name, each.attribute)]
                fragments = frozenset(
                    number - first for number in found if first <= number < first + each.count
                )
                parts.append(SketchPart(name, each, fragments))
        return Sketch(tuple(parts), dict.fromkeys(self._ranges, self.database.version))


def _column(database: Database, relation: str, attribute: str) -> int:
    columns = database[relation].columns
    if attribute in columns:
        return int(columns.index(attribute))
    if attribute.isdigit() and int(attribute) < len(columns):
        return int(attribute)
    raise SketchError("unknown-attribute", f"{relation} has no column {attribute}", hint=f"one of {columns}")


def _refuse_unsafe(database: Database, view: str) -> None:
    """Refuse a view that may lose rows when base rows come, or whose rows are computed from many."""
    program = database.catalog.program
    rules = [rule for stratum in (*program.strata, *program.virtual) for rule in stratum.rules]
    seen = {database.info(view).name}
    open_relations = list(seen)
    while open_relations:
        name = open_relations.pop()
        info = program.relations[name]
        if info.aggregate is not None or info.selections:
            raise _unsafe(view, f"{name} is an aggregate", None)
        for rule in rules:
            if rule.relation != name:
                continue
            for item in rule.body:
                if isinstance(item, Absent):
                    raise _unsafe(view, f"{item.relation} is negated", item.place)
                if isinstance(item, Premise) and item.relation not in seen:
                    seen.add(item.relation)
                    open_relations.append(item.relation)


def _unsafe(view: str, reason: str, place: Place | None) -> SketchError:
    return SketchError(
        "unsafe-view",
        f"a sketch of {view} could miss rows that matter: {reason}",
        place=place,
        hint="views without negation and aggregates, and what such views read, can be sketched",
    )
