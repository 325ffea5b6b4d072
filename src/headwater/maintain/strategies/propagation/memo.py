"""Memo tables: what queries to both states of a program have found, for as long as a version is open.

One engine beside the database's holds them all. Its base relations are the stored relations themselves, read in
place in the state that the question is about, and the seeds of goals. Asking more means to add rows to a seed:
the engine's views follow, so that nothing that was found is looked for again, whoever asks. With the version
the tables go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from headwater.events import Event, Indexed, Scanned
from headwater.kernel.relation import Relation
from headwater.kernel.states import NEW, OLD
from headwater.maintain.strategies.propagation.sides import Side, Sides
from headwater.plan.goals import GoalProgram
from headwater.plan.goals.plainly import told_plainly
from headwater.plan.steps import Ints
from headwater.rules.checked import UNIT
from headwater.version.statistics import VersionStatistics
from headwater.version.version import Version

if TYPE_CHECKING:
    from headwater.maintain.engine import Engine

NOTHING = Relation("~nothing", 0)
"""What stands for a stored relation while no version is open."""
MakeEngine = Callable[[], "Engine"]
Stored = Callable[[str, Side], Relation]
"""A stored relation as it was, or as it is: two states of one, or two relations."""


@dataclass(frozen=True)
class Grown:
    """What was new when a seed grew: the rows that it did not have, and for each goal the rows that it now has
    more."""

    seeds: Mapping[str, Ints]
    found: Mapping[str, Ints]

    def of(self, goal: str | None) -> Ints | None:
        """The rows that a goal has more; `None` if it has none more."""
        return None if goal is None else self.found.get(goal)


class Memo:
    """The tables of a program, empty between versions: its plans stay, what was found goes."""

    def __init__(self, program: GoalProgram, sides: Sides, engine: Engine, goals: Iterable[str]):
        self.engine = engine
        self.goals = frozenset(goals)
        self.statistics = VersionStatistics()
        known = sides.infos()
        self._in_place = {name: sides.origin(name) for name in program.stored if name in known}
        self._program = program
        self._version = Version(0, 0.0)
        self._defined = False

    def open(self, stored: Stored) -> None:
        """Read stored relations from here on."""
        workspace = self.engine.workspace
        for name, (relation, side) in self._in_place.items():
            workspace.relations[name] = stored(relation, side)
            workspace.executor.pinned[name] = OLD if side is Side.OLD else NEW
        workspace.resized += 1
        if not self._defined:
            workspace.infos.update((name, self._program.checked.relations[name]) for name in self._in_place)
            self.engine.define(self._program.checked)
            self._defined = True
        for view in self.engine.views:
            view.derived = True  # without seeds, from which all follows, there is nothing to derive

    def close(self) -> None:
        """Let go of all that was found, and of the stored relations."""
        for view in self.engine.views:
            view.forget()
        self.clear()

    def clear(self) -> None:
        """The same after a question that was not answered to its end: the engine cannot be used any more."""
        relations = self.engine.workspace.relations
        for name, relation in relations.items():
            if name in self._in_place:
                relations[name] = NOTHING
            elif name != UNIT and relation.stored:
                relation.clear()

    def ask(self, seeds: Mapping[str, Ints]) -> Grown:
        """Add rows to seeds, and see what is found for them."""
        engine, relations = self.engine, self.engine.workspace.relations
        known = {name: rows for name, rows in seeds.items() if name in relations and rows.shape[0]}
        with told_plainly():
            engine.apply({}, known, self.statistics)
        changes = engine.changes()
        new = {name: changes[name].gained for name in known if name in changes}
        found = {name: changes[name].gained for name in changes.keys() & self.goals}
        engine.commit(self._version)
        return Grown(new, found)

    def events(self, views: tuple[str, ...]) -> list[Event]:
        """What cost more than the change since this was last asked: scans of stored relations, indexes of them."""
        found: list[Event] = []
        for event in self.statistics.events:
            if isinstance(event, Scanned | Indexed) and event.relation in self._in_place:
                name, _ = self._in_place[event.relation]
                named = Scanned(name, views) if isinstance(event, Scanned) else replace(event, relation=name)
                found += [named] if named not in found else []
        self.statistics = VersionStatistics()
        return found

    @property
    def rows(self) -> int:
        """How many rows the tables hold."""
        return sum(
            relation.stored
            for name, relation in self.engine.workspace.relations.items()
            if name not in self._in_place and name != UNIT
        )

    @property
    def touched(self) -> int:
        """How many rows were looked at."""
        return self.engine.workspace.executor.touched


class Seen:
    """Rows that were met, each once."""

    def __init__(self, arity: int):
        self._relation = Relation("~seen", arity)

    def fresh(self, rows: Ints) -> Ints:
        """Those that were not met before, without duplicates; from now on they were."""
        tuples = np.zeros((rows.shape[0], rows.shape[1] + 1), np.int64)
        tuples[:, :-1] = rows
        return self._relation.codes(self._relation.add(tuples, 0))

    def has(self, rows: Ints) -> npt.NDArray[np.bool_]:
        """Which of these were met."""
        return self._relation.find(rows) >= 0

    def __len__(self) -> int:
        return self._relation.stored
