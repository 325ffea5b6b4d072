"""What a log of edits comes to: for each row of a peer whether its users have inserted it, rejected it, or neither.

    insert (+)   from any state: inserted; a rejection ends
    delete (-)   of an inserted row: neither. Only the contribution goes; a copy that others send stays visible
                 of any other row: rejected, also if it is not visible: the state follows from the log alone

Contributions and rejections are disjoint. A log may be cut to its last `+` and two `-` after it, but pairs that seem
to cancel each other may not be left out: `- +` ends in a contribution.

>>> from headwater.exchange.edit import Edit
>>> edits = [Edit("-", "B", (3, 2)), Edit("-", "B", (3, 5)), Edit("+", "B", (3, 5))]
>>> settled(edits, {("B", (3, 2)): RowState.NOTHING}.get)
{('B', (3, 2)): <RowState.REJECTED: 'rejected'>, ('B', (3, 5)): <RowState.INSERTED: 'inserted'>}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from headwater.exchange.edit import Edit, Row

RowKey = tuple[str, Row]
"""A relation of the peer, and a row of it."""


class RowState(Enum):
    """What a peer's users have made of a row."""

    NOTHING = "nothing"
    INSERTED = "inserted"
    REJECTED = "rejected"


def settled(edits: Iterable[Edit], before: Callable[[RowKey], RowState | None]) -> dict[RowKey, RowState]:
    """The states of the rows that edits name, once all are done; `before` is asked only where it matters."""
    found: dict[RowKey, RowState] = {}
    for edit in edits:
        key = (edit.relation, edit.row)
        if edit.sign == "+":
            found[key] = RowState.INSERTED
            continue
        state = found[key] if key in found else before(key)
        found[key] = RowState.NOTHING if state is RowState.INSERTED else RowState.REJECTED
    return found
