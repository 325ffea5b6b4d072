"""Who is inside a network: one thread, no rule; Ctrl-C between two events, and errors in the middle of one."""

from __future__ import annotations

import os
import signal
import threading

import pytest

import headwater as hw

LINKS = [("a", "b", 1), ("b", "a", 1), ("b", "c", 2), ("c", "b", 2)]
CALLED = """
.decl mark(node: string, value: int)
c1 marked(@S, N) :- #link(@S, @D, C), mark(@D, V), N = called(C * V).
"""
"""What is called is called in a run: links are told to their other ends by messages."""


def test_a_second_thread_is_refused_and_the_first_goes_on():
    inside, refused = threading.Event(), threading.Event()
    found: list[str] = []

    def called(value: int) -> int:
        inside.set()
        assert refused.wait(30)
        return value

    def other() -> None:
        assert inside.wait(30)
        for call in (net.run, lambda: net["marked"], lambda: net.fail("a", "b"), net.twin):
            with pytest.raises(hw.HeadwaterError) as error:
                call()
            found.append(error.value.code)
        refused.set()

    net = hw.network(CALLED, LINKS, functions={"called": (called, ["int"], "int")})
    net.insert("mark", [("a", 1)])
    thread = threading.Thread(target=other)
    thread.start()
    net.run()
    thread.join(30)
    assert found == ["in-use"] * 4
    assert net["marked"].rows() == [("b", 1)]


def test_what_rules_call_cannot_use_the_network():
    codes: list[str] = []

    def called(value: int) -> int:
        try:
            net.run()
        except hw.HeadwaterError as error:
            codes.append(error.code)
        return value

    net = hw.network(CALLED, LINKS, functions={"called": (called, ["int"], "int")})
    net.insert("mark", [("a", 1)])
    net.run()
    assert codes == ["called-inside"]


def test_a_network_whose_rules_failed_runs_no_more_and_its_twin_does():
    net = hw.network("d1 d(@S, N) :- #link(@S, @D, C), mark(@D, V), N = 12 / (C * V).", LINKS)
    net.insert("mark", [("a", 3), ("b", 0)])
    with pytest.raises(hw.HeadwaterError) as failed:
        net.run()
    assert failed.value.code == "division-by-zero"
    for call in (net.run, lambda: net.delete("mark", [("b", 0)])):
        with pytest.raises(hw.HeadwaterError) as refused:
            call()
        assert refused.value.code == "network-broken"
    twin = net.twin()
    twin.delete("mark", [("b", 0)])
    assert twin.run().quiet
    assert twin["d"].rows() == [("b", 4)]


@pytest.mark.parametrize(
    "text",
    [
        "p1 share(@X, C) :- #link(@X, @Y, L), C = 10 / (L - 2).",
        "materialize(link, infinity, infinity, keys(1, 2)). materialize(share, infinity, infinity, keys(1))."
        " p1 share(@X, C) :- ask(@X, N), link(@X, Y, L), C := N / (L - 2).",
    ],
    ids=["a view", "an event"],
)
def test_the_rule_that_failed_is_told_with_its_place_and_its_node(text: str):
    with pytest.raises(hw.HeadwaterError) as error:
        net = hw.network(text, LINKS)
        net.insert("ask", [("b", 10)])
        net.run()
    assert error.value.code == "division-by-zero" and error.value.place is not None
    assert error.value.message == "10 / 0, in rule p1, at b"


def test_an_interrupted_run_goes_on():
    """Ctrl-C while a rule runs: the event is seen to its end, and what is left is done by the next run."""
    calls = 0

    def called(value: int) -> int:
        nonlocal calls
        calls += 1
        if calls == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return value

    net = hw.network(CALLED, "grid:3", functions={"called": (called, ["int"], "int")})
    net.insert("mark", [(node, number) for number, node in enumerate(net.topology.nodes, 1)])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            net.run()
        assert calls == 3
        assert net.run().quiet
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == 9  # for each value once
    assert len(net["marked"].rows()) == 24
