"""What the driver of a network and its processes say to each other, and how connections between processes begin.

A dataclass for each message, whose fields are values that `value_codec` knows; a message is a byte for its kind and
its fields in order. What comes is checked against the declaration.

>>> decode_control(encode_control(AskRows("reach", 2)))
AskRows(relation='reach', node=2)
"""

from __future__ import annotations

import contextlib
import dataclasses
import hmac
from dataclasses import dataclass
from typing import Any, get_origin, get_type_hints

from headwater.annotations.wire import WireReader, damaged
from headwater.errors import HeadwaterError
from headwater.networks.runtime.value_codec import get_values, put_values
from headwater.networks.transports.tcp.frames import ConnectionGone, Frames

Change = tuple[int, bool, str, tuple[Any, ...]]
"""A base row that is inserted (true) or deleted, with its node and its relation."""
GREETING_PATIENCE = 10.0
"""Seconds within which whoever connects must say who it is."""
MOST_BYTES_OF_A_GREETING = 4096
ALL_NODES = -1
"""In the place of a node's number: all nodes of the process."""


@dataclass(frozen=True)
class JoinNetwork:
    """A process has come to the driver, at its so-manieth start; other processes find it at this port."""

    token: str
    number: int
    attempt: int
    process: int
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
    """Be nodes that hold nothing yet; whatever was said in earlier epochs is of no use. `settings` are the fields of
    `NodeSettings`, `names` the addresses of all nodes, or nothing if rows live by a hash, `links` where the links of
    each one lead, or nothing if there is no topology; node n is in process n modulo the number of processes. Times
    are since `began`, on the driver's clock. `recording` says that messages are remembered, for `AskMessages`."""

    epoch: int
    settings: tuple[Any, ...]
    names: tuple[Any, ...]
    links: tuple[tuple[int, ...], ...]
    nodes: int
    hosts: tuple[str, ...]
    ports: tuple[int, ...]
    began: float
    recording: bool


@dataclass(frozen=True)
class ChangeBase:
    """Base rows of nodes of the process, in order."""

    changes: tuple[Change, ...]


@dataclass(frozen=True)
class StartTimers:
    """The base rows that the nodes begin with are there: timers run from now on."""


@dataclass(frozen=True)
class AskCounters:
    """Tell what was sent and received, once nothing is left to do."""


@dataclass(frozen=True)
class CountersTold:
    """The counters of a wave: those of all nodes of the process."""

    sent: int
    received: int
    bytes: int
    timers: bool
    wants: int
    held: bool


@dataclass(frozen=True)
class BeginStage:
    """All is quiet: a stage begins."""

    stage: int


@dataclass(frozen=True)
class AskRows:
    """Tell the rows of a relation that live at a node."""

    relation: str
    node: int = ALL_NODES


@dataclass(frozen=True)
class RowsTold:
    """Those rows."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class AskDerivations:
    """Tell all ways in which a row follows from what a node has."""

    node: int
    table: int
    row: tuple[Any, ...]


@dataclass(frozen=True)
class DerivationsTold:
    """Those ways: rules by label, and rows of premises with their tables."""

    derivations: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class AskMessages:
    """Tell the messages that were sent, from this one on."""

    first: int


@dataclass(frozen=True)
class MessagesTold:
    """Some of them, as the fields of `CarriedMessage`; with none, there are no more."""

    messages: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class AskWatched:
    """Tell what `watch` has traced at a node."""

    node: int


@dataclass(frozen=True)
class WatchedTold:
    """That, as the fields of `WatchedRow`, in the order in which it happened."""

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
    JoinNetwork | OpenChannel | BeginEpoch | ChangeBase | StartTimers | AskCounters | CountersTold | BeginStage
    | AskRows | RowsTold | AskDerivations | DerivationsTold | AskMessages | MessagesTold | AskWatched | WatchedTold
    | Fine | NotDone
)  # fmt: skip
_KINDS: tuple[type[Any], ...] = (
    JoinNetwork, OpenChannel, BeginEpoch, ChangeBase, StartTimers, AskCounters, CountersTold, BeginStage,
    AskRows, RowsTold, AskDerivations, DerivationsTold, AskMessages, MessagesTold, AskWatched, WatchedTold,
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
    try:
        values = get_values(reader)
    except RecursionError:
        raise damaged("lists within lists without end") from None
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


def greeting(frames: Frames, token: str) -> JoinNetwork | OpenChannel | None:
    """What a connection begins with; `None`, and it is closed, if it shows another token, or none in time."""
    with contextlib.suppress(ConnectionGone, HeadwaterError):
        frames.patience(GREETING_PATIENCE)
        found = decode_control(frames.receive(MOST_BYTES_OF_A_GREETING))
        if isinstance(found, (JoinNetwork, OpenChannel)) and hmac.compare_digest(
            found.token.encode(), token.encode()
        ):
            return found
    frames.close()
    return None
