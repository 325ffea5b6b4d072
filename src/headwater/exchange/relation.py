"""A relation as a peer's users see it: its rows at present, certain ones unless others are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headwater.calls import public_class
from headwater.database import Database
from headwater.database.answers import Answers
from headwater.exchange.border import Border
from headwater.exchange.edit import Row
from headwater.language.mappings.mapping import PeerRelation
from headwater.values import arguments


def without_nulls(answers: Answers) -> Answers:
    """The rows that hold no labelled null: the certain ones."""
    labelled = answers.codec.specials.labelled(answers.matrix)
    return replace(answers, matrix=answers.matrix[~labelled.any(axis=1)]) if answers.columns else answers


def _having(answers: Answers, values: Mapping[str, Any]) -> Answers:
    """The rows that have these values in these columns."""
    places = {answers.columns.index(name): value for name, value in values.items() if name in answers.columns}
    kept = [
        number
        for number, row in enumerate(answers.rows() if places else ())
        if all(row[place] == value for place, value in places.items())
    ]
    return replace(answers, matrix=answers.matrix[kept]) if places else answers


@public_class
@dataclass(frozen=True)
class PeerRelationView:
    """A relation of a peer, or a peer's copy of another's. Row order means nothing."""

    database: Database
    relation: PeerRelation
    output: str
    columns: tuple[str, ...]
    border: Border | None = None

    def where(self, *, nulls: bool = False, **values: Any) -> Answers:
        """The rows that have these values, by column; those with labelled nulls only if asked for."""
        arguments.flag("nulls", nulls)
        stored = self.database[self.output]
        known = dict(zip(self.columns, stored.columns, strict=True))
        asked = {known.get(name, name): each for name, each in values.items()}
        as_stored = self.border is None or self.border.as_stored
        found = stored.where(**(asked if as_stored else {}))
        named = replace(found, layout=replace(found.layout, columns=self.columns))
        if not as_stored and self.border is not None:
            named = _having(self.border.shown(self.relation, named), values)
        return named if nulls else without_nulls(named)

    def rows(self, nulls: bool = False) -> list[Row]:
        """All certain rows; with `nulls` also those with values that nobody knows."""
        return self.where(nulls=nulls).rows()

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    def __len__(self) -> int:
        return len(self.where())

    def __contains__(self, row: object) -> bool:
        """Whether the row is there, labelled nulls or not."""
        if self.border is None:
            return row in self.database[self.output]
        return isinstance(row, tuple) and self.border.holds(self.relation, row)

    def __repr__(self) -> str:
        return f"<{self.relation}({', '.join(self.columns)}), {len(self):,} certain rows>"
