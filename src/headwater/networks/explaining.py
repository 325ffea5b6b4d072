"""Why a row is at a node of a network: a proof from base rows, with the messages that it took, their links and times.

Nothing is stored for it but the timeline. A row was derived where it lives, or came in a message; whoever sent it
derived it from rows of its own. So rules are run backwards at the row's node and at those that sent it, on what they
hold now, wherever they are. What is published (a group's value, a row that is missing) is taken as given where it is
published.

The rows that a row may rest on are looked at in turns, the nearest first. Each is proved as soon as all premises of
one of its derivations are, from base rows on: derivations that go round in circles come to no proof, and no chain of
premises is too long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from headwater.errors import DataError
from headwater.networks.runtime.row_table import Row
from headwater.networks.strands.network_program import Best, PassingOn
from headwater.networks.strands.node_plan import NodePlan
from headwater.networks.timeline import SentMessage
from headwater.networks.transports.carrier import Carrier
from headwater.values.forms import form

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
        """All of the proof's rows, each once, however many premises it is among."""
        todo, seen = [self], set[int]()
        while todo:
            step = todo.pop()
            if id(step) not in seen:
                seen.add(id(step))
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


@dataclass(eq=False, slots=True)
class _Derivation:
    """One way in which a row may follow; `missing` are its premises that are not proved yet."""

    key: Key
    rule: str | None
    premises: tuple[Key, ...]
    message: SentMessage | None
    missing: int


class ProofSearch:
    """Searches proofs over what nodes hold, and the messages they sent; `complete` says that these are all."""

    def __init__(
        self,
        plan: NodePlan,
        nodes: Carrier,
        names: tuple[str, ...],
        timeline: Iterable[SentMessage],
        *,
        complete: bool = True,
    ):
        self.plan = plan
        self.nodes = nodes
        self.names = names
        self._complete = complete
        numbers = {name: number for number, name in enumerate(names)}
        self._came: dict[Key, dict[int, SentMessage]] = {}
        for message in timeline:
            for part in message.parts or (message,):
                if part.row is not None and part.table is not None and part.kind in BRINGING:
                    key = (numbers[message.receiver], part.table, part.row)
                    self._came.setdefault(key, {})[numbers[message.sender]] = message
        program = plan.program
        bests: list[PassingOn | Best] = [*program.passing]
        bests += [each for each in program.publications if isinstance(each, Best)]
        self._sources: Mapping[int, int] = {
            plan.numbers[each.relation]: plan.numbers[each.candidates] for each in bests
        }
        self._proofs: dict[Key, NetworkProof] = {}
        self._waiting: dict[Key, list[_Derivation]] = {}
        """By a row that is not proved yet: the derivations that need it."""

    def proof(self, node: int, table: int, row: Row) -> NetworkProof:
        """A proof of a row that a node holds."""
        asked = (node, table, row)
        todo, seen = deque([asked]), {asked}
        while todo and asked not in self._proofs:
            key = todo.popleft()
            for derivation in self._derivations(key):
                needed = dict.fromkeys(one for one in derivation.premises if one not in self._proofs)
                derivation.missing = len(needed)
                if not needed:
                    self._proved(derivation)
                    break
                for premise in needed:
                    self._waiting.setdefault(premise, []).append(derivation)
                    if premise not in seen:
                        seen.add(premise)
                        todo.append(premise)
        if asked not in self._proofs:
            message = "no proof was found: what is under way may change this row"
            raise DataError("no-proof", message, hint="let the network run until it is quiet, and ask again")
        return self._proofs[asked]

    def _derivations(self, key: Key) -> Iterator[_Derivation]:
        """All ways in which a row may follow, by what nodes hold now."""
        node, table, row = key
        source = self._sources.get(table)
        if source is not None:
            yield _Derivation(key, None, ((node, source, row),), None, 1)
            return
        if not self.plan.deriving[table]:
            yield _Derivation(key, None, (), None, 0)
            return
        came = self._came.get(key, {})
        senders = came if self._complete else range(len(self.names))
        for deriver in (node, *(sender for sender in senders if sender != node)):
            for rule, premises in self.nodes.derivations(deriver, (table, row)):
                keys = tuple((deriver, *premise) for premise in premises)
                yield _Derivation(key, rule, keys, came.get(deriver), len(keys))

    def _proved(self, derivation: _Derivation) -> None:
        """All premises of a derivation are proved: so is its row, and perhaps others that wait for it."""
        ready = [derivation]
        while ready:
            done = ready.pop()
            if done.key in self._proofs:
                continue
            self._proofs[done.key] = self._step(done)
            for waiting in self._waiting.pop(done.key, ()):
                waiting.missing -= 1
                if not waiting.missing:
                    ready.append(waiting)

    def _step(self, done: _Derivation) -> NetworkProof:
        node, table, row = done.key
        if table in self._sources:  # a best row is shown as the candidate that it is
            return self._proofs[done.premises[0]]
        relation = self.plan.relations[table]
        premises = tuple(self._proofs[premise] for premise in done.premises)
        name = relation.owner or relation.name
        return NetworkProof(name, row, self.names[node], done.rule, premises, done.message)
