"""The relations of a database: their names, and what there is to say about each as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from headwater.calls import public_class
from headwater.notebook import table
from headwater.rules.checked import RelationInfo
from headwater.wording import aligned

if TYPE_CHECKING:
    import pyarrow as pa

HEADINGS = ("relation", "kind", "columns", "rows")


@public_class
class RelationTable(tuple[str, ...]):
    """The names of all base relations and views, in the order in which they were first mentioned.

    It prints as a table; `rows()` and `arrow()` give that as data. A virtual view has no rows until somebody asks.
    """

    _infos: Sequence[RelationInfo]
    _count: Callable[[str], int]

    @classmethod
    def of(cls, infos: Iterable[RelationInfo], count: Callable[[str], int]) -> RelationTable:
        """Of these relations; `count` tells how many rows a stored one has now."""
        infos = tuple(infos)
        found = cls(info.name for info in infos)
        found._infos, found._count = infos, count
        return found

    def rows(self) -> list[tuple[str, str, str, int | None]]:
        """For each relation its name, kind, columns with types, and number of rows (`None` if it is not stored)."""
        return [
            (
                info.name,
                info.kind_shown,
                info.described,
                self._count(info.name) if info.kept else None,
            )
            for info in self._infos
        ]

    def arrow(self) -> pa.Table:
        """The same as an Arrow table."""
        import pyarrow as pa

        rows = self.rows()
        return pa.table({heading: [row[place] for row in rows] for place, heading in enumerate(HEADINGS)})

    def _texts(self) -> list[tuple[str, ...]]:
        return [(*row[:3], "" if row[3] is None else f"{row[3]:,}") for row in self.rows()]

    def __repr__(self) -> str:
        return aligned(HEADINGS, self._texts(), right={len(HEADINGS) - 1})

    def _repr_html_(self) -> str:
        rows = [[escape(text) for text in row] for row in self._texts()]
        return table(HEADINGS, rows, right={3})
