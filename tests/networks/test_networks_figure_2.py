"""liu-2008 figures 2 and 5, step by step, by rules: tuples, places, provenance; the counts of sections 3.2 to 5."""

from __future__ import annotations

from collections import Counter

import pytest
from asynchronous import SCHEMES, network, planned

from headwater.annotations.minimal_dnf import MinimalDNF
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.dred import dred
from headwater.networks.annotated.scheme import SchemeMaker
from headwater.networks.annotated.shipping import BOUNDED, CONVENTIONAL, EAGER, LAZY
from headwater.networks.queries import REACHABLE
from headwater.networks.runtime.directory import Addresses
from headwater.networks.transports.simulator.links import LinkQuality, alike
from headwater.networks.transports.simulator.simulator import Simulator

LINKS = [("A", "B"), ("B", "C"), ("C", "A"), ("C", "B")]
NODES = "ABC"
DNF = MinimalDNF()

SHIPPED = {
    1: """
        (A, C)  B → A  p1·p2
        (B, A)  C → B  p2·p3
        (B, B)  C → B  p2·p4
        (C, B)  A → C  p1·p3
        (C, C)  B → C  p2·p4
    """,
    2: """
        (A, A)  B → A  p1·p2·p3
        (A, B)  B → A  p1·p2·p4
        (B, B)  C → B  p1·p2·p3   *
        (B, C)  C → B  p2·p4
        (C, A)  B → C  p2·p3·p4
        (C, B)  B → C  p2·p4
        (C, C)  A → C  p1·p2·p3
    """,
    3: """
        (A, B)  B → A  p1·p2·p3      *
        (B, C)  C → B  p1·p2·p3      *
        (C, A)  A → C  p1·p2·p3
        (C, B)  B → C  p1·p2·p3·p4   *
    """,
}
"""As in the figure, but for its last line: link(C, B) lives with B's tuples, and the new derivation of
reachable(B, B) is p1·p2·p3, so what the figure gives as A → C, p1·p2·p4 is this."""

HELD = {
    1: "(A, B) p1 | (B, C) p2 | (C, A) p3 | (C, B) p4",
    2: "(A, B) p1 | (A, C) p1·p2 | (B, A) p2·p3 | (B, B) p2·p4 | (B, C) p2 | (C, A) p3"
    " | (C, B) p4 + p1·p3 | (C, C) p2·p4",
    3: "(A, A) p1·p2·p3 | (A, B) p1 | (A, C) p1·p2 | (B, A) p2·p3 | (B, B) p2·p4 + p1·p2·p3 | (B, C) p2"
    " | (C, A) p3 | (C, B) p4 + p1·p3 | (C, C) p2·p4 + p1·p2·p3",
}
HELD[4] = HELD[3]

PLAN = planned(REACHABLE)


def three_nodes(scheme: SchemeMaker, nodes: str = NODES) -> tuple[Simulator, list]:
    """A network whose messages take a second each; a log of sender, receiver, kind, relation, row and terms."""
    net = network(REACHABLE, scheme, Addresses(nodes), links=alike(LinkQuality(1.0)))
    log: list = []
    send = net._send

    def noted(sender, receiver, message):
        relation = getattr(message, "relation", None)
        log.append(
            (
                nodes[sender],
                nodes[receiver],
                type(message).__name__,
                None if relation is None else PLAN.relations[relation].name,
                getattr(message, "row", None),
                getattr(message, "terms", None),
            )
        )
        send(sender, receiver, message)

    net._send = noted  # type: ignore[method-assign]
    return net, log


def show(terms) -> str:
    """With the paper's numbers, p1 to p4 in the order of the links: ours are n · nodes + node for the n-th row."""
    number = {0: 1, 1: 2, 2: 3, 5: 4}
    return DNF.show(DNF.of([number[variable] for variable in term] for term in terms))


def lines(text: str) -> list[str]:
    return sorted(" ".join(line.replace("*", "").split()) for line in text.splitlines() if line.strip())


def held(net: Simulator) -> str:
    found = []
    for node in net.nodes:
        for row in node.rows("reachable"):
            assert row[0] == NODES[node.number]
            terms = node.scheme.numbering.export(node.entry("reachable", row).value)
            found.append(f"({', '.join(row)}) {show(terms)}")
    return " | ".join(sorted(found))


def test_every_step_ships_and_holds_what_the_figure_says():
    net, log = three_nodes(absorption(CONVENTIONAL))
    for link in LINKS:
        net.insert("link", link)
    assert [(relation, row) for *_, relation, row, _ in log] == [("link~at_1", link[::-1]) for link in LINKS]
    for step in range(1, 5):
        log.clear()
        net.run(step)
        assert held(net) == HELD[step]
        shipped = sorted(f"({', '.join(row)}) {a} → {b} {show(terms)}" for a, b, *_, row, terms in log)
        assert shipped == lines(SHIPPED.get(step, ""))


