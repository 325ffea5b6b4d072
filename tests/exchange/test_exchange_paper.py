"""Examples 1 to 10 and figure 2 of green-2007, exactly; its slips are named where they matter.

Peers compute in this process, and all of it again on nodes that are threads."""

from __future__ import annotations

import exchange_support
import pytest
from exchange_support import ALL, M1, M3, M4, PEERS, TOKENS, c, confederation, rows

import headwater as hw
from headwater.annotations.clearance import Clearance
from headwater.exchange.edit import TransactionId
from headwater.language.mappings.internal import InternalNames

G = {(1, 2, 3), (3, 5, 2)}
B = {(3, 5), (3, 2), (1, 3), (3, 3)}
U = {(2, 5), (3, 2), (5, c(5)), (2, c(2)), (3, c(3))}
NODES = {"run": "threads", "nodes": 2}


@pytest.fixture(autouse=True, params=[{}, NODES], ids=["here", "nodes"])
def place(request, monkeypatch):
    monkeypatch.setattr(exchange_support, "PLACE", request.param)
    yield request.param
    exchange_support.close_all()


@pytest.mark.parametrize("strategy", ["support", "relative", "absorption", "dred", "recompute", "auto"])
def test_examples_1_to_3_the_instances(strategy):
    """All peers compute the same instances, whoever asks."""
    found = confederation(strategy=strategy)
    for peer in found.values():
        assert (rows(peer, "G"), rows(peer, "B"), rows(peer, "U")) == (G, B, U)


def test_example_3_certain_answers():
    bio = confederation()["BioSQL"]
    assert set(bio.query("ans(x, y) :- U(x, z), U(y, z).")) == {(2, 2), (3, 3), (5, 5)}
    assert set(bio.query("ans(x, y) :- U(x, y).")) == {(2, 5), (3, 2)}
    assert set(bio.query("ans(x, y) :- U(x, y).", nulls=True)) == U


def test_example_3_the_curation_deletion():
    """Without B(3, 2) there is no B(3, 3), and no U(2, c2)."""
    found = confederation()
    bio, ubio = found["BioSQL"], found["uBio"]
    bio.edit(delete={"B": [(3, 2)]})
    assert rows(bio, "B") == {(3, 5), (1, 3)}
    assert rows(ubio, "U") == U
    bio.publish()
    assert ubio.update().deleted("U") == [(2, c(2))]
    assert rows(ubio, "U") == U - {(2, c(2))}


def test_the_curation_deletion_stays_and_can_be_taken_back():
    found = confederation()
    bio, gus = found["BioSQL"], found["GUS"]
    bio.edit(delete={"B": [(3, 2)]})
    gus.edit(insert={"G": [(3, 7, 2)]})  # another reason for B(3, 2)
    found.exchange()
    assert (3, 2) not in bio["B"]
    bio.edit(insert={"B": [(3, 2)]})
    bio.edit(delete={"B": [(3, 2)]})  # the contribution goes, what others send is seen again
    assert (3, 2) in bio["B"] and rows(bio, "B") == B


def test_a_rejection_ends_without_a_contribution():
    """Reinstated, the row is there as long as others bring it, and with their provenance."""
    found = confederation()
    bio, gus, ubio = found["BioSQL"], found["GUS"], found["uBio"]
    bio.edit(delete={"B": [(3, 2), (3, 2)]})
    found.exchange()
    assert (2, c(2)) not in ubio["U"]
    bio.edit(reinstate={"B": [(3, 2)]})
    found.exchange()
    assert rows(bio, "B") == B and (2, c(2)) in ubio["U"]
    assert bio.why("B", (3, 2)).expression(TOKENS) == "m1(p3) + m4(p1·p2) + m4(p1·m2(p3))"
    with pytest.raises(hw.DataError) as caught:
        bio.edit(reinstate={"B": [(3, 2)]})
    assert caught.value.code == "not-rejected"
    gus.edit(delete={"G": [(3, 5, 2)]})
    ubio.edit(delete={"U": [(2, 5)]})
    found.exchange()
    assert rows(bio, "B") == {(3, 5), (1, 3)}


