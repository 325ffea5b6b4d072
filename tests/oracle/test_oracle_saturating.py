"""Recursive min and max whose values improve themselves, against the definition in plain Python and clingo."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_clingo import solve
from oracle_iterate import Oscillates, derived, iterated
from oracle_lockstep import Lockstep, examples, state_of
from oracle_programs import Atom, Compute, Literal, RandomProgram, Rule, Stratum, Term
from oracle_strategies import BASE, DOMAIN, Version, saturating, streams

import headwater as hw

EVERY = ("support", "dred", "recompute", "auto", "absorption", "absorption-eager", "relative")


@settings(max_examples=examples(40))
@given(saturating(0, BASE), streams(length=5))
def test_all_strategies_agree_with_clingo(stratum: Stratum, stream: list[Version]):
    """clingo enumerates all values that can be derived and takes the best: the same, where rules are monotone."""
    program = RandomProgram(BASE, (stratum,), bound=3 * DOMAIN)
    lockstep = Lockstep(program.text(), EVERY)
    for version in stream:
        delete, insert = version.resolved(lockstep.state)
        lockstep.apply(delete, insert, lambda state: solve(program, {name: state[name] for name in BASE}))


# ------------------------------------------------------------------ rows that follow from best rows only


def _rule(relation: str, best: str | None, *body: Literal) -> Rule:
    return Rule(Atom(relation, ("Y", "C")), body, None if best is None else (1, best))


STEP = Atom("f", ("X", "Y"))
WEIGHT = Atom("w", ("X", "Y", "D"))


@settings(max_examples=examples(40))
@given(st.sampled_from([1, 2]), st.booleans(), streams(length=5))
def test_rows_that_carry_a_value_follow_from_the_last_best_only(step: int, back: bool, stream: list[Version]):
    """`seen` has what follows from the best rows as they are in the end, and none of those on the way there."""
    rules = [
        _rule("top", "max", Atom("e", ("Y", "C"))),
        _rule(
            "seen",
            None,
            Atom("top", ("X", "B")),
            STEP,
            Compute("T", "+", "B", step),
            Compute("C", "min", "T", 9),
        ),
        _rule("top", "max", Atom("seen", ("Y", "C"))),
    ]
    if back:
        rules.append(_rule("top", "max", Atom("seen", ("X", "C")), WEIGHT))
    stratum = Stratum({"top": 2, "seen": 2}, tuple(rules), recursive=True, best={"top": (1, "max")})
    program = RandomProgram(BASE, (stratum,))
    # read by somebody, so that `seen` is not reduced to its best rows
    lockstep = Lockstep(program.text() + "all(X, C) :- seen(X, C).\n", EVERY)
    for version in stream:
        delete, insert = version.resolved(lockstep.state)
        lockstep.apply(delete, insert, lambda state: iterated(stratum, state))


# ------------------------------------------------------------------ rules that are not monotone


@pytest.mark.parametrize("strategy", EVERY)
@settings(max_examples=examples(30))
@given(
    total=st.integers(0, 9),
    given_values=st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=5),
)
def test_a_value_that_takes_its_own_reason_away_is_refused(
    strategy: str, total: int, given_values: list[list[int]]
):
    """`total - X` for the best X. A version that would oscillate is refused soon, and leaves no trace."""
    rules = (
        Rule(Atom("p", ("X",)), (Atom("q", ("X",)),), (0, "max")),
        Rule(Atom("p", ("Y",)), (Atom("p", ("X",)), Compute("Y", "-", total, "X")), (0, "max")),
    )
    stratum = Stratum({"p": 1}, rules, recursive=True, best={"p": (0, "max")})
    db = hw.connect(strategy=strategy, max_rounds=200)
    db.define(RandomProgram({"q": 1}, (stratum,)).text())
    for values in given_values:
        before = state_of(db)
        rows = frozenset((value,) for value in values)
        change = {"delete": {"q": before["q"] - rows}, "insert": {"q": rows - before["q"]}}
        try:
            expected = iterated(stratum, {"q": rows})
        except Oscillates:
            with pytest.raises(hw.EvaluationError) as caught:
                db.apply(**change)
            assert (caught.value.code, caught.value.place is not None) == ("oscillation", True)
            assert state_of(db) == before
        else:
            db.apply(**change)
            assert state_of(db) == {"q": rows, **expected}


@st.composite
def crooked(draw: Any) -> Stratum:
    """Best values over nodes, better or worse premises leading to either: mostly not monotone."""
    rules = [Rule(Atom("p", ("X", "C")), (Atom("e", ("X", "C")),), (1, "max"))]
    for _ in range(draw(st.integers(1, 2))):
        left: Term = draw(st.sampled_from(["B", 6, 3]))
        right: Term = draw(st.sampled_from(["B", 1, "D"])) if left != "B" else draw(st.sampled_from([1, "D"]))
        op = draw(st.sampled_from(["-", "min", "max"]))
        steps = (Compute("T", op, left, right), Compute("C", "min", "T", 7))
        rules.append(Rule(Atom("p", ("Y", "C")), (Atom("p", ("X", "B")), WEIGHT, *steps), (1, "max")))
    return Stratum({"p": 2}, tuple(rules), recursive=True, best={"p": (1, "max")})


@pytest.mark.parametrize("strategy", ["support", "dred", "relative"])
@settings(max_examples=examples(40))
@given(stratum=crooked(), stream=streams(length=3))
def test_whatever_is_not_refused_is_a_fixpoint(strategy: str, stratum: Stratum, stream: list[Version]):
    """The best of what the rules derive from the rows that are there are these rows."""
    db = hw.connect(strategy=strategy, max_rounds=3000)
    db.define(RandomProgram(BASE, (stratum,)).text())
    for version in stream:
        before = state_of(db)
        delete, insert = version.resolved(before)
        try:
            db.apply(delete=delete, insert=insert)
        except hw.EvaluationError as error:
            assert error.code == "oscillation"
            assert state_of(db) == before
        else:
            after = state_of(db)
            assert derived(stratum, after)["p"] == after["p"]
