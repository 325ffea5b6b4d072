"""What a peer does to its own relations, as data: edits, in transactions that stand or fall together.

A transaction has a number, from 1 on, without gaps, for each peer: its place in the peer's log. It depends on
transactions (of any peer) whose rows it has changed; a peer that rejects one of these rejects it as well.

>>> first = Transaction(TransactionId("GUS", 1), (Edit("+", "G", (3, 5, 2)),))
>>> str(first.id), str(first.edits[0])
('GUS:1', '+ G(3, 5, 2)')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headwater.errors import ExchangeError
from headwater.values.label_text import literal

EditSign = Literal["+", "-"]
Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """A row that a peer's user inserts (`+`) into one of the peer's relations, or deletes (`-`)."""

    sign: EditSign
    relation: str
    row: Row

    def __str__(self) -> str:
        return f"{self.sign} {self.relation}({', '.join(map(literal, self.row))})"


@dataclass(frozen=True)
class PolicyEdit:
    """A trust condition that a peer states (`+`) or takes back (`-`), as its text.

    Policies travel with edits: data that one peer passes on to another has passed both peers' conditions.
    """

    sign: EditSign
    condition: str

    def __str__(self) -> str:
        return f"{self.sign} {self.condition}"


@dataclass(frozen=True, order=True)
class TransactionId:
    """The transaction of a peer at a place of its log."""

    peer: str
    number: int

    def __str__(self) -> str:
        return f"{self.peer}:{self.number}"

    @staticmethod
    def parse(text: str) -> TransactionId:
        """What `str` wrote."""
        peer, _, number = text.rpartition(":")
        if not peer or not number.isdecimal():
            raise ExchangeError(
                "transaction-id", f"{text!r} is not the id of a transaction", hint="write GUS:3"
            )
        return TransactionId(peer, int(number))


@dataclass(frozen=True)
class Transaction:
    """Edits of one peer that stand or fall together, in order; and what it says about trust meanwhile."""

    id: TransactionId
    edits: tuple[Edit, ...] = ()
    depends: tuple[TransactionId, ...] = ()
    policy: tuple[PolicyEdit, ...] = ()
