"""What a version cost, what it says where that does not follow the change, and how `explain` puts it."""

from __future__ import annotations

import pytest
from database_support import REACH, chain, closure, dense, reach, rows

import headwater as hw
from headwater.events import Compacted, Recomputed, Scanned, SearchedGroup, Stopped
from headwater.maintain.strategies.support import FRACTION

# ------------------------------------------------------------------ counts


def test_what_a_version_did():
    statistics = reach([(1, 2), (2, 3)]).apply(insert={"link": [(3, 4), (1, 2)]}).statistics
    assert (statistics.version, statistics.inserted, statistics.deleted, statistics.no_ops) == (3, 1, 0, 1)
    (stratum,) = statistics.strata
    assert (stratum.relations, stratum.strategy) == (("reach",), "support")
    assert stratum.derivations == {"reach#1": 1, "reach#2": 2}
    assert statistics.derivations == 3 and statistics.rounds == stratum.rounds == 3
    assert statistics.touched == stratum.touched > 0 and 0 < stratum.seconds <= statistics.seconds


def test_what_died_and_what_came_back():
    """Without the link from 1 to 3, 1 still reaches 3 through 2."""
    db = reach([(1, 3), (1, 2)])
    db.apply(insert={"link": [(2, 3)]})
    (stratum,) = db.apply(delete={"link": [(1, 3)]}).statistics.strata
    assert (stratum.died, stratum.revived) == (1, 1)
    (stratum,) = db.apply(delete={"link": [(2, 3)]}).statistics.strata
    assert (stratum.died, stratum.revived) == (2, 0)


def test_views_that_see_no_change_are_not_listed():
    db = hw.connect()
    db.define("a1(X) :- a(X). a2(X) :- a1(X), X > 5. a3(X) :- a2(X). b1(X) :- b(X).")
    db.apply(insert={"a": [(1,)]})
    assert [stratum.relations for stratum in db.statistics.strata] == [("a1",), ("a2",)]


def test_the_last_statistics_are_those_of_the_last_version():
    db = reach([(1, 2)])
    changes = db.apply(insert={"link": [(2, 3)]})
    assert db.statistics is changes.statistics
    db.advance(1)
    assert db.statistics.version == 4 and db.statistics.strata == []


# ------------------------------------------------------------------ cost follows the change

COSTS = {
    "closure": (REACH, "link"),
    "join": ("two(X, Z) :- link(X, Y), link(Y, Z).", "link"),
    "count": ("degree(X, count<Y>) :- link(X, Y).", "link"),
    "negation": ("leaf(Y) :- link(_, Y), !link(Y, _).", "link"),
    "cheapest": (
        "cost(X, Y, min<C>) :- link(X, Y), C = 1. cost(X, Y, min<C>) :- link(X, Z), cost(Z, Y, D), C = D + 1.",
        "link",
    ),
}


@pytest.mark.parametrize("view", COSTS)
def test_the_cost_of_a_change_is_the_same_beside_ten_times_the_data(view: str):
    """Unrelated components, first few and then many; the rows looked at are the same to the last one.

    The first round of changes makes the indexes that it needs; the second is measured.
    """
    text, relation = COSTS[view]
    seen = []
    for components in (30, 300):
        db = hw.connect()
        db.define(text)
        links = [(100 * part + a, 100 * part + b) for part in range(components) for a, b in chain(0, 8)]
        db.apply(insert={relation: links})
        steps = [([(508, 509)], []), ([], [(504, 505)]), ([(504, 505)], [(508, 509)])]
        changes = [db.apply(insert={relation: new}, delete={relation: old}) for new, old in steps * 2]
        costs = [change.statistics for change in changes[3:]]
        assert [cost.events for cost in costs] == [[], [], []]
        seen.append([(cost.touched, cost.rounds, cost.derivations) for cost in costs])
    assert seen[0] == seen[1]
    assert all(touched < 400 for touched, _, _ in seen[1])


