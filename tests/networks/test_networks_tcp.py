"""Nodes in processes of their own, over TCP: the same rows as simulated nodes and as clingo has them, with changes in
flight, processes killed, and drivers that leave in every way."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from asynchronous import network
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_lockstep import FIGURES
from oracle_programs import RandomProgram
from oracle_strategies import programs
from test_networks_random_programs import stream

import headwater as hw
from headwater.networks.annotated.named import SCHEMES
from headwater.networks.transports.tcp import TcpNetwork
from headwater.networks.transports.tcp.control import AskRows, JoinNetwork, OpenChannel, encode_control
from headwater.networks.transports.tcp.frames import ConnectionGone, Frames, port_of

PROGRAMS = int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", 8))
FIRST_SEED = int(os.environ.get("HEADWATER_SEED", 0))
REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
ADDRESSED = """
    r1 path(@S, @D, C) :- #link(@S, @D, C).
    r2 path(@S, @D, C) :- #link(@S, @Z, C1), path(@Z, @D, C2), C = C1 + C2, C < 20.
    r3 best(@S, @D, min<C>) :- path(@S, @D, C).
"""


@pytest.fixture(scope="module")
def net() -> Iterator[TcpNetwork]:
    with TcpNetwork(REACH, nodes=3) as found:
        yield found


def test_random_programs_with_changes_in_flight(net: TcpNetwork):
    @hypothesis.seed(FIRST_SEED)
    @settings(max_examples=PROGRAMS, derandomize=False, deadline=None)
    @given(programs(), st.integers(0, 1 << 30))
    def run(program: RandomProgram, seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(2):
            net.become(
                program.text(), chance.choice(["absorption", "absorption-bounded", "relative", "ranked"])
            )
            changes, there = stream(chance)
            simulated = network(program.text(), SCHEMES[net.scheme]())
            while changes:
                some = chance.choice([1, 2, 5])
                net.change(changes[:some])
                for comes, relation, row in changes[:some]:
                    (simulated.insert if comes else simulated.delete)(relation, row)
                changes = changes[some:]
            simulated.run()
            for relation, rows in solve(program, there).items():
                assert net.rows(relation) == rows == simulated.rows(relation), (relation, net.scheme)
            FIGURES["programs over TCP"] += 1

    run()


@pytest.mark.parametrize("scheme", [name for name in SCHEMES if name != "counting"])
def test_every_scheme(net: TcpNetwork, scheme: str):
    net.become(REACH, scheme)
    links = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "b")]
    if scheme == "absorption-timed":  # seconds pass until all is quiet
        net.change([(True, "link", row) for row in links])
    else:
        for row in links:
            net.insert("link", row)
    net.delete("link", ("c", "b"))
    assert len(net.rows("reach")) == 9
    net.delete("link", ("c", "a"))
    assert net.rows("reach") == {("a", "b"), ("b", "c"), ("a", "c")}


def test_killed_nodes_come_back_and_nothing_old_does_harm(net: TcpNetwork):
    """Nodes are killed while what follows from changes is under way, one or several of them."""
    net.become(REACH, "absorption")
    chance, links = random.Random(5), set()
    losses = net.losses
    for step in range(30):
        changes = []
        for _ in range(3):
            row = (chance.randrange(6), chance.randrange(6))
            changes.append((row not in links, "link", row))
            links ^= {row}
        net.change(changes)
        if step in (7, 19):
            kept = net.processes[2]
            net.kill(chance.randrange(2))
            net.change([(True, "link", (7, 8)), (False, "link", (7, 8))])
            assert net.processes[2] == kept, "whoever lives goes on"
        if step % 3 == 0:
            one = hw.connect()
            one.define(REACH)
            one.apply(insert={"link": sorted(links)})
            assert net.rows("reach") == set(one["reach"].rows()), step
    assert net.losses >= losses + 2


def test_a_rule_that_fails_is_told_and_the_next_program_runs(net: TcpNetwork):
    net.become("p(X, Y) :- n(X), Y = 6 / X.")
    with pytest.raises(hw.EvaluationError) as refused:
        net.insert("n", (0,))
        net.settle()
    assert refused.value.code == "division-by-zero"
    net.become(REACH)
    net.insert("link", (1, 2))
    assert net.rows("reach") == {(1, 2)}


def test_whoever_lacks_the_token_is_turned_away(net: TcpNetwork):
    net.become(REACH)
    net.insert("link", (1, 2))
    net.settle()
    wrong = [
        OpenChannel("wrong", 1, net.epoch),
        OpenChannel("日本", 1, net.epoch),
        JoinNetwork("wrong", 1, 1, 1, "127.0.0.1", 1),
        JoinNetwork("日本", 1, 1, 1, "127.0.0.1", 1),
        AskRows("reach"),
    ]
    lists_in_lists = bytes([1]) + b"\x06\x01" * 2000
    driver = port_of(net._processes._listening)
    for port in (net._processes.addresses()[1][0], driver):
        for opening in [*map(encode_control, wrong), b"", b"\xff" * 40, lists_in_lists, b"\0" * 5000]:
            frames = Frames.to("127.0.0.1", port)
            frames.send(opening)
            with pytest.raises(ConnectionGone):
                frames.receive()
        with socket.create_connection(("127.0.0.1", port)) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\n\r\n")
    silent = [socket.create_connection(("127.0.0.1", driver)) for _ in range(8)]
    net.kill(0)  # another one comes, whoever else has connected
    assert net.rows("reach") == {(1, 2)}
    for connection in silent:
        connection.close()


def test_programs_with_addresses_run_where_they_say():
    names = ["a", "b", "c"]
    links = [("a", "b", 1), ("b", "c", 2), ("a", "c", 9), ("c", "a", 1)]
    with TcpNetwork(ADDRESSED, names=names) as net:
        net.change([(True, "link", link) for link in links])
        assert {row for row in net.rows("best") if row[0] == "a"} == {
            ("a", "b", 1),
            ("a", "c", 3),
            ("a", "a", 4),
        }
        net.delete("link", ("b", "c", 2))
        assert ("a", "c", 9) in net.rows("best")
        with pytest.raises(hw.DataError, match="no node has"):
            net.insert("link", ("z", "a", 1))
        with pytest.raises(hw.DataError, match="no base relation"):
            net.insert("best", ("a", "a", 1))
        with pytest.raises(hw.DataError, match="no @"):
            net.become(REACH)


def test_rows_by_key_are_given_again_as_they_were_and_events_are_not():
    text = """
    materialize(keyed, infinity, infinity, keys(1, 2)).
    materialize(heard, infinity, infinity, keys(1, 2)).
    k1 heard(@N, E) :- ping(@N, E).
    k2 told(@N, K, V) :- ask(@N), keyed(@N, K, V).
    """
    with TcpNetwork(text, names=["a", "b"]) as net:
        for value in (1, 2, 1):
            net.insert("keyed", ("a", "k", value))
        net.insert("ping", ("a", 1))
        assert net.rows("keyed") == {("a", "k", 1)} and net.rows("heard") == {("a", 1)}
        net.kill(1)
        assert net.rows("keyed") == {("a", "k", 1)} and not net.rows("heard")


def test_timers_run_from_when_the_first_base_rows_are_there():
    text = "t1 tick(@N, M, E) :- periodic(@N, E, 60), #link(@N, M, C)."
    with TcpNetwork(text, names=["a", "b"]) as net:
        assert [counters.timers for counters in net._wave()] == [False, False]
        net.insert("link", ("a", "b", 1))
        assert [counters.timers for counters in net._wave()] == [True, True]
        net.kill(1)
        net.insert("link", ("b", "a", 1))
        assert [counters.timers for counters in net._wave()] == [True, True], "in a new epoch as well"


@pytest.fixture
def namespaces() -> Iterator[list[str]]:
    """Three network namespaces on a bridge, where the system lets us have them."""
    names = [f"hw{os.getpid()}n{number}" for number in range(3)]
    bridge = f"hw{os.getpid() % 100000}b"
    subnet = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"

    def ip(*words: str) -> bool:
        return subprocess.run(["ip", *words], capture_output=True, check=False).returncode == 0

    if not ip("link", "add", bridge, "type", "bridge"):
        pytest.skip("this system lets us have no network namespaces")
    try:
        up = ip("addr", "add", f"{subnet}.254/24", "dev", bridge) and ip("link", "set", bridge, "up")
        for number, name in enumerate(names):
            end = f"{bridge}{number}"
            up = (
                up
                and ip("netns", "add", name)
                and ip("link", "add", end, "type", "veth", "peer", "eth0", "netns", name)
            )
            up = up and ip("link", "set", end, "master", bridge, "up")
            up = up and ip("-n", name, "addr", "add", f"{subnet}.{number + 1}/24", "dev", "eth0")
            up = up and ip("-n", name, "link", "set", "eth0", "up")
        if not up:
            pytest.skip("this system lets us have no network namespaces")
        yield [subnet, *names]
    finally:
        for name in names:
            ip("netns", "del", name)
        ip("link", "del", bridge)


def test_nodes_in_network_namespaces(namespaces: list[str]):
    subnet, *names = namespaces
    hosts = [f"{subnet}.{number + 1}" for number in range(3)]
    with TcpNetwork(
        REACH,
        nodes=3,
        host=f"{subnet}.254",
        hosts=hosts,
        prefix=lambda number: ("ip", "netns", "exec", names[number]),
    ) as net:
        net.change([(True, "link", (number, number + 1)) for number in range(6)])
        net.delete("link", (2, 3))
        assert len(net.rows("reach")) == 3 + 6


@pytest.mark.parametrize("way", ["end", "error", "killed"])
def test_processes_end_however_the_driver_leaves(way: str):
    program = Path(__file__).parent / "networks_leaving.py"
    with subprocess.Popen(
        [sys.executable, str(program), "wait" if way == "killed" else way],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as driver:  # fmt: skip
        assert driver.stdout is not None and driver.stderr is not None
        nodes = list(map(int, driver.stdout.readline().split()))
        assert len(nodes) == 2
        if way == "killed":
            driver.send_signal(signal.SIGKILL)
        driver.wait(timeout=60)
        said = driver.stderr.read()
    if way == "error":
        assert said.strip().splitlines()[-1] == "RuntimeError: the program's own error"
    deadline = time.monotonic() + 20
    while any(map(_there, nodes)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_there, nodes))


def _there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
