"""Actions in the same version: what they do to base relations makes further events, until nothing is left to do.

A version begins with the transition that its caller asked for. All actions whose events are among the changes of a
transition are worked out over the state that it leads to. What they delete and insert together, deletes first, is the
next transition. So an event is seen once, by each rule, in the transition after it; rules see the same state whatever
their order; and a row that is both deleted and inserted in one transition is there afterwards.

When nothing is left to do, refusals look at what the version did as a whole: rows that came and went again are no
reason to refuse it. A version that never comes to rest is refused: when it comes back to where it was, or after
`most` transitions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headwater.active.rules import ArmedAction, armed_actions
from headwater.catalog import Catalog
from headwater.errors import DataError, EvaluationError
from headwater.language.datalog.active import VALUE
from headwater.local.runner import Runner
from headwater.maintain.goals import Means
from headwater.plan.steps import Ints
from headwater.rules.checked import Absent, Premise, RelationInfo
from headwater.values.codec import Codec, null_error
from headwater.values.scalars import show
from headwater.version.row_change import RowChange
from headwater.version.version import Version

MOST_RULES_TOLD = 5
"""Rules that are named where too many acted one after another."""
MOST_ROWS_TOLD = 5
"""Rows that a refusal names."""


@dataclass(frozen=True)
class Transition:
    """Rows to delete and insert, by base relation; and how many of them each rule asks for."""

    deletes: Mapping[str, Ints]
    inserts: Mapping[str, Ints]
    rules: Mapping[str, int] = field(default_factory=dict)

    def same_as(self, other: Transition) -> bool:
        """Whether the same is asked for."""
        return _same(self.deletes, other.deletes) and _same(self.inserts, other.inserts)


@dataclass(frozen=True)
class Cascade:
    """The active rules of a catalog that act in the same version."""

    catalog: Catalog
    actions: tuple[ArmedAction, ...]
    most: int = 1000

    @staticmethod
    def of(catalog: Catalog, most: int) -> Cascade:
        """Check all active rules; refuses those that do not fit what is defined."""
        actions = armed_actions(catalog) if catalog.active else ()
        return Cascade(catalog, tuple(one for one in actions if one.action.coupling == "now"), most)

    def run(
        self, version: Version, runner: Runner, means: Means, unseen: Iterable[str] = ()
    ) -> tuple[Transition, ...]:
        """Let the rules act on an open version whose first transition is done, and say what they did. Changes of
        the relations `unseen` in that transition are no events."""
        if not self.actions:
            return ()
        seen = {name: change for name, change in version.changes.items() if name not in set(unseen)}
        course = _Course(self, runner)
        changes: Mapping[str, RowChange] = seen
        while (asked := self._asked(changes, runner, means)) is not None:
            runner.interrupts.check()
            course.check(asked)
            version.statistics.transitions += 1
            for rule, rows in asked.rules.items():
                version.statistics.actions[rule] = version.statistics.actions.get(rule, 0) + rows
            changes = runner.proceed(version, asked.deletes, asked.inserts)
        if course.done:
            version.changes = runner.changes()
            seen = {name: change for name, change in version.changes.items() if name not in set(unseen)}
        self._refuse(seen, runner, means)
        return tuple(course.done)

    def _asked(self, changes: Mapping[str, RowChange], runner: Runner, means: Means) -> Transition | None:
        """What the rules do about the changes of a transition."""
        deletes: dict[str, list[Ints]] = {}
        inserts: dict[str, list[Ints]] = {}
        rules: dict[str, int] = {}
        for one in self.actions:
            if one.target is None or not one.armed.concerns(changes):
                continue
            rows = one.armed.fired(changes, runner, means).rows
            if rows.shape[0]:
                if one.action.kind == "insert":
                    _refuse_nulls(one, rows, means.codec)
                rules[one.id] = rules.get(one.id, 0) + rows.shape[0]
                asked = inserts if one.action.kind == "insert" else deletes
                asked.setdefault(one.target.name, []).append(rows)
        return Transition(_joined(deletes), _joined(inserts), rules) if rules else None

    def _refuse(self, changes: Mapping[str, RowChange], runner: Runner, means: Means) -> None:
        for one in self.actions:
            if one.action.kind == "refuse" and one.armed.concerns(changes):
                fired = one.armed.fired(changes, runner, means)
                if fired:
                    raise _refusal(one, fired.inserted, fired.deleted)


@dataclass
class _Course:
    """The transitions of one version so far, and whether they lead anywhere."""

    cascade: Cascade
    runner: Runner
    done: list[Transition] = field(default_factory=list)
    _mark: tuple[Transition, Mapping[str, tuple[Ints, Ints]]] | None = None

    def check(self, asked: Transition) -> None:
        """Take note of one more; refuse it if there have been too many, or it was done in the same state before.

        A state is remembered at the first, second, fourth, eighth ... transition: a circle is found within about
        three times its length, and comparing costs little beside the transitions themselves.
        """
        number = len(self.done) + 1
        if self._mark is not None and asked.same_as(self._mark[0]):
            now = self._state()
            if now.keys() == self._mark[1].keys() and all(
                np.array_equal(one, other)
                for name in now
                for one, other in zip(now[name], self._mark[1][name], strict=True)
            ):
                raise self._endless(asked, "without end, and come back to the same rows")
        if number > self.cascade.most:
            raise self._endless(asked, f"more than {self.cascade.most:,} times in a row")
        if number & (number - 1) == 0:
            self._mark = asked, self._state()
        self.done.append(asked)

    def _state(self) -> dict[str, tuple[Ints, Ints]]:
        """What differs from before the version in base relations that actions change, in order."""
        changes, found = self.runner.changes(), {}
        for name in {one.target.name for one in self.cascade.actions if one.target is not None}:
            if name in changes:
                found[name] = _sorted(changes[name].lost), _sorted(changes[name].gained)
        return found

    def _endless(self, asked: Transition, how: str) -> EvaluationError:
        circle = _circle([tuple(one.rules) for one in (*self.done, asked)], self.cascade)
        place = next((one.rule.place for one in self.cascade.actions if one.id == circle[0]), None)
        return EvaluationError(
            "cascade",
            f"actions cause each other {how}: {' -> '.join(circle)}",
            place=place,
            hint="give one of them a condition that comes to hold no more; max_cascade is how long they may go on",
        )


def _circle(history: Sequence[tuple[str, ...]], cascade: Cascade) -> list[str]:
    """The shortest circle of rules that cause each other, through one that acted last; without any, the last ones."""
    recent = {rule for rules in history[-2 * len(cascade.actions) :] for rule in rules}
    causes = _causes(cascade)
    best: list[str] = []
    for start in history[-1]:
        found = _way_back(start, {rule: [to for to in causes[rule] if to in recent] for rule in recent})
        if found and (not best or len(found) < len(best)):
            best = found
    return best or [rules[0] for rules in history[-MOST_RULES_TOLD:]]


def _way_back(start: str, causes: Mapping[str, Sequence[str]]) -> list[str]:
    waiting, ways = deque([start]), {start: [start]}
    while waiting:
        rule = waiting.popleft()
        for following in causes[rule]:
            if following == start:
                return [*ways[rule], start]
            if following not in ways:
                ways[following] = [*ways[rule], following]
                waiting.append(following)
    return []


def _causes(cascade: Cascade) -> dict[str, list[str]]:
    """For each rule those whose event its actions can bring about."""
    program = cascade.catalog.program
    readers: dict[str, set[str]] = {}
    for stratum in (*program.strata, *program.virtual):
        for rule in stratum.rules:
            for item in rule.body:
                if isinstance(item, Premise | Absent):
                    readers.setdefault(item.relation, set()).add(rule.relation)
    found: dict[str, list[str]] = {one.id: [] for one in cascade.actions}
    for one in cascade.actions:
        if one.target is None:
            continue
        derived, waiting = set[str](), [one.target.name]
        while waiting:
            more = readers.get(waiting.pop(), set()) - derived
            derived |= more
            waiting += more
        sign = "+" if one.action.kind == "insert" else "-"
        for other in cascade.actions:
            event = other.armed.trigger
            direct = event.relation == one.target.name and event.sign in (sign, "±")
            if (direct or event.relation in derived) and other.id not in found[one.id]:
                found[one.id].append(other.id)
    return found


# ------------------------------------------------------------------ refusing


def _refusal(
    one: ArmedAction, inserted: list[tuple[object, ...]], deleted: list[tuple[object, ...]]
) -> DataError:
    """The error of a refusal: its message for the first rows, and the rows."""
    signed = [("+", row) for row in inserted] + [("-", row) for row in deleted]
    own = len(one.rule.event.args)
    names = [match for match in dict.fromkeys(m[1] for m in VALUE.finditer(one.action.text)) if match]
    messages = dict.fromkeys(
        _message(one.action.text, dict(zip(names, row, strict=False))) for _, row in signed[:MOST_ROWS_TOLD]
    )
    rows = dict.fromkeys(
        f"{sign}{one.rule.event.relation}({', '.join(map(_shown, row[len(row) - own :]))})"
        for sign, row in signed
    )
    told = ", ".join(list(rows)[:MOST_ROWS_TOLD])
    more = len(rows) - MOST_ROWS_TOLD
    return DataError(
        "refused",
        "; ".join(messages),
        place=one.action.place,
        hint=f"rule {one.id} refuses {told}{f' and {more:,} more' if more > 0 else ''}",
    )


def _shown(value: object) -> str:
    return "null" if value is None else show(value)


def _message(text: str, values: Mapping[str, object]) -> str:
    """A message with values for its variables.

    >>> _message("{X} is {{not}} here", {"X": "ann"})
    'ann is {not} here'
    """

    def shown(name: str) -> str:
        value = values[name]
        return value if isinstance(value, str) else _shown(value)

    return VALUE.sub(lambda found: shown(found[1]) if found[1] else found[0][0], text)


def _refuse_nulls(one: ArmedAction, rows: Ints, codec: Codec) -> None:
    """Rows of an action keep to which columns of the base relation take nulls."""
    assert one.target is not None
    info: RelationInfo = one.target
    for column, name in enumerate(info.columns):
        if info.nullable and info.nullable[column]:
            continue
        nulls = codec.specials.nulls(rows[:, column])
        if nulls.any():
            row = int(np.argmax(nulls))
            values = info.layout.decode(codec, rows[row : row + 1])[0]
            raise null_error(values, row, info.owner or info.name, name, info.types[column])


# ------------------------------------------------------------------ rows


def _joined(parts: Mapping[str, list[Ints]]) -> dict[str, Ints]:
    return {name: some[0] if len(some) == 1 else np.concatenate(some) for name, some in parts.items()}


def _sorted(rows: Ints) -> Ints:
    return np.unique(rows, axis=0) if rows.shape[1] else rows


def _same(one: Mapping[str, Ints], other: Mapping[str, Ints]) -> bool:
    return one.keys() == other.keys() and all(
        rows.shape == other[name].shape and np.array_equal(_sorted(rows), _sorted(other[name]))
        for name, rows in one.items()
    )
