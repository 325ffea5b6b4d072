"""A change of base rows that would bring a row about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headwater.calls import public_class
from headwater.errors import HeadwaterError
from headwater.provenance.show.lines import Line
from headwater.provenance.show.wording import Fact, json_fact, ordered
from headwater.version.changes import Changes


@public_class
@dataclass(frozen=True)
class Repair:
    """Rows to insert and to delete, all of base relations, after which the row is there. `free` says that some
    inserted values are examples: others would do."""

    insert: frozenset[Fact]
    delete: frozenset[Fact]
    free: bool = False

    @property
    def size(self) -> int:
        """How many rows change."""
        return len(self.insert) + len(self.delete)

    def arguments(self) -> dict[str, dict[str, list[tuple[Any, ...]]]]:
        """As `apply` and `what_if` take it."""
        return {"insert": _by_relation(self.insert), "delete": _by_relation(self.delete)}

    def __str__(self) -> str:
        parts = [f"insert {fact}" for fact in ordered(self.insert)]
        parts += [f"delete {fact}" for fact in ordered(self.delete)]
        return ", ".join(parts) + (" (or other values)" if self.free else "")

    def line(self) -> Line:
        """The repair in colours."""
        return [("  ", ""), (str(self), "green")]

    def to_json(self) -> dict[str, Any]:
        """The rows as plain data."""
        return {
            kind: [json_fact(fact) for fact in ordered(facts)]
            for kind, facts in (("insert", self.insert), ("delete", self.delete))
        } | {"free": self.free}


def _by_relation(facts: Iterable[Fact]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for fact in ordered(facts):
        found.setdefault(fact.relation, []).append(fact.row)
    return found


def tried(repair: Repair, fact: Fact, suppose: Callable[..., Changes]) -> bool:
    """Whether the row appears with the repair, which is taken back."""
    try:
        changes = suppose(**repair.arguments())
    except HeadwaterError:
        return False
    stopped = any(cost.stopped for cost in changes.statistics.strata)
    return not stopped and fact.row in changes[fact.relation].inserted
