"""What was done with sketches, and what is advised: as a dictionary and a list, which print as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headwater.calls import public_class
from headwater.notebook import cell, table
from headwater.sketch.advice import Advice
from headwater.sketch.decision import SketchDecision
from headwater.wording import aligned

DONE = ("query", "way", "seconds", "changed", "reason", "sketch")
ADVISED = ("attribute", "safe", "layout", "why")


@public_class
class DecisionTable(dict[str, SketchDecision]):
    """What was done with the sketches of queries, by the names of these."""

    def rows(self) -> list[tuple[str, str, str, str, str, str]]:
        """For each query its name, the way that was taken, the seconds that took, by how many rows its sketch was
        maintained, why, and the sketch that it has now."""
        return [
            (name, done.way, f"{done.seconds:.3f}", f"{done.changed:,}", done.reason, done.sketch)
            for name, done in self.items()
        ]

    def __repr__(self) -> str:
        return aligned(DONE, self.rows(), right={2, 3})

    def _repr_html_(self) -> str:
        return _html(DONE, self.rows(), right={2, 3})


@public_class
class AdviceTable(list[Advice]):
    """Attributes to sketch tables by, the best first."""

    def rows(self) -> list[tuple[str, str, str, str]]:
        """For each attribute whether it is safe, how its table lies by it, and what speaks for or against it."""
        return [(str(each.slot), "yes" if each.is_safe else "no", each.layout, each.why) for each in self]

    def __repr__(self) -> str:
        return aligned(ADVISED, self.rows())

    def _repr_html_(self) -> str:
        return _html(ADVISED, self.rows())


def _html(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    return table(headings, [[cell(text) if text else "" for text in row] for row in rows], right=set(right))
