"""What would become of a network: routes before and after, without anything happening to it.

The network as it is now is made again in the simulator, comes to rest, and there what is asked about happens. So what
it costs is told too, and the network itself goes on as if nobody had asked, wherever its nodes are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from headwater.networks.runtime.row_table import Row
from headwater.values.forms import form


@dataclass(frozen=True)
class RowsChanged:
    """The rows of a relation that are there no more, and those that are there instead."""

    gone: tuple[Row, ...]
    come: tuple[Row, ...]

    def pairs(self) -> Iterator[tuple[Row | None, Row | None]]:
        """Rows before and after: those that begin with the same two values belong together, one to one.

        >>> list(RowsChanged((("a", "b", 5),), (("a", "b", 9), ("a", "c", 1))).pairs())
        [(('a', 'b', 5), ('a', 'b', 9)), (None, ('a', 'c', 1))]
        """
        waiting: dict[Row, list[Row]] = {}
        for row in self.come:
            waiting.setdefault(row[:2], []).append(row)
        for row in self.gone:
            others = waiting.get(row[:2])
            yield row, others.pop(0) if others else None
        for rows in waiting.values():
            yield from ((None, row) for row in rows)


@dataclass(frozen=True)
class NetworkWhatIf:
    """What would change, by relation, and what it would take."""

    changes: Mapping[str, RowsChanged]
    seconds: float
    messages: int
    bytes: int

    def __str__(self) -> str:
        lines = [f"{self.messages:,} messages, {self.bytes:,} bytes, {self.seconds:.3f} s"]
        for relation, changed in self.changes.items():
            lines.append(f"{relation}: {len(changed.gone):,} rows gone, {len(changed.come):,} come")
            for before, after in changed.pairs():
                lines.append(f"  {_shown(before)} -> {_shown(after)}")
        return "\n".join(lines)


def rows_changed(before: Iterable[Row], after: Iterable[Row]) -> RowsChanged:
    """The difference of two sets of rows, in order."""
    was, now = set(before), set(after)
    return RowsChanged(_ordered(was - now), _ordered(now - was))


def _ordered(rows: set[Row]) -> tuple[Row, ...]:
    try:
        return tuple(sorted(rows))
    except TypeError:
        return tuple(sorted(rows, key=repr))


def _shown(row: Row | None) -> str:
    return "nothing" if row is None else f"({', '.join(map(form, row))})"
