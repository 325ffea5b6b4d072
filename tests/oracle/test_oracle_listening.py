"""Watches with constants, directions and conditions come and go over views that are not stored: whatever is left out
of what is propagated, each is told exactly what it listens to, worked out by clingo and plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_active import MOST_TRANSITIONS, Base, Endless, RandomActive, Refused, random_active, simulated
from oracle_clingo import State, solve
from oracle_lockstep import FIGURES, examples
from oracle_programs import Atom, RandomProgram, _atom, _literal
from oracle_strategies import Version, programs, streams

import headwater as hw
from headwater.active.event import WatchEvent
from headwater.maintain.strategies.propagation.optimisations import WORDS

ON = {"+": "added", "-": "removed", "": "changed"}
Told = list[tuple[set[tuple], set[tuple]]]


class Listener:
    """A random trigger, and what was told of it by each database."""

    def __init__(self, rule: RandomActive, number: int):
        self.rule = rule
        self.name = f"listener {number}"
        self.told: dict[str, Told] = {}

    def attach(self, name: str, db: Any, durable: bool) -> None:
        told = self.told.setdefault(name, [])
        condition = ", ".join(map(_literal, self.rule.condition)) or None
        db.watch(
            _atom(self.rule.event),
            do=self._hear(told),
            on=ON[self.rule.sign],
            when=condition,
            name=self.name,
            coupling="after" if durable else "now",
        )

    @staticmethod
    def _hear(told: Told) -> Callable[[WatchEvent], None]:
        def hear(event: WatchEvent) -> None:
            told.append((set(event.inserted), set(event.deleted)))

        return hear

    def expected(self, before: State, after: State) -> tuple[set[tuple], set[tuple]]:
        """What a version has to tell."""
        name = self.rule.event.relation
        came, went = after[name] - before[name], before[name] - after[name]
        return (
            {row for row in came if self.rule.sign in ("+", "") and self._holds(row, after)},
            {row for row in went if self.rule.sign in ("-", "") and self._holds(row, after)},
        )

    def _holds(self, row: tuple, after: State) -> bool:
        """Whether event and condition hold of a row, over the rows there are afterwards."""
        event = Atom("~row", self.rule.event.args)
        alone = RandomActive("+", event, self.rule.condition, ())
        return bool(alone.bindings({"~row": frozenset()}, {**after, "~row": frozenset([row])}))


class Audience:
    """Databases with the same program, optimised and not, and listeners that come and go."""

    def __init__(
        self, program: RandomProgram, rules: list[RandomActive], optimise: list[str], draw: random.Random
    ):
        self.program, self.draw = program, draw
        derived = [name for name in program.relations if name not in program.base]
        kinds = {
            name: draw.choice(["watched", "watched", "watched", "virtual", "stored"]) for name in derived
        }
        self.watchable = [name for name in program.relations if kinds.get(name) != "virtual"]
        self.rules = [rule for rule in rules if rule.event.relation in self.watchable]
        text = program.text() + "\n".join(rule.text() for rule in self.rules)
        text += "\n" + "".join(f".kind {name} {kind}\n" for name, kind in kinds.items())
        self.databases = {
            "all": hw.connect(max_cascade=MOST_TRANSITIONS, max_rounds=2000),
            "none": hw.connect(max_cascade=MOST_TRANSITIONS, max_rounds=2000, optimise=[]),
            "some": hw.connect(max_cascade=MOST_TRANSITIONS, max_rounds=2000, optimise=optimise),
        }
        for db in self.databases.values():
            db.define(text)
        self.base: Base = {name: frozenset() for name in program.base}
        self.state = solve(program, self.base)
        self.listeners: list[Listener] = []
        self.made = 0

    def come_and_go(self) -> None:
        if self.listeners and self.draw.random() < 0.3:
            gone = self.listeners.pop(self.draw.randrange(len(self.listeners)))
            for db in self.databases.values():
                db.watches[gone.name].stop()
        for _ in range(self.draw.choice([0, 1, 1, 2])):
            rule = random_active(self.program, self.draw)
            if rule.event.relation in self.watchable:
                self.made += 1
                self.listeners.append(Listener(rule, self.made))
                durable = self.draw.random() < 0.7
                for name, db in self.databases.items():
                    self.listeners[-1].attach(name, db, durable)

    def follow(self, version: Version) -> None:
        self.come_and_go()
        delete, insert = version.resolved(self.state)
        rows = {"delete": dict(delete), "insert": dict(insert)}
        asked = {
            name: (known - frozenset(delete.get(name, ()))) | frozenset(insert.get(name, ()))
            for name, known in self.base.items()
        }
        try:
            state, base = simulated(self.program, self.rules, self.state, asked)
        except (Endless, Refused):
            state, base = self.state, self.base
        expected = [one.expected(self.state, state) for one in self.listeners]
        for name, db in self.databases.items():
            try:
                db.apply(**rows)
            except hw.HeadwaterError as error:
                assert error.code in ("cascade", "refused"), error
            for listener, (inserted, deleted) in zip(self.listeners, expected, strict=True):
                told = listener.told[name]
                assert told == [(inserted, deleted)] * bool(inserted or deleted), (name, listener.rule.text())
                told.clear()
                FIGURES["events of listeners compared"] += 1
            for stratum in db.statistics.strata:
                if stratum.propagation is not None:
                    assert stratum.propagation.filtered == stratum.propagation.potential
        self.state, self.base = state, base


@settings(max_examples=examples(10))
@given(
    programs(),
    streams(length=5),
    st.integers(0, 10**9),
    st.lists(st.sampled_from(sorted(WORDS)), unique=True),
)
def test_listeners_are_told_what_they_listen_to(
    program: RandomProgram, stream: list[Version], seed: int, optimise: list[str]
):
    draw = random.Random(seed)
    rules = [random_active(program, draw) for _ in range(draw.choice([0, 0, 1, 2]))]
    audience = Audience(program, rules, optimise, draw)
    for version in stream:
        audience.follow(version)
