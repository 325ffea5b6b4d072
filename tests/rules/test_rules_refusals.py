"""What is refused: the code, the place, and words that the message or its hint must hold."""

from __future__ import annotations

import pytest

from headwater.errors import RuleError
from headwater.language.datalog import parse
from headwater.rules.check import check
from headwater.rules.unfilled import doubts
from headwater.values.functions import Functions

# text, code, line, column, words
REFUSALS = [
    # safety
    ("p(X, Y) :- q(X).", "unsafe-variable", 1, 6, "Y is in the head; use Y in a premise"),
    ("p(X, _) :- q(X).", "unsafe-variable", 1, 6, "a head cannot hold `_`"),
    ("p(X, count<Y>) :- q(X).", "unsafe-variable", 1, 12, "Y is in the head"),
    ("p(X, sum<Y>) :- q(X).", "unsafe-variable", 1, 10, "Y is in the head"),
    ("p(X) :- q(X), !r(X, Y).", "unsafe-variable", 1, 21, "only under a negation; write `_`"),
    ("p(X) :- q(X), X < Y.", "unsafe-variable", 1, 19, "Y is not bound"),
    ("p(X) :- q(X), Y = Z.", "unsafe-variable", 1, 15, "Y is equal to something"),
    ("p(Y) :- q(X), Y = Z + 1.", "unsafe-variable", 1, 19, "Z is not bound"),
    ("p(Y) :- q(X), X = Y + 1.", "unsafe-variable", 1, 19, "Y is not bound"),
    ("p(X) :- q(X), X = _.", "unsafe-variable", 1, 19, "`_` has no value"),
    ("p(X) :- q(X), r(X + _).", "unsafe-variable", 1, 21, "`_` has no value"),
    ("p(X).  q(X) :- p(X).", "unsafe-variable", 1, 3, "X is a variable; a fact has no body"),
    ("p(_).", "unsafe-variable", 1, 3, "a fact cannot hold `_`"),
    ("p(count : { q(_) }).", "unsupported", 1, 3, "must be computed; make it a rule"),
    ('p(cat("a", X)). q(X) :- p(X).', "unsafe-variable", 1, 12, "X is a variable"),
    ("p(cat(1, 2)).", "function-mismatch", 1, 3, "cat takes (string, string...), given (int, int)"),
    ("p(1 + ctr(2)).", "unknown-function", 1, 7, "there is no function ctr"),
    ("p(f_now()).", "function-mismatch", 1, 3, "gives another time"),
    ("p(X, Y) :- q(X), (r(Y) ; s(X)).", "unsafe-variable", 1, 6, "Y is in the head"),
    ("p(X, N) :- N = count : { q(X, _) }.", "unsafe-variable", 1, 28, "only inside them; outside the braces"),
    ("p(N) :- N = count : { q(N) }.", "unsafe-variable", 1, 25, "N is used outside"),
    ("p(N) :- q(X), N = count : { r(Y), Y < Z }.", "unsafe-variable", 1, 39, "Z is not bound"),
    ("p(X) :- q(X), X := 3.", "bad-assignment", 1, 15, "X; use `=`"),
    ("p(X) :- q(X), X + 1 := 3.", "bad-assignment", 1, 15, "variable; on its left"),
    ('p(X) :- q(X), match("a(", X).', "bad-pattern", 1, 15, "'a(' is not a regular expression; RE2's"),
    ('p(X) :- q(X), !match("[[:foo:]]", X).', "bad-pattern", 1, 16, "not a regular expression"),
    ('p(X) :- q(X), true = match("(?=a)", X).', "bad-pattern", 1, 22, "not a regular expression"),
    ("p(X, Y) :- q(X), !(r(X, Y), s(Y)).", "unsafe-variable", 1, 25, "Y is used outside a negated group"),
    ("p(X) :- q(X), !(r(X), Z < 3).", "unsafe-variable", 1, 23, "Z is not bound"),
    # strata
    ("p(X) :- q(X), !(r(X, Y), p(Y)).", "unstratified-negation", 1, 15, "p -> !p"),
    ("win(X) :- move(X, Y), !win(Y).", "unstratified-negation", 1, 24, "win -> !win"),
    (
        "a(X) :- b(X).\nb(X) :- c(X), !d(X, _).\nd(X, Y) :- a(X), a(Y).",
        "unstratified-negation",
        2,
        16,
        "b -> !d -> a -> b",
    ),
    ("p(X, sum<Y>) :- q(X, Y). q(X, Y) :- p(X, Y).", "unstratified-aggregate", 1, 17, "sum; p -> q -> p"),
    ("p(X, count<Y>) :- p(X, Y).", "unstratified-aggregate", 1, 19, "count; p -> p"),
    (
        "p(X) :- q(X), N = count : { p(Y), Y < X }, N > 3.",
        "unstratified-aggregate",
        1,
        29,
        "count; p -> p; in a head may be recursive",
    ),
    (
        "p(X, M) :- q(X, M). p(X, M) :- q(X, _), M = min C : { p(X, C) }.",
        "unstratified-aggregate",
        1,
        55,
        "min; p -> p",
    ),
    (
        "p(X, min<Y>, max<Z>) :- q(X, Y, Z). q(X, Y, Z) :- p(X, Y, Z).",
        "unstratified-aggregate",
        1,
        6,
        "several aggregates; a relation of its own",
    ),
    # aggregates
    ("p(X, sum<Y>) :- q(X, Y). p(X, Y) :- r(X, Y).", "mixed-aggregate", 1, 26, "sum in column 2"),
    ("p(X, sum<Y>) :- q(X, Y). p(1, 2).", "mixed-aggregate", 1, 1, "also takes rows from outside"),
    ("p(X, min<Y>) :- q(X, Y). p(X, max<Y>) :- r(X, Y).", "mixed-aggregate", 1, 31, "max; but min"),
    ("p(X, min<Y>) :- q(X, Y). p(min<X>, Y) :- r(X, Y).", "mixed-aggregate", 1, 28, "column 1; column 2"),
    ("p(X, list<Y>) :- q(X, Y).", "unsupported", 1, 6, "list; count, sum, avg, min, max"),
    # relations
    ("p(X) :- q(X, Y). q(X) :- r(X).", "arity-clash", 1, 18, "q has 1 column; 2 columns at line 1"),
    ("q(x: int, y: int).\np(X) :- q(X).", "arity-clash", 2, 9, "1 column here; as declared at line 1"),
    ("p(X) :- q(X), N = count : { q(X, N) }.", "arity-clash", 1, 29, "q has 2 columns here"),
    ("materialize(q, infinity, infinity, keys(3)). p(X) :- q(X).", "arity-clash", 1, 1, "key column 3"),
    ("materialize(p, 10, infinity, keys(1)). p(X) :- q(X).", "unsupported", 1, 1, "p has rules; infinity"),
    ("materialize(p, infinity, 9, keys(1)). p(X) :- q(X).", "unsupported", 1, 1, "p has rules"),
    (".decl link(x: number)\n.output lnk", "unknown-relation", 2, 1, "lnk; did you mean link?"),
    (".decl q(x: number, x: number)", "duplicate-column", 1, 1, "two columns called x"),
    # functions
    ("p(X) :- q(Y), X = sqt(Y).", "unknown-function", 1, 19, "no function sqt; did you mean sqrt?"),
    ("p(X) :- q(Y), X = q(Y).", "unknown-function", 1, 19, "there is no function q"),
    ("q(1). p(X) :- q(Y), X = q(Y).", "unknown-function", 1, 25, "q is a relation; premise of its own"),
    ("p(X) :- q(X), strlen(X).", "not-a-test", 1, 15, "strlen; compare it; must be declared"),
    ("p(X) :- q(X), 3 = strlen(X, X).", "function-mismatch", 1, 19, "strlen takes (string)"),
    ("p(X) :- q(X), contains(X).", "function-mismatch", 1, 15, "contains takes"),
    ("p(T) :- q(X), T = f_now().", "function-mismatch", 1, 19, "f_now gives another time"),
    # labels, and what is not there
    ("r1 p(X) :- q(X).\nr1 p(X) :- s(X).", "duplicate-label", 2, 1, "r1; line 1"),
    ("r1 delete p(X) :- q(X).", "unsupported", 1, 1, "delete"),
    # types
    ('link(s: string, c: int).\np(X) :- link(X, "a").', "type-clash", 2, 17, "string; int; declared, line 1"),
    ("q(x: string). p(X) :- q(X), X < 3.", "type-clash", 1, 29, "string (as declared, line 1); int"),
    ('q(x: int). r(y: string). p(X) :- q(X), r(X).', "type-clash", 1, 42, "X is; int; string"),
    ('q(1). q("a").', "type-clash", 1, 3, "column 1 of q; int; string"),
    ("q(x: int). r(x: float). p(X) :- q(X). p(X) :- r(X).", "type-clash", 1, 49, "int; float; to_float"),
    ('p(X, sum<Y>) :- q(X, Y). q(1, "a").', "type-clash", 1, 10, "sum needs numbers; string"),
    ("q(x: string). p(avg<X>) :- q(X).", "type-clash", 1, 21, "avg needs numbers"),
    ("q(x: float). q(9007199254740993).", "type-clash", 1, 16, "no float equals"),
    ('p(X) :- q(X), X = [1, "a"].', "type-clash", 1, 19, '[1, "a"] holds values of different types'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "words"), REFUSALS, ids=[f"{case[1]}: {case[0]}" for case in REFUSALS]
)
def test_a_refusal_names_its_code_place_and_remedy(text, code, line, column, words):
    with pytest.raises(RuleError) as caught:
        check(parse(text), Functions())
    error = caught.value
    assert error.code == code
    assert error.place is not None
    assert (error.place.line, error.place.column) == (line, column)
    for word in words.split("; "):
        assert word in f"{error.message} {error.hint}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p(X) :- lnk(X, _). link(1, 2).", "lnk; did you mean link?"),
        ("p(X) :- q(X), contain(X, X). q(1).", "contain; did you mean contains"),
        ("p(X) :- q(X).", "q is neither declared; .decl q(...)"),
        ("p(X) :- q(X), N = count : { r(X) }. q(1).", "r is neither"),
        ("p(X) :- q(X). q(1). ?- r(X).", "r is neither"),
    ],
)
def test_strict_refuses_relations_that_nothing_fills(text, words):
    check(parse(text), Functions())
    assert doubts(parse(text), Functions(), strict=False) == ()
    with pytest.raises(RuleError) as caught:
        doubts(parse(text), Functions(), strict=True)
    assert caught.value.code == "unknown-relation"
    assert caught.value.place is not None
    for word in words.split("; "):
        assert word in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    "text",
    [
        "link(s: int, d: int). p(X) :- link(X, _).",
        "materialize(link, infinity, infinity, keys(1,2)). p(X) :- link(X, _).",
        "link(1, 2). p(X) :- link(X, _).",
        "p(X) :- q(X). q(X) :- p(X).",
    ],
)
def test_strict_accepts_what_is_declared_stated_or_derived(text):
    for strict in ("near", True):
        assert doubts(parse(text), Functions(), strict=strict) == ()


