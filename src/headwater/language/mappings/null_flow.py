"""Whether mappings bring NULL to columns that are declared to take none.

Labelled nulls may stand in any column: they are values that somebody has and nobody knows. NULL says that there is
none. A column without `?` never holds it, so a mapping may not bring it there either: a variable may be NULL if all
of its columns in the body take it, and no comparison leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.errors import RuleError
from headwater.language.mappings.mapping import Mappings, Schemas, Tgd
from headwater.language.program import Comparison, Constant, Term, Variable

_ORDERS = ("<", "<=", ">", ">=")
"""Comparisons that do not hold where a side is NULL."""


def check_null_flow(mappings: Mappings, schemas: Schemas) -> None:
    """Refuse mappings that may bring NULL to a column that takes none."""
    for tgd in mappings.tgds:
        known = set(_never_null(tgd, schemas))
        for atom in tgd.heads:
            relation = schemas.find(atom)
            for term, column in zip(atom.args, schemas.columns[relation], strict=True):
                if not column.nullable and _may_be_null(term, known, tgd):
                    said = f"{term.name} may be" if isinstance(term, Variable) else "this is"
                    raise RuleError(
                        "null-value",
                        f"{said} null, and {relation} takes no null in {column.name}",
                        place=term.place or tgd.place,
                        hint=f"declare it so, {column.name}: {column.type}?, or say in the body that there is a"
                        " value: n is not null",
                    )


def _may_be_null(term: Term, known: set[str], tgd: Tgd) -> bool:
    if isinstance(term, Variable):
        return term.name not in known and term.name not in tgd.existentials
    return isinstance(term, Constant) and term.value is None


def _never_null(tgd: Tgd, schemas: Schemas) -> Iterator[str]:
    """The variables of a body that have a value wherever it holds."""
    for atom in tgd.premises:
        for term, column in zip(atom.args, schemas.columns[schemas.find(atom)], strict=True):
            if isinstance(term, Variable) and not column.nullable:
                yield term.name
    for literal in tgd.body:
        if isinstance(literal, Comparison):
            for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
                if isinstance(side, Variable) and _leaves_null_out(literal.op, other):
                    yield side.name


def _leaves_null_out(op: str, other: Term) -> bool:
    """Whether a comparison with `other` holds of no NULL."""
    if op in _ORDERS:
        return True
    if not isinstance(other, Constant):
        return False
    return op in ("is not", "!=") if other.value is None else op == "="
