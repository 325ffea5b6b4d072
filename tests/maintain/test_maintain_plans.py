"""Join orders follow what relations look like, within a version as well."""

from __future__ import annotations

import random

import numpy as np
import pytest

import headwater as hw
from headwater.kernel.relation import Relation
from headwater.kernel.sampling import rows_per_key

ROWS = 12_000
CLASSES = 5000


def test_a_join_order_is_chosen_again_when_a_version_has_made_a_relation_large():
    """A view that is empty when the version begins seems the best to join with; soon there is a better one."""
    rng = random.Random(4)
    told = sorted({(x, rng.randrange(CLASSES)) for x in range(200) for _ in range(ROWS // 200)})
    both = sorted(
        {(rng.randrange(CLASSES), rng.randrange(CLASSES), rng.randrange(CLASSES)) for _ in range(1500)}
    )
    db = hw.connect()
    db.define("""
        kind(X, A) :- told(X, A).
        kind(X, C) :- kind(X, A), kind(X, B), both(A, B, C).
    """)
    db.apply(insert={"told": told, "both": both})
    looked = db.engine.workspace.executor.looked
    assert looked["kind"] + looked["both"] < 5 * ROWS, "and not every pair of rows with the same X"
    kinds: dict[int, set[int]] = {}
    for x, a in told:
        kinds.setdefault(x, set()).add(a)
    for known in kinds.values():
        size = -1
        while size != len(known):
            size = len(known)
            known |= {c for a, b, c in both if a in known and b in known}
    assert set(db["kind"].rows()) == {(x, a) for x, known in kinds.items() for a in known}


@pytest.mark.parametrize(("distinct", "rows"), [(10, 5000), (700, 9000), (4000, 8000), (20_000, 20_000)])
def test_rows_of_a_key_are_estimated_from_some(distinct: int, rows: int):
    relation = Relation("r", 2)
    numbers = np.arange(rows)
    keys = np.random.default_rng(3).permutation(numbers % distinct)
    relation.add(np.column_stack((keys, numbers, np.zeros(rows, np.int64))), 1)
    assert rows / distinct / 3 < rows_per_key(relation, [0]) < rows / distinct * 3
    assert 1 <= rows_per_key(relation, [0, 1]) == rows_per_key(relation, [1]) < 1.01
