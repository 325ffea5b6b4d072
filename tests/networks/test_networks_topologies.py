"""Networks by name, from files and from graphs."""

from __future__ import annotations

import json
from pathlib import Path

import networkx
import pytest
import topohub

from headwater.errors import DataError
from headwater.networks import as_topology, overlay, transit_stub

ABILENE = "topohub:topozoo/Abilene"


def test_a_transit_stub_network_by_its_number_of_nodes():
    assert as_topology("transit-stub:100") == transit_stub(4)
    assert as_topology("transit-stub:200:sparse", seed=3) == transit_stub(8, dense=False, seed=3)


def test_an_overlay_leads_one_way():
    found = as_topology("overlay:50", seed=2)
    assert found.rows() == overlay(50, seed=2).rows() and found.directed


def test_a_grid():
    found = as_topology("grid:2x3")
    assert len(found.nodes) == 6 and len(found.rows()) == 14


def test_a_real_network_has_names_and_latencies():
    found = as_topology(ABILENE)
    assert len(found.nodes) == 11 and len(found.links) == 14
    assert found.parts_of_ms == 1000, "lengths of links are known: microseconds"
    assert ("New York", "Chicago", 5731) in found.rows() and ("Chicago", "New York", 5731) in found.rows()


def test_networks_of_topohub_of_every_kind_can_be_read():
    data = Path(topohub.__file__).parent / "data"
    names = sorted(str(path.relative_to(data).with_suffix("")) for path in data.rglob("*.json"))
    for name in names[::12]:
        found = as_topology(f"topohub:{name}")
        assert len(found.nodes) > 1 and found.links and all(link.cost >= 1 for link in found.links), name


def test_a_real_network_that_is_not_there():
    with pytest.raises(DataError, match="no network 'topozoo/Abilne'") as refused:
        as_topology("topohub:topozoo/Abilne")
    assert refused.value.hint == "did you mean topozoo/Abilene?"


def test_the_forms_of_files_agree(tmp_path):
    graph = networkx.Graph()
    graph.add_edge("a", "b", latency=5)
    graph.add_edge("b", "c", latency=7)
    networkx.write_graphml(graph, tmp_path / "n.graphml")
    (tmp_path / "n.json").write_text(json.dumps(networkx.node_link_data(graph)))
    (tmp_path / "n.csv").write_text("a,b,5\n# a comment\nb,c,7\n")
    (tmp_path / "n.txt").write_text("a b 5\n\nb\tc 7\n")
    wanted = as_topology(graph)
    assert sorted(wanted.rows()) == [("a", "b", 5), ("b", "a", 5), ("b", "c", 7), ("c", "b", 7)]
    for name in ("n.graphml", "n.json", "n.csv", "n.txt"):
        assert as_topology(tmp_path / name) == wanted
        assert as_topology(str(tmp_path / name)) == wanted


def test_a_directed_graph_leads_one_way():
    assert as_topology(networkx.DiGraph([("a", "b")])).rows() == [("a", "b", 1)]


def test_of_two_links_between_the_same_ends_the_fastest_counts(tmp_path):
    (tmp_path / "n.csv").write_text("a,b,5\nb,a,3\n")
    assert as_topology(tmp_path / "n.csv").rows() == [("b", "a", 3), ("a", "b", 3)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("n.csv", "a,b,c,d\n", "line 1 has 4 words"),
        ("n.csv", "a,b,fast\n", "'fast' is no latency"),
        ("n.csv", "a,b,-1\n", "'-1' is no latency"),
        ("n.csv", "", "has no nodes"),
        ("n.json", "{", "is no JSON"),
        ("n.json", "[]", 'no "nodes" and "edges"'),
        ("n.json", '{"nodes": [{"id": 1}], "edges": [{"source": 1}]}', "a source and a target"),
        ("n.json", '{"nodes": [{"id": 1}], "edges": [{"source": 1, "target": 2}]}', "a link to 2"),
        ("n.graphml", "<graphml", "is no GraphML"),
        ("n.xml", "", "does not end with"),
    ],
)
def test_what_is_no_network_is_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as refused:
        as_topology(tmp_path / name)
    assert refused.value.code == "topology" and message in refused.value.message


@pytest.mark.parametrize(
    "given", ["transitstub:100", "grid:x", "transit-stub:many", "missing.csv", 7, [("a",)]]
)
def test_odd_names_are_refused(given):
    with pytest.raises(DataError) as refused:
        as_topology(given)
    assert refused.value.code == "topology"
