"""The queries of liu-2008 section 2, as rules: three in full, and those that its text sketches.

Each is a text for `define`, and all but one have NDlog's location specifiers: a row lives at the address that `@`
marks. They can be run in one process, where `@` means nothing, and on nodes. What the paper writes otherwise is said
at each. In all of them a link or a sensor is a base row that may come and go.

>>> import headwater as hw
>>> with hw.connect() as db:
...     _ = db.define(REACHABLE)
...     _ = db.apply(insert={"link": [("A", "B"), ("B", "C"), ("C", "A"), ("C", "B")]})
...     len(db["reachable"])
9
"""

from __future__ import annotations

REACHABLE = """
link(src: string, dst: string).
reachable(@X, Y) :- link(@X, Y).
reachable(@X, Y) :- link(@X, Z), reachable(@Z, Y).
"""
"""Query 1: who can reach whom."""

SHORTEST_PATHS = """
link(src: string, dst: string, cost: int).
path(@X, Y, P, C, L) :- link(@X, Y, C), P = concat([X, Y], nil), L = 1.
path(@X, Y, P, C, L) :- link(@X, Z, C0), path(@Z, Y, P1, C1, L1), C = C0 + C1, P = concat([X], P1), L = 1 + L1.
minCost(@X, Y, min<C>) :- path(@X, Y, P, C, L).
minHops(@X, Y, min<L>) :- path(@X, Y, P, C, L).
cheapestPath(@X, Y, P, C) :- path(@X, Y, P, C, L), minCost(@X, Y, C).
fewestHops(@X, Y, P, L) :- path(@X, Y, P, C, L), minHops(@X, Y, L).
shortestCheapestPath(@X, Y, P1, C, P2, L) :- cheapestPath(@X, Y, P1, C), fewestHops(@X, Y, P2, L).
"""
"""Query 2, all seven rules: the cheapest paths and those with the fewest links. `path` has infinitely many rows; it
is evaluated by aggregate selection for both aggregates at once (sections 6 and 7.4). Costs must be positive."""

CHEAPEST_PATHS = """
link(src: string, dst: string, cost: int).
path(@X, Y, P, C, L) :- link(@X, Y, C), P = concat([X, Y], nil), L = 1.
path(@X, Y, P, C, L) :- link(@X, Z, C0), path(@Z, Y, P1, C1, L1), C = C0 + C1, P = concat([X], P1), L = 1 + L1.
minCost(@X, Y, min<C>) :- path(@X, Y, P, C, L).
cheapestPath(@X, Y, P, C) :- path(@X, Y, P, C, L), minCost(@X, Y, C).
"""
"""Query 2 for the cost alone: what "Single AggSel" runs in section 7.4."""

FEWEST_HOPS = """
link(src: string, dst: string, cost: int).
path(@X, Y, P, C, L) :- link(@X, Y, C), P = concat([X, Y], nil), L = 1.
path(@X, Y, P, C, L) :- link(@X, Z, C0), path(@Z, Y, P1, C1, L1), C = C0 + C1, P = concat([X], P1), L = 1 + L1.
minHops(@X, Y, min<L>) :- path(@X, Y, P, C, L).
fewestHops(@X, Y, P, L) :- path(@X, Y, P, C, L), minHops(@X, Y, L).
"""
"""Query 2 for the number of links alone."""

LARGEST_REGION = """
sensor(id: string, x: int, y: int).
mainSensorInRegion(region: string, id: string).
isTriggered(id: string).
reach(meters: int).
near(X, Y) :- sensor(X, PX, PY), sensor(Y, QX, QY), reach(K),
    (PX - QX) * (PX - QX) + (PY - QY) * (PY - QY) < K * K.
activeRegion(R, X) :- sensor(X, _, _), mainSensorInRegion(R, X), isTriggered(X).
activeRegion(R, Y) :- near(X, Y), isTriggered(X), activeRegion(R, X).
regionSizes(R, count<X>) :- activeRegion(R, X).
largestRegion(max<S>) :- regionSizes(R, S).
largestRegions(R) :- regionSizes(R, S), largestRegion(S).
"""
"""Query 3: contiguous regions of triggered sensors around main ones, their sizes, and the largest. Sensors may move.

The paper's second rule has `distance(posx, posy) < k` among its premises; here `near` says which sensors are so
close, and is kept as sensors move. A region takes in sensors near triggered ones, triggered or not, as the paper's
rule does. Which sensors are near each other is not known from links, so there are no addresses here: rows are
partitioned by the hash of a column, as the paper does with sensors that report to query processing nodes."""

