"""Equality-generating dependencies, and reconciliation of rows that cannot all be true."""

from __future__ import annotations

import pytest
from exchange_support import confederation

import headwater as hw
from headwater import LabelledNull

PEERS = {
    "Ann": {"A": "id: int, name: string"},
    "Bob": {"B": "id: int, name: string"},
    "Cam": {"C": "id: int, name: string", "D": "name: string, note: int"},
}
MAPPINGS = """
    a: A(i, n) -> C(i, n).
    b: B(i, n) -> C(i, n).
    d: C(i, n) -> exists m D(n, m).
    key: C(i, n), C(i, m) -> n = m.
"""


def made(mappings=MAPPINGS, **options):
    return hw.exchange(peers=PEERS, mappings=mappings, **options)


def rows(peer, relation, nulls=False):
    return set(peer[relation].rows(nulls=nulls))


def test_rivals_of_one_priority_are_deferred_until_somebody_resolves_them():
    found = made()
    found["Ann"].edit(insert={"A": [(1, "x")]})
    found["Ann"].edit(insert={"A": [(2, "y")]})
    found["Bob"].edit(insert={"B": [(1, "z")]})
    found.exchange()
    cam = found["Cam"]
    assert rows(cam, "C") == {(2, "y")}
    (conflict,) = cam.conflicts
    assert conflict.dirty and conflict.key == {"id": 1}
    assert [(option.row, option.decision.value) for option in conflict.options] == [
        ((1, "x"), "deferred"),
        ((1, "z"), "deferred"),
    ]
    assert "deferred by reconciliation" in str(cam.why_rejected("C", (1, "x")))
    cam.resolve("C", (1, "z"))
    assert rows(cam, "C") == {(2, "y"), (1, "z")} and not cam.conflicts
    cam.publish()
    found["Ann"].update()
    assert rows(found["Ann"], "C") == {(2, "y"), (1, "z")}  # a resolution is an edit


def test_the_higher_priority_is_accepted_and_own_rows_come_first():
    found = made(trust={"Cam": "trust C(i, n) from Bob priority 2. trust C(i, n) from Ann priority 1."})
    found["Ann"].edit(insert={"A": [(1, "x")]})
    found["Bob"].edit(insert={"B": [(1, "z")]})
    found.exchange()
    cam = found["Cam"]
    assert rows(cam, "C") == {(1, "z")}
    assert [option.decision.value for option in cam.conflicts[0].options] == ["rejected", "accepted"]
    cam.edit(insert={"C": [(1, "own")]})
    assert rows(cam, "C") == {(1, "own")}
    cam.edit(delete={"C": [(1, "own")]})
    assert rows(cam, "C") == {(1, "z")}
    cam.trust("trust C(i, n) by a if i < 5 priority 9.")
    assert rows(cam, "C") == {(1, "x")}
    found["Ann"].edit(delete={"A": [(1, "x")]})
    found.exchange()
    assert rows(cam, "C") == {(1, "z")} and not cam.conflicts


@pytest.mark.parametrize("first", ["Ann", "Bob"])
def test_decisions_do_not_depend_on_who_comes_first(first):
    found = made(trust={"Cam": "trust from Bob priority 3."})
    order = [first, "Bob" if first == "Ann" else "Ann"]
    for name in order:
        found[name].edit(insert={"A" if name == "Ann" else "B": [(1, name)]})
        found[name].publish()
        found["Cam"].update()
    assert rows(found["Cam"], "C") == {(1, "Bob")}