def test_example_4_trust():
    """B(1, 3) is rejected, so that uBio does not get U(3, c3); and B(3, 3), which m4 brings."""
    found = confederation()
    bio, ubio = found["BioSQL"], found["uBio"]
    bio.trust("distrust B(i, n) from GUS if n >= 3. trust B(i, n) from uBio.")
    assert rows(bio, "B") == {(3, 5), (3, 2)}
    bio.trust(remove="distrust B(i, n) from GUS if n >= 3.")
    bio.trust("distrust B(i, n) by m4 if n != 2.")
    assert rows(bio, "B") == {(3, 5), (3, 2), (1, 3)}
    bio.trust("distrust B(i, n) from GUS if n >= 3.")
    assert rows(bio, "B") == {(3, 5), (3, 2)}
    assert (3, c(3)) in ubio["U"]
    found.exchange()
    assert (3, c(3)) not in ubio["U"] and rows(ubio, "B") == {(3, 5), (3, 2)}


def test_example_5_the_provenance_graph():
    why = confederation()["BioSQL"].why("B", (3, 2))
    assert why.peers == ("BioSQL", "GUS", "uBio")
    assert why.mappings == ("m1", "m2", "m4")
    assert [str(one) for one in why.contributions] == [
        "B(3, 5) by BioSQL in BioSQL:1",
        "G(3, 5, 2) by GUS in GUS:1",
        "U(2, 5) by uBio in uBio:1",
    ]


def test_example_6_expressions():
    """Of m1, m3 and m4, as the paper computes them. (Its U(3, c3) should read U(2, c2).)"""
    bio = confederation(" ".join((M1, M3, M4)))["BioSQL"]
    assert bio.why("B", (3, 2)).expression(TOKENS) == "m1(p3) + m4(p1·p2)"
    assert bio.why("U", (2, c(2))).expression(TOKENS) == "m3(m1(p3)) + m3(m4(p1·p2))"


def test_example_6_with_all_mappings():
    """U(2, 5) = p2 + m2(p3), which the paper leaves out."""
    bio = confederation()["BioSQL"]
    assert bio.why("U", (2, 5)).expression(TOKENS) == "p2 + m2(p3)"
    assert bio.why("B", (3, 2)).expression(TOKENS) == "m1(p3) + m4(p1·p2) + m4(p1·m2(p3))"


@pytest.mark.parametrize(("mappings", "there"), [(" ".join((M1, M3, M4)), False), (ALL, True)])
def test_example_6_distrusting_p2_and_m1(mappings, there):
    """It rejects B(3, 2) only without m2: with it, U(2, 5) is there without p2."""
    bio = confederation(mappings)["BioSQL"]
    bio.trust("distrust from U(2, 5). distrust through m1.")
    assert ((3, 2) in bio["B"]) is there
    bio.trust(remove="distrust through m1.")
    bio.trust("distrust from B(3, 5).")
    assert (3, 2) in bio["B"]


def test_example_7_distrusting_one_row_of_ubio():
    """T·T + T·T·D = T."""
    bio = confederation(" ".join((M1, M3, M4)))["BioSQL"]
    bio.trust("distrust from U(2, 5).")
    assert (3, 2) in bio["B"]
    why = confederation(" ".join((M1, M3, M4)))["BioSQL"].why("B", (3, 2))
    assert why.evaluate("trust", lambda peer, relation, row: peer != "uBio") is True
    assert why.evaluate("trust", lambda peer, relation, row: peer == "uBio") is False


def test_examples_8_and_9_the_rules():
    """One provenance relation a mapping, Skolem functions of the shared variables, data derived from them."""
    found = confederation()["BioSQL"].instance
    text = found.compiled.program.text
    for rule in (
        "m1: m1_p(i, c, n) :- GUS_G_o(i, c, n).",
        "BioSQL_B_t(i, n) :- m1_p(i, c, n).",
        "m4: m4_p(i, c, n) :- BioSQL_B_o(i, c), uBio_U_o(n, c).",
        "BioSQL_B_t(i, n) :- m4_p(i, c, n).",
        "uBio_U_t(n, ?m3_c(n)) :- m3_p(i, n).",
    ):
        assert rule in text
    assert set(found.database["m1_p"].rows()) == {(1, 2, 3), (3, 5, 2)}
    assert (3, 5, 2) in found.database["m4_p"]


