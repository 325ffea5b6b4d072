"""A text that is all that is defined: what stays, what goes, and the difference told beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headwater as hw

BEFORE = """
link(src: string, dst: string).
link("a", "b"). link("b", "c"). link("x", "y").
reach(X, Y) :- link(X, Y).
reach(X, Y) :- link(X, Z), reach(Z, Y).
"""
MORE = """
near: far(X) :- reach(X, _).
.kind far virtual
n(X, count<Y>) :- reach(X, Y).
"""
AFTER = """
link(src: string, dst: string).
link("a", "b"). link("b", "c"). link("c", "d").
reach(X, Y) :- link(X, Y).
reach(X, Y) :- reach(X, Z), link(Z, Y).
near: far(X) :- reach(_, X).
n(X, count<Y>) :- reach(X, Y).
"""


def refused(call: Any) -> hw.HeadwaterError:
    with pytest.raises(hw.HeadwaterError) as caught:
        call()
    return caught.value


@pytest.fixture
def db() -> Any:
    with hw.connect() as db:
        db.define(BEFORE)
        db.define(MORE)
        yield db


def everything(db: Any) -> Any:
    return db.version, db.texts, db.rules.rows(), {name: sorted(db[name].rows()) for name in db.relations}


def test_a_text_takes_the_place_of_all_others(db: Any):
    db.apply(insert={"link": [("p", "q")]}, delete={"link": [("b", "c")]})
    changes = db.redefine(AFTER, source="after.dl")
    assert set(changes["link"].inserted) == {("c", "d")} and set(changes["link"].deleted) == {("x", "y")}
    assert set(db["link"].rows()) == {("a", "b"), ("c", "d"), ("p", "q")}, (
        "stated twice, and deleted meanwhile"
    )
    assert db.texts == ((AFTER, "after.dl"),) and db.rules == ("reach#1", "reach#2", "near", "n#1")
    assert set(db["far"].rows()) == {("b",), ("d",), ("q",)} and db.info("far").kind.value == "stored"
    assert db.add_rule("reach(X, X) :- link(X, _).")["n"].counts == (3, 3)
    assert db.rules[-1] == "reach#3"


def test_the_difference_is_what_comes(db: Any):
    before = everything(db)
    found = db.difference(AFTER)
    assert everything(db) == before
    assert [changed.after.id for changed in found.rules.changed] == ["reach#2", "near"]
    assert (found.rules.added, found.rules.dropped) == ((), ())
    assert found.unsaid == (".kind far virtual",) and found.said == ()
    told = {
        name: (sorted(found.changes[name].inserted), sorted(found.changes[name].deleted))
        for name in found.changes
    }
    changes = db.redefine(AFTER)
    assert {name: (sorted(changes[name].inserted), sorted(changes[name].deleted)) for name in changes} == told
    assert not db.difference(AFTER) and str(db.difference(AFTER)) == "no difference"


def test_what_is_alike_is_not_touched(db: Any):
    text = BEFORE.replace('link("x", "y").', 'link("x", "y").') + MORE.replace(".kind far virtual", "")
    db.keep("far", "stored")
    statistics = db.redefine(text + "two(X, Z) :- link(X, Y), link(Y, Z).").statistics
    assert {name for stratum in statistics.strata for name in stratum.relations} == {"two"}


def test_relations_that_are_not_mentioned_go_with_their_rows(db: Any):
    db.define("spare(x: int). spare(1).")
    found = db.difference("link(src: string, dst: string).")
    assert found.lost == {"spare": 1} and "- relation spare, with 1 rows" in str(found)
    changes = db.redefine("link(src: string, dst: string). two(X, Z) :- link(X, Y), link(Y, Z).")
    assert tuple(db.relations) == ("link", "two") and db["two"].rows() == []
    assert changes["reach"].counts == (0, 4) and changes["n"].counts == (0, 3)
    assert len(db["link"]) == 0, "its facts are not stated any more"
    assert db.define("spare(x: string).", insert={"spare": [("text",)]})["spare"].counts == (1, 0)


def test_rows_that_no_text_told_of_stay():
    with hw.connect(strict=False) as db:
        db.apply(insert={"loose": [(1, 2)]})
        db.define("p(X) :- q(X).", insert={"q": [(1,)]})
        db.redefine("p(X) :- q(X). p(X) :- loose(_, X).")
        assert set(db["p"].rows()) == {(1,), (2,)}
        db.redefine("r(X) :- loose(X, _).")
        assert db["r"].rows() == [(1,)] and set(db.relations) == {"loose", "r"}


def test_a_view_becomes_a_base_relation_and_the_other_way_round(db: Any):
    db.redefine('reach(x: string, y: string). reach("m", "n"). link(X, Y) :- reach(Y, X).')
    assert db.info("reach").base and not db.info("link").base
    assert db["link"].rows() == [("n", "m")]
    db.redefine(BEFORE)
    assert set(db["reach"].rows()) >= {("a", "c"), ("x", "y")}


@pytest.mark.parametrize("checkpoint", [False, True])
def test_it_is_there_after_a_restart(tmp_path: Path, checkpoint: bool):
    with hw.connect(tmp_path) as db:
        db.define(BEFORE)
        db.define(MORE)
        db.apply(delete={"link": [("b", "c")]})
        if checkpoint:
            db.checkpoint()
        db.redefine(AFTER)
        before = everything(db)
    with hw.connect(tmp_path) as db:
        assert everything(db) == before
        db.checkpoint()
    with hw.connect(tmp_path, mode="r") as db:
        assert everything(db) == before
        assert db.difference(BEFORE).takes_away
        assert refused(lambda: db.redefine(BEFORE)).code == "read-only"


def test_active_rules_keep_their_ids(db: Any):
    text = BEFORE + "ticket(x: string).\n"
    db.redefine(text + "on +reach(X, X) do insert ticket(X).\n")
    (id,) = [rule.id for rule in db.catalog.active]
    db.redefine(text + 'on +reach(X, X), X != "a" do insert ticket(X).\n')
    assert [rule.id for rule in db.catalog.active] == [id]


def test_an_active_rule_that_was_defined_twice_goes_at_once(db: Any):
    db.define("log(x: string). on +reach(X, _) do insert log(X).")
    db.add_rule("on +reach(X, _) do insert log(X).")
    assert len(db.catalog.active) == 1
    db.drop_rule(db.catalog.active[0].id)
    assert db.catalog.active == () and db.apply(insert={"link": [("m", "n")]})["log"].counts == (0, 0)


@pytest.mark.parametrize(
    "text, code",
    [
        (".drop reach", "unsupported"),
        (".rename link edge", "unsupported"),
        ("p(X) :- p(X), !p(X).", "unstratified-negation"),
        ("link(a: int, b: int). p(X) :- link(X, _).", "type-clash"),
        ("link(a: string). p(X) :- link(X).", "arity-clash"),
        ("link(a: string, b: string). p(X) :- lnik(X, _).", "unknown-relation"),
        ("p(X) :-", "syntax"),
        (3, "wrong-type"),
    ],
)
def test_what_is_refused_leaves_everything(db: Any, text: Any, code: str):
    db.apply(insert={"link": [("p", "q")]})
    before = everything(db)
    assert refused(lambda: db.redefine(text)).code == code
    assert refused(lambda: db.difference(text)).code == code
    assert everything(db) == before
    assert db.apply(insert={"link": [("c", "d")]})["reach"].counts == (3, 0)


def test_what_is_subscribed_to_stays(db: Any):
    db.subscribe("me", "reach")
    assert refused(lambda: db.redefine("link(src: string, dst: string).")).code == "still-read"
    db.redefine(AFTER)
    assert len(db.owed("me")) == 2


def test_what_must_be_derived_again_is_told(db: Any):
    found = db.difference(
        BEFORE.replace("reach(X, Y) :- link(X, Y).", "reach(X, Y) :- link(X, Y), X != Y.") + MORE
    )
    assert found.rebuilt == ()
    both = BEFORE.replace("reach(X, Y) :- link(X, Y).", "reach(X, Y) :- link(X, Y), X != Y.")
    found = db.difference(both.replace("link(X, Z), reach(Z, Y)", "reach(X, Z), reach(Z, Y)") + MORE)
    assert [(event.relations, event.reason) for event in found.rebuilt] == [(("reach",), "rules-changed")]
    assert "! recomputed reach: its rules are others" in str(found)
