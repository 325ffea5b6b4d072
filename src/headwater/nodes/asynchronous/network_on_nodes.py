"""Nodes that do not wait for each other, as their driver sees them: one network, begun, changed, waited for.

A network is made of a program and its base rows. Each change goes to the nodes where its rows live, and has been
followed when all are quiet: two waves of equal counters (`node_loop`). What it did to views is asked of the nodes
then. All that a network says carries its epoch, so what is left of an earlier one does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headwater.catalog import Catalog
from headwater.networks.annotated.stages import QuietStage
from headwater.networks.runtime.directory import FIRST, Hashed
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.network_program import NetworkProgram
from headwater.networks.transports.node_loop import Counters, settle
from headwater.nodes.asynchronous.base_rows import Moved
from headwater.nodes.messages.message import Tables
from headwater.nodes.messages.network import (
    BeginNetwork,
    ChangeNetwork,
    CountMessages,
    Quieten,
    ReportNetwork,
)
from headwater.nodes.messages.state import Clear, EngineOptions
from headwater.nodes.messages.versions import ProgramText, VersionReport
from headwater.nodes.nodes import Nodes
from headwater.nodes.row_tables import pack
from headwater.plan.steps import Ints
from headwater.rules.checked import Checked
from headwater.rules.kinds import refuse_watched
from headwater.values.codec import Codec

DERIVATIONS_OF_A_ROUND = 1000
"""A node may make so many derivations in a version for each round that `max_rounds` allows."""


@dataclass(frozen=True)
class HostedProgram:
    """A program as it runs on nodes: its text, and where each base relation lives."""

    text: ProgramText
    checked: Checked
    local: NetworkProgram

    @classmethod
    def of(cls, catalog: Catalog, stored: Callable[[str], bool]) -> HostedProgram:
        """The program of a catalog; refused if a network cannot run it."""
        checked = catalog.program.maintained
        refuse_watched(checked)
        definitions = catalog.definitions
        base = {name: info for name, info in checked.relations.items() if info.base}
        text = ProgramText(
            texts=tuple((program.text, program.source) for program in definitions.programs),
            rules=tuple(map(tuple, definitions.rules())),
            known=dict(definitions.known),
            columns={name: tuple(columns) for name, columns in definitions.columns.items()},
            nullable=dict(definitions.nullable),
            stored={info.owner or name: info.types for name, info in base.items() if stored(name)},
            homes={},
        )
        return cls(text, checked, compile_program(checked))


class NetworkOnNodes:
    """The network that nodes run now."""

    def __init__(self, codec: Codec, nodes: Nodes, options: EngineOptions):
        self.waves = 0
        """How many waves it took until the last change was followed."""
        self._codec, self._nodes, self._options = codec, nodes, options
        self._directory = Hashed(nodes.size)
        self._epoch = 0

    def begin_empty(self, program: HostedProgram) -> list[VersionReport]:
        """Have a network without base rows, on nodes that forget all they had."""
        self._nodes.ask(Clear(self._options))
        return self.begin(program, {})

    def begin(
        self, program: HostedProgram, rows: Mapping[str, Ints], *, aside: bool = False
    ) -> list[VersionReport]:
        """Have a new network, made of these base rows; what it differs in from the one that is put aside."""
        self._epoch += 1
        most = min(self._options.max_rounds * DERIVATIONS_OF_A_ROUND, 1 << 62)
        self._nodes.ask(BeginNetwork(program.text, self._options.strategy, self._epoch, most, aside))
        self._send(program, {}, rows)
        self._settle()
        return self._nodes.ask(ReportNetwork(whole=True))

    def change(self, program: HostedProgram, step: Moved) -> list[VersionReport]:
        """Have the network follow base rows that went and came; what that did."""
        self._send(program, *step)
        self._settle()
        return self._nodes.ask(ReportNetwork())

    def _send(self, program: HostedProgram, deletes: Mapping[str, Ints], inserts: Mapping[str, Ints]) -> None:
        parts = zip(self._split(program, deletes), self._split(program, inserts), strict=True)
        self._nodes.ask_each([ChangeNetwork(*part) for part in parts])

    def _split(self, program: HostedProgram, rows: Mapping[str, Ints]) -> list[Tables]:
        """For each node, the rows that live there."""
        tables: list[Tables] = [{} for _ in range(self._nodes.size)]
        for name, codes in rows.items():
            if not codes.shape[0]:
                continue
            layout = program.checked.relations[name].layout
            column = program.local.relations[name].location
            if column is None:
                owners = np.full(codes.shape[0], FIRST)
            else:
                values = layout.decode_column(self._codec, column, codes[:, layout.code(column)])
                owners = np.array([self._directory.node(value) for value in values], np.int64)
            for node in range(self._nodes.size):
                part = np.ascontiguousarray(codes[owners == node])
                if part.shape[0]:
                    tables[node][name] = pack(self._codec, part, layout.code_types)
        return tables

    def _settle(self) -> None:
        self.waves = 0

        def wave() -> Sequence[Counters]:
            self.waves += 1
            self._nodes.interrupts.check()
            counts = self._nodes.ask(CountMessages())
            return [
                Counters(part.sent, part.received, part.timers, QuietStage(part.wants), part.timers)
                for part in counts
            ]

        def begin(stage: QuietStage) -> None:
            self._nodes.ask(Quieten(int(stage)))

        settle(wave, begin)
