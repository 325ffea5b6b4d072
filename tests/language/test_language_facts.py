"""Plain facts taken out before parsing mean what the grammar says they mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import LanguageError
from headwater.language.datalog import parse, parser
from headwater.language.datalog.facts import take_facts

PIECES = [
    "a(1).", 'a("x. b(1).").', "b(x, -2.5, @y).", 'b( "q\\"" ,\n 0x1F , _ ).', "c(X) :- a(X).",
    "a().", "c(x) :-\n a(1).", "a(1)", ".output a", ".decl d(x: number)", "materialize(a, 1, 1, keys(1)).",
    "watch(a).",
    "a(nil, true).", "a([1]).", "r1: a(2).", "a(1).b(2).", "Query: a(X).", 'd("").', "a(1, ).",
    "a(9999999999999999999).", '.input a(filename="x. a(1).")', "p(X) :- q(X, 9999999999999999999).",
    "link(s: string).", "a(1) .", "% a(1).", "a(@1). // b(1).", 'a("\\q").', "X", "a(1e400).",
]  # fmt: skip


def outcome(text: str) -> object:
    try:
        return parse(text)
    except LanguageError as error:
        return (error.code, error.place, error.message)


@given(st.lists(st.sampled_from(PIECES), max_size=6), st.sampled_from([" ", "\n", "\n\n  "]))
def test_a_text_means_the_same_with_and_without(pieces, between):
    text = between.join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "take_facts", lambda text: (text, []))
        expected = outcome(text)
    assert outcome(text) == expected


@given(st.lists(st.sampled_from(PIECES), max_size=6))
def test_what_is_left_has_the_same_lines(pieces):
    text = "\n".join(pieces)
    rest, _ = take_facts(text)
    assert [len(line) for line in rest.split("\n")] == [len(line) for line in text.split("\n")]


def test_places_and_texts_agree_with_the_grammar():
    text = 'link("a",   -1).\n  link(@b, c).'
    quick = parse(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "take_facts", lambda text: (text, []))
        slow = parse(text)
    for left, right in zip(quick.rules, slow.rules, strict=True):
        assert (left.place, left.text) == (right.place, right.text)
        assert left.heads[0].place == right.heads[0].place
        assert [term.place for term in left.heads[0].args] == [term.place for term in right.heads[0].args]


def test_all_plain_facts_are_taken():
    text = "\n".join(f'link("n{i}", {i}, @m).' for i in range(100))
    rest, facts = take_facts(text)
    assert rest.strip() == ""
    assert len(facts) == 100
