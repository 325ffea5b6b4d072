"""Random programs with stored, watched and virtual views: all agree, and each version tells the difference."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_edits import POOL, Edits
from oracle_lockstep import FIGURES, State, assert_exact, examples, state_of
from oracle_programs import RandomProgram
from oracle_strategies import Version, dense_programs, programs, streams

import headwater as hw
from headwater.maintain.strategies.propagation.optimisations import WORDS
from headwater.rules.checked import Kind

KINDS = ("stored", "watched", "virtual")
some_seed = st.integers(0, 10**9)
STRATEGIES = ("support", "dred", "recompute", "auto")


@st.composite
def kinds(draw: Any, program: RandomProgram) -> dict[str, str]:
    """A kind for each view."""
    views = [name for name in program.relations if name not in program.base]
    return {name: draw(st.sampled_from(KINDS)) for name in views}


def with_kinds(program: RandomProgram, chosen: dict[str, str]) -> str:
    return program.text() + "".join(f".kind {name} {kind}\n" for name, kind in chosen.items())


def check_costs(db: Any) -> None:
    """No potential update is filtered twice, and each is disqualified or told."""
    for stratum in db.statistics.strata:
        cost = stratum.propagation
        if cost is not None:
            assert cost.filtered == cost.potential, stratum


def follow(program: RandomProgram, stream: list[Version], databases: dict[str, Any]) -> None:
    """All databases through all versions, beside clingo."""
    before: State = {name: frozenset() for name in program.relations}
    for version in stream:
        delete, insert = version.resolved(before)
        told = {name: db.apply(delete=delete, insert=insert) for name, db in databases.items()}
        base = {name: frozenset(databases["stored"][name].rows()) for name in program.base}
        after = {**solve(program, base), **base}
        for name, db in databases.items():
            FIGURES["versions compared"] += 1
            assert {view: rows for view, rows in state_of(db).items() if view in after} == after, name
            known = {view: rows for view, rows in after.items() if db.info(view).kind is not Kind.VIRTUAL}
            assert_exact(told[name], before, known)
            check_costs(db)
        before = after


def opened(
    program: RandomProgram, mixed: dict[str, str], strategy: str, optimise: list[str] | None = None
) -> dict[str, Any]:
    views = [name for name in program.relations if name not in program.base]
    texts = {
        "stored": program.text(),
        "watched": with_kinds(program, dict.fromkeys(views, "watched")),
        "mixed": with_kinds(program, mixed),
    }
    found = {}
    for name, text in texts.items():
        found[name] = hw.connect(max_rounds=2000, strategy=strategy, optimise=optimise)
        found[name].define(text)
    return found


@settings(max_examples=examples(9))
@given(st.data(), st.sampled_from(STRATEGIES))
def test_stored_watched_and_virtual_views_agree(data: st.DataObject, strategy: str):
    program = data.draw(programs())
    optimise = data.draw(st.lists(st.sampled_from(sorted(WORDS)), unique=True) | st.none())
    databases = opened(program, data.draw(kinds(program)), strategy, optimise)
    follow(program, data.draw(streams(length=4)), databases)


@settings(max_examples=examples(4))
@given(st.data())
def test_much_changes_at_once(data: st.DataObject):
    program = data.draw(dense_programs())
    follow(program, data.draw(streams(length=4)), opened(program, data.draw(kinds(program)), "support"))


@settings(max_examples=examples(3), deadline=None)
@given(some_seed, st.sampled_from(("support", "dred")))
def test_rules_come_and_go_while_kinds_change(seed: int, strategy: str):
    draw = random.Random(seed)
    with hw.connect(strategy=strategy) as db:
        edits = Edits(db, draw)
        edits.follow(0)
        for _ in range(14):
            views = sorted({POOL[number].relation for number in edits.rules.values()})
            if views and draw.random() < 0.5:
                edits.keep(draw.choice(views), draw.choice(KINDS))
            edits.step()
            check_costs(db)
