"""Nodes come and go; the driver's orders to those that are there."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.nodes.messages.message import Command, Message, Reply


@dataclass(frozen=True)
class Hello(Message):
    """A node has come. Answered by `Welcome` or `Leave`."""

    attempt: tuple[int, ...]
    number: int
    process: int
    address: str


@dataclass(frozen=True)
class Farewell(Message):
    """A node cannot be one. Answered by `Leave`."""

    attempt: tuple[int, ...]
    number: int
    why: str


@dataclass(frozen=True)
class Welcome(Message):
    """The driver's stream will come."""


@dataclass(frozen=True)
class Leave(Message):
    """Go home; or, with `again`, end as one that failed, so that all nodes are started again."""

    again: bool


@dataclass(frozen=True)
class Beat(Message):
    """A node is alive."""


@dataclass(frozen=True)
class Order(Message):
    """A command with its number. With `commit`, the open version is committed before; some want no outcome."""

    number: int
    command: Command[Reply]
    commit: bool = False
    answered: bool = True


@dataclass(frozen=True)
class Outcome(Message):
    """What came of the order with that number."""

    number: int
    reply: Reply


@dataclass(frozen=True)
class Interrupt(Message):
    """Break off the order with that number."""

    number: int
