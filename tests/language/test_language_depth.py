"""Long and deep texts: they are read, or refused at their place; Python's stack is never the limit."""

from __future__ import annotations

import pytest

from headwater.errors import LanguageError
from headwater.language.datalog import parse
from headwater.language.datalog.nesting import MOST_BRACKETS
from headwater.language.datalog.render import render
from headwater.language.program import Call, Term, Variable

MANY = 10_000


def _levels(term: Term, side: int) -> int:
    levels = 0
    while isinstance(term, Call):
        term, levels = term.args[side], levels + 1
    return levels


def _argument(text: str) -> Term:
    return parse(f"p({text}) :- q(X).").rules[0].heads[0].args[0]


@pytest.mark.parametrize(
    "text, side",
    [("X" + " + 1" * MANY, 0), ("2" + " ^ X" * MANY, -1), ("- " * MANY + "X", 0), ("bnot " * MANY + "X", 0)],
)
def test_a_chain_of_operators_may_have_any_length(text, side):
    assert _levels(_argument(text), side) == MANY


def test_a_long_expression_is_written_again():
    program = parse("p(X" + " + 1" * MANY + ") :- q(X).")
    assert render(program) == program.text + "\n"


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- " + ", ".join(f"q{i}(X)" for i in range(2_000)) + ".",
        "p(X) :- (" + " ; ".join(f"q{i}(X)" for i in range(2_000)) + ").",
        ", ".join(f"p{i}(X)" for i in range(2_000)) + " :- q(X).",
        "p([" + ", ".join(["X"] * 2_000) + "]) :- q(X).",
        "p("
        + ", ".join(f"X{i}" for i in range(2_000))
        + ") :- q("
        + ", ".join(f"X{i}" for i in range(2_000))
        + ").",
    ],
    ids=["body", "alternatives", "heads", "list", "columns"],
)
def test_long_statements(text):
    assert render(parse(text)) == text + "\n"


def test_brackets_as_deep_as_allowed():
    inside = MOST_BRACKETS - 1
    assert _argument("(" * inside + "X" + ")" * inside) == Variable("X")
    assert _levels(_argument("f(" * inside + "X" + ")" * inside), 0) == inside


@pytest.mark.parametrize(
    "before, opened, closed, after, column",
    [
        ("p(", "(", ")", ") :- q(X).", 66),
        ("p(", "f(", ")", ") :- q(X).", 130),
        ("p(", "[", "]", ").", 66),
        ("p(X) :- ", "(", ")", ".", 73),
        ("p(X) :- ", "!(", ")", ".", 138),
        (".decl p(x: ", "list[", "]", ")", 331),
        ("p(X) :- q(X), ", "X = count : { q(X), ", "}", ".", 1290),
    ],
)
def test_deeper_brackets_are_refused_where_they_are(before, opened, closed, after, column):
    text = before + opened * MANY + "X" + closed * MANY + after
    with pytest.raises(LanguageError) as caught:
        parse("a(1).\n" + text)
    error = caught.value
    assert error.code == "too-deep" and error.place is not None
    assert (error.place.line, error.place.column) == (2, column)
    assert len(str(error)) < 1_500


def test_brackets_that_are_left_open_do_not_add_up_over_statements():
    with pytest.raises(LanguageError) as caught:
        parse("p(X :- q(X).\n" * 100)
    assert caught.value.code == "syntax" and caught.value.place is not None and caught.value.place.line == 1


def test_a_name_of_a_name_of_a_type():
    names = "".join(f".type t{i} = t{i + 1}\n" for i in range(2_000))
    with pytest.raises(LanguageError) as caught:
        parse(names + ".type t2000 = number\n.decl p(x: t0)")
    assert caught.value.code == "unknown-type" and caught.value.place is not None


@pytest.mark.parametrize(
    "text, code",
    [
        ('p("' + "x" * 10**6, "syntax"),
        ("p(1). /* " + "x" * 10**6, "syntax"),
        ("p(" + "1" * 10**5 + ").", "constant"),
        ("p(0x" + "e" * 10**5 + ").", "constant"),
        ("p(" + "1" * 10**5 + ".5).", "constant"),
        ('p("\\ud800").', "constant"),
        ('p("\\q").', "constant"),
        ("p(1) " + "x" * 10**6 + ".", "syntax"),
    ],
)
def test_mistakes_in_one_long_line(text, code):
    with pytest.raises(LanguageError) as caught:
        parse(text)
    assert caught.value.code == code and caught.value.place is not None
    assert len(str(caught.value)) < 1_500
