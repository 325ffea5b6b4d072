"""Single rules come and go by their ids: one version each, views follow, nothing is left of what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headwater as hw

REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
LINKS = [("a", "b"), ("b", "c"), ("x", "y")]
ALL = {("a", "b"), ("b", "c"), ("a", "c"), ("x", "y")}


@pytest.fixture
def db() -> Any:
    with hw.connect() as db:
        db.define(f"link(src: string, dst: string). {REACH}")
        db.apply(insert={"link": LINKS})
        yield db


def refused(call: Any) -> hw.HeadwaterError:
    with pytest.raises(hw.HeadwaterError) as caught:
        call()
    return caught.value


# ------------------------------------------------------------------ coming and going


def test_a_rule_is_added_dropped_and_replaced_as_one_version_each(db: Any):
    assert db.rules == ("reach#1", "reach#2")
    changes = db.add_rule("back: reach(X, Y) :- link(Y, X).")
    assert set(changes["reach"].inserted) >= {("b", "a"), ("c", "b"), ("y", "x")} and changes.version == 3
    gone = db.drop_rule("back")
    assert set(gone["reach"].deleted) == set(changes["reach"].inserted) and set(db["reach"].rows()) == ALL
    assert db.replace_rule("reach#2", "reach(X, Z) :- reach(X, Y), reach(Y, Z).").statistics is not None
    assert set(db["reach"].rows()) == ALL and db.version == 5
    assert db.rules == ("reach#1", "reach#2")
    assert db.rules.rows()[1][1] == "reach(X, Z) :- reach(X, Y), reach(Y, Z)."


def test_the_order_in_which_rules_go_is_free(db: Any):
    """harrison-1994 asks for the base rule of a recursion to go last."""
    assert set(db.drop_rule("reach#1")["reach"].deleted) == ALL
    assert db["reach"].rows() == []
    assert db.apply(insert={"link": [("c", "d")]})["reach"].counts == (0, 0)
    assert set(db.add_rule("reach(X, Y) :- link(X, Y).")["reach"].inserted) == ALL | {
        ("a", "d"), ("b", "d"), ("c", "d"),
    }  # fmt: skip


def test_a_replaced_rule_keeps_its_id_unless_it_has_a_label(db: Any):
    db.replace_rule("reach#1", "one: reach(X, Y) :- link(X, Y).")
    assert db.rules == ("reach#2", "one")
    db.replace_rule("one", "reach(X, Y) :- link(X, Y), X != Y.")
    assert db.rules == ("reach#2", "one")
    assert refused(lambda: db.add_rule("one: reach(X, X) :- link(X, _).")).code == "duplicate-label"
    assert "rule one:" in str(db.explain("reach"))


def test_rules_of_a_text_go_together_with_what_it_adds(db: Any):
    changes = db.define(".drop rule reach#1, reach#2\nreach(X, Y) :- link(X, Y), X = a.")
    assert set(db["reach"].rows()) == {("a", "b")} and changes["reach"].counts == (0, 3)


def test_rules_that_nothing_else_reads_leave_the_others_alone(db: Any):
    db.define("far(X, N) :- link(X, _), N = count : { reach(X, _) }. lone(X) :- link(X, _), !far(X, 2).")
    statistics = db.add_rule("lone(X) :- link(_, X), !far(X, 1).").statistics
    assert {name for stratum in statistics.strata for name in stratum.relations} == {"lone"}
    statistics = db.drop_rule("lone#2").statistics
    assert {name for stratum in statistics.strata for name in stratum.relations} == {"lone"}


def wide(strategy: str = "support") -> Any:
    """Two recursions, one above the other, over many chains; and counts."""
    db = hw.connect(strategy=strategy)
    db.define("""
        .decl e(x: int, y: int)
        .decl f(x: int, y: int)
        p(X, Y) :- e(X, Y).  p(X, Z) :- e(X, Y), p(Y, Z).
        q(X, Y) :- p(X, Y).  q(X, Z) :- q(X, Y), f(Y, Z).
        c(X, count<Y>) :- e(X, Y).
    """)
    db.apply(
        insert={"e": [(10 * i + j, 10 * i + j + 1) for i in range(300) for j in range(4)], "f": [(4, 10)]}
    )
    return db


def derivations(statistics: Any) -> int:
    return sum(sum(stratum.derivations.values()) for stratum in statistics.strata)


@pytest.mark.parametrize("strategy", ["support", "dred", "auto", "relative"])
def test_recursions_that_merge_and_split_keep_their_rows(strategy: str):
    db = wide(strategy)
    merged = db.add_rule("back: p(X, Y) :- q(Y, X), f(X, _).")
    split = db.drop_rule("back")
    for changes in (merged, split):
        told = [event for event in changes.statistics.events if event.code == "recomputed"]
        if strategy != "relative":  # which has no provenance of what was two recursions
            assert told == [] and derivations(changes.statistics) < 200 and changes["p"].counts != (0, 0)
    assert sum(merged["p"].counts) == sum(split["p"].counts)
    with wide() as again:
        for name in again.relations:
            assert set(db[name].rows()) == set(again[name].rows())
    db.apply(delete={"e": [(0, 1), (3, 4)]}, insert={"f": [(3, 20)]})
    assert (3, 4) not in db["q"] and (2, 20) in db["q"]


def test_only_the_groups_that_a_rule_concerns_are_counted_again():
    db = wide()
    added = db.add_rule("c(X, count<Y>) :- f(X, Y).")
    assert added["c"].counts == (1, 0) and derivations(added.statistics) == 1
    assert added.statistics.fallbacks == []
    gone = db.drop_rule("c#2")
    assert gone["c"].deleted == [(4, 1)] and derivations(gone.statistics) == 1


@pytest.mark.parametrize("strategy", ["relative", "absorption", "absorption-eager"])
def test_provenance_follows_rules(strategy: str):
    """Terms do not tell rules apart: absorption derives again what may have rested on a rule that is lost."""
    db = wide(strategy)
    added = db.add_rule("p(X, Y) :- f(X, Y).")
    assert derivations(added.statistics) < 200 and added.statistics.fallbacks == []
    gone = db.drop_rule("p#3")
    again = [event.relations for event in gone.statistics.events if event.code == "recomputed"]
    assert again == [] and derivations(gone.statistics) < 200
    assert sum(gone["p"].counts) == sum(added["p"].counts)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_rules_are_there_after_a_restart(tmp_path: Path, checkpoint: bool):
    with hw.connect(tmp_path) as db:
        db.define(f"link(src: string, dst: string). {REACH}")
        db.apply(insert={"link": LINKS})
        if checkpoint:
            db.checkpoint()
        db.add_rule("reach(X, X) :- link(X, _).")
        db.replace_rule("reach#2", "reach(X, Z) :- reach(X, Y), link(Y, Z).")
        db.drop_rule("reach#1")
        if checkpoint:
            db.checkpoint()
        db.add_rule("reach(X, X) :- link(_, X).")
        rules, rows = db.rules.rows(), set(db["reach"].rows())
        assert [row[0] for row in rules] == ["reach#3", "reach#2", "reach#4"]
    with hw.connect(tmp_path) as db:
        assert db.rules.rows() == rules and set(db["reach"].rows()) == rows
        db.replace_rule("reach#3", "reach(X, Y) :- link(X, Y).")
        assert db.rules == ("reach#2", "reach#4", "reach#3")


# ------------------------------------------------------------------ the last rule of a view


def test_a_view_without_rules_is_gone(db: Any):
    db.define(".output reach\n.kind reach stored")
    db.drop_rule("reach#1")
    changes = db.drop_rule("reach#2")
    assert "reach" not in db and list(changes) == []
    assert set(db.define(REACH)["reach"].inserted) == ALL


def test_what_a_view_had_is_in_the_changes(db: Any):
    db.drop_rule("reach#2")
    changes = db.drop_rule("reach#1")
    assert set(changes["reach"].deleted) == set(LINKS) and "reach" not in db
    db.define("two(X, Z) :- link(X, Y), link(Y, Z).")
    assert db.drop("two")["two"].deleted == [("a", "c")]


def test_a_declared_view_without_rules_is_a_base_relation(db: Any):
    db.define(".decl near(x: string, y: string)\none: near(X, Y) :- link(X, Y). far(X) :- near(_, X).")
    assert set(db.drop_rule("one")["near"].deleted) == set(LINKS)
    assert db.info("near").base and db["far"].rows() == []
    assert db.apply(insert={"near": [("p", "q")]})["far"].inserted == [("q",)]
    assert db.add_rule("near(X, Y) :- link(Y, X).")["near"].counts == (3, 0)
    assert ("p", "q") in db["near"]


def test_rows_given_to_a_view_stay_when_its_last_rule_goes(db: Any):
    db.define('near(X, Y) :- link(X, Y). near("p", "q"). far(X) :- near(_, X).')
    assert set(db.drop_rule("near#1")["near"].deleted) == set(LINKS)
    assert db["near"].rows() == [("p", "q")] and db["far"].rows() == [("q",)]
    db.apply(insert={"near": [("r", "s")]}, delete={"near": [("p", "q")]})
    assert db["far"].rows() == [("s",)]


def test_what_others_read_keeps_a_rule(db: Any):
    db.define("far(X) :- reach(_, X). near(X) :- far(X), !reach(X, X).")
    db.drop_rule("reach#2")
    error = refused(lambda: db.drop_rule("reach#1"))
    assert error.code == "still-read" and "far#1, near#1 read it" in error.message
    assert set(db["far"].rows()) == {("b",), ("c",), ("y",)}
    db.define(".drop rule far#1, near#1, reach#1")
    assert tuple(db.relations) == ("link",)


def test_whoever_takes_anything_reads_an_empty_relation():
    with hw.connect(strict=False) as db:
        db.define("p(X) :- q(X). r(X) :- p(X).", insert={"q": [(1,)]})
        assert db.drop_rule("p#1")["r"].deleted == [(1,)]
        assert db.info("p").base and db.apply(insert={"p": [(2,)]})["r"].inserted == [(2,)]


def test_texts_that_nothing_is_left_of_are_not_looked_at_again(db: Any):
    before = db.catalog.definitions.current
    for _ in range(5):
        db.add_rule("reach(X, X) :- link(X, _).")
        db.drop_rule(db.rules[-1])
    db.add_rule("reach(Y, Y) :- link(_, Y).")
    assert db.catalog.definitions.current[:-1] == before
    assert len(db.texts) == 1 + len(before) + 10


def test_what_is_subscribed_to_keeps_a_rule(db: Any):
    db.subscribe("me", "reach")
    db.drop_rule("reach#1")
    assert sorted(db.owed("me")[-1].table.column("_change_type").to_pylist()) == ["delete"] * 4
    assert refused(lambda: db.drop_rule("reach#2")).code == "still-read"


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    "call, code",
    [
        (lambda db: db.drop_rule("reach#9"), "unknown-rule"),
        (lambda db: db.drop_rule("reach"), "unknown-rule"),
        (lambda db: db.drop_rule(None), "unknown-rule"),
        (lambda db: db.define(".drop rule reach#1, reach#1"), "unknown-rule"),
        (lambda db: db.replace_rule("raech#1", "reach(X, Y) :- link(X, Y)."), "unknown-rule"),
        (lambda db: db.add_rule(""), "one-rule"),
        (lambda db: db.add_rule("link(a, b)."), "one-rule"),
        (lambda db: db.add_rule(".drop rule reach#1"), "one-rule"),
        (lambda db: db.add_rule(REACH), "one-rule"),
        (lambda db: db.add_rule("n(x: int). n(X) :- m(X)."), "one-rule"),
        (lambda db: db.add_rule("reach(X, Y) :- link(X, Y"), "syntax"),
        (lambda db: db.add_rule("reach(X, Y) :- link(X, _)."), "unsafe-variable"),
        (lambda db: db.add_rule("reach(X, 3) :- link(X, _)."), "type-clash"),
        (lambda db: db.add_rule("reach(X) :- link(X, _)."), "arity-clash"),
        (lambda db: db.add_rule("reach(X, Y) :- lnik(X, Y)."), "unknown-relation"),
        (lambda db: db.add_rule("p(X, Y) :- link(X, Y), !p(Y, X)."), "unstratified-negation"),
        (
            lambda db: db.replace_rule("reach#1", "reach(X, Y) :- link(X, Y), !reach(Y, X)."),
            "unstratified-negation",
        ),
        (lambda db: db.replace_rule("reach#1", "link(X, Y) :- reach(X, Y), Z > 3."), "unsafe-variable"),
    ],
)
def test_what_is_refused_leaves_everything(db: Any, call: Any, code: str):
    before = db.version, set(db["reach"].rows()), db.rules.rows(), db.texts
    assert refused(lambda: call(db)).code == code
    assert (db.version, set(db["reach"].rows()), db.rules.rows(), db.texts) == before
    assert db.apply(insert={"link": [("c", "d")]})["reach"].counts == (3, 0)


def test_a_hint_names_rules_that_are_near(db: Any):
    assert refused(lambda: db.drop_rule("raech#1")).hint == "did you mean reach#1?"
    assert "there are: reach#1, reach#2" in str(refused(lambda: db.drop_rule("zzz")))


# ------------------------------------------------------------------ the table of rules


def test_rules_are_ids_and_a_table(db: Any):
    assert repr(db.rules).splitlines() == [
        "id       text                                     view   place",
        "reach#1  reach(X, Y) :- link(X, Y).               reach  <text>:1:33",
        "reach#2  reach(X, Y) :- link(X, Z), reach(Z, Y).  reach  <text>:1:60",
    ]
    assert ">reach(X, Y) :- link(X, Y).</td>" in db.rules._repr_html_()
    assert db.rules.arrow().column("view").to_pylist() == ["reach", "reach"]
    assert hw.connect().rules == () and hw.connect().rules.arrow().num_rows == 0


@pytest.mark.parametrize("strategy", ["support", "dred", "recompute", "auto"])
@pytest.mark.parametrize(
    "more",
    [
        "best(X, Y, min<C>) :- best(X, Z, A), best(Z, Y, B), C = A + B.",
        "best(X, Y, min<C>) :- f(X, Z), best(Z, Y, B), C = B + 1.",
    ],
)
def test_best_rows_do_not_outlive_the_rule_that_they_begin_with(strategy, more):
    with hw.connect(strategy=strategy) as db:
        db.define(
            f"f(a: int, b: int). start: best(X, Y, min<C>) :- f(X, Y), C = 1. {more} over(X, C) :- best(X, X, C).",
            insert={"f": [(2, 1), (1, 3), (3, 1)]},
        )
        done = db.drop_rule("start")
        assert (len(done["best"].deleted), sorted(done["over"].deleted)) == (6, [(1, 2), (3, 2)])
        assert not done["best"].inserted and db["best"].rows() == [] == db["over"].rows()
        done = db.add_rule("start: best(X, Y, min<C>) :- f(X, Y), C = 1.")
        assert sorted(done["over"].inserted) == [(1, 2), (3, 2)]


def test_rows_that_go_have_the_types_of_their_rule():
    with hw.connect() as db:
        db.define("f(a: int). g(a: string). r: v(X) :- f(X).", insert={"f": [(7,)], "g": [("x",)]})
        done = db.replace_rule("r", "v(X) :- g(X).")
        assert (done["v"].inserted, done["v"].deleted) == ([("x",)], [(7,)])
        with pytest.raises(hw.HeadwaterError, match="type-clash"):
            done["v"].arrow()
        assert db["v"].rows() == [("x",)]
