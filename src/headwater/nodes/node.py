"""A node: one part of every relation, and the same engine as in one process.

A node is told by the driver what to do, a command at a time, and does it together with the other nodes. It keeps
the version open until it is told to commit or to roll back.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwater.catalog.definitions import Definitions
from headwater.catalog.rule_ids import recalled
from headwater.kernel.memory import first_load, release_idle
from headwater.language.program import Program
from headwater.local.one_process import OneProcess
from headwater.memory.budget import memory_budget
from headwater.memory.guard import refused_memory
from headwater.nodes.asynchronous.part import NetworkPart
from headwater.nodes.checkpoint_parts import CheckpointParts
from headwater.nodes.exchange import NodeExchange
from headwater.nodes.faults import fault_of
from headwater.nodes.local_program import LocalProgram
from headwater.nodes.messages import between, message, network, reading, state, versions
from headwater.nodes.messages.coming import Order
from headwater.nodes.messages.message import PackedRows, Reply
from headwater.nodes.messages.outcomes import Done, Failure
from headwater.nodes.messages.state import EngineOptions
from headwater.nodes.messages.versions import ProgramText, VersionReport
from headwater.nodes.peers import PeerFailed, PeerLost, Peers
from headwater.nodes.row_tables import pack, unpack
from headwater.plan.steps import Ints
from headwater.rules.checked import Checked
from headwater.rules.localise import localise
from headwater.rules.placement import EVERYWHERE, Localised
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.temporary import temporary_codec
from headwater.version.row_change import RowChange
from headwater.version.statistics import VersionStatistics
from headwater.version.version import Version

MOST_ROWS_TOLD = 10_000
"""Changes of a version are told at once if there are no more of them; else when somebody asks."""


class Node:
    """What a node holds, and a method for each command."""

    def __init__(self, number: int, peers: Peers, functions: Mapping[str, Any]):
        self.number = number
        self.functions = Functions()
        for name, (function, args, returns, nulls) in functions.items():
            self.functions.register(name, function, args, returns, nulls=nulls)
        self.peers = peers
        self._parsed: dict[tuple[str, str], Program] = {}
        self.sharing = peers.nodes
        """How many nodes share this node's machine, and its memory."""
        self.network = NetworkPart(number, peers, self.functions, self._checked)
        self._commands: dict[type[message.Command[Any]], Callable[[Any], Reply]] = {
            between.Connect: self.connect,
            state.Clear: self.clear,
            state.Load: self.load,
            versions.Define: self.define,
            versions.Learn: self.learn,
            versions.ChangeRows: self.change,
            versions.FetchChange: self.fetch_change,
            versions.Commit: self.commit,
            versions.Rollback: self.rollback,
            reading.FetchRows: self.fetch_rows,
            reading.Count: self.count,
            reading.Find: self.find,
            reading.Describe: self.describe,
            reading.Export: self.export,
            state.WriteSegments: self.write_segments,
            network.BeginNetwork: self.network.begin,
            network.EndVersion: self.network.end_version,
            network.ChangeNetwork: self.network.change,
            network.CountMessages: self.network.count_messages,
            network.Quieten: self.network.quieten,
            network.ReportNetwork: self.network.report,
        }
        self._start(EngineOptions())

    def _start(self, options: EngineOptions) -> None:
        """Begin with nothing, as a database wants it."""
        self.network.clear()
        self.peers.messages = self.peers.bytes = 0
        self.codec = Codec(memory_budget(options.memory, release_idle, self.sharing))
        self.exchange = NodeExchange(self.codec, self.peers, rank_filter=options.rank_filter)
        self.run = OneProcess(
            self.codec,
            self.functions,
            strategy=options.strategy,
            max_rounds=options.max_rounds,
            at_max_rounds=options.at_max_rounds,
        )
        self.run.engine.workspace.exchange = self.exchange
        self._parts = CheckpointParts(self.number, self.run, self.exchange.owners)
        self._local = LocalProgram(self.exchange)
        self._version: Version | None = None
        self._changes: dict[str, RowChange] = {}

    # ------------------------------------------------------------------ commands

    def obey(self, order: Order) -> Reply:
        """Carry out one command; a failure is told to the other nodes, and to the driver."""
        self.peers.begin(order.number)
        try:
            if order.commit:
                self.commit(versions.Commit())
            return self._commands[type(order.command)](order.command)
        except (PeerFailed, PeerLost) as error:
            return Failure(fault_of(error), peer=True)
        except BaseException as error:
            what = f"{type(order.command).__name__} on node {self.number}"
            failure = Failure(fault_of(refused_memory(error, what) or error), traceback.format_exc())
            try:
                self.peers.fail()
            except PeerLost:
                return replace(failure, peer=True)
            return failure

    def interrupt(self) -> None:
        """Break off the present command: Ctrl-C at the driver, or it is of no use any more."""
        self.run.interrupts.note()
        self.network.interrupt()

    def calm(self) -> None:
        """Interrupts so far were for earlier commands."""
        self.run.interrupts.forget()
        self.network.calm()

    def connect(self, command: between.Connect) -> Done:
        """Meet the other nodes."""
        hosts = {number: address.rpartition(":")[0] for number, address in command.addresses.items()}
        self.sharing = list(hosts.values()).count(hosts[self.number])
        self.peers.connect(command.addresses)
        return Done()

    # ------------------------------------------------------------------ definitions

    @property
    def program(self) -> Localised:
        return self._local.program

    def _checked(self, text: ProgramText) -> Checked:
        for key in text.texts:
            if key not in self._parsed:
                self._parsed[key] = Definitions.parsed(*key)
        read = zip(text.texts, text.rules, strict=True)
        programs = tuple(recalled(self._parsed[key], ids) for key, ids in read)
        definitions = Definitions(programs, text.known, text.columns, text.nullable)
        return definitions.check(self.functions, text.stored).maintained

    def _localised(self, text: ProgramText) -> Localised:
        return localise(self._checked(text), text.homes)

    def define(self, command: versions.Define) -> VersionReport:
        """Take on definitions, with facts."""
        version = self._opened(command.now, command.version)
        program = self._localised(command.program)
        moved = self._local.become(version, program)
        deletes, inserts = self._rows(command.deletes), self._rows(command.inserts)
        self._changes = self.run.define_program(
            version, program.checked, inserts, command.touches, moved, deletes
        )
        return self._report(version.statistics)

    def learn(self, command: versions.Learn) -> Done:
        version = self._opened(command.now)
        program = self._localised(command.program)
        self.run.learn_program(version, program.checked, self._local.become(version, program))
        return Done()

    # ------------------------------------------------------------------ versions

    def _opened(self, now: float, number: int = 0) -> Version:
        """The open version; the first command of a version opens it."""
        if self._version is None:
            self._version = Version(number, now)
        self._version.now, self._version.statistics = now, VersionStatistics(number)
        return self._version

    def change(self, command: versions.ChangeRows) -> VersionReport:
        """Delete and insert rows that belong here."""
        version = self._opened(command.now, command.version)
        version.join(self._local)
        deletes, inserts = self._rows(command.deletes), self._rows(command.inserts)
        if command.proceed:
            version.statistics = VersionStatistics(version.number)
            self._changes = self.run.proceed(version, deletes, inserts, command.touches)
            self.run.engine.prepare()
        else:
            self._changes = self.run.change_rows(version, deletes, inserts, command.touches)
        return self._report(version.statistics)

    def _rows(self, tables: Mapping[str, PackedRows]) -> dict[str, Ints]:
        relations = self.program.checked.relations
        return {
            name: unpack(self.codec, packed, relations[name].layout.code_types)
            for name, packed in tables.items()
        }

    def _report(self, statistics: VersionStatistics) -> VersionReport:
        """What the open version did here: how many rows, and the rows where they are few."""
        changes = {}
        for name, change in self._changes.items():
            if not self._untold(name):
                few = sum(change.counts) <= MOST_ROWS_TOLD
                rows = self._changed_rows(name, change) if few else None
                changes[name] = versions.ChangeCount(*change.counts, rows)
        sizes = {
            name: self.run.engine.workspace.relations[name].stored
            for name, info in self.program.checked.relations.items()
            if info.base
        }
        shipped = versions.Shipped(self.peers.messages, self.peers.bytes, self.exchange.shipped)
        return VersionReport(changes, sizes, statistics, shipped, self.run.nbytes, tuple(self.peers.steps))

    def _untold(self, name: str) -> bool:
        """Whether nobody is told by this node what a version did to a relation."""
        info, _ = self._local.spoken.get(name, (None, None))
        return info is None or (info.internal and not info.base) or self._told_by_others(name)

    def _told_by_others(self, name: str) -> bool:
        """Whether all nodes have the relation whole, and the first one speaks for it."""
        return self.number > 0 and self._local.spoken.get(name, (None, None))[1] == EVERYWHERE

    def _changed_rows(self, name: str, change: RowChange) -> versions.ChangedRows:
        types = self._local.spoken[name][0].layout.code_types
        return versions.ChangedRows(
            pack(self.codec, change.gained, types), pack(self.codec, change.lost, types)
        )

    def fetch_change(self, command: versions.FetchChange) -> versions.FetchedChange:
        """The rows that the last version gained and lost in one relation."""
        change = self._changes.get(command.relation)
        if change is None or self._untold(command.relation):
            return versions.FetchedChange(None)
        return versions.FetchedChange(self._changed_rows(command.relation, change))

    def commit(self, command: versions.Commit) -> versions.Committed:
        """Keep the open version."""
        version, self._version = self._version, None
        if version is None:
            return versions.Committed(())
        version.statistics = VersionStatistics()
        version.keep()
        if first_load.ending:
            first_load.ended()
        return versions.Committed(tuple(version.statistics.events))

    def rollback(self, command: versions.Rollback) -> Done:
        """Undo the open version."""
        version, self._version = self._version, None
        if version is not None:
            version.undo()
        self._changes = {}
        return Done()

    # ------------------------------------------------------------------ reading

    def fetch_rows(self, command: reading.FetchRows) -> reading.FetchedRows:
        """The rows of a relation that are held here."""
        name = command.relation
        if self.network.present is not None:
            return reading.FetchedRows(self.network.fetch(name, command.columns, command.values))
        if self._told_by_others(name):
            return reading.FetchedRows(None)
        layout = self.program.checked.relations[name].layout
        types = layout.code_types
        if command.values is None:
            return reading.FetchedRows(pack(self.codec, self.run.matrix(name), types))
        codes = layout.codes(command.columns)
        values = unpack(temporary_codec(self.codec), command.values, [types[code] for code in codes])
        return reading.FetchedRows(pack(self.codec, self.run.matching(name, codes, values), types))

    def count(self, command: reading.Count) -> reading.Counted:
        """How many rows of a relation are held here."""
        name = command.relation
        if self.network.present is not None:
            return reading.Counted(len(self.network.present.rows(name)))
        return reading.Counted(0 if self._told_by_others(name) else self.run.count(name))

    def find(self, command: reading.Find) -> reading.Found:
        """Whether a row is held here."""
        types = self.program.checked.relations[command.relation].layout.code_types
        return reading.Found(self.run.holds(command.relation, unpack(self.codec, command.row, types)))

    def describe(self, command: reading.Describe) -> reading.Description:
        """Sizes, and the join orders of this node."""
        facts = self.run.facts()
        return reading.Description(facts.relations, facts.views)

    def export(self, command: reading.Export) -> reading.Exported:
        """Write the rows of a relation that are held here as a Parquet file, for Spark to read."""
        import pyarrow.parquet as parquet

        if self.network.present is not None:
            return reading.Exported(self.network.export(command))
        if self._told_by_others(command.relation):
            return reading.Exported(None)
        file = Path(command.folder) / f"part-{self.number:05d}.parquet"
        parquet.write_table(self.run.table(command.relation, labels=command.labels), file)
        return reading.Exported(str(file))

    # ------------------------------------------------------------------ durability

    def write_segments(self, command: state.WriteSegments) -> state.SegmentsWritten:
        """Write what changed since the last checkpoint as segments."""
        return self._parts.write(command, self.program)

    def clear(self, command: state.Clear) -> Done:
        self._start(command.options)
        return Done()

    def load(self, command: state.Load) -> VersionReport:
        """Forget everything; then take what belongs here from a checkpoint."""
        self._start(command.options)
        version = Version(0, command.state.now)
        program = self._localised(command.state.program)
        self._local.become(version, program)
        self._parts.load(command.state, program)
        version.keep()
        return self._report(version.statistics)
