"""What any message is, what a command is and what answers it."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

import pyarrow as pa

from headwater.values.types import Type

Types = tuple[Type | None, ...]
Tables = dict[str, pa.Table]
"""Rows by relation."""


class Message:
    """Anything that is sent."""

    kinds: ClassVar[dict[str, type[Message]]] = {}
    """All messages by name."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Message.kinds[cls.__name__] = cls


class Reply(Message):
    """What a node answers to a command."""


Answer = TypeVar("Answer", bound=Reply)


class Command(Message, Generic[Answer]):
    """What all nodes are told to do, each with the rows that concern it; answered by an `Answer` or a `Failure`."""
