"""All strata of one version whose changes are computed without their rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from headwater.maintain.strategies.propagation.irrelevant import Useful
from headwater.maintain.strategies.propagation.memo import MakeEngine, Memo, Stored
from headwater.maintain.strategies.propagation.optimisations import Optimisations
from headwater.maintain.strategies.propagation.parity import wanted
from headwater.maintain.strategies.propagation.propagate import (
    Difference,
    News,
    Propagation,
    PropagationCall,
    RoundLimit,
)
from headwater.maintain.strategies.propagation.queries import Asking, StratumQueries, Wanted
from headwater.maintain.strategies.propagation.sides import Rules, Side, Sides, by_propagation, touched_by
from headwater.plan.goals import GoalProgram, goals_program
from headwater.plan.goals.sideways import Fanout
from headwater.plan.steps import Ints
from headwater.rules.checked import Checked, Premise, Stratum
from headwater.values.generators import GENERATORS
from headwater.version.statistics import StratumStatistics

SEED_ROWS = 0.1
"""A seed comes first in the order of a body: it is what came or went."""


@dataclass(frozen=True)
class Compiled:
    """The queries of all strata that a version may touch, and the tables of the program that answers them."""

    sides: Sides
    strata: Mapping[frozenset[str], StratumQueries]
    program: GoalProgram
    memo: Memo
    useful: dict[str, Useful] = field(default_factory=dict)
    """Which rows each propagating goal can use, of those that were asked."""


def compiled(
    before: Checked,
    after: Checked,
    changed: Collection[str],
    fanout: Fanout,
    make_engine: MakeEngine,
    using: Optimisations,
) -> Compiled:
    """What has to be asked when these relations change, and the program is another one or the same."""
    old, new = Rules.of(before), Rules.of(after)
    touched = touched_by(old, new, changed)
    strata = by_propagation(after)
    written = {name for stratum in strata for name in stratum.relations if name not in new.unstored}
    sides = Sides(old, new, touched, new.unstored | (touched & written))
    asking = Asking(sides, sides.infos())
    known = [name for stratum in strata for name in stratum.relations]
    signs = wanted(old, new, known) if using.parity else Wanted()
    queries: dict[frozenset[str], StratumQueries] = {}
    for number, stratum in enumerate(strata):
        if not touched.isdisjoint(stratum.relations) and not old.infos.keys().isdisjoint(stratum.relations):
            earlier = [rule for name in stratum.relations for rule in old.by_relation.get(name, ())]
            queries[frozenset(stratum.relations)] = asking.stratum(number, stratum, earlier, signs)
    goals = asking.goals
    seeds = set(goals.seeds.values())

    def expected(premise: Premise, bound: set[str]) -> float:
        if premise.relation in seeds:
            return SEED_ROWS
        relation, _ = sides.origin(premise.relation)
        return fanout(Premise(relation, premise.args), bound)

    program = goals_program(
        list(goals.seeds),
        goals.seeds,
        [*sides.rules(), *goals.rules],
        goals.infos,
        expected,
        GENERATORS,
        as_written=not using.order,
    )
    return Compiled(sides, queries, program, Memo(program, sides, make_engine(), goals.seeds))


def whole(
    checked: Checked,
    relations: Collection[str],
    fanout: Fanout,
    stored: Stored,
    make_engine: MakeEngine,
    side: Side = Side.NEW,
) -> dict[str, Ints]:
    """All rows of some relations by their rules, as things are (or were); what is not stored below is evaluated by
    demand."""
    rules = Rules.of(checked)
    sides = Sides(rules, rules, frozenset(), rules.unstored | set(relations), side)
    asking = Asking(sides, sides.infos())
    goals = {name: asking.whole(name) for name in relations}
    made = asking.goals
    program = goals_program(
        list(made.seeds), made.seeds, [*sides.rules(), *made.rules], made.infos, fanout, GENERATORS
    )
    memo = Memo(program, sides, make_engine(), goals.values())
    memo.open(stored)
    found = memo.ask({seed: np.zeros((1, 0), np.int64) for seed in made.seeds.values()})
    return {
        name: rules.infos[name].layout.empty() if (rows := found.of(goal)) is None else rows
        for name, goal in goals.items()
    }


class OpenVersion:
    """The memo tables of a version, and the changes computed so far."""

    def __init__(self, found: Compiled, stored: Stored, limit: RoundLimit):
        self.compiled = found
        self.limit = limit
        self.memo = found.memo
        self.memo.open(stored)
        self.calls: list[PropagationCall] | None = None
        self.failed = False
        """Whether a question was not answered to its end."""

    def queries(self, stratum: Stratum) -> StratumQueries | None:
        """What is asked for a stratum; `None` if the version cannot touch it."""
        return self.compiled.strata.get(frozenset(stratum.relations))

    def run(self, queries: StratumQueries, news: News, cost: StratumStatistics) -> dict[str, Difference]:
        """What happens to the relations of a stratum."""
        assert cost.propagation is not None
        infos = self.compiled.sides.new.infos
        arities = {name: infos[name].layout.code_arity for name in queries.relations}
        propagation = Propagation(self.memo, queries, cost.propagation, arities, self.limit, self.calls)
        self.failed = True
        found = propagation.run(news)
        self.failed, cost.stopped = False, propagation.stopped
        return found
