"""What comes of any command: it is done, or it has failed, and why."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.errors import Place
from headwater.nodes.messages.message import Message, Reply


@dataclass(frozen=True)
class Done(Reply):
    """It is done."""


@dataclass(frozen=True)
class Fault(Message):
    """An error: the name of its class in `errors`, or of Python's own."""

    kind: str
    code: str
    message: str
    place: Place | None = None
    hint: str | None = None


@dataclass(frozen=True)
class Failure(Reply):
    """It cannot be done. With `peer`, because another node is gone or has failed, which says why itself."""

    fault: Fault
    trace: str = ""
    peer: bool = False