def test_unknown_values_become_known():
    """C's key makes the name that nobody knew the one that somebody says; D follows."""
    found = made("n: A(i, x) -> exists n C(i, n). d: C(i, n) -> exists m D(n, m). b: B(i, n) -> C(i, n)."
                 "key: C(i, n), C(i, m) -> n = m.")  # fmt: skip
    ann, bob, cam = found["Ann"], found["Bob"], found["Cam"]
    ann.edit(insert={"A": [(1, "x")]})
    found.exchange()
    unknown = LabelledNull("n_n", (1,))
    assert rows(cam, "C") == set() and rows(cam, "C", nulls=True) == {(1, unknown)}
    bob.edit(insert={"B": [(1, "bee")]})
    found.exchange()
    assert rows(cam, "C", nulls=True) == {(1, "bee")}
    assert set(cam.query("ans(i) :- C(i, n), D(n, m).")) == {(1,)}
    assert {row[0] for row in rows(cam, "D", nulls=True)} == {"bee"}
    assert "bee" in cam.why("C", (1, "bee")).expression()
    bob.edit(delete={"B": [(1, "bee")]})
    found.exchange()
    assert rows(cam, "C", nulls=True) == {(1, unknown)}


def test_the_difference_is_shown_with_the_values_that_are_chosen():
    found = made()
    found["Ann"].edit(insert={"A": [(1, "x")]})
    found["Ann"].publish()
    cam = found["Cam"]
    assert str(cam.preview()) == (
        "Cam would take Ann:1\nCam.C: 1 rows come, 0 go\n  + (1, 'x')\nCam.D: 1 rows come, 0 go\n  + ('x', ?d_m('x'))"
    )
    assert cam.update().inserted("C") == [(1, "x")]


def test_comparing_values_that_may_be_equal_to_others_is_refused():
    with pytest.raises(hw.RuleError) as caught:
        made("a: A(i, n) -> C(i, n). c: C(i, n), n < 5 -> D(n, i). key: C(i, n), C(i, m) -> n = m.")["Ann"]
    assert caught.value.code == "compared-equality"


def test_resolving_what_is_no_conflict_is_refused():
    found = made()
    found["Cam"].edit(insert={"C": [(1, "x")]})
    with pytest.raises(hw.DataError) as caught:
        found["Cam"].resolve("C", (1, "x"))
    assert caught.value.code == "no-conflict"


def test_a_transaction_stands_or_falls_as_a_whole():
    """Ann's rows come together: as one of them is beaten, the other is not taken either, nor what depends on it."""
    found = made(trust={"Cam": "trust from Bob priority 2."})
    ann, bob, cam = found["Ann"], found["Bob"], found["Cam"]
    together = ann.edit(insert={"A": [(1, "x"), (2, "y")]})
    ann.edit(insert={"A": [(3, "w")]}, depends=[together])
    ann.edit(insert={"A": [(4, "v")]})
    found.exchange()
    assert rows(cam, "C") == {(1, "x"), (2, "y"), (3, "w"), (4, "v")}
    bob.edit(insert={"B": [(1, "z")]})
    bob.publish()
    supposed = cam.preview()
    assert [event.code for event in supposed.events] == ["previewed-beside"]
    assert (supposed.inserted("C"), supposed.deleted("C")) == ([(1, "z")], [(1, "x"), (2, "y"), (3, "w")])
    found.exchange()
    assert rows(cam, "C") == {(1, "z"), (4, "v")}
    assert "rejected by reconciliation" in str(cam.why_rejected("C", (2, "y")))
    assert rows(found["Ann"], "C") == rows(cam, "C")
    bob.edit(delete={"B": [(1, "z")]})
    found.exchange()
    assert rows(cam, "C") == {(1, "x"), (2, "y"), (3, "w"), (4, "v")}


def test_what_a_fallen_transaction_had_beaten_comes_back():
    found = made(trust={"Cam": "trust from Bob priority 2. trust C(i, n) by a if i = 2 priority 5."})
    found["Ann"].edit(insert={"A": [(1, "x"), (2, "y")]})
    found["Bob"].edit(insert={"B": [(1, "z")]})
    found["Bob"].edit(insert={"B": [(2, "q")]})
    found.exchange()
    assert rows(found["Cam"], "C") == {(1, "z"), (2, "q")}


def test_a_transaction_waits_for_those_it_depends_on():
    found = made()
    ann, bob, cam = found["Ann"], found["Bob"], found["Cam"]
    first = ann.edit(insert={"A": [(1, "x")]})
    bob.edit(insert={"B": [(2, "y")]}, depends=[first])
    bob.publish()
    done = cam.update()
    assert done.waiting and not done.transactions and "waiting for" in str(done)
    ann.publish()
    assert {str(one.id) for one in cam.update().transactions} == {"Ann:1", "Bob:1"}
    assert rows(cam, "C") == {(1, "x"), (2, "y")}


