"""What was given to the nodes of a network, as whoever drives them remembers it: to give it again, or to a twin.

Rows are kept as their node keeps them (`given_rows`): by key, lifetime and size. Events happen, and are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headwater.errors import DataError
from headwater.networks.runtime.directory import FIRST, Directory
from headwater.networks.runtime.given_rows import GivenRows
from headwater.networks.runtime.row_table import Row
from headwater.networks.strands.node_plan import NodePlan


class GivenChange(NamedTuple):
    """A row of a base relation (by its number in the plan) that comes to its node, or goes."""

    comes: bool
    node: int
    number: int
    row: Row


class GivenToNodes:
    """The rows that the nodes of a plan were given."""

    def __init__(self, plan: NodePlan, directory: Directory):
        self._plan = plan
        self._directory = directory
        self._checks = GivenRows(plan)
        self._nodes = [GivenRows(plan) for _ in range(directory.nodes)]

    def checked(self, comes: bool, relation: str, row: Row) -> GivenChange:
        """A change, with the row in canonical form; refused if it is none of this network's."""
        plan = self._plan
        number = plan.numbers.get(plan.program.given.get(relation, relation))
        if number is None or not plan.relations[number].base:
            raise DataError("unknown-relation", f"{relation} is no base relation of this network")
        checked = self._checks.checked(number, row)
        column = plan.relations[number].location
        node = FIRST if column is None else self._directory.node(checked[column])
        if node is None:
            raise DataError("no-such-node", f"{relation}{checked} lives at an address that no node has")
        return GivenChange(comes, node, number, checked)

    def name(self, change: GivenChange) -> str:
        """The name of its relation at nodes."""
        return self._plan.relations[change.number].name

    def take_down(self, change: GivenChange, now: float) -> None:
        """Remember a change."""
        node = self._nodes[change.node]
        if self._plan.relations[change.number].event:
            return
        if change.comes:
            node.insert(change.number, change.row, now)
        else:
            node.delete(change.number, change.row)

    def events(self, changes: Iterable[GivenChange]) -> list[GivenChange]:
        """Those of them that are not kept."""
        return [change for change in changes if self._plan.relations[change.number].event]

    def there(self, now: float, node: int | None = None) -> Iterator[tuple[str, Row]]:
        """The rows that are there, with the names of their relations: all, or those of a node."""
        for given in self._nodes if node is None else [self._nodes[node]]:
            for number, row in given.there(now):
                yield self._plan.relations[number].name, row
