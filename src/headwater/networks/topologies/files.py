"""Networks from files and from graphs of networkx.

| ending | what is in it |
|---|---|
| `.graphml` | nodes and edges; a latency in the attribute `latency`, `cost` or `weight` |
| `.json` | networkx's node-link form, which `topohub` uses too |
| `.txt`, `.tsv`, `.csv`, `.edges` | a line for each link: two names and, if it is known, a latency in ms |

Nodes are named by their ids, or by their names where all have one of their own. Where links have a length in km
(`dist`) and no latency, light in a fibre takes 1 ms for 200 km. Latencies are whole ms: what is left over counts as
one more. Where all links have a length and none has a latency, they are whole microseconds.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.errors import DataError, MissingExtra
from headwater.networks.topologies.topology import MICROSECONDS, Link, Topology
from headwater.values import arguments

KM_A_MS = 200
"""How far light comes in a fibre in 1 ms."""
UNKNOWN = 1
"""The latency in ms of a link of which nothing is known."""

_LATENCIES = ("latency", "cost", "weight")
_EDGE_LISTS = (".txt", ".tsv", ".csv", ".edges")
FORMS = (".graphml", ".json", *_EDGE_LISTS)
"""How names of files with networks end."""


def read_topology(path: Path) -> Topology:
    """The network in a file."""
    if path.suffix not in FORMS:
        raise _refusal(path, f"does not end with {', '.join(FORMS)}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise DataError("topology", f"cannot read {path}: {reason}") from None
    if path.suffix in _EDGE_LISTS:
        return _edge_list(path, text)
    if path.suffix == ".json":
        return _node_link(str(path), _json(path, text))
    return _graphml(path, text)


def from_graph(graph: Any, named: str = "the graph") -> Topology:
    """A graph of networkx as a network; one with directed edges has links one way."""
    nodes = [{"id": str(node), **_plain(attributes)} for node, attributes in graph.nodes(data=True)]
    edges = [
        {**_plain(attributes), "source": str(source), "target": str(target)}
        for source, target, attributes in graph.edges(data=True)
    ]
    return _node_link(named, {"directed": graph.is_directed(), "nodes": nodes, "edges": edges})


def from_rows(rows: Iterable[object]) -> Topology:
    """Rows of links, each one way: two ends and, if it is known, a latency. What else they have does not count.

    >>> from_rows([("a", "b", 5), ("b", "a", 5)]).rows()
    [('a', 'b', 5), ('b', 'a', 5)]
    """
    links = []
    for row in rows:
        if not isinstance(row, Sequence) or isinstance(row, (str, bytes)) or len(row) < 2:
            raise DataError("topology", f"{row!r} is no link", hint="two ends and a latency: ('a', 'b', 5)")
        latency = row[2] if len(row) > 2 else UNKNOWN
        links.append(Link(str(row[0]), str(row[1]), _latency_of(f"the link {row!r}", latency)))
    return _checked("the list", _ends(links), links, directed=True)


# ------------------------------------------------------------------ forms


def _edge_list(path: Path, text: str) -> Topology:
    links = []
    for number, line in enumerate(text.splitlines(), 1):
        words = re.split(r"[,\t ]+", line.split("#")[0].strip())
        if words == [""]:
            continue
        if len(words) not in (2, 3):
            raise _refusal(path, f"line {number} has {len(words)} words: a link has two ends and a latency")
        where = f"{path}, line {number}"
        links.append(Link(words[0], words[1], _latency_of(where, words[2] if len(words) > 2 else UNKNOWN)))
    return _checked(str(path), _ends(links), links, directed=False)


def _json(path: Path, text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refusal(path, f"is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise _refusal(path, 'has no "nodes" and "edges"')
    return found


def _graphml(path: Path, text: str) -> Topology:
    try:
        import networkx
    except ImportError:
        hint = "pip install 'headwater[networks]'"
        raise MissingExtra("missing-extra", f"reading {path} takes networkx", hint=hint) from None
    try:
        return from_graph(networkx.parse_graphml(text), str(path))
    except DataError:
        raise
    except Exception as error:  # whatever its parser meets in a damaged file
        raise _refusal(path, f"is no GraphML: {error}") from None


def _node_link(named: str, found: Mapping[str, Any]) -> Topology:
    """networkx's node-link form, in its old spelling (`links`) and its new one (`edges`)."""
    nodes = _records(found.get("nodes"), "id")
    edges = _records(found.get("edges", found.get("links")), "source", "target")
    if nodes is None or edges is None:
        raise DataError("topology", f'{named} has no "nodes" with ids and "edges" with a source and a target')
    directed = found.get("directed", False)
    if not isinstance(directed, bool):
        raise DataError("topology", f'{named}: "directed" is {directed!r}', hint="true or false")
    ids = [str(node["id"]) for node in nodes]
    names = [str(node.get("name", "")) for node in nodes]
    shown = dict(zip(ids, names if "" not in names and len(set(names)) == len(names) else ids, strict=True))
    lengths = bool(edges) and all(edge.get("dist") is not None and not _has_latency(edge) for edge in edges)
    parts = MICROSECONDS if lengths else 1
    links = []
    for edge in edges:
        ends = [str(edge["source"]), str(edge["target"])]
        strangers = [end for end in ends if end not in shown]
        if strangers:
            raise DataError("topology", f"{named} has a link to {strangers[0]}, which is no node of it")
        if ends[0] != ends[1]:
            links.append(Link(shown[ends[0]], shown[ends[1]], _latency(named, edge, parts)))
    return _checked(named, list(shown.values()), links, directed=directed, parts_of_ms=parts)


