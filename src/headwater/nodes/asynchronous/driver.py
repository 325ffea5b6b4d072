"""A database whose views are kept by nodes that do not wait for each other: what the driver does.

Base rows are in this process (`base_rows`); views and all provenance are on nodes. A version's base rows go to the
nodes where they live, and the version ends when the network is quiet (`network_on_nodes`). What it did to views is
asked of the nodes then.

A version that is taken back is undone by the inverse changes, a definition by going back to the network that was put
aside. Nodes on which a rule failed, or which were lost, begin a new network from the base rows as they were before
the version. So nothing is half applied, and nothing of an earlier network does harm: all it says carries its epoch.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

from headwater.catalog import Catalog
from headwater.errors import HeadwaterError
from headwater.events import Recomputed
from headwater.local import persist
from headwater.local.explain import Facts, RelationFacts, ViewFacts
from headwater.maintain.engine import Engine
from headwater.maintain.goals import GoalStatistics, Means
from headwater.memory.guard import memory_errors
from headwater.nodes.asynchronous.base_rows import BaseRows, Moved, base_part, moved, taken_back
from headwater.nodes.asynchronous.network_on_nodes import HostedProgram, NetworkOnNodes
from headwater.nodes.coordinator import NodeLost
from headwater.nodes.copied import engine_with_everything
from headwater.nodes.goals import guessed_fanout
from headwater.nodes.messages.message import Answer, Command
from headwater.nodes.messages.network import (
    EndVersion,
)
from headwater.nodes.messages.state import Clear, EngineOptions
from headwater.nodes.messages.versions import Shipped, VersionReport
from headwater.nodes.nodes import Nodes
from headwater.nodes.remote_change import RemoteChange
from headwater.nodes.remote_rows import (
    counted,
    evaluate_remotely,
    exported,
    fetched,
    not_on_nodes,
    refuse_closed,
)
from headwater.nodes.searched import engine_with_derivations
from headwater.plan.goals import GoalProgram
from headwater.plan.steps import Ints
from headwater.plan.stored_rows import Key
from headwater.rules.checked import Premise, RelationInfo
from headwater.store import Checkpoint, Store
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.row_change import RowChange, composed
from headwater.version.version import Version

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("headwater.nodes")


@dataclass
class NetworkVersion:
    """What has been done to the network in the open version."""

    before: HostedProgram
    defined: bool = False
    """Whether there is another network now, and the one from before is put aside."""
    steps: list[Moved] = field(default_factory=list)
    transitions: list[Mapping[str, RowChange]] = field(default_factory=list)
    waiting: Literal["", "definition", "change"] = ""
    """What somebody waits for, and will send again if nodes are lost."""
    failed: bool = False
    """Whether a node could not go on: it will do nothing more."""


class NetworkDriver:
    """Implements `local.runner.Runner` over a network of nodes, and takes part in versions for all of them."""

    here = False

    def __init__(
        self,
        codec: Codec,
        functions: Functions,
        nodes: Nodes,
        store: Store,
        options: EngineOptions,
        *,
        why: str = "asked for",
        keep: bool = False,
    ):
        """`keep` leaves the nodes running, for another database, when this one is closed."""
        self.codec = codec
        self.functions = functions
        self.store = store
        self.why = why
        self.nodes = nodes
        self.interrupts = nodes.interrupts
        self.base = BaseRows(codec, functions)
        self.network = NetworkOnNodes(codec, nodes, options)
        self.shipped = [Shipped()] * nodes.size
        self._sizes = [0] * nodes.size
        self._options, self._keep = options, keep
        self._program = HostedProgram.of(Catalog(functions), lambda name: False)
        self._open: NetworkVersion | None = None
        self._undo: NetworkVersion | None = None
        """A version that was taken back, while the network still has to follow."""
        shutil.rmtree(store.path / "exports", ignore_errors=True)  # of a program that did not close it
        nodes.serve(self)
        self._surely(lambda: self.network.begin_empty(self._program))

    # ------------------------------------------------------------------ versions

    def define(
        self,
        version: Version,
        catalog: Catalog,
        facts: Mapping[str, Ints],
        deletes: Mapping[str, Ints] = {},  # noqa: B006
    ) -> dict[str, RowChange]:
        """Views are derived anew, by a network of their own."""
        opened = self._opened(version)
        part = base_part(catalog.program.maintained)
        changes = self.base.define_program(version, part, facts, deletes=deletes)
        opened.steps.append(moved(changes))
        found = self._renewed(catalog, opened, version)
        return {**changes, **found}

    def learn(self, version: Version, catalog: Catalog) -> None:
        """Types that are known now are those of the network's rows: where it has any, it begins anew."""
        opened = self._opened(version)
        self.base.learn_program(version, base_part(catalog.program.maintained))
        self._renewed(catalog, opened, version)

    def _renewed(self, catalog: Catalog, opened: NetworkVersion, version: Version) -> dict[str, RowChange]:
        """Begin another network, and say which views are derived again by it."""
        self._program = program = HostedProgram.of(catalog, self.base.stored)
        opened.defined = True
        before, now = opened.before.checked, program.checked.relations
        again = tuple(name for name in before.places if name in now and not now[name].internal)
        if again and any(map(self.base.stored, self.base.engine.workspace.relations)):
            version.statistics.events.append(Recomputed(again, "new-network"))
        reports = self._waited(
            opened, "definition", lambda: self.network.begin(program, self.base.rows(), aside=True)
        )
        changes = self._changes(reports, opened.before)
        opened.transitions.append(changes)
        return changes

    def change(
        self, version: Version, deletes: Mapping[str, Ints], inserts: Mapping[str, Ints]
    ) -> Mapping[str, RowChange]:
        opened = self._opened(version)
        return self._follow(opened, self.base.change_rows(version, deletes, inserts))

    def proceed(
        self, version: Version, deletes: Mapping[str, Ints], inserts: Mapping[str, Ints]
    ) -> Mapping[str, RowChange]:
        opened = self._opened(version)
        return self._follow(opened, self.base.proceed(version, deletes, inserts))

    def _follow(self, opened: NetworkVersion, base: Mapping[str, RowChange]) -> Mapping[str, RowChange]:
        step = moved(base)
        opened.steps.append(step)
        reports = self._waited(opened, "change", lambda: self.network.change(self._program, step))
        changes = {**base, **self._changes(reports, opened.before)}
        opened.transitions.append(changes)
        return changes

    def changes(self) -> Mapping[str, RowChange]:
        assert self._open is not None
        return reduce(composed, self._open.transitions, {})

    def _opened(self, version: Version) -> NetworkVersion:
        """The open version; joined before base rows are, so that those are taken back when this is."""
        version.join(self)
        if self._open is None:
            self._ready()
            self._open = NetworkVersion(self._program)
        return self._open

    def commit(self, version: Version) -> None:
        """It is in the log: a new network would be made of the base rows as they are now."""
        opened, self._open = self._open, None
        if opened is not None and opened.defined:
            self.nodes.tell(EndVersion())

    def rollback(self) -> None:
        """Base rows are as they were; the network follows before it is asked the next time."""
        opened, self._open = self._open, None
        if opened is not None:
            self._program = opened.before
            self._undo = opened

    # ------------------------------------------------------------------ the network

    def _surely(self, work: Callable[[], list[Answer]]) -> list[Answer]:
        refuse_closed(self.nodes, self)
        return self.nodes.surely(work)

    def _ask(self, command: Command[Answer]) -> list[Answer]:
        """What the nodes answer once they follow the last version."""
        self._ready()
        return self._surely(lambda: self.nodes.ask(command))

    def _waited(
        self,
        opened: NetworkVersion,
        what: Literal["definition", "change"],
        work: Callable[[], list[VersionReport]],
    ) -> list[VersionReport]:
        opened.waiting = what
        try:
            return self._surely(work)
        except BaseException:
            opened.failed = True
            raise
        finally:
            opened.waiting = ""

    def _changes(self, reports: Sequence[VersionReport], before: HostedProgram) -> dict[str, RowChange]:
        infos: dict[str, RelationInfo] = {**before.checked.relations, **self._program.checked.relations}
        found: dict[str, RemoteChange] = {}
        for report in reports:
            for name, change in report.changes.items():
                if name in self._program.checked.left_out:
                    continue  # its rows are not lost: they are derived when somebody asks
                if name not in found:
                    found[name] = RemoteChange(name, self.codec, infos[name].layout.code_types, lambda _: [])
                found[name].add(change)
        self.shipped = [report.shipped for report in reports]
        self._sizes = [report.nbytes for report in reports]
        for each in found.values():
            each.cancel()
        return {name: each for name, each in found.items() if any(each.counts)}

    def _ready(self) -> None:
        """Have the network follow a version that was taken back."""
        if self._undo is not None:
            self._surely(self._undone)

    def _undone(self) -> list[VersionReport]:
        undo = self._undo
        if undo is None:
            return []
        reports: list[VersionReport] = []
        try:
            if undo.defined:
                self.nodes.ask(EndVersion(back=True))
            elif undo.failed:
                reports = self.network.begin(self._program, self.base.rows())
            else:
                for lost, gained in reversed(undo.steps):
                    reports = self.network.change(self._program, (gained, lost))
        except NodeLost:
            raise
        except HeadwaterError:  # a node that failed does nothing more
            log.debug("the network begins anew, with the base rows from before")
            reports = self.network.begin(self._program, self.base.rows())
        self._undo = None
        return reports

    # ------------------------------------------------------------------ after a loss

    def restore(self) -> str:
        """Begin a new network from base rows, and go on to where the lost one was."""
        self.nodes.ask(Clear(self._options))
        self._undo = None
        opened = self._open
        if opened is None:
            self.network.begin(self._program, self.base.rows())
            return "derived all views again"
        self.network.begin(opened.before, taken_back(self.base.rows(), opened.steps))
        again = opened.steps[-1:] if opened.waiting == "change" else []
        if opened.defined and opened.waiting != "definition":
            self.network.begin(self._program, taken_back(self.base.rows(), again), aside=True)
        elif not opened.defined:
            for step in opened.steps[: len(opened.steps) - len(again)]:
                self.network.change(self._program, step)
        return f"derived all views again, then did {len(opened.steps)} changes of the open version"

    # ------------------------------------------------------------------ reading

    def _base(self, name: str) -> bool:
        return name in self.base.engine.checked.relations

    def count(self, name: str) -> int:
        if self._base(name):
            return self.base.count(name)
        return counted(self._ask, name)

    def stored(self, name: str) -> bool:
        """Known for base relations; of a view it is not ruled out."""
        return self.base.stored(name) if self._base(name) else True

    def matrix(self, name: str) -> Ints:
        """All rows, brought here."""
        return self._rows(name, self.codec)

    def _rows(
        self, name: str, codec: Codec, columns: tuple[int, ...] = (), values: Ints | None = None
    ) -> Ints:
        """All rows, or those that have one of the given combinations of values in some columns."""
        layout = self._program.checked.relations[name].layout
        if self._base(name):
            if values is None:
                return self.base.matrix(name)
            return self.base.matching(name, layout.codes(columns), values)
        return fetched(self._ask, layout, name, codec, columns, values)

    def table(self, name: str, *, labels: bool = False) -> pa.Table:
        """All rows, brought here, as values."""
        info = self._program.checked.relations[name]
        return info.layout.table(self.codec, self.matrix(name), labels=labels)

    def holds(self, name: str, rows: Ints) -> bool:
        if self._base(name):
            return self.base.holds(name, rows)
        arity = self._program.checked.relations[name].arity
        if not arity:
            return self.count(name) > 0
        return bool(self._rows(name, self.codec, tuple(range(arity)), rows).shape[0])

    def export(self, name: str, *, labels: bool = False) -> list[str] | None:
        """Files of a view's rows as they are now, a Parquet file from each node; base rows are here."""
        if self._base(name):
            return None
        return exported(self._ask, self.nodes, self.store, name, labels)

    def fanout(self, premise: Premise, bound: set[str]) -> float:
        sizes = {name: self.base.count(name) for name in self.base.engine.checked.relations}
        return guessed_fanout(premise, bound, sizes)

    def evaluate(
        self, program: GoalProgram, facts: Mapping[str, Ints], means: Means
    ) -> tuple[Ints, GoalStatistics]:
        return evaluate_remotely(self._rows, program, facts, means)

    @property
    def engine(self) -> Engine:
        """Views are on nodes, and base rows alone explain nothing."""
        raise not_on_nodes()

    def derivations(self, key: Key) -> Engine:
        """An engine that has the rows of all derivations of a row, as nodes hold them."""

        def fetch(name: str, columns: tuple[int, ...], values: Ints | None) -> Ints:
            return self._rows(name, self.codec, columns, values)

        return engine_with_derivations(key, self._program.checked, self.codec, self.functions, fetch)

    def copied(self) -> Engine:
        return engine_with_everything(self._program.checked, self.codec, self.functions, self.matrix)

    def facts(self) -> Facts:
        """Sizes, and what nodes have said to each other."""
        checked = self._program.checked
        relations = {
            name: RelationFacts(rows=self.count(name), stored=self.count(name)) for name in checked.relations
        }
        views = [
            ViewFacts(
                stratum.relations,
                stratum.recursive,
                f"{self._options.strategy}, on nodes that do not wait for each other",
                [(rule.label, rule.text, []) for rule in stratum.rules],
            )
            for stratum in checked.strata
        ]
        facts = Facts(checked.relations, relations, views)
        messages, sent = (sum(getattr(node, part) for node in self.shipped) for part in ("rows", "bytes"))
        facts.place = [
            f"runs on {self.nodes.size} nodes, {self.nodes.hosting.words} ({self.why})",
            *(self._home(name) for name, info in checked.relations.items() if not info.internal),
            f"  said to each other so far: {messages:,} messages, {sent:,} bytes; "
            f"quiet after {self.network.waves} waves",
        ]
        return facts

    def _home(self, name: str) -> str:
        located = self._program.local.relations[name]
        info = self._program.checked.relations[name]
        where = "on one node" if located.location is None else f"split by {info.columns[located.location]}"
        return f"  {name}: {where}"

    @property
    def nbytes(self) -> int:
        """Base rows, and about what nodes had of the last version."""
        return self.base.nbytes + sum(self._sizes)

    # ------------------------------------------------------------------ durability

    def write_checkpoint(
        self, store: Store, version: int, meta: Mapping[str, Any], tables: Mapping[str, pa.Table]
    ) -> None:
        """Base rows are written; views are derived from them, by whoever opens the state."""
        written = persist.dump_relations(self.base.engine, self.codec)
        written |= persist.dump_soft_state(self.base.base_changes.soft, self.base.engine, self.codec)
        checkpoint = Checkpoint(version, {**meta, **self.base.progress(), "strata": []}, written | tables)
        with self.codec.budget.lifted(), memory_errors("a checkpoint"):
            store.write_checkpoint(checkpoint, reuse=())

    def load(self, checkpoint: Checkpoint, catalog: Catalog) -> None:
        """Base rows come from the checkpoint, whoever wrote it; the network is made of them."""
        self.base.load_program(checkpoint, base_part(catalog.program.maintained))
        self._program = HostedProgram.of(catalog, self.base.stored)
        self._surely(lambda: self.network.begin(self._program, self.base.rows()))

    def must_move(self, inserts: Mapping[str, Ints]) -> bool:
        """Rows live where a hash of their values says, however many there are."""
        return False

    def close(self) -> None:
        """Send the nodes home, unless others want them."""
        if self.nodes.user is self:
            self.nodes.serve(None)
        if not self._keep:
            self.nodes.close()
        shutil.rmtree(self.store.path / "exports", ignore_errors=True)
