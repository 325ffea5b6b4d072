"""Nodes that do not wait for each other: a network of views, what happens to it, and whether it is quiet."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pyarrow as pa

from headwater.nodes.messages.message import Command, Message, Reply, Tables
from headwater.nodes.messages.outcomes import Done
from headwater.nodes.messages.versions import ProgramText, VersionReport


@dataclass(frozen=True)
class BeginNetwork(Command[Done]):
    """Be a node of a new network, which holds nothing yet. `epoch` tells its messages from those of earlier ones.
    With `aside`, the network from before the version is put aside, else all are forgotten."""

    program: ProgramText
    strategy: str
    epoch: int
    most_derivations: int
    aside: bool = False


@dataclass(frozen=True)
class EndVersion(Command[Done]):
    """The network that was put aside is forgotten; or, with `back`, it is the present one again."""

    back: bool = False


@dataclass(frozen=True)
class ChangeNetwork(Command[Done]):
    """Base rows of this node are no more, and others are there from now on."""

    deletes: Tables = field(default_factory=dict)
    inserts: Tables = field(default_factory=dict)

    def given(self, deletes: Tables, inserts: Tables) -> ChangeNetwork:
        """With the rows for one node."""
        return replace(self, deletes=deletes, inserts=inserts)


@dataclass(frozen=True)
class CountMessages(Command["MessageCounts"]):
    """Tell what was sent and received, once nothing is left to do."""


@dataclass(frozen=True)
class MessageCounts(Reply):
    """Since the network began; `timers` if the node waits for a time to pass, and the stage that it waits for."""

    sent: int
    received: int
    timers: bool
    wants: int


@dataclass(frozen=True)
class Quieten(Command[Done]):
    """No node has anything to do, and no message is under way: this stage begins (`networks.annotated.stages`)."""

    stage: int


@dataclass(frozen=True)
class ReportNetwork(Command[VersionReport]):
    """Tell what has happened to views since this was last asked; with `whole`, against the network put aside."""

    whole: bool = False


@dataclass(frozen=True)
class MessageBatch(Message):
    """What one node says to another: messages of the network's own codec, in order, in a column of bytes."""

    epoch: int
    messages: pa.Table