def _records(found: object, *fields: str) -> list[dict[str, Any]] | None:
    """What was found, if it is a list of records with these fields."""
    if not isinstance(found, list):
        return None
    return found if all(isinstance(each, dict) and all(f in each for f in fields) for each in found) else None


def _plain(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in attributes.items()}


# ------------------------------------------------------------------ latencies


def _has_latency(edge: Mapping[str, Any]) -> bool:
    return any(edge.get(attribute) is not None for attribute in _LATENCIES)


def _latency(named: str, edge: Mapping[str, Any], parts_of_ms: int) -> int:
    for attribute in _LATENCIES:
        if edge.get(attribute) is not None:
            return _latency_of(f"{named}, the link {edge['source']} to {edge['target']}", edge[attribute])
    if edge.get("dist") is not None:
        return max(1, math.ceil(_number(named, edge["dist"]) * parts_of_ms / KM_A_MS))
    return UNKNOWN


def _latency_of(where: str, written: Any) -> int:
    return math.ceil(_number(where, written))


def _number(where: str, written: Any) -> float:
    try:
        value = float(written)
    except (TypeError, ValueError):
        value = -1.0
    if not 0 <= value < math.inf:
        raise DataError("topology", f"{where}: {written!r} is no latency", hint="a number of ms, 0 or more")
    return value


def _checked(
    named: str, nodes: list[str], links: list[Link], *, directed: bool, parts_of_ms: int = 1
) -> Topology:
    """Each link once: of several between the same ends the fastest counts."""
    best: dict[tuple[str, str], Link] = {}
    for link in links:
        ends = (link.source, link.target)
        key = ends if directed else (min(ends), max(ends))
        if key not in best or link.cost < best[key].cost:
            best[key] = link
    if not nodes:
        raise DataError("topology", f"{named} has no nodes")
    for node in nodes:
        arguments.name(f"a node of {named}", node)
    return Topology(tuple(nodes), tuple(best.values()), directed, parts_of_ms)


def _ends(links: Iterable[Link]) -> list[str]:
    return list(dict.fromkeys(end for link in links for end in (link.source, link.target)))


def _refusal(path: Path, what: str) -> DataError:
    return DataError("topology", f"{path} {what}", hint=f"networks are read from {', '.join(FORMS)}")