def test_a_row_is_rejected_as_it_is_shown():
    """The name was derived as a value that nobody knew: rejecting the row that users see hides it all the same."""
    found = made("n: A(i, x) -> exists n C(i, n). b: B(i, n) -> C(i, n). key: C(i, n), C(i, m) -> n = m.")
    ann, bob, cam = found["Ann"], found["Bob"], found["Cam"]
    ann.edit(insert={"A": [(1, "x")]})
    bob.edit(insert={"B": [(1, "bee")]})
    found.exchange()
    assert rows(cam, "C") == {(1, "bee")}
    cam.edit(delete={"C": [(1, "bee")]})
    assert rows(cam, "C") == set()
    assert set(cam.query("ans(n) :- C(1, n).")) == set()
    cam.edit(insert={"C": [(1, "bee")]})
    assert rows(cam, "C", nulls=True) == {(1, "bee")}


def test_equalities_reach_other_peers_and_go_with_their_reason():
    """Two keys, one after another, make a value known that a third relation holds."""
    found = hw.exchange(
        peers={"P": {"R": "x: int, y: int"}, "Q": {"S": "x: int, z: int"}, "V": {"W": "y: int, z: int"}},
        mappings="""
            m: R(x, y) -> exists z S(x, z), W(y, z).
            s: S(x, z), S(x, v) -> z = v.
            w: W(y, z), W(y, v) -> z = v.
        """,
    )
    p, v = found["P"], found["V"]
    p.edit(insert={"R": [(1, 10), (1, 11), (2, 11), (3, 12)]})
    v.edit(insert={"W": [(10, 7)]})
    found.exchange()
    assert rows(v, "S") == {(1, 7), (2, 7)} and rows(v, "W") == {(10, 7), (11, 7)}
    p.edit(delete={"R": [(1, 11)]})
    found.exchange()
    assert rows(v, "S") == {(1, 7)} and rows(v, "W") == {(10, 7)}


def test_rows_that_no_condition_ranks_are_rejected_if_they_have_a_rival():
    """Where a peer ranks rows of a relation, those without a priority lose; one can be kept."""
    found = hw.exchange(
        peers={
            name: {relation: "i: int, n: string"} for name, relation in (("P", "A"), ("Q", "B"), ("V", "C"))
        },
        mappings="a: A(i, n) -> C(i, n). b: B(i, n) -> C(i, n). key: C(i, n), C(i, m) -> n = m.",
        trust={"V": "trust C(i, n) if i > 5."},
    )
    found["P"].edit(insert={"A": [(1, "gull")]})
    found["P"].edit(insert={"A": [(2, "tern")]})
    found["Q"].edit(insert={"B": [(1, "mew")]})
    found.exchange()
    viewer = found["V"]
    assert rows(viewer, "C") == {(2, "tern")}
    (conflict,) = viewer.conflicts
    assert not conflict.dirty and {option.priority for option in conflict.options} == {0}
    viewer.resolve("C", keep=(1, "gull"))
    assert rows(viewer, "C") == {(1, "gull"), (2, "tern")}


