"""Confidence and clearance as conditions: ratings of peers, rows and mappings, and bounds that rows have to reach."""

from __future__ import annotations

import pytest
from exchange_support import confederation, rows

import headwater as hw
from headwater.values.clearance_levels import LEVELS


def test_rows_below_a_confidence_are_left_out_and_it_is_said_why():
    bio = confederation()["BioSQL"]
    every = {(3, 5), (3, 2), (1, 3), (3, 3)}
    assert rows(bio, "B", nulls=False) == every
    bio.trust("trust from GUS confidence 0.6. trust from U(2, 5) confidence 0.9.")
    assert rows(bio, "B", nulls=False) == every  # a rating alone keeps nothing out
    bio.trust("distrust B(i, n) below confidence 0.7.")
    assert rows(bio, "B", nulls=False) == {(3, 5), (3, 2)}  # (3, 2) by m4, of U(2, 5)
    said = bio.why_rejected("B", (1, 3))
    (one,) = said.derivations
    assert one.mapping == "m1"
    assert one.conditions == ("distrust B(i, n) below confidence 0.7. (trust from GUS confidence 0.6.)",)
    bio.trust("trust through m4 confidence 0.5.")
    assert rows(bio, "B", nulls=False) == {(3, 5)}
    assert "trust through m4 confidence 0.5." in str(bio.why_rejected("B", (3, 2)))
    bio.trust(remove="trust through m4 confidence 0.5.")
    bio.trust("trust from U(2, 5) confidence 0.1.")  # of two ratings the worse counts
    assert rows(bio, "B", nulls=False) == {(3, 5)}
    bio.trust(remove="distrust B(i, n) below confidence 0.7.")
    assert rows(bio, "B", nulls=False) == every


@pytest.mark.parametrize("most", LEVELS[:3])
def test_rows_above_a_clearance_are_those_that_evaluate_says(most):
    levels = {"GUS": "secret", "BioSQL": "public", "uBio": "confidential"}
    bio = confederation()["BioSQL"]
    found = bio.evaluate("B", "clearance", lambda peer, relation, row: levels[peer])
    bio.trust(" ".join(f"trust from {peer} clearance {level}." for peer, level in levels.items()))
    bio.trust(f"distrust above clearance {most}.")
    assert rows(bio, "B") == {row for row, level in found.items() if level <= LEVELS.index(most)}


def test_one_derivation_has_to_reach_the_bounds_of_all_peers_on_the_way():
    """Q is sure of A, P of B: what P gets from Q has to be derived from one of them, and neither suffices both."""
    found = hw.exchange(
        peers={name: {name.lower(): "x: int"} for name in "ABQP"},
        mappings="ma: a(x) -> q(x). mb: b(x) -> q(x). mq: q(x) -> p(x).",
        trust={
            "Q": "trust from B confidence 0.2. distrust below confidence 0.5.",
            "P": "trust from A confidence 0.3. distrust below confidence 0.5.",
        },
    )
    found["A"].edit(insert={"a": [(1,)]})
    found["B"].edit(insert={"b": [(1,)]})
    found.exchange()
    assert found["Q"]["q"].rows() == [(1,)] and found["P"]["p"].rows() == []
    found["Q"].trust(remove="trust from B confidence 0.2.")
    found.exchange()
    assert found["P"]["p"].rows() == [(1,)]


def test_a_row_that_is_rated_changes_no_rule():
    """Rows are on a list: rating another one costs a base row, not a program."""
    bio = confederation()["BioSQL"]
    bio.trust("trust from G(3, 5, 2) confidence 0.4. distrust below confidence 0.5.")
    before = bio.instance.compiled.program.text
    bio.trust("trust from G(1, 2, 3) confidence 0.3.")
    assert bio.instance.compiled.program.text == before
    assert rows(bio, "B", nulls=False) == {(3, 5), (3, 2)}


def test_ratings_rank_nothing():
    """A rating is no priority: what no condition ranks is deferred as before."""
    found = hw.exchange(
        peers={"A": {"R": "i: int, n: int"}, "B": {"S": "i: int, n: int"}, "C": {"T": "i: int, n: int"}},
        mappings="a: R(i, n) -> T(i, n). b: S(i, n) -> T(i, n). key: T(i, n), T(i, m) -> n = m.",
        trust={"C": "trust from A confidence 0.9. trust from B confidence 0.4."},
    )
    found["A"].edit(insert={"R": [(1, 1)]})
    found["B"].edit(insert={"S": [(1, 2)]})
    found.exchange()
    (conflict,) = found["C"].conflicts
    assert conflict.dirty and {option.priority for option in conflict.options} == {1}
    found["C"].trust("distrust below confidence 0.5.")
    assert found["C"]["T"].rows() == [(1, 1)] and not found["C"].conflicts


@pytest.mark.parametrize(
    "text, code, words",
    [
        ("trust from GUS confidence 2.", "syntax", "2 is no confidence"),
        ("trust from GUS confidence high.", "syntax", "high is no confidence"),
        ("trust from GUS clearance 3.", "syntax", "3 is no level"),
        ("trust from GUS clearance secrt.", "syntax", "secret"),
        ("trust from Gus confidence 0.5.", "unknown-peer", "did you mean GUS"),
        ("trust through m9 confidence 0.5.", "unknown-mapping", "m9"),
        ("trust from U(2) confidence 0.5.", "wrong-arity", "2 columns"),
        ("trust confidence 0.5.", "syntax", "a rating is of a peer, a row or a mapping"),
        ("trust B(i, n) from GUS confidence 0.5.", "syntax", "a rating is of a peer, a row or a mapping"),
        ("trust from GUS by m1 confidence 0.5.", "syntax", "a rating is of a peer, a row or a mapping"),
        ("distrust from GUS confidence 0.5.", "syntax", "a rating is of a peer, a row or a mapping"),
        ("distrust above confidence 0.5.", "syntax", "write below confidence 0.5"),
        ("distrust below clearance secret.", "syntax", "write above clearance secret"),
        ("trust below confidence 0.5.", "syntax", "write distrust below confidence 0.5"),
        ("distrust from GUS below confidence 0.5.", "syntax", "a bound is about all"),
    ],
)
def test_what_is_no_rating_or_bound_is_refused(text, code, words):
    bio = confederation()["BioSQL"]
    before = bio.trust()
    with pytest.raises(hw.HeadwaterError) as caught:
        bio.trust(text)
    assert caught.value.code == code and words in str(caught.value)
    assert bio.trust() == before


def test_names_may_be_words_of_ratings():
    bio = confederation()["BioSQL"]
    bio.trust('distrust B(below, confidence) if confidence >= 5. distrust above clearance "top secret".')
    assert rows(bio, "B", nulls=False) == {(3, 5), (3, 2), (1, 3), (3, 3)}  # (3, 5) is its own
