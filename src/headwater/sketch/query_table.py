"""The queries that were asked, and what is kept of each, as a table."""

from __future__ import annotations

from html import escape

from headwater.calls import public_class
from headwater.notebook import cell, strip, table
from headwater.sketch.kept import KeptQuery
from headwater.sketch.sketch import SketchPart
from headwater.wording import aligned

HEADINGS = ("name", "asked", "sketch", "versions", "query")


@public_class
class QueryTable(tuple[KeptQuery, ...]):
    """All queries that were asked, in the order in which they were first. It prints as a table."""

    def rows(self) -> list[tuple[str, int, str, str, str]]:
        """For each query its name, how often it was asked, its newest sketch (or why it has none), the versions that
        this is of, and its text."""
        return [(kept.name, kept.asked, _sketch(kept), _versions(kept), _text(kept)) for kept in self]

    def __repr__(self) -> str:
        return aligned(HEADINGS, [tuple(map(str, row)) for row in self.rows()])

    def _repr_html_(self) -> str:
        rows = [
            (cell(kept.name), cell(kept.asked), _picture(kept), escape(_versions(kept)), cell(_text(kept)))
            for kept in self
        ]
        return table(HEADINGS, rows, right={1})


def _sketch(kept: KeptQuery) -> str:
    return str(kept.newest) if kept.newest else kept.refused or "none"


def _versions(kept: KeptQuery) -> str:
    found = sorted(kept.newest.versions.items()) if kept.newest else []
    return ", ".join(f"{name} at {version}" for name, version in found)


def _text(kept: KeptQuery) -> str:
    return " ".join(kept.text.split())


def _picture(kept: KeptQuery) -> str:
    """The fragments of a sketch as marks in the order of their ranges, those with NULL last."""
    return "<br>".join(map(_part, kept.newest.parts)) if kept.newest else cell(_sketch(kept))


def _part(part: SketchPart) -> str:
    return f"{strip(part.fragments, part.ranges.count)}<br>{escape(str(part))}"
