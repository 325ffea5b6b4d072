"""Why a row is not at a peer: what would bring it, and who or what keeps it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from headwater.database import Database
from headwater.exchange.conflicts import Reconciler, comes_so
from headwater.exchange.edit import Row, TransactionId
from headwater.exchange.why import PeerWhy, unknown_contributors
from headwater.language.datalog.render import MARK, render
from headwater.language.mappings.compile import CompiledMappings
from headwater.language.mappings.mapping import PeerRelation, Tgd
from headwater.language.mappings.origins import worse
from headwater.language.mappings.policy import TrustCondition
from headwater.language.program import (
    Atom,
    Comparison,
    Constant,
    Literal,
    Positive,
    Program,
    Query,
    Term,
    Variable,
)
from headwater.values.label_text import literal
from headwater.values.labelled import LabelledNull

MOST_DERIVATIONS_SHOWN = 20
"""Of one mapping."""


@dataclass(frozen=True)
class KeptOut:
    """A derivation that would bring the row: by a mapping, from rows; and the conditions that object to it, or may:
    those about origins do if the rows cannot be derived without the origin. Behind a bound stand the ratings that are
    worse, of what the rows are derived from."""

    mapping: str
    premises: tuple[str, ...]
    conditions: tuple[str, ...]

    def __str__(self) -> str:
        why = "; ".join(self.conditions) or "no condition of this peer objects"
        return f"{self.mapping}({', '.join(self.premises)}): {why}"


@dataclass(frozen=True)
class WhyRejected:
    """What is known about a row that a peer does not have."""

    peer: str
    relation: str
    row: Row
    there: bool
    curated: tuple[TransactionId, ...]
    """The transactions in which the peer's users deleted it."""
    withheld: str
    """What reconciliation has decided about it, if anything."""
    derivations: tuple[KeptOut, ...]
    ranked: str = ""
    """The condition that gives it the priority 0, if one does."""

    def __str__(self) -> str:
        named = f"{self.relation}({', '.join(map(literal, self.row))})"
        if self.there:
            return f"{named} is at {self.peer}"
        lines = [f"{named} is not at {self.peer}"]
        if self.curated:
            lines.append(f"rejected by its users in {', '.join(map(str, self.curated))}")
        if self.withheld:
            reason = self.ranked or "it has rivals, or came with a row that has"
            lines.append(f"{self.withheld} by reconciliation: {reason}")
        lines += [f"kept out: {one}" for one in self.derivations]
        if len(lines) == 1:
            lines.append("no mapping brings it")
        return "\n".join(lines)


def kept_out(
    database: Database,
    compiled: CompiledMappings,
    relation: PeerRelation,
    row: Row,
    conditions: tuple[TrustCondition, ...],
) -> Iterator[KeptOut]:
    """The derivations that would bring a row to a relation, with the conditions that speak of them."""
    for tgd in compiled.mappings.tgds:
        for head in tgd.heads:
            if compiled.schemas.find(head) != relation:
                continue
            bound = _unified(tgd, head, row)
            if bound is None:
                continue
            for values in _bindings(database, compiled, tgd, bound):
                premises = tuple(
                    f"{compiled.schemas.find(atom).name}({', '.join(literal(_value(t, values)) for t in atom.args)})"
                    for atom in tgd.premises
                )
                objecting = [c for c in conditions if _objects(database, compiled, c, tgd, relation, row)]
                origins = _Origins(database, compiled, relation.peer, tgd, values)
                said = [_said(each, conditions, origins) for each in objecting]
                yield KeptOut(tgd.label, premises, tuple(filter(None, said)))


def _unified(tgd: Tgd, head: Atom, row: Row) -> dict[str, object] | None:
    """What the variables of a mapping are if its head is this row."""
    found: dict[str, object] = {}
    for term, value in zip(head.args, row, strict=True):
        if isinstance(term, Constant):
            if term.value != value:
                return None
        elif isinstance(term, Variable) and term.name in tgd.existentials:
            if not isinstance(value, LabelledNull) or value.function != tgd.skolem(term.name):
                return None
            for name, argument in zip(tgd.frontier, value.arguments, strict=True):
                if found.setdefault(name, argument) != argument:
                    return None
        elif isinstance(term, Variable) and found.setdefault(term.name, value) != value:
            return None
    return found


def _bindings(
    database: Database, compiled: CompiledMappings, tgd: Tgd, bound: dict[str, object]
) -> Iterator[dict[str, object]]:
    body: list[Literal] = [Comparison("=", Variable(name), Constant(value)) for name, value in bound.items()]
    for each in tgd.body:
        if isinstance(each, Positive):
            output = compiled.names.output(compiled.schemas.find(each.atom))
            body.append(Positive(Atom(output, each.atom.args)))
        else:
            body.append(each)
    answers = database.query(f"{MARK}\n{render(Program(queries=(Query(tuple(body)),)))}")
    for values in answers.rows()[:MOST_DERIVATIONS_SHOWN]:
        yield {**bound, **dict(zip(answers.columns, values, strict=True))}


def _value(term: Term, values: Mapping[str, object]) -> object:
    return values[term.name] if isinstance(term, Variable) else getattr(term, "value", None)


def _objects(
    database: Database,
    compiled: CompiledMappings,
    condition: TrustCondition,
    tgd: Tgd,
    relation: PeerRelation,
    row: Row,
) -> bool:
    if condition.stance == "trust" or condition.by not in (None, tgd.label):
        return False
    return Reconciler(database, compiled, dict[str, tuple[TrustCondition, ...]]()).speaks_of(
        condition, relation, row
    )


@dataclass(frozen=True)
class _Origins:
    """What the derivations of rows to which a mapping is applied use."""

    database: Database
    compiled: CompiledMappings
    peer: str
    tgd: Tgd
    values: Mapping[str, object]

    @cached_property
    def _premises(self) -> tuple[PeerWhy, ...]:
        found = []
        for atom in self.tgd.premises:
            output = self.compiled.names.output(self.compiled.schemas.find(atom))
            row = tuple(_value(term, self.values) for term in atom.args)
            why = self.database.why(output, row)
            found.append(PeerWhy(self.peer, why, self.compiled, unknown_contributors))
        return tuple(found)

    def __contains__(self, condition: TrustCondition) -> bool:
        """Whether some derivation has the origin that a condition names."""
        if condition.through == self.tgd.label:
            return True
        return any(comes_so(condition, why, self.compiled.schemas) for why in self._premises)


def _said(condition: TrustCondition, conditions: Sequence[TrustCondition], origins: _Origins) -> str:
    """A condition in words, with the ratings that do not reach its bound; nothing if all of them do."""
    if condition.bound is None:
        return condition.text
    found = [each.text for each in worse(conditions, condition.bound) if each in origins]
    return f"{condition.text} ({' '.join(found)})" if found else ""