def test_rivals_that_follow_from_each_other():
    """S(0, 1) follows from its rival S(1, 1), so that neither is let in until somebody says which. Either can be
    kept, as one's own, and what is kept can be changed and taken back."""
    found = hw.exchange(
        peers={"A": {"R": "x: int"}, "B": {"S": "x: int, y: int"}, "C": {"T": "x: int, y: int"}},
        mappings="""
            m0: S(x, y) -> R(y).
            m1: R(y), T(x, z) -> S(z, x).
            m2: T(y, 0) -> S(y, y).
            key: S(a, c), S(b, c) -> a = b.
        """,
    )
    b = found["B"]
    for row in [(1, 0), (0, 1)]:
        found["C"].edit(insert={"T": [row]})
    found.exchange()
    (stranded,) = b.conflicts
    assert stranded.dirty and [option.row for option in stranded.options] == [(1, 1)]
    assert not b["S"].rows()
    for kept, there in [((1, 1), {(1, 1), (1, 0)}), ((0, 1), {(0, 1), (1, 0)})]:
        b.resolve("S", keep=kept)
        found.exchange()
        assert all(set(peer["S"].rows()) == there for peer in found.values())
        assert not any(conflict.dirty for conflict in b.conflicts)
    b.edit(delete={"S": [(0, 1)]}, insert={"S": [(1, 1)]})
    b.edit(delete={"S": [(1, 1)]})
    assert [str(conflict) for conflict in b.conflicts] == [str(stranded)] and not b["S"].rows()


def test_known_values_that_clash_by_a_dependency_that_is_no_key_are_named():
    found = hw.exchange(
        peers={"A": {"R": "id: int, name: string"}, "B": {"S": "id: int, name: string"}},
        mappings="same: R(i, n), S(i, m) -> n = m.",
    )
    found["A"].edit(insert={"R": [(1, "x"), (2, "z")]})
    found["B"].edit(insert={"S": [(1, "y"), (2, "z")]})
    found.exchange()
    for peer in found.values():
        assert [str(clash) for clash in peer.clashes] == ["'x' = 'y' by same: cannot be"]
        assert (rows(peer, "R"), rows(peer, "S")) == ({(1, "x"), (2, "z")}, {(1, "y"), (2, "z")})
    found["B"].edit(delete={"S": [(1, "y")]})
    found.exchange()
    assert not any(peer.clashes for peer in found.values())


def test_what_a_fallen_transaction_takes_back_is_gone():
    """Ann renames 1 and loses with 3: Cam has neither name of 1, as Ann stands for the old one no more."""
    found = made(trust={"Cam": "trust from Bob priority 2."})
    found["Ann"].edit(insert={"A": [(1, "old")]})
    found["Bob"].edit(insert={"B": [(3, "z")]})
    found.exchange()
    found["Ann"].edit(delete={"A": [(1, "old")]}, insert={"A": [(1, "new"), (3, "x")]})
    found.exchange()
    assert rows(found["Cam"], "C") == {(3, "z")}
    found["Bob"].edit(delete={"B": [(3, "z")]})
    found.exchange()
    assert rows(found["Cam"], "C") == {(1, "new"), (3, "x")}


def test_what_a_clearance_lets_through_is_what_is_left_without_what_is_above_it():
    """Rows whose clearance is low enough, and those that are there if peers above it are distrusted."""
    levels = {"GUS": 2, "BioSQL": 0, "uBio": 1}
    names = ("public", "confidential", "secret")
    for most in range(3):
        bio = confederation()["BioSQL"]
        found = bio.evaluate("B", "clearance", lambda peer, relation, row: names[levels[peer]])
        bio.trust(" ".join(f"distrust from {peer}." for peer, level in levels.items() if level > most))
        assert rows(bio, "B") == {row for row, level in found.items() if level <= most}


