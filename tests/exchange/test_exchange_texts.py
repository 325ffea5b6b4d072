"""What users write is taken as it is written: strings in questions and conditions, comments, labels that resemble
each other, columns that take no NULL."""

from __future__ import annotations

import pytest

import headwater as hw

PEERS = {"A": {"R": "x: int, y: string"}, "B": {"S": "x: int, y: string"}}


def made(mappings: str = "m: R(x, y) -> S(x, y).", peers=PEERS):
    return hw.exchange(peers=peers, mappings=mappings)


def with_rows(*texts: str):
    found = made()
    found["A"].edit(insert={"R": list(enumerate(texts))})
    found.exchange()
    return found["B"]


def test_a_string_in_a_question_is_no_relation():
    peer = with_rows("A.R(1)", "a.b(c)", "x :- y")
    assert peer.query('ans(x) :- B.S(x, "A.R(1)").').rows() == [(0,)]
    assert peer.query('S(x, "a.b(c)")').rows() == [(1,)]
    assert peer.query('S(x, "x :- y")').rows() == [(2,)]
    assert peer.query("S(x, y), x > 1 // not C.D(x) :- nothing").rows() == [(2, "x :- y")]


def test_a_condition_keeps_the_blanks_of_its_strings():
    peer = with_rows("a  b", "a b")
    assert peer.trust('distrust   S(x,\n y) if y = "a  b".') == ('distrust S(x, y) if y = "a  b".',)
    assert peer["S"].rows() == [(1, "a b")]
    assert peer.trust(remove='distrust S(x, y) if y = "a  b".') == ()


def test_a_condition_may_be_commented():
    peer = with_rows("a", "b")
    assert peer.trust("distrust S(x, y) // those\n if /* all */ x > 0.") == ("distrust S(x, y) if x > 0.",)
    assert peer["S"].rows() == [(0, "a")]


def test_new_values_of_two_mappings_are_never_called_the_same():
    with pytest.raises(hw.errors.RuleError, match="m_c_d") as error:
        made("m: R(x, y) -> exists c_d S(x, c_d). m_c: R(x, y) -> exists d S(x, d).")["A"]
    assert error.value.code == "duplicate-label"


def test_labels_may_resemble_those_of_copies_of_rules():
    """A mapping that joins by equality has several rules, and so has one in a copy without an origin."""
    peers = {"A": {"R": "x: int, y: int"}, "B": {"S": "x: int, y: int"}}
    found = made(
        "m: R(x, y), R(y, x) -> S(x, y). m_1: R(x, y) -> S(y, x). m_without_1: R(x, y) -> S(x, x)."
        " k: R(x, y), R(x, z) -> y = z. l: R(x, y), R(z, y) -> x = z.",
        peers,
    )
    found["A"].edit(insert={"R": [(1, 2), (2, 1)]})
    found["B"].trust("distrust from R(5, 6).")
    found.exchange()
    assert found["B"].why("S", (1, 2)).mappings == ("m", "m_1")
    assert found["B"].why("S", (1, 1)).mappings == ("m_without_1",)


@pytest.mark.parametrize("depends", ["Zed:1", "A:2", "A:1", "B:0"])
def test_nothing_depends_on_what_cannot_be(depends):
    peer = made()["A"]
    with pytest.raises(hw.errors.HeadwaterError) as error:
        peer.edit(insert={"R": [(1, "x")]}, depends=[depends])
    assert error.value.code in ("unknown-peer", "unknown-transaction")
    assert not peer.unpublished


@pytest.mark.parametrize(
    ("mapping", "refused"),
    [
        ("m: R(x, y) -> S(x, y).", True),
        ("m: R(x, y) -> S(x, null).", True),
        ("m: R(x, y), y != x -> S(x, y).", True),
        ("m: R(x, y), y is not null -> S(x, y).", False),
        ("m: R(x, y), y >= 3 -> S(x, y).", False),
        ("m: R(x, y), T(y) -> S(x, y).", False),
        ("m: R(x, y) -> exists z S(x, z).", False),
    ],
)
def test_null_comes_only_where_it_may(mapping, refused):
    """Else a row would be there that its users can neither ask about nor delete."""
    peers = {"A": {"R": "x: int, y: int?", "T": "x: int"}, "B": {"S": "x: int, y: int"}}
    if not refused:
        made(mapping, peers)["B"]
        return
    with pytest.raises(hw.errors.RuleError, match=r"B\.S takes no null in y") as error:
        made(mapping, peers)["B"]
    assert error.value.code == "null-value"


def test_no_priority_is_above_that_of_own_rows():
    peer = made()["B"]
    with pytest.raises(hw.errors.LanguageError, match="above all priorities"):
        peer.trust("trust from A priority 1000000001.")
    assert peer.trust("trust from A priority 1000000000.")
