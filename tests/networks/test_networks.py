"""The networks have exactly the links asked for, hang together, and are the same for everybody."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import pytest

from headwater import DataError
from headwater.networks import ACCESS, STUB, TRANSIT, Topology, overlay, transit_stub


def graph(network: Topology) -> nx.Graph:
    made = nx.Graph()
    made.add_nodes_from(network.nodes)
    made.add_weighted_edges_from(network.links)
    return made


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("dense", "per_transit_node"), [(True, 50), (False, 25)])
@pytest.mark.parametrize("transit", [1, 2, 4, 8, 16, 60])
def test_a_topology_has_exactly_so_many_links_and_is_connected(transit, dense, per_transit_node, seed):
    network = transit_stub(transit, dense=dense, seed=seed)
    made = graph(network)
    assert len(network.nodes) == len(set(network.nodes)) == 25 * transit
    assert len(network.links) == made.number_of_edges() == per_transit_node * transit
    assert set(made) == set(network.nodes)
    assert nx.is_connected(made)
    assert nx.number_of_selfloops(made) == 0


def test_rows_are_the_links_in_both_directions():
    network = transit_stub(4)
    rows = network.rows()
    assert len(rows) == len(set(rows)) == 400
    assert {(b, a, cost) for a, b, cost in rows} == set(rows)


def test_latencies_tell_where_a_link_is():
    network = transit_stub(4)
    assert Counter(link.cost for link in network.links) == {STUB: 182, ACCESS: 12, TRANSIT: 6}
    for source, target, cost in network.links:
        if cost == TRANSIT:
            assert len(source) == len(target) == 2
        elif cost == ACCESS:
            assert target.startswith(source) and len(target) == 4
        else:
            assert source[:3] == target[:3] and source != target


def test_a_sparse_topology_has_a_tree_of_transit_nodes_where_a_clique_would_be_too_many():
    assert len(transit_stub(4, dense=False).of(TRANSIT)) == 3
    assert len(transit_stub(3, dense=False).of(TRANSIT)) == 3


def test_every_stub_has_one_way_out():
    network = transit_stub(8, seed=3)
    assert Counter(link.target[:3] for link in network.of(ACCESS)) == {
        f"t{i}{stub}": 1 for i in range(8) for stub in "abc"
    }


def test_the_same_seed_gives_the_same_network_and_another_seed_another():
    assert transit_stub(4, seed=7) == transit_stub(4, seed=7)
    assert transit_stub(4, seed=7) != transit_stub(4, seed=8)
    assert overlay(seed=7) == overlay(seed=7)
    assert overlay(seed=7) != overlay(seed=8)


def test_a_network_is_the_same_on_every_machine():
    assert transit_stub(4, seed=7).links[-1] == ("t3a3", "t3a7", 2)
    assert overlay(seed=7).links[-1] == ("n99", "n84", 76, 0.03668, 58)


def test_latencies_are_those_of_the_fastest_paths():
    network = transit_stub(4, seed=2)
    for start in ("t0", "t1b3", "t3c7"):
        assert network.latencies(start) == nx.single_source_dijkstra_path_length(graph(network), start)


def test_an_overlay_has_four_links_a_node_with_the_latencies_below():
    network = overlay(seed=5)
    assert Counter(source for source, _, _ in network.rows()) == {f"n{i}": 4 for i in range(100)}
    assert len({link[:2] for link in network.links}) == 400
    assert all(link.source != link.target for link in network.links)
    below = graph(network.underlay)
    for link in network.links:
        home, away = network.placed[link.source], network.placed[link.target]
        expected = nx.dijkstra_path_length(below, home, away) if home != away else STUB
        assert link.latency == expected
        assert link.latency / 4000 <= link.loss <= 3 * link.latency / 4000 + 1e-6


def test_overlay_nodes_sit_on_stub_nodes_as_evenly_as_can_be():
    network = overlay(seed=5)
    homes = Counter(network.placed.values())
    assert len(homes) == 96 and max(homes.values()) == 2
    assert all(len(home) == 4 for home in homes)


def test_no_network_is_made_of_nothing():
    with pytest.raises(DataError, match="0 transit nodes"):
        transit_stub(0)
    with pytest.raises(DataError, match="3 nodes with 3 neighbours"):
        overlay(3, neighbours=3)
