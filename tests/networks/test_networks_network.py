"""`headwater.network`: programs of the library on real networks, beside networkx, while links fail and come back."""

from __future__ import annotations

import random
import re

import networkx
import pytest

import headwater as hw
from headwater.networks.library import programs
from headwater.networks.node_settings import ANNOTATIONS

SQUARE = [(a, b, c) for x, y, c in [("a", "b", 1), ("b", "c", 1), ("c", "d", 1), ("d", "a", 5)]
          for a, b in [(x, y), (y, x)]]  # fmt: skip
REAL = ["topozoo/Abilene", "topozoo/Aarnet", "sndlib/polska", "sndlib/nobel-us"]


def distances(net: hw.networks.network.Network) -> dict[tuple[str, str], int]:
    graph = networkx.DiGraph()
    graph.add_nodes_from(net.topology.nodes)
    graph.add_weighted_edges_from(net.links)
    lengths = networkx.all_pairs_dijkstra_path_length(graph)
    return {(s, t): c for s, found in lengths for t, c in found.items() if s != t}


def check_costs(net) -> None:
    wanted = distances(net)
    assert {row[:2]: row[2] for row in net["bestCost"].rows() if row[0] != row[1]} == wanted
    for source, target, first, cost in net["nextHop"].rows():
        if source != target:
            step = next(c for s, t, c in net.links if (s, t) == (source, first))
            assert cost == wanted[source, target] == step + (wanted[first, target] if first != target else 0)


def check_paths(net) -> None:
    wanted, links = distances(net), {(s, t): c for s, t, c in net.links}
    found = [row for row in net["shortestPath"].rows() if row[0] != row[1]]
    assert {row[:2]: row[3] for row in found} == wanted
    for source, target, path, cost in found:
        assert (path[0], path[-1]) == (source, target)
        assert sum(links[step] for step in zip(path, path[1:], strict=False)) == cost


CHECKS = {"best-cost": check_costs, "shortest-path": check_paths}


