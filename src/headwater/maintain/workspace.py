"""What all strata share: the relations, the clock, and the means to plan and run rules over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwater.errors import EvaluationError, OutOfMemory
from headwater.kernel.relation import Relation
from headwater.maintain.exchange import Alone, Exchange
from headwater.maintain.interrupts import Interrupts
from headwater.plan.execute import Access, Executor, Sink
from headwater.plan.order import Planner
from headwater.plan.steps import Ints, Plan
from headwater.rules.checked import Absent, CheckedRule, Premise, RelationInfo, Stratum
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.values.layout import Layout

Rows = npt.NDArray[np.int32]
NO_ROWS: Rows = np.empty(0, np.int32)


@dataclass(frozen=True)
class Delta:
    """How a relation differs from what it was when the version began."""

    lost: Rows
    gained: Rows


NO_CHANGE = Delta(NO_ROWS, NO_ROWS)


class Workspace:
    """The relations of a database by name, and one clock that never goes back.

    Implements `headwater.plan.order.Statistics`.
    """

    def __init__(self, codec: Codec, functions: Functions, max_rounds: int, at_max_rounds: str):
        self.codec = codec
        self.budget = codec.budget
        self.functions = functions
        self.max_rounds = max_rounds
        self.stops = at_max_rounds == "stop"
        self.interrupts = Interrupts()
        self.exchange: Exchange = Alone()
        self.relations: dict[str, Relation] = {}
        self.infos: dict[str, RelationInfo] = {}
        self.clock = 0
        self.version = 0
        self.executor = Executor(self.relations, codec, functions, self.interrupts.check)
        self.planner = Planner(codec, functions, self)

    def size(self, relation: str) -> int:
        """How many rows are stored."""
        return self.relations[relation].stored

    def layout(self, relation: str) -> Layout | None:
        """The layout of a relation that is not plain."""
        info = self.infos.get(relation)
        return None if info is None or info.layout.plain else info.layout

    def fanout(self, relation: str, key: tuple[int, ...]) -> float:
        """Rows per key: known where an index exists, else guessed as if columns were independent."""
        found = self.relations[relation]
        index = found.indexes.get(key)
        if index is not None and index.keys:
            return found.stored / index.keys
        return float(found.stored ** (1 - len(key) / max(1, found.arity)))


def placed(error: EvaluationError | OutOfMemory, rule: CheckedRule) -> EvaluationError | OutOfMemory:
    """The error, with the rule that was running if it does not say where it happened."""
    if error.place is not None:
        return error
    message = f"{error.message}, in rule {rule.label}"
    return type(error)(error.code, message, place=rule.place, hint=error.hint)


@dataclass(frozen=True)
class KnownPlan:
    """A plan, the sizes (their orders of magnitude) it was made for, and the version that last checked them."""

    plan: Plan
    sizes: tuple[int, ...]
    version: int


class RuleSet:
    """A stratum's rules with their plans, which are made on first use and again when sizes have changed much."""

    def __init__(self, workspace: Workspace, stratum: Stratum):
        self.workspace = workspace
        self.stratum = stratum
        self.own = frozenset(stratum.relations)
        self.rules = stratum.rules
        self.lower: list[tuple[CheckedRule, int, str, bool]] = []
        self.recursive: list[tuple[CheckedRule, int, str]] = []
        for rule in stratum.rules:
            for position, item in enumerate(rule.body):
                if isinstance(item, Premise) and item.relation in self.own:
                    self.recursive.append((rule, position, item.relation))
                elif isinstance(item, Premise | Absent):
                    self.lower.append((rule, position, item.relation, isinstance(item, Absent)))
        self.inputs = {relation for _, _, relation, _ in self.lower}
        self._plans: dict[tuple[str, int], KnownPlan] = {}
        self._reads = {
            rule.label: tuple(item.relation for item in rule.body if isinstance(item, Premise))
            for rule in self.rules
        }

    def plan(self, rule: CheckedRule, position: int) -> Plan:
        """The plan from a delta at `position`, or from the head for position -1."""
        known = self._plans.get((rule.label, position))
        if known is not None and known.version == self.workspace.version:
            return known.plan
        sizes = tuple(self.workspace.size(name).bit_length() // 3 for name in self._reads[rule.label])
        if known is None or known.sizes != sizes:
            planner = self.workspace.planner
            plan = planner.goal(rule, self.own) if position < 0 else planner.delta(rule, position, self.own)
        else:
            plan = known.plan
        self._plans[(rule.label, position)] = KnownPlan(plan, sizes, self.workspace.version)
        return plan

    def run(self, rule: CheckedRule, position: int, rows: Rows, access: Access, sink: Sink) -> int:
        """Run a rule from the given rows; return the number of derivations found."""
        try:
            return self.workspace.executor.run(self.plan(rule, position), rule.types, rows, access, sink)
        except (EvaluationError, OutOfMemory) as error:
            raise placed(error, rule) from error

    def ask(self, rule: CheckedRule, tuples: Ints, access: Access, sink: Sink) -> int:
        """Find derivations of the given rows, which need not be stored here; origins are their places."""
        try:
            return self.workspace.executor.ask(self.plan(rule, -1), rule.types, tuples, access, sink)
        except (EvaluationError, OutOfMemory) as error:
            raise placed(error, rule) from error

    def starts(self) -> Iterator[tuple[CheckedRule, int]]:
        """For each rule without a premise in the recursion, the premise to start a full evaluation from."""
        for rule in self.rules:
            premises = [(i, item) for i, item in enumerate(rule.body) if isinstance(item, Premise)]
            if any(item.relation in self.own for _, item in premises):
                continue
            yield rule, min(premises, key=lambda entry: self.workspace.size(entry[1].relation))[0]