@pytest.mark.parametrize(
    ("text", "relation", "column", "meant"),
    [
        ("p(X) :- lnk(X, _). link(1, 2).", "lnk", 9, "link"),
        ("reach(X, Y) :- link(X, Y).\nreach(X, Y) :- lnk(X, Z), reach(Z, Y), link(Z, X).", "lnk", 16, "link"),
        ("reach(X, Y) :- link(X, Y).\nreach(X, Y) :- link(X, Z), raech(Z, Y).", "raech", 28, "reach"),
        ("p(X) :- q(X), !blokced(X). blocked(X) :- q(X).", "blokced", 16, "blocked"),
        ("p(X) :- q(X), N = count : { hasChild(X) }. has_child(1).", "hasChild", 29, "has_child"),
        ("p(X) :- q(X), contain(X, X). q(1).", "contain", 15, "contains"),
        ("reach(X) :- q(X). q(1). ?- raech(X).", "raech", 28, "reach"),
        (".decl parent(x: symbol)\np(x) :- pareny(x), q(x). q(x) :- parent(x).", "", 0, ""),
    ],
)
def test_relations_that_nothing_fills_are_refused_where_their_name_is_near_another(
    text, relation, column, meant
):
    if not relation:
        assert doubts(parse(text), Functions()) == ()
        return
    with pytest.raises(RuleError) as caught:
        doubts(parse(text), Functions())
    error = caught.value
    assert error.code == "unknown-relation" and error.message.startswith(f"{relation} is neither")
    assert error.place is not None and error.place.column == column
    assert error.hint == f"did you mean {meant}? If not, declare it: .decl {relation}(...)"