@pytest.mark.parametrize("program", CHECKS)
@pytest.mark.parametrize("name", REAL)
def test_routes_on_real_networks_before_and_after_failures(name, program):
    net = hw.network(program, f"topohub:{name}")
    chance = random.Random(name)
    assert net.run().quiet
    CHECKS[program](net)
    failing = chance.sample(net.topology.links, max(1, len(net.topology.links) // 10))
    for link in failing:
        net.fail(link.source, link.target)
    net.run()
    CHECKS[program](net)
    for link in failing:
        net.restore(link.source, link.target)
    for link in chance.sample(net.topology.links, 3):
        net.set_cost(link.source, link.target, link.cost * chance.choice([1, 2, 3]) + 1)
    net.run(until=net.now + 0.004)
    net.set_cost(failing[0].source, failing[0].target, 1)
    net.run()
    CHECKS[program](net)


@pytest.mark.parametrize("order", ["psn", "bsn", "sn"])
@pytest.mark.parametrize("annotation", [name for name in ANNOTATIONS if name != "counting"])
def test_every_order_and_annotation(order, annotation):
    net = hw.network("best-cost", SQUARE, order=order, annotation=annotation)
    net.run()
    check_costs(net)
    net.fail("b", "c")
    net.run()
    check_costs(net)


def test_all_paths_without_a_loop():
    net = hw.network("path-vector", SQUARE)
    net.run()
    assert {row[2] for row in net["path"].rows() if row[:2] == ("a", "c")} == {
        ("a", "b", "c"),
        ("a", "d", "c"),
    }
    assert net.at("a")["bestPath"].rows()[1] == ("a", "c", ("a", "b", "c"), 2)


def test_reachable_is_what_networkx_says_when_a_network_falls_apart():
    net = hw.network("reachable", "grid:1x5")
    net.run()
    assert len(net["reachable"]) == 25
    net.fail("s0.1", "s0.2")
    net.run()
    assert len(net["reachable"]) == 4 + 9
    net.restore("s0.1", "s0.2")
    net.run()
    assert len(net["reachable"]) == 25


def test_a_run_may_end_before_all_is_quiet():
    net = hw.network("reachable", "grid:1x9")
    assert not net.run(until=0.003).quiet and 0 < len(net["reachable"]) < 81
    assert net.run().quiet and len(net["reachable"]) == 81


def test_messages_travel_along_links_and_are_told_one_by_one():
    """Claim 1: of a link-restricted program every row that is sent takes a link."""
    net = hw.network("shortest-path", "topohub:topozoo/Abilene")
    net.run()
    linked = {(source, target) for source, target, _ in net.links}
    rows = [message for message in net.timeline() if message.row is not None]
    assert rows and {(message.sender, message.receiver) for message in rows} <= linked
    assert len(net.timeline()) == net.messages and sum(m.bytes for m in net.timeline()) == net.bytes
    assert [m.time for m in net.timeline()] == sorted(m.time for m in net.timeline())


def test_counting_where_derivations_cannot_go_round_in_circles():
    net = hw.network("path-vector", SQUARE, annotation="counting")
    net.run()
    net.fail("a", "b")
    net.run()
    assert {row[:2]: row[3] for row in net["bestPath"].rows()} == distances(net)
    with pytest.raises(hw.HeadwaterError) as refused:
        hw.network("reachable", SQUARE, annotation="counting")
    assert refused.value.code == "diverges"


@pytest.mark.parametrize("program", ["best-cost", "shortest-path", "reachable"])
def test_a_proof_rests_on_links_that_are_up_and_its_messages_take_them(program):
    net = hw.network(program, "topohub:topozoo/Abilene")
    net.run()
    net.fail("Chicago", "Indianapolis")
    net.run()
    relation = {"best-cost": "bestCost", "shortest-path": "shortestPath"}.get(program, program)
    ends = {(source, target) for source, target, _ in net.links}
    for row in net.at("Chicago")[relation].rows():
        proof = net.why(relation, row)
        assert (proof.relation, proof.row, proof.node) == (relation, row, "Chicago")
        assert {row for _, row in proof.base()} <= set(net.links)
        assert {(message.sender, message.receiver) for message in proof.messages()} <= ends
        if program == "best-cost":
            assert sum(link[2] for _, link in proof.base()) == row[2]
    with pytest.raises(hw.HeadwaterError) as refused:
        net.why(relation, ("Chicago", "Nowhere"))
    assert refused.value.code == "no-such-row"


def test_the_same_seed_gives_the_same_run():
    runs = [hw.network("best-cost", "transit-stub:25", metric="random", seed=7) for _ in range(2)]
    assert repr(runs[0].run()) == repr(runs[1].run()) and runs[0].links == runs[1].links


def test_metrics():
    assert {cost for *_, cost in hw.network("reachable", SQUARE, metric="hops").links} == {1}
    net = hw.network("reachable", "grid:3", metric="random")
    drawn = {(s, t): c for s, t, c in net.links}
    assert all(drawn[s, t] == drawn[t, s] and 1 <= c <= 100 for (s, t), c in drawn.items())


def test_other_base_rows_and_functions():
    net = hw.network(
        "near(@S, @D) :- #link(@S, @D, C), limit(@S, M), close(C, M).",
        SQUARE,
        functions={"close": (lambda cost, most: cost <= most, ["int", "int"], "bool")},
    )
    net.insert("limit", [("a", 1), ("d", 9)])
    net.run()
    assert net["near"].rows() == [("a", "b"), ("d", "a"), ("d", "c")]
    net.delete("limit", [("d", 9)])
    net.run()
    assert net["near"].rows() == [("a", "b")]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: hw.network("shortest-pth", SQUARE), "no-such-program"),
        (lambda: hw.network("reachable", SQUARE, annotation="none"), "unknown-option"),
        (lambda: hw.network("reachable", SQUARE, order="random"), "unknown-option"),
        (lambda: hw.network("reachable", SQUARE, transport="pigeon"), "unknown-option"),
        (lambda: hw.network("reachable", SQUARE, metric="weight"), "unknown-option"),
        (lambda: hw.network("p(@S) :- #link(@S).", SQUARE), "link-columns"),
        (lambda: hw.network("reachable", SQUARE).fail("a", "c"), "no-such-link"),
        (
            lambda: [net := hw.network("reachable", SQUARE), net.fail("a", "b"), net.fail("a", "b")],
            "link-down",
        ),
        (lambda: hw.network("reachable", SQUARE).at("z"), "no-such-node"),
        (lambda: hw.network("reachable", SQUARE)["reach"], "unknown-relation"),
        (lambda: hw.network("reachable", SQUARE).set_cost("a", "b", -1), "wrong-type"),
        (lambda: hw.network(7, SQUARE), "wrong-type"),
    ],
)
def test_refusals(call, code):
    with pytest.raises(hw.HeadwaterError) as refused:
        call()
    assert refused.value.code == code


def test_the_library_is_listed_in_the_documents():
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "networks.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in programs())


def test_the_load_over_time_is_that_of_all_messages_where_few_are_kept(monkeypatch):
    monkeypatch.setattr("headwater.networks.transports.simulator.simulated.MOST_MESSAGES_KEPT", 10)
    net = hw.network("best-cost", "grid:3")
    net.run()
    load = list(net.load())
    assert len(net.timeline()) == 10 < net.messages == len(load)
    assert sum(size for _, size in load) == net.bytes and [time for time, _ in load] == sorted(
        time for time, _ in load
    )


def test_a_run_that_takes_long_shows_how_far_it_is(monkeypatch):
    onlooker = "headwater.networks.transports.simulator.onlooker"
    shown: list[str] = []

    class Screen:
        def show(self, line):
            shown.append(line)

    monkeypatch.setattr(f"{onlooker}.screen_of", lambda wanted: Screen())
    for name in ("PATIENCE", "BETWEEN"):
        monkeypatch.setattr(f"{onlooker}.{name}", 0.0)
    net = hw.network("best-cost", "grid:5")
    net.run()
    assert len(shown) > 2 and shown[-1] == "", "nothing is left behind"
    assert all("messages" in line and "under way" in line for line in shown[:-1])
    said = (
        r"at ([\d.]+) s: ([\d,]+) messages, [\d,]+ under way, (\d+) of 25 nodes quiet, ([\d,]+) rows, \d+ s"
    )
    figures = [re.fullmatch(said, line) for line in shown[:-1]]
    assert all(figures)
    times, messages, quiet, rows = zip(
        *([float(each.replace(",", "")) for each in found.groups()] for found in figures), strict=True
    )
    assert (
        list(times) == sorted(times) and list(messages) == sorted(messages) and messages[-1] <= net.messages
    )
    assert min(quiet) < max(quiet) <= 25 and rows[0] < rows[-1]
