"""A database whose relations are on nodes: what the driver does.

The driver holds no rows. It decides where relations live, sends each node the changes that belong to it, and
remembers what was committed since the last checkpoint. A version is open on all nodes until it is in the log; then
it is committed on all. Nodes that were lost load the last checkpoint, are given what was committed after it, and the
version that was under way is sent once more. So nothing that was acknowledged is lost, and nothing is applied twice.
"""

from __future__ import annotations

import logging
import shutil
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from headwater.catalog import Catalog
from headwater.events import Repartitioned
from headwater.local.explain import Facts, RelationFacts
from headwater.local.table_names import ROWS, TableName
from headwater.maintain.engine import Engine
from headwater.maintain.goals import GoalStatistics, Means
from headwater.nodes.copied import engine_with_everything
from headwater.nodes.goals import guessed_fanout
from headwater.nodes.messages.message import Answer, Command, Reply, Tables
from headwater.nodes.messages.reading import Describe, Find
from headwater.nodes.messages.state import Clear, EngineOptions, Load, StoredState, WriteSegments
from headwater.nodes.messages.versions import (
    ChangedRows,
    ChangeRows,
    Commit,
    Define,
    FetchChange,
    Learn,
    Rollback,
    Shipped,
    VersionReport,
)
from headwater.nodes.nodes import Nodes
from headwater.nodes.owners import Owners
from headwater.nodes.remote_change import RemoteChange
from headwater.nodes.remote_rows import (
    counted,
    evaluate_remotely,
    exported,
    fetched,
    not_on_nodes,
    refuse_closed,
)
from headwater.nodes.row_tables import pack
from headwater.nodes.searched import engine_with_derivations
from headwater.nodes.spread import REPLICATE, Spread
from headwater.plan.goals import GoalProgram
from headwater.plan.steps import Ints
from headwater.plan.stored_rows import Key
from headwater.rules.checked import Premise, described
from headwater.rules.placement import EVERYWHERE
from headwater.store import Checkpoint, Store
from headwater.store.segments import SegmentTables
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.row_change import RowChange, composed
from headwater.version.statistics import VersionStatistics
from headwater.version.version import Version

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("headwater.nodes")


@dataclass(frozen=True)
class Sent:
    """What nodes were told in a version, to be told again if they are lost."""

    command: Define | Learn | ChangeRows
    """Without rows."""
    spread: Spread
    deletes: Mapping[str, Ints] = field(default_factory=dict)
    inserts: Mapping[str, Ints] = field(default_factory=dict)


