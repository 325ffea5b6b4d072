"""All relations in this process: the engine, and what happens to base relations before it.

A node of many uses the same: it then holds its part of each relation, and its workspace has an exchange.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headwater.catalog import Catalog
from headwater.kernel.states import VISIBLE
from headwater.local import persist
from headwater.local.at_rest import directory
from headwater.local.explain import Facts, facts_of
from headwater.maintain.base.base_changes import BaseChanges, plus
from headwater.maintain.engine import Engine
from headwater.maintain.goals import GoalStatistics, Means, evaluate_goal
from headwater.memory.guard import memory_errors
from headwater.plan.execute import Executor
from headwater.plan.goals import GoalProgram
from headwater.plan.steps import Ints
from headwater.plan.stored_rows import Key, StoredRows
from headwater.rules.checked import Checked, Premise
from headwater.store import Checkpoint, Store
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.row_change import RowChange, without
from headwater.version.spectator import Spectator
from headwater.version.version import Version

if TYPE_CHECKING:
    import pyarrow as pa


class OneProcess:
    """The relations of a database, here. See `Runner` for what its methods promise.

    A node of many has a program of its own, made from that of the database, and uses the methods that take it.
    """

    here = True

    def __init__(
        self,
        codec: Codec,
        functions: Functions,
        *,
        strategy: str = "support",
        max_rounds: int = 1_000_000,
        at_max_rounds: str = "raise",
        spectator: Spectator | None = None,
    ):
        self.codec = codec
        self.engine = Engine(
            codec, functions, strategy=strategy, max_rounds=max_rounds, at_max_rounds=at_max_rounds
        )
        self.engine.workspace.pause.spectator = spectator or Spectator()
        self.interrupts = self.engine.workspace.interrupts
        self.base_changes = BaseChanges()
        version = Version(0, 0.0)
        self.learn_program(version, Checked({}, ()))
        version.keep()

    def copied(self) -> Engine:
        return self.engine

    # ------------------------------------------------------------------ versions

    def define(
        self,
        version: Version,
        catalog: Catalog,
        facts: Mapping[str, Ints],
        deletes: Mapping[str, Ints] = {},  # noqa: B006
    ) -> dict[str, RowChange]:
        return self.define_program(version, catalog.program.maintained, facts, deletes=deletes)

    def learn(self, version: Version, catalog: Catalog) -> None:
        self.learn_program(version, catalog.program.maintained)

    def change(
        self, version: Version, deletes: Mapping[str, Ints], inserts: Mapping[str, Ints]
    ) -> dict[str, RowChange]:
        return self.change_rows(version, deletes, inserts)

    def proceed(
        self,
        version: Version,
        deletes: Mapping[str, Ints],
        inserts: Mapping[str, Ints],
        possible: Iterable[str] = (),
    ) -> dict[str, RowChange]:
        version.join(self.engine, self.base_changes)
        self.engine.proceed()
        self._follow(version, deletes, inserts, possible)
        return self.engine.transition()

    def changes(self) -> dict[str, RowChange]:
        changes = self.engine.changes()
        self.engine.prepare()
        return changes

    def define_program(
        self,
        version: Version,
        checked: Checked,
        facts: Mapping[str, Ints],
        possible: Iterable[str] = (),
        anew: Collection[str] = (),
        deletes: Mapping[str, Ints] = {},  # noqa: B006
    ) -> dict[str, RowChange]:
        """Take on a program and rows, and take out those of `deletes`. Views that are not concerned keep their rows,
        unless they are to be derived `anew`. `possible`: as for `change_rows`."""
        self.base_changes.check_keys(self.engine.checked, checked, self.engine.workspace.relations)
        rows = dict(facts)
        for name, moved in self._moved(checked).items():
            left = without(moved, deletes[name]) if name in deletes else moved
            rows[name] = plus(rows.get(name), left)
        gone = dict(self.learn_program(version, checked, anew))
        for name, more in deletes.items():
            gone[name] = plus(gone.get(name), more)
        return self.change_rows(version, gone, rows, possible)

    def _moved(self, checked: Checked) -> dict[str, Ints]:
        """Rows of base relations that get rules now: the hidden base relation for rows from outside takes them, and
        gives them back when the last rule has gone."""
        rows = {}
        for name, hidden in checked.facades.items():
            old = self.engine.checked.relations.get(name)
            if old is not None and old.base:
                rows[hidden] = self.engine.workspace.relations[name].matrix()
        for name, hidden in self.engine.checked.facades.items():
            info = checked.relations.get(name)
            if info is not None and info.base:
                rows[name] = self.engine.workspace.relations[hidden].matrix()
        return rows

    def learn_program(
        self, version: Version, checked: Checked, anew: Collection[str] = ()
    ) -> dict[str, Ints]:
        """Go by another program. Rows stay, but for those returned, for which there is no room any more; views that
        are new, and those of `anew`, are derived with the change that follows."""
        version.join(self.engine, self.base_changes)
        self.engine.define(checked, anew)
        return self.base_changes.adopt(checked, self.engine.workspace.relations, version.now)

    def change_rows(
        self,
        version: Version,
        deletes: Mapping[str, Ints],
        inserts: Mapping[str, Ints],
        possible: Iterable[str] = (),
    ) -> dict[str, RowChange]:
        """Delete and insert rows. `possible` names further base relations that may change on other nodes."""
        version.join(self.engine, self.base_changes)
        self._follow(version, deletes, inserts, possible)
        return self.changes()

    def _follow(
        self,
        version: Version,
        deletes: Mapping[str, Ints],
        inserts: Mapping[str, Ints],
        possible: Iterable[str] = (),
    ) -> None:
        relations = self.engine.workspace.relations
        worked_out = self.base_changes.work_out(
            self.engine.checked, relations, dict(deletes), dict(inserts), version.now
        )
        self.engine.apply(*worked_out, version.statistics, {*possible, *self.base_changes.soft})

    # ------------------------------------------------------------------ reading

    def derivations(self, key: Key) -> Engine:
        """All rows are here."""
        return self.engine

    def count(self, name: str) -> int:
        """Rows that are visible."""
        return self.engine.workspace.relations[name].visible

    def stored(self, name: str) -> bool:
        """Whether any row is stored."""
        return self.engine.workspace.relations[name].stored > 0

    def matrix(self, name: str) -> Ints:
        """A copy of the rows; those of a view that is not stored are evaluated."""
        relation = self.engine.workspace.relations.get(name)
        if relation is None:
            return self.engine.unstored.whole(self.engine.checked, (name,))[name]
        relation.ask(8 * relation.arity * relation.stored, f"a copy of {relation.stored:,} rows of {name}")
        return relation.matrix()

    def matching(self, name: str, columns: tuple[int, ...], values: Ints) -> Ints:
        """The rows that have one of the combinations of codes in some code columns, found by an index."""
        workspace = self.engine.workspace
        relations = dict(workspace.relations)
        executor = Executor(relations, self.codec, workspace.functions, workspace.interrupts.check)
        return StoredRows(relations, workspace.planner, executor).matching_rows(name, columns, values)

    def table(self, name: str, *, labels: bool = False) -> pa.Table:
        """The rows as values."""
        info = self.engine.checked.relations[name]
        return info.layout.table(self.codec, self.matrix(name), labels=labels)

    def holds(self, name: str, rows: Ints) -> bool:
        relation = self.engine.workspace.relations[name]
        number = int(relation.find(rows)[0])
        return number >= 0 and bool(relation.state[number] & VISIBLE)

    def export(self, name: str, *, labels: bool = False) -> list[str] | None:
        """Rows are here: there is no need for files."""
        return None

    def fanout(self, premise: Premise, bound: set[str]) -> float:
        """What the planner expects; a relation of a question's own is taken to be small."""
        if premise.relation not in self.engine.workspace.relations:
            return 1.0
        return self.engine.workspace.planner.fanout(premise, bound)

    def evaluate(
        self, program: GoalProgram, facts: Mapping[str, Ints], means: Means
    ) -> tuple[Ints, GoalStatistics]:
        return evaluate_goal(program, self.engine.workspace.relations, facts, means)

    def facts(self) -> Facts:
        return facts_of(self.engine)

    @property
    def nbytes(self) -> int:
        """Rows, indexes and groups."""
        workspace = self.engine.workspace
        groups = sum(view.grouping.nbytes for view in self.engine.views if view.grouping is not None)
        return sum(relation.nbytes for relation in workspace.relations.values()) + groups

    # ------------------------------------------------------------------ durability

    def write_checkpoint(
        self, store: Store, version: int, meta: Mapping[str, Any], tables: Mapping[str, pa.Table]
    ) -> None:
        """Only relations that changed since the last one are written."""
        earlier = store.checkpoint
        reuse = [
            name
            for name in (earlier.tables if earlier is not None else ())
            if name.startswith("rows/") and self._unchanged(name.removeprefix("rows/"))
        ]
        written = persist.dump_relations(self.engine, self.codec, without=reuse)
        written |= persist.dump_soft_state(self.base_changes.soft, self.engine, self.codec)
        checked = self.engine.checked
        shown = {} if checked.left_out else directory(checked.relations, self.engine.workspace.relations)
        checkpoint = Checkpoint(version, {**meta, **self.progress(), **shown}, written | tables)
        with self.codec.budget.lifted(), memory_errors("a checkpoint"):
            store.write_checkpoint(checkpoint, reuse=reuse)
        self.engine.changed.clear()

    def _unchanged(self, name: str) -> bool:
        return name in self.engine.workspace.relations and name not in self.engine.changed

    def progress(self) -> dict[str, Any]:
        """What a checkpoint must know besides rows."""
        engine = self.engine
        return {
            "clock": engine.workspace.clock,
            "incomplete": [list(view.stratum.relations) for view in engine.views if view.anew is not None],
            "stopped": [list(view.stratum.relations) for view in engine.views if view.anew == "was-stopped"],
            "strata": [persist.identity(engine, view) for view in engine.views],
        }

    def load(self, checkpoint: Checkpoint, catalog: Catalog) -> None:
        self.load_program(checkpoint, catalog.program.maintained)

    def load_program(
        self, checkpoint: Checkpoint, checked: Checked, keep: persist.Keep | None = None
    ) -> None:
        """Take what a checkpoint holds, or what of it is to be kept here. Views come with their ranks and counts, so
        they are not derived again unless their rules are others."""
        meta: Any = checkpoint.meta
        version = Version(checkpoint.version, meta["now"])
        self.engine.workspace.clock = meta["clock"]
        self.learn_program(version, checked)
        known = meta.get("strata")
        derived = persist.load_relations(self.engine, self.codec, checkpoint.tables, known, keep)
        persist.load_soft_state(self.base_changes.soft, self.engine, self.codec, checkpoint.tables, keep)
        for view in self.engine.views:
            names = list(view.stratum.relations)
            if names in meta.get("incomplete", []):
                view.anew = "was-stopped" if names in meta.get("stopped", []) else "no-counts"
        version.keep()
        self.engine.changed.clear()
        self.engine.changed.update(derived)
        if meta.get("nodes") is not None:  # parts, to be written whole
            self.engine.changed.update(checked.relations)

    def must_move(self, inserts: Mapping[str, Ints]) -> bool:
        """There is nowhere to move to."""
        return False

    def close(self) -> None:
        """Nothing is held but memory."""
