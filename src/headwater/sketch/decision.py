"""What was decided about a query, why, and what came of it: data; sentences are made by `__str__`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.events import Event
from headwater.notebook import MOST_ROWS, paragraph, rows_table
from headwater.sketch.cost import Way
from headwater.wording import counted


@dataclass(frozen=True)
class SketchDecision:
    """How a query was answered.

    `seconds` is what that took, `predicted` what each way was expected to take before, `read` which share of the
    rows of sketched tables lay in blocks that had to be read, `surplus` which share was read, at most, only because
    the sketch does not shrink, `changed` how many rows the sketch was maintained by.
    """

    way: Way
    reason: str
    query: str
    versions: Mapping[str, int]
    seconds: float = 0.0
    predicted: Mapping[str, float] = field(default_factory=dict)
    read: float = 1.0
    sketch: str = ""
    changed: int = 0
    maintaining: float = 0.0
    surplus: float = 0.0
    events: tuple[Event, ...] = ()
    """What maintenance did once, beyond the change: tables that were read as a whole."""

    @property
    def saved(self) -> float | None:
        """The seconds less than a plain run was expected to take (below 0: more); `None` where none was seen."""
        plain = self.predicted.get("plain")
        return None if plain is None else plain - self.seconds

    def __str__(self) -> str:
        said = f"{self.way}: {self.reason}; {self.seconds:.3f} s"
        if self.way in ("use", "maintain"):
            said += f", {self.read:.1%} of the rows read ({self.sketch})"
        if self.surplus:
            said += f", at most {self.surplus:.1%} of the rows needlessly, as the sketch does not shrink"
        if self.changed:
            said += f", maintained by {counted(self.changed, 'row')} in {self.maintaining:.3f} s"
        said += "".join(f", {event}" for event in self.events)
        if self.saved is not None and self.way != "plain":
            said += f", {abs(self.saved):.3f} s {'less' if self.saved >= 0 else 'more'} than plain"
        return said

    def _repr_html_(self) -> str:
        return paragraph(str(self))


@dataclass(frozen=True)
class SketchAnswer:
    """The rows of a query (an Arrow table, or a DataFrame that stays with Spark), and how they were come by."""

    rows: Any
    decision: SketchDecision

    def _repr_html_(self) -> str:
        said = paragraph(str(self.decision))
        if not hasattr(
            self.rows, "num_rows"
        ):  # a DataFrame, which shows its rows itself, once it is asked to
            return said
        few = self.rows.slice(0, MOST_ROWS)
        rows = [tuple(row.values()) for row in few.to_pylist()]
        return rows_table(few.column_names, few.schema.types, rows, self.rows.num_rows) + said
