"""A program on a network: `headwater.network(program, topology)`.

Each node of the topology runs the program's rules on the rows that live at it, and sends what it derives to where it
belongs. Links are base rows: of the relations that `#` marks in the program, or of `link` where none is marked. Time
is virtual: `run` goes on until all is quiet, or up to a time, and is the same for the same seed.

>>> net = network("best-cost", [("a", "b", 2), ("b", "a", 2), ("b", "c", 3), ("c", "b", 3)])
>>> net.run()
<quiet after 0.009 s: 28 messages, 455 bytes>
>>> net.at("a")["bestCost"].rows()
[('a', 'a', 4), ('a', 'b', 2), ('a', 'c', 5)]
>>> net.fail("b", "c")
>>> _ = net.run()
>>> net.at("a")["bestCost"].rows()
[('a', 'a', 4), ('a', 'b', 2)]
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headwater.calls import public_class
from headwater.errors import DataError
from headwater.language.datalog import parse
from headwater.language.datalog.program_file import names_file, read_program
from headwater.language.program import Program
from headwater.networks.annotated.absorption import absorption
from headwater.networks.annotated.counting import counting
from headwater.networks.annotated.dred import dred
from headwater.networks.annotated.ranked import ranked
from headwater.networks.annotated.relative import relative
from headwater.networks.annotated.scheme import SchemeMaker
from headwater.networks.annotated.shipping import BOUNDED, EAGER, LAZY
from headwater.networks.constraints import link_relations
from headwater.networks.explaining import NetworkProof, ProofSearch
from headwater.networks.library import library_program, programs
from headwater.networks.orders.iterations import SemiNaive
from headwater.networks.orders.order import EvaluationOrder
from headwater.networks.orders.pipelined import Pipelined
from headwater.networks.runtime.directory import Addresses
from headwater.networks.runtime.messages import Message
from headwater.networks.strands.compiling import compile_program
from headwater.networks.strands.network_program import Best
from headwater.networks.strands.node_plan import NodePlan, plan_nodes
from headwater.networks.timeline import MOST_MESSAGES_KEPT, SentMessage, sent_message
from headwater.networks.topologies.named import as_topology
from headwater.networks.topologies.topology import Topology
from headwater.networks.transports.simulator.links import LinkModel, LinkQuality
from headwater.networks.transports.simulator.simulator import Simulator
from headwater.rules.check import check
from headwater.spelling import did_you_mean
from headwater.values import arguments
from headwater.values.functions import Functions, Given, declared_functions

Row = tuple[Any, ...]
Metric = Literal["latency", "hops", "random"]

ANNOTATIONS: Mapping[str, Callable[[], SchemeMaker]] = {
    "absorption": lambda: absorption(BOUNDED),
    "absorption-lazy": lambda: absorption(LAZY),
    "absorption-eager": lambda: absorption(EAGER),
    "relative": relative,
    "relative-eager": lambda: relative(EAGER),
    "support": ranked,
    "dred": dred,
    "counting": counting,
}
"""What rows carry, by name."""
ORDERS: Mapping[str, Callable[[], EvaluationOrder]] = {
    "psn": Pipelined,
    "bsn": lambda: SemiNaive(together=False),
    "sn": SemiNaive,
}
"""In which order a node evaluates, by name: pipelined, buffered and plain semi-naive."""
METRICS = ("latency", "hops", "random")
TRANSPORTS = ("simulated",)
LINK = "link"
"""The relation of the links, where the program marks none."""
MOST_RANDOM = 100


@dataclass(frozen=True)
class NetworkRun:
    """What a run has done: virtual seconds, messages and bytes since the run before; whether all is quiet."""

    seconds: float
    messages: int
    bytes: int
    quiet: bool

    def __repr__(self) -> str:
        state = "quiet" if self.quiet else "not quiet"
        return f"<{state} after {self.seconds:.3f} s: {self.messages:,} messages, {self.bytes:,} bytes>"


def network(
    program: str | os.PathLike[str] | Program,
    topology: object,
    *,
    annotation: str = "absorption",
    order: str = "psn",
    transport: str = "simulated",
    metric: Metric = "latency",
    functions: Mapping[str, Given] | None = None,
    seed: int = 0,
) -> Network:
    """Run a program on a network.

    - `program`: the name of one of the library, a text, or a file.
    - `topology`: a name (`transit-stub:100`, `topohub:topozoo/Abilene`), a file, a graph of networkx, or link rows.
    - `annotation`: what rows carry: absorption (of each row and sender one explanation is kept at a time),
      absorption-lazy (all are kept, and one is sent), absorption-eager (all are sent), relative, relative-eager,
      support (ranks, by the simulator's one clock), dred, counting (where derivations cannot go round in circles).
    - `order`: psn, bsn or sn. `transport`: simulated.
    - `metric`: what links cost: their latency in ms, 1 each, or a random number from 1 to 100.
    """
    known = Functions()
    for name, declared in declared_functions(functions).items():
        known.register(name, declared[0], declared[1], declared[2], nulls=declared[3])
    arguments.one_of("transport", transport, TRANSPORTS)
    found = as_topology(topology, seed=seed)
    return Network(
        _program(program),
        found,
        known,
        ANNOTATIONS[arguments.one_of("annotation", annotation, ANNOTATIONS)](),
        ORDERS[arguments.one_of("order", order, ORDERS)],
        _costs(found, metric, seed),
        seed,
    )


@public_class
class Network:
    """Nodes that run one program; made by `network`."""

    def __init__(
        self,
        program: Program,
        topology: Topology,
        functions: Functions,
        scheme: SchemeMaker,
        order: Callable[[], EvaluationOrder],
        costs: Mapping[tuple[str, str], int],
        seed: int,
    ):
        self.topology = topology
        self._names = topology.nodes
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._costs = dict(costs)
        self._plan = _plan(program, functions)
        self._links = self._link_relations(program)
        self._timeline: deque[SentMessage] = deque(maxlen=MOST_MESSAGES_KEPT)
        self._simulator = Simulator(
            self._plan,
            Addresses(self._names),
            scheme,
            order=order,
            links=_link_model(topology),
            seed=seed,
            told=self._told,
        )
        self._counted = 0, 0
        self._up: dict[tuple[str, str], int] = {}
        for ends, cost in self._costs.items():
            self._set(ends, cost)

    def _link_relations(self, program: Program) -> tuple[str, ...]:
        found = link_relations(program) or ((LINK,) if LINK in self._plan.numbers else ())
        for name in found:
            arity = self._plan.relations[self._plan.numbers[name]].arity
            if arity not in (2, 3):
                message = f"{name} has {arity} columns: rows of links have two ends and a cost"
                raise DataError("link-columns", message, hint=f"{name}(@S, @D, C)")
        return found

    def _told(self, time: float, sender: int, receiver: int, message: Message, size: int) -> None:
        self._timeline.append(sent_message(self._plan, self._names, time, sender, receiver, message, size))

    # ------------------------------------------------------------------ links

    def fail(self, source: str, target: str) -> None:
        """A link fails, in the directions that it leads; what follows is under way until the next `run`."""
        for ends in self._directions(source, target):
            if ends not in self._up:
                raise DataError("link-down", f"the link from {ends[0]} to {ends[1]} has failed already")
            self._set(ends, None)

    def restore(self, source: str, target: str) -> None:
        """A link that failed is there again, at the cost that it had."""
        for ends in self._directions(source, target):
            self._set(ends, self._costs[ends])

    def set_cost(self, source: str, target: str, cost: int) -> None:
        """A link costs something else from now on. One that has failed is there again."""
        arguments.whole_number("cost", cost, least=0)
        for ends in self._directions(source, target):
            self._costs[ends] = cost
            self._set(ends, cost)

    @property
    def links(self) -> list[tuple[str, str, int]]:
        """The links that are up, each direction for itself."""
        return [(source, target, cost) for (source, target), cost in self._up.items()]

    def _directions(self, source: str, target: str) -> list[tuple[str, str]]:
        both = [(source, target)] if self.topology.directed else [(source, target), (target, source)]
        for ends in both:
            if ends not in self._costs:
                message = f"there is no link from {ends[0]!r} to {ends[1]!r} in this network"
                raise DataError("no-such-link", message, hint=did_you_mean(str(source), self._names))
        return both

    def _set(self, ends: tuple[str, str], cost: int | None) -> None:
        before = self._up.pop(ends, None)
        if cost is not None:
            self._up[ends] = cost
        if before != cost:
            for relation in self._links:
                if before is not None:
                    self._simulator.delete(relation, self._row(relation, ends, before))
                if cost is not None:
                    self._simulator.insert(relation, self._row(relation, ends, cost))

    def _row(self, relation: str, ends: tuple[str, str], cost: int) -> Row:
        arity = self._plan.relations[self._plan.numbers[relation]].arity
        return (*ends, cost)[:arity]

    # ------------------------------------------------------------------ changes and time

    def insert(self, relation: str, rows: Iterable[Row]) -> None:
        """Insert base rows, each at the node where it lives."""
        for row in rows:
            self._simulator.insert(arguments.relation_name(relation), tuple(row))

    def delete(self, relation: str, rows: Iterable[Row]) -> None:
        """Delete base rows."""
        for row in rows:
            self._simulator.delete(arguments.relation_name(relation), tuple(row))

    def run(self, until: float | None = None) -> NetworkRun:
        """Go on until all is quiet, or for so many virtual seconds from the beginning."""
        traffic, before = self._simulator.traffic, self._simulator.now
        self._simulator.run(until)
        end = self._simulator.last_message if until is None else self._simulator.now
        messages, volume = self._counted
        self._counted = traffic.messages, traffic.bytes
        done = (max(0.0, end - before), traffic.messages - messages, traffic.bytes - volume)
        return NetworkRun(*done, self._simulator.is_quiet())

    @property
    def now(self) -> float:
        """The virtual time, in seconds."""
        return self._simulator.now

    # ------------------------------------------------------------------ what there is

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations of the program."""
        return tuple(name for name in self._plan.program.views if not self._is_helper(name))

    def _is_helper(self, name: str) -> bool:
        number = self._plan.numbers.get(name)
        return number is not None and self._plan.relations[number].owner is not None

    def __getitem__(self, relation: str) -> NetworkRelation:
        return NetworkRelation(self._known(relation), self._simulator.rows(relation))

    def at(self, node: str) -> NetworkPlace:
        """What lives at one node."""
        if node not in self._numbers:
            hint = did_you_mean(str(node), self._names)
            raise DataError("no-such-node", f"there is no node {node!r} in this network", hint=hint)
        return NetworkPlace(self, self._numbers[node])

    def _known(self, relation: str) -> str:
        name = arguments.relation_name(relation)
        if name not in self._plan.program.views:
            hint = did_you_mean(name, self.relations)
            raise DataError("unknown-relation", f"the program has no relation {name}", hint=hint)
        return name

    @property
    def messages(self) -> int:
        """How many messages were sent since the beginning."""
        return self._simulator.traffic.messages

    @property
    def bytes(self) -> int:
        """How many bytes they had."""
        return self._simulator.traffic.bytes

    def why(self, relation: str, row: Iterable[Any]) -> NetworkProof:
        """Why a row is there: a proof from base rows, with the messages that it took, their links and times."""
        name, asked = self._known(relation), tuple(row)
        view = self._plan.program.views[name]
        table = self._plan.numbers[view.candidates if isinstance(view, Best) else view]
        home = self._simulator.nodes[0].home(table, asked)
        if home is None or asked not in set(self._simulator.nodes[home].rows(name)):
            raise DataError(
                "no-such-row", f"{name}{asked!r} is not in this network", hint="net[...].rows() has all"
            )
        explainer = ProofSearch(self._plan, self._simulator.nodes, self._names, self._timeline)
        return explainer.proof(home, table, asked)

    def timeline(self) -> list[SentMessage]:
        """All messages, in the order in which they were sent."""
        return list(self._timeline)

    def __repr__(self) -> str:
        return f"<network of {self.topology} at {self.now:.3f} s: {self.messages:,} messages>"


class NetworkRelation:
    """The rows of a relation: all of them, or those at one node."""

    def __init__(self, name: str, rows: Iterable[Row]):
        self.name = name
        self._rows = frozenset(rows)

    def rows(self) -> list[Row]:
        """The rows, in order where their values have one."""
        try:
            return sorted(self._rows)
        except TypeError:
            return list(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, row: object) -> bool:
        return row in self._rows

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self):,} rows>"


