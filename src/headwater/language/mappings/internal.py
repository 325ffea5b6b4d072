"""The internal schema of a confederation (green-2007, section 3.1): what the relations of its program are called.

For a relation B of the peer BioSQL: `BioSQL_B_l` local contributions, `BioSQL_B_r` rejections, `BioSQL_B_x` rows that
reconciliation withholds, `BioSQL_B_t` what mappings bring and trust conditions let in, `BioSQL_B_o` the output, which
is what users see. For a mapping m1: `m1_p`, its provenance relation, with a column for each variable of its body.

An *exclusion* says which data a copy of all this does without (`reference point: trust by origin`); copies other than
the first are numbered, `BioSQL_B_o2`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal as OneOf

from headwater.errors import RuleError
from headwater.language.mappings.mapping import PeerRelation

MOST_EXCLUSIONS = 32
"""Copies of the confederation that trust conditions about origins may need."""


@dataclass(frozen=True, order=True)
class ExcludedOrigin:
    """Data that a copy does without: contributions of a `peer`, what a `mapping` brings, or the `rows` of a list."""

    kind: OneOf["peer", "mapping", "rows"]
    name: str


Exclusion = frozenset[ExcludedOrigin]
NOTHING: Exclusion = frozenset()


@dataclass(frozen=True)
class RowList:
    """The base relation that holds the rows of one relation which a list names."""

    list: str
    relation: PeerRelation

    @property
    def name(self) -> str:
        return f"{self.list}_{self.relation.peer}_{self.relation.name}_d"


@dataclass
class InternalNames:
    """Numbers copies in the order in which they are needed."""

    numbers: dict[Exclusion, int] = field(default_factory=lambda: {NOTHING: 0})

    def contributions(self, relation: PeerRelation) -> str:
        """Rows that the peer's users inserted."""
        return f"{relation.peer}_{relation.name}_l"

    def rejections(self, relation: PeerRelation) -> str:
        """Rows that they deleted though they came from elsewhere."""
        return f"{relation.peer}_{relation.name}_r"

    def withheld(self, relation: PeerRelation) -> str:
        """Rows that reconciliation rejects or defers."""
        return f"{relation.peer}_{relation.name}_x"

    def trusted(self, relation: PeerRelation, exclusion: Exclusion = NOTHING) -> str:
        """What mappings bring and conditions let in."""
        return f"{relation.peer}_{relation.name}_t{self.number(exclusion)}"

    def output(self, relation: PeerRelation, exclusion: Exclusion = NOTHING) -> str:
        """What users see, and mappings read."""
        return f"{relation.peer}_{relation.name}_o{self.number(exclusion)}"

    def provenance(self, label: str, exclusion: Exclusion = NOTHING) -> str:
        """The composite mapping table of a mapping."""
        return f"{label}_p{self.number(exclusion)}"

    def candidates(self, relation: PeerRelation) -> str:
        """What a peer has to choose from, where a key says that not all of it can be true."""
        return f"{relation.peer}_{relation.name}_c"

    def rivals(self, relation: PeerRelation) -> str:
        """Pairs of candidates that cannot both be true, side by side."""
        return f"{relation.peer}_{relation.name}_k"

    def equated(self, label: str, exclusion: Exclusion = NOTHING) -> str:
        """The pairs of values that a dependency equates."""
        return f"{label}_q{self.number(exclusion)}"

    def same(self, number: int, exclusion: Exclusion = NOTHING) -> str:
        """Pairs of different values that are equal."""
        return f"same_{number}_e{self.number(exclusion)}"

    def members(self, number: int, exclusion: Exclusion = NOTHING) -> str:
        """Values, and the hubs that the left sides of dependencies put them into."""
        return f"member_{number}_e{self.number(exclusion)}"

    def partners(self, number: int, exclusion: Exclusion = NOTHING) -> str:
        """Values, and the hubs that the right sides put them into."""
        return f"partner_{number}_e{self.number(exclusion)}"

    def direct(self, number: int, exclusion: Exclusion = NOTHING) -> str:
        """Pairs of values that dependencies without sides make equal, both ways round."""
        return f"direct_{number}_e{self.number(exclusion)}"

    def linked(self, number: int, exclusion: Exclusion = NOTHING) -> str:
        """Values that are equal to others through a hub, and the hub."""
        return f"linked_{number}_e{self.number(exclusion)}"

    def reached(self, number: int, exclusion: Exclusion = NOTHING) -> str:
        """Values, and the hubs to which a value is linked that equals them."""
        return f"reached_{number}_e{self.number(exclusion)}"

    def clash(self, number: int, exclusion: Exclusion = NOTHING) -> str:
        """Pairs of constants that would have to be equal."""
        return f"clash_{number}_e{self.number(exclusion)}"

    def rule(self, label: str, exclusion: Exclusion = NOTHING) -> str:
        """The rule that fills it: labelled as the mapping is."""
        number = self.number(exclusion)
        return f"{label}_without_{number}" if number else label

    def number(self, exclusion: Exclusion) -> str:
        """Nothing for the first copy."""
        number = self.numbers.setdefault(exclusion, len(self.numbers))
        if number > MOST_EXCLUSIONS:
            raise RuleError(
                "too-many-copies",
                f"trust conditions about origins need more than {MOST_EXCLUSIONS} copies of the data",
                hint="each set of origins that some path of mappings excludes is a copy: state conditions at fewer "
                "peers, or on the mapping that brings the rows (by m1) instead of on their origin",
            )
        return str(number or "")


def check_names(relations: Iterable[PeerRelation]) -> None:
    """Refuse relations of different peers that would be called the same."""
    known: dict[str, PeerRelation] = {}
    for relation in relations:
        name = f"{relation.peer}_{relation.name}"
        if name in known:
            raise RuleError(
                "ambiguous-relation",
                f"{known[name]} and {relation} cannot be told apart",
                hint="rename a peer or a relation: joined by '_' they must differ",
            )
        known[name] = relation
