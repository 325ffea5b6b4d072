"""Whenever it is said so, the sketch of one query holds the provenance of another, and answers it."""

from __future__ import annotations

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_algebra import answer, bag
from oracle_lockstep import FIGURES, examples
from oracle_sketch import fragments, over_sketch, random_ranges, random_slots, truth
from oracle_sql import TABLES, SketchWriter, database

from headwater.errors import SqlError
from headwater.language.sql.parser import parse
from headwater.sketch.reuse.reuse import Reusable, reusable
from headwater.sketch.safety.outcome import SafetyProof
from headwater.sketch.safety.rules import prove


def other_constants(rng: random.Random, text: str) -> str:
    """The text with some constants of its conditions and limits moved, most of them upwards or downwards together."""
    step = rng.choice([-1, 1, 1, 2])

    def moved(found: re.Match[str]) -> str:
        return str(int(found[0]) + step) if rng.random() < 0.6 else found[0]

    return re.sub(r"(?<=[<>=] )-?\d+|(?<=LIMIT )\d+", moved, text)


@given(st.integers(0, 2**40))
@settings(max_examples=examples(100), deadline=None)
def test_a_reused_sketch_gives_the_plain_answer(seed: int):
    rng = random.Random(seed)
    negative, nulls = rng.random() < 0.5, rng.random() < 0.6
    known = truth(negative=negative, nulls=nulls)
    for _ in range(4):
        text = SketchWriter(rng).query()
        other = other_constants(rng, text)
        try:
            plans = [parse(each, TABLES, dialect="duckdb").plan for each in (text, other)]
        except SqlError as refused:
            assert refused.code == "wrong-limit"
            continue
        slots = random_slots(rng, plans[0])
        first, second = (prove(plan, slots, known) for plan in plans)
        if not isinstance(first, SafetyProof) or not isinstance(second, SafetyProof):
            continue
        if text == other or not isinstance(reusable(first, second, known), Reusable):
            continue
        FIGURES["queries that another's sketch answers"] += 1
        for _ in range(6):
            tables = database(rng, rng.choice([5, 8, 12]), negative=negative, nulls=nulls)
            ranges = random_ranges(rng, slots)
            sketch, needed = fragments(first, ranges, tables), fragments(second, ranges, tables)
            said = f"{text}\n{other}\n{ranges}\n{tables}"
            assert all(needed[slot] <= kept for slot, kept in sketch.items()), said
            found = bag(over_sketch(second, second.plan, sketch, ranges, tables))
            assert found == bag(answer(second.plan, tables)), said
            FIGURES["sketches reused"] += 1
