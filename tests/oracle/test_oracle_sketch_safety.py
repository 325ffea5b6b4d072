"""Whenever a proof says so, the answer over any union of fragments that holds the provenance is the answer."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_lockstep import FIGURES, examples
from oracle_sketch import check_sketch, random_slots, truth
from oracle_sql import TABLES, SketchWriter, Writer, database

from headwater.language.sql.parser import parse
from headwater.sketch.safety.outcome import SafetyProof
from headwater.sketch.safety.rules import prove


@given(st.integers(0, 2**40))
@settings(max_examples=examples(100), deadline=None)
def test_a_safe_sketch_gives_the_plain_answer(seed: int):
    rng = random.Random(seed)
    negative, nulls = rng.random() < 0.5, rng.random() < 0.6
    for _ in range(3):
        text = (SketchWriter if rng.random() < 0.85 else Writer)(rng).query()
        plan = parse(text, TABLES, dialect="duckdb").plan
        outcome = prove(plan, random_slots(rng, plan), truth(negative=negative, nulls=nulls))
        FIGURES["queries asked"] += 1
        if isinstance(outcome, SafetyProof):
            FIGURES["queries proved safe"] += 1
            for _ in range(6):
                tables = database(rng, rng.choice([5, 8, 12]), negative=negative, nulls=nulls)
                check_sketch(rng, outcome, tables, text)
                FIGURES["sketches used"] += 2