class NetworkPlace:
    """One node of a network."""

    def __init__(self, net: Network, number: int):
        self._net = net
        self._number = number

    def __getitem__(self, relation: str) -> NetworkRelation:
        node = self._net._simulator.nodes[self._number]
        return NetworkRelation(self._net._known(relation), node.rows(relation))


# ------------------------------------------------------------------ parts


def _program(given: str | os.PathLike[str] | Program) -> Program:
    if isinstance(given, Program):
        return given
    if isinstance(given, str) and not names_file(given):
        if any(mark in given for mark in "(:.\n"):
            return parse(given)
        return library_program(given)
    if not isinstance(given, (str, os.PathLike)):
        names = ", ".join(programs())
        raise arguments.wrong_kind("network", given, f"a text, a file, or the name of a program: {names}")
    path = Path(os.fspath(given))
    return parse(read_program(path), str(path), folder=path.parent)


def _plan(program: Program, functions: Functions) -> NodePlan:
    return plan_nodes(compile_program(check(program, functions)), functions)


def _costs(topology: Topology, metric: str, seed: int) -> dict[tuple[str, str], int]:
    arguments.one_of("metric", metric, METRICS)
    chance = random.Random(seed)
    costs: dict[tuple[str, str], int] = {}
    for source, target, latency in topology.rows():
        known = costs.get((target, source))
        if metric == "latency":
            costs[source, target] = latency
        elif metric == "hops":
            costs[source, target] = 1
        else:
            costs[source, target] = chance.randint(1, MOST_RANDOM) if known is None else known
    return costs


def _link_model(topology: Topology) -> LinkModel:
    """Messages take the fastest way; of nodes between which there is none, a second."""
    latencies: dict[int, dict[str, int]] = {}
    known: dict[int, LinkQuality] = {}

    def link(sender: int, receiver: int) -> LinkQuality:
        found = latencies.get(sender)
        if found is None:
            found = latencies[sender] = topology.latencies(topology.nodes[sender])
        latency = found.get(topology.nodes[receiver], 1000)
        if latency not in known:
            known[latency] = LinkQuality(latency / 1000)
        return known[latency]

    return link
