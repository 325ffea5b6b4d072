"""Texts that are long rather than deep: chains of operators, long bodies, many alternatives."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.language.datalog import parse
from headwater.rules.check import check
from headwater.rules.nullability import Nullability
from headwater.values.functions import Functions

PLUS = 1100 * " + 1"


def _rows(text, view, **rows):
    db = hw.connect(strict=False)
    db.define(text)
    db.apply(insert=rows)
    return sorted(db[view].rows())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"p(X{PLUS}) :- q(X).", [(1101,)]),
        (f"p(Y) :- q(X), Y = X{PLUS}.", [(1101,)]),
        (f"p(X) :- q(X), X{PLUS} = 1101.", [(1,)]),
        (f"p(X) :- q(X), !q(X{PLUS}), q(X{PLUS} - 1100).", [(1,)]),
        (f"p(S) :- S = sum X{PLUS} : {{ q(X), X{PLUS} > 3 }}.", [(1101,)]),
        (f"p(X) :- q(X), (X{PLUS} < 3 ; X{PLUS} > 3).", [(1,)]),
        (f"p(X) :- q(X){1100 * ' , X > 0'}.", [(1,)]),
        ("p(X) :- q(X), X" + 1100 * " ^ 1" + " > 0.", [(1,)]),
        (f"w(X, C) :- e(X, _, C). w(X, C) :- e(X, Y, A), w(Y, B), C = A + B{PLUS}. p(min<C>) :- w(1, C).", [(5,)]),
    ],
    ids=["head", "equality", "test", "arguments", "aggregate", "disjunction", "tests", "power", "selection"],
)  # fmt: skip
def test_chains_of_operators_may_have_any_length(text, expected):
    assert _rows(text, "p", q=[(1,)], e=[(1, 2, 5), (2, 1, 3)]) == expected


def test_explanations_of_long_expressions():
    db = hw.connect(strict=False)
    db.define(f"p(Y) :- q(X), Y = X{PLUS}.")
    db.apply(insert={"q": [(1,)]})
    assert "q(1)" in str(db.why("p", (1101,)))
    assert "q" in str(db.explain())


@pytest.mark.parametrize(("head", "expected"), [("p(X0, X250)", {(1, 1)}), ("p(X0, count<*>)", {(1, 1)})])
def test_bodies_of_many_premises(head, expected):
    body = ", ".join(f"e(X{i}, X{i + 1})" for i in range(250))
    assert set(_rows(f"{head} :- {body}.", "p", e=[(1, 1)])) == expected


def test_bodies_of_many_premises_count_every_binding():
    """Twelve free choices of two rows each, in a body that is cut; the rest are tests of one row."""
    body = ", ".join([f"a(X{i})" for i in range(12)] + [f"b({i})" for i in range(100)])
    rows = {"a": [(1,), (2,)], "b": [(i,) for i in range(100)]}
    assert _rows(f"p(count<*>) :- {body}.", "p", **rows) == [(4096,)]


def test_conjoined_disjunctions_make_as_many_rules_as_alternatives():
    body = "".join(f", (a{i}(X) ; b{i}(X))" for i in range(40))
    checked = check(parse(f"p(X) :- q(X){body}."), Functions())
    assert sum(len(stratum.rules) for stratum in checked.strata) == 80


def test_counts_in_a_body_make_as_many_rules_as_there_are_counts():
    body = "".join(f", N{i} = count : {{ a{i}(X, _) }}" for i in range(12))
    head = ", ".join(f"N{i}" for i in range(12))
    rows = _rows(f"p(X, {head}) :- q(X){body}.", "p", q=[(1,), (2,)], a3=[(1, 1), (1, 2)], a11=[(2, 5)])
    assert rows == [
        (1, *(2 if i == 3 else 0 for i in range(12))),
        (2, *(1 if i == 11 else 0 for i in range(12))),
    ]


def test_alternatives_that_cannot_be_shared_are_refused_by_name():
    body = ", ".join(f"(a{i}(Z{i}, Z{i + 1}) ; b(1))" for i in range(12))
    with pytest.raises(hw.RuleError) as refused:
        check(parse(f"p(1) :- {body}."), Functions())
    assert (refused.value.code, refused.value.place.line) == ("unsupported", 1)


def test_nulls_pass_through_a_long_chain_at_a_cost_of_its_length(monkeypatch):
    looked = []
    head = Nullability.head
    monkeypatch.setattr(Nullability, "head", lambda self, rule: looked.append(rule.label) or head(self, rule))
    length = 400
    chain = "".join(f"p{i}(X) :- p{i + 1}(X). " for i in range(length))
    checked = check(parse(f"p{length}(x: int?). {chain}"), Functions())
    assert checked.relations["p0"].nullable == (True,)
    assert length <= len(looked) <= 5 * length
