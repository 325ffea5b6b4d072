"""A text that is one plain rule, read without the grammar.

Rules that are added one at a time are mostly a head and some atoms, all with variables in upper case: `reach(X, Z) :-
link(X, Y), reach(Y, Z).` One expression tells such a text, in a tenth of the time that the grammar takes. Everything
else, mistakes included, is left to the grammar, so a text means the same with this and without.

>>> plain_rule(SourceText("<text>", "p(X) :- q(X, Y), r(Y).")).rules[0].heads[0].relation
'p'
>>> plain_rule(SourceText("<text>", "p(X) :- q(X), X > 1.")) is None
True
"""

from __future__ import annotations

import re

from headwater.language.program import Atom, Positive, Program, Rule, Variable
from headwater.language.source import SourceText

_SPACE = r"[ \t\n]*"
_NAME = r"[a-z][a-z0-9_]*"
_VARIABLE = r"[A-Z][A-Za-z0-9_]*"
_APPLIED = rf"{_NAME}\({_SPACE}{_VARIABLE}(?:{_SPACE},{_SPACE}{_VARIABLE})*{_SPACE}\)"
_RULE = re.compile(
    rf"{_SPACE}({_APPLIED}){_SPACE}:-{_SPACE}{_APPLIED}(?:{_SPACE},{_SPACE}{_APPLIED})*{_SPACE}(\.){_SPACE}"
)
_ATOM = re.compile(_APPLIED)
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"[A-Za-z]\w*")
_MEANS_MORE = frozenset(
    ("not", "in", "is", "on", "do", "delete", "count", "sum", "min", "max", "mean", "avg")
    + ("band", "bor", "bxor", "bshl", "bshru", "bshr", "land", "lor", "lxor", "bnot", "lnot", "NULL", "Null")
)
"""Names that mean something else in some places: the grammar knows where."""


def plain_rule(where: SourceText) -> Program | None:
    """The program of a text that is one plain rule; `None` for all others."""
    found = _RULE.fullmatch(where.text)
    if found is None:
        return None
    atoms = []
    for applied in _ATOM.finditer(where.text):
        (name, *arguments) = _WORD.finditer(where.text, *applied.span())
        if name[0] in _MEANS_MORE or any(word[0] in _MEANS_MORE for word in arguments):
            return None
        terms = tuple(Variable(word[0], False, where.place(*word.span())) for word in arguments)
        atoms.append(Atom(name[0], terms, False, where.place(*applied.span())))
    start, end = found.start(1), found.end(2)
    head, *body = atoms
    text = _SPACES.sub(" ", where.text[start:end])
    rule = Rule(None, (head,), tuple(map(Positive, body)), False, where.place(start, end), text)
    return Program((rule,), source=where.name, text=where.text)
