"""A node's part of a checkpoint: what it writes, and what of one belongs to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from headwater.local import persist
from headwater.local.one_process import OneProcess
from headwater.local.table_names import ROWS, TableName
from headwater.nodes.messages.state import SegmentsWritten, StoredState, WriteSegments
from headwater.nodes.owners import Owners
from headwater.plan.steps import Ints
from headwater.rules.placement import EVERYWHERE, Localised
from headwater.store import Checkpoint
from headwater.store.manifest import segment_name
from headwater.store.segments import Segment, SegmentTables, write_segment

SEGMENTS_OF_A_NODE = 10_000
"""File names that a node may use for one checkpoint."""


class CheckpointParts:
    """Of one node."""

    def __init__(self, number: int, run: OneProcess, owners: Owners):
        self._number = number
        self._run = run
        self._owners = owners
        self._generation = -1
        self._written: set[str] = set()
        """What had changed when the last checkpoint was written."""

    def write(self, command: WriteSegments, program: Localised) -> SegmentsWritten:
        """Write what changed since the last checkpoint as segments."""
        engine = self._run.engine
        if self._generation == command.generation:  # the manifest of the last one was never published
            engine.changed |= self._written
        mine = [name for name in map(TableName.parse, command.present) if name.node == self._number]
        reuse = [name for name in mine if name.kind == ROWS and name.relation not in engine.changed]
        without = [str(TableName(name.kind, name.relation)) for name in reuse]
        codec = self._run.codec
        found = persist.dump_relations(engine, codec, without)
        found |= persist.dump_soft_state(self._run.base_changes.soft, engine, codec)
        segments: list[Segment] = []
        for text in found:
            name = TableName.parse(text).of_node(self._number)
            if self._number > 0 and program.homes.get(name.relation) == EVERYWHERE:
                continue
            place = (self._number + 1) * SEGMENTS_OF_A_NODE + len(segments)
            file = segment_name(command.generation, place)
            with codec.budget.lifted():
                segments.append(write_segment(Path(command.folder), file, str(name), found[text]))
        self._generation, self._written = command.generation, set(engine.changed)
        engine.changed.clear()
        progress = self._run.progress()
        strata = tuple(
            persist.identity(engine, view)
            for view in engine.views
            if not (
                view.stratum.recursive
                and any(program.homes.get(name) == EVERYWHERE for name in view.stratum.relations)
            )
        )  # of a copy in a recursion, ranks differ from node to node: such a stratum is derived again when loaded
        return SegmentsWritten(
            tuple(segments),
            tuple(map(str, reuse)),
            progress["clock"],
            tuple(map(tuple, progress["incomplete"])),
            strata,
        )

    def load(self, state: StoredState, program: Localised) -> None:
        """Take what belongs here."""
        known = {
            "now": state.now,
            "clock": state.clock,
            "incomplete": [list(names) for names in state.incomplete],
            "strata": list(state.strata),
        }
        stored = SegmentTables(Path(state.folder), list(state.segments))

        def mine(name: str, rows: Ints, place: int) -> npt.NDArray[np.bool_]:
            home = program.homes.get(name, EVERYWHERE)
            if home.split:
                layout = program.checked.relations[name].layout
                owned: npt.NDArray[np.bool_] = self._owners.of_rows(rows, layout, home.column) == self._number
                return owned
            return np.full(rows.shape[0], home == EVERYWHERE or self._number == 0)

        checkpoint = Checkpoint(state.version, known, stored)
        self._run.load_program(checkpoint, program.checked, mine)
        if not state.reusable:
            self._run.engine.changed.update(program.checked.relations)