@pytest.mark.parametrize("keyed", [True, False])
def test_priority_0_rejects_with_rivals_and_without(keyed):
    """What no higher condition names; it is said which condition does so, and it ends with the condition."""
    found = hw.exchange(
        peers={
            name: {relation: "i: int, n: string"} for name, relation in (("P", "A"), ("Q", "B"), ("V", "C"))
        },
        mappings="a: A(i, n) -> C(i, n). b: B(i, n) -> C(i, n)."
        + (" key: C(i, n), C(i, m) -> n = m." if keyed else ""),
        trust={"V": "trust C(i, n) from Q priority 2. trust C(i, n) if i < 10 priority 0."},
    )
    for relation, peer, row in (
        ("A", "P", (1, "gull")), ("B", "Q", (1, "mew")), ("A", "P", (2, "tern")), ("A", "P", (30, "skua")),
    ):  # fmt: skip
        found[peer].edit(insert={relation: [row]})
    found.exchange()
    viewer = found["V"]
    assert rows(viewer, "C") == {(1, "mew"), (30, "skua")}
    said = viewer.why_rejected("C", (2, "tern"))
    assert (said.withheld, said.ranked) == ("rejected", "trust C(i, n) if i < 10 priority 0.")
    assert "trust C(i, n) if i < 10 priority 0." in str(said)
    viewer.edit(insert={"C": [(2, "tern")]})
    assert (2, "tern") in rows(viewer, "C")
    viewer.trust(remove="trust C(i, n) if i < 10 priority 0.")
    assert rows(viewer, "C") == {(1, "mew"), (2, "tern"), (30, "skua")} | (set() if keyed else {(1, "gull")})
    viewer.trust("trust priority 0.")
    assert rows(viewer, "C") == {(1, "mew"), (2, "tern")}
    if keyed:
        viewer.resolve("C", keep=(1, "gull"))
        assert rows(viewer, "C") == {(1, "gull"), (2, "tern")}


def test_resolving_keeps_what_goes_with_the_row_and_shows_it():
    """Rows that agree in what the key determines are no rivals; a row that falls with its transaction is kept too."""
    found = hw.exchange(
        peers={
            "A": {"R": "id: int, name: string, tag: int"},
            "B": {"S": "id: int, name: string, tag: int"},
            "C": {"T": "id: int, name: string, tag: int"},
        },
        mappings="a: R(i, n, t) -> T(i, n, t). b: S(i, n, t) -> T(i, n, t). key: T(i, n, t), T(i, m, u) -> n = m.",
    )
    found["A"].edit(insert={"R": [(1, "gull", 1), (1, "gull", 2), (2, "tern", 1)]})
    found["B"].edit(insert={"S": [(1, "mew", 1)]})
    found["C"].edit(insert={"T": [(2, "skua", 1)]})
    found.exchange()
    assert rows(found["C"], "T") == {(2, "skua", 1)}
    found["C"].resolve("T", keep=(1, "gull", 1))
    assert rows(found["C"], "T") == {(2, "skua", 1), (1, "gull", 1)}
    assert not found["C"].why_rejected("T", (1, "gull", 2)).curated


def test_rows_with_two_keys_are_grouped_by_the_key_in_which_they_conflict():
    found = hw.exchange(
        peers={"A": {"R": "id: int, name: string"}, "C": {"T": "id: int, name: string"}},
        mappings="""
            a: R(i, n) -> T(i, n).
            id: T(i, n), T(i, m) -> n = m.
            name: T(i, n), T(j, n) -> i = j.
        """,
    )
    for row in ((1, "gull"), (1, "mew"), (3, "mew")):
        found["A"].edit(insert={"R": [row]})
    found.exchange()
    grouped = {(str(c.key), tuple(option.row for option in c.options)) for c in found["C"].conflicts}
    assert grouped == {
        ("{'id': 1}", ((1, "gull"), (1, "mew"))),
        ("{'name': 'mew'}", ((1, "mew"), (3, "mew"))),
    }
    found["C"].resolve("T", keep=(1, "mew"))
    assert rows(found["C"], "T") == {(1, "mew")} and not found["C"].conflicts


def test_what_fell_with_a_transaction_stays_away_when_the_peer_is_opened_again(tmp_path):
    peers = {"A": {"R": "id: int, n: int"}, "C": {"T": "id: int, n: int"}}
    mappings = "a: R(i, n) -> T(i, n). key: T(i, n), T(i, m) -> n = m."
    with hw.exchange(peers=peers, mappings=mappings, path=tmp_path) as found:
        found["A"].edit(insert={"R": [(1, 1), (2, 2)]})
        found["C"].edit(insert={"T": [(1, 5)]})
        found.exchange()
        assert rows(found["C"], "T") == {(1, 5)}
    with hw.exchange(peers=peers, mappings=mappings, path=tmp_path) as found:
        assert rows(found["C"], "T") == {(1, 5)}
        assert rows(found["A"], "T") == {(1, 5)}
