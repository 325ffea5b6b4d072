"""A program on a network, as users hold it; `headwater.network` makes it (`opening`).

Each node of the topology runs the program's rules on the rows that live at it, and sends what it derives to where it
belongs. Links are base rows: of the relations that `#` marks in the program, or of `link` where none is marked. Nodes
are simulated in virtual time, or are processes that talk over TCP in real time: the same nodes, and the same rows
once all is quiet.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from headwater.calls import public_class
from headwater.errors import DataError
from headwater.networks.describing import described_roles, described_rules, described_settings
from headwater.networks.explaining import NetworkProof, ProofSearch
from headwater.networks.metrics import Costs, Ends
from headwater.networks.recipe import NetworkRecipe
from headwater.networks.relation import NetworkPlace, NetworkRelation
from headwater.networks.runtime.directory import Addresses
from headwater.networks.runtime.row_table import Row
from headwater.networks.runtime.watching import WatchedRow
from headwater.networks.strands.network_program import Best
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.timeline import SentMessage, sent_message
from headwater.networks.tracing import ChangeStep, HistoryStep, RunStep, write_trace
from headwater.networks.transports.carrier import Carrier
from headwater.networks.transports.simulator.simulated import SimulatedNodes
from headwater.networks.what_if import NetworkWhatIf, rows_changed
from headwater.spelling import did_you_mean
from headwater.values import arguments
from headwater.version.guard import Guard, changes, reads

BaseChange = tuple[bool, str, Row]
"""A base row of a relation that comes, or goes."""
LinkName = str | Sequence[str]
"""A link: the name of one end, where the other is said too, or both ends."""


@dataclass(frozen=True)
class NetworkRun:
    """What a run has done: seconds, messages and bytes since the run before; whether all is quiet."""

    seconds: float
    messages: int
    bytes: int
    quiet: bool

    def __repr__(self) -> str:
        state = "quiet" if self.quiet else "not quiet"
        return f"<{state} after {self.seconds:.3f} s: {self.messages:,} messages, {self.bytes:,} bytes>"


@public_class
class Network:
    """Nodes that run one program; made by `headwater.network`."""

    def __init__(self, recipe: NetworkRecipe, plan: NodePlan, nodes: Carrier):
        self.topology = recipe.topology
        self._recipe = recipe
        self._plan = plan
        self._links = recipe.links
        self._costs = dict(recipe.costs)
        self._nodes = nodes
        self._directory = Addresses(recipe.topology.nodes)
        self._counted = 0, 0
        self._up: dict[Ends, Costs] = {}
        self.guard = Guard(guarded="network")
        self._history: list[HistoryStep] = []
        self._set(self._costs)

    # ------------------------------------------------------------------ links

    @changes
    def fail(self, link: LinkName, target: str | None = None) -> None:
        """A link fails, in the directions that it leads: `fail("a", "b")`, or `fail(("a", "b"))`.

        What follows is under way until the next `run`.
        """
        directions = self._directions(link, target)
        for ends in directions:
            if ends not in self._up:
                raise DataError("link-down", f"the link from {ends[0]} to {ends[1]} has failed already")
        self._set(dict.fromkeys(directions))

    @changes
    def restore(self, link: LinkName, target: str | None = None) -> None:
        """A link that failed is there again, at the cost that it had."""
        self._set({ends: self._costs[ends] for ends in self._directions(link, target)})

    @changes
    def set_cost(self, link: LinkName, target: str | int | Costs, cost: int | Costs | None = None) -> None:
        """A link costs something else from now on: `set_cost("a", "b", 5)`, or `set_cost(("a", "b"), 5)`.

        One that has failed is there again. Where links have several costs, give them all.
        """
        if cost is None and not isinstance(target, str):
            directions, given = self._directions(link, None), target
        else:
            directions, given = self._directions(link, target), cost  # type: ignore[arg-type, assignment]
        costs = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        known = len(self._costs[directions[0]])
        if len(costs) != known:
            message = f"links of this network have {known} costs, not {len(costs)}"
            raise DataError("link-columns", message, hint="one for each metric, in order")
        for each in costs:
            arguments.whole_number("cost", each, least=0)
        self._set(dict.fromkeys(directions, costs))

    @property
    def links(self) -> list[tuple[Any, ...]]:
        """The links that are up, each direction for itself, with what they cost."""
        return [(*ends, *costs) for ends, costs in self._up.items()]

    def _directions(self, link: LinkName, target: str | None) -> list[Ends]:
        if target is None and isinstance(link, (tuple, list)):
            ends = tuple(link)[:2]
        else:
            ends = (link, target)
        if len(ends) != 2 or not all(isinstance(end, str) for end in ends):
            raise arguments.wrong_kind("link", link, 'the two ends of a link: "a", "b"')
        both = [(ends[0], ends[1])]
        if not self.topology.directed:
            both.append((ends[1], ends[0]))
        for each in both:
            if each not in self._costs:
                unknown = next((end for end in each if self._directory.node(end) is None), each[1])
                beside = [other for one, other in self._costs if one == each[0]]
                hint = did_you_mean(unknown, beside or self.topology.nodes)
                hint = hint or (f"{each[0]} has links to {', '.join(sorted(beside)[:8])}" if beside else None)
                message = f"there is no link from {each[0]!r} to {each[1]!r} in this network"
                raise DataError("no-such-link", message, hint=hint)
        return both

    def _set(self, wanted: Mapping[Ends, Costs | None]) -> None:
        changes: list[BaseChange] = []
        for ends, costs in wanted.items():
            before = self._up.get(ends)
            for relation in self._links if before != costs else ():
                gone = None if before is None else self._row(relation, ends, before)
                comes = None if costs is None else self._row(relation, ends, costs)
                if comes == gone:
                    continue  # it does not say what has changed
                if comes is not None:
                    changes.append((True, relation, comes))
                if gone is not None:
                    changes.append((False, relation, gone))
        self._nodes.check(changes)
        for ends, costs in wanted.items():
            self._up.pop(ends, None)
            if costs is not None:
                self._costs[ends] = self._up[ends] = costs
        self._do(changes)

    def _do(self, changes: Sequence[BaseChange]) -> None:
        """Make changes that can be made; if they come to no end, they were begun."""
        if changes:
            self._history.append(ChangeStep(tuple(changes)))
            self._nodes.change(changes)

    def _row(self, relation: str, ends: Ends, costs: Costs) -> Row:
        return (*ends, *costs)[: self._plan.relations[self._plan.numbers[relation]].arity]

    # ------------------------------------------------------------------ changes and time

    @changes
    def insert(self, relation: str, rows: Iterable[Iterable[Any]]) -> None:
        """Insert base rows, each at the node where it lives."""
        self._change(True, relation, rows)

    @changes
    def delete(self, relation: str, rows: Iterable[Iterable[Any]]) -> None:
        """Delete base rows."""
        self._change(False, relation, rows)

    def _change(self, comes: bool, relation: str, rows: Iterable[Iterable[Any]]) -> None:
        name = arguments.relation_name(relation)
        if name in self._links:
            hint = "net.fail, net.restore and net.set_cost change links"
            raise DataError("link-rows", f"{name} has the links of this network", hint=hint)
        changes = [(comes, name, row) for row in _rows(name, rows)]
        self._nodes.check(changes)
        self._do(changes)

    @property
    @reads
    def watched(self) -> list[WatchedRow]:
        """What the program has traced by `watch(...)`: rows that came and went, and events, with their times."""
        return list(self._nodes.watched())

    @changes
    def run(self, until: float | None = None) -> NetworkRun:
        """Go on until all is quiet, or until so many seconds have passed since the network began."""
        if until is not None:
            until = arguments.seconds("until", until)
        if until is None and self._plan.program.endless:
            raise DataError(
                "never-quiet",
                "this program has timers that never end, so the network is never quiet",
                hint="say up to which time: net.run(until=60)",
            )
        before = self._nodes.now
        quiet = self._nodes.run(until)
        end = self._nodes.last_message if until is None else self._nodes.now
        (messages, volume), self._counted = self._counted, self._nodes.traffic()
        self._history.append(RunStep(until, self._counted[0]))
        return NetworkRun(
            max(0.0, end - before), self._counted[0] - messages, self._counted[1] - volume, quiet
        )

    @property
    def now(self) -> float:
        """The time in seconds since the network began: virtual, or real."""
        return self._nodes.now

    @property
    def last_message(self) -> float:
        """When the last message arrived: when the network converged, once it is quiet."""
        return self._nodes.last_message

    # ------------------------------------------------------------------ what there is

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations of the program."""
        return tuple(name for name in self._plan.program.views if not self._is_helper(name))

    def _is_helper(self, name: str) -> bool:
        number = self._plan.numbers.get(name)
        return number is not None and self._plan.relations[number].owner is not None

    @reads
    def __getitem__(self, relation: str) -> NetworkRelation:
        return NetworkRelation(self._known(relation), self._nodes.rows(relation))

    def at(self, node: str) -> NetworkPlace:
        """What lives at one node."""
        number = self._directory.node(node) if isinstance(node, str) else None
        if number is None:
            hint = did_you_mean(str(node), self.topology.nodes)
            raise DataError("no-such-node", f"there is no node {node!r} in this network", hint=hint)
        return NetworkPlace(node, lambda name: self._rows_at(name, number))

    @reads
    def _rows_at(self, relation: str, node: int) -> NetworkRelation:
        return NetworkRelation(self._known(relation), self._nodes.rows(relation, node))

    def _known(self, relation: str) -> str:
        name = arguments.relation_name(relation)
        if name not in self._plan.program.views:
            hint = did_you_mean(name, self.relations)
            raise DataError("unknown-relation", f"the program has no relation {name}", hint=hint)
        return name

    @property
    def messages(self) -> int:
        """How many messages were sent since the beginning."""
        return self._nodes.traffic()[0]

    @property
    def bytes(self) -> int:
        """How many bytes they had."""
        return self._nodes.traffic()[1]

    @reads
    def why(self, relation: str, row: Iterable[Any]) -> NetworkProof:
        """Why a row is there: a proof from base rows, with the messages that it took, their links and times."""
        name = self._known(relation)
        if not isinstance(row, Iterable) or isinstance(row, str):
            raise arguments.wrong_kind("why", row, 'a row: ("a", 1)')
        asked = tuple(row)
        view = self._plan.program.views[name]
        table = self._plan.numbers[view.candidates if isinstance(view, Best) else view]
        location = self._plan.relations[table].location
        home = (
            0
            if location is None
            else self._directory.node(asked[location])
            if location < len(asked) and isinstance(asked[location], str)
            else None
        )
        if home is None or asked not in self._nodes.rows(name, home):
            raise DataError(
                "no-such-row", f"{name}{asked!r} is not in this network", hint="net[...].rows() has all"
            )
        timeline = self.timeline()
        complete = len(timeline) == self._nodes.traffic()[0]
        explainer = ProofSearch(self._plan, self._nodes, self.topology.nodes, timeline, complete=complete)
        return explainer.proof(home, table, asked)

    @reads
    def timeline(self) -> list[SentMessage]:
        """All messages, in the order in which they were sent; of more than a million, the last ones."""
        return [sent_message(self._plan, self.topology.nodes, each) for each in self._nodes.messages()]

    @reads
    def load(self) -> Iterable[tuple[float, int]]:
        """When messages were sent and how many bytes they had: of all, where `timeline` has only the last ones."""
        return self._nodes.load()

    def explain(self) -> str:
        """The plan: optimisations, rules as nodes run them, and what each of them sends."""
        program = self._plan.program
        lines = (
            *described_settings(self._recipe.settings),
            *described_roles(program),
            *described_rules(program),
        )
        return "\n".join(lines)

    @reads
    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write all that was done to the network and said in it to a file, to be replayed with `replay_trace`."""
        if not isinstance(self._nodes, SimulatedNodes):
            message = "what real nodes say is never twice the same: only simulated networks have traces"
            raise DataError("no-trace", message, hint="net.timeline() has the messages")
        if not isinstance(path, (str, os.PathLike)):
            raise arguments.wrong_kind("trace", path, "a path, as a text or a pathlib.Path")
        if self._recipe.own_functions:
            message = "functions of this process cannot be written into a trace"
            raise DataError("functions-here", message, hint="net.timeline() has the messages")
        said = list(self._nodes.messages())
        if len(said) < self.messages:
            message = f"{self.messages:,} messages were sent, and the last {len(said):,} are known"
            raise DataError("no-trace", message, hint="trace a shorter run, or a smaller network")
        write_trace(Path(os.fspath(path)), self._recipe, self._history, said)

    def what_if(
        self,
        *,
        fail: Iterable[LinkName] = (),
        restore: Iterable[LinkName] = (),
        set_cost: Mapping[Ends, int | Costs] | None = None,
    ) -> NetworkWhatIf:
        """What would change if links failed, came back, or cost something else; nothing happens to this network.

        `net.what_if(fail=[("a", "b")])`: rows before and after, once all is quiet, and the messages it would take.
        """
        failing, restored = _links("fail", fail), _links("restore", restore)
        if set_cost is not None and not isinstance(set_cost, Mapping):
            raise arguments.wrong_kind("set_cost", set_cost, 'costs by link: {("a", "b"): 5}')
        twin = self.twin()
        twin.run()
        before = {name: twin[name].rows() for name in self.relations}
        for link in failing:
            twin.fail(link)
        for link in restored:
            twin.restore(link)
        for ends, cost in (set_cost or {}).items():
            twin.set_cost(ends, cost)
        done = twin.run()
        changes = {name: rows_changed(rows, twin[name].rows()) for name, rows in before.items()}
        found = {name: change for name, change in changes.items() if change.gone or change.come}
        return NetworkWhatIf(found, done.seconds, done.messages, done.bytes)

    @reads
    def twin(self) -> Network:
        """The same network, simulated, with the links and other base rows that there are now; it has not run yet."""
        twin = Network(replace(self._recipe, costs=self._up), self._plan, self._recipe.simulated(self._plan))
        twin._costs = dict(self._costs)
        given, begun = list(self._nodes.given()), set(twin._nodes.given())
        there = set(given)
        twin._do(
            [(False, *base) for base in begun if base not in there]
            + [(True, *base) for base in given if base[0] not in self._links]
        )
        return twin

    def __repr__(self) -> str:
        return f"<network of {self.topology} at {self.now:.3f} s: {self.messages:,} messages>"

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """End the processes of nodes, where they have any."""
        self._nodes.close()

    def __enter__(self) -> Network:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _rows(relation: str, given: object) -> list[Row]:
    """Rows as tuples, if that is what was given."""
    rows = []
    for row in given if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else [None]:
        if not isinstance(row, Iterable) or isinstance(row, (str, bytes)):
            raise arguments.wrong_kind(relation, given if row is None else row, 'rows: [("a", 1), ("b", 2)]')
        rows.append(tuple(row))
    return rows


def _links(argument: str, given: object) -> list[LinkName]:
    """Links by their ends, if that is what was given."""
    if isinstance(given, Iterable) and not isinstance(given, str):
        links = list(given)
        if all(isinstance(link, (tuple, list)) for link in links):
            return links
    raise arguments.wrong_kind(argument, given, 'links by their ends: [("a", "b")]')
