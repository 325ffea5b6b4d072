"""Figures 7 to 14 of loo-2006, in virtual time, on the overlay that `workloads` draws.

Messages take the latency of the network below, and nodes take `SERVICE` seconds for each, so that hop counts converge
about when they do on the paper's machines; what nodes that take no time do is told beside it. Every result is
compared with Dijkstra's in the same run.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.network.points import NetworkFigure, NetworkLine, PaperComparison
from benchmarks.network.workloads import (
    METRICS,
    THREE_QUERIES,
    bandwidth,
    burst,
    least_messages,
    least_news,
    overlay_of,
    shortest_paths,
)
from headwater.errors import EvaluationError
from headwater.networks.network import Network
from headwater.networks.opening import network
from headwater.networks.optimisations.searching import PathSearch
from headwater.networks.topologies.topology import Link, Topology

PERIOD = 0.5
"""Seconds of periodic aggregate selections; the paper does not say how long it takes."""
DELAY = 0.3
SERVICE = 0.006
"""Seconds that a node takes for a message."""
STEP = 0.25
MOST_POINTS = 400
"""How many points a curve of results is drawn by."""
PAPER = {
    "hops": (2.6, 4.4, 17),
    "latency": (3.1, 4.9, 12),
    "reliability": (3.2, 4.8, 16),
    "random": (4.1, 5.8, 29),
}
"""MB, seconds to converge, and percent saved by periodic selections."""


@dataclass
class NetworkStage:
    """What figures are measured with, and what has been found."""

    nodes: int
    seed: int
    queries: tuple[int, ...]
    told: Callable[[str], None] = lambda what: None
    figures: list[NetworkFigure] = field(default_factory=list)
    comparisons: list[PaperComparison] = field(default_factory=list)

    def topology(self) -> Topology:
        """The overlay."""
        return overlay_of(self.nodes, self.seed)


def line(net: Network, name: str, *, first: float = 0.0) -> NetworkLine:
    """Bandwidth over time of a network that has run."""
    messages = [(message.time - first, message.bytes) for message in net.timeline() if message.time >= first]
    volume = sum(size for _, size in messages)
    curve = tuple(bandwidth(messages, len(net.topology.nodes), STEP))
    return NetworkLine(name, curve, len(messages), volume, net.last_message - first)


def cost_of(costs: tuple[int, ...], column: int) -> int:
    """What a link costs, in the query by one of its metrics, or in the one by hops."""
    return 1000 * costs[0] + costs[1] if len(costs) == 2 else costs[column]


def right(net: Network, relation: str = "shortestPath", column: int = 0) -> None:
    """Refuse to go on if paths are not the shortest, by Dijkstra."""
    links = tuple(Link(link[0], link[1], cost_of(link[2:], column)) for link in net.links)
    graph = Topology(net.topology.nodes, links, directed=True)
    found = {row[:2]: row[3] for row in net[relation].rows() if row[0] != row[1]}
    wanted = {
        (source, target): cost
        for source in graph.nodes
        for target, cost in graph.latencies(source).items()
        if source != target
    }
    if found != wanted:
        raise EvaluationError("wrong-answer", f"{relation} is not what Dijkstra has on {graph}")


def completion(net: Network) -> tuple[tuple[float, float], ...]:
    """The share of eventual best paths that were there, over time: by when the message came that brought each."""
    latencies = {source: net.topology.latencies(source) for source in net.topology.nodes}
    arrived: dict[tuple[str, str], float] = {}
    best = {row[:2]: (row[2], row[3]) for row in net["shortestPath"].rows()}
    for message in net.timeline():
        if message.relation == "path" and message.row is not None and len(message.row) == 5:
            ends = (str(message.row[0]), str(message.row[1]))
            if best.get(ends) == (message.row[3], message.row[4]):
                time = message.time + latencies[message.receiver].get(message.sender, 0) / 1000
                arrived[ends] = min(time, arrived.get(ends, time))
    own = len(best) - len(arrived)
    times = sorted(arrived.values())
    curve = [(time, 100 * (own + number) / len(best)) for number, time in enumerate(times, 1)]
    return thinned(curve)


def thinned(curve: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """A curve by no more points than can be seen, the last among them."""
    step = max(1, len(curve) // MOST_POINTS)
    return (*curve[:-1:step], *curve[-1:])


# ------------------------------------------------------------------ the figures


def aggregate_selections(stage: NetworkStage) -> None:
    """Figures 7 to 10: bandwidth and completion over time, at once and periodically."""
    lines: dict[bool, list[NetworkLine]] = {False: [], True: []}
    done: dict[bool, list[NetworkLine]] = {False: [], True: []}
    for metric in METRICS:
        for periodic in (False, True):
            stage.told(f"{metric}{', periodically' if periodic else ''}")
            net = shortest_paths(
                stage.topology(), metric, stage.seed, selection_period=PERIOD if periodic else 0.0,
                service_time=SERVICE,
            )  # fmt: skip
            net.run()
            right(net)
            found = line(net, metric)
            lines[periodic].append(found)
            done[periodic].append(NetworkLine(metric, completion(net), seconds=found.seconds))
        stage.told(f"{metric}, nodes that take no time")
        quick = shortest_paths(stage.topology(), metric, stage.seed)
        quick.run()
        stage.comparisons += _selections(metric, lines[False][-1], lines[True][-1], quick)
    for periodic, first in ((False, 7), (True, 9)):
        kind = "periodic aggregate selections" if periodic else "aggregate selections"
        stage.figures += [
            NetworkFigure(str(first), f"bandwidth, {kind}", "seconds", "kB/s a node", tuple(lines[periodic])),
            NetworkFigure(
                str(first + 1), f"results, {kind}", "seconds", "% of best paths", tuple(done[periodic])
            ),
        ]


def _selections(
    metric: str, plain: NetworkLine, later: NetworkLine, quick: Network
) -> tuple[PaperComparison, ...]:
    volume, seconds, saved = PAPER[metric]
    mean, least = plain.bytes / plain.messages, least_messages(quick)
    theirs = volume * 1e6 / mean / least
    return (
        PaperComparison(f"{metric}: communication", f"{volume} MB", f"{plain.bytes / 1e6:.1f} MB",
            f"{plain.messages:,} messages of {mean:.0f} B, {plain.messages / least:.2f} times the {least:,} that it"
            f" takes at least; with messages of that size the paper's volume is {theirs:.2f} times. Nodes that take"
            f" no time: {quick.bytes / 1e6:.1f} MB"),
        PaperComparison(f"{metric}: convergence", f"{seconds} s", f"{plain.seconds:.1f} s",
            f"nodes take {SERVICE * 1000:.0f} ms for a message; if they took none: {quick.last_message:.1f} s"),
        PaperComparison(f"{metric}: saved by periodic selections", f"{saved} %",
            f"{100 * (1 - later.bytes / plain.bytes):.0f} %",
            f"a period of {PERIOD} s here; {later.messages / least:.2f} times the messages that it takes at least;"
            f" converges in {later.seconds:.1f} s"),
    )  # fmt: skip


def magic_sets(stage: NetworkStage) -> None:
    """Figure 11: queries for single paths, with magic sets and caches, beside all pairs."""
    stage.told("all pairs")
    everything = shortest_paths(stage.topology(), "hops", stage.seed)
    everything.run()
    ways = {"MS": (False, 1.0), "MSC": (True, 1.0), "MSC-30%": (True, 0.3), "MSC-10%": (True, 0.1)}
    total = everything.bytes / 1e6
    lines = [NetworkLine("No-MS", tuple((float(number), total) for number in (0, *stage.queries)))]
    for name, (caching, share) in ways.items():
        chance = random.Random(stage.seed)
        nodes = list(stage.topology().nodes)
        targets = chance.sample(nodes, max(1, round(share * len(nodes))))
        search = PathSearch(stage.topology(), caching=caching, metric="hops", seed=stage.seed)
        points, asked = [(0.0, 0.0)], 0
        for number in stage.queries:
            stage.told(f"{name}: {number} queries")
            while asked < number:
                source, target = chance.choice(nodes), chance.choice(targets)
                if source != target:
                    search.ask([(source, target)])
                    asked += 1
            points.append((float(number), search.bytes / 1e6))
        lines.append(NetworkLine(name, tuple(points), search.messages, search.bytes))
    stage.figures.append(NetworkFigure("11", "magic sets and caching", "queries", "MB in all", tuple(lines)))
    per_query = lines[1].bytes / max(1, stage.queries[-1])
    stage.comparisons.append(
        PaperComparison(
            "queries after which all pairs are cheaper than magic sets",
            "170",
            f"{everything.bytes / per_query:.0f}",
            f"{lines[1].messages / stage.queries[-1]:.0f} messages and {per_query / 1000:.1f} kB a query here, 15 kB"
            f" there; all pairs take {total:.1f} MB here, 2.6 MB there, with which it would be"
            f" {2.6e6 / per_query:.0f}",
        )
    )


def sharing(stage: NetworkStage) -> None:
    """Figure 12: three queries at the same time, with messages shared."""
    metrics = ("latency", "reliability", "random")
    found = []
    for name, delay in (("No-Share", 0.0), ("Share", DELAY)):
        stage.told(f"three queries, {name}")
        net = network(
            THREE_QUERIES, stage.topology(), metric=metrics, annotation="support", seed=stage.seed,
            sharing_delay=delay, service_time=SERVICE,
        )  # fmt: skip
        net.run()
        for number in range(3):
            right(net, f"shortestPath{number}", number)
        found.append(line(net, name))
    stage.figures.append(
        NetworkFigure("12", f"message sharing, {DELAY * 1000:.0f} ms", "seconds", "kB/s a node", tuple(found))
    )
    plain, shared = found
    stage.comparisons += [
        PaperComparison("saved by sharing", "34 %", f"{100 * (1 - shared.bytes / plain.bytes):.0f} %",
            f"messages {plain.messages:,} to {shared.messages:,}: all that waits for a neighbour goes as one here,"
            " and rows tell what they differ in; the paper joins those that are alike but for the metric"),
        PaperComparison("peak without and with sharing", "27 and 16 kBps",
            f"{_peak(plain):.0f} and {_peak(shared):.0f} kBps",
            f"{plain.bytes / 1e6:.1f} and {shared.bytes / 1e6:.1f} MB in {plain.seconds:.1f} and"
            f" {shared.seconds:.1f} s"),
    ]  # fmt: skip


def updates(stage: NetworkStage, number: str, intervals: tuple[float, ...], end: float) -> None:
    """Figures 13 and 14: bursts of link updates."""
    stage.told(f"link updates (figure {number})")
    net = shortest_paths(stage.topology(), "random", stage.seed, service_time=SERVICE)
    net.run()
    scratch = line(net, "from scratch")
    chance = random.Random(stage.seed)
    first = net.now + 1.0
    net.run(until=first)
    bursts: list[Burst] = []
    moment = first
    while moment < first + end:
        moment += intervals[len(bursts) % len(intervals)]
        bursts.append(_burst(net, chance, moment))
    net.run()
    right(net)
    found = line(net, "updates", first=first)
    stage.figures.append(
        NetworkFigure(number, f"bursts every {' and '.join(f'{each:g} s' for each in intervals)}", "seconds",
                      "kB/s a node", (found,))
    )  # fmt: skip
    mean = sum(each.bytes for each in bursts) / len(bursts)
    if number == "13":
        said, news, least, back = (
            sum(getattr(each, name) for each in bursts) / len(bursts)
            for name in ("messages", "news", "least", "back")
        )
        stage.comparisons += [
            PaperComparison("a burst beside the whole computation: bytes", "26 %",
                f"{100 * mean / scratch.bytes:.0f} %",
                f"{said:,.0f} messages a burst: {news:,.0f} new rows are told, where {least:,.0f} would do, and"
                f" {back:,.0f} are taken back, by numbers of 2 or 3 B that go along with what is told; P2 overwrites"
                " rows of the same key"),
            PaperComparison("a burst beside the whole computation: peak", "32 %",
                f"{100 * _peak(found) / _peak(scratch):.0f} %", f"{_peak(found):.0f} and {_peak(scratch):.0f} kBps"),
            PaperComparison("a burst: convergence", "well within 5 s",
                f"{max(each.seconds for each in bursts):.1f} s", "the slowest of them"),
        ]  # fmt: skip
    else:
        stage.comparisons.append(
            PaperComparison("bursts every 2 and 8 s: peak", "as before",
                f"{_peak(found):.0f} kBps", f"{100 * mean / scratch.bytes:.0f} % of the bytes a burst")
        )  # fmt: skip


@dataclass(frozen=True)
class Burst:
    """What a burst of updates took until the next: bytes, messages, new rows told, those that had to be, rows taken
    back."""

    bytes: int
    messages: int
    news: int
    least: int
    back: int
    seconds: float


def _burst(net: Network, chance: random.Random, until: float) -> Burst:
    rows, links = set(net["shortestPath"].rows()), set(net.links)
    volume, number, began = net.bytes, net.messages, net.now
    burst(net, chance)
    net.run(until=until)
    said = net.timeline()[number:]
    kinds = Counter(message.kind for message in said)
    least = least_news(net, rows, links)
    back = sum(len(message.taken_back) for message in said)
    news = kinds["Supported"] + kinds["Replaced"]
    return Burst(net.bytes - volume, len(said), news, least, back, net.last_message - began)


def _peak(found: NetworkLine) -> float:
    return max((value for _, value in found.points), default=0.0)
