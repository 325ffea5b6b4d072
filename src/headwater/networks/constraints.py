"""The four constraints of NDlog (loo-2006 definition 6), each breach with its place and what to do about it.

1. *Location specificity*: each predicate has a location specifier, its first field.
2. *Address type safety*: what is an address in one place of a rule is one in all places. Looked at are the fields of
   predicates; what functions are given is theirs to say.
3. *Stored link relations*: no rule derives a link relation.
4. *Link restriction*: a rule whose predicates live at different places has one link literal, `#link(@S, @D, ...)`,
   and all of them live at one of its ends.

A program that keeps all of them runs on any network whose nodes can talk along links only (claim 1). Nodes that can
talk to all others take more: what localisation takes is enough there (`strands/localisation`).

>>> from headwater.language.datalog import parse
>>> for breach in breaches(parse("reach(@X, Y) :- link(@X, Z), reach(@Z, Y)."), Functions()):
...     print(breach.constraint, "-", breach.message)
address-type - Z is an address in one place of the rule and none in another
link-restriction - the rule's predicates live at X and Z, and no link literal (#) leads from one to the other
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headwater.errors import Place
from headwater.language.program import Atom, Constant, Program, Rule, Variable
from headwater.rules.terms import atoms
from headwater.values.functions import Functions

CONSTRAINTS = ("location", "address-type", "stored-links", "link-restriction")
"""The constraints by their codes, in the order of the definition."""


@dataclass(frozen=True)
class Breach:
    """What breaks a constraint. `rule` is the rule as it is written."""

    constraint: str
    message: str
    hint: str
    rule: str
    place: Place | None


def breaches(program: Program, functions: Functions) -> list[Breach]:
    """All breaches, rule by rule. Facts say where they live by their first value, marked or not."""
    links = link_relations(program)
    relations = {atom.relation for rule in program.rules for atom in rule.heads}
    relations |= {table.relation for table in program.tables} | {d.relation for d in program.declarations}
    found: list[Breach] = []
    for rule in program.rules:
        if rule.body:
            body = [
                atom
                for atom, _ in atoms(rule.body)
                if atom.relation in relations or not functions.has(atom.relation)
            ]
            found += _located(rule, (*rule.heads, *body))
            found += _addresses(rule, (*rule.heads, *body))
            found += _stored(rule, links)
            found += _restricted(rule, body)
    return found


def link_relations(program: Program) -> tuple[str, ...]:
    """The relations that a `#` marks as links, in the order of the text."""
    found = (atom for rule in program.rules for atom, _ in atoms(rule.body) if atom.link)
    return tuple(dict.fromkeys(atom.relation for atom in found))


def _breach(constraint: str, rule: Rule, message: str, hint: str, place: Place | None = None) -> Breach:
    return Breach(constraint, message, hint, rule.text, place or rule.place)


def _located(rule: Rule, predicates: Iterable[Atom]) -> Iterator[Breach]:
    for atom in predicates:
        if not atom.args or not _is_address(atom.args[0]):
            first = "@" + (str(getattr(atom.args[0], "name", "X")) if atom.args else "X")
            yield _breach(
                "location",
                rule,
                f"the first field of {atom.relation} is no location specifier",
                f"say where its rows live: {atom.relation}({first}, ...)",
                atom.place,
            )


def _addresses(rule: Rule, predicates: Iterable[Atom]) -> Iterator[Breach]:
    marked: dict[str, set[bool]] = {}
    for atom in predicates:
        for term in atom.args:
            if isinstance(term, Variable):
                marked.setdefault(term.name, set()).add(term.address)
    for name, kinds in marked.items():
        if len(kinds) > 1:
            message = f"{name} is an address in one place of the rule and none in another"
            yield _breach("address-type", rule, message, f"write @{name} wherever it stands in a predicate")


def _stored(rule: Rule, links: Iterable[str]) -> Iterator[Breach]:
    for head in rule.heads:
        if head.relation in links:
            message = f"{head.relation} is a link relation, and this rule derives it"
            hint = "links are stored; derive another relation from them"
            yield _breach("stored-links", rule, message, hint, head.place)


def _restricted(rule: Rule, body: Iterable[Atom]) -> Iterator[Breach]:
    body = list(body)
    places = [_location(atom) for atom in (*rule.heads, *body)]
    if len(set(places)) <= 1:
        return
    shown = " and ".join(dict.fromkeys(place for place in places if place))
    literals = [atom for atom in body if atom.link]
    if len(literals) != 1:
        what = "no link literal (#) leads" if not literals else f"{len(literals)} link literals lead"
        message = f"the rule's predicates live at {shown}, and {what} from one to the other"
        hint = "mark the one link that messages take: #link(@S, @D, ...)"
        yield _breach("link-restriction", rule, message, hint)
        return
    (link,) = literals
    ends = {_shown(term) for term in link.args[:2]}
    for place in dict.fromkeys(places):
        if place not in ends:
            message = f"something lives at {place}, which is no end of #{link.relation}"
            hint = "cut the rule in two, each with a link of its own"
            yield _breach("link-restriction", rule, message, hint, link.place)


def _location(atom: Atom) -> str:
    return _shown(atom.args[0]) if atom.args else ""


def _shown(term: object) -> str:
    if isinstance(term, Variable):
        return term.name
    return repr(term.value) if isinstance(term, Constant) else "_"


def _is_address(term: object) -> bool:
    return isinstance(term, Variable | Constant) and term.address
