"""A database whose relations are on nodes: what the driver does.

The driver holds no rows. It decides where relations live, sends each node the changes that belong to it, and
remembers what was committed since the last checkpoint. A version is open on all nodes until it is in the log; then
it is committed on all. Nodes that were lost load the last checkpoint, are given what was committed after it, and the
version that was under way is sent once more. So nothing that was acknowledged is lost, and nothing is applied twice.
"""

from __future__ import annotations

import logging
import shutil
import uuid
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.catalog.definitions import Definitions
from headwater.errors import HeadwaterError, SparkError
from headwater.events import Repartitioned
from headwater.explain import Facts, RelationFacts, ViewFacts
from headwater.maintain.row_change import RowChange
from headwater.maintain.statistics import VersionStatistics
from headwater.plan.steps import Ints
from headwater.rules.checked import Checked
from headwater.rules.placement import EVERYWHERE
from headwater.run.nodes.cluster import Cluster
from headwater.run.nodes.owners import Owners
from headwater.run.nodes.placing import REPLICATE, Placing
from headwater.run.nodes.remote_change import RemoteChange
from headwater.run.nodes.wire import add_statistics, pack, unpack
from headwater.store import Checkpoint, Record, Store
from headwater.store.segments import Segment, SegmentTables
from headwater.values.codec import Codec

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("headwater.nodes")


@dataclass(frozen=True)
class Sent:
    """What nodes were told in a version, to be told again if they are lost."""

    kind: str
    placing: Placing
    meta: Mapping[str, Any]
    deletes: Mapping[str, Ints] = field(default_factory=dict)
    inserts: Mapping[str, Ints] = field(default_factory=dict)


