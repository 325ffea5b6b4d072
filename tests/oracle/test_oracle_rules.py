"""Rules come and go: views follow them, whatever the strategy, as if all had been derived from scratch."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from oracle_lockstep import examples
from oracle_support import assert_support

from headwater.errors import RuleError
from headwater.language.datalog import parse
from headwater.local.one_process import OneProcess
from headwater.maintain.engine import Engine
from headwater.maintain.strategies import STRATEGIES
from headwater.rules.check import check
from headwater.rules.checked import Checked
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.statistics import VersionStatistics
from headwater.version.version import Version

DECLARATIONS = """
.decl e(x: int, y: int)
.decl f(x: int, y: int)
.decl n(x: int)
.decl p(x: int, y: int)
.decl q(x: int, y: int)
.decl r(x: int)
.decl s(x: int, y: int)
.decl c(x: int, y: int)
.decl d(x: int, y: int)
.decl t(x: int, y: int)
"""
RULES = [
    "p(X, Y) :- e(X, Y).",
    "p(X, Y) :- e(X, Z), p(Z, Y).",
    "p(X, Y) :- f(X, Y), !r(X).",
    "p(X, Y) :- p(Y, X).",
    "p(X, X) :- n(X).",
    "p(X, Y) :- q(X, Y), n(Y).",
    "q(X, Y) :- f(X, Y).",
    "q(X, Y) :- p(X, Z), f(Z, Y).",
    "q(X, Z) :- q(X, Y), q(Y, Z).",
    "q(X, Y) :- e(X, Y), !n(X).",
    "r(X) :- n(X), f(X, _).",
    "r(X) :- e(X, X).",
    "r(X) :- q(X, Y), X < Y.",
    "r(1).",
    "s(X, min<Y>) :- p(X, Y).",
    "s(X, min<Y>) :- f(X, Y).",
    "s(X, min<Y>) :- e(X, Z), s(Z, Y).",
    "c(X, count<Y>) :- p(X, Y).",
    "c(X, Y) :- s(X, Y), n(X).",
    "d(X, count<Y>) :- f(X, Y).",
    "d(X, count<Y>) :- p(X, Y), n(X).",
    "d(X, count<*>) :- e(_, X).",
    "t(X, sum<Y>) :- e(X, Y).",
    "t(X, sum<Y>) :- q(Y, X), !n(Y).",
    "p(X, Y) :- d(X, Y), f(Y, _).",
]
BASE = {"e": 2, "f": 2, "n": 1}
VIEWS = ("p", "q", "r", "s", "c", "d", "t")
RANKED = ("support", "dred", "auto", "recompute")


@dataclass
class Step:
    """One version: rules by their numbers if they change, and rows to delete and insert."""

    rules: frozenset[int] | None
    delete: dict[str, np.ndarray]
    insert: dict[str, np.ndarray]


class Place:
    """What `assert_support` looks at."""

    def __init__(self, strategy: str):
        self.codec = Codec()
        self.process = OneProcess(self.codec, Functions(), strategy=strategy)
        self.number = 0

    @property
    def engine(self) -> Engine:
        return self.process.engine

    def take(self, checked: Checked | None, step: Step, *, undo: bool = False) -> VersionStatistics:
        self.number += 1
        with Version(self.number, 0.0) as version:
            if checked is None:
                self.process.change_rows(version, step.delete, step.insert)
            else:
                self.process.define_program(version, checked, {**checked_facts(checked), **step.insert})
            if undo:
                version.abandon()
        return version.statistics

    def rows(self) -> dict[str, set[tuple[int, ...]]]:
        relations = self.engine.workspace.relations
        return {
            name: {tuple(row) for row in relations[name].matrix().tolist()}
            for name in (*BASE, *VIEWS)
            if name in relations
        }


def checked_facts(checked: Checked) -> dict[str, np.ndarray]:
    return {name: np.array(rows, np.int64) for name, rows in checked.facts.items()}


def program(numbers: frozenset[int]) -> Checked | None:
    """The rules with these numbers, each labelled by its own; `None` if together they mean nothing."""
    text = DECLARATIONS + "\n".join(f"r{i} {RULES[i]}" for i in sorted(numbers) if RULES[i] != "r(1).")
    if RULES.index("r(1).") in numbers:
        text += "\nfix r(1) :- n(_)."
    try:
        return check(parse(text), Functions())
    except RuleError:
        return None


def random_rows(draw: random.Random, name: str, most: int) -> np.ndarray:
    rows = {tuple(draw.randrange(6) for _ in range(BASE[name])) for _ in range(draw.randrange(most))}
    return np.array(sorted(rows), np.int64).reshape(len(rows), BASE[name])


def stream(seed: int, length: int) -> list[Step]:
    draw = random.Random(seed)
    numbers = frozenset(draw.sample(range(len(RULES)), 8))
    steps: list[Step] = []
    for _ in range(length):
        rules = None
        if not steps or draw.random() < 0.6:
            toggled = draw.sample(range(len(RULES)), draw.choice((1, 1, 2, 4)))
            after = numbers.symmetric_difference(toggled)
            rules = numbers = after if program(after) is not None else numbers
        insert = {name: random_rows(draw, name, 5) for name in BASE if draw.random() < 0.5}
        delete = (
            {} if rules is not None else {n: random_rows(draw, n, 5) for n in BASE if draw.random() < 0.5}
        )
        steps.append(Step(rules, delete, insert))
    return steps


def follow(strategy: str, steps: list[Step], *, undo: bool = False) -> None:
    place = Place(strategy)
    rows: dict[str, set[tuple[int, ...]]] = {name: set() for name in BASE}
    numbers: frozenset[int] = frozenset()
    for at, step in enumerate(steps):
        numbers = step.rules if step.rules is not None else numbers
        checked = program(numbers)
        if checked is None:
            return
        if undo:
            before = place.rows()
            place.take(checked if step.rules is not None else None, step, undo=True)
            assert place.rows() == before, (strategy, at)
        place.take(checked if step.rules is not None else None, step)
        for name in BASE:
            rows[name] -= {tuple(row) for row in step.delete.get(name, np.empty((0, 1))).tolist()}
            rows[name] |= {tuple(row) for row in step.insert.get(name, np.empty((0, 1))).tolist()}
        fresh = Place("recompute")
        given_rows = {n: np.array(sorted(r), np.int64).reshape(len(r), BASE[n]) for n, r in rows.items()}
        fresh.take(checked, Step(numbers, {}, given_rows))
        assert place.rows() == fresh.rows(), (strategy, at, sorted(numbers))
        if strategy in RANKED:
            assert_support(place)  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "counting"])
@settings(max_examples=examples(10))
@given(seed=some.integers(0, 10**9))
def test_rules_that_come_and_go(strategy: str, seed: int):
    follow(strategy, stream(seed, 6))


@settings(max_examples=examples(12))
@given(seed=some.integers(0, 10**9), strategy=some.sampled_from(["support", "dred", "absorption"]))
def test_rules_that_come_and_go_are_undone_whole(strategy: str, seed: int):
    follow(strategy, stream(seed, 4), undo=True)
