"""What the driver of a network and its processes say to each other, and how connections between processes begin.

A dataclass for each message, whose fields are values that `value_codec` knows; a message is a byte for its kind and
its fields in order. What comes is checked against the declaration.

>>> decode_control(encode_control(AskRows("reach")))
AskRows(relation='reach')
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, get_origin, get_type_hints

from headwater.annotations.wire import WireReader, damaged
from headwater.networks.runtime.value_codec import get_values, put_values

Change = tuple[str, tuple[Any, ...]]
"""A base row, with its relation."""


@dataclass(frozen=True)
class JoinNetwork:
    """A process has come to the driver; other processes find it at this port."""

    token: str
    number: int
    host: str
    port: int


@dataclass(frozen=True)
class OpenChannel:
    """A process will send messages of an epoch over this connection, and nothing else."""

    token: str
    number: int
    epoch: int


@dataclass(frozen=True)
class BeginEpoch:
    """Be a node that holds nothing yet; whatever was said in earlier epochs is of no use. `names` are the addresses
    of nodes, or nothing if rows live by a hash."""

    epoch: int
    text: str
    scheme: str
    names: tuple[Any, ...]
    hosts: tuple[str, ...]
    ports: tuple[int, ...]


@dataclass(frozen=True)
class ChangeBase:
    """Base rows of the node, in order: inserted (true) or deleted."""

    changes: tuple[tuple[bool, str, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class AskCounters:
    """Tell what was sent and received, once nothing is left to do."""


@dataclass(frozen=True)
class CountersTold:
    """The counters of a wave."""

    sent: int
    received: int
    timers: bool
    wants: int


@dataclass(frozen=True)
class BeginStage:
    """All is quiet: a stage begins."""

    stage: int


@dataclass(frozen=True)
class AskRows:
    """Tell the rows of a relation that live here."""

    relation: str


@dataclass(frozen=True)
class RowsTold:
    """Those rows."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Fine:
    """It is done."""


@dataclass(frozen=True)
class NotDone:
    """It cannot be done: the kind of error, its code and what it says."""

    kind: str
    code: str
    message: str


Control = (
    JoinNetwork | OpenChannel | BeginEpoch | ChangeBase | AskCounters | CountersTold | BeginStage | AskRows | RowsTold
    | Fine | NotDone
)  # fmt: skip
_KINDS: tuple[type[Any], ...] = (
    JoinNetwork, OpenChannel, BeginEpoch, ChangeBase, AskCounters, CountersTold, BeginStage, AskRows, RowsTold,
    Fine, NotDone,
)  # fmt: skip


def encode_control(message: Control) -> bytes:
    """The message as bytes."""
    out = bytearray([_KINDS.index(type(message))])
    put_values(out, tuple(getattr(message, field.name) for field in dataclasses.fields(message)))
    return bytes(out)


def decode_control(data: bytes) -> Control:
    """The message that these bytes are."""
    if not data or data[0] >= len(_KINDS):
        raise damaged("no such message")
    kind = _KINDS[data[0]]
    reader = WireReader(data, data[0])
    values = get_values(reader)
    reader.end()
    hints = get_type_hints(kind)
    fields = dataclasses.fields(kind)
    if len(values) != len(fields):
        raise damaged(f"{kind.__name__} has {len(fields)} fields, not {len(values)}")
    for field, value in zip(fields, values, strict=True):
        expected = get_origin(hints[field.name]) or hints[field.name]
        if type(value) is not expected:
            raise damaged(f"{field.name} of {kind.__name__} is no {expected.__name__}")
    message: Control = kind(*values)
    return message
