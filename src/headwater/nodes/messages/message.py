"""What any message is, what a command is and what answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import pyarrow as pa

from headwater.values.types import Type

Types = tuple[Type | None, ...]


@dataclass(frozen=True)
class PackedRows:
    """Rows as they travel, made by `row_tables`: a few that consist of plain numbers as these, row by row; others as
    a table of values."""

    width: int
    numbers: bytes | None
    table: pa.Table | None


Tables = dict[str, PackedRows]
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