# ------------------------------------------------------------------ what does not follow the change


def recomputed(db: hw.database.Database) -> list[tuple[tuple[str, ...], str]]:
    return [(event.relations, event.reason) for event in db.statistics.events if event.code == "recomputed"]


def test_a_large_delete_derives_the_view_anew():
    links = dense(100)
    db = reach(links)
    assert not recomputed(db)
    db.apply(delete={"link": links[:250]})
    assert recomputed(db) == [(("reach",), "large-change")]
    assert set(db["reach"].rows()) == closure(links[250:])


def test_a_small_delete_with_large_consequences_derives_the_view_anew():
    links = chain(0, 160)
    db = reach([*links, *((b, a) for a, b in links)])
    db.apply(delete={"link": [(80, 81)]})
    assert Recomputed(("reach",), "support-lost", FRACTION) in db.statistics.events
    everyone = range(161)
    assert set(db["reach"].rows()) == {(a, b) for a in everyone for b in everyone if a > 80 or b <= 80}


def test_the_strategy_recompute_says_so():
    db = reach([(1, 2)], strategy="recompute")
    db.apply(insert={"link": [(2, 3)]})
    assert db.statistics.events == [Recomputed(("reach",), "strategy")]


def test_a_scan_is_named():
    db = hw.connect()
    db.define("pair(X, Y) :- left(X), right(Y).")
    db.apply(insert={"left": [(1,)], "right": [(2,)]})
    assert set(db.statistics.events) == {Scanned("left", ("pair",)), Scanned("right", ("pair",))}
    db.apply(insert={"left": [(3,)]})
    assert db.statistics.events == [Scanned("right", ("pair",))]


def test_a_large_group_is_named():
    db = hw.connect()
    db.define("best(min<C>) :- offer(C).")
    db.apply(insert={"offer": [(number,) for number in range(20_001)]})
    db.apply(insert={"offer": [(30_000,)]}, delete={"offer": [(20_000,)]})
    assert db.statistics.events == [], "the best offer is still there"
    db.apply(delete={"offer": [(0,)]})
    assert SearchedGroup("best", 20_001) in db.statistics.events
    assert rows(db, "best") == [(1,)]


def test_compaction_is_named():
    db = hw.connect()
    db.apply(insert={"n": [(number,) for number in range(20_000)]})
    db.apply(delete={"n": [(number,) for number in range(11_000)]})
    assert db.statistics.events == [Compacted("n")]
    assert rows(db, "n") == [(number,) for number in range(11_000, 20_000)]
    db.apply(delete={"n": [(number,) for number in range(11_000, 19_000)]})
    assert db.statistics.events == [], "moving the few that are left costs less than the deletion"


def test_stopping_at_the_limit_of_rounds_is_named():
    """The view is short of rows and says so, until a version comes to rest."""
    db = reach(chain(0, 10), max_rounds=4, at_max_rounds="stop")
    assert Stopped(("reach",), 4) in db.statistics.events
    assert db.statistics.strata[0].stopped
    assert set(db["reach"].rows()) < closure(chain(0, 10)) and (0, 4) in db["reach"]
    db.apply(delete={"link": chain(3, 10)})
    assert db.statistics.events == [Recomputed(("reach",), "was-stopped")]
    assert not db.statistics.strata[0].stopped and set(db["reach"].rows()) == closure(chain(0, 3))
    db.apply(insert={"link": [(3, 4)]})
    assert not db.statistics.events and set(db["reach"].rows()) == closure(chain(0, 4))


def test_a_stopped_view_is_still_known_to_be_short_when_opened_again(tmp_path):
    options = {"max_rounds": 4, "at_max_rounds": "stop"}
    for checkpoint in (False, True):
        folder = tmp_path / str(checkpoint)
        with reach(chain(0, 10), path=folder, **options) as db:
            if checkpoint:
                db.checkpoint()
        with hw.connect(folder, **options) as db:
            db.apply(delete={"link": chain(3, 10)})
            assert recomputed(db) == [(("reach",), "was-stopped")]
            assert set(db["reach"].rows()) == closure(chain(0, 3))


