"""What is withdrawn goes along with what was said right before it: a row that takes the place of others is one
message (`Replaced`), and so are rows that go together (`Withdrawn`).

P2 overwrites a row that has the key of a new one. Here the new row is supported and the old one withdrawn, in this
order, so that whoever hears of the loss has what takes its place. As long as neither has left the node, a withdrawal
joins the message before it to the same receiver, if that one supports or withdraws rows. Nothing changes its order.

>>> last, outbox = LastTold(), []
>>> for message in (Supported(0, ("a", 5), 1), Supported(0, ("b", 7), 1)):
...     last.sends(outbox, 3, message)
...     outbox.append((3, message))
>>> last.takes(outbox, 3, Withdrawn((1,), 0, ("b", 6), (("b", 6),))), last.takes(outbox, 4, Withdrawn((1,)))
(True, False)
>>> outbox[1][1]
Replaced(relation=0, row=('b', 7), rank=1, numbers=(1,), taken_back=(('b', 6),))
"""

from __future__ import annotations

from dataclasses import replace

from headwater.networks.runtime.messages import Message, Replaced, Supported, Withdrawn

Outbox = list[tuple[int, Message]]


class LastTold:
    """By receiver: where in the outbox the last message to it is, if a withdrawal may join it."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}

    def sends(self, outbox: Outbox, receiver: int, message: Message) -> None:
        """A message is about to be put behind the others."""
        if not outbox:
            self._places.clear()
        if isinstance(message, Supported | Withdrawn):
            self._places[receiver] = len(outbox)
        else:
            self._places.pop(receiver, None)

    def takes(self, outbox: Outbox, receiver: int, withdrawn: Withdrawn) -> bool:
        """Let a withdrawal go along with the last message to its receiver; whether that does."""
        place = self._places.get(receiver) if outbox else None
        if place is None:
            return False
        _, message = outbox[place]
        if isinstance(message, Supported):
            message = Replaced(message.relation, message.row, message.rank, ())
        assert isinstance(message, Replaced | Withdrawn)
        numbers, rows = (*message.numbers, *withdrawn.numbers), (*message.taken_back, *withdrawn.taken_back)
        outbox[place] = receiver, replace(message, numbers=numbers, taken_back=rows)
        return True
