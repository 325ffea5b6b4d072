"""What nodes of a network have said to each other, message by message, in the order in which it was sent."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.transports.carrier import CarriedMessage
from headwater.values.forms import form


@dataclass(frozen=True)
class SentMessage:
    """One message. `relation` and `row` are what it brings, if that is a row: helping relations show as their owner.
    Messages that went as one are its `parts`, whose bytes are those of the whole.

    >>> print(SentMessage(0.002, "a", "b", "Derived", 24, "path", ("b", "c", 5)))
    0.002 s  a -> b  path(b, c, 5)  24 B
    """

    time: float
    sender: str
    receiver: str
    kind: str
    bytes: int
    relation: str | None = None
    row: tuple[object, ...] | None = None
    table: int | None = field(default=None, repr=False)
    """The relation's number in the program, where helping relations have their own."""
    taken_back: tuple[tuple[object, ...], ...] = field(default=(), repr=False)
    """Rows of the relation whose place this one takes."""
    parts: tuple[SentMessage, ...] = ()

    def __str__(self) -> str:
        what = ", ".join(part._what() for part in self.parts) or self._what()
        return f"{self.time:.3f} s  {self.sender} -> {self.receiver}  {what}  {self.bytes} B"

    def _what(self) -> str:
        what = self.kind if self.row is None else f"{self.relation}({', '.join(map(form, self.row))})"
        return f"{self.kind} {what}" if self.row is not None and self.kind != "Derived" else what


def sent_message(plan: NodePlan, names: tuple[str, ...], message: CarriedMessage) -> SentMessage:
    """A message as users see it."""
    ends = names[message.sender], names[message.receiver]
    parts = tuple(sent_message(plan, names, part) for part in message.parts)
    if message.table < 0:
        return SentMessage(message.time, *ends, message.kind, message.bytes, parts=parts)
    relation = plan.relations[message.table]
    shown = relation.owner or relation.name
    return SentMessage(
        message.time,
        *ends,
        message.kind,
        message.bytes,
        shown,
        message.row,
        message.table,
        message.taken_back,
    )
