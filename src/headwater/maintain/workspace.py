"""What all strata share: the relations, the clock, and the means to plan and run rules over them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headwater.errors import EvaluationError, OutOfMemory
from headwater.kernel.beside import SecondThread
from headwater.kernel.relation import Relation, Rows
from headwater.kernel.rounds.addresses import address
from headwater.kernel.rounds.choosing import MOST_CHOSEN, SAMPLE
from headwater.kernel.rounds.tables import MOST_LEVELS
from headwater.kernel.rounds.views import BINDINGS_A_LEVEL, WIDEST
from headwater.kernel.sampling import rows_per_key
from headwater.kernel.states import OLD
from headwater.kernel.version_change import NO_ROWS
from headwater.maintain.demanded import Demanded, Differing
from headwater.maintain.exchange import Alone, Exchange
from headwater.maintain.interrupts import Interrupts
from headwater.plan.access import Access
from headwater.plan.execute import Executor, Sink
from headwater.plan.order import Planner
from headwater.plan.steps import Ints, Plan
from headwater.rules.checked import Absent, CheckedRule, Premise, RelationInfo, Stratum, placed
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.spectator import Spectator

if TYPE_CHECKING:
    from headwater.maintain.small_rounds import SmallRounds

__all__ = [
    "NO_CHANGE",
    "NO_ROWS",
    "Delta",
    "Left",
    "Redefined",
    "Rows",
    "RuleSet",
    "Sizes",
    "Workspace",
    "quiet",
]


class Delta(NamedTuple):
    """How a relation differs from what it was when the version began."""

    lost: Rows
    gained: Rows


NO_CHANGE = Delta(NO_ROWS, NO_ROWS)


class Left(NamedTuple):
    """What will be left of a relation: how many rows, about, and whether no two derivations will give the same."""

    rows: int
    distinct: bool


FEWEST_ROWS_SAMPLED = 1000
"""From how many rows on it is worth looking at some, to know how many there are of each key."""
FEWEST_ROWS_LOOKED_AFTER = 4096
"""After how many new rows in a round it is worth looking whether sizes have changed much."""


class Sizes:
    """How large relations are now: what `headwater.plan.order` chooses by."""

    def __init__(self, relations: Mapping[str, Relation]):
        self._relations = relations
        self._sampled: dict[tuple[str, tuple[int, ...], int], float] = {}
        """Rows per key, by relation, key and about how many rows there were."""

    def size(self, relation: str) -> int:
        """How many rows are stored."""
        return self._relations[relation].stored

    def fanout(self, relation: str, key: tuple[int, ...]) -> float:
        """Rows per key: known where an index exists, else estimated from some of the rows; of a small relation it is
        guessed as if columns were independent."""
        found = self._relations[relation]
        index, rows = found.indexes.get(key), found.stored
        if (
            found.selected and found.indexes
        ):  # most rows are only candidates: there is one row a group, or a few
            rows = min(rows, max(index.keys for index in found.indexes.values()))
        if index is not None and index.keys and key not in found.waiting:
            return rows / index.keys
        if rows < FEWEST_ROWS_SAMPLED or not key or found.selected:
            return float(rows ** (1 - len(key) / max(1, found.arity)))
        name = (relation, key, rows.bit_length())
        if name not in self._sampled:
            self._sampled[name] = rows_per_key(found, key)
        return self._sampled[name]


class RoundBuffers(NamedTuple):
    """Room for bindings on their way through a rule, for choosing best rows, and for some values of them."""

    bindings: Ints
    beating: Ints
    values: Ints
    addresses: tuple[int, int, int]

    @classmethod
    def make(cls) -> RoundBuffers:
        bindings = np.empty((2 * MOST_LEVELS, BINDINGS_A_LEVEL * WIDEST), np.int64)
        beating = np.empty((4 * MOST_CHOSEN + 1, 2), np.int64)
        values = np.empty(SAMPLE, np.int64)
        return cls(bindings, beating, values, (address(bindings), address(beating), address(values)))


class Pauses:
    """What happens between pieces of work: an interrupt is raised, and who looks on is told."""

    def __init__(self, interrupts: Interrupts):
        self.interrupts = interrupts
        self.spectator = Spectator()

    def __call__(self) -> None:
        self.interrupts.check()
        self.spectator.look()


class Workspace:
    """The relations of a database by name, and one clock that never goes back.

    Nothing in it refers back to it: a database that nobody holds is gone at once, with its memory.
    """

    def __init__(
        self,
        codec: Codec,
        functions: Functions,
        max_rounds: int,
        at_max_rounds: str,
        interrupts: Interrupts | None = None,
    ):
        self.codec = codec
        self.budget = codec.budget
        self.functions = functions
        self.max_rounds = max_rounds
        self.stops = at_max_rounds == "stop"
        self.pause = Pauses(interrupts or Interrupts())
        self.exchange: Exchange = Alone()
        self.cores = 1
        """How many cores a large run of a rule may take."""
        self.relations: dict[str, Relation] = {}
        self.infos: dict[str, RelationInfo] = {}
        self.clock = 0
        self.resized = 0
        """Grows whenever a relation has become one of another order of magnitude, or is another one."""
        self._magnitudes: dict[str, int] = {}
        self.sizes = Sizes(self.relations)
        self.executor = Executor(self.relations, codec, functions, self.pause)
        self.planner = Planner(codec, functions, self.sizes)
        self._small_buffers: RoundBuffers | None = None

    def small_buffers(self) -> RoundBuffers:
        """What small rounds are computed in."""
        if self._small_buffers is None:
            self._small_buffers = RoundBuffers.make()
        return self._small_buffers

    @property
    def interrupts(self) -> Interrupts:
        """What stops long work."""
        return self.pause.interrupts

    @property
    def spectator(self) -> Spectator:
        """Who looks on."""
        return self.pause.spectator

    def before(self, relations: Mapping[str, Relation], infos: dict[str, RelationInfo]) -> Workspace:
        """The same with relations as they were once: for rules that are gone."""
        found = Workspace(
            self.codec, self.functions, self.max_rounds, "stop" if self.stops else "raise", self.interrupts
        )
        found.relations.update(relations)
        found.infos = infos
        return found

    def look_at_size(self, relation: str) -> None:
        """Take note of how large a relation has become: rules that read it may need other plans. See `magnitude`."""
        now = int(self.relations[relation].sizes[1]).bit_length() // 3
        if self._magnitudes.get(relation) != now:
            self._magnitudes[relation] = now
            self.resized += 1

    def visible_rows(self, relation: str) -> Rows:
        """The numbers of all rows that premises see now: a scan."""
        found = self.relations[relation]
        return found.earlier_rows() if self.executor.pinned.get(relation) is OLD else found.live_rows()


def magnitude(relation: Relation) -> int:
    """The order of magnitude of a relation: plans are for such."""
    return int(relation.sizes[1]).bit_length() // 3


MOST_PLANS_KEPT = 8
"""For how many different sizes of what it reads a plan of a rule is kept."""


ROUNDS_OF_A_PASS = 2
"""One in which rows go, and one in which rows come."""


class RuleSet:
    """A stratum's rules with their plans, which are made on first use and again when sizes have changed much: from
    one version to the next, or in a round with very many new rows.

    A plan is for sizes of a certain order of magnitude. Those that were made before are kept: tables that grow from
    nothing in every version come back to the same sizes.
    """

    def __init__(self, workspace: Workspace, stratum: Stratum):
        self.workspace = workspace
        self.stratum = stratum
        self.own = frozenset(stratum.relations)
        self.rules = stratum.rules
        self.lower: list[tuple[CheckedRule, int, str, bool]] = []
        self.recursive: list[tuple[CheckedRule, int, str]] = []
        self.demanded = {
            rule.label: Demanded(workspace.executor, workspace.planner, rule, self.own, self.known)
            for rule in stratum.rules
            if rule.aggregate is not None and rule.aggregate.demand is not None
        }
        for rule in stratum.rules:
            for position, item in enumerate(rule.body):
                if isinstance(item, Premise) and item.relation in self.own:
                    self.recursive.append((rule, position, item.relation))
                elif isinstance(item, Premise | Absent) and rule.label not in self.demanded:
                    self.lower.append((rule, position, item.relation, isinstance(item, Absent)))
        self.recurring = frozenset(rule.label for rule, _, _ in self.recursive)
        """Labels of the rules that read relations of the stratum itself."""
        self.inputs = {relation for _, _, relation, _ in self.lower}
        self.inputs |= {relation for demanded in self.demanded.values() for _, relation in demanded.lower}
        self.read = {
            rule.label: tuple({item.relation for item in rule.body if isinstance(item, Premise)})
            for rule in self.rules
        }
        """What the premises of each rule read."""
        self.denied = {item.relation for rule in self.rules for item in rule.body if isinstance(item, Absent)}
        self._plans: dict[tuple[str, Hashable], Plan] = {}
        """Those in use."""
        self._by_sizes: dict[tuple[str, Hashable], dict[tuple[int, ...], Plan]] = {}
        self._read = tuple(frozenset[str]().union(*self.read.values()))
        self._magnitudes: list[int] = []
        """How large the relations that rules read were when this was last looked at, about."""
        self._looked_at = -1
        """What `resized` of the workspace was then."""
        self.small: SmallRounds | None = None
        """What has run small rounds of these rules."""

    @property
    def alone(self) -> bool:
        """Whether the stratum can be followed in one pass, if no row of it depends on another: all rows are here, and
        no round is one too many."""
        workspace = self.workspace
        return workspace.exchange.alone and not self.demanded and workspace.max_rounds > ROUNDS_OF_A_PASS

    def take_plans(self, earlier: RuleSet) -> None:
        """Take over the plans of rules that are the very same, in a stratum of the same relations."""
        if self.own != earlier.own:
            return
        theirs = {id(rule) for rule in earlier.rules}
        same = {rule.label for rule in self.rules if id(rule) in theirs}
        self._by_sizes |= {key: plans for key, plans in earlier._by_sizes.items() if key[0] in same}

    def plan(self, rule: CheckedRule, position: int) -> Plan:
        """The plan from a delta at `position`, or from the head for position -1."""
        if self._looked_at == self.workspace.resized:
            known = self._plans.get((rule.label, position))
            if known is not None:
                return known
        planner = self.workspace.planner
        if position < 0:
            return self.known(rule, position, lambda: planner.goal(rule, self.own))
        return self.known(rule, position, lambda: planner.delta(rule, position, self.own))

    def known(self, rule: CheckedRule, name: Hashable, make: Callable[[], Plan]) -> Plan:
        """A plan of a rule by some name: made on first use, and again when sizes have changed much."""
        if self._looked_at != self.workspace.resized:
            self._forget_plans()
        known = self._plans.get((rule.label, name))
        if known is None:
            relations = self.workspace.relations
            sizes = tuple(magnitude(relations[read]) for read in self.read[rule.label])
            made = self._by_sizes.setdefault((rule.label, name), {})
            known = made.get(sizes)
            if known is None:
                if len(made) >= MOST_PLANS_KEPT:
                    made.clear()
                known = made[sizes] = make()
            self._plans[(rule.label, name)] = known
        return known

    def _forget_plans(self) -> None:
        """Look for relations whose sizes have changed much: rules that read one get other plans."""
        relations = self.workspace.relations
        now = [magnitude(relations[name]) for name in self._read]
        if now != self._magnitudes:
            same = len(now) == len(self._magnitudes)
            other = {name for i, name in enumerate(self._read) if not same or now[i] != self._magnitudes[i]}
            stale = {label for label, reads in self.read.items() if not other.isdisjoint(reads)}
            self._plans = {key: plan for key, plan in self._plans.items() if key[0] not in stale}
            self._magnitudes = now
        self._looked_at = self.workspace.resized

    def grown(self, rows: int) -> None:
        """So many rows have come in since plans were last used: look again whether sizes have changed much."""
        if rows >= FEWEST_ROWS_LOOKED_AFTER:
            self._looked_at = -1

    def run(
        self,
        rule: CheckedRule,
        position: int,
        rows: Rows,
        access: Access,
        sink: Sink,
        beside: SecondThread | None = None,
    ) -> int:
        """Run a rule from the given rows; return the number of derivations found. Without rows, no plan is made."""
        if not rows.shape[0]:
            return 0
        demanded = self.demanded.get(rule.label)
        try:
            if demanded is not None and position >= 0:
                return demanded.run(rows, access, sink)
            if demanded is not None:
                codes = self.workspace.relations[rule.relation].codes(rows)
                return demanded.ask(codes, access, lambda found: sink(_numbered(rows, found)))
            plan = self.plan(rule, position)
            return self.workspace.executor.run(plan, rule.types, rows, access, sink, beside)
        except (EvaluationError, OutOfMemory) as error:
            raise placed(error, rule) from error

    def ask(self, rule: CheckedRule, tuples: Ints, access: Access, sink: Sink) -> int:
        """Find derivations of the given rows, which need not be stored here; origins are their places."""
        demanded = self.demanded.get(rule.label)
        try:
            if demanded is not None:
                return demanded.ask(tuples, access, sink)
            return self.workspace.executor.ask(self.plan(rule, -1), rule.types, tuples, access, sink)
        except (EvaluationError, OutOfMemory) as error:
            raise placed(error, rule) from error

    def differing(self, demanded: Demanded, deltas: Mapping[str, Delta]) -> Differing:
        """Which values of an aggregate by demand the changes below make other ones."""
        changed = {
            relation: np.concatenate((deltas[relation].lost, deltas[relation].gained))
            for _, relation in demanded.lower
            if relation in deltas
        }
        try:
            return demanded.differing(changed)
        except (EvaluationError, OutOfMemory) as error:
            raise placed(error, demanded.rule) from error

    def starts(self) -> Iterator[tuple[CheckedRule, int]]:
        """For each rule without a premise in the recursion, the premise to start a full evaluation from."""
        for rule in self.rules:
            if not any(isinstance(item, Premise) and item.relation in self.own for item in rule.body):
                yield rule, self.smallest_premise(rule)

    def smallest_premise(self, rule: CheckedRule) -> int:
        """The position of the premise to find all derivations of a rule from."""
        premises = [(i, item.relation) for i, item in enumerate(rule.body) if isinstance(item, Premise)]
        return min(premises, key=lambda entry: self.workspace.sizes.size(entry[1]))[0]

    def premise_relation(self, rule: CheckedRule, position: int) -> Relation:
        """The relation of the premise at a position."""
        return self.workspace.relations[self._premise(rule, position).relation]

    def premise_rows(self, rule: CheckedRule, position: int) -> Rows:
        """All rows that the premise at a position sees now."""
        return self.workspace.visible_rows(self._premise(rule, position).relation)

    @staticmethod
    def _premise(rule: CheckedRule, position: int) -> Premise:
        item = rule.body[position]
        assert isinstance(item, Premise)
        return item


@dataclass(frozen=True)
class Redefined:
    """Rules that a stratum has gained (by their labels) and lost, if any, since its rows were derived.

    `merged` are the strata that have become this one, each by its relations, in the order in which they were
    derived; there are two or more, or none.
    """

    gained: frozenset[str]
    lost: RuleSet | None
    merged: tuple[tuple[str, ...], ...] = ()


def quiet(exchange: Exchange, rules: RuleSet, redefined: Redefined | None) -> bool:
    """Whether other nodes need not hear of a stratum, nor of the rules that it has lost."""
    lost = None if redefined is None else redefined.lost
    return exchange.quiet(rules.rules) and (lost is None or exchange.quiet(lost.rules, before=True))


def _numbered(rows: Rows, places: Ints) -> Ints:
    """Origins as row numbers, from origins as places in a list of rows."""
    return np.column_stack((rows[places[:, 0]].astype(np.int64), places[:, 1:]))
