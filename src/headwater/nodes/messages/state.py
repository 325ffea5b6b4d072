"""What outlives nodes: options and a checkpoint to begin with, segments to write."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.nodes.messages.message import Command, Message, Reply
from headwater.nodes.messages.outcomes import Done
from headwater.nodes.messages.versions import ProgramText, VersionReport
from headwater.store.segments import Segment


@dataclass(frozen=True)
class EngineOptions(Message):
    """What `connect` was told about how to evaluate."""

    strategy: str = "support"
    max_rounds: int = 1_000_000
    at_max_rounds: str = "raise"
    memory: int | str | None = None
    rank_filter: bool = True


@dataclass(frozen=True)
class StoredState(Message):
    """A checkpoint: its program, its segments, and what it knows besides rows. `reusable` if the nodes that wrote it
    held the same parts, so that segments of relations that do not change need not be written again."""

    program: ProgramText
    version: int
    now: float
    clock: int
    incomplete: tuple[tuple[str, ...], ...]
    strata: tuple[str, ...]
    folder: str
    segments: tuple[Segment, ...]
    reusable: bool


@dataclass(frozen=True)
class Clear(Command[Done]):
    """Forget everything, and begin with nothing."""

    options: EngineOptions


@dataclass(frozen=True)
class Load(Command[VersionReport]):
    """Forget everything, and take what belongs to the node from a checkpoint."""

    options: EngineOptions
    state: StoredState


@dataclass(frozen=True)
class WriteSegments(Command["SegmentsWritten"]):
    """Write what changed since the last checkpoint as segments. `present` are the tables that this one had."""

    folder: str
    generation: int
    present: tuple[str, ...]


@dataclass(frozen=True)
class SegmentsWritten(Reply):
    """New segments, tables whose old ones still hold, and what a checkpoint knows besides rows."""

    segments: tuple[Segment, ...]
    reuse: tuple[str, ...]
    clock: int
    incomplete: tuple[tuple[str, ...], ...]
    strata: tuple[str, ...]
