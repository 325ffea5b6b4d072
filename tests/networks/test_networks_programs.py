"""Random programs on asynchronous nodes, by every scheme and in every order: after all is quiet, what clingo says.

Programs are non-linear, mutually recursive, with negation and aggregates by strata and min or max inside of recursion
(see `oracle_strategies`). Rows are deleted while insertions are under way.
"""

from __future__ import annotations

import os
import random
from collections import Counter

from asynchronous import SCHEMES, Change, assert_rows, follow, random_network
from hypothesis import given, settings
from oracle_clingo import solve
from oracle_lockstep import FIGURES, examples
from oracle_programs import RandomProgram
from oracle_strategies import Version, dense_programs, programs, streams

from headwater import HeadwaterError

SEED = os.environ.get("HEADWATER_SEED", "0")
SCHEDULES = 2
"""Of each program, by each scheme."""


def flat(program: RandomProgram, stream: list[Version]) -> tuple[list[Change], dict[str, set]]:
    """All versions as single changes, and the base rows in the end."""
    there: dict[str, set] = {name: set() for name in program.base}
    changes: list[Change] = []
    for version in stream:
        for comes, rows in zip((False, True), version.resolved(there), strict=True):
            for name, found in rows.items():
                changes += [(comes, name, row) for row in found]
                (there[name].update if comes else there[name].difference_update)(found)
    return changes, there


def every_scheme(program: RandomProgram, stream: list[Version]) -> None:
    changes, there = flat(program, stream)
    expected = solve(program, there)
    done: Counter[str] = Counter()
    for name, scheme in SCHEMES.items():
        for number in range(SCHEDULES):
            chance = random.Random(f"{SEED} {number} {name}")
            try:
                net = random_network(program.text(), scheme, chance)
            except HeadwaterError as error:
                assert (name, error.code) == ("counting", "diverges")
                assert program.recursive
                break
            follow(net, changes, chance)
            assert_rows(net, expected, f"{name}, schedule {number}")
            done["schedules of random programs"] += 1
    FIGURES.update(done)


@settings(max_examples=examples(24))
@given(programs(), streams())
def test_random_programs(program: RandomProgram, stream: list[Version]):
    every_scheme(program, stream)


@settings(max_examples=examples(12))
@given(dense_programs(), streams())
def test_rows_with_many_derivations(program: RandomProgram, stream: list[Version]):
    every_scheme(program, stream)


@settings(max_examples=examples(12))
@given(programs(recursion=False), streams())
def test_programs_without_recursion(program: RandomProgram, stream: list[Version]):
    every_scheme(program, stream)