# ------------------------------------------------------------------ strategies


@pytest.mark.parametrize("strategy", ["support", "dred", "recompute", "auto"])
def test_every_strategy_comes_to_the_same(strategy: str):
    links = dense(12, 2)
    db = reach(links, strategy=strategy)
    db.define("far(X, Y) :- reach(X, Y), !link(X, Y). many(X, count<Y>) :- far(X, Y).")
    for step in range(0, 20, 2):
        db.apply(delete={"link": links[step : step + 2]}, insert={"link": links[step - 6 : step - 5]})
        current = set(db["link"].rows())
        assert set(db["reach"].rows()) == closure(sorted(current))
        assert set(db["far"].rows()) == closure(sorted(current)) - current


def test_counting_keeps_views_without_recursion():
    db = hw.connect(strategy="counting")
    db.define("two(X, Z) :- link(X, Y), link(Y, Z).")
    db.apply(insert={"link": [(1, 2), (2, 4), (1, 3), (3, 4)]})
    assert not db.apply(delete={"link": [(1, 2)]})["two"]
    assert db.apply(delete={"link": [(1, 3)]})["two"].deleted == [(1, 4)]


def test_auto_chooses_by_recursion():
    db = hw.connect(strategy="auto")
    db.define(REACH + "back(Y, X) :- reach(X, Y). number(count<X>) :- back(X, _).")
    db.apply(insert={"link": [(1, 2)]})
    assert {stratum.relations[0]: stratum.strategy for stratum in db.statistics.strata} == {
        "reach": "support", "back": "counting", "number": "grouping",
    }  # fmt: skip


# ------------------------------------------------------------------ in words


def test_explaining_a_view():
    db = reach([("a", "b"), ("b", "c")])
    text = str(db.explain("reach"))
    for words in (
        "view reach: recursive, strategy support",
        "reach(X, Y): 3 rows",
        "index(X): 2 keys",
        "rule reach#2: reach(X, Y) :- link(X, Z), reach(Z, Y).",
        "on a change of link: start link(X, Z); join reach(Z, Y) by index(0)",
        "on a change of reach: start reach(Z, Y); join link(X, Z) by index(1)",
        "2 rounds, ",
        "3 derivations, 0 died, 0 came back",
        "reach#1: 2 derivations",
    ):
        assert words in text, words
    assert "base link" not in text


def test_explaining_everything():
    db = hw.connect()
    db.define(
        "seen(x: int, at: int). materialize(seen, 30, 1000, keys(1))."
        "first(X, min<T>) :- seen(X, T). total(count<X>) :- seen(X, _). pair(X, Y) :- seen(X, _), seen(Y, _)."
    )
    db.apply(insert={"seen": [(1, 5), (2, 6)]})
    text = str(db.explain())
    for words in (
        "base seen(x, at): 2 rows", "key: x", "lifetime: 30 s", "size: at most 1,000 rows",
        "of 2 candidates", "only the min of ", "strategy grouping", "by scan", "last version: scanned seen for pair",
    ):  # fmt: skip
        assert words in text, words
    assert str(db.explain("seen")).startswith("base seen")


def test_a_view_that_is_derived_anew_shows_how_far_losses_spread():
    """Two halves that reach each other by one link. By what is known, losing it costs just so much that the view is
    derived anew; that half of the rows are gone by then says that it would have cost more."""
    links = chain(0, 160)
    db = reach([*links, *((b, a) for a, b in links)])
    (view,) = db.engine.views
    view.strategy.spread = 20.0
    db.apply(delete={"link": [(80, 81), (81, 80)]})
    assert recomputed(db) == [(("reach",), "large-change")]
    assert view.strategy.spread > 20.0
