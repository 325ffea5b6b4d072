"""Rows with counts beside a dictionary, through versions that are kept and versions that are taken back."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings
from oracle_lockstep import examples

from headwater.kernel.accumulating import Accumulating

KEYS = st.tuples(st.integers(0, 6), st.integers(-3, 12))
CHANGES = st.lists(st.tuples(KEYS, st.integers(-4, 6)), max_size=40)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(CHANGES, CHANGES, st.booleans()), max_size=8))
def test_counts_and_chains_are_those_of_a_dictionary(versions):
    table = Accumulating("counted", 2, chained=True)
    kept: Counter[tuple[int, int]] = Counter()
    for first, second, keep in versions:
        model = Counter(kept)
        for changes in (first, second):
            keys = np.array([key for key, _ in changes], np.int64).reshape(-1, 2)
            places = table.add(keys, np.array([count for _, count in changes], np.int64))
            assert table.rows[places, :2].tolist() == keys.tolist()
            for key, count in changes:
                model[key] += count
        assert _positive(table, before=False) == {key for key, count in model.items() if count > 0}
        assert _positive(table, before=True) == {key for key, count in kept.items() if count > 0}
        negative = {tuple(row) for row in table.rows[table.negative(), :2].tolist()}
        touched = {key for changes in (first, second) for key, _ in changes}
        assert negative == {key for key in touched if model[key] < 0}
        if keep:
            table.commit()
            kept = Counter({key: count for key, count in model.items() if count})
        else:
            table.rollback()
        live = table.live_rows()
        assert {tuple(row[:2]): row[2] for row in table.rows[live].tolist()} == dict(kept)
        assert len(table) == len(kept) and not table.touched.size
        asked = np.array([(a, b) for a in range(7) for b in range(-3, 13)], np.int64)
        assert [place >= 0 for place in table.find(asked).tolist()] == [
            tuple(key) in kept for key in asked.tolist()
        ]


def _positive(table: Accumulating, *, before: bool) -> set[tuple[int, int]]:
    offsets, rows = table.of_owners(np.arange(8), before=before)
    found = set()
    for owner in range(8):
        for row in rows[offsets[owner] : offsets[owner + 1]].tolist():
            assert table.rows[row, 0] == owner
            found.add((owner, int(table.rows[row, 1])))
    return found
