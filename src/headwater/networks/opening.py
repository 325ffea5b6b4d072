"""`headwater.network(program, topology)`: what is given, checked and put together.

>>> net = network("best-cost", [("a", "b", 2), ("b", "a", 2), ("b", "c", 3), ("c", "b", 3)])
>>> net.run()
<quiet after 0.009 s: 16 messages, 275 bytes>
>>> net.at("a")["bestCost"].rows()
[('a', 'a', 4), ('a', 'b', 2), ('a', 'c', 5)]
>>> net.fail("b", "c")
>>> _ = net.run()
>>> net.at("a")["bestCost"].rows()
[('a', 'a', 4), ('a', 'b', 2)]
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.calls import public
from headwater.errors import DataError
from headwater.language.datalog import parse
from headwater.language.datalog.program_file import names_file, read_program
from headwater.language.program import Program
from headwater.networks.constraints import link_relations
from headwater.networks.library import library_program, programs
from headwater.networks.metrics import Costs, Ends, link_costs
from headwater.networks.network import Network
from headwater.networks.node_settings import ANNOTATIONS, ORDERS, NodeSettings
from headwater.networks.recipe import NetworkRecipe
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.topologies.named import as_topology
from headwater.networks.topologies.topology import Topology
from headwater.networks.transports.carrier import Carrier
from headwater.networks.transports.processes import network_processes
from headwater.values import arguments
from headwater.values.functions import Functions, Given, declared_functions

TRANSPORTS = ("simulated", "tcp", "spark")
AUTO = "auto"
MOST_NODES_OF_ABSORPTION = 100
"""Up to this size rows carry absorption provenance, if nothing is said: what a row carries grows with its ways."""
LINK = "link"
"""The relation of the links, where the program marks none."""


@public
def network(
    program: str | os.PathLike[str] | Program,
    topology: object,
    *,
    annotation: str = AUTO,
    order: str = "psn",
    transport: str = "simulated",
    metric: str | Sequence[str] = "latency",
    functions: Mapping[str, Given] | None = None,
    seed: int = 0,
    processes: int | None = None,
    spark: Any = None,
    aggregate_selections: bool = True,
    multi_aggregates: bool = True,
    selection_period: float = 0.0,
    sharing_delay: float = 0.0,
    goal: str | None = None,
    deletions_along_links: bool = False,
    service_time: float = 0.0,
) -> Network:
    """Run a program on a network.

    - `program`: the name of one of the library, a text, or a file.
    - `topology`: a name (`transit-stub:100`, `topohub:topozoo/Abilene`), a file, a graph of networkx, or link rows.
    - `annotation`: what rows carry: auto (absorption, and support on simulated networks of more than 100 nodes),
      absorption (of each row and sender one explanation is kept at a time), absorption-lazy (all are kept, and
      one is sent), absorption-eager (all are sent), absorption-timed (all, those after the first once a second),
      relative, relative-eager, support (ranks: what a row rests on has smaller ones), dred, counting (where
      derivations cannot go round in circles).
    - `order`: psn, bsn or sn.
    - `transport`: simulated (virtual time, one process), tcp (nodes in processes of their own), spark (nodes in tasks
      of a Spark session). `processes`: how many processes there are. `spark`: the session.
    - `metric`: what links cost: latency (ms), hops, reliability, random; or several of them, a column each.
    - `aggregate_selections`, `multi_aggregates`, `selection_period`, `sharing_delay`, `goal`: optimisations; see
      `NodeSettings`, and `net.explain()` for what they do to a program.
    - `deletions_along_links`: tell deletions from neighbour to neighbour, so that all messages go along links.
    - `service_time`: seconds of virtual time that a simulated node takes for each message; others wait meanwhile.
    """
    arguments.one_of("transport", transport, TRANSPORTS)
    known = Functions()
    for name, declared in declared_functions(functions).items():
        known.register(name, declared[0], declared[1], declared[2], nulls=declared[3])
    if not isinstance(seed, int):
        raise arguments.wrong_kind("seed", seed, "a whole number")
    parsed = _program(program)
    found = as_topology(topology, seed=seed)
    settings = NodeSettings(
        parsed.text,
        parsed.source,
        _scheme(annotation, found, lasting=transport != "simulated" or bool(deletions_along_links)),
        arguments.one_of("order", order, ORDERS),
        _flag("aggregate_selections", aggregate_selections),
        _flag("multi_aggregates", multi_aggregates),
        _seconds("selection_period", selection_period),
        _seconds("sharing_delay", sharing_delay),
        _goal(goal),
        _flag("deletions_along_links", deletions_along_links),
        _seconds("service_time", service_time),
    ).checked()
    if service_time and transport != "simulated":
        message = "real nodes take the time that they take: service_time is for simulated ones"
        raise DataError("service-time", message, hint='transport="simulated", or without the option')
    metrics = metric if isinstance(metric, (tuple, list)) else (metric,)
    costs = link_costs(found, metrics, seed)
    plan = settings.plan(known)
    if deletions_along_links and not plan.program.links:
        message = "deletions cannot go along links: this program marks no relation as links"
        raise DataError("no-links", message, hint="mark them: #link(@S, @D, C)")
    recipe = NetworkRecipe(
        settings, found, costs, _link_relations(parsed, plan, costs), seed, known, bool(functions)
    )
    if transport == "simulated":
        nodes: Carrier = recipe.simulated(plan)
    else:
        if functions:
            message = "functions of this process are unknown to nodes in other processes"
            raise DataError("functions-here", message, hint='transport="simulated" runs them')
        nodes = network_processes(settings, found, transport, processes, spark)
    return Network(recipe, plan, nodes)


def _scheme(annotation: str, topology: Topology, *, lasting: bool) -> str:
    """What rows carry, as a scheme; `lasting` says that it must be one that goes on when nodes are lost."""
    named = arguments.one_of("annotation", annotation, (AUTO, *ANNOTATIONS))
    if named == AUTO:
        named = "absorption" if lasting or len(topology.nodes) <= MOST_NODES_OF_ABSORPTION else "support"
    return ANNOTATIONS[named]


def _flag(name: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise arguments.wrong_kind(name, given, "True or False")
    return given


def _seconds(name: str, given: object) -> float:
    found = arguments.seconds(name, given)
    if found < 0:
        raise arguments.wrong_kind(name, given, "a number of seconds, 0 or more")
    return float(found)


def _goal(given: object) -> str:
    if given is not None and (not isinstance(given, str) or not given.strip()):
        raise arguments.wrong_kind("goal", given, "a goal: shortestPath(S, @'d', P, C)")
    return given or ""


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


def _link_relations(program: Program, plan: NodePlan, costs: Mapping[Ends, Costs]) -> tuple[str, ...]:
    marked = link_relations(program) or (LINK,)
    found = tuple(name for name in marked if name in plan.numbers)  # a goal may need none of them
    most = 2 + max((len(each) for each in costs.values()), default=1)
    for name in found:
        if not plan.relations[plan.numbers[name]].base:
            hint = "links are stored; derive another relation from them"
            raise DataError(
                "stored-links", f"{name} has the links of this network, and rules derive it", hint=hint
            )
        arity = plan.relations[plan.numbers[name]].arity
        if not 2 <= arity <= most:
            message = f"{name} has {arity} columns: rows of links have two ends and a cost"
            hint = f"{name}(@S, @D, C); with metric=('latency', 'random') links have two costs"
            raise DataError("link-columns", message, hint=hint)
    return found
