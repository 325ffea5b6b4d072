"""Aggregates that a recursion asks for, in every strategy, after every version, against plain Python."""

from __future__ import annotations

import pytest
from oracle_demand import RECURSIONS, Recursion, versions
from oracle_lockstep import Lockstep, examples

STRATEGIES = ("support", "dred", "recompute", "auto", "absorption", "absorption-eager", "relative")


@pytest.mark.parametrize("recursion", RECURSIONS, ids=lambda recursion: recursion.name)
def test_values_follow_what_lies_below_and_what_is_asked_for(recursion: Recursion):
    for seed in range(examples(6)):
        lockstep = Lockstep(recursion.text, STRATEGIES)
        for delete, insert in versions(seed, 6):
            lockstep.apply(delete, insert, recursion.solve)
