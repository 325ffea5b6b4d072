"""The random oracle of safety would find mistakes: each rule is broken in turn, and a wrong answer turns up.

What a broken rule proves safe and the real ones refuse is checked beside the plain answer until one differs.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import FIGURES, examples
from oracle_pointed import pointed_query, pointed_rows
from oracle_sketch import check_sketch, truth
from oracle_sql import TABLES

from headwater.language.sql.parser import parse
from headwater.sketch.safety import analysis, bounds, relations, rules
from headwater.sketch.safety.outcome import SafetyProof, SafetyRefusal
from headwater.sketch.safety.relations import Psi
from headwater.sketch.safety.rules import prove
from headwater.sketch.sketch import Slot

MOST_QUERIES = 4000
"""So many are written to find a mistake."""
DATABASES = 12
"""For each query."""


@given(st.integers(0, 2**40))
@settings(max_examples=examples(60), deadline=None)
def test_pointed_queries_over_safe_sketches_give_the_plain_answer(seed: int):
    rng = random.Random(seed)
    negative, nulls = rng.random() < 0.4, rng.random() < 0.4
    for _ in range(6):
        text, slots = pointed_query(rng), random_slots(rng)
        outcome = prove(
            parse(text, TABLES, dialect="duckdb").plan, slots, truth(negative=negative, nulls=nulls)
        )
        FIGURES["pointed queries asked"] += 1
        if isinstance(outcome, SafetyProof):
            FIGURES["pointed queries proved safe"] += 1
            for _ in range(DATABASES):
                check_sketch(rng, outcome, pointed_rows(rng, negative=negative, nulls=nulls), text)


def random_slots(rng: random.Random) -> frozenset[Slot]:
    return frozenset({Slot("r", name) for name in rng.choice(["c", "c", "c", "a", "ac"])})


# ------------------------------------------------------------------ mistakes


def aggregate(function: str, psi: Psi) -> Callable[[Any], None]:
    """An aggregate of which something else is known."""

    def plant(patch: Any) -> None:
        right = analysis.Analysis._aggregate

        def mistaken(self: Any, call: Any, below: Any) -> Psi:
            return psi if call.function == function else right(self, call, below)

        patch.setattr(analysis.Analysis, "_aggregate", mistaken)

    return plant


def without_refusal(code: str) -> Callable[[Any], None]:
    """A reason to refuse that is passed over."""

    def plant(patch: Any) -> None:
        right = analysis.Analysis.refuse

        def mistaken(self: Any, said: str, operator: Any, detail: str = "") -> None:
            if said != code:
                right(self, said, operator, detail)  # type: ignore[arg-type]

        patch.setattr(analysis.Analysis, "refuse", mistaken)

    return plant


def replaced(owner: Any, name: str, value: Any) -> Callable[[Any], None]:
    return lambda patch: patch.setattr(owner, name, value)


def exact_groups(patch: Any) -> None:
    """Groups count as whole, whatever they are by."""
    patch.setattr(analysis.Analysis, "_aggregate", lambda self, call, below: Psi.EQUAL)


def closed_by_some(patch: Any) -> None:
    """Of the attributes that something is closed by, one that is shown will do."""

    def mistaken(closed: Any, names: Any) -> Any:
        if closed is None:
            return None
        renamed = tuple(frozenset(new for old in each for new in names.get(old, ())) for each in closed)
        return tuple(each for each in renamed if each) if any(renamed) or not closed else None

    patch.setattr(analysis, "_renamed", mistaken)


def closed_unions(patch: Any) -> None:
    """A union is closed by what its first input is closed by."""
    right = analysis.Analysis._union

    def mistaken(self: Any, plan: Any, below: Any) -> Any:
        import dataclasses

        first = plan.inputs[0]
        names = {old.id: {new.id} for old, new in zip(first.attributes, plan.attributes, strict=True)}
        closed = analysis._renamed(below[0].closed, names)
        return dataclasses.replace(right(self, plan, below), closed=closed)

    patch.setattr(analysis.Analysis, "_union", mistaken)


def unflipped_negation(patch: Any) -> None:
    patch.setattr(relations, "OPPOSITE", {each: each for each in relations.OPPOSITE})


def any_order(patch: Any) -> None:
    """The direction of an order is not looked at."""
    right = rules.psi_of

    def mistaken(scalar: Any, known: Any, positive: Any) -> Psi:
        found = right(scalar, known, positive)
        return Psi.EQUAL if found in (Psi.AT_MOST, Psi.AT_LEAST) else found

    patch.setattr(rules, "psi_of", mistaken)


def equality_kept(patch: Any) -> None:
    """`=` counts as kept, like `>` and `<` in their directions."""
    right = relations._compared
    patch.setattr(
        relations, "_compared", lambda operator, one, other: operator == "=" or right(operator, one, other)
    )


def whole_right_sides(patch: Any) -> None:
    """What must be whole may be sketched."""
    patch.setattr(analysis, "whole_sides", lambda operator: ())
    patch.setattr(rules, "whole_sides", lambda operator: ())


MISTAKES: dict[str, tuple[Callable[[Any], None], str]] = {
    "avg at most": (aggregate("avg", Psi.AT_MOST), "having"),
    "avg at least": (aggregate("avg", Psi.AT_LEAST), "top"),
    "sum at most, whatever the signs": (aggregate("sum", Psi.AT_MOST), "having"),
    "sum at least, whatever the signs": (aggregate("sum", Psi.AT_LEAST), "top"),
    "min at most": (aggregate("min", Psi.AT_MOST), "having"),
    "max at least": (aggregate("max", Psi.AT_LEAST), "having"),
    "count at least": (aggregate("count", Psi.AT_LEAST), "whole"),
    "all aggregates exact": (exact_groups, "nested"),
    "facts are not asked for": (replaced(bounds.Bounds, "_asked", lambda self, fact: True), "having"),
    "products of any sign": (replaced(bounds.Bounds, "_arithmetic", lambda self, *more: True), "having"),
    "NULLS FIRST": (without_refusal("top-k-nulls"), "top"),
    "any order of a limit": (any_order, "top"),
    "conditions above a limit": (without_refusal("top-k-filtered"), "above top"),
    "OFFSET": (without_refusal("top-k-offset"), "top"),
    "groups by what differs": (without_refusal("keys-differ"), "nested"),
    "DISTINCT and EXCEPT of what differs": (without_refusal("rows-differ"), "set"),
    "the right side of EXCEPT and NOT IN": (whole_right_sides, "set"),
    "closed by one of two attributes": (closed_by_some, "having"),
    "closed unions": (closed_unions, "union"),
    "NOT as if it were not there": (unflipped_negation, "having"),
    "equality as if it were kept": (equality_kept, "having"),
    "differences as if they were sums": (replaced(Psi, "__neg__", lambda self: self), "difference"),
}
"""What is planted, and the shape of query that it is about. (Ties of limits are not here: an evaluator that breaks
them by the order of rows breaks them alike over a sketch, and which one is right nobody can say.)"""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch):
    rng = random.Random(mistake)
    plant, shape = MISTAKES[mistake]
    checked = 0
    for _ in range(MOST_QUERIES):
        negative, nulls = rng.random() < 0.4, rng.random() < 0.4
        known = truth(negative=negative, nulls=nulls)
        text, slots = pointed_query(rng, shape), random_slots(rng)
        plan = parse(text, TABLES, dialect="duckdb").plan
        if isinstance(prove(plan, slots, known), SafetyProof):
            continue
        with monkeypatch.context() as patch:
            plant(patch)
            outcome = prove(plan, slots, known)
        if isinstance(outcome, SafetyRefusal):
            continue
        checked += 1
        try:
            for _ in range(DATABASES):
                check_sketch(rng, outcome, pointed_rows(rng, negative=negative, nulls=nulls), text)
        except AssertionError:
            return
    pytest.fail(f"{checked} queries that only the mistake proves safe were answered right")