class Nodes:
    """Implements `run.runner.Runner` over nodes."""

    def __init__(
        self,
        codec: Codec,
        cluster: Cluster,
        store: Store,
        options: Mapping[str, Any],
        *,
        replicate: int = REPLICATE,
        why: str = "asked for",
        keep: bool = False,
    ):
        """`keep` leaves the nodes running, for another database, when this one is closed."""
        self.codec = codec
        self.store = store
        self.why = why
        nodes = cluster.nodes
        self.shipped: list[list[int]] = [[0, 0, 0] for _ in range(nodes)]
        """For each node: messages and bytes sent to other nodes, and derivations and questions in them."""
        self._owners = Owners(codec, nodes)
        self._placing = Placing.empty(replicate)
        self._before: Placing | None = None
        self._open: list[Sent] = []
        self._waiting = False
        """Whether somebody waits for the last of `_open`, and will send it again if nodes are lost."""
        self._journal: list[Sent] = []
        self._loaded: tuple[Checkpoint, Placing] | None = None
        self.sizes = [0] * nodes
        """Bytes allocated on each node, as of the last version."""
        self.steps: list[int] = []
        """Bytes sent in each exchange of the last version, by all nodes together."""
        self._unresolved: weakref.WeakSet[RemoteChange] = weakref.WeakSet()
        shutil.rmtree(store.path / "exports", ignore_errors=True)  # of a program that did not close it
        self._options, self._keep = dict(options), keep
        self.cluster = cluster
        self.interrupts = cluster.interrupts
        cluster.restore = self._restore
        cluster.used = True
        cluster.surely(lambda: cluster.ask("load", {"checkpoint": None, "options": self._options}))

    # ------------------------------------------------------------------ versions

    def define(
        self,
        definitions: Definitions,
        checked: Checked,
        facts: Mapping[str, Ints],
        now: float,
        statistics: VersionStatistics,
    ) -> dict[str, RowChange]:
        """Views that the new rules do not concern keep their rows, and their homes."""
        self._become(self._placing.defined(definitions, checked, facts))
        meta = self._placing.meta(now, statistics.version)
        changes = self._version(Sent("define", self._placing, meta, {}, facts), statistics)
        for change in changes.values():
            change.cancel()
        return {name: change for name, change in changes.items() if any(change.counts)}

    def learn(self, definitions: Definitions, checked: Checked, now: float) -> None:
        """Rows stay."""
        self._become(self._placing.defined(definitions, checked, {}))
        self._do(Sent("learn", self._placing, self._placing.meta(now, 0)))

    def change(
        self,
        deletes: Mapping[str, Ints],
        inserts: Mapping[str, Ints],
        now: float,
        statistics: VersionStatistics,
    ) -> dict[str, RowChange]:
        """Each node gets what belongs to it."""
        self._make_room(inserts, now, statistics)
        meta = {"now": now, "version": statistics.version, "touches": sorted({*deletes, *inserts})}
        return dict(self._version(Sent("change", self._placing, meta, deletes, inserts), statistics))

    def must_move(self, inserts: Mapping[str, Ints]) -> bool:
        """Whether rows have to move to other nodes before these are inserted: then a checkpoint must come first."""
        return bool(self._placing.grown(inserts)[1])

    def _make_room(self, inserts: Mapping[str, Ints], now: float, statistics: VersionStatistics) -> None:
        """Split base relations that are on every node and are about to grow too large for that."""
        grown, moved = self._placing.grown(inserts)
        if moved and (self._loaded is None or self._journal):
            return  # there is no checkpoint to move by: rows stay where they are until the next `apply`
        if moved:
            statistics.events.append(Repartitioned(tuple(moved)))
            assert self._loaded is not None
            self._before = None if self._before is None else grown
            self._loaded, self._placing = (self._loaded[0], grown), grown
            self._open = []  # what was learned is in the checkpoint
            loaded = self._loaded
            self.cluster.surely(lambda: self._load(*loaded))
        elif grown is not self._placing:
            self._become(grown)
            self._do(Sent("learn", grown, grown.meta(now, 0)))

    def _become(self, placing: Placing) -> None:
        if self._before is None:
            self._before = self._placing
        self._placing = placing

    def _do(self, sent: Sent) -> list[Record]:
        self._open.append(sent)
        self._waiting = True
        try:
            return self.cluster.surely(lambda: self._send(sent))
        finally:
            self._waiting = False

    def _version(self, sent: Sent, statistics: VersionStatistics) -> dict[str, RemoteChange]:
        if self._before is None:
            self._before = self._placing
        for change in list(self._unresolved):
            change.resolve()
        self._unresolved.clear()
        return self._take(self._do(sent), statistics)

    def _send(self, sent: Sent) -> list[Record]:
        tables: list[dict[str, pa.Table]] = [{} for _ in range(self.cluster.nodes)]
        relations = sent.placing.checked.relations
        for kind, changes in (("delete", sent.deletes), ("insert", sent.inserts)):
            for name, rows in changes.items():
                for node, part in sent.placing.parts(self._owners, name, rows):
                    tables[node][f"{kind}/{name}"] = pack(self.codec, part, relations[name].types)
        return self.cluster.ask(sent.kind, sent.meta, tables)

    def _take(self, replies: Sequence[Record], statistics: VersionStatistics) -> dict[str, RemoteChange]:
        """What the version did, from what nodes say."""
        homes, relations = self._placing.program.homes, self._placing.checked.relations
        metas: list[Any] = [reply.meta for reply in replies]
        sizes: dict[str, int] = {}
        found: dict[str, RemoteChange] = {}
        for number, (meta, reply) in enumerate(zip(metas, replies, strict=True)):
            for name, size in meta["sizes"].items():
                sizes[name] = size if homes[name] == EVERYWHERE else sizes.get(name, 0) + size
            for name, counts in meta["statistics"]["base"].items():
                if number == 0 or homes[name] != EVERYWHERE:
                    statistics.count_base(name, *counts)
            for name, (gained, lost) in meta["counts"].items():
                if name not in found:
                    found[name] = RemoteChange(name, self.codec, relations[name].types, self._fetch)
                    self._unresolved.add(found[name])
                found[name].add(gained, lost, reply.tables)
        self._placing = replace(self._placing, sizes=sizes)
        self.sizes = [meta["nbytes"] for meta in metas]
        steps = zip_longest(*(meta["steps"] for meta in metas), fillvalue=0)
        self.steps = [sum(step) for step in steps]
        self.shipped = [meta["shipped"] for meta in metas]
        add_statistics(statistics, [meta["statistics"] for meta in metas])
        return found

    def _fetch(self, name: str) -> list[Mapping[str, Any]]:
        replies = self.cluster.surely(lambda: self.cluster.ask("changes", {"name": name}))
        return [reply.tables for reply in replies]

    def commit(self, statistics: VersionStatistics) -> None:
        """It is in the log: nodes that are lost from here on get it again."""
        self._journal += self._open
        self._open, self._before = [], None
        self.cluster.later("commit")

    def rollback(self, error: BaseException | None) -> None:
        """Everything is as it was."""
        opened, self._open = self._open, []
        if self._before is not None:
            self._placing, self._before = self._before, None
        self._unresolved.clear()
        if opened:
            expected = error is None or isinstance(error, (HeadwaterError, KeyboardInterrupt))
            self.cluster.tell("rollback", {"expected": expected})

    def traces(self) -> None:
        """Clocks on nodes may go on: they only have to grow."""

    def wipe(self, traces: Any) -> None:
        """Nothing is left that anybody sees."""

    # ------------------------------------------------------------------ after a loss

    def _restore(self) -> str:
        """Bring nodes that hold nothing to where the others were."""
        if self._loaded is None:
            self.cluster.ask("load", {"checkpoint": None, "options": self._options})
        else:
            self._load(*self._loaded)
        loaded = "nothing" if self._loaded is None else f"version {self._loaded[0].version}"
        log.debug("nodes have loaded %s", loaded)
        for sent in self._journal:
            self._send(sent)
            log.debug("nodes have done a change again")
            if sent.kind != "learn":
                self.cluster.ask("commit", {})
                log.debug("nodes have committed it again")
        for sent in self._open[:-1] if self._waiting else self._open:
            self._send(sent)
            log.debug("nodes have opened the present version again")
        return f"loaded {loaded}, then did {len(self._journal)} changes again"

    def _load(self, checkpoint: Checkpoint, placing: Placing) -> list[Record]:
        tables: Any = checkpoint.tables
        assert isinstance(tables, SegmentTables)
        written: Any = checkpoint.meta
        meta = placing.meta(written["now"], checkpoint.version)
        same = (self.cluster.nodes, meta["homes"]) == (written.get("nodes"), written.get("homes"))
        meta |= {
            "checkpoint": {key: written[key] for key in ("now", "clock", "incomplete")},
            "strata": written.get("strata", []),
            "segments": [asdict(segment) for segment in tables.segments],
            "folder": str(tables.folder),
            "reusable": same,
            "options": self._options,
        }
        return self.cluster.ask("load", meta)

    # ------------------------------------------------------------------ reading

    def count(self, name: str) -> int:
        """Added up."""
        return sum(meta["count"] for meta in self._asked("count", name))

    def stored(self, name: str) -> bool:
        """Known for base relations; of a view it is not ruled out."""
        info = self._placing.checked.relations[name]
        return not info.base or bool(self._placing.sizes.get(name))

    def _asked(self, kind: str, name: str) -> list[Any]:
        replies = self.cluster.surely(lambda: self.cluster.ask(kind, {"name": name}))
        return [reply.meta for reply in replies]

    def matrix(self, name: str) -> Ints:
        """All rows, brought here."""
        types = self._placing.checked.relations[name].types
        replies = self.cluster.surely(lambda: self.cluster.ask("rows", {"name": name}))
        parts = [unpack(self.codec, r.tables["rows"], types) for r in replies if "rows" in r.tables]
        return np.concatenate([np.empty((0, len(types)), np.int64), *parts])

    def table(self, name: str) -> pa.Table:
        """All rows, brought here, as values."""
        info = self._placing.checked.relations[name]
        return self.codec.to_table(self.matrix(name), info.columns, info.types)

    def holds(self, name: str, rows: Ints) -> bool:
        """Whether any node has it."""
        row = {"row": pack(self.codec, rows, self._placing.checked.relations[name].types)}
        tables = [row] * self.cluster.nodes
        replies = self.cluster.surely(lambda: self.cluster.ask("holds", {"name": name}, tables))
        return any(reply.meta["holds"] for reply in replies)

    def export(self, name: str) -> list[str]:
        """Files of the relation's rows as they are now, a Parquet file from each node, for Spark to read.

        They are removed when the database is closed. Refused where Spark has no core left to read them with: it
        would wait for ever.
        """
        if self.cluster.hosting.spare(self.cluster.nodes) <= 0:
            raise SparkError(
                "no-free-core",
                f"all cores of the session run nodes, so that Spark cannot read {name}",
                hint="use fewer nodes, or a session with a core more than there are nodes",
            )
        folder = self.store.path / "exports" / f"{name}-{uuid.uuid4().hex[:12]}"
        folder.mkdir(parents=True)
        meta = {"name": name, "folder": str(folder)}
        replies = self.cluster.surely(lambda: self.cluster.ask("write", meta))
        files: list[Any] = [reply.meta["file"] for reply in replies]
        return [file for file in files if file is not None]

    def facts(self) -> Facts:
        """Sizes of all nodes together, and the join orders of the first."""
        replies = self.cluster.surely(lambda: self.cluster.ask("facts", {}))
        metas: list[Any] = [reply.meta for reply in replies]
        infos = self._placing.program.checked.relations
        relations = {name: RelationFacts() for name in metas[0]["sizes"]}
        views = [
            ViewFacts(
                tuple(names), recursive, strategy, [(label, text, orders) for label, text, orders in rules]
            )
            for names, recursive, strategy, rules in metas[0]["views"]
        ]
        facts = Facts(infos, relations, views)
        everywhere = {name for name, home in self._placing.program.homes.items() if home == EVERYWHERE}
        for number, meta in enumerate(metas):
            facts.add(meta["sizes"], everywhere if number else ())
        messages, sent, rows = (sum(node[i] for node in self.shipped) for i in range(3))
        facts.place = [
            f"runs on {self.cluster.nodes} nodes, {self.cluster.hosting.words} ({self.why})",
            *self._placing.lines(),
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
        where = {
            "folder": str(folder),
            "generation": generation,
            "present": [name for name in earlier.tables if "|" in name] if earlier is not None else [],
        }
        replies = self.cluster.surely(lambda: self.cluster.ask("snapshot", where))
        metas: list[Any] = [reply.meta for reply in replies]
        incomplete = {tuple(names) for node in metas for names in node["incomplete"]}
        more = {
            "clock": max(node["clock"] for node in metas),
            "incomplete": [list(names) for names in incomplete],
            "strata": metas[0]["strata"],
            "nodes": self.cluster.nodes,
            "homes": self._placing.meta(0.0, 0)["homes"],
        }
        store.write_checkpoint(
            Checkpoint(version, {**meta, **more}, tables),
            reuse=[name for node in metas for name in node["reuse"]],
            written=[Segment(**segment) for node in metas for segment in node["segments"]],
        )
        assert store.checkpoint is not None
        self._loaded = store.checkpoint, self._placing
        self._journal = []

    def load(self, checkpoint: Checkpoint, definitions: Definitions, checked: Checked) -> None:
        """Each node takes what belongs to it, whoever wrote it."""
        tables: Any = checkpoint.tables
        sizes: dict[str, int] = {}
        for segment in tables.segments:
            name = segment.table.rpartition("|")[2]
            if name.startswith("rows/"):
                relation = name.removeprefix("rows/")
                sizes[relation] = sizes.get(relation, 0) + segment.rows
        self._placing = Placing.chosen(definitions, checked, sizes, self._placing.replicate)
        self._loaded = checkpoint, self._placing
        replies = self.cluster.surely(lambda: self._load(checkpoint, self._placing))
        self._take(replies, VersionStatistics())

    def close(self) -> None:
        """Send the nodes home, unless others want them."""
        self.cluster.used = False
        if not self._keep:
            self.cluster.close()
        shutil.rmtree(self.store.path / "exports", ignore_errors=True)
