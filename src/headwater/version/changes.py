"""What one version did, as the user sees it.

>>> import headwater as hw
>>> db = hw.connect()
>>> _ = db.define("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
>>> changes = db.apply(insert={"link": [("a", "b"), ("b", "c")]})
>>> sorted(changes["reach"].inserted)
[('a', 'b'), ('a', 'c'), ('b', 'c')]
>>> changes["reach"].deleted, changes.version
([], 2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from headwater.calls import public_class
from headwater.errors import DataError
from headwater.notebook import MOST_ROWS, cell, folded, heading, paragraph, table
from headwater.rules.checked import RelationInfo
from headwater.values.arguments import relation_name
from headwater.values.codec import Codec
from headwater.values.layout import Layout
from headwater.version.guard import Guard
from headwater.version.row_change import RowChange
from headwater.version.statistics import VersionStatistics

if TYPE_CHECKING:
    import pyarrow as pa

CHANGE_TYPE = "_change_type"


@public_class
class Change:
    """The rows that a relation gained and lost in one version. Decoded when asked for."""

    def __init__(
        self,
        codec: Codec,
        layout: Layout,
        rows: RowChange,
        guard: Guard | None = None,
        went: Layout | None = None,
    ):
        self._codec = codec
        self._layout = layout
        self._went = went or layout
        """That of the rows that are no longer there: a definition may have given other columns."""
        self._rows = rows
        self._guard = guard

    def _known(self) -> RowChange:
        """The rows, worked out if they are not known yet: that reads the relations."""
        if self._guard is None or self._rows.resolved or self._guard.closed:
            return self._rows
        if not self._guard.enter("changes"):
            return self._rows
        try:
            self._rows.resolve()
        finally:
            self._guard.leave()
        return self._rows

    @property
    def inserted(self) -> list[tuple[Any, ...]]:
        """The rows that were not there before."""
        return self._layout.decode(self._codec, self._known().gained)

    @property
    def deleted(self) -> list[tuple[Any, ...]]:
        """The rows that are no longer there."""
        return self._went.decode(self._codec, self._known().lost)

    @property
    def counts(self) -> tuple[int, int]:
        """How many rows were inserted and deleted."""
        rows = self._rows
        return rows.counts if rows.counted else self._known().counts

    def __bool__(self) -> bool:
        return any(self.counts)

    def __len__(self) -> int:
        return sum(self.counts)

    def __repr__(self) -> str:
        inserted, deleted = self.counts
        return f"<{inserted:,} inserted, {deleted:,} deleted>"

    def _repr_html_(self) -> str:
        columns = self._layout.columns
        rows: list[list[str]] = []
        known = self._known()
        for sign, codes, layout in (("+", known.gained, self._layout), ("−", known.lost, self._went)):
            left = MOST_ROWS - len(rows)
            rows += [[sign, *map(cell, row)] for row in layout.decode(self._codec, codes[:left])]
        more = f", {len(rows):,} rows of them shown" if len(self) > len(rows) else ""
        inserted, deleted = self.counts
        return table(
            ["", *map(heading, columns, self._layout.types)],
            rows,
            note=f"{inserted:,} inserted, {deleted:,} deleted{more}",
        )

    def arrow(self, *, labels: bool = False) -> pa.Table:
        """Both as one Arrow table with a column `_change_type`: insert or delete; `labels` adds a column of texts
        for each that can hold a labelled null."""
        import pyarrow as pa

        if CHANGE_TYPE in self._layout.columns:
            raise DataError(
                "reserved-column",
                f"changes are shown with a column {CHANGE_TYPE}, and the relation has one of that name",
                hint="name the relation's column differently, or use inserted and deleted",
            )
        if self._went.types != self._layout.types and all(self.counts):
            raise DataError(
                "type-clash",
                "the rows that went have other types than those that came, and are no table with them",
                hint="use inserted and deleted",
            )
        parts = []
        known = self._known()
        for kind, rows in (("insert", known.gained), ("delete", known.lost)):
            kinds = pa.array([kind] * rows.shape[0], pa.string())
            table = self._layout.table(self._codec, rows, labels=labels)
            named = table.append_column(CHANGE_TYPE, kinds) if self._layout.arity else None
            parts.append(pa.table({CHANGE_TYPE: kinds}) if named is None else named)
        return pa.concat_tables(parts)


@public_class
class Changes(Mapping[str, Change]):
    """The changes of one version by relation. Iterating gives the relations that differ; asking for one that
    does not gives an empty change."""

    def __init__(
        self,
        version: int,
        changes: Mapping[str, Change],
        empty: Mapping[str, Change],
        statistics: VersionStatistics,
        partly: Mapping[str, str] | None = None,
    ):
        self.version = version
        self.statistics = statistics
        self._partly = partly or {}
        """The watched views of which only what somebody listens to was computed, and what that is."""
        self._changes = changes
        if partly:
            self._changes = {name: change for name, change in changes.items() if name not in partly}
        self._empty = empty

    def __getitem__(self, relation: str) -> Change:
        if isinstance(relation, str) and relation in self._partly:
            raise DataError(
                "partly-known",
                f"of {relation} only what is listened to was computed: {self._partly[relation]}",
                hint=f"let the watch tell, or have all computed: db.watch({relation!r}, ..., on='changed'),"
                f" db.keep({relation!r}, 'stored'), or connect(optimise=[...]) without parity and constants",
            )
        found = self._changes.get(relation) if isinstance(relation, str) else None
        return found if found is not None else self._empty[relation_name(relation)]

    def __contains__(self, relation: object) -> bool:
        return isinstance(relation, str) and bool(self._changes.get(relation))

    def __iter__(self) -> Iterator[str]:
        return (name for name, change in self._changes.items() if change)

    def __len__(self) -> int:
        return sum(bool(change) for change in self._changes.values())

    def __repr__(self) -> str:
        parts = [f"{name}: {change!r}" for name, change in self.items()]
        parts += [f"{name}: known to those who listen" for name in self._partly]
        inside = ", ".join(parts)
        return f"<version {self.version}: {inside or 'no change'}>"

    def _repr_html_(self) -> str:
        counts = {name: change.counts for name, change in self.items()}
        rows = [
            [escape(name), f"+{inserted:,}", f"−{deleted:,}"] for name, (inserted, deleted) in counts.items()
        ]
        note = f"version {self.version}, {self.statistics.seconds * 1e3:,.1f} ms"
        if not rows:
            return paragraph(f"{note}: no change")
        shown = table(["relation", "inserted", "deleted"], rows, right={1, 2}, note=note)
        return shown + "".join(
            folded(f"rows of {name}", change._repr_html_()) for name, change in self.items()
        )


class Relations(Protocol):
    """What is defined: relations by name."""

    @property
    def relations(self) -> tuple[str, ...]:
        """Their names."""
        ...

    def info(self, name: str) -> RelationInfo:
        """A relation's columns and types; refused if it is not there."""
        ...


