"""NDlog's four constraints (Loo et al. 2006, definition 6), kept and broken."""

from __future__ import annotations

import pytest

from headwater.language.datalog import parse
from headwater.networks.constraints import CONSTRAINTS, breaches, link_relations
from headwater.networks.library import library_program, programs
from headwater.values.functions import Functions


def broken(text: str) -> list[str]:
    return [breach.constraint for breach in breaches(parse(text), Functions())]


@pytest.mark.parametrize("name", programs())
def test_the_programs_of_the_library_keep_all_of_them(name):
    assert breaches(library_program(name), Functions()) == []


@pytest.mark.parametrize(
    ("text", "constraints"),
    [
        ("p(@S, C) :- q(S, C).", ["location", "address-type"]),
        ("p(C) :- q(@S, C).", ["location", "link-restriction"]),
        ("p(@S, D) :- #link(@S, @D).", ["address-type"]),
        ("link(@S, @D) :- other(@S, @D). p(@S, @D) :- #link(@S, @D).", ["stored-links"]),
        ("p(@S) :- #link(@S, @Z), q(@W, @Z).", ["link-restriction"]),
        ("p(@S) :- #link(@S, @Z), #link(@Z, @W), q(@W).", ["link-restriction"]),
        ("p(@S) :- q(@D, @S).", ["link-restriction"]),
        ("p(@D) :- #link(@S, @D), q(@S), r(@S), f_member([S], D) = 0.", []),
        ("p(@S, @D) :- #link(@S, @Z), q(@Z, @D), !r(@S).", []),
        ("p(@S, C) :- q(@S, A), C := A + 1. q(@a, 1).", []),
    ],
)
def test_breaches(text, constraints):
    assert broken(text) == constraints


def test_a_breach_has_a_place_and_a_hint():
    (breach,) = breaches(parse("p(@S, @D) :-\n  #link(@S, @D), q(@W)."), Functions())
    assert breach.place is not None and breach.place.line == 2
    assert breach.hint and breach.rule.startswith("p(@S") and breach.constraint in CONSTRAINTS


def test_several_link_relations():
    text = "p(@S, @D) :- #radio(@S, @D). p(@S, @D) :- #wire(@S, @Z), p(@Z, @D)."
    assert link_relations(parse(text)) == ("radio", "wire") and broken(text) == []
