"""What nodes say to each other: a frozen dataclass for each kind of message, and one codec for all of them.

In the simulator messages are passed as they are, and only measured; on real transports they are bytes. Variables are
numbers that tell their owner (see `annotated/variables`). A new kind is a dataclass here, its fields among those that
`message_codec` knows.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.networks.runtime.row_table import Row

Terms = tuple[tuple[int, ...], ...]
"""A positive Boolean expression by its minimal terms, each a tuple of variables in order."""


@dataclass(frozen=True, slots=True)
class Derived:
    """`t`: a row of a relation (by its number in the program) that belongs to the receiver, and what it rests on."""

    relation: int
    row: Row
    terms: Terms


@dataclass(frozen=True, slots=True)
class Gone:
    """`d`: this variable is false for ever, until its owner gives the number again."""

    variable: int


@dataclass(frozen=True, slots=True)
class SeenDeletions:
    """`v`: how many deletions of each owner the sender has seen, and whose tombstones it has dropped up to which."""

    seen: tuple[tuple[int, int], ...]
    dropped: tuple[tuple[int, int], ...]


Message = Derived | Gone | SeenDeletions
