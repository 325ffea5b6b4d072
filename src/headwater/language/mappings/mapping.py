"""Mappings as data: tuple-generating and equality-generating dependencies over the relations of peers.

A relation is named by its peer and its own name. Atoms of mappings name relations as they are written, `B` or
`BioSQL.B`; `Schemas.find` says which one is meant.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from headwater.errors import Place, RuleError
from headwater.language.program import Atom, Column, Literal, Positive, Term, Variable, Wildcard
from headwater.spelling import did_you_mean


@dataclass(frozen=True, order=True)
class PeerRelation:
    """A relation of a peer."""

    peer: str
    name: str

    def __str__(self) -> str:
        return f"{self.peer}.{self.name}"


@dataclass(frozen=True)
class Tgd:
    """`label: body -> exists e heads.` Whatever makes the body hold, some values for `existentials` make the heads
    hold. Wildcards of the body are variables here."""

    label: str
    body: tuple[Literal, ...]
    heads: tuple[Atom, ...]
    existentials: tuple[str, ...]
    place: Place | None = field(default=None, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)

    @property
    def premises(self) -> tuple[Atom, ...]:
        """The atoms of the body."""
        return tuple(literal.atom for literal in self.body if isinstance(literal, Positive))

    @property
    def body_variables(self) -> tuple[str, ...]:
        """The variables of the body, in the order of the text: the columns of its provenance relation."""
        return tuple(dict.fromkeys(name for atom in self.premises for name in variables(atom.args)))

    @property
    def frontier(self) -> tuple[str, ...]:
        """The variables that both sides have, which are the arguments of its Skolem functions."""
        heads = {name for atom in self.heads for name in variables(atom.args)}
        return tuple(name for name in self.body_variables if name in heads)

    def skolem(self, existential: str) -> str:
        """The name of the function that makes the values of an existential variable."""
        return f"{self.label}_{existential}"


@dataclass(frozen=True)
class Egd:
    """`label: body -> left = right.` Whatever makes the body hold makes both values the same."""

    label: str
    body: tuple[Literal, ...]
    left: str
    right: str
    place: Place | None = field(default=None, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)

    @property
    def premises(self) -> tuple[Atom, ...]:
        """The atoms of the body."""
        return tuple(literal.atom for literal in self.body if isinstance(literal, Positive))


@dataclass(frozen=True)
class Mappings:
    """All mappings of a confederation."""

    tgds: tuple[Tgd, ...] = ()
    egds: tuple[Egd, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of all of them."""
        return (*(tgd.label for tgd in self.tgds), *(egd.label for egd in self.egds))


@dataclass(frozen=True)
class Schemas:
    """The relations of all peers with their columns."""

    columns: Mapping[PeerRelation, tuple[Column, ...]]

    def of(self, peer: str) -> tuple[PeerRelation, ...]:
        """The relations of one peer."""
        return tuple(relation for relation in self.columns if relation.peer == peer)

    def find(self, atom: Atom, own: str | None = None) -> PeerRelation:
        """The relation that an atom names; one of the peer `own`, where several have that name."""
        found = self.named(atom.relation, own, atom.place)
        if len(atom.args) != len(self.columns[found]):
            shown = ", ".join(column.name for column in self.columns[found])
            raise RuleError(
                "wrong-arity",
                f"{atom.relation} has {len(self.columns[found])} columns, not {len(atom.args)}",
                place=atom.place,
                hint=f"{found.name}({shown}) of {found.peer}",
            )
        return found

    def named(self, written: str, own: str | None = None, place: Place | None = None) -> PeerRelation:
        """The relation of a name, with or without its peer's before it."""
        peer, _, name = written.rpartition(".")
        known = [relation for relation in self.columns if relation.name == name]
        found = [relation for relation in known if peer in ("", relation.peer)]
        if own is not None and not peer and len(found) > 1:
            found = [relation for relation in found if relation.peer == own] or found
        if len(found) == 1:
            return found[0]
        if found:
            hint = f"say which: {' or '.join(map(str, found))}"
            raise RuleError(
                "ambiguous-relation", f"{name} is a relation of several peers", place=place, hint=hint
            )
        names = [relation.name for relation in self.columns] + [str(relation) for relation in self.columns]
        meant = did_you_mean(written, names) or f"there are: {', '.join(map(str, self.columns))}"
        raise RuleError("unknown-relation", f"no peer has a relation {written}", place=place, hint=meant)


def variables(terms: tuple[Term, ...]) -> list[str]:
    """The names of the variables among some terms, in order, with repetitions."""
    return [term.name for term in terms if isinstance(term, Variable)]


def fresh(name: str, taken: Container[str]) -> str:
    """A name that is not taken.

    >>> fresh("any_1", {"any_1"})
    'any_1_'
    """
    while name in taken:
        name += "_"
    return name


def without_wildcards(literals: tuple[Literal, ...]) -> tuple[Literal, ...]:
    """Literals whose wildcards are variables that occur nowhere else."""
    made: list[Literal] = []
    number = 0
    taken = {name for each in literals if isinstance(each, Positive) for name in variables(each.atom.args)}
    for literal in literals:
        if not isinstance(literal, Positive):
            made.append(literal)
            continue
        terms: list[Term] = []
        for term in literal.atom.args:
            if isinstance(term, Wildcard):
                number += 1
                term = Variable(fresh(f"any_{number}", taken), place=term.place)
            terms.append(term)
        atom = literal.atom
        made.append(Positive(Atom(atom.relation, tuple(terms), place=atom.place)))
    return tuple(made)
