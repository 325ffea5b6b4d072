"""Proofs of rows: whatever carried their messages, and however long their chains are."""

from __future__ import annotations

import headwater as hw
from headwater.networks.transports.simulator import simulated

LINKS = [("a", "b", 1), ("b", "a", 1), ("b", "c", 2), ("c", "b", 2)]


def test_messages_that_went_as_one_are_among_those_of_a_proof():
    net = hw.network("best-cost", LINKS, sharing_delay=0.1)
    net.run()
    assert any(message.parts for message in net.timeline())
    ends = {link[:2] for link in net.links}
    for row in net["bestCost"].rows():
        proof = net.why("bestCost", row)
        assert sum(link[2] for _, link in proof.base()) == row[2]
        assert {(message.sender, message.receiver) for message in proof.messages()} <= ends
    shared = next(message for message in net.timeline() if len(message.parts) > 1)
    assert str(shared).count("(") == len(shared.parts)


def test_a_chain_of_any_length_is_proved():
    length = 300
    links = [(f"n{number}", f"n{number + 1}", 1) for number in range(length)]
    net = hw.network("p1 p(@D) :- start(@D). p2 p(@D) :- #link(@S, @D, C), p(@S).", links)
    net.insert("start", [("n0",)])
    net.run()
    proof = net.why("p", (f"n{length}",))
    assert len(proof.messages()) == length and len(proof.base()) == length + 1


def test_rows_that_are_among_many_premises_are_told_once():
    """Each row follows from two of the step before: a tree of proofs would have a million million leaves."""
    text = """
    .decl start(node: string, step: int)
    d1 d(@S, N) :- start(@S, N).
    d2 d(@S, N) :- d(@S, M), e(@S, M), N = M + 1, N < 41.
    d3 e(@S, N) :- d(@S, N).
    """
    net = hw.network(text, LINKS)
    net.insert("start", [("a", 0)])
    net.run()
    assert net.why("d", ("a", 40)).base() == [("start", ("a", 0))]


def test_a_row_is_proved_where_messages_were_forgotten(monkeypatch):
    monkeypatch.setattr(simulated, "MOST_MESSAGES_KEPT", 2)
    net = hw.network("best-cost", LINKS)
    net.run()
    assert len(net.timeline()) == 2 < net.messages
    assert net.why("bestCost", ("a", "c", 3)).base() == [("link", ("a", "b", 1)), ("link", ("b", "c", 2))]