WITHIN = """
link(src: string, dst: string).
radius(node: string, hops: int).
within(@X, Y, N) :- link(@X, Y), N = 1.
within(@X, Y, N) :- link(@X, Z), radius(@X, K), within(@Z, Y, N1), N1 < K, N = N1 + 1.
near(@X, Y) :- within(@X, Y, N).
"""
"""Reachable pairs within a radius, which each node knows: near(x, y) if so many links, or fewer, lead from x to y."""

CYCLES = """
link(src: string, dst: string).
reachable(@X, Y) :- link(@X, Y).
reachable(@X, Y) :- link(@X, Z), reachable(@Z, Y).
onCycle(@X) :- reachable(@X, X).
together(@X, Y) :- reachable(@X, Y), reachable(@Y, X).
"""
"""Nodes on a cycle, and those that share one."""

HORIZON = """
link(src: string, dst: string).
reading(node: string, value: int).
horizon(node: string, hops: int).
seen(@X, X, N) :- reading(@X, V), N = 0.
seen(@X, Y, N) :- link(@X, Z), horizon(@X, K), seen(@Z, Y, N1), N1 < K, N = N1 + 1.
inView(@X, Y) :- seen(@X, Y, N).
hottest(@X, max<V>) :- inView(@X, Y), reading(@Y, V).
"""
"""A horizon query: the highest reading within so many hops of each node that has a reading itself."""

RESILIENCE = """
link(src: string, dst: string).
route(@X, Y, P) :- link(@X, Y), X != Y, P = concat([X, Y], nil).
route(@X, Y, P) :- link(@X, Z), route(@Z, Y, P1), !f_member(P1, X), P = concat([X], P1).
resilience(@X, Y, count<P>) :- route(@X, Y, P).
"""
"""Routing resilience: the number of routes between two nodes that come to no node twice."""

TREE = """
child(parent: string, node: string).
inner(@X) :- child(@X, _).
inTree(@Y) :- child(@X, Y).
inTree(@X) :- child(@X, _).
leaf(@X) :- inTree(@X), !inner(@X).
height(@X, max<H>) :- leaf(@X), H = 0.
height(@X, max<H>) :- child(@X, Y), height(@Y, H1), H = H1 + 1.
below(@X, Y, D) :- child(@X, Y), D = 1.
below(@X, Y, D) :- child(@X, Z), below(@Z, Y, D1), D = D1 + 1.
leafDepth(@X, Y, D) :- below(@X, Y, D), leaf(@Y).
lowest(@X, max<D>) :- leafDepth(@X, Y, D).
highest(@X, min<D>) :- leafDepth(@X, Y, D).
imbalance(@X, D) :- lowest(@X, A), highest(@X, B), D = A - B.
"""
"""Over a multicast tree: the height of each subtree, kept at its root, and how far apart its leaves are."""

SAME_GENERATION = """
child(parent: string, node: string).
sameGeneration(@X, Y) :- child(@P, X), child(@P, Y).
sameGeneration(@X, Y) :- child(@P, X), sameGeneration(@P, Q), child(@Q, Y).
"""
"""The nodes on each level of a tree: "same generation". A node is of its own generation, but for the root."""

ALL = {
    "reachable": REACHABLE,
    "shortest paths": SHORTEST_PATHS,
    "cheapest paths": CHEAPEST_PATHS,
    "fewest hops": FEWEST_HOPS,
    "largest region": LARGEST_REGION,
    "within": WITHIN,
    "cycles": CYCLES,
    "horizon": HORIZON,
    "resilience": RESILIENCE,
    "tree": TREE,
    "same generation": SAME_GENERATION,
}
"""All of them by name."""
