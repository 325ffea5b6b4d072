"""What the open version does to views that are not stored, and to stored views that read them.

The engine takes all strata in order. Those that have rows follow by their strategies; the others, and those that read
them, are taken here: their changes are computed from both states of what lies below (`strategies/propagation`). What
is stored of them is then changed accordingly. The queries are made once for each set of relations that changes
together, and kept until something else is defined; the tables of what was asked go with the version.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from headwater.events import Stopped
from headwater.kernel.relation import Relation
from headwater.maintain.followed import FollowedProgram, FollowedStratum, redefined
from headwater.maintain.strategies.propagation.constants import as_heard, restricted
from headwater.maintain.strategies.propagation.irrelevant import Useful, useful
from headwater.maintain.strategies.propagation.listening import Audience, Heard
from headwater.maintain.strategies.propagation.optimisations import Optimisations
from headwater.maintain.strategies.propagation.parity import SIGNS
from headwater.maintain.strategies.propagation.propagate import Difference, News, PropagationCall, RoundLimit
from headwater.maintain.strategies.propagation.queries import Propagating, Sign, StratumQueries
from headwater.maintain.strategies.propagation.sides import Rules, Side, touched_by
from headwater.maintain.strategies.propagation.version import Compiled, OpenVersion, compiled, whole
from headwater.maintain.strategies.propagation.words import explained
from headwater.maintain.view import View
from headwater.maintain.workspace import NO_CHANGE, Delta, Workspace
from headwater.plan.steps import Ints
from headwater.rules.checked import Checked, Kind, Premise, Stratum
from headwater.version.row_change import Evaluated, Replacement, RowChange, without
from headwater.version.statistics import PropagationStatistics, StratumStatistics, VersionStatistics

if TYPE_CHECKING:
    from headwater.maintain.engine import Engine


MOST_COMPILED = 32
"""How many sets of relations that change together are prepared for."""


@dataclass
class Before:
    """What the engine knows of the time before the version."""

    checked: Checked
    earlier: Callable[[str], Relation | None]
    """The relation that had a name when the version began."""
    deltas: Mapping[str, Delta]


class UnstoredViews:
    """The views of an engine that are not stored, through its versions."""

    def __init__(self, workspace: Workspace, make_engine: Callable[[], Engine]):
        self.workspace = workspace
        self.make_engine = make_engine
        self.calls: list[PropagationCall] | None = None
        """If it is a list, every call of a rule is put there, with the rows that it took and found."""
        self.using = Optimisations()
        self._compiled: dict[tuple[bool, frozenset[str]], Compiled] = {}
        self._computed: dict[str, Difference] = {}
        self._open: OpenVersion | None = None
        nothing = Checked({}, ())
        self._now = self._last = FollowedProgram(nothing, nothing)
        """The program that is defined, and the one before it, each as its changes are followed."""
        self._heard: FollowedProgram | None = None
        """The program that is defined, as its changes are followed for those who listen."""
        self._taken = self._now
        self._audience: Audience | None = None
        self.supposing = False
        """Whether whoever asked for the version is the one that wants to know all it does."""
        self._views: tuple[View, ...] = ()
        self._before: Before | None = None

    def defined(self, checked: Checked, views: Iterable[View]) -> None:
        """Something else is defined from now on."""
        self._compiled.clear()
        self._views = tuple(views)
        self._last, self._heard = self._now, None
        self._now = self._taken = FollowedProgram(checked, self._as_followed(checked))

    def listen(self, audience: Audience | None) -> None:
        """From now on changes of watched views are computed for these; without any, whole, for whoever may ask."""
        if audience != self._audience:
            self._audience, self._heard = audience, None
            self._compiled.clear()

    def _as_followed(self, checked: Checked, heard: Heard | None = None) -> Checked:
        if self.using.constants:
            return restricted(checked, heard)
        return checked if heard is None else as_heard(checked, heard.plainly())

    def _listened(self) -> FollowedProgram:
        """The program as its changes are followed for those who listen."""
        if self._audience is None or not self._now.checked.followed:
            return self._now
        if self._heard is None:
            checked = self._now.checked
            heard = self._audience.of(checked, self.using.parity)
            followed = self._as_followed(checked, heard) if heard.parts else self._now.followed
            self._heard = FollowedProgram(checked, followed)
        return self._heard

    def _followed(self, checked: Checked) -> Checked:
        """A program as its changes are followed, whoever listens."""
        for known in (self._now, self._last):
            if known.checked is checked:
                return known.followed
        return self._as_followed(checked)

    @property
    def partly(self) -> dict[str, str]:
        """The watched views of which the open version tells those who listen, and nobody else: what they hear of."""
        return self._taken.partly(self._now.followed)

    def close(self) -> None:
        """The version is over."""
        self._computed = {}
        self._before = None
        self._forget()

    def _forget(self) -> None:
        """Let go of the memo tables; if one of them was interrupted, of the engine that holds them as well."""
        if self._open is None:
            return
        if self._open.failed:
            self._compiled.clear()
            self._open.memo.clear()
        else:
            self._open.memo.close()
        self._open = None

    # ------------------------------------------------------------------ a version

    def begin(self, before: Before, after: Checked, *, whole: bool) -> tuple[FollowedStratum, ...] | None:
        """The version has changed base relations, or more of them: what was asked before is not known any more. All
        strata whose changes are followed, in order; `None` if these are the views, all of them stored. If it is a
        `whole` change (one of definitions, say), all that happens to watched views is computed, whoever listens."""
        self.close()
        self._before = before
        self._taken = self._now if whole or self.supposing else self._listened()
        if not after.followed:
            return None
        self._prepare(before, after)
        return self._taken.steps(self._views)

    def _prepare(self, before: Before, after: Checked) -> None:
        """Get ready to ask both states."""
        then = self._followed(before.checked) if before.checked is not after else self._taken.followed
        after = self._taken.followed
        changed = self._changed(before, then, after)
        if changed:
            queries = self._queries(then, after, changed)
            limit = RoundLimit(self.workspace.max_rounds, self.workspace.stops)
            self._open = OpenVersion(queries, self._stored(before), limit)
            self._open.calls = self.calls

    @staticmethod
    def _changed(before: Before, then: Checked, after: Checked) -> frozenset[str]:
        """The relations that are not as they were, whatever else may follow from that."""
        changed = {
            name for name, delta in before.deltas.items() if delta.lost.shape[0] or delta.gained.shape[0]
        }
        return frozenset(changed | redefined(then, after))

    def _queries(self, before: Checked, after: Checked, changed: frozenset[str]) -> Compiled:
        if before is not after:
            return compiled(before, after, changed, self._fanout, self.make_engine, self.using)
        found = self._compiled.get(key := (after is self._now.followed, changed))
        if found is None:
            if len(self._compiled) >= MOST_COMPILED:
                self._compiled.clear()
            found = self._compiled[key] = compiled(
                after, after, changed, self._fanout, self.make_engine, self.using
            )
        return found

    def _fanout(self, premise: Premise, bound: set[str]) -> float:
        if premise.relation not in self.workspace.relations:
            return 1.0
        return self.workspace.planner.fanout(premise, bound)

    def _stored(self, before: Before) -> Callable[[str, Side], Relation]:
        def stored(name: str, state: Side) -> Relation:
            found = before.earlier(name) if state is Side.OLD else self.workspace.relations.get(name)
            if found is None:
                info = self.workspace.infos.get(name)
                arity = info.layout.code_arity if info is not None else 0
                found = Relation(name, arity, room=self.workspace.budget)
            return found

        return stored

    def concerns(self, stratum: Stratum) -> StratumQueries | None:
        """What to ask for a stratum, if the version may change it."""
        return None if self._open is None else self._open.queries(stratum)

    def follow(
        self, stratum: Stratum, queries: StratumQueries, before: Before, statistics: VersionStatistics
    ) -> dict[str, Difference]:
        """Compute what the version does to a stratum's relations."""
        assert self._open is not None
        started = time.perf_counter()
        cost = StratumStatistics(stratum.relations, "propagation", propagation=PropagationStatistics())
        statistics.strata.append(cost)
        touched = self._open.memo.touched
        with self.workspace.spectator.over(cost):
            assert cost.propagation is not None
            news = self._news(queries, before)
            if self.using.irrelevant:
                news = self._relevant(queries, news, before, cost.propagation)
            found = self._open.run(queries, news, cost)
        self._computed.update(found)
        cost.rounds = cost.propagation.rounds
        cost.touched = self._open.memo.touched - touched
        cost.seconds = time.perf_counter() - started
        statistics.events += self._open.memo.events(stratum.relations)
        if cost.stopped:
            statistics.events.append(Stopped(stratum.relations, cost.rounds))
        return found

    def _news(self, queries: StratumQueries, before: Before) -> News:
        """What happened to the relations below."""
        news: News = {}
        own = set(queries.relations)
        for name in {query.premise for query in queries.propagating if query.position is not None} - own:
            found = self._difference(name, before)
            for sign, rows in ((Sign.REMOVED, found.lost), (Sign.ADDED, found.gained)):
                if rows.shape[0]:
                    news[name, sign] = rows
        return news

    def _relevant(
        self, queries: StratumQueries, news: News, before: Before, statistics: PropagationStatistics
    ) -> News:
        """The rows that some rule can use."""
        kept: dict[tuple[str, Sign], npt.NDArray[np.bool_]] = {}
        for query in queries.propagating:
            key = (query.premise, query.premise_sign)
            if query.position is not None and key in news:
                good = self._judge(query, before)(news[key])
                kept[key] = kept[key] | good if key in kept else good
        found: News = {}
        for key, rows in news.items():
            good = kept.get(key, np.zeros(rows.shape[0], np.bool_))
            statistics.irrelevant += int(rows.shape[0] - np.count_nonzero(good))
            if good.any():
                found[key] = np.ascontiguousarray(rows[good])
        return found

    def _judge(self, query: Propagating, before: Before) -> Useful:
        """Which rows a rule can use, of those that one of its premises gained or lost."""
        assert self._open is not None and query.position is not None
        known, sides = self._open.compiled.useful, self._open.compiled.sides
        if query.goal not in known:
            rules = sides.new if query.sign is Sign.ADDED else sides.old
            rule = next(rule for rule in rules.by_relation[query.relation] if rule.label == query.rule)
            if rule.aggregate is not None and rule.aggregate.demand == query.premise:
                return lambda rows: np.ones(rows.shape[0], np.bool_)  # groups without bindings count too
            workspace = self.workspace
            known[query.goal] = useful(rule, query.position, workspace.codec, workspace.functions)
        return known[query.goal]

    def _difference(self, name: str, before: Before) -> Difference:
        found = self._computed.get(name)
        if found is not None:
            return found
        relation, earlier = self.workspace.relations.get(name), before.earlier(name)
        if relation is not None and name in before.checked.unstored.relations:
            return self._since_unstored(name, relation, before)
        if relation is not None and earlier is not None and earlier is not relation:
            replaced = Replacement(earlier, relation)
            return Difference(replaced.lost, replaced.gained)
        delta = before.deltas.get(name, NO_CHANGE)
        if relation is None:
            nothing = np.empty((0, 0), np.int64)
            return Difference(nothing, nothing)
        return Difference(relation.codes(delta.lost), relation.codes(delta.gained))

    def _since_unstored(self, name: str, relation: Relation, before: Before) -> Difference:
        """What happened to a relation that is stored now, and was not when the version began."""
        stored = self._stored(before)
        was = whole(before.checked, (name,), self._fanout, stored, self.make_engine, Side.OLD)[name]
        now = relation.matrix()
        found = self._computed[name] = Difference(without(was, now), without(now, was))
        return found

    def whole(self, checked: Checked, relations: Collection[str]) -> dict[str, Ints]:
        """All rows of relations by their rules, as things are now."""
        stored = self._stored(Before(checked, lambda name: None, {}))
        return whole(checked, relations, self._fanout, stored, self.make_engine)

    def explained(self) -> dict[str, list[str]]:
        """How changes are computed of what is not stored, in lines by relation."""
        followed = self._listened().followed
        return explained(followed, self.using, self._compiled.values()) if followed.followed else {}

    # ------------------------------------------------------------------ what is told

    def told(self, checked: Checked) -> dict[str, RowChange]:
        """What the version did to watched views."""
        infos = self._taken.followed.unstored.relations
        found: dict[str, list[Difference]] = {}
        for name, difference in self._computed.items():
            if name in infos and infos[name].kind is Kind.WATCHED:
                signs = SIGNS[infos[name].told]
                lost = difference.lost if Sign.REMOVED in signs else difference.lost[:0]
                gained = difference.gained if Sign.ADDED in signs else difference.gained[:0]
                if lost.shape[0] or gained.shape[0]:
                    found.setdefault(infos[name].owner or name, []).append(Difference(lost, gained))
        told: dict[str, RowChange] = {name: _joined(parts) for name, parts in found.items()}
        return told | self._new(checked) | self._ended(checked)

    def _ended(self, checked: Checked) -> dict[str, RowChange]:
        """Watched views that have lost all their rules, and are base relations now: all their rows have gone.

        Of a view that is dropped nothing is told: it may be too large to be evaluated, and nobody can listen to it.
        """
        if self._before is None or self._before.checked is checked:
            return {}
        infos = self._before.checked.unstored.relations
        ended = [
            name
            for name, info in infos.items()
            if info.kind is Kind.WATCHED and name in checked.relations and checked.relations[name].base
        ]
        if not ended:
            return {}
        stored = self._stored(self._before)
        was = whole(self._before.checked, ended, self._fanout, stored, self.make_engine, Side.OLD)
        return {name: RowChange(rows, rows[:0]) for name, rows in was.items() if rows.shape[0]}

    def _new(self, checked: Checked) -> dict[str, RowChange]:
        """Watched views that were not there before: all their rows have come."""
        if self._before is None or self._before.checked is checked or not checked.unstored.relations:
            return {}
        known = {**self._before.checked.relations, **self._before.checked.unstored.relations}
        rules = Rules.of(checked)
        return {
            name: Evaluated(self._later(checked, name), rules.below(name))
            for name, info in checked.unstored.relations.items()
            if info.kind is Kind.WATCHED and name not in known and name not in self._computed
        }

    def _later(self, checked: Checked, name: str) -> Callable[[], Ints]:
        """The rows of a view when somebody asks, from the relations that there are now."""
        relations = dict(self.workspace.relations)
        return lambda: whole(
            checked, (name,), self._fanout, lambda stored, _: relations[stored], self.make_engine
        )[name]

    def stored_now(self, name: str, rows: Callable[[], Ints], checked: Checked) -> RowChange | None:
        """What the version did to a view that is stored from now on, and was watched; `None` for others.

        A virtual view has come as a whole: what happened to it before was not told.
        """
        before = self._before
        known = None if before is None else before.checked.unstored.relations.get(name)
        if before is None or known is None or known.kind is Kind.VIRTUAL:
            return None
        changed = self._changed(before, before.checked, checked)
        if name not in touched_by(Rules.of(before.checked), Rules.of(checked), changed):
            return RowChange(rows()[:0], rows()[:0])
        found = self._since_unstored(name, self.workspace.relations[name], before)
        return RowChange(found.lost, found.gained)


def _joined(parts: list[Difference]) -> RowChange:
    """What is heard of one view, by parts that may overlap."""
    if len(parts) == 1:
        return RowChange(parts[0].lost, parts[0].gained)
    return RowChange(
        np.unique(np.concatenate([part.lost for part in parts]), axis=0),
        np.unique(np.concatenate([part.gained for part in parts]), axis=0),
    )


def to_write(relation: Relation, difference: Difference) -> tuple[Ints, Ints]:
    """What to delete from a stored relation, and to insert, so that it differs by this from before the version."""
    lost, gained = map(relation.codes, relation.change())
    delete = np.concatenate((difference.lost, without(gained, difference.gained)))
    return delete, np.concatenate((difference.gained, without(lost, difference.lost)))
