"""What tests of texts ask for: the one rule, condition or value of a text."""

from headwater.language.datalog import parse
from headwater.language.program import (
    Atom,
    Comparison,
    Rule,
    Variable,
)

X, Y, Z, C, N = (Variable(name) for name in "XYZCN")


def only_rule(text: str) -> Rule:
    (rule,) = parse(text).rules
    return rule


def condition(text: str):
    """The last condition of a body that first binds X, Y and Z."""
    return only_rule(f"p(X) :- q(X,Y,Z), {text}.").body[-1]


def value(text: str):
    """A value in a text whose variables start upper-case."""
    literal = condition(f"X = {text}")
    assert isinstance(literal, Comparison)
    return literal.right


def atom(name: str, *args) -> Atom:
    return Atom(name, args)
