"""Propagation and filtration (Harrison and Dietrich 1994): exactly the rows that enter and leave a view,
without it.

A round takes rows that are known to have come or gone (of relations below, or of the stratum itself) through
every rule that reads them, all at once. What comes out are *potential* updates: rows that hold in the new
state, or held in the old one. Each is filtered once, by asking the other state, and only those that do not hold
there go into the next round.

That is all that is needed. A row that is new has a derivation in the new state, and not all that it rests on
was there before: something in it came (or, negated, went). Take the first such row that was missed, in the
order in which rows are derived; what came below it was found, and so was the row. The same holds in the old
state for rows that are gone. With min and max it is groups that differ or do not. The groups that were missed
rest on nothing that differs, but on each other; so they have the same best rows before and after.

Against figure 1 of the paper:
- rounds are breadth first, a set of rows for each rule and premise, where the paper goes depth first;
- figure 3 shows three calls of `propagate_filter`. By the procedure as written there is a fourth, which takes
  the tc(b, e_i) on and finds nothing: line 11 is reached whenever actual updates were found;
- in figure 4 the type that is switched for a negated premise stays switched for the premises after it. The type
  is meant to be switched for that premise only;
- for a negated premise that came back, the rest of the rule is asked in the state of the type after the switch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwater.errors import EvaluationError
from headwater.maintain.strategies.propagation.memo import Grown, Memo, Seen
from headwater.maintain.strategies.propagation.queries import Propagating, Sign, StratumQueries
from headwater.plan.steps import Ints
from headwater.version.row_change import without
from headwater.version.statistics import PropagationStatistics

News = dict[tuple[str, Sign], Ints]
"""Rows that came or went, by relation."""


@dataclass(frozen=True)
class PropagationCall:
    """One rule from one set of updates, as figure 3 has it: the updates, the approximation, and what of it was
    disqualified and is actual; rows that another call found first are not among the last two."""

    rule: str
    position: int | None
    sign: Sign
    relation: str
    updates: Ints
    approximation: Ints
    disqualified: Ints
    actual: Ints


@dataclass
class Difference:
    """The rows of a relation that went and came."""

    lost: Ints
    gained: Ints


@dataclass(frozen=True)
class RoundLimit:
    """How many rounds there may be, and whether it is an error if there are more."""

    rounds: int
    stops: bool

    def reached(self, relations: Sequence[str]) -> None:
        """Refuse to go on, unless what was found so far is enough."""
        if not self.stops:
            raise EvaluationError(
                "no-fixpoint",
                f"the changes of {', '.join(relations)} did not come to rest in {self.rounds:,} rounds",
                hint="bound what the recursion computes, use min<> or max<> for costs, or raise max_rounds;"
                " at_max_rounds='stop' keeps what was found by then",
            )


@dataclass
class Propagation:
    """One stratum in one version. `calls`, if it is given, gets what figure 3 shows."""

    memo: Memo
    queries: StratumQueries
    statistics: PropagationStatistics
    arities: Mapping[str, int]
    """How many codes rows of each relation have."""
    limit: RoundLimit
    calls: list[PropagationCall] | None = None
    stopped: bool = False
    """Whether the limit of rounds was reached: rows may be missing."""

    def __post_init__(self) -> None:
        queries = self.queries
        self._groups = {group.relation: group for group in queries.grouped}
        self._found: dict[str, dict[Sign, list[Ints]]] = {
            name: {sign: [] for sign in Sign} for name in queries.relations
        }
        self._seeds: dict[tuple[str, Sign | None], str] = {
            (g.relation, None): g.seed for g in queries.grouped
        }
        self._seeds |= {
            (filtering.relation, filtering.sign): filtering.seed for filtering in queries.filtering
        }
        self._goals = {
            (filtering.relation, filtering.sign): filtering.goal for filtering in queries.filtering
        }
        self._met: dict[tuple[str, Sign | None], Seen] = {
            (name, sign): Seen(self.arities[name]) for name in queries.relations for sign in Sign
        }
        self._met |= {(g.relation, None): Seen(len(g.columns)) for g in queries.grouped}

    def run(self, news: News) -> dict[str, Difference]:
        """What happens to the stratum's relations when this has happened to those below, and to its rules."""
        first = True
        while news or first:
            if self.statistics.rounds >= self.limit.rounds:
                self.limit.reached(self.queries.relations)
                self.stopped = True
                break
            news = self._round(news, first)
            first = False
        self.statistics.memo_rows = self.memo.rows
        return {
            name: Difference(
                _together(self._found[name][Sign.REMOVED], self.arities[name]),
                _together(self._found[name][Sign.ADDED], self.arities[name]),
            )
            for name in self.queries.relations
        }

    def _round(self, news: News, first: bool) -> News:
        """Propagate what is new, filter what may follow, and say what does."""
        asking: list[Propagating] = []
        seeds: dict[str, Ints] = {}
        for query in self.queries.propagating:
            if query.position is None:
                rows = np.zeros((1, 0), np.int64) if first else None
            else:
                rows = news.get((query.premise, query.premise_sign))
            if rows is not None and rows.shape[0]:
                asking.append(query)
                seeds[query.seed] = rows
        if not asking:
            return {}
        self.statistics.calls += len(asking)
        self.statistics.rounds += 1
        answered = self._ask(seeds)
        potential: dict[tuple[str, Sign], list[Ints]] = {}
        for query in asking:
            rows = answered.of(query.goal)
            if rows is not None:
                potential.setdefault((query.relation, query.sign), []).append(rows)
        actual, disqualified = self._filter(potential)
        if self.calls is not None:
            self._note(asking, seeds, answered, actual, disqualified)
        return actual

    def _ask(self, seeds: Mapping[str, Ints]) -> Grown:
        self.statistics.queries += 1
        return self.memo.ask(seeds)

    def _filter(self, potential: Mapping[tuple[str, Sign], list[Ints]]) -> tuple[News, News]:
        """Of the rows that may have come or gone and were not met before, those that did, and the others."""
        fresh: dict[tuple[str, Sign | None], Ints] = {}
        for (name, type_), found in potential.items():
            key = (name, None if name in self._groups else type_)
            rows = self._met[key].fresh(np.concatenate(found))
            if rows.shape[0]:
                fresh[key] = np.concatenate((fresh[key], rows)) if key in fresh else rows
        seeds = {self._seeds[key]: rows for key, rows in fresh.items() if key in self._seeds}
        answered = self._ask(seeds) if seeds else Grown({}, {})
        self.statistics.potential += sum(rows.shape[0] for rows in fresh.values())
        self.statistics.filtered += sum(rows.shape[0] for rows in answered.seeds.values())
        actual: News = {}
        disqualified: News = {}
        for (name, sign), rows in fresh.items():
            if sign is None:
                self._compare(name, answered, actual)
                continue
            held = answered.of(self._goals.get((name, sign)))
            if held is not None:
                disqualified[name, sign] = held
                self.statistics.disqualified += held.shape[0]
                rows = without(rows, held)
            if rows.shape[0]:
                actual[name, sign] = rows
        for (name, type_), rows in actual.items():
            self._found[name][type_].append(rows)
            if type_ is Sign.ADDED:
                self.statistics.added += rows.shape[0]
            else:
                self.statistics.removed += rows.shape[0]
        return actual, disqualified

    def _compare(self, name: str, answered: Grown, actual: News) -> None:
        """The rows of groups that were not asked for before, in both states."""
        group = self._groups[name]
        before, after = answered.of(group.before), answered.of(group.after)
        for sign, one, other in ((Sign.REMOVED, before, after), (Sign.ADDED, after, before)):
            if one is not None:
                rows = one if other is None else without(one, other)
                if rows.shape[0]:
                    actual[name, sign] = rows

    def _note(
        self,
        asking: list[Propagating],
        seeds: Mapping[str, Ints],
        answered: Grown,
        actual: News,
        disqualified: News,
    ) -> None:
        """Tell calls apart: what two of them found belongs to the first."""
        assert self.calls is not None
        taken = {key: Seen(rows.shape[1]) for news in (actual, disqualified) for key, rows in news.items()}
        for query in asking:
            key, found = (query.relation, query.sign), answered.of(query.goal)
            if found is None:
                found = np.empty((0, self.arities[query.relation]), np.int64)
            split = []
            for news in (disqualified, actual):
                rows = news.get(key, found[:0])
                if rows.shape[1] == found.shape[1]:
                    rows = rows[_among(rows, found)]
                split.append(taken[key].fresh(rows) if key in taken else rows)
            self.calls.append(
                PropagationCall(
                    query.rule, query.position, query.sign, query.relation, seeds[query.seed], found, *split
                )
            )


def _among(rows: Ints, others: Ints) -> npt.NDArray[np.bool_]:
    seen = Seen(rows.shape[1])
    seen.fresh(others)
    return seen.has(rows)


def _together(rows: list[Ints], arity: int) -> Ints:
    return np.concatenate(rows) if rows else np.empty((0, arity), np.int64)
