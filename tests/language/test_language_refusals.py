"""What is refused: the code, the place, and words in the message or the hint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import LanguageError
from headwater.language.datalog import parse

# text, code, line, column, words
REFUSALS = [
    # full stops, arrows, commas
    ("p(X) :- q(X)", "syntax", 1, 13, "end of the text | end the rule with '.'"),
    ("p(1)", "syntax", 1, 5, "end the fact with '.'"),
    ("p(X) :- q(X)\nr(X) :- s(X).", "syntax", 1, 13, "found 'r' | end the rule with '.'"),
    ("p(X) :- q(X)\n.decl r(x: number)", "syntax", 1, 13, "found '.decl' | end the rule with '.'"),
    ("a(1)\nb(2).", "syntax", 1, 5, "end the fact with '.', or put ':-'"),
    ("p(X) :- q(X),\nr(X) :- s(X).", "syntax", 2, 6, "found ':-' | one ':-'"),
    ("p(X) q(X), r(X).", "syntax", 1, 6, "found 'q' | put ':-' between the head and the body"),
    ("p(X) <- q(X).", "syntax", 1, 6, "found '<-' | write ':-', not '<-'"),
    ("p(X) : q(X).", "syntax", 1, 6, "write ':-', not ':'"),
    ("p(X) = q(X).", "syntax", 1, 6, "write ':-', not '='"),
    ("p(X) :- q(X) r(X).", "syntax", 1, 14, "found 'r' | is a ',' missing"),
    ("p(X) :- q(X)\n   r(X).", "syntax", 2, 4, "is a ',' missing"),
    ("p(X Y) :- q(X).", "syntax", 1, 5, "found 'Y', expected ')' | is a ',' missing"),
    ("p(X,) :- q(X).", "syntax", 1, 5, "found ')', expected a value | leave out the ','"),
    ("p(X) :- q(X), .", "syntax", 1, 15, "expected a condition | leave out the ','"),
    ("p(X) :- ", "syntax", 1, 9, "the end of the text, expected a condition | not finished"),
    # brackets
    ("p(X :- q(X).", "syntax", 1, 5, "found ':-' | the '(' of line 1, column 2 is not closed"),
    ("p(X) :- q(X, f(Y).", "syntax", 1, 18, "the '(' of line 1, column 10 is not closed"),
    ("p(X) :- q(X)), r(X).", "syntax", 1, 13, "found ')' | nothing is open"),
    ("p(X) :- q([X).", "syntax", 1, 13, "the '[' of line 1, column 11 is closed by ']'"),
    ("p(N) :- N = count : { q(_).", "syntax", 1, 27, "the '{' of line 1, column 21 is not closed"),
    # strings and comments
    ('p("abc).', "syntax", 1, 3, "string does not end | close it with \""),
    ('a(1).\np("abc\n").', "syntax", 2, 3, "string does not end"),
    ("p('a').", "syntax", 1, 3, "double quotes"),
    ("p(1). /* open", "syntax", 1, 7, "comment does not end | */"),
    ("# a note", "syntax", 1, 5, "comments start with // or %"),
    ("-- a note", "syntax", 1, 1, "comments start with // or %"),
    ("p(X) :- q(X) % a note\n.", "syntax", 1, 18, "% is the remainder"),
    # other languages' spellings
    ("p(X) :- q(X), X =< 3.", "syntax", 1, 17, "found '=<' | write '<='"),
    ("p(X) :- q(X), X => 3.", "syntax", 1, 17, "write '>='"),
    ("p(X) :- q(X), X \\= 3.", "syntax", 1, 17, "write '!='"),
    ("p(X) :- q(X), Y is X + 1.", "syntax", 1, 17, "write '=' instead of 'is'"),
    ("p(X) :- q(X) & r(X).", "syntax", 1, 14, "write ',' instead of '&'"),
    ("p(X) :- q(X) and r(X).", "syntax", 1, 14, "write ',' instead of 'and'"),
    ("p(X) :- q(X) | r(X).", "syntax", 1, 14, "write ';' instead of '|'"),
    ("p(X) :- q(X), ~r(X).", "syntax", 1, 15, "write '!' instead of '~'"),
    # relations, heads, conditions
    ("p :- q(X).", "syntax", 1, 3, "written p()"),
    ("p() :- q.", "syntax", 1, 8, "found 'q', expected a condition | written q()"),
    ("p(X) :- q@X(Y).", "syntax", 1, 10, "first argument: q(@S, ...)"),
    ("SP1-: p(X) :- q(X).", "syntax", 1, 5, "expected the rest of a label"),
    ("r1 r2 p(X) :- q(X).", "syntax", 1, 4, "found 'r2', expected a relation"),
    ("p(X) :- X + 1.", "syntax", 1, 9, "found a value, expected a condition"),
    ("p(X) :- 3, q(X).", "syntax", 1, 9, "found '3', expected a condition"),
    ("p(X) :- q(X), Y = (X < 3).", "syntax", 1, 20, "found a condition, expected a value"),
    ("p(X) :- q(X), !(X + 1).", "syntax", 1, 16, "expected a condition to negate | in parentheses"),
    ("p(12ab).", "syntax", 1, 3, "found '12ab' | names start with a letter"),
    ("p(X) :- q(X), ?.", "syntax", 1, 15, "expected a condition"),
    (")", "syntax", 1, 1, "expected a rule, a fact or a declaration"),
    # aggregates
    ("p(sum<C + 1>) :- q(C).", "syntax", 1, 6, "one variable: min<C>"),
    ("p(median<C>) :- q(C).", "aggregate", 1, 3, "median is not an aggregate | count, sum, min"),
    ("p(min<*>) :- q(C).", "aggregate", 1, 3, "min needs a variable | write min<X>"),
    ("p(X, min<c>) :- q(X, c).", "aggregate", 1, 6, "c is a string here"),
    ("p(X) :- q(X), Y = min<X>.", "syntax", 1, 22, "stands in a head | min X : { ... }"),
    ("p(X) :- X = count Y : { q(Y) }.", "aggregate", 1, 13, "count takes no value"),
    ("p(X) :- X = sum : { q(Y) }.", "aggregate", 1, 13, "sum needs a value | write sum X"),
    # constants
    ("p(99999999999999999999).", "constant", 1, 3, "does not fit in 64 bits"),
    ("p(-9223372036854775809).", "constant", 1, 3, "does not fit in 64 bits"),
    ("p(1e999).", "constant", 1, 3, "too large for a float"),
    ('p("a\\qb").', "constant", 1, 3, "\\q is not an escape"),
    ('p(date("2024-02-30")).', "constant", 1, 8, "not a date"),
    ('p(timestamp("noon")).', "constant", 1, 13, "not a timestamp"),
    ("p(X) :- q(X), X > 2024-02-30.", "constant", 1, 19, "not a date"),
    ('p(decimal("1.2.3")).', "constant", 1, 11, "not a decimal"),
    ('p(binary("abc")).', "constant", 1, 10, "hexadecimal"),
    ('p(interval("soon")).', "constant", 1, 12, "not an interval"),
    ("p(X) :- q(Y), X = decimal(Y, 50, 2).", "syntax", 1, 19, "a precision of 1 to 38"),
    ("p({a: 1, a: 2}).", "syntax", 1, 10, "the field a is there twice"),
    ('p(map("a", 1, "a", 2)).', "syntax", 1, 3, "a key is there twice"),
    ("p(X) :- q(X), Y = a.b.", "syntax", 1, 19, "a is no variable here"),
    ('.input p(delimiter="\\q")', "constant", 1, 20, "\\q is not an escape"),
    # declarations and directives
    (".decl p(x, y: number)", "syntax", 1, 10, "found ',', expected ':' | a type"),
    (".decl p(x)", "syntax", 1, 10, "give each column a type"),
    (".decl p(x: number).", "syntax", 1, 19, "without a full stop"),
    (".decl p(x: thing)", "unknown-type", 1, 12, "no type thing | .type thing <: symbol"),
    (".type T = U\n.decl p(x: T)", "unknown-type", 1, 11, "no type U"),
    (".type T = U\n.type U = T", "unknown-type", 2, 11, "T is defined by itself"),
    (".type T = number | symbol", "unknown-type", 1, 20, "T mixes int and string"),
    (".decl p(x: int[int])", "unknown-type", 1, 12, "only list and map do"),
    ("p(x: map[int]).", "unknown-type", 1, 6, "map takes 2 types"),
    ("p(x: decimal(12,13)).", "unknown-type", 1, 6, "no type decimal(12,13) | at most 38"),
    ("p(x: {a: int, a: int}).", "unknown-type", 1, 15, "the field a is there twice"),
    ("p(x: thing).", "unknown-type", 1, 6, "no type thing"),
    ("p(x + 1, y: int).", "syntax", 1, 3, "a column's name and type"),
    ("p(1, y: int).", "syntax", 1, 3, "a column's name and type"),
    ("p(x: int) :- q(x).", "syntax", 1, 3, "a declaration has only names and types"),
    (".frobnicate p", "syntax", 1, 1, "no directive .frobnicate"),
    ("materialize(link, 10).", "materialize", 1, 1, "takes 4 arguments, found 2"),
    ("materialize(link, soon, 5, keys(1)).", "materialize", 1, 19, "lifetime is a number or infinity"),
    ("materialize(link, 0, 5, keys(1)).", "materialize", 1, 19, "more than 0"),
    ("materialize(link, 10, 2.5, keys(1)).", "materialize", 1, 23, "whole number"),
    ("materialize(link, 10, 5, keys(0)).", "materialize", 1, 31, "counted from 1"),
    ("materialize(link, 10, 5, 1).", "materialize", 1, 26, "expected keys(...)"),
    ('materialize("link", 10, 5, keys(1)).', "materialize", 1, 13, "name of a relation"),
    # what is known and not supported
    (".comp Graph { }", "unsupported", 1, 1, "components"),
    ("a(1).\n.init g = Graph", "unsupported", 2, 1, "components"),
    ('.include "other.dl"', "include", 1, 1, "cannot include other.dl | folder=..."),
    (".limitsize p(n=10)", "unsupported", 1, 1, "limits of size"),
    (".type T = [x: number]", "unsupported", 1, 11, "records | a column for each field"),
    (".type T = A { x: number } | B { }", "unsupported", 1, 13, "algebraic data types"),
    (".decl e(x: number, y: number) eqrel", "unsupported", 1, 31, "eqrel | p(X, Z) :- p(X, Y), p(Y, Z)."),
    (".decl e(x: number, y: number) choice-domain x", "unsupported", 1, 31, "choice-domain"),
    ("p(X) :- q(X,Y), X = $A(Y).", "unsupported", 1, 21, "$"),
    ("p(K) :- q(K,N,S), K in N.", "syntax", 1, 21, "found 'in', expected"),
    ("p(X) <= p(Y) :- q(X,Y).", "unsupported", 1, 6, "subsumption"),
    ("At Z:\nr1 p(Z) :- q(Z).", "unsupported", 1, 5, "At Z: | route(@Z, X, P)"),
    ("r1 p(@Z, Y) :- X says q(@Z, Y).", "unsupported", 1, 18, "says | as a column"),
    ("r1 encrypts S says p(S, D) :- q(S, D).", "unsupported", 1, 15, "says | as a column"),
    ("r1 0.9 p(@X) :- q(@X).", "unsupported", 1, 4, "a weight of a rule | leave the weight out"),
    ("r1 p(@X) :- delete q(@X).", "unsupported", 1, 20, "delete in a body | an event of its own"),
    ("p(X) :- q(Y), X = as(Y, number).", "unsupported", 1, 19, "type casts | to_number"),
    ("#include <x.dl>\np(1).", "include", 1, 1, "cannot include x.dl: this text has no folder"),
    ("p(1).\n#define 3 N", "preprocessor", 2, 1, "expected a name"),
    ("p(1).\n#ifdef X", "preprocessor", 2, 1, "not closed by #endif"),
    ("p(1).\n#if X > 3\n#endif", "unsupported", 2, 1, "#if is not supported | #ifdef"),
]  # fmt: skip


@pytest.mark.parametrize("text, code, line, column, words", REFUSALS, ids=[row[0] for row in REFUSALS])
def test_refusals(text, code, line, column, words):
    with pytest.raises(LanguageError) as caught:
        parse(text, "t.dl")
    error = caught.value
    assert (error.code, error.place.source, error.place.line, error.place.column) == (
        code,
        "t.dl",
        line,
        column,
    )
    for expected in words.split(" | "):
        assert expected in f"{error.message}\n{error.hint}"


@pytest.mark.parametrize("text", [row[0] for row in REFUSALS])
def test_messages_are_in_plain_words(text):
    with pytest.raises(LanguageError) as caught:
        parse(text)
    for terminal in ("IDENT", "OPEN_", "CLOSE_", "_DOT", "$END", "Token", "something else"):
        assert terminal not in str(caught.value)


def test_an_error_shows_the_place():
    with pytest.raises(LanguageError) as caught:
        parse("edge(1, 2).\nreach(X, Y) <- edge(X, Y).", "reach.dl")
    assert str(caught.value) == (
        "error[syntax]: found '<-', expected ',', ':-' or '.'\n"
        " --> reach.dl:2:13\n"
        "  |\n"
        "2 | reach(X, Y) <- edge(X, Y).\n"
        "  |             ^^\n"
        "  = hint: between head and body write ':-', not '<-'"
    )


def test_deep_nesting_is_refused_politely():
    deep = "f(" * 3000 + "X" + ")" * 3000
    with pytest.raises(LanguageError, match="nested too deeply"):
        parse(f"p(X) :- q(X), X = {deep}.")


WORDS = [
    "p", "X", "q(X)", "p(1).", "(", ")", "[", "]", "{", "}", ":-", ":", ":=", ".", ",", ";", "!", "not ", "@", "#",
    "%", "//", "/*", "*/", '"', '"a"', "'", "_", "-", "+", "<", ">", "=", "1", "2.5", "count : {", "min<C>",
    ".decl ", ".type ", ".output ", ".comp ", "?-",
    "Query:", "materialize(", "keys(1)", "date(", "\n", " ", "\\", "$", "in ", "delete ",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_text_is_read_or_refused(words):
    text = "".join(words)
    try:
        parse(text)
    except LanguageError as error:
        assert error.place is not None
        assert str(error)
