"""Aggregates in heads and bodies, as texts write them."""

import pytest
from language_support import C, N, X, Y, Z, atom, condition, only_rule

from headwater.language.datalog import parse
from headwater.language.program import (
    BodyAggregate,
    Call,
    Column,
    Comparison,
    Constant,
    HeadAggregate,
    Positive,
    Variable,
    Wildcard,
)
from headwater.values.types import INT


@pytest.mark.parametrize(
    "written, function",
    [
        ("min<C>", "min"), ("max<C>", "max"), ("sum<C>", "sum"), ("count<C>", "count"),
        ("avg<C>", "avg"), ("mean<C>", "avg"),
        ("a_MIN<C>", "min"), ("a_max<C>", "max"), ("a_LIST<C>", "list"), ("a_COUNT<C>", "count"),
        ("a_AVG<C>", "avg"),
        ("min < C >", "min"), ("MIN<C>", "min"),
    ],
)  # fmt: skip
def test_aggregates_in_heads(written, function):
    assert only_rule(f"p(X, {written}) :- q(X, C).").heads[0].args[1] == HeadAggregate(function, C)


def test_counting_rows_in_heads():
    expected = (HeadAggregate("count", None),)
    for written in ("count<*>", "a_COUNT<*>", "count<_>"):
        assert only_rule(f"p({written}) :- q(X).").heads[0].args == expected


def test_an_aggregate_of_an_address():
    assert only_rule("p(min<@C>) :- q(@C).").heads[0].args == (
        HeadAggregate("min", Variable("C", address=True)),
    )
    assert only_rule("p(@min<C>, D) :- q(@C, D).").heads[0].args[0] == HeadAggregate(
        "min", Variable("C"), address=True
    )


def test_an_aggregate_with_what_belongs_to_its_best_value():
    head = only_rule("p(X, a_MIN<D, A>) :- q(X, D, A).").heads[0]
    assert head.args[1:] == (HeadAggregate("min", Variable("D")), HeadAggregate("witness", Variable("A")))


@pytest.mark.parametrize(
    "written, function, target",
    [
        ("count : { e(X,_) }", "count", None), ("count:{e(X,_)}", "count", None),
        ("count : e(X,_)", "count", None),
        ("sum C : { e(X,_) }", "sum", C), ("min C : e(X,_)", "min", C), ("mean C : { e(X,_) }", "avg", C),
        ("max(C) : { e(X,_) }", "max", C), ("sum C * 2 : { e(X,_) }", "sum", Call("*", (C, Constant(2)))),
        ("sum (C + 1) * 2 : { e(X,_) }", "sum", Call("*", (Call("+", (C, Constant(1))), Constant(2)))),
        ("min f(g(X), \")\") : { e(X,_) }", "min", Call("f", (Call("g", (X,)), Constant(")")))),
        ("min -C : { e(X,_) }", "min", Call("neg", (C,))), ("sum 1.5 : { e(X,_) }", "sum", Constant(1.5)),
    ],
)  # fmt: skip
def test_aggregates_in_bodies(written, function, target):
    expected = BodyAggregate(function, target, (Positive(atom("e", X, Wildcard())),))
    assert condition(f"N = {written}") == Comparison("=", N, expected)


def test_aggregates_as_operands():
    counted = BodyAggregate("count", None, (Positive(atom("e", X)),))
    assert condition("N = 1 + count : { e(X) } * 2").right == Call(
        "+", (Constant(1), Call("*", (counted, Constant(2))))
    )
    assert condition("count : { e(X) } > 3") == Comparison(">", counted, Constant(3))
    assert condition("f(count : e(X)) = N").left == Call("f", (counted,))


def test_the_body_of_an_aggregate_is_a_body():
    inner = condition("N = sum Y : { e(X,Y), !f(Y), Y < 3 ; g(Y) }").right
    (choice,) = inner.body
    assert [len(alternative) for alternative in choice.alternatives] == [3, 1]


def test_names_of_aggregates_are_ordinary_names_elsewhere():
    program = parse(
        ".decl count(sum: number, max: number)\ncount(sum, max) :- min(sum), max(max), max < sum."
    )
    (rule,) = program.rules
    assert rule.body[2] == Comparison("<", Variable("max"), Variable("sum"))
    assert parse("stats(key: string, count: int).").declarations[0].columns[1] == Column("count", INT)
    assert condition("X = max(Y, Z)").right == Call("max", (Y, Z))
