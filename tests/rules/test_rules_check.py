"""Whole programs: what a checked program says about relations, rules, facts and directives."""

from __future__ import annotations

import pytest

from headwater.errors import EvaluationError, RuleError
from headwater.language.datalog import parse
from headwater.language.program import Atom, HeadAggregate, Positive, Program, Rule, Variable
from headwater.rules.check import check
from headwater.rules.checked import Aggregate, Selection
from headwater.rules.render import render, render_relation
from headwater.values.functions import Functions


def _check(text, **options):
    return check(parse(text), Functions(), **options)


def test_a_whole_program_reads_as_strata():
    checked = _check(
        """
        link(src: string, dst: string, cost: int).
        sp(X, Y, min<C>) :- link(X, Y, C).
        sp(X, Y, min<C>) :- link(X, Z, C1), sp(Z, Y, C2), C = C1 + C2.
        far(X, count<*>) :- sp(X, _, C), C > 10.
        calm(X) :- link(X, _, _), !far(X, _).
        """
    )
    assert (
        render(checked)
        == """\
base link(src: string, dst: string, cost: int)

stratum 1, recursive
  sp(X: string, Y: string, C: int), min C by (X, Y)
    sp#1: sp(X, Y, C) :- link(X, Y, C).
    sp#2: sp(X, Y, C) :- link(X, Z, C1), sp(Z, Y, C2), C := C1 + C2.

stratum 2
  far(X: string, count: int)
    far#1: far(X, count<*>) :- sp(X, any~1, C), C > 10.

stratum 3
  far~0(c0: string)
    far~0: far~0(c0) :- far(c0, _).

stratum 4
  calm(X: string)
    calm#1: calm(X) :- link(X, _, _), !far~0(X)."""
    )
    assert checked.relations["sp"].selections == (Selection((0, 1), 2, "min"),)
    assert checked.relations["far"].aggregate == Aggregate("count", 1, None)
    assert checked.relations["far~0"].internal
    assert not checked.relations["far"].internal


def test_labels_are_kept_and_others_are_numbered_by_relation():
    checked = _check("p(X) :- a(X). r7 p(X) :- b(X). p(X) :- c(X). q(X) :- p(X).")
    labels = [rule.label for stratum in checked.strata for rule in stratum.rules]
    assert labels == ["p#1", "r7", "p#2", "q#1"]


def test_rules_remember_their_text_and_place():
    (stratum,) = _check("a(X), b(X) :-\n   c(X).").strata[:1]
    assert stratum.rules[0].text == "a(X), b(X) :- c(X)."
    assert stratum.rules[0].place.line == 1


@pytest.mark.parametrize(
    ("text", "relation", "shown"),
    [
        ("p(S) :- link(S, D, _).", "link", "link(S, D, c2)"),
        ("p(S) :- link(S, S).", "link", "link(S, c1)"),
        ("p(S) :- link(S, 1). q(S) :- link(S, D), p(D).", "link", "link(S: int, D: int)"),
        ("p(X, X + 1) :- q(X).", "p", "p(X, c1)"),
        ("p(X, count<*>) :- q(X).", "p", "p(X, count: int)"),
        ("materialize(q, 30, 100, keys(2)). p(X) :- q(X, Y).", "q",
         "q(X, Y), key (Y), for 30 seconds, at most 100 rows"),
        (".decl unused(x: number)", "unused", "unused(x: int)"),
    ],
)  # fmt: skip
def test_columns_are_named_by_declaration_or_after_variables(text, relation, shown):
    assert render_relation(_check(text).relations[relation]) == shown


def test_directives_are_handed_on():
    checked = _check(
        """
        .decl a(x: number)
        .decl b(x: number)
        .input a(filename="a.csv")
        .output b
        .printsize a
        b(x) :- a(x).
        """
    )
    assert checked.inputs == {"a": {"filename": "a.csv"}}
    assert dict(checked.outputs) == {"b": {}}
    assert checked.sizes == ("a",)


def test_a_relation_with_rules_and_data_has_a_hidden_twin():
    checked = _check(".decl p(x: number)\n.input p\np(x) :- q(x). p(3). q(4).")
    assert checked.facades == {"p": "p~given"}
    assert checked.facts == {"q": ((4,),), "p~given": ((3,),)}
    twin = checked.relations["p~given"]
    assert (twin.base, twin.internal, twin.columns) == (True, True, ("x",))
    assert not checked.relations["p"].base


def test_a_relation_with_rules_that_has_data_already_has_one_too():
    assert _check("p(X) :- q(X).", known={"p": (None,)}).facades == {"p": "p~given"}
    assert _check("p(X) :- q(X).", known={"q": (None,)}).facades == {}


def test_relations_have_kinds_and_helpers_have_owners():
    text = ".input far far(X) :- node(X), !link(X, _), N = count : { link(_, X) }, N < 2. far(9)."
    relations = _check(text).relations
    assert {name: (info.kind.value, info.owner) for name, info in relations.items()} == {
        "far": ("stored", None),
        "node": ("base", None),
        "link": ("base", None),
        "far#1~count": ("helper", "far"),
        "far#1~count~groups": ("helper", "far"),
        "far~given": ("base", "far"),
        "link~0": ("helper", "link"),
    }


def test_a_key_is_a_set_of_columns():
    checked = _check("materialize(q, infinity, infinity, keys(2, 1, 2)). p(X) :- q(X, Y, Z).")
    assert checked.relations["q"].key == (1, 0)


def test_keys_of_a_derived_relation_are_ignored_aloud():
    checked = _check("materialize(p, infinity, infinity, keys(1)). p(X) :- q(X).")
    assert checked.relations["p"].key is None
    assert checked.notes == ("the keys of p are ignored: its rows come from rules",)


def test_a_relation_without_columns_is_allowed():
    checked = _check(".decl alarm()\n.decl q(x: number)\nalarm() :- q(_).")
    assert checked.relations["alarm"].arity == 0


def test_a_program_made_by_hand_needs_no_places():
    X = Variable("X")
    bad = Program(
        rules=(Rule(None, (Atom("p", (HeadAggregate("min", None),)),), (Positive(Atom("q", (X,))),)),)
    )
    with pytest.raises(RuleError, match="min<X>"):
        check(bad, Functions())
    good = Program(rules=(Rule(None, (Atom("p", (X,)),), (Positive(Atom("q", (X,))),)),))
    assert render(check(good, Functions())).endswith("p#1: p(X) :- q(X).")


def test_an_empty_program_is_a_program():
    assert _check("").strata == ()


def test_a_fact_that_cannot_be_computed_is_refused_at_its_place():
    with pytest.raises(EvaluationError) as caught:
        check(parse("q(1).\np(2, 1 / (1 - 1))."), Functions())
    assert caught.value.code == "division-by-zero"
    assert caught.value.place is not None and (caught.value.place.line, caught.value.place.column) == (2, 6)


def test_a_long_sum_in_a_fact():
    text = ".decl p(x: float)\np(to_float(1)" + " + 1" * 100 + ")."
    assert check(parse(text), Functions()).facts == {"p": ((101.0,),)}