class Driver:
    """Implements `run.runner.Runner` over nodes, and takes part in versions for all of them."""

    here = False

    def __init__(
        self,
        codec: Codec,
        functions: Functions,
        nodes: Nodes,
        store: Store,
        options: EngineOptions,
        *,
        replicate: int = REPLICATE,
        why: str = "asked for",
        keep: bool = False,
    ):
        """`keep` leaves the nodes running, for another database, when this one is closed."""
        self.codec = codec
        self.functions = functions
        self.store = store
        self.why = why
        self.shipped = [Shipped()] * nodes.size
        """For each node, what it has sent to other nodes."""
        self._owners = Owners(codec, nodes.size)
        self._spread = Spread.empty(replicate)
        self._before: Spread | None = None
        self._open: list[Sent] = []
        self._transitions: list[Mapping[str, RowChange]] = []
        """What each transition of the open version did."""
        self._waiting = False
        """Whether somebody waits for the last of `_open`, and will send it again if nodes are lost."""
        self._journal: list[Sent] = []
        self._loaded: tuple[Checkpoint, Spread] | None = None
        self.sizes = [0] * nodes.size
        """Bytes allocated on each node, as of the last version."""
        self.steps: list[int] = []
        """Bytes sent in each exchange of the last version, by all nodes together."""
        self._unresolved: weakref.WeakSet[RemoteChange] = weakref.WeakSet()
        shutil.rmtree(store.path / "exports", ignore_errors=True)  # of a program that did not close it
        self._options, self._keep = options, keep
        self.nodes = nodes
        self.interrupts = nodes.interrupts
        nodes.serve(self)
        nodes.surely(lambda: nodes.ask(Clear(options)))

    # ------------------------------------------------------------------ versions

    def define(
        self,
        version: Version,
        catalog: Catalog,
        facts: Mapping[str, Ints],
        deletes: Mapping[str, Ints] = {},  # noqa: B006
    ) -> dict[str, RowChange]:
        """Views that the new rules do not concern keep their rows, and their homes."""
        version.join(self)
        spread = self._spread.defined(catalog.definitions, catalog.program.maintained, facts)
        self._become(spread)
        command = Define(spread.text(), version.number, version.now, spread.base)
        changes = self._version(Sent(command, spread, deletes, facts), version.statistics)
        for change in changes.values():
            change.cancel()
        return {name: change for name, change in changes.items() if any(change.counts)}

    def learn(self, version: Version, catalog: Catalog) -> None:
        version.join(self)
        spread = self._spread.defined(catalog.definitions, catalog.program.maintained, {})
        self._become(spread)
        self._do(Sent(Learn(spread.text(), version.now), spread))

    def change(
        self, version: Version, deletes: Mapping[str, Ints], inserts: Mapping[str, Ints]
    ) -> Mapping[str, RowChange]:
        """Each node gets what belongs to it."""
        version.join(self)
        self._make_room(inserts, version.now, version.statistics)
        command = ChangeRows(version.number, version.now, tuple(sorted({*deletes, *inserts})))
        return self._version(Sent(command, self._spread, deletes, inserts), version.statistics)

    def proceed(
        self, version: Version, deletes: Mapping[str, Ints], inserts: Mapping[str, Ints]
    ) -> Mapping[str, RowChange]:
        touches = tuple(sorted({*deletes, *inserts}))
        command = ChangeRows(version.number, version.now, touches, proceed=True)
        return self._version(Sent(command, self._spread, deletes, inserts), version.statistics)

    def changes(self) -> Mapping[str, RowChange]:
        """All rows of all transitions are brought here for that."""
        return reduce(composed, self._transitions, {})

    @property
    def engine(self) -> Engine:
        """There is one on each node, and none here."""
        raise not_on_nodes()

    def derivations(self, key: Key) -> Engine:
        """Rows are brought here as rules, run backwards, ask for them."""

        def fetch(name: str, columns: tuple[int, ...], values: Ints | None) -> Ints:
            return self._rows(name, self.codec, columns, values)

        return engine_with_derivations(key, self._spread.checked, self.codec, self.functions, fetch)

    def must_move(self, inserts: Mapping[str, Ints]) -> bool:
        """Whether rows have to move to other nodes before these are inserted: then a checkpoint must come first."""
        return bool(self._spread.grown(inserts)[1])

    def _make_room(self, inserts: Mapping[str, Ints], now: float, statistics: VersionStatistics) -> None:
        """Split base relations that are on every node and are about to grow too large for that."""
        grown, moved = self._spread.grown(inserts)
        if moved and (self._loaded is None or self._journal):
            return  # there is no checkpoint to move by: rows stay where they are until the next `apply`
        if moved:
            statistics.events.append(Repartitioned(tuple(moved)))
            assert self._loaded is not None
            self._before = None if self._before is None else grown
            self._loaded, self._spread = (self._loaded[0], grown), grown
            self._open = []  # what was learned is in the checkpoint
            loaded = self._loaded
            self._surely(lambda: self._load(*loaded))
        elif grown is not self._spread:
            self._become(grown)
            self._do(Sent(Learn(grown.text(), now), grown))

    def _become(self, spread: Spread) -> None:
        if self._before is None:
            self._before = self._spread
        self._spread = spread

    def _surely(self, work: Callable[[], list[Answer]]) -> list[Answer]:
        """What the nodes answer. Once this is closed they are gone, or hold another database."""
        refuse_closed(self.nodes, self)
        return self.nodes.surely(work)

    def _ask(self, command: Command[Answer]) -> list[Answer]:
        return self._surely(lambda: self.nodes.ask(command))

    def _do(self, sent: Sent) -> list[Reply]:
        self._open.append(sent)
        self._waiting = True
        try:
            return self._surely(lambda: self._send(sent))
        finally:
            self._waiting = False

    def _version(self, sent: Sent, statistics: VersionStatistics) -> dict[str, RemoteChange]:
        if self._before is None:
            self._before = self._spread
        for change in list(self._unresolved):
            change.resolve()
        self._unresolved.clear()
        reports = [reply for reply in self._do(sent) if isinstance(reply, VersionReport)]
        changes = self._take(reports, statistics)
        self._transitions.append(changes)
        return changes

    def _send(self, sent: Sent) -> list[Reply]:
        if sent.spread.everywhere({*sent.deletes, *sent.inserts}):
            tables = (self._packed(sent.spread, rows) for rows in (sent.deletes, sent.inserts))
            command: Command[Any] = sent.command.given(*tables)
            return self.nodes.ask(command)
        deletes, inserts = self._split(sent.spread, sent.deletes), self._split(sent.spread, sent.inserts)
        commands: list[Command[Any]] = [
            sent.command.given(*given) for given in zip(deletes, inserts, strict=True)
        ]
        return self.nodes.ask_each(commands)

    def _packed(self, spread: Spread, changes: Mapping[str, Ints]) -> Tables:
        types = spread.checked.relations
        return {name: pack(self.codec, rows, types[name].layout.code_types) for name, rows in changes.items()}

    def _split(self, spread: Spread, changes: Mapping[str, Ints]) -> list[Tables]:
        """For each node, the rows that belong to it."""
        tables: list[Tables] = [{} for _ in range(self.nodes.size)]
        for name, rows in changes.items():
            for node, part in spread.parts(self._owners, name, rows):
                tables[node][name] = pack(self.codec, part, spread.checked.relations[name].layout.code_types)
        return tables

    def _take(
        self, reports: Sequence[VersionReport], statistics: VersionStatistics
    ) -> dict[str, RemoteChange]:
        """What the version did, from what nodes say."""
        homes, relations = self._spread.program.homes, self._spread.checked.relations
        if self._before is not None:
            relations = described(self._before.checked.relations, relations)
        sizes: dict[str, int] = {}
        found: dict[str, RemoteChange] = {}
        for number, report in enumerate(reports):
            for name, size in report.sizes.items():
                sizes[name] = size if homes[name] == EVERYWHERE else sizes.get(name, 0) + size
            for name, counts in report.statistics.base.items():
                if number == 0 or homes[name] != EVERYWHERE:
                    statistics.count_base(name, *counts)
            for name, change in report.changes.items():
                if name not in found:
                    found[name] = RemoteChange(
                        name, self.codec, relations[name].layout.code_types, self._fetch
                    )
                    self._unresolved.add(found[name])
                found[name].add(change)
            statistics.add_node(report.statistics)
        self._spread = replace(self._spread, sizes=sizes)
        self.sizes = [report.nbytes for report in reports]
        self.steps = [sum(step) for step in zip_longest(*(r.steps for r in reports), fillvalue=0)]
        self.shipped = [report.shipped for report in reports]
        return found

    def _fetch(self, name: str) -> list[ChangedRows]:
        fetched = self._surely(lambda: self.nodes.ask(FetchChange(name)))
        return [part.rows for part in fetched if part.rows is not None]

    def commit(self, version: Version) -> None:
        """It is in the log: nodes that are lost from here on get it again."""
        self._journal += self._open
        self._open, self._before, self._transitions = [], None, []
        self.nodes.commit_soon()

    def rollback(self) -> None:
        """Everything is as it was."""
        opened, self._open, self._transitions = self._open, [], []
        if self._before is not None:
            self._spread, self._before = self._before, None
        self._unresolved.clear()
        if opened:
            self.nodes.tell(Rollback())

    # ------------------------------------------------------------------ after a loss

    def restore(self) -> str:
        """Bring nodes that hold nothing to where the others were."""
        if self._loaded is None:
            self.nodes.ask(Clear(self._options))
        else:
            self._load(*self._loaded)
        loaded = "nothing" if self._loaded is None else f"version {self._loaded[0].version}"
        log.debug("nodes have loaded %s", loaded)
        for sent in self._journal:
            self._send(sent)
            log.debug("nodes have done a change again")
            if not isinstance(sent.command, Learn):
                self.nodes.ask(Commit())
                log.debug("nodes have committed it again")
        for sent in self._open[:-1] if self._waiting else self._open:
            self._send(sent)
            log.debug("nodes have opened the present version again")
        return f"loaded {loaded}, then did {len(self._journal)} changes again"

    def _load(self, checkpoint: Checkpoint, spread: Spread) -> list[VersionReport]:
        tables: Any = checkpoint.tables
        assert isinstance(tables, SegmentTables)
        written: Any = checkpoint.meta
        state = StoredState(
            program=spread.text(),
            version=checkpoint.version,
            now=written["now"],
            clock=written["clock"],
            incomplete=tuple(map(tuple, written["incomplete"])),
            strata=tuple(written.get("strata", ())),
            folder=str(tables.folder),
            segments=tuple(tables.segments),
            reusable=(self.nodes.size, _homes(spread)) == (written.get("nodes"), written.get("homes")),
        )
        return self.nodes.ask(Load(self._options, state))

    # ------------------------------------------------------------------ reading

    def count(self, name: str) -> int:
        return counted(self._ask, name)

    def stored(self, name: str) -> bool:
        """Known for base relations; of a view it is not ruled out."""
        info = self._spread.checked.relations[name]
        return not info.base or bool(self._spread.sizes.get(name))

    def matrix(self, name: str) -> Ints:
        """All rows, brought here."""
        return self._rows(name, self.codec)

    def _rows(
        self, name: str, codec: Codec, columns: tuple[int, ...] = (), values: Ints | None = None
    ) -> Ints:
        """All rows, or those that have one of the given combinations of values in some columns."""
        return fetched(self._ask, self._spread.checked.relations[name].layout, name, codec, columns, values)

    def table(self, name: str, *, labels: bool = False) -> pa.Table:
        """All rows, brought here, as values."""
        info = self._spread.checked.relations[name]
        return info.layout.table(self.codec, self.matrix(name), labels=labels)

    def holds(self, name: str, rows: Ints) -> bool:
        """Whether any node has it."""
        row = pack(self.codec, rows, self._spread.checked.relations[name].layout.code_types)
        return any(part.found for part in self._ask(Find(name, row)))

    def export(self, name: str, *, labels: bool = False) -> list[str]:
        return exported(self._ask, self.nodes, self.store, name, labels)

    def fanout(self, premise: Premise, bound: set[str]) -> float:
        return guessed_fanout(premise, bound, self._spread.sizes)

    def evaluate(
        self, program: GoalProgram, facts: Mapping[str, Ints], means: Means
    ) -> tuple[Ints, GoalStatistics]:
        return evaluate_remotely(self._rows, program, facts, means)

    def copied(self) -> Engine:
        return engine_with_everything(self._spread.checked, self.codec, self.functions, self.matrix)

    def facts(self) -> Facts:
        """Sizes of all nodes together, and the join orders of the first."""
        described = self._ask(Describe())
        relations = {name: RelationFacts() for name in described[0].relations}
        facts = Facts(self._spread.program.checked.relations, relations, described[0].views)
        everywhere = {name for name, home in self._spread.program.homes.items() if home == EVERYWHERE}
        for number, part in enumerate(described):
            facts.add(part.relations, everywhere if number else ())
        messages, sent, rows = (
            sum(getattr(node, part) for node in self.shipped) for part in ("messages", "bytes", "rows")
        )
        facts.place = [
            f"runs on {self.nodes.size} nodes, {self.nodes.hosting.words} ({self.why})",
            *self._spread.lines(),
            f"  exchanged so far: {rows:,} derivations and questions, {sent:,} bytes, {messages:,} messages",
        ]
        return facts

    @property
    def nbytes(self) -> int:
        """Of all nodes, as of the last version."""
        return sum(self.sizes)

    # ------------------------------------------------------------------ durability

    def write_checkpoint(
        self, store: Store, version: int, meta: Mapping[str, Any], tables: Mapping[str, pa.Table]
    ) -> None:
        """Nodes write what changed as segments; the manifest makes them count."""
        for change in list(self._unresolved):
            change.resolve()
        earlier = store.checkpoint
        folder, generation = store.next_segments()
        present = tuple(earlier.tables) if earlier is not None else ()
        command = WriteSegments(str(folder), generation, present)
        written = self._surely(lambda: self.nodes.ask(command))
        more = {
            "clock": max(part.clock for part in written),
            "incomplete": [list(names) for names in {names for part in written for names in part.incomplete}],
            "strata": list(written[0].strata),
            "nodes": self.nodes.size,
            "homes": _homes(self._spread),
        }
        store.write_checkpoint(
            Checkpoint(version, {**meta, **more}, tables),
            reuse=[name for part in written for name in part.reuse],
            written=[segment for part in written for segment in part.segments],
        )
        assert store.checkpoint is not None
        self._loaded = store.checkpoint, self._spread
        self._journal = []

    def load(self, checkpoint: Checkpoint, catalog: Catalog) -> None:
        """Each node takes what belongs to it, whoever wrote it."""
        tables: Any = checkpoint.tables
        sizes: dict[str, int] = {}
        for segment in tables.segments:
            name = TableName.parse(segment.table)
            if name.kind == ROWS:
                sizes[name.relation] = sizes.get(name.relation, 0) + segment.rows
        self._spread = Spread.chosen(
            catalog.definitions, catalog.program.maintained, sizes, self._spread.replicate
        )
        self._loaded = checkpoint, self._spread
        replies = self._surely(lambda: self._load(checkpoint, self._spread))
        self._take(replies, VersionStatistics())

    def close(self) -> None:
        """Send the nodes home, unless others want them."""
        if self.nodes.user is self:
            self.nodes.serve(None)
        if not self._keep:
            self.nodes.close()
        shutil.rmtree(self.store.path / "exports", ignore_errors=True)


def _homes(spread: Spread) -> dict[str, list[object]]:
    """Where relations live, as a checkpoint has it."""
    return {name: home.to_json() for name, home in spread.homes.items()}
