"""Random edits of rules, together with random changes of rows, and what clingo makes of the rules of the moment.

`POOL` has rules of all kinds, each with its meaning for clingo. An `Edits` follows one database: it draws steps,
takes them, and compares all relations and all reported changes with clingo's model after each. Steps that must be
refused are among them; they must leave everything as it was.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

import clingo
import pytest
from oracle_lockstep import FIGURES, State, assert_exact, state_of

import headwater as hw
from headwater.database import Database
from headwater.rules.checked import Kind

BASE = {"e": 2, "f": 2, "n": 1}
VIEWS = ("p", "q", "r", "s", "d", "t", "u")
DECLARATIONS = "".join(
    f".decl {name}({', '.join(f'c{i}: int' for i in range(arity))})\n"
    for name, arity in {**BASE, **dict.fromkeys(VIEWS, 2), "r": 1}.items()
)


@dataclass(frozen=True)
class Pooled:
    """A rule, and the same for clingo: a rule, or what an aggregate ranges over, as values and a condition."""

    text: str
    asp: str = ""
    group: str = ""
    values: str = ""

    @property
    def relation(self) -> str:
        return self.text.split("(")[0]

    def asp_rule(self) -> str:
        return self.asp or re.sub("!(?=[a-z])", "not ", self.text)


POOL = [
    Pooled("p(X, Y) :- e(X, Y)."),
    Pooled("p(X, Y) :- e(X, Z), p(Z, Y)."),
    Pooled("p(X, Z) :- p(X, Y), p(Y, Z)."),
    Pooled("p(X, Y) :- f(X, Y), !r(X)."),
    Pooled("p(X, X) :- n(X)."),
    Pooled("p(X, Y) :- q(X, Y), n(Y)."),
    Pooled("q(X, Y) :- f(X, Y)."),
    Pooled("q(X, Y) :- p(X, Z), f(Z, Y)."),
    Pooled("q(X, Y) :- e(X, Y), !n(X)."),
    Pooled("q(X, Y) :- u(Y, X)."),
    Pooled("r(X) :- n(X), f(X, _)."),
    Pooled("r(X) :- q(X, Y), X < Y."),
    Pooled("r(X) :- e(X, X)."),
    Pooled("u(X, Y) :- p(X, Y), !q(Y, X)."),
    Pooled("u(X, Y) :- q(X, Y), X != Y."),
    Pooled("u(X, Y) :- d(X, Y), n(Y)."),
    Pooled("s(X, min<Y>) :- p(X, Y).", "s_(X, Y) :- p(X, Y)."),
    Pooled("s(X, min<Y>) :- f(X, Y).", "s_(X, Y) :- f(X, Y)."),
    Pooled("s(X, min<Y>) :- e(X, Z), s(Z, Y).", "s_(X, Y) :- e(X, Z), s_(Z, Y)."),
    Pooled("d(X, count<Y>) :- f(X, Y).", group="f(X, _)", values="Y : f(X, Y)"),
    Pooled("d(X, count<Y>) :- p(X, Y), n(X).", group="p(X, _), n(X)", values="Y : p(X, Y), n(X)"),
    Pooled("d(X, count<*>) :- e(Z, X), !r(Z).", group="e(Z, X), not r(Z)", values="Z : e(Z, X), not r(Z)"),
    Pooled("t(X, sum<Y>) :- e(X, Y).", group="e(X, _)", values="Y : e(X, Y)"),
    Pooled("t(X, sum<Y>) :- q(Y, X).", group="q(_, X)", values="Y : q(Y, X)"),
    Pooled("t(X, sum<Z>) :- s(X, Y), n(Z).", group="s(X, _), n(_)", values="Z, Y : s(X, Y), n(Z)"),
]
FLAT = [
    i
    for i, rule in enumerate(POOL)
    if rule.relation in "qru" and "p(" not in rule.text and "u(Y" not in rule.text
]
"""Rules without recursion, for counting."""
BAD = ["p(X, Y) :- e(X, Z), Y = Z / 0.", "r(X) :- n(X), !r(X).", "p(X) :- n(X).", "p(X, Y) :- e(X, _)."]
"""Refused, whatever else is defined, once there are rows of e."""


def model(rules: list[Pooled], base: State) -> State:
    """All views, by clingo."""
    text = "".join(f"{name}({','.join(map(str, row))})." for name, rows in base.items() for row in rows)
    text += "\n".join(rule.asp_rule() for rule in rules if not rule.values)
    for name, function in (("d", "count"), ("t", "sum")):
        own = [rule for rule in rules if rule.relation == name]
        text += "".join(f"\n{name}_(X) :- {rule.group}." for rule in own)
        parts = "; ".join(
            f"{rule.values.split(':')[0].strip()}, {number} : {rule.values.split(':')[1]}"
            for number, rule in enumerate(own)
        )
        if own:
            text += f"\n{name}(X, N) :- {name}_(X), N = #{function} {{ {parts} }}."
    text += "\ns(X, M) :- s_(X, _), M = #min { Y : s_(X, Y) }."
    control = clingo.Control(["--warn=none"], message_limit=0)
    control.add("base", [], text)
    control.ground([("base", [])])
    found: dict[str, set[tuple[int, ...]]] = {name: set() for name in VIEWS}
    models = 0
    with control.solve(yield_=True) as handle:
        for one in handle:
            models += 1
            for symbol in one.symbols(atoms=True):
                if symbol.name in found:
                    found[symbol.name].add(tuple(argument.number for argument in symbol.arguments))
    assert models == 1, "a stratified program has one stable model"
    return {name: frozenset(rows) for name, rows in found.items()}


@dataclass
class Edits:
    """A database, the rules that it has (by their ids), and where the next steps come from."""

    db: Database
    draw: random.Random
    pool: list[int] = field(default_factory=lambda: list(range(len(POOL))))
    rules: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.db.define(DECLARATIONS)
        self.before = state_of(self.db)
        self.untold = self.virtual()

    def follow(self, steps: int) -> None:
        """Begin with some rules and rows, then take so many steps."""
        for number in self.draw.sample(self.pool, min(8, len(self.pool))):
            self._edit([], [number])
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        kind = self.draw.choice(("rows", "rows", "add", "drop", "replace", "text", "bad"))
        free = [number for number in self.pool if number not in self.rules.values()]
        ids = list(self.rules)
        if kind == "rows":
            self._rows()
        elif kind == "add" and free:
            self._edit([], self.draw.sample(free, 1))
        elif kind == "drop" and ids:
            self._edit(self.draw.sample(ids, 1), [])
        elif kind == "replace" and ids and free:
            self._edit(self.draw.sample(ids, 1), self.draw.sample(free, 1))
        elif kind == "text":
            gone = self.draw.sample(ids, min(len(ids), self.draw.randrange(4)))
            self._edit(gone, self.draw.sample(free, min(len(free), self.draw.randrange(4))), text=True)
        elif kind == "bad" and self.before["e"]:
            bad = self.draw.choice(BAD)
            self._refused(lambda: self.db.add_rule(bad))
            if ids:
                self._refused(lambda: self.db.replace_rule(self.draw.choice(ids), bad))

    def virtual(self) -> set[str]:
        """The relations whose changes are not told."""
        return {name for name in self.db.relations if self.db.info(name).kind is Kind.VIRTUAL}

    def keep(self, view: str, kind: str) -> None:
        """Keep a view in another way: that changes no rows."""
        changes = self.db.keep(view, kind)
        assert changes.keys() <= self.untold, (view, kind, changes)
        assert state_of(self.db) == self.before
        self.untold = self.virtual()

    def _rows(self) -> None:
        def some(name: str) -> list[tuple[int, ...]]:
            return [
                tuple(self.draw.randrange(5) for _ in range(BASE[name]))
                for _ in range(self.draw.randrange(5))
            ]

        insert = {name: some(name) for name in BASE if self.draw.random() < 0.6}
        delete = {name: some(name) for name in BASE if self.draw.random() < 0.5}
        base = {
            name: (self.before[name] - set(delete.get(name, ()))) | set(insert.get(name, ())) for name in BASE
        }
        self._compare(self.db.apply(insert=insert, delete=delete), {n: frozenset(r) for n, r in base.items()})

    def _edit(self, gone: list[str], come: list[int], *, text: bool = False) -> None:
        """Drop and add rules; what is not stratified then is refused, and nothing changes."""
        after = {id: number for id, number in self.rules.items() if id not in gone}
        known = set(self.db.rules)

        def call() -> hw.Changes:
            if text or len(gone) + len(come) > 2:
                return self.db.define(
                    "\n".join([*(f".drop rule {id}" for id in gone), *(POOL[i].text for i in come)])
                )
            if gone and come:
                return self.db.replace_rule(gone[0], POOL[come[0]].text)
            return self.db.drop_rule(gone[0]) if gone else self.db.add_rule(POOL[come[0]].text)

        try:
            changes = call()
        except hw.HeadwaterError as error:
            assert error.code in (
                "unstratified-negation",
                "unstratified-aggregate",
                "strategy-refused",
                "unsupported",
                "not-a-view",
            ), error
            assert set(self.db.rules) == known and state_of(self.db) == self.before
            return
        if gone and come and not text:
            assert set(self.db.rules) == known
            after[gone[0]] = come[0]
        else:
            after |= dict(zip(list(self.db.rules)[len(after) :], come, strict=True))
        assert set(after) == set(self.db.rules)
        self.rules = after
        self._compare(changes, {name: self.before[name] for name in BASE})

    def _refused(self, call) -> None:  # type: ignore[no-untyped-def]
        rules, version = self.db.rules.rows(), self.db.version
        with pytest.raises(hw.HeadwaterError):
            call()
        assert (self.db.rules.rows(), self.db.version, state_of(self.db)) == (rules, version, self.before)

    def _compare(self, changes: hw.Changes, base: State) -> None:
        after = state_of(self.db)
        expected = {**base, **model([POOL[number] for number in self.rules.values()], base)}
        shown = [POOL[number].text for number in self.rules.values()]
        for name, rows in expected.items():
            assert after[name] == rows, (name, shown)
        told = after.keys() - self.untold - self.virtual()
        assert_exact(changes, self.before, {name: after[name] for name in told})
        self.untold = self.virtual()
        FIGURES["versions of edited programs"] += 1
        self.before = after
