"""Propagation and filtration against the figures of Harrison and Dietrich (1994), and what it costs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.maintain.strategies.propagation.propagate import PropagationCall
from headwater.maintain.strategies.propagation.queries import Sign

TC = "tc(X, Y) :- edge(X, Y). tc(X, Y) :- tc(X, W), edge(W, Y)."
ENDS = [f"e{i}" for i in range(1, 8)]
FIGURE_2 = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), *(("d", end) for end in ENDS)]
Rows = set[tuple[Any, ...]]


def watching(rules: str, views: str, **base: list[tuple[Any, ...]]) -> Any:
    """A database with views that are watched, and rows that were there before it is."""
    db = hw.connect()
    db.define(rules)
    db.apply(insert=base)
    db.define("\n".join(f".kind {view} watched" for view in views.split()) + "\n")
    return db


def calls_of(db: Any, **change: Any) -> tuple[Any, list[tuple[str, str, Rows, Rows, Rows, Rows]]]:
    """What a version did, and its calls as figure 3 shows them: rule, type, U, A, D and U^P."""
    trace: list[PropagationCall] = []
    db.engine.unstored.calls = trace
    changes = db.apply(**change)
    db.engine.unstored.calls = None

    def shown(rows: Any, relation: str) -> Rows:
        return set(db.info(relation).layout.decode(db.codec, rows))

    found = []
    for call in trace:
        rule = next(
            rule for stratum in db.program.virtual for rule in stratum.rules if rule.label == call.rule
        )
        premise = call.relation if call.position is None else rule.body[call.position].relation  # type: ignore[union-attr]
        parts = (call.approximation, call.disqualified, call.actual)
        updates = shown(call.updates, premise)
        found.append((call.rule, call.sign.value, updates, *(shown(rows, call.relation) for rows in parts)))
    return changes, found


def test_figures_2_and_3_row_by_row():
    db = watching(TC, "tc", edge=FIGURE_2)
    changes, calls = calls_of(db, delete={"edge": [("b", "d")]})
    below = {("b", end) for end in ENDS}
    assert calls == [
        ("tc#1", "-", {("b", "d")}, {("b", "d")}, set(), {("b", "d")}),
        ("tc#2", "-", {("b", "d")}, {("a", "d")}, {("a", "d")}, set()),
        ("tc#2", "-", {("b", "d")}, below, set(), below),
        ("tc#2", "-", below, set(), set(), set()),  # which the paper leaves out
    ]
    assert set(changes["tc"].deleted) == {("b", "d"), *below} and not changes["tc"].inserted
    (stratum,) = db.statistics.strata
    cost = stratum.propagation
    assert (cost.calls, cost.potential, cost.filtered) == (4, 2 + len(ENDS), 2 + len(ENDS))
    assert (cost.disqualified, cost.removed, cost.added) == (1, 1 + len(ENDS), 0)
    considered = {row for call in calls for rows in call[3:] for row in rows}
    assert not considered & {("a", end) for end in ENDS}


def test_the_same_deletion_by_dred_and_by_support():
    """DRed takes the tc(a, e_i) down and brings them back; support counts tc(a, d) off once, and leaves it."""
    died = {}
    for strategy in ("dred", "support"):
        db = hw.connect(strategy=strategy)
        db.define(TC)
        db.apply(insert={"edge": FIGURE_2})
        changes = db.apply(delete={"edge": [("b", "d")]})
        assert set(changes["tc"].deleted) == {("b", "d"), *(("b", end) for end in ENDS)}
        (stratum,) = db.statistics.strata
        died[strategy] = stratum.died
    assert died == {"dred": 2 + 2 * len(ENDS), "support": 1 + len(ENDS)}


def test_an_insertion_is_propagated_in_the_new_state_and_filtered_in_the_old_one():
    db = watching(TC, "tc", edge=[edge for edge in FIGURE_2 if edge != ("b", "d")])
    changes, calls = calls_of(db, insert={"edge": [("b", "d")]})
    below = {("b", end) for end in ENDS}
    assert calls == [
        ("tc#1", "+", {("b", "d")}, {("b", "d")}, set(), {("b", "d")}),
        ("tc#2", "+", {("b", "d")}, {("a", "d")}, {("a", "d")}, set()),
        ("tc#2", "+", {("b", "d")}, below, set(), below),
        ("tc#2", "+", below, set(), set(), set()),
    ]
    assert set(changes["tc"].inserted) == {("b", "d"), *below}


def test_figure_4_a_negated_premise_switches_the_type():
    rules = "open(X) :- door(X), !locked(X), !barred(X). locked(X) :- key(X)."
    doors = [("front",), ("back",)]
    db = watching(rules, "open locked", door=doors, key=[("back",)], barred=[("side",)])
    changes, calls = calls_of(db, insert={"key": [("front",)]}, delete={"key": [("back",)]})
    front, back = {("front",)}, {("back",)}
    assert sorted(calls) == sorted(
        [
            ("locked#1", "+", front, front, set(), front),
            ("locked#1", "-", back, back, set(), back),
            ("open#1", "-", front, front, set(), front),
            ("open#1", "+", back, back, set(), back),
        ]
    )
    assert changes["open"].deleted == [("front",)] and changes["open"].inserted == [("back",)]


def test_the_switch_is_for_the_negated_premise_alone():
    """Figure 4 as printed would take the deletion of a door for an addition, after the negated premise."""
    rules = "shut(X) :- !handle(X), door(X), hinge(X). handle(X) :- fitted(X)."
    db = watching(rules, "shut handle", door=[(1,), (2,)], hinge=[(1,), (2,)], fitted=[(2,)])
    changes, calls = calls_of(db, insert={"fitted": [(1,)]}, delete={"door": [(1,)], "hinge": [(2,)]})
    assert changes["shut"].deleted == [(1,)] and not changes["shut"].inserted
    assert {call[:2] for call in calls if call[0] == "shut#1"} == {("shut#1", "-")}


def test_nothing_is_asked_for_what_no_change_touches():
    db = watching(
        TC + " far(X, Y) :- road(X, Y). far(X, Y) :- far(X, W), road(W, Y).", "tc far", edge=FIGURE_2
    )
    db.apply(insert={"edge": [("x", "y")]})
    assert [stratum.relations for stratum in db.statistics.strata] == [("tc",)]


def test_groups_are_compared_in_both_states():
    rules = "total(G, sum<V>) :- part(G, K, V). best(G, min<V>) :- part(G, K, V)."
    parts = [("g", 1, 10), ("g", 2, 20), ("h", 1, 5)]
    db = watching(rules, "total best", part=parts)
    changes = db.apply(insert={"part": [("g", 3, 30)]}, delete={"part": [("g", 1, 10)]})
    assert changes["total"].deleted == [("g", 30)] and changes["total"].inserted == [("g", 50)]
    assert changes["best"].deleted == [("g", 10)] and changes["best"].inserted == [("g", 20)]
    assert [stratum.propagation.potential for stratum in db.statistics.strata] == [1, 1]
    changes = db.apply(insert={"part": [("g", 4, 1), ("h", 3, -5)]}, delete={"part": [("h", 1, 5)]})
    assert set(changes["total"].deleted) == {("g", 50), ("h", 5)}
    assert set(changes["total"].inserted) == {("g", 51), ("h", -5)}
    changes = db.apply(delete={"part": [("h", 3, -5)]})
    assert changes["total"].deleted == [("h", -5)] and not changes["total"].inserted


@pytest.mark.parametrize("sign", Sign)
def test_best_rows_inside_a_recursion_follow_by_group(sign: Sign):
    rules = (
        "dist(X, Y, min<C>) :- road(X, Y, C). dist(X, Y, min<C>) :- dist(X, Z, A), road(Z, Y, B), C = A + B."
    )
    roads = [("a", "b", 5), ("b", "c", 5), ("a", "c", 20), ("c", "d", 1)]
    db = watching(rules, "dist", road=roads)
    kept = hw.connect()
    kept.define(rules)
    kept.apply(insert={"road": roads})
    change: dict[str, Any] = {"delete": {"road": [("b", "c", 5)]}}
    if sign is Sign.ADDED:
        change = {"insert": {"road": [("a", "c", 3)]}}
    here, there = db.apply(**change)["dist"], kept.apply(**change)["dist"]
    assert set(here.inserted) == set(there.inserted) and set(here.deleted) == set(there.deleted)
    assert here.inserted and here.deleted


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_view_of_ten_million_rows_takes_no_memory_of_its_size():
    chains, length = 1000, 142
    assert chains * length * (length - 1) // 2 > 10_000_000, "rows of the closure"
    sources = (np.arange(chains)[:, None] * 1000 + np.arange(length - 1)).ravel()
    with hw.connect() as db:
        db.define(f"edge(s: int, t: int). {TC}\n.kind tc virtual\n")
        db.apply(insert={"edge": np.column_stack((sources, sources + 1))})
        db.keep("tc", "watched")
        db.apply(delete={"edge": [(139, 140)]})
        before, held = resident(), db.nbytes
        for chain, link in ((5, 140), (70, 100), (9, 0)):
            edge = (chain * 1000 + link, chain * 1000 + link + 1)
            reached = (link + 1) * (length - 1 - link)
            assert db.apply(delete={"edge": [edge]})["tc"].counts == (0, reached)
            assert db.apply(insert={"edge": [edge]})["tc"].counts == (reached, 0)
            cost = db.statistics.strata[0].propagation
            assert cost.filtered == cost.potential == reached and cost.memo_rows < 200_000
        assert db.nbytes < 1.1 * held
        assert resident() - before < 100_000_000, "less than a third of what its rows take"