def test_figure_2_the_internal_relations():
    """An edit log becomes contributions and rejections; with what others send, they give the output."""
    found = confederation()
    bio = found["BioSQL"]
    bio.edit(delete={"B": [(3, 2)]}, insert={"B": [(7, 7)]})
    database, names = bio.instance.database, InternalNames()
    (relation,) = bio.instance.schemas.of("BioSQL")
    assert set(database[names.contributions(relation)].rows()) == {(3, 5), (7, 7)}
    assert set(database[names.rejections(relation)].rows()) == {(3, 2)}
    assert set(database[names.trusted(relation)].rows()) == {(1, 3), (3, 2)}
    assert set(database[names.output(relation)].rows()) == {(3, 5), (7, 7), (1, 3)}


@pytest.mark.parametrize("strategy", ["support", "relative", "dred", "recompute"])
def test_example_10_a_deletion(strategy):
    """Deleting uBio's row leaves B(3, 2), which G(3, 5, 2) derives by m1. (The paper calls the peers otherwise.)
    `relative` is the paper's PropagateDelete."""
    found = confederation(" ".join((M1, M3, M4)), strategy=strategy)
    bio, ubio = found["BioSQL"], found["uBio"]
    ubio.edit(delete={"U": [(2, 5)]})
    found.exchange()
    assert (3, 2) in bio["B"]
    assert bio.why("B", (3, 2)).expression(TOKENS) == "m1(p3)"
    found["GUS"].edit(delete={"G": [(3, 5, 2)]})
    found.exchange()
    assert (3, 2) not in bio["B"] and (2, c(2)) not in bio["U"]


def test_where_peers_compute(place):
    runner = confederation()["BioSQL"].instance.database.runner
    assert (runner.here, 0 if runner.here else runner.nodes.size) == (not place, place.get("nodes", 0))


def test_what_rows_carry():
    """The confidence of the best derivation, and the clearance that the easiest one takes."""
    bio = confederation()["BioSQL"]
    said = {"GUS": 0.9, "BioSQL": 0.6, "uBio": 0.5}
    confidence = bio.evaluate("B", "viterbi", lambda peer, relation, row: said[peer], {"m1": 0.5})
    assert confidence == pytest.approx({(1, 3): 0.45, (3, 2): 0.54, (3, 3): 0.486, (3, 5): 0.6})
    levels = {"GUS": "secret", "BioSQL": "public", "uBio": "confidential"}
    clearance = bio.evaluate("B", "clearance", lambda peer, relation, row: levels[peer])
    assert {row: Clearance().show(level) for row, level in clearance.items()} == {
        (1, 3): "secret", (3, 2): "confidential", (3, 3): "secret", (3, 5): "public",
    }  # fmt: skip


def test_copies_for_origins_count_a_derivation_once():
    bio = confederation()["BioSQL"]
    before = bio.why("B", (3, 2)).expression(TOKENS)
    bio.trust("distrust B(i, n) from GUS if n >= 3.")
    assert bio.why("B", (3, 2)).expression(TOKENS) == before


def test_example_4_explained():
    bio = confederation()["BioSQL"]
    bio.trust("distrust B(i, n) from GUS if n >= 3. distrust B(i, n) by m4 if n != 2.")
    said = str(bio.why_rejected("B", (1, 3)))
    assert "kept out: m1(G(1, 2, 3)): distrust B(i, n) from GUS if n >= 3." in said
    bio.edit(delete={"B": [(3, 2)]})
    assert "rejected by its users in BioSQL:3\n" in str(bio.why_rejected("B", (3, 2)))
    bio.edit(delete={"B": [(3, 2), (3, 2)]})
    assert bio.why_rejected("B", (3, 2)).curated == (TransactionId("BioSQL", 3), TransactionId("BioSQL", 4))
    assert str(bio.why_rejected("B", (3, 5))) == "B(3, 5) is at BioSQL"
    assert "no mapping brings it" in str(bio.why_rejected("B", (9, 9)))


def test_mappings_are_refused_unless_they_are_weakly_acyclic():
    with pytest.raises(hw.RuleError) as caught:
        hw.exchange(peers=PEERS, mappings="m3: B(i, n) -> exists c U(n, c). m5: U(n, c) -> B(n, c).")["GUS"]
    assert caught.value.code == "not-weakly-acyclic"
    assert "BioSQL.B.nam -new value by m3-> uBio.U.can -m5-> BioSQL.B.nam" in caught.value.message
    assert caught.value.place is not None
