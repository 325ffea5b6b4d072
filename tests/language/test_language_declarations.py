"""Declarations, directives, and what NDlog has beside rules."""

import pytest
from language_support import X, atom, only_rule

from headwater.language.datalog import parse
from headwater.language.program import (
    Atom,
    Column,
    Constant,
    Declaration,
    Directive,
    Materialize,
    Positive,
    Query,
    Variable,
    Wildcard,
)
from headwater.values.types import FLOAT, INT, STRING, list_of

# ------------------------------------------------------------------ NDlog


def test_addresses_and_links_are_kept():
    rule = only_rule('path(@S,@D) :- #link(@S,@D), node(@"10.0.0.1", @a, @7, @_).')
    S, D = Variable("S", address=True), Variable("D", address=True)
    assert rule.heads == (atom("path", S, D),)
    assert rule.body[0] == Positive(Atom("link", (S, D), link=True))
    assert rule.body[1].atom.args == (
        Constant("10.0.0.1", address=True),
        Constant("a", address=True),
        Constant(7, address=True),
        Wildcard(),
    )


@pytest.mark.parametrize(
    "written, expected",
    [
        ("materialize(link, infinity, infinity, keys(1,2)).", Materialize("link", None, None, (0, 1))),
        ("materialize(ping, 10, 5, keys(2)).", Materialize("ping", 10.0, 5, (1,))),
        ("materialize(ping, 0.5, infinity, keys()).", Materialize("ping", 0.5, None, ())),
    ],
)
def test_materialize(written, expected):
    assert parse(written).tables == (expected,)
    assert parse(written).rules == ()


def test_watch():
    assert parse("watch(path).").directives == (Directive("watch", "path"),)


def test_watch_is_an_ordinary_relation_where_it_is_declared():
    assert len(parse(".decl watch(x: number)\nwatch(x).").rules) == 1


@pytest.mark.parametrize("written", ["Query: p(@S, X).", "?- p(@S, X)."])
def test_queries(written):
    program = parse(f"p(@S, X) :- q(@S, X).\n{written}")
    assert program.queries == (Query((Positive(atom("p", Variable("S", address=True), X)),)),)
    assert len(program.rules) == 1


def test_periodic_is_an_ordinary_atom():
    assert only_rule("ping(@N, E) :- periodic(@N, E, 5, 1).").body[0].atom.relation == "periodic"


# ------------------------------------------------------------------ declarations and directives


def test_declarations():
    assert parse(".decl p(x: number, y: symbol)\n.decl q()").declarations == (
        Declaration("p", (Column("x", INT), Column("y", STRING))),
        Declaration("q", ()),
    )


def test_one_declaration_of_several_relations():
    assert parse(".decl a, b(x: float)").declarations == (
        Declaration("a", (Column("x", FLOAT),)),
        Declaration("b", (Column("x", FLOAT),)),
    )


def test_declarations_without_the_word():
    assert parse("link(@src: string, dst: string, hops: list[int], cost).").declarations == (
        Declaration(
            "link",
            (
                Column("src", STRING),
                Column("dst", STRING),
                Column("hops", list_of(INT)),
                Column("cost", None),
            ),
        ),
    )


def test_types_left_open():
    assert parse("p(x: _, y: any).").declarations == (
        Declaration("p", (Column("x", None), Column("y", None))),
    )


@pytest.mark.parametrize("qualifiers", ["brie", "btree inline", "no_inline magic", "overridable"])
def test_qualifiers_that_do_not_matter(qualifiers):
    assert parse(f".decl p(x: number) {qualifiers}\np(1).") == parse(".decl p(x: number)\np(1).")


def test_qualifiers_that_are_directives():
    program = parse(".decl a, b(x: number) input output\ninput(1).")
    assert [(d.kind, d.relation) for d in program.directives] == [
        ("input", "a"), ("output", "a"), ("input", "b"), ("output", "b")
    ]  # fmt: skip
    assert len(program.rules) == 1


def test_directives():
    text = '.input p(IO=file, filename="x.facts", delimiter="\\t", headers=true)\n'
    program = parse(text + ".output p\n.printsize p, q\np(1).")
    assert program.directives == (
        Directive("input", "p", {"IO": "file", "filename": "x.facts", "delimiter": "\t", "headers": "true"}),
        Directive("output", "p"),
        Directive("printsize", "p"),
        Directive("printsize", "q"),
    )
    assert len(program.rules) == 1


@pytest.mark.parametrize(
    "definition",
    [
        ".type T = symbol", ".type T <: symbol", ".type T", ".symbol_type T",
        ".type T = A | B\n.type A <: symbol\n.type B <: A",
    ],
)  # fmt: skip
def test_names_of_types(definition):
    expected = (Declaration("p", (Column("x", STRING), Column("y", list_of(STRING)))),)
    assert parse(f".decl p(x: T, y: list[T])\n{definition}").declarations == expected
    assert parse(f"{definition}\n.decl p(x: T, y: list[T])").declarations == expected


def test_the_old_name_of_a_number_type():
    assert parse(".number_type T\n.decl p(x: T)").declarations == (Declaration("p", (Column("x", INT),)),)


def test_directives_that_are_ignored():
    text = '.pragma "legacy"\n.pragma "a" "b"\n.functor f(x: number, symbol): number stateful\n'
    program = parse(text + ".decl p(x: number)\np(x) :- q(x), r(x).\n.plan 0:(2,1), 1:(1,2)\np(1).")
    assert len(program.rules) == 2
    assert program.directives == ()
