"""How sure a peer is of what others say, and who may see it: ratings of peers, rows and mappings, and bounds on them.

    trust from GUS confidence 0.6.            contributions of GUS; of 1 is what nobody rates
    trust through m4 clearance secret.        whatever m4 brings; public is what nobody rates
    distrust B(i, n) below confidence 0.7.    rows, unless they can be derived from nothing that is rated lower

A derivation is as sure as the least sure, and as secret as the most secret, of all that it uses; a row is as its best
derivation is. So a row reaches a bound exactly if it can be derived without what is rated worse: cycles of mappings
add nothing, and a bound is a condition about origins.

>>> Rating("confidence", 0.6).reaches(Rating("confidence", 0.7))
False
>>> Rating("clearance", "public").reaches(Rating("clearance", "secret"))
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from headwater.values.clearance_levels import LEVELS

Scale = OneOf["confidence", "clearance"]
SIDES: dict[Scale, str] = {"confidence": "below", "clearance": "above"}
"""Where what is worse than a bound lies."""


@dataclass(frozen=True)
class Rating:
    """A confidence from 0 to 1, or a level of clearance."""

    scale: Scale
    value: float | str

    def reaches(self, bound: Rating) -> bool:
        """Whether this is as good as a bound; on another scale it always is."""
        if self.scale != bound.scale:
            return True
        if isinstance(self.value, str) or isinstance(bound.value, str):
            return LEVELS.index(str(self.value)) <= LEVELS.index(str(bound.value))
        return self.value >= bound.value

    def __str__(self) -> str:
        return f"{self.scale} {self.value}"
