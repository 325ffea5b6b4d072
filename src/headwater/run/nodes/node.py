"""A node: one part of every relation, and the same engine as in one process.

A node is told by the driver what to do, a command at a time, and does it together with the other nodes. It keeps
the version open until it is told to commit or to roll back. It ends when the driver is gone.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater import persist
from headwater.catalog.definitions import Definitions
from headwater.kernel.memory import release_idle
from headwater.language.program import Program
from headwater.maintain.row_change import RowChange
from headwater.maintain.statistics import VersionStatistics
from headwater.memory.budget import memory_budget
from headwater.memory.guard import refused_memory
from headwater.plan.steps import Ints
from headwater.rules.localise import localise
from headwater.rules.placement import EVERYWHERE, Localised, Placement
from headwater.run.nodes.exchange import NodeExchange
from headwater.run.nodes.peers import PeerFailed, PeerLost, Peers
from headwater.run.nodes.wire import error_to_json, pack, statistics_to_json, unpack
from headwater.run.one_process import OneProcess
from headwater.store import Checkpoint, Record
from headwater.store.manifest import segment_name
from headwater.store.segments import Segment, SegmentTables, write_segment
from headwater.values.codec import Codec
from headwater.values.functions import Functions

FEW = 10_000
"""Changes of a version are told at once if there are no more of them; else when somebody asks."""
SEGMENTS = 10_000
"""File names that a node may use for one checkpoint."""

Command = Callable[[Any, Mapping[str, pa.Table]], Record]


class Node:
    """What a node holds, and a method for each command."""

    def __init__(self, number: int, peers: Peers, functions: Mapping[str, Any]):
        self.number = number
        self.functions = Functions()
        for name, (function, args, returns) in functions.items():
            self.functions.register(name, function, args, returns)
        self.peers = peers
        self._parsed: dict[tuple[str, str], Program] = {}
        self.sharing = peers.nodes
        """How many nodes share this node's machine, and its memory."""
        self._start({})

    def _start(self, options: Mapping[str, Any]) -> None:
        """Begin with nothing, as a database wants it."""
        self.peers.messages = self.peers.bytes = 0
        self.codec = Codec(memory_budget(options.get("memory"), release_idle, self.sharing))
        self.strict = bool(options.get("strict", False))
        self.exchange = NodeExchange(self.codec, self.peers, min_ship=options.get("min_ship", True))
        engine = {key: options[key] for key in ("strategy", "max_rounds", "at_max_rounds") if key in options}
        self.run = OneProcess(self.codec, self.functions, **engine)
        self.run.engine.workspace.exchange = self.exchange
        self._program: Localised | None = None
        self._before: list[Localised | None] = []
        self._changes: dict[str, RowChange] = {}
        self._snapshot: tuple[int, set[str]] = (-1, set())

    def interrupt(self) -> None:
        """Break off the present command: Ctrl-C at the driver, or it is of no use any more."""
        self.run.interrupts.note()

    def calm(self) -> None:
        """Interrupts so far were for earlier commands."""
        self.run.interrupts.forget()

    # ------------------------------------------------------------------ definitions

    def _localised(self, meta: Any) -> tuple[Definitions, Localised]:
        programs = []
        for text, source in meta["texts"]:
            key = (text, source)
            if key not in self._parsed:
                (self._parsed[key],) = Definitions.parsed([key])
            programs.append(self._parsed[key])
        definitions = Definitions(tuple(programs)).learned(meta)
        stored = {name: persist.types_from_json(types) for name, types in meta["stored"].items()}
        checked = definitions.check(self.functions, stored, strict=self.strict)
        homes = {name: Placement(*home) for name, home in meta["homes"].items()}
        return definitions, localise(checked, homes)

    def _use(self, program: Localised) -> None:
        self._before.append(self._program)
        self._program = program
        self.exchange.use(program)

    def _moved(self, program: Localised) -> set[str]:
        """Views that live elsewhere from now on: they are derived again, there."""
        before = {} if self._program is None else self._program.homes
        return {name for name, home in program.homes.items() if before.get(name, home) != home}

    def define(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """Take on definitions, with facts."""
        definitions, program = self._localised(meta)
        statistics = VersionStatistics(meta["version"])
        moved = self._moved(program)
        self._use(program)
        inserts = self._rows(program, tables, "insert")
        possible = meta["touches"]
        self._changes = self.run.define(
            definitions, program.checked, inserts, meta["now"], statistics, possible, moved
        )
        return self._report(statistics)

    def learn(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """Take on types."""
        definitions, program = self._localised(meta)
        moved = self._moved(program)
        self._use(program)
        self.run.learn(definitions, program.checked, meta["now"], moved)
        return Record(0, "ok")

    # ------------------------------------------------------------------ versions

    def change(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """Delete and insert rows that belong here."""
        assert self._program is not None
        statistics = VersionStatistics(meta["version"])
        deletes = self._rows(self._program, tables, "delete")
        inserts = self._rows(self._program, tables, "insert")
        self._changes = self.run.change(deletes, inserts, meta["now"], statistics, meta["touches"])
        return self._report(statistics)

    def _rows(self, program: Localised, tables: Mapping[str, pa.Table], kind: str) -> dict[str, Ints]:
        rows = {}
        for key, table in tables.items():
            what, name = key.split("/", 1)
            if what == kind:
                rows[name] = unpack(self.codec, table, program.checked.relations[name].types)
        return rows

    def _report(self, statistics: VersionStatistics) -> Record:
        """What the open version did here: how many rows, and the rows where they are few."""
        assert self._program is not None
        counts: dict[str, list[int]] = {}
        tables = {}
        for name, change in self._changes.items():
            if self._told_by_others(name):
                continue
            counts[name] = list(change.counts)
            if sum(counts[name]) <= FEW:
                tables.update(self._change_tables(name, change))
        sizes = {
            name: self.run.engine.workspace.relations[name].stored
            for name, info in self._program.checked.relations.items()
            if info.base and not info.name.startswith("~")
        }
        meta = {"counts": counts, "sizes": sizes, "statistics": statistics_to_json(statistics)}
        meta["shipped"] = [self.peers.messages, self.peers.bytes, self.exchange.shipped]
        meta["nbytes"] = self.run.nbytes
        meta["steps"] = self.peers.steps
        return Record(0, "ok", meta, tables)

    def _told_by_others(self, name: str) -> bool:
        """Whether all nodes have the relation whole, and the first one speaks for it."""
        assert self._program is not None
        info = self._program.checked.relations.get(name)
        if info is None or (info.internal and not info.base):
            return True
        return self.number > 0 and self._program.homes.get(name) == EVERYWHERE

    def _change_tables(self, name: str, change: RowChange) -> dict[str, pa.Table]:
        assert self._program is not None
        types = self._program.checked.relations[name].types
        return {
            f"gained/{name}": pack(self.codec, change.gained, types),
            f"lost/{name}": pack(self.codec, change.lost, types),
        }

    def changes(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """The rows that the last version gained and lost in one relation."""
        name = meta["name"]
        change = self._changes.get(name)
        if change is None or self._told_by_others(name):
            return Record(0, "ok")
        return Record(0, "ok", {}, self._change_tables(name, change))

    def commit(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """Keep the open version."""
        statistics = VersionStatistics()
        self.run.commit(statistics)
        self.exchange.commit()
        self._before = []
        return Record(0, "ok", {"events": [event.to_json() for event in statistics.events]})

    def rollback(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """Undo the open version."""
        self.exchange.rollback()
        self.run.rollback(KeyboardInterrupt() if meta["expected"] else RuntimeError())
        if self._before:
            self._program = self._before[0]
            self.exchange.use(self._program)
            self._before = []
        self._changes = {}
        return Record(0, "ok")

    # ------------------------------------------------------------------ reading

    def rows(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """The rows of a relation that are held here."""
        name = meta["name"]
        if self._told_by_others(name):
            return Record(0, "ok")
        assert self._program is not None
        types = self._program.checked.relations[name].types
        return Record(0, "ok", {}, {"rows": pack(self.codec, self.run.matrix(name), types)})

    def count(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """How many rows of a relation are held here."""
        name = meta["name"]
        return Record(0, "ok", {"count": 0 if self._told_by_others(name) else self.run.count(name)})

    def holds(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """Whether a row is held here."""
        assert self._program is not None
        name = meta["name"]
        row = unpack(self.codec, tables["row"], self._program.checked.relations[name].types)
        return Record(0, "ok", {"holds": self.run.holds(name, row)})

    def facts(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """Sizes, and the join orders of this node."""
        facts = self.run.facts()
        views = [[v.relations, v.recursive, v.strategy, v.rules] for v in facts.views]
        return Record(0, "ok", {"sizes": facts.to_json(), "views": views})

    def write(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """Write the rows of a relation that are held here as a Parquet file, for Spark to read."""
        import pyarrow.parquet as parquet

        name = meta["name"]
        if self._told_by_others(name):
            return Record(0, "ok", {"file": None})
        file = Path(meta["folder"]) / f"part-{self.number:05d}.parquet"
        parquet.write_table(self.run.table(name), file)
        return Record(0, "ok", {"file": str(file)})

    # ------------------------------------------------------------------ durability

    def snapshot(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """Write what changed since the last checkpoint as segments."""
        assert self._program is not None
        engine, folder = self.run.engine, Path(meta["folder"])
        generation, written_then = self._snapshot
        if generation == meta["generation"]:  # the manifest of the last one was never published
            engine.changed |= written_then
        present = {name for name in meta["present"] if persist.part_number(name) == self.number}
        reuse = [
            name
            for name in present
            if (plain := name.partition("|")[2]).startswith("rows/")
            and plain.removeprefix("rows/") not in engine.changed
        ]
        found = persist.dump_relations(engine, self.codec, without=[n.partition("|")[2] for n in reuse])
        found.update(persist.dump_soft_state(self.run.base_changes.soft, engine, self.codec))
        written: list[Segment] = []
        for name, table in found.items():
            if self.number > 0 and self._program.homes.get(name.split("/", 1)[1]) == EVERYWHERE:
                continue
            file = segment_name(meta["generation"], (self.number + 1) * SEGMENTS + len(written))
            written.append(write_segment(folder, file, persist.part_name(self.number, name), table))
        self._snapshot = meta["generation"], set(engine.changed)
        engine.changed.clear()
        progress = self.run.progress()
        progress["strata"] = [
            persist.identity(engine, view)
            for view in engine.views
            if not (view.stratum.recursive and any(map(self._everywhere, view.stratum.relations)))
        ]
        segments = [asdict(segment) for segment in written]
        return Record(0, "ok", {"segments": segments, "reuse": reuse, **progress})

    def _everywhere(self, name: str) -> bool:
        """Whether all nodes have the relation. In a recursion, its ranks then differ from node to node, and those of
        one mean nothing to another: such a stratum is derived again when it is loaded."""
        assert self._program is not None
        return self._program.homes.get(name) == EVERYWHERE

    def load(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """Forget everything; then take what belongs here from a checkpoint, if there is one."""
        self._start(meta["options"])
        if meta["checkpoint"] is None:
            return Record(0, "ok")
        definitions, program = self._localised(meta)
        self._use(program)
        segments = [Segment(**segment) for segment in meta["segments"]]
        stored = SegmentTables(Path(meta["folder"]), segments)
        checkpoint = Checkpoint(meta["version"], {"strata": meta["strata"], **meta["checkpoint"]}, stored)
        self.run.load(checkpoint, definitions, program.checked, self._keep)
        self._before = []
        if not meta["reusable"]:
            self.run.engine.changed.update(program.checked.relations)
        return self._report(VersionStatistics())

    def _keep(self, name: str, rows: Ints, place: int) -> npt.NDArray[np.bool_]:
        assert self._program is not None
        home = self._program.homes.get(name, EVERYWHERE)
        if home.split:
            type_ = self._program.checked.relations[name].types[home.column]
            mine: npt.NDArray[np.bool_] = self.exchange.owners.of(rows[:, home.column], type_) == self.number
            return mine
        return np.full(rows.shape[0], home == EVERYWHERE or self.number == 0)

    # ------------------------------------------------------------------ the loop

    def connect(self, meta: Any, tables: Mapping[str, pa.Table]) -> Record:
        """Meet the other nodes."""
        addresses = {int(n): address for n, address in meta["addresses"].items()}
        hosts = {number: address.rpartition(":")[0] for number, address in addresses.items()}
        self.sharing = list(hosts.values()).count(hosts[self.number])
        self.peers.connect(addresses)
        return Record(0, "ok")

    def obey(self, record: Record) -> Record:
        """Carry out one command; a failure is told to the other nodes, and to the driver."""
        meta: Any = record.meta
        assert record.kind in COMMANDS, record.kind
        self.peers.begin(meta["command"])
        try:
            if meta.get("first") == "commit":
                self.commit({}, {})
            return getattr(self, record.kind)(meta, record.tables)  # type: ignore[no-any-return]
        except (PeerFailed, PeerLost) as error:
            return Record(0, "error", {"error": error_to_json(error), "peer": True})
        except BaseException as error:
            ours = refused_memory(error, f"{record.kind} on node {self.number}") or error
            reply = {"error": error_to_json(ours), "peer": False, "trace": traceback.format_exc()}
            try:
                self.peers.fail()
            except PeerLost:
                reply["peer"] = True
            return Record(0, "error", reply)


COMMANDS: Sequence[str] = (
    "connect", "define", "learn", "change", "changes", "commit", "rollback", "rows", "count", "holds", "facts",
    "write", "snapshot", "load",
)  # fmt: skip
