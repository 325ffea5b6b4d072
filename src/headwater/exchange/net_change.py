"""What some versions together do to the relations that users know: rows that come and go, readable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headwater.exchange.edit import Row
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.mappings.mapping import PeerRelation
from headwater.values.keys import order_key
from headwater.values.label_text import literal
from headwater.version.changes import Changes

MOST_ROWS_SHOWN = 20
"""Rows of a relation that a difference shows."""


@dataclass(frozen=True)
class NetChange:
    """Rows gained and lost, by relation."""

    gained: Mapping[PeerRelation, frozenset[Row]] = field(default_factory=dict)
    lost: Mapping[PeerRelation, frozenset[Row]] = field(default_factory=dict)

    @staticmethod
    def of(changes: Changes, compiled: CompiledMappings, peer: str) -> NetChange:
        """What one version did to the relations of a peer."""
        gained, lost = {}, {}
        for relation in compiled.schemas.of(peer):
            name = compiled.names.output(relation)
            if name in changes:
                change = changes[name]
                gained[relation], lost[relation] = frozenset(change.inserted), frozenset(change.deleted)
        return NetChange(gained, lost)

    @staticmethod
    def together(changes: Iterable[NetChange]) -> NetChange:
        """What versions did, one after another."""
        gained: dict[PeerRelation, set[Row]] = {}
        lost: dict[PeerRelation, set[Row]] = {}
        for change in changes:
            for relation in {*change.gained, *change.lost}:
                came, went = gained.setdefault(relation, set()), lost.setdefault(relation, set())
                for row in change.lost.get(relation, ()):
                    (came.remove if row in came else went.add)(row)
                for row in change.gained.get(relation, ()):
                    (went.remove if row in went else came.add)(row)
        return NetChange(
            {relation: frozenset(rows) for relation, rows in gained.items() if rows},
            {relation: frozenset(rows) for relation, rows in lost.items() if rows},
        )

    def inserted(self, relation: str) -> list[Row]:
        """The rows that a relation gains."""
        return sorted(
            (row for r, rows in self.gained.items() if r.name == relation for row in rows), key=order_key
        )

    def deleted(self, relation: str) -> list[Row]:
        """The rows that a relation loses."""
        return sorted(
            (row for r, rows in self.lost.items() if r.name == relation for row in rows), key=order_key
        )

    def __bool__(self) -> bool:
        return any(self.gained.values()) or any(self.lost.values())

    def __str__(self) -> str:
        lines: list[str] = []
        for relation in sorted({*self.gained, *self.lost}):
            gained, lost = self.gained.get(relation, frozenset()), self.lost.get(relation, frozenset())
            if gained or lost:
                lines.append(f"{relation}: {len(gained)} rows come, {len(lost)} go")
                lines += _shown("+", gained) + _shown("-", lost)
        return "\n".join(lines) or "nothing changes"


Step = tuple[Changes, CompiledMappings]
"""What a version did, and the program that it ran under."""


@dataclass(frozen=True)
class Taking:
    """What taking transactions on did: the versions, and what users see since, where that is not what is stored."""

    peer: str
    steps: tuple[Step, ...] = ()
    shown: NetChange | None = None

    def net(self) -> NetChange:
        """How the peer's relations differ."""
        if self.shown is not None:
            return self.shown
        return NetChange.together(
            NetChange.of(changes, compiled, self.peer) for changes, compiled in self.steps
        )


def _shown(sign: str, rows: frozenset[Row]) -> list[str]:
    shown = [
        f"  {sign} ({', '.join(map(literal, row))})" for row in sorted(rows, key=order_key)[:MOST_ROWS_SHOWN]
    ]
    more = len(rows) - len(shown)
    return [*shown, f"  {sign} ... and {more} more"] if more else shown
