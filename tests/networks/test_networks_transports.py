"""The same network on every transport: rows, proofs and messages as in the simulator, processes killed, odd calls."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headwater as hw
from headwater.networks import library
from headwater.networks.network import Network

NAME = "topohub:topozoo/Abilene"


def same(real: Network, simulated: Network) -> None:
    for relation in simulated.relations:
        assert real[relation].rows() == simulated[relation].rows(), relation
    assert real.links == simulated.links


def go_through(real: Network, simulated: Network) -> None:
    """Links fail, come back and cost something else, some while what follows is under way."""
    chance = random.Random(3)
    both = (real, simulated)
    for net in both:
        assert net.run().quiet
    same(real, simulated)
    failing = chance.sample(simulated.topology.links, 3)
    for net in both:
        for link in failing:
            net.fail(link[:2])
    for net in both:
        net.restore(failing[0].source, failing[0].target)
        net.set_cost(failing[1][:2], 7)
        net.run()
    same(real, simulated)


def check_proof(net: Network) -> None:
    for row in net.at("Chicago")["bestCost"].rows():
        proof = net.why("bestCost", row)
        assert {row for _, row in proof.base()} <= set(net.links)
        linked = {link[:2] for link in net.links}
        assert {(message.sender, message.receiver) for message in proof.messages()} <= linked
        assert sum(link[2] for _, link in proof.base()) == row[2]


def check_timeline(net: Network) -> None:
    times = [message.time for message in net.timeline()]
    assert times == sorted(times) and len(times) == net.messages > 0
    assert sum(message.bytes for message in net.timeline()) == net.bytes


@pytest.fixture(scope="module")
def processes():
    """Eleven nodes in three processes."""
    with hw.network("best-cost", NAME, transport="tcp", processes=3) as net:
        yield net


def test_rows_proofs_and_messages_over_tcp(processes):
    go_through(processes, hw.network("best-cost", NAME))
    check_proof(processes)
    check_timeline(processes)
    before = processes.now
    assert processes.run(until=before + 0.2).quiet and processes.now >= before + 0.2


def test_killed_processes_are_started_again(processes):
    simulated = hw.network("best-cost", NAME)
    for ends, costs in processes._up.items():
        simulated._set({ends: costs})
    for ends in set(simulated._up) - set(processes._up):
        simulated._set({ends: None})
    tcp = processes._nodes.network
    losses, messages = tcp.losses, processes.messages
    os.kill(tcp.processes[1], signal.SIGKILL)
    for net in (processes, simulated):
        net.fail("Seattle", "Sunnyvale")
        net.run()
    same(processes, simulated)
    os.kill(tcp.processes[0], signal.SIGKILL)
    os.kill(tcp.processes[2], signal.SIGKILL)
    assert processes.run(until=processes.now + 0.1).quiet, "while time passes, too"
    for net in (processes, simulated):
        net.restore("Seattle", "Sunnyvale")
        net.run()
    same(processes, simulated)
    assert tcp.losses >= losses + 2 and processes.messages > messages


def test_an_interrupted_wait_leaves_a_network_that_works(processes, monkeypatch):
    """Ctrl-C while answers are waited for: those that come late are not taken for others."""
    tcp = processes._nodes.network
    receive = tcp._processes.connection(1).receive

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(tcp._processes.connection(1), "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        processes.run()
    monkeypatch.undo()
    assert receive is not None and processes.run().quiet
    check_proof(processes)


def test_orders_and_annotations_over_tcp():
    """One process a node; another program, annotation and order than above."""
    rows = [(a, b, 1) for a, b in ["ab", "ba", "bc", "cb", "ca", "ac"]]
    with hw.network("shortest-path", rows, transport="tcp", annotation="dred", order="bsn") as net:
        assert len(set(net._nodes.network.processes)) == 3
        simulated = hw.network("shortest-path", rows)
        for each in (net, simulated):
            each.run()
            each.fail("a", "b")
            each.fail(("b", "a"))
            each.run()
        same(net, simulated)


@pytest.mark.parametrize("kill", [False, True])
def test_timers_and_traces_over_tcp(kill):
    """Pings every second of real time; nodes whose timers begin anew after a loss."""
    text = (Path(library.__file__).parent / "programs" / "ping_pong.ndlog").read_text()
    text += "watch(roundTrip). watch(pong)."
    rows = [("a", "b", 1), ("b", "a", 1), ("b", "c", 1), ("c", "b", 1)]
    with hw.network(text, rows, transport="tcp", processes=2) as net:
        if kill:
            os.kill(net._nodes.network.processes[1], signal.SIGKILL)
        begun = net.now
        while len(net["roundTrip"].rows()) < 4 and net.now < begun + 20:
            assert not net.run(until=net.now + 0.2).quiet
        ends = {row[:2] for row in net["roundTrip"].rows()}
        assert ends == {row[:2] for row in rows} and all(0 <= row[2] < 10 for row in net["roundTrip"].rows())
        watched = net.watched
        assert [row.time for row in watched] == sorted(row.time for row in watched)
        assert all(1 <= row.time <= net.now and row.row[0] == "abc"[row.node] for row in watched)
        for relation, sign in (("pong", "!"), ("roundTrip", "+")):
            seen = [row for row in watched if row.relation == relation and row.sign == sign]
            assert {row.row[:2] for row in seen} == ends
        assert str(watched[0]).startswith(f"{watched[0].time:.3f} s  ! pong(")


def test_gossip_over_tcp():
    """Everybody hears of everybody; with several processes, a node is in each."""
    with hw.network("gossip", "grid:2", transport="tcp", processes=2) as net:
        names = set(net.topology.nodes)
        while len(net["alive"].rows()) < len(names) ** 2 and net.now < 60:
            assert not net.run(until=net.now + 0.5).quiet
        assert {row[:2] for row in net["alive"].rows()} == {(one, other) for one in names for other in names}
        assert net.messages > 0 and net.watched == []


def test_what_transports_refuse(processes):
    with pytest.raises(hw.HeadwaterError) as refused:
        hw.network("reachable", NAME, transport="tcp", functions={"f": (abs, ["int"], "int")})
    assert refused.value.code == "functions-here"
    with pytest.raises(hw.HeadwaterError) as refused:
        hw.network("reachable", NAME, transport="tcp", processes=0)
    assert refused.value.code == "wrong-type"
    with pytest.raises(hw.HeadwaterError) as refused:
        processes.fail("Seattle", "Atlanta")
    assert refused.value.code == "no-such-link" and "Denver" in str(refused.value.hint)
    with pytest.raises(hw.HeadwaterError) as refused:
        processes.insert("link", [("Seattle", "Denver", 1)])
    assert refused.value.code == "link-rows"
    net = hw.network("reachable", [("a", "b")], transport="tcp")
    net.close()
    net.close()
    with pytest.raises(hw.HeadwaterError) as refused:
        net.run()
    assert refused.value.code == "closed"


def test_processes_end_with_a_program_that_just_leaves():
    program = "import headwater as hw, os, sys\n"
    program += "net = hw.network('reachable', 'grid:2', transport='tcp', processes=2)\n"
    program += "print(*net._nodes.network.processes, flush=True)\nos._exit(3) if len(sys.argv) > 1 else None"
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    for arguments in ([], ["hard"]):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], env=path, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
        nodes = list(map(int, done.stdout.split()))
        assert len(nodes) == 2, done.stderr
        deadline = time.monotonic() + 20
        while any(Path(f"/proc/{node}/cmdline").exists() for node in nodes) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(Path(f"/proc/{node}/cmdline").exists() for node in nodes)


def test_ranked_rows_that_replace_each_other_over_tcp():
    """What is taken back goes along with what is told, as bytes, too."""
    text = """c1 cost(@S, @D, min<C>) :- #link(@S, @D, C).
      c2 cost(@S, @D, min<C>) :- #link(@S, @Z, C1), cost(@Z, @D, C2), C = C1 + C2."""
    ring = [(f"n{one}", f"n{(one + step) % 6}", 3 + one) for one in range(6) for step in (1, 5)]
    rows = []
    for transport, more in (("simulated", {}), ("tcp", {"processes": 2})):
        with hw.network(text, ring, transport=transport, annotation="support", **more) as net:
            net.run()
            for cost in (9, 1, 4):
                net.set_cost(("n2", "n3"), cost)
                net.run()
            net.fail("n4", "n5")
            net.run()
            rows.append(net["cost"].rows())
            kinds = {message.kind for message in net.timeline()}
            assert kinds == {"Supported", "Replaced", "Withdrawn"}, transport
    assert rows[0] == rows[1] and len(rows[0]) == 36
