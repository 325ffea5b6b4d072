"""What a single mapping must fulfil: its values come from somewhere, its existentials are used."""

from __future__ import annotations

from headwater.errors import Place, RuleError
from headwater.language.mappings.mapping import Egd, Tgd, variables
from headwater.language.program import Call, Comparison, Term, Variable


def check_tgd(tgd: Tgd) -> Tgd:
    """The mapping, if it is safe."""
    _check_body(tgd)
    bound = set(tgd.body_variables)
    heads = {name for atom in tgd.heads for name in variables(atom.args)}
    for name in tgd.existentials:
        if name in bound:
            raise _unsafe(f"{name} exists already: the body has it", tgd.place, "give it another name")
        if name not in heads:
            raise _unsafe(f"{name} is not in the head", tgd.place, f"leave out exists {name}, or use it")
    for atom in tgd.heads:
        for term in atom.args:
            if isinstance(term, Call):
                raise _unsafe("a head computes nothing", term.place, "its values are variables and constants")
            if isinstance(term, Variable) and term.name not in bound and term.name not in tgd.existentials:
                raise _unsafe(
                    f"nothing gives {term.name} a value",
                    term.place,
                    f"if any value will do, say so: exists {term.name} {atom.relation}(...)",
                )
    return tgd


def check_egd(egd: Egd) -> Egd:
    """The mapping, if it is safe."""
    _check_body(egd)
    bound = {name for atom in egd.premises for name in variables(atom.args)}
    for name in (egd.left, egd.right):
        if name not in bound:
            raise _unsafe(f"nothing gives {name} a value", egd.place, "both sides are variables of the body")
    return egd


def _check_body(mapping: Tgd | Egd) -> None:
    if not mapping.premises:
        raise _unsafe("a body has at least one relation", mapping.place, "write B(i, n) -> U(n, n)")
    bound = {name for atom in mapping.premises for name in variables(atom.args)}
    for atom in mapping.premises:
        for term in atom.args:
            if isinstance(term, Call):
                raise _unsafe("rows of a body hold variables and constants", term.place, "compare: n = m + 1")
    for literal in mapping.body:
        if isinstance(literal, Comparison):
            for name, place in _named(literal.left) + _named(literal.right):
                if name not in bound:
                    raise _unsafe(f"nothing gives {name} a value", place, "use it in a relation of the body")


def _named(term: Term) -> list[tuple[str, Place | None]]:
    if isinstance(term, Variable):
        return [(term.name, term.place)]
    return [found for arg in term.args for found in _named(arg)] if isinstance(term, Call) else []


def _unsafe(message: str, place: Place | None, hint: str) -> RuleError:
    return RuleError("unsafe-variable", message, place=place, hint=hint)
