"""Networks by name, from files, or as users hold them: what may be given wherever a network is wanted.

| written | what it is |
|---|---|
| `transit-stub:100`, `transit-stub:100:sparse` | a transit-stub network of about 100 nodes |
| `overlay:100` | an overlay of 100 nodes over a transit-stub network |
| `grid:10`, `grid:4x8` | a field of sensors |
| `topohub:topozoo/Abilene` | a real network, from the package `topohub` |
| `network.graphml`, `links.csv`, ... | a file: see `files` |
| a graph of networkx, a `Topology`, rows of links | as it is |

>>> [str(as_topology(given)) for given in ("transit-stub:100", "grid:4x8", [("a", "b", 5)])]
['100 nodes, 200 links', '32 nodes, 52 links', '2 nodes, 1 links one way']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from headwater.errors import DataError, MissingExtra
from headwater.networks.topologies.files import FORMS, from_graph, from_rows, read_topology
from headwater.networks.topologies.overlay import Overlay, overlay
from headwater.networks.topologies.sensor_grid import sensor_grid
from headwater.networks.topologies.topology import Link, Topology
from headwater.networks.topologies.transit_stub import transit_stub
from headwater.spelling import did_you_mean

NODES_A_TRANSIT_NODE = 25


def as_topology(given: object, *, seed: int = 0) -> Topology:
    """The network that is meant."""
    if isinstance(given, Topology):
        return given
    if isinstance(given, Overlay):
        return _of_overlay(given)
    if isinstance(given, Path) or isinstance(given, str) and given.endswith(FORMS):
        return read_topology(Path(given))
    if isinstance(given, str):
        return _by_name(given, seed)
    if hasattr(given, "nodes") and hasattr(given, "edges") and hasattr(given, "is_directed"):
        return from_graph(given)
    if isinstance(given, Iterable):
        return from_rows(given)
    message = f"{type(given).__name__} is no network"
    raise DataError("topology", message, hint="a name, a file, a graph of networkx, or rows of links")


def _by_name(name: str, seed: int) -> Topology:
    kind, _, detail = name.partition(":")
    if kind not in _KINDS:
        meant = did_you_mean(kind, _KINDS)
        hint = f"networks have names such as {', '.join(_EXAMPLES)}; files end with {', '.join(FORMS)}"
        raise DataError("topology", f"there is no network {name!r}", hint=hint if meant is None else meant)
    return _KINDS[kind](name, detail, seed)


def _transit_stub(name: str, detail: str, seed: int) -> Topology:
    match = re.fullmatch(r"(\d+)(:sparse|:dense)?", detail or "100")
    if match is None:
        raise _unreadable(name, "transit-stub:100, or transit-stub:100:sparse")
    transit = max(1, round(int(match[1]) / NODES_A_TRANSIT_NODE))
    return transit_stub(transit, dense=match[2] != ":sparse", seed=seed)


def _overlay(name: str, detail: str, seed: int) -> Topology:
    if not re.fullmatch(r"\d*", detail):
        raise _unreadable(name, "overlay:100")
    return _of_overlay(overlay(int(detail or 100), seed=seed))


def _of_overlay(found: Overlay) -> Topology:
    links = tuple(Link(link.source, link.target, link.latency) for link in found.links)
    return Topology(found.nodes, links, directed=True)


def _grid(name: str, detail: str, seed: int) -> Topology:
    match = re.fullmatch(r"(\d+)(?:x(\d+))?", detail or "10")
    if match is None:
        raise _unreadable(name, "grid:10, or grid:4x8")
    return sensor_grid(int(match[1]), int(match[2]) if match[2] else None)


def _topohub(name: str, detail: str, seed: int) -> Topology:
    try:
        import topohub
    except ImportError:
        hint = "pip install 'headwater[networks]'"
        raise MissingExtra("missing-extra", f"{name} takes the package topohub", hint=hint) from None
    folder = Path(topohub.__file__).parent / "data"
    files = {str(path.relative_to(folder).with_suffix("")): path for path in folder.rglob("*.json")}
    if detail not in files:
        known = sorted(files)
        meant = did_you_mean(detail, known)
        hint = f"there are {len(known)}, such as {known[0]}" if meant is None else meant
        raise DataError("topology", f"topohub has no network {detail!r}", hint=hint)
    return read_topology(files[detail])


def _unreadable(name: str, form: str) -> DataError:
    return DataError("topology", f"{name!r} cannot be read", hint=f"write {form}")


_KINDS: dict[str, Callable[[str, str, int], Topology]] = {
    "transit-stub": _transit_stub,
    "overlay": _overlay,
    "grid": _grid,
    "topohub": _topohub,
}
_EXAMPLES = ("transit-stub:100", "overlay:100", "grid:10", "topohub:topozoo/Abilene")
