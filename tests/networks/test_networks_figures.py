"""loo-2006 figures 2 and 6: the example network, its tuples iteration by iteration, and what updates change."""

from __future__ import annotations

import headwater as hw

LINKS = [("a", "b", 5), ("a", "c", 1), ("c", "b", 1), ("b", "d", 1), ("e", "a", 1), ("b", "e", 1)]
"""The solid lines of figure 2 that the text and figure 6 name: b, c, d and e around a, each one way."""

TEXT = """
    sp1 path(@S, @D, @D, P, C) :- #link(@S, @D, C), P = f_concatPath(link(@S, @D, C), nil).
    sp2 path(@S, @D, @Z, P, C) :- #link(@S, @Z, C1), path(@Z, @D, @Z2, P2, C2), C = C1 + C2, f_size(P2) < 4,
          P = f_concatPath(link(@S, @Z, C1), P2).
    sp3 spCost(@S, @D, min<C>) :- path(@S, @D, @Z, P, C).
    sp4 shortestPath(@S, @D, P, C) :- spCost(@S, @D, C), path(@S, @D, @Z, P, C).
"""
"""Without aggregate selections, as in the figures: paths of at most three links, for the network has cycles."""


def walked() -> hw.networks.network.Network:
    net = hw.network(TEXT, LINKS, order="sn", annotation="support")
    net.run()
    return net


def paths(net, hops: int) -> set[tuple]:
    return {row for row in net["path"].rows() if len(row[3]) == hops + 1}


def test_figure_2_by_rows():
    """One-hop paths are the links; two-hop paths are sent by the neighbour that has the rest of them."""
    net = walked()
    assert paths(net, 1) == {(s, d, d, (s, d), c) for s, d, c in LINKS}
    assert paths(net, 2) == {
        ("a", "b", "c", ("a", "c", "b"), 2),
        ("a", "d", "b", ("a", "b", "d"), 6),
        ("a", "e", "b", ("a", "b", "e"), 6),
        ("b", "a", "e", ("b", "e", "a"), 2),
        ("c", "d", "b", ("c", "b", "d"), 2),
        ("c", "e", "b", ("c", "b", "e"), 2),
        ("e", "b", "a", ("e", "a", "b"), 6),
        ("e", "c", "a", ("e", "a", "c"), 2),
    }
    assert ("a", "d", "c", ("a", "c", "b", "d"), 3) in paths(net, 3)


def test_figure_2_by_messages():
    """`path(a,d,b,[a,b,d],6)` is generated at b and propagated to a; a tuple travels against the link that it begins
    with, once."""
    net = walked()
    sent = [m for m in net.timeline() if m.relation == "path"]
    assert ("b", "a", ("a", "d", "b", ("a", "b", "d"), 6)) in {(m.sender, m.receiver, m.row) for m in sent}
    assert all((m.sender, m.receiver) == (m.row[2], m.row[0]) for m in sent)
    derived = [row for row in net["path"].rows() if len(row[3]) > 2]
    assert sorted(m.row for m in sent) == sorted(derived) and len(sent) == len(set(derived))
    links = [m for m in net.timeline() if m.relation == "link"]
    assert len(links) == len(LINKS), "linkD: every link is told to its other end once"


def test_shortest_paths_replace_each_other():
    """Node a first has [a,b] at cost 5, and in the next iteration [a,c,b] at cost 2 from c."""
    net = hw.network(TEXT, LINKS, annotation="support")
    net.run(until=0.0)
    assert ("a", "b", ("a", "b"), 5) in net.at("a")["shortestPath"].rows()
    net.run()
    assert [row for row in net.at("a")["shortestPath"].rows() if row[1] == "b"] == [
        ("a", "b", ("a", "c", "b"), 2)
    ]


def test_figure_6_an_update_and_a_deletion():
    """The derivation tree of path(e,b..e): link(a,b,5) becomes 1, then link(b,e,1) goes."""
    net = walked()
    tree = [
        ("e", "e", "a", ("e", "a", "b", "e"), 7),
        ("a", "e", "b", ("a", "b", "e"), 6),
        ("b", "e", "e", ("b", "e"), 1),
    ]
    assert all(row in net["path"] for row in tree)
    before, said = set(net["path"].rows()), net.messages
    net.set_cost("a", "b", 1)
    net.run()
    _told_exactly(net, before, said)
    updated = [("e", "e", "a", ("e", "a", "b", "e"), 3), ("a", "e", "b", ("a", "b", "e"), 2), tree[2]]
    assert all(row in net["path"] for row in updated) and not any(row in net["path"] for row in tree[:2])
    before, said = set(net["path"].rows()), net.messages
    net.fail("b", "e")
    net.run()
    _told_exactly(net, before, said)
    assert not any(row in net["path"] for row in updated)
    assert not any("b" in row[3][:-1] and row[3][row[3].index("b") + 1] == "e" for row in net["path"].rows())


def _told_exactly(net, before: set[tuple], said: int) -> None:
    """Each path of several links that is new was told once, by its second node, each that is gone taken back once,
    and beside that what became of the link."""
    after, messages = set(net["path"].rows()), net.timeline()[said:]
    paths = [m for m in messages if m.relation == "path"]
    news = [m.row for m in paths if m.kind in ("Supported", "Replaced")]
    assert sorted(news) == sorted(row for row in after - before if len(row[3]) > 2)
    back = [row for m in paths for row in m.taken_back]
    assert sorted(back) == sorted(row for row in before - after if len(row[3]) > 2)
    assert all((m.sender, m.receiver) == (m.row[2], m.row[0]) for m in paths)
    links = [(m.kind, m.row) for m in messages if m.relation != "path"]
    assert len(links) == len(set(links)) <= 2
