"""liu-2008 figure 2, step by step: tuples, places and provenance; and the counts of sections 3.2, 4 and 5."""

from __future__ import annotations

from collections import Counter

import pytest

from headwater.annotations.minimal_dnf import MinimalDNF
from headwater.networks.simulated.absorption import CONVENTIONAL, EAGER, LAZY, AbsorptionCluster
from headwater.networks.simulated.dred import DRedCluster
from headwater.networks.simulated.queries import reachable
from headwater.networks.simulated.relative import RelativeCluster

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


def place(key):
    return NODES.index(key)


def show(value) -> str:
    """With the paper's numbers, p1 to p4 in the order of the links: ours are n · nodes + node for the n-th row."""
    number = {0: 1, 1: 2, 2: 3, 5: 4}
    return DNF.show(DNF.of([number[v] for v in term] for term in DNF.terms(value)))


def lines(text: str) -> list[str]:
    return sorted(" ".join(line.replace("*", "").split()) for line in text.splitlines() if line.strip())


def steps(cluster: AbsorptionCluster):
    """Insert the links; yield after each step what was shipped, and what nodes held before it arrived."""
    cluster.channels.log = []
    cluster.insert(LINKS)
    for step in range(5):
        tables = [row for node in cluster.nodes for row in node.fixpoint.table.items()]
        held = " | ".join(f"({', '.join(row)}) {show(value)}" for row, value in sorted(tables))
        yield step, list(cluster.channels.log), held
        cluster.channels.log.clear()
        cluster.channels.deliver(cluster.handle, cluster.channels.waiting())


def test_every_step_ships_and_holds_what_the_figure_says():
    cluster = AbsorptionCluster(reachable(), 3, place=place, batch=CONVENTIONAL)
    for step, log, held in steps(cluster):
        if step == 0:
            assert [(message.kind, message.row) for _, _, message in log] == [
                ("base", link) for link in LINKS
            ]
            continue
        shipped = sorted(
            f"({', '.join(message.row)}) {NODES[a]} → {NODES[b]} {show(DNF.decode(message.body))}"
            for a, b, message in log
        )
        assert shipped == lines(SHIPPED.get(step, ""))
        assert held == HELD[step]
    for node in cluster.nodes:
        assert all(row[0] == NODES[node.number] for row in node.fixpoint.table)


def inserted(cluster) -> int:
    cluster.insert(LINKS)
    cluster.run()
    assert cluster.view() == {(x, y) for x in NODES for y in NODES}
    return cluster.channels.messages


def without_c_b(cluster) -> tuple[int, int]:
    """Messages and lost rows when link(C, B) goes."""
    before, rows = cluster.channels.messages, cluster.view()
    cluster.delete([("C", "B")])
    cluster.run()
    return cluster.channels.messages - before, len(rows - cluster.view())


def test_without_provenance_16_tuples_are_shipped():
    assert inserted(DRedCluster(reachable(), 3, place=place)) == 16


def test_with_provenance_4_more():
    assert inserted(AbsorptionCluster(reachable(), 3, place=place, batch=CONVENTIONAL)) == 20


def test_lazily_as_many_as_without_provenance():
    assert inserted(AbsorptionCluster(reachable(), 3, place=place, batch=LAZY)) == 16


def test_min_ship_keeps_back_what_was_absorbed():
    """Of the four, the derivation p1·p2·p3·p4 is absorbed by p2·p4, which its sender has shipped before."""
    assert inserted(AbsorptionCluster(reachable(), 3, place=place, batch=EAGER)) == 19


@pytest.mark.parametrize("batch", [CONVENTIONAL, EAGER])
def test_deleting_link_c_b_takes_two_messages_and_no_row(batch):
    cluster = AbsorptionCluster(reachable(), 3, place=place, batch=batch)
    inserted(cluster)
    assert without_c_b(cluster) == (2, 0)


def test_lazily_what_was_put_by_follows():
    """The two, and three derivations that take the place of shipped ones which needed p4."""
    cluster = AbsorptionCluster(reachable(), 3, place=place, batch=LAZY)
    inserted(cluster)
    assert without_c_b(cluster) == (5, 0)


def test_delete_and_rederive_ships_16_tuples_and_their_duplicates():
    """Figure 5: the deleted link, nine rows that fall, and the six that follow again from other nodes' rows.

    Three rows are taken back by two nodes, and three are derived again that their nodes have from their own links:
    only who receives such a message can know that it is a duplicate, as section 3.2 says of insertions.
    """
    cluster = DRedCluster(reachable(), 3, place=place)
    inserted(cluster)
    cluster.channels.log = []
    messages, lost = without_c_b(cluster)
    shipped = [(message.kind, message.row) for _, _, message in cluster.channels.log]
    assert Counter(kind for kind, _ in shipped) == {"no base": 1, "delete": 12, "insert": 9}
    assert (messages, lost) == (22, 0)
    left = {("insert", link) for link in LINKS if link != ("C", "B")}
    assert len(set(shipped) - left) == 16


def test_who_did_not_take_a_row_back_is_asked_for_it():
    """reachable(A, D) follows from link(A, B) at B and link(A, C) at C; when B takes it back, C sends it again."""
    cluster = DRedCluster(reachable(), 4, place="ABCD".index)
    cluster.insert([("A", "B"), ("A", "C"), ("B", "D"), ("C", "D")])
    cluster.run()
    cluster.channels.log = []
    cluster.delete([("B", "D")])
    shipped = [("ABCD"[a], "ABCD"[b], message.kind, message.row) for a, b, message in cluster.channels.log]
    assert ("A", "D") in cluster.view() and ("B", "D") not in cluster.view()
    assert shipped == [
        ("B", "A", "delete", ("A", "D")),
        ("B", "D", "no base", ("B", "D")),
        ("A", "C", "ask", ("A", "D")),
        ("C", "A", "insert", ("A", "D")),
    ]


def test_relative_provenance_asks_ancestors():
    cluster = RelativeCluster(reachable(), 3, place=place)
    inserted(cluster)
    messages, lost = without_c_b(cluster)
    assert lost == 0
    assert 2 < messages < 16