def inserted(net: Simulator) -> int:
    for link in LINKS:
        net.insert("link", link)
    net.run()
    assert net.rows("reachable") == {(x, y) for x in NODES for y in NODES}
    return net.traffic.messages


def without_c_b(net: Simulator) -> tuple[int, int]:
    """Messages and lost rows when link(C, B) goes."""
    before, rows = net.traffic.messages, net.rows("reachable")
    net.delete("link", ("C", "B"))
    net.run()
    return net.traffic.messages - before, len(rows - net.rows("reachable"))


@pytest.mark.parametrize("name", ["dred", "ranked", "relative, lazy"])
def test_without_absorption_16_tuples_are_shipped(name):
    assert inserted(three_nodes(SCHEMES[name])[0]) == 16


def test_with_provenance_4_more():
    assert inserted(three_nodes(absorption(CONVENTIONAL))[0]) == 20


@pytest.mark.parametrize("shipping", [LAZY, BOUNDED], ids=lambda shipping: shipping.name)
def test_lazily_as_many_as_without_provenance(shipping):
    assert inserted(three_nodes(absorption(shipping))[0]) == 16


def test_min_ship_keeps_back_what_was_absorbed():
    """Of the four, the derivation p1·p2·p3·p4 is absorbed by p2·p4, which its sender has shipped before."""
    assert inserted(three_nodes(absorption(EAGER))[0]) == 19


@pytest.mark.parametrize("shipping", [CONVENTIONAL, EAGER], ids=lambda shipping: shipping.name)
def test_deleting_link_c_b_takes_two_messages_and_no_row(shipping):
    net, _ = three_nodes(absorption(shipping))
    inserted(net)
    assert without_c_b(net) == (2, 0)


def test_lazily_what_was_kept_back_follows():
    """The two, and three derivations that take the place of shipped ones which needed p4."""
    net, _ = three_nodes(absorption(LAZY))
    inserted(net)
    assert without_c_b(net) == (5, 0)


def test_delete_and_rederive_ships_16_tuples_and_their_duplicates():
    """Figure 5: 16 tuples are shipped. Its table is not in the text, which tells what goes and comes back. Tuples of
    each group can be counted once, or as often as somebody ships them, as section 3.2 does for insertions:

    - the deleted link: not at all, or once;
    - the rows that fall, all nine of them: 9, or 12 with the three that are taken back by two nodes;
    - the rows that follow again from other nodes' rows: 6, or 9 with the three that their homes have from own links.

    Of the eight sums only one is 16: 1 + 9 + 6, each tuple once a phase. Messages are 22: that a tuple is a duplicate
    is seen by who receives it.
    """
    net, log = three_nodes(dred())
    inserted(net)
    log.clear()
    messages, lost = without_c_b(net)
    shipped = [(kind, relation, row) for _, _, kind, relation, row, _ in log]
    assert Counter((kind, relation) for kind, relation, _ in shipped) == {
        ("TakenBack", "link~at_1"): 1,
        ("TakenBack", "reachable"): 12,
        ("Follows", "reachable"): 9,
    }
    assert (messages, lost) == (22, 0)
    own = {("Follows", "reachable", link) for link in LINKS if link != ("C", "B")}
    tuples = Counter((kind, relation) for kind, relation, _ in set(shipped) - own)
    assert tuples == {
        ("TakenBack", "link~at_1"): 1,
        ("TakenBack", "reachable"): 9,
        ("Follows", "reachable"): 6,
    }
    sums = [link + fallen + again for link in (0, 1) for fallen in (9, 12) for again in (6, 9)]
    assert sums.count(16) == 1 and tuples.total() == 16


ASKED = [("A", "B"), ("A", "C"), ("B", "D"), ("C", "D")]


@pytest.mark.parametrize("requests", [False, True])
def test_who_did_not_take_a_row_back_need_not_be_asked_for_it(requests):
    """reachable(A, D) follows from link(A, B) at B and link(A, C) at C; when B takes it back, C still says so."""
    net, log = three_nodes(dred(requests=requests), "ABCD")
    for link in ASKED:
        net.insert("link", link)
    net.run()
    log.clear()
    net.delete("link", ("B", "D"))
    net.run()
    assert ("A", "D") in net.rows("reachable") and ("B", "D") not in net.rows("reachable")
    shipped = [(a, b, kind, row) for a, b, kind, _, row, _ in log]
    assert sorted(shipped[:2]) == [("B", "A", "TakenBack", ("A", "D")), ("B", "D", "TakenBack", ("D", "B"))]
    asking = [("A", "C", "AskedFor", ("A", "D")), ("C", "A", "Follows", ("A", "D"))]
    assert shipped[2:] == (asking if requests else [])


def test_relative_provenance_asks_ancestors():
    net, log = three_nodes(SCHEMES["relative, lazy"])
    inserted(net)
    log.clear()
    messages, lost = without_c_b(net)
    assert lost == 0
    assert 2 < messages < 16
    assert {"Dropped", "AskedFor", "Grounded"} <= {kind for _, _, kind, *_ in log}
