"""What the driver and nodes say to each other: a dataclass for each message. Data only.

A command names the reply that belongs to it: `Count` is a `Command[Counted]`. Fields hold numbers, texts, types,
events, tables, dataclasses of these, and tuples and dictionaries of them; `encoding` turns any message into bytes and
back by its declaration here, and there is no other place where a message's form is written down.

A module holds the messages of one concern; importing the package makes all of them known by their names.

Tables hold rows as values (`row_tables`), one for each relation.

The driver sends an `Order` and waits for the `Outcome` with its number.
"""

from __future__ import annotations

from headwater.nodes.messages import between, coming, network, outcomes, reading, state, versions

__all__ = ["between", "coming", "network", "outcomes", "reading", "state", "versions"]
