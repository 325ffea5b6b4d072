"""What trust conditions exclude: for each condition on a relation, the origins of data that rows have to do without.

Conditions about one peer, row or mapping name it; those with a bound exclude all that their peer rates worse. Rows
that are excluded are on lists, which are base relations: so another row changes no rule. Of several ratings of one
origin the worst counts, as it does for all that a derivation uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.errors import RuleError
from headwater.language.mappings.internal import ExcludedOrigin, Exclusion
from headwater.language.mappings.mapping import Mappings, PeerRelation, Schemas
from headwater.language.mappings.policy import TrustCondition
from headwater.language.mappings.rating import Rating
from headwater.language.program import Atom
from headwater.spelling import did_you_mean


@dataclass(frozen=True)
class AppliedCondition:
    """A condition on a relation, and the origins that it excludes; `None` if it is not about origins."""

    condition: TrustCondition
    origins: Exclusion | None


def worse(conditions: Sequence[TrustCondition], bound: Rating) -> Iterator[TrustCondition]:
    """The conditions that rate an origin worse than a bound."""
    for condition in conditions:
        if condition.rating is not None and not condition.rating.reaches(bound):
            yield condition


@dataclass
class ConditionOrigins:
    """Conditions of all peers, checked, and the lists of rows that they come to."""

    schemas: Schemas
    mappings: Mappings
    policies: Mapping[str, Sequence[TrustCondition]]
    lists: dict[str, dict[PeerRelation, tuple[Atom, ...]]] = field(default_factory=dict)

    def of(self, relation: PeerRelation) -> Iterator[AppliedCondition]:
        """The conditions of the relation's peer that keep rows of it out."""
        for condition in self.policies.get(relation.peer, ()):
            self._check(condition, relation.peer)
            if condition.stance == "trust":
                continue
            if condition.atom is not None and self.schemas.find(condition.atom, relation.peer) != relation:
                continue
            yield AppliedCondition(condition, self._origins(relation.peer, condition))

    def _check(self, condition: TrustCondition, peer: str) -> None:
        peers = list(dict.fromkeys(relation.peer for relation in self.schemas.columns))
        labels = [tgd.label for tgd in self.mappings.tgds]
        known = (
            (condition.from_peer, peers, "peer"),
            (condition.by, labels, "mapping"),
            (condition.through, labels, "mapping"),
        )
        for name, there, what in known:
            if name is not None and name not in there:
                hint = did_you_mean(name, there) or f"there are: {', '.join(there) or 'none'}"
                raise RuleError(
                    f"unknown-{what}", f"there is no {what} {name}", place=condition.place, hint=hint
                )
        if condition.from_row is not None:
            self.schemas.find(condition.from_row, peer)
        if condition.atom is not None and self.schemas.find(condition.atom, peer).peer != peer:
            raise RuleError(
                "not-yours",
                f"{peer} can state conditions on its own relations only",
                place=condition.place,
                hint=f"its own: {', '.join(r.name for r in self.schemas.of(peer))}; 'from' says where data is from",
            )

    def _origins(self, peer: str, condition: TrustCondition) -> Exclusion | None:
        if condition.bound is not None:
            bounds = [other.bound for other in self.policies[peer] if other.bound is not None]
            number = list(dict.fromkeys(bounds)).index(condition.bound) + 1
            rated = worse(self.policies[peer], condition.bound)
            return frozenset(self._origin(peer, each, f"{peer}_{number}b") for each in rated)
        if condition.from_row is not None:
            return frozenset([self._origin(peer, condition, self._list_of(peer, condition))])
        if condition.from_peer is not None or condition.through is not None:
            return frozenset([self._origin(peer, condition, "")])
        return None

    def _origin(self, peer: str, condition: TrustCondition, rows: str) -> ExcludedOrigin:
        """The origin that a condition names; a row goes to the list `rows`."""
        if condition.from_peer is not None:
            return ExcludedOrigin("peer", condition.from_peer)
        if condition.through is not None:
            return ExcludedOrigin("mapping", condition.through)
        row = condition.from_row
        assert row is not None
        relation = self.schemas.find(row, peer)
        listed = self.lists.setdefault(rows, {})
        if row not in listed.get(relation, ()):
            listed[relation] = (*listed.get(relation, ()), row)
        return ExcludedOrigin("rows", rows)

    def _list_of(self, peer: str, condition: TrustCondition) -> str:
        """The list that a row is on: conditions that differ in the row alone share one."""
        alike = [
            (other.atom, other.by, other.guard)
            for other in self.policies[peer]
            if other.from_row is not None and other.stance == "distrust"
        ]
        first = alike.index((condition.atom, condition.by, condition.guard))
        return f"{peer}_{1 + len(set(map(repr, alike[:first])))}"
