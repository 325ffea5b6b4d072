"""Rules that come and go on nodes: after every version all views are as clingo has them; rows stay in place."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from oracle_edits import Edits
from oracle_lockstep import examples

import headwater as hw
from headwater.nodes.where import start_nodes
from headwater.options import Options

OPTIONS: list[dict[str, Any]] = [
    {},
    {"replicate": 0},
    {"replicate": 0, "strategy": "dred", "rank_filter": False},
]


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Any]:
    with start_nodes(2, run="threads") as nodes:
        yield nodes


@settings(max_examples=examples(4), deadline=None)
@given(seed=some.integers(0, 10**9), options=some.sampled_from(OPTIONS))
def test_edits_of_rules_on_nodes(two_nodes: Any, seed: int, options: dict[str, Any]):
    with hw.connect(run="threads", nodes=two_nodes, **options) as db:
        Edits(db, random.Random(seed)).follow(8)


@pytest.mark.parametrize("options", OPTIONS)
def test_views_on_nodes_follow_rules(two_nodes: Any, options: dict[str, Any]):
    """Nothing is derived again, and what is not concerned is not looked at."""
    with hw.connect(run="threads", nodes=two_nodes, **options) as db:
        db.define("""
            .decl e(x: int, y: int)
            p(X, Y) :- e(X, Y).  p(X, Z) :- e(X, Y), p(Y, Z).  q(X, Y) :- e(Y, X).  c(X, count<Y>) :- p(X, Y).
            far(X) :- q(X, _), !p(X, X).
        """)
        db.apply(insert={"e": [(i, i + 1) for i in range(20)]})
        added = db.add_rule("q(X, Y) :- p(X, Y), X + 3 = Y.")
        assert len(added["q"].inserted) == 18
        assert {name for stratum in added.statistics.strata for name in stratum.relations} >= {"q"}
        assert not {"p", "c"} & {name for stratum in added.statistics.strata for name in stratum.relations}
        assert db.add_rule("c(X, count<Y>) :- q(X, Y).").statistics.fallbacks == []
        assert (19, 1) not in db["c"] and (19, 2) in db["c"]
        gone = db.drop_rule("q#2")
        assert len(gone["q"].deleted) == 18 and not [
            e for e in gone.statistics.events if e.code == "recomputed"
        ]


def test_a_definition_as_a_whole_on_nodes(two_nodes: Any):
    text = ".decl e(x: int, y: int)\ne(1, 2). e(2, 3).\np(X, Y) :- e(X, Y).\n"
    with hw.connect(run="threads", nodes=two_nodes, replicate=0) as db:
        db.define(text + "far(X) :- p(X, _).")
        new = text.replace("e(2, 3).", "e(2, 4).") + "p(X, Z) :- e(X, Y), p(Y, Z)."
        found = db.difference(new)
        assert (found.dropped, found.changes["p"].counts, found.changes["far"].counts) == (
            ("far",),
            (2, 1),
            (0, 2),
        )
        assert set(db["p"].rows()) == {(1, 2), (2, 3)}
        assert sorted(db.redefine(new)["far"].deleted) == [(1,), (2,)]
        assert set(db["p"].rows()) == {(1, 2), (2, 4), (1, 4)} and "far" not in db


def test_the_rank_filter_answers_to_its_former_name():
    assert Options().place.rank_filter
    assert not Options(min_ship=False).place.rank_filter
    assert not Options(rank_filter=False).place.rank_filter
    with pytest.raises(hw.DataError, match="min_ship"):
        Options(min_ship="no")
