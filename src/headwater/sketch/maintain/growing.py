"""μ that never shrinks: an over-approximated sketch (section 4.2), and which of its fragments may be needless.

A fragment that was once needed stays. State: a mark for each fragment instead of a count: needed, or *doubtful*, as
rows of the answer that rested on it have gone and nobody counted whether one is left. What is not doubtful is
needed, so that the doubtful fragments are at most what it costs not to shrink.

>>> from headwater.sketch.maintain.fragment_sets import FragmentSets
>>> merge = GrowingMerge(3)
>>> def rows(counts, sets):
...     return AnnotatedRows({}, np.array(counts), FragmentSets.of(sets))
>>> merge.change(rows([1, 1, 1], [{1}, {1}, {0, 1}]))
SketchDelta(gained=frozenset({0, 1}), lost=frozenset())
>>> merge.change(rows([-1], [{0, 1}])), merge.present(), merge.doubtful()
(SketchDelta(gained=frozenset(), lost=frozenset()), [0, 1], [0, 1])
>>> _ = merge.change(rows([1], [{1}]))
>>> merge.present(), merge.doubtful()
([0, 1], [0])
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.sketch.maintain.annotated import AnnotatedRows
from headwater.sketch.maintain.merge import SketchDelta, added_to_fragments

ABSENT, NEEDED, DOUBTFUL = 0, 1, 2


class GrowingMerge:
    """The marks of all fragments."""

    def __init__(self, fragments: int):
        self.state: npt.NDArray[Any] = np.zeros(fragments, np.int8)

    def change(self, rows: AnnotatedRows) -> SketchDelta:
        """Follow a change of the query's annotated result."""
        if not len(rows):
            return SketchDelta(frozenset(), frozenset())
        added = added_to_fragments(rows, len(self.state))
        self.state[(added < 0) & (self.state == NEEDED)] = DOUBTFUL
        gained = np.flatnonzero((added > 0) & (self.state == ABSENT))
        self.state[added > 0] = NEEDED
        return SketchDelta(frozenset(gained.tolist()), frozenset())

    def doubt(self, fragments: Iterable[int] | None = None) -> None:
        """Rows of these fragments (default: of any) have gone, and nobody looks whether the answer rested on them."""
        if fragments is None:
            self.state[self.state == NEEDED] = DOUBTFUL
            return
        doubted = np.array(sorted(fragments), np.int64)
        self.state[doubted[self.state[doubted] == NEEDED]] = DOUBTFUL

    def present(self) -> list[int]:
        """The fragments of the sketch."""
        found: list[int] = np.flatnonzero(self.state).tolist()
        return found

    def doubtful(self) -> list[int]:
        """Those that may be needless."""
        found: list[int] = np.flatnonzero(self.state == DOUBTFUL).tolist()
        return found
