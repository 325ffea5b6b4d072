"""Lower-case names beside upper-case variables: refused, or told as a warning, with the rule."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import headwater as hw
from headwater.language.datalog import parse

UPPER = "reach(X, Y) :- link(X, Z), reach(Z, Y)."


def slips(text: str) -> list[tuple[type, str]]:
    """The slips of a text beside a rule with variables in upper case: what they are, and of which rule."""
    return [(type(slip), slip.place.text if slip.place else "") for slip in parse(f"{UPPER}\n{text}").slips]


@pytest.mark.parametrize(
    "rule",
    [
        "reach(x, y) :- link(x, y).",
        "reach(x, _) :- link(x, _).",
        "p(x) :- link(x, y), x != y.",
        "p(x), q(y) :- link(x, y).",
        "p(x) :- a(x) ; b(x).",
    ],
)
def test_a_rule_without_variables_that_repeats_names_is_refused(rule: str):
    assert slips(rule) == [(hw.LanguageError, rule)]
    db = hw.connect()
    with pytest.raises(hw.LanguageError) as caught:
        db.define(f"{UPPER}\n{rule}")
    assert caught.value.code == "lower-case" and caught.value.place is not None
    assert caught.value.place.line == 2 and db.version == 0


@pytest.mark.parametrize(
    "rule",
    ["reach(X, y) :- link(X, y).", "p(X) :- link(X, y), link(y, X).", "q(1) :- link(x, y), link(y, x)."],
)
def test_names_that_stand_in_several_places_are_warned_of(rule: str):
    assert slips(rule) == [(hw.HeadwaterWarning, rule)]
    with pytest.warns(hw.HeadwaterWarning) as caught:
        hw.connect().define(f"{UPPER}\n{rule}")
    assert caught[0].filename == __file__, "the warning is about the line that calls"


@pytest.mark.parametrize(
    "text",
    [
        "link(a, b). link(b, c).",
        "red(X) :- colour(X, red).",
        'reach("x", "y") :- link("x", "y").',
        "p(X) :- q(X, true), r(X, true).",
        "p(X, Y) :- q(X), Y = f(X), q(Y).",
        "?- reach(a, X).",
        "x reach(X, Y) :- x(X), y(Y).",
    ],
)
def test_strings_that_are_meant_are_taken(text: str):
    assert slips(text) == []


@pytest.mark.parametrize(
    "text", ["reach(x, y) :- link(x, y).", ".decl link(x: symbol)\np(x) :- link(x), !q(x). q(x) :- link(x)."]
)
def test_other_dialects_have_variables_in_lower_case(text: str):
    assert parse(text).slips == ()


@pytest.mark.parametrize(
    "text", ["p(X) :- q(X, Y), Y = NULL.", "p(1) :- q(1, NULL).", ".decl q(x: int)\np(Null) :- q(Null)."]
)
def test_null_in_upper_case_is_refused(text: str):
    (slip,) = parse(text).slips
    assert isinstance(slip, hw.LanguageError) and slip.hint == "write X = null, or X is null"


def test_the_words():
    (slip,) = parse(f"{UPPER}\nreach(x, y) :- link(x, y).").slips
    assert slip.message == (
        "in 'reach(x, y) :- link(x, y).' x, y are strings, not variables: variables of this text start in upper case"
    )
    assert slip.hint == 'write X, Y; or "x", "y", if the strings are meant'


def test_a_text_that_was_taken_on_before_can_be_opened(tmp_path: Any):
    """What is refused of a new text is no reason to lose a state."""
    from dataclasses import replace

    text = f"{UPPER}\nreach(x, y) :- link(x, y). p(X) :- lnk(X, X)."
    with hw.connect(tmp_path / "state", strict=False) as db:
        db.define(replace(parse(text), slips=()))
        db.apply(insert={"fresh": [(1,)]})
        db.checkpoint()
        db.define(replace(parse("p(X) :- lnik(X, X)."), slips=()))
    with warnings.catch_warnings(), hw.connect(tmp_path / "state") as db:
        warnings.simplefilter("error")
        assert db["fresh"].rows() == [(1,)]
        db.apply(insert={"fresh": [(2,)], "lnik": [(1, 1)], "link": [("x", "y")]})
        assert db["p"].rows() == [(1,)] and db["reach"].rows() == [("x", "y")]
