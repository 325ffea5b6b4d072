"""A text that is one rule of an everyday kind, read without the grammar.

Rules that are added one at a time are mostly a head, atoms, negated atoms and comparisons, with variables in upper
case: `reach(X, Z) :- link(X, Y, C), reach(Y, Z), !closed(Y), C < 10 - 2.` Such a text is read here word by word, in
a tenth of the time that the grammar takes. Everything else, mistakes included, is left to the grammar: a text means
the same with this and without.

>>> plain_rule(SourceText("<text>", "p(X) :- q(X, Y), !r(Y), X > 1.")).rules[0].heads[0].relation
'p'
>>> plain_rule(SourceText("<text>", "p(X) :- q(X); r(X).")) is None
True
"""

from __future__ import annotations

import re
from collections.abc import Callable

from headwater.errors import Place
from headwater.language.datalog.constants import number
from headwater.language.datalog.operators import BINARY
from headwater.language.program import (
    Atom,
    Call,
    Comparison,
    Constant,
    Literal,
    Negated,
    Positive,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from headwater.language.source import SourceText

_WORDS = re.compile(
    r"""
    [ \t\n]*(?:
      (?P<name>[a-z][a-z0-9_]*)(?![\w?:])
    | (?P<variable>[A-Z][A-Za-z0-9_]*)(?![\w?:])
    | (?P<sign>:-|[(),.])
    | (?P<compare>[<>!]=|[<>=](?![<>=]))
    | (?P<operator>[+*-])
    | (?P<string>"[^"\\\n]*")
    | (?P<number>[0-9]{1,15}(?:\.[0-9]{1,15})?)(?![\w-]|\.[0-9])
    | (?P<wildcard>_)(?![\w?:])
    | (?P<negation>!)
    | (?P<end>$)
    | (?P<other>.)
    )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
"""A number is not followed by a minus: it might be a day."""
_SPACES = re.compile(r'("[^"]*")|\s+')
"""Strings, which stay as they are, and spaces."""
_MEANS_MORE = frozenset(
    ("not", "in", "is", "on", "do", "delete", "count", "sum", "min", "max", "mean", "avg")
    + ("band", "bor", "bxor", "bshl", "bshru", "bshr", "land", "lor", "lxor", "bnot", "lnot", "NULL", "Null")
)
"""Names that mean something else in some places: the grammar knows where."""
_LEFT = _MEANS_MORE | {"other"}
"""Words and kinds of words that are left to the grammar."""
_ELSEWHERE = re.compile(r"[#'/]")
"""Begins comments, directives and strings of active rules, or may."""


def plain_rule(where: SourceText) -> Program | None:
    """The program of a text that is one rule of an everyday kind; `None` for all others."""
    if _ELSEWHERE.search(where.text) is not None:
        return None
    try:
        rule = _RuleReader(where).rule()
    except _NotPlain:
        return None
    return Program((rule,), source=where.name, text=where.text)


class _NotPlain(Exception):  # noqa: N818
    """Left to the grammar."""


class _RuleReader:
    """Reads a rule word by word. `_kind` and `_word` are of the word that comes next, which begins at `_start`."""

    def __init__(self, where: SourceText):
        self._text = where.text
        found = [(match.lastgroup, match) for match in _WORDS.finditer(where.text)]
        self._words = [(kind, match[kind], *match.span(kind)) for kind, match in found if kind is not None]
        if not _LEFT.isdisjoint([each for word in self._words for each in word[:2]]):
            raise _NotPlain
        self._number = -1
        self._place = _places(where)
        self._named = False
        self._end = 0
        """Where the last word that was taken ends."""
        self._next()

    def rule(self) -> Rule:
        """The rule that is the whole text."""
        start = self._start
        head = self._atom(head=True)
        self._take(":-")
        body = [self._literal()]
        while self._word == ",":
            self._next()
            body.append(self._literal())
        self._take(".")
        end = self._end
        if self._kind != "end" or not self._named:
            raise _NotPlain
        text = _SPACES.sub(lambda match: match[1] or " ", self._text[start:end])
        return Rule(None, (head,), tuple(body), False, self._place(start, end), text)

    def _next(self) -> None:
        """Go on to the next word."""
        self._number += 1
        self._kind, self._word, self._start, self._stop = self._words[self._number]

    def _take(self, word: str) -> None:
        """The next word is this one."""
        if self._word != word:
            raise _NotPlain
        self._end = self._stop
        self._next()

    def _atom(self, *, head: bool = False) -> Atom:
        start, relation = self._start, self._word
        if self._kind != "name":
            raise _NotPlain
        self._next()
        self._take("(")
        terms = [self._argument(head)]
        while self._word == ",":
            self._next()
            terms.append(self._argument(head))
        self._take(")")
        return Atom(relation, tuple(terms), False, self._place(start, self._end))

    def _argument(self, head: bool) -> Term:
        if self._kind == "variable" or head:
            return self._variable()
        if self._kind == "wildcard":
            place = self._place(self._start, self._stop)
            self._next()
            return Wildcard(place)
        return self._constant()

    def _literal(self) -> Literal:
        if self._kind == "name":
            return Positive(self._atom())
        if self._kind == "negation":
            self._next()
            return Negated(self._atom())
        start = self._start
        left = self._value()
        if self._kind != "compare":
            raise _NotPlain
        op = self._word
        self._next()
        right = self._value()
        return Comparison(op, left, right, self._place(start, self._end))

    def _value(self, least: int = 0) -> Term:
        """Operands, and operators between them that bind at least so tightly."""
        start = self._start
        value: Term = self._variable() if self._kind == "variable" else self._constant()
        while self._kind == "operator" and BINARY[self._word] >= least:
            operator = self._word
            self._next()
            right = self._value(BINARY[operator] + 1)
            value = Call(operator, (value, right), self._place(start, self._end))
        return value

    def _variable(self) -> Variable:
        if self._kind != "variable":
            raise _NotPlain
        found = Variable(self._word, False, self._place(self._start, self._stop))
        self._end, self._named = self._stop, True
        self._next()
        return found

    def _constant(self) -> Constant:
        if self._kind == "string":
            value: object = self._word[1:-1]
        elif self._kind == "number":
            value = number(self._word)
        else:
            raise _NotPlain
        found = Constant(value, place=self._place(self._start, self._stop))
        self._end = self._stop
        self._next()
        return found


def _places(where: SourceText) -> Callable[[int, int], Place]:
    """The places of a text that has no `#line`; those of one line are told without looking for it."""
    name, text = where.name, where.text
    if "\n" in text:
        return where.place
    return lambda start, end: Place(name, 1, start + 1, end - start, text)
