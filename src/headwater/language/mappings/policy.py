"""Trust conditions as data: what a peer will not have, and how it ranks what it will (green-2007, sections 2.2, 3.3).

    distrust B(i, n) from GUS if n >= 3.      rows that cannot be derived without data of GUS
    distrust B(i, n) by m4 if n != 2.         rows that the mapping m4 brings, unless another brings them too
    distrust from U(2, 5).                    whatever cannot be derived without this row of uBio's
    distrust through m1.                      whatever cannot be derived without the mapping m1
    trust B(i, n) from uBio priority 3.       in a conflict, above what has a lower priority
    trust from GUS confidence 0.6.            how sure data of GUS is (see `rating`)
    distrust B(i, n) below confidence 0.7.    rows that cannot be derived from what is at least so sure

A condition without a relation holds for all relations of the peer. What no condition names is trusted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf

from headwater.errors import Place
from headwater.language.mappings.rating import Rating
from headwater.language.program import Atom, Literal

Stance = OneOf["trust", "distrust"]
DEFAULT_PRIORITY = 1
"""Of what a `trust` condition without a number names, and of all rows where a peer has no such conditions."""

HIGHEST_PRIORITY = 1_000_000_000
"""That a condition can give: below that of a peer's own rows."""


@dataclass(frozen=True)
class TrustCondition:
    """One condition. `atom` names rows of the peer; `from_peer`, `from_row` and `through` say where their data came
    from, `by` the mapping that brings them; `guard` are conditions on the variables of the atom. One with a `rating`
    rates an origin and ranks nothing; `bound` is the worst rating that origins of rows may have."""

    stance: Stance
    atom: Atom | None = None
    from_peer: str | None = None
    from_row: Atom | None = None
    through: str | None = None
    by: str | None = None
    guard: tuple[Literal, ...] = ()
    priority: int = DEFAULT_PRIORITY
    rating: Rating | None = None
    bound: Rating | None = None
    text: str = field(default="", compare=False)
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def ranks(self) -> bool:
        """Whether it gives rows a priority."""
        return self.stance == "trust" and self.rating is None

    @property
    def rejects(self) -> bool:
        """Whether what it names, and no condition of a higher priority does, is rejected."""
        return self.ranks and self.priority == 0

    def __str__(self) -> str:
        return self.text
