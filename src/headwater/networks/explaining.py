"""Why a row is at a node of a network: a proof from base rows, with the messages that it took, their links and times.

Nothing is stored for it but the timeline. A row was derived where it lives, or came in a message; whoever sent it
derived it from rows of its own. So rules are run backwards at the row's node and at those that sent it, on what they
hold now, wherever they are. What is published (a group's value, a row that is missing) is taken as given where it is
published.

A proof is searched for within a depth that is doubled until one is found: derivations that go round in circles come
to no proof within any depth, and no proof is longer than there are rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from headwater.errors import DataError
from headwater.networks.runtime.row_table import Row
from headwater.networks.strands.network_program import Best, PassingOn
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.timeline import SentMessage
from headwater.networks.transports.carrier import Carrier
from headwater.values.forms import form

DEEPEST = 256
"""The longest chain of premises that is followed."""

BRINGING = frozenset(
    {"Derived", "Follows", "Supported", "Replaced", "FollowsBy", "CountedDerivations", "Alive"}
)
"""Messages that say that a row follows."""

Key = tuple[int, int, Row]
"""A row by its node, its table and its values."""


@dataclass(frozen=True)
class NetworkProof:
    """A row at a node, the message that brought it there (if one did), and the rule and premises it follows from.

    Without a rule it is a base row, or one that the node publishes.
    """

    relation: str
    row: Row
    node: str
    rule: str | None = None
    premises: tuple[NetworkProof, ...] = ()
    message: SentMessage | None = None

    def messages(self) -> list[SentMessage]:
        """All messages of the proof, in the order in which they were sent."""
        found = {step.message: None for step in self._steps() if step.message is not None}
        return sorted(found, key=lambda message: message.time)

    def base(self) -> list[tuple[str, Row]]:
        """The rows that the proof begins with."""
        return list(dict.fromkeys((step.relation, step.row) for step in self._steps() if step.rule is None))

    def _steps(self) -> Iterator[NetworkProof]:
        todo = [self]
        while todo:
            step = todo.pop()
            yield step
            todo += reversed(step.premises)

    def __str__(self) -> str:
        lines: list[str] = []
        todo = [(self, 0)]
        while todo:
            step, depth = todo.pop()
            came = ""
            if step.message is not None:
                came = f"   <- {step.message.sender}, sent at {step.message.time:.3f} s"
            by = "" if step.rule is None else f"   [{step.rule}]"
            lines.append(
                f"{'  ' * depth}{step.relation}({', '.join(map(form, step.row))}) at {step.node}{by}{came}"
            )
            todo += [(premise, depth + 1) for premise in reversed(step.premises)]
        return "\n".join(lines)


class ProofSearch:
    """Searches proofs over what nodes hold, and the messages they sent."""

    def __init__(
        self,
        plan: NodePlan,
        nodes: Carrier,
        names: tuple[str, ...],
        timeline: Iterable[SentMessage],
    ):
        self.plan = plan
        self.nodes = nodes
        self.names = names
        numbers = {name: number for number, name in enumerate(names)}
        self._came: dict[Key, dict[int, SentMessage]] = {}
        for message in timeline:
            if message.row is not None and message.table is not None and message.kind in BRINGING:
                key = (numbers[message.receiver], message.table, message.row)
                self._came.setdefault(key, {})[numbers[message.sender]] = message
        program = plan.program
        bests: list[PassingOn | Best] = [*program.passing]
        bests += [each for each in program.publications if isinstance(each, Best)]
        self._sources: Mapping[int, int] = {
            plan.numbers[each.relation]: plan.numbers[each.candidates] for each in bests
        }
        self._known: dict[tuple[Key, int], NetworkProof | None] = {}

    def proof(self, node: int, table: int, row: Row) -> NetworkProof:
        """A proof of a row that a node holds."""
        depth = 2
        while depth <= DEEPEST:
            found = self._within((node, table, row), depth)
            if found is not None:
                return found
            depth *= 2
        message = f"no proof of at most {DEEPEST} steps was found: the network may not be quiet"
        raise DataError("no-proof", message, hint="let it run, and ask again")

    def _within(self, key: Key, depth: int) -> NetworkProof | None:
        if (key, depth) not in self._known:
            self._known[key, depth] = self._search(key, depth) if depth > 0 else None
        return self._known[key, depth]

    def _search(self, key: Key, depth: int) -> NetworkProof | None:
        node, table, row = key
        if not self.nodes.holds(node, (table, row)):
            return None
        source = self._sources.get(table)
        if source is not None:
            return self._within((node, source, row), depth)
        if not self.plan.deriving[table]:
            return self._step(key, None, (), None)
        came = self._came.get(key, {})
        for deriver in (node, *(sender for sender in came if sender != node)):
            for rule, premises in self.nodes.derivations(deriver, (table, row)):
                proofs = []
                for premise in premises:
                    proof = self._within((deriver, *premise), depth - 1)
                    if proof is None:
                        break
                    proofs.append(proof)
                else:
                    return self._step(key, rule, tuple(proofs), came.get(deriver))
        return None

    def _step(
        self, key: Key, rule: str | None, premises: tuple[NetworkProof, ...], message: SentMessage | None
    ) -> NetworkProof:
        node, table, row = key
        relation = self.plan.relations[table]
        return NetworkProof(relation.owner or relation.name, row, self.names[node], rule, premises, message)
