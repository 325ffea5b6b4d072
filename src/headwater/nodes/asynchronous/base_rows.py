"""The base rows of a database whose views are a network of nodes: they are here, in the driver's process.

They are what the network is made of: whoever has lost a node begins a new network with them. Keys, lifetimes and
sizes are worked out here, once, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headwater.local.one_process import OneProcess
from headwater.maintain.base.base_changes import plus
from headwater.plan.steps import Ints
from headwater.rules.checked import Checked
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.row_change import RowChange, without

Moved = tuple[Mapping[str, Ints], Mapping[str, Ints]]
"""Base rows that went, and base rows that came, by relation."""


def base_part(checked: Checked) -> Checked:
    """A program without its views."""
    relations = {name: info for name, info in checked.relations.items() if info.base}
    return replace(checked, relations=relations, strata=(), virtual=(), followed=())


class BaseRows(OneProcess):
    """The base relations of a program, a version at a time."""

    def __init__(self, codec: Codec, functions: Functions):
        super().__init__(codec, functions)

    def rows(self) -> dict[str, Ints]:
        """All rows, as they are now."""
        return {name: self.matrix(name) for name in self.engine.checked.relations if self.count(name)}


def moved(changes: Mapping[str, RowChange]) -> Moved:
    """What went and what came."""
    lost = {name: change.lost for name, change in changes.items() if change.lost.shape[0]}
    gained = {name: change.gained for name, change in changes.items() if change.gained.shape[0]}
    return lost, gained


def taken_back(rows: Mapping[str, Ints], steps: list[Moved]) -> dict[str, Ints]:
    """Rows as they were before these steps."""
    found = dict(rows)
    for lost, gained in reversed(steps):
        for name, more in gained.items():
            if name in found:
                found[name] = without(found[name], more)
        for name, less in lost.items():
            found[name] = plus(found.get(name), less)
    return found
