"""What nodes of a network have said to each other, message by message, in the order in which it was sent."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.networks.runtime.messages import Derived, Message
from headwater.networks.strands.node_plan import NodePlan
from headwater.values.forms import form

MOST_MESSAGES_KEPT = 1_000_000
"""Of a network that says more, the last ones are kept."""


@dataclass(frozen=True)
class SentMessage:
    """One message. `relation` and `row` are what it brings, if that is a row: helping relations show as their owner.

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

    def __str__(self) -> str:
        what = self.kind if self.row is None else f"{self.relation}({', '.join(map(form, self.row))})"
        return f"{self.time:.3f} s  {self.sender} -> {self.receiver}  {what}  {self.bytes} B"


def sent_message(
    plan: NodePlan,
    names: tuple[str, ...],
    time: float,
    sender: int,
    receiver: int,
    message: Message,
    size: int,
) -> SentMessage:
    """A message as users see it."""
    kind = type(message).__name__
    if not isinstance(message, Derived):
        return SentMessage(time, names[sender], names[receiver], kind, size)
    relation = plan.relations[message.relation]
    shown = relation.owner or relation.name
    return SentMessage(time, names[sender], names[receiver], kind, size, shown, message.row, message.relation)
