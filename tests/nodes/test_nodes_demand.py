"""Aggregates that a recursion asks for, on nodes, against plain Python."""

from __future__ import annotations

from contextlib import closing

import pytest
from oracle_demand import RECURSIONS, Recursion, versions
from oracle_lockstep import Lockstep, examples

from headwater.nodes.where import start_nodes


@pytest.mark.parametrize("recursion", RECURSIONS, ids=lambda recursion: recursion.name)
def test_values_follow_what_lies_below_and_what_is_asked_for(recursion: Recursion):
    with start_nodes(2, run="threads") as nodes:
        runs = {"nodes": {"run": "threads", "nodes": nodes, "replicate": 0}}
        for seed in range(examples(2)):
            with closing(Lockstep(recursion.text, ["support"], runs)) as lockstep:
                for delete, insert in versions(seed, 4):
                    lockstep.apply(delete, insert, recursion.solve)
