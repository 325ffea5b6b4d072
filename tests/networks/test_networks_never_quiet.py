"""Views of networks that are never quiet: what waits until all nodes are at rest does not wait for timers."""

from __future__ import annotations

import pytest

import headwater as hw

LINKS = [(one, other, 1) for one in "abc" for other in "abc" if one != other]
VIEWS = """
materialize(link, infinity, infinity, keys(1, 2)).
materialize(reached, infinity, infinity, keys(1, 2)).
r1 reached(@Y, A) :- start(@X, A), link(@X, @Y, C).
r2 reached(@Y, A) :- reached(@X, A), link(@X, @Y, C).
"""
NEVER_QUIET = {
    "rows that will expire": "materialize(start, 1000, infinity, keys(1, 2)).",
    "a timer": "materialize(start, infinity, infinity, keys(1, 2)).\nt1 tick(@X, E) :- periodic(@X, E, 1).",
}


def run_for(net, seconds: float) -> None:
    net.run(until=net.now + seconds)


@pytest.mark.parametrize("options", [{}, {"sharing_delay": 0.01}], ids=str)
@pytest.mark.parametrize("annotation", ["absorption", "support", "dred", "relative"])
@pytest.mark.parametrize("why", NEVER_QUIET)
def test_rows_come_back_and_go(why, annotation, options):
    net = hw.network(VIEWS + NEVER_QUIET[why], LINKS, annotation=annotation, **options)
    net.insert("start", [("a", 1)])
    run_for(net, 1.5)
    net.fail("a", "b")
    run_for(net, 1)
    assert net["reached"].rows() == [("a", 1), ("b", 1), ("c", 1)]
    net.fail("a", "c")
    run_for(net, 1)
    assert not net["reached"].rows()  # also round the circle of b and c
    net.restore("a", "b")
    assert not net.run(until=net.now + 1).quiet
    assert net["reached"].rows() == [("a", 1), ("b", 1), ("c", 1)]


def test_rows_come_back_in_processes():
    with hw.network(
        VIEWS + NEVER_QUIET["a timer"], LINKS, annotation="support", transport="tcp", processes=2
    ) as net:
        net.insert("start", [("a", 1)])
        run_for(net, 0.3)
        net.fail("a", "b")
        net.fail("a", "c")
        net.restore("a", "b")
        run_for(net, 0.6)
        assert net["reached"].rows() == [("a", 1), ("b", 1), ("c", 1)]
