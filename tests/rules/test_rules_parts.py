"""Rows that only have to exist: what they cost, and how explanations speak of them."""

from __future__ import annotations

import pytest

import headwater as hw

MANY = [(i,) for i in range(400)]
FAN = [(1, i) for i in range(400)]


@pytest.mark.parametrize(
    ("rule", "rows", "most"),
    [
        ("v(1) :- a(_), b(_), c(_).", {"a": MANY, "b": MANY, "c": MANY}, 1201),
        ("v(X) :- a(X), b(_), c(_).", {"a": MANY, "b": MANY, "c": MANY}, 1200),
        ("v(X) :- a(X, _), b(X, _), c(X, _).", {"a": FAN, "b": FAN, "c": FAN}, 1200),
        ("v(X, Y) :- a(X, _), b(X, Y).", {"a": FAN, "b": FAN}, 800),
        ("v(X) :- a(X, U), U < 300, b(X, V), V > U - 1000, c(_, Y), d(Y).",
         {"a": FAN, "b": FAN, "c": FAN, "d": MANY}, 120_800),
        ("v(X) :- a(X, Z), b(Z, U), d(U), c(Z, W), d(W).", {"a": [(1, 1)], "b": FAN, "c": FAN, "d": MANY}, 801),
        ("v(min<X>) :- a(X), b(_).", {"a": MANY, "b": MANY}, 800),
        ("v(X) :- a(X). v(Y) :- v(X), b(X, Y), c(_).", {"a": [(1,)], "b": FAN, "c": MANY}, 1200),
    ],
)  # fmt: skip
def test_derivations_are_not_multiplied_out(rule, rows, most):
    db = hw.connect()
    db.define(rule)
    inserted = db.apply(insert=rows).statistics.derivations
    assert inserted <= most
    view = set(db["v"].rows())
    gone = {name: given[:-1] for name, given in rows.items()}
    assert db.apply(delete=gone).statistics.derivations <= most
    db.apply(insert=gone)
    assert set(db["v"].rows()) == view


def test_a_proof_names_the_rows_and_counts_the_rule_once():
    db = hw.connect()
    db.define("v(X) :- a(X, _), b(X, U), U > 3, c(_), !d(X, _).")
    db.apply(insert={"a": [(1, 2)], "b": [(1, 3), (1, 4)], "c": [(8,)]})
    proof = db.why("v", (1,)).proof()
    assert str(proof).splitlines() == [
        "v(1)  by v#1: v(X) :- a(X, _), b(X, U), U > 3, c(_), !d(X, _).",
        "├─ a(1, 2)",
        "├─ b(1, 4)",
        "├─ c(8)",
        "└─ no d(1, _)",
    ]
    assert proof.size == 1
    assert [(step.text, len(step.premises)) for step in proof.steps] == [("v(1)", 3)]


def test_expressions_are_those_of_the_rule_as_it_was_written():
    db = hw.connect()
    db.define("v(1) :- a(_), b(_).")
    db.apply(insert={"a": [(1,), (2,)], "b": [(3,)]})
    why = db.why("v", (1,))
    assert why.polynomial() == "v#1(a(1)·b(3)) + v#1(a(2)·b(3))"
    assert why.evaluate("counting") == 2


def test_an_expression_of_too_many_summands_is_refused():
    db = hw.connect()
    db.define("v(1) :- a(_), b(_).")
    db.apply(insert={"a": MANY, "b": MANY})
    with pytest.raises(hw.EvaluationError) as refused:
        db.why("v", (1,)).polynomial()
    assert refused.value.code == "too-many-derivations"
    assert db.why("v", (1,)).evaluate("counting") == 160_000


def test_why_not_speaks_of_the_premise_that_was_written():
    db = hw.connect()
    db.define("v(X) :- a(X), b(X, _), c(X, _).")
    db.apply(insert={"a": [(1,)], "b": [(1, 1)], "c": [(2, 2)]})
    assert str(db.why_not("v", (1,))).splitlines() == [
        "v(1) is not there",
        "└─ by v#1: v(X) :- a(X), b(X, _), c(X, _).",
        "   ├─ a(1) holds",
        "   ├─ b(1, 1) holds",
        "   └─ no c(1, _)",
        "it would appear with this:",
        "  insert c(1, 2) (or other values)",
    ]