@pytest.mark.parametrize(
    "text",
    [
        "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).",
        "p(X) :- link1(X), link2(X), mother(X), brother(X), in_x(X), in_y(X), q(X), r(X).",
        "p(X) :- host(X), post(X), cost(X).",
        "p(X) :- lnk(X). q(X) :- link(X, _).",  # another number of columns: another relation
        "p(X) :- lnk(X), link(X). .input lnk\n.input link",
        "p(X) :- lnk(X), link(X). link(1). materialize(lnk, infinity, infinity, keys(1)).",
    ],
)
def test_names_that_are_told_apart_on_purpose_are_taken(text):
    assert doubts(parse(text), Functions()) == ()


def test_what_is_known_or_given_is_no_slip():
    program = parse("p(X) :- lnk(X), link(X).")
    assert doubts(program, Functions(), known={"lnk": 1, "link": 1}) == ()
    assert doubts(program, Functions(), known={"lnk": 1}, given=["link"]) == ()
    with pytest.raises(RuleError, match="lnk is neither"):
        doubts(parse("p(X) :- lnk(X)."), Functions(), known={"link": 1})
    with pytest.raises(RuleError, match="lnk is neither"):
        doubts(program, Functions(), given=["link"])
    with pytest.raises(RuleError, match="lnk is neither"):
        doubts(parse("p(X) :- lnk(X)."), Functions(), given=["link"])
    assert doubts(parse("p(X) :- lnk(X)."), Functions(), known={"link": 2}) == ()


def test_a_plural_is_doubted_only():
    (doubt,) = doubts(parse("p(X) :- link(X). p(X) :- links(X). q(X) :- link(X)."), Functions())
    assert str(doubt).startswith(
        "warning[unknown-relation]: nothing fills links so far; link is another relation\n"
    )
    assert doubts(parse("links(X) :- link(X)."), Functions()) == (), "whoever writes both knows both"