class EmptyChanges(Mapping[str, Change]):
    """An empty change for each relation that is defined now; raises for any other name."""

    def __init__(self, codec: Codec, defined: Callable[[], Relations]):
        self._codec = codec
        self._defined = defined

    def __getitem__(self, relation: str) -> Change:
        layout = self._defined().info(relation).layout
        return Change(self._codec, layout, RowChange(layout.empty(), layout.empty()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._defined().relations)

    def __len__(self) -> int:
        return len(self._defined().relations)


class ShownChanges(Mapping[str, Change]):
    """Changes of base relations and views, as users see them: made when somebody first looks at any."""

    def __init__(
        self,
        codec: Codec,
        relations: Mapping[str, RelationInfo],
        changes: Mapping[str, RowChange],
        guard: Guard | None = None,
        before: Mapping[str, RelationInfo] | None = None,
    ):
        self._asked = partial(shown_changes, codec, relations, changes, guard, before)

    @cached_property
    def _shown(self) -> dict[str, Change]:
        return self._asked()

    def __getitem__(self, relation: str) -> Change:
        return self._shown[relation]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shown)

    def __len__(self) -> int:
        return len(self._shown)


def shown_changes(
    codec: Codec,
    relations: Mapping[str, RelationInfo],
    changes: Mapping[str, RowChange],
    guard: Guard | None = None,
    before: Mapping[str, RelationInfo] | None = None,
) -> dict[str, Change]:
    """Changes of base relations and views; those that leave the database are read through its guard. `before` are the
    relations of before the version, if it defined some."""
    shown = {}
    for name, change in changes.items():
        info = relations.get(name)
        if info is not None and not info.internal:
            was = before.get(name) if before is not None else None
            other = was is not None and None not in was.types and was.types != info.types
            shown[name] = Change(codec, info.layout, change, guard, was.layout if was and other else None)
    return shown
