"""What nobody listens to is not propagated: watches' types of rows, constants and conditions, by statistics."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw

RULES = """
link(a: string, b: string). calm(x: string). limit(x: string, n: int).
reach(X, Y) :- link(X, Y).
reach(X, Y) :- reach(X, Z), link(Z, Y).
alarm(X, Y, N) :- reach(X, Y), !calm(Y), limit(Y, N).
.kind reach virtual
.kind alarm watched
"""
FIRST = {
    "link": [("gate", "a"), ("a", "b"), ("x", "y"), ("y", "z")],
    "limit": [("a", 20), ("b", 30), ("y", 40), ("z", 3)],
}


def opened(rules: str = RULES, **options: Any) -> Any:
    db = hw.connect(**options)
    db.define(rules)
    db.apply(insert=FIRST)
    return db


def told(db: Any, goal: str, **options: Any) -> list[tuple[list, list]]:
    events: list[tuple[list, list]] = []
    db.watch(goal, lambda event: events.append((sorted(event.inserted), sorted(event.deleted))), **options)
    return events


def costs(db: Any) -> dict[str, Any]:
    return {name: stratum.propagation for stratum in db.statistics.strata for name in stratum.relations}


def potential(db: Any) -> int:
    return sum(cost.potential for cost in costs(db).values())


def heard(db: Any, view: str = "alarm") -> list[str]:
    lines = str(db.explain(view)).splitlines()
    return [line.partition("heard of: ")[2] for line in lines if "heard of" in line]


@pytest.mark.parametrize(("on", "sign"), [("added", "+"), ("removed", "-")])
def test_what_can_only_lead_to_the_other_type_is_not_propagated(on: str, sign: str):
    db = opened()
    events = told(db, "alarm", on=on)
    assert heard(db) == [f"{sign}alarm"]
    quiet = {"insert": {"calm": [("y",)]}, "delete": {"link": [("a", "b")]}}  # can only remove
    loud = {"insert": {"link": [("a", "b")]}, "delete": {"calm": [("y",)]}}  # can only add
    first, then = (quiet, loud) if on == "added" else (loud, quiet)
    if on == "removed":
        db.apply(**quiet)
        events.clear()
    db.apply(**first)
    assert (events, potential(db), sum(cost.queries for cost in costs(db).values())) == ([], 0, 0)
    assert all(cost.calls == 0 for cost in costs(db).values())
    db.apply(**then)
    rows = [("a", "b", 30), ("gate", "b", 30), ("x", "y", 40)]
    assert events == [(rows, []) if on == "added" else ([], rows)]


def test_both_types_are_followed_if_somebody_hears_of_either():
    db = opened()
    added, removed = told(db, "alarm", on="added"), told(db, "alarm", on="removed")
    assert heard(db) == ["±alarm"]
    assert len(db.apply(insert={"calm": [("y",)]})["alarm"].deleted) == 1
    db.apply(delete={"calm": [("y",)]})
    assert (added, removed) == ([([("x", "y", 40)], [])], [([], [("x", "y", 40)])])


def test_constants_and_conditions_of_the_goal_go_down():
    db = opened()
    events = told(db, "alarm('gate', Y, N)", on="added", when="N > 25")
    assert heard(db) == ["+alarm[0=str 'gate', 2 > int 25]"]
    db.apply(insert={"link": [("z", "q"), ("x", "q")], "limit": [("z", 4), ("b", 7)]})
    found = costs(db)
    part = "alarm[0=str 'gate', 2 > int 25]"
    assert set(found) == {"reach[0=str 'gate']", part}
    assert (potential(db), found[part].queries, found[part].irrelevant, events) == (0, 0, 2, [])
    db.apply(insert={"limit": [("b", 77)]})
    assert events == [([("gate", "b", 77)], [])] and potential(db) == 1


def test_parts_of_several_watches():
    db = opened()
    gate = told(db, "alarm('gate', Y, N)", on="added")
    x = told(db, "alarm('x', Y, N)", on="removed")
    both = told(db, "alarm('x', Y, N)", on="changed", when="N < 9")
    assert heard(db) == ["+alarm[0=str 'gate']", "-alarm[0=str 'x']", "±alarm[0=str 'x', 2 < int 9]"]
    db.apply(insert={"link": [("b", "c")], "limit": [("c", 1)], "calm": [("z",), ("y",)]})
    assert gate == [([("gate", "c", 1)], [])]
    assert x == [([], [("x", "y", 40), ("x", "z", 3)])] and both == [([], [("x", "z", 3)])]
    db.watches["watch-1"].stop()
    assert heard(db) == ["-alarm[0=str 'x']", "±alarm[0=str 'x', 2 < int 9]"]
    db.apply(insert={"limit": [("b", 5)]})
    assert potential(db) == 0 and len(gate) == 1


def test_rules_listen_as_watches_do():
    text = RULES + "ticket(x: string).\non +alarm('gate', Y, N), N > 25 do insert ticket(Y).\n"
    db = opened(text)
    assert heard(db) == ["+alarm[0=str 'gate', 2 > int 25]"]
    assert db["ticket"].rows() == [("b",)]
    db.apply(insert={"calm": [("b",), ("y",)]})
    assert potential(db) == 0
    db.apply(insert={"limit": [("a", 50)]})
    assert sorted(db["ticket"].rows()) == [("a",), ("b",)]


def test_rows_that_come_and_go_again_in_one_version_are_not_told():
    """The action takes back what the event rests on: whoever hears of additions needs to know of the removal."""
    db = opened(RULES + "on +alarm(X, 'c', N) do delete limit('c', N).\n")
    events = told(db, "alarm", on="added")
    assert heard(db)[0] == "±alarm"
    db.apply(insert={"link": [("b", "c")], "limit": [("c", 1)]})
    assert events == [] and ("c", 1) not in db["limit"].rows()


def test_changes_of_a_view_that_is_known_in_part():
    db = opened()
    watch = db.watch("alarm('gate', Y, N)", do=print, on="removed")
    changes = db.apply(insert={"limit": [("b", 50)]})
    with pytest.raises(hw.HeadwaterError) as caught:
        _ = changes["alarm"]
    assert caught.value.code == "partly-known" and "-alarm[0=str 'gate']" in caught.value.message
    assert list(changes) == ["limit"] and "alarm: known to those who listen" in repr(changes)
    supposed = db.what_if(insert={"limit": [("b", 51)]})
    assert len(supposed["alarm"].inserted) == 2
    assert len(db.add_rule("alarm(X, X, 1) :- calm(X), link(X, X).")["alarm"]) == 0
    watch.stop()
    assert len(db.apply(insert={"limit": [("b", 52)]})["alarm"].inserted) == 2


def test_a_view_that_is_read_otherwise_is_followed_whole():
    db = opened(RULES + "page(X) :- alarm(X, Y, N), N > 25.\n")
    told(db, "alarm('gate', Y, N)", on="added")
    assert heard(db) == ["+alarm"]
    assert db.apply(delete={"link": [("x", "y")]})["page"].deleted == [("x",)]


def test_a_view_that_reads_itself_with_other_values_is_followed_whole():
    rules = "link(a: string, b: string). far(X, Y) :- link(X, Y). far(X, Y) :- link(X, Z), far(Z, Y).\n"
    db = hw.connect()
    db.define(rules + ".kind far watched\n")
    events = told(db, "far('a', Y)", on="added")
    assert heard(db, "far") == ["+far"]
    db.apply(insert={"link": [("b", "c"), ("a", "b")]})
    assert events == [([("a", "b"), ("a", "c")], [])]


def test_groups_are_told_apart_by_their_columns_only():
    rules = "pay(who: string, n: int). total(W, sum<N>) :- pay(W, N).\n.kind total watched\n"
    db = hw.connect()
    db.define(rules)
    events = told(db, "total('ann', S)", on="added", when="S > 5")
    assert heard(db, "total") == ["+total[0=str 'ann']"]
    db.apply(insert={"pay": [("ann", 3), ("bob", 30)]})
    assert events == [] and potential(db) == 1
    db.apply(insert={"pay": [("ann", 4)]})
    assert events == [([("ann", 7)], [])]


@pytest.mark.parametrize("optimise", [[], ["parity"], ["constants"], ["irrelevant"], None], ids=str)
def test_each_can_be_left_out(optimise: list[str] | None):
    db = opened(optimise=optimise)
    events = told(db, "alarm('gate', Y, N)", on="added", when="N > 25")
    db.apply(insert={"limit": [("b", 77), ("z", 9)], "calm": [("a",)]})
    assert events == [([("gate", "b", 77)], [])]
    parts = {
        "[]": "±alarm",
        "['parity']": "+alarm",
        "['constants']": "±alarm[0=str 'gate', 2 > int 25]",
        "['irrelevant']": "±alarm",
        "None": "+alarm[0=str 'gate', 2 > int 25]",
    }
    assert heard(db) == [parts[str(optimise)]]


def test_durable_watches_listen_again_after_a_restart(tmp_path: Any):
    with hw.connect(tmp_path / "state") as db:
        db.define(RULES)
        db.apply(insert=FIRST)
        told(db, "alarm('gate', Y, N)", on="added", name="gate")
    with hw.connect(tmp_path / "state") as db:
        db.apply(insert={"limit": [("b", 50), ("z", 9)]})
        assert set(costs(db)) == {"alarm[0=str 'gate']"} and potential(db) == 1
        assert told(db, "alarm('gate', Y, N)", on="added", name="gate") == [([("gate", "b", 50)], [])]


def test_more_parts_than_are_worth_their_rules():
    db = opened()
    for number in range(70):
        db.watch(f"alarm('p{number}', Y, N)", do=print, on="added")
    assert heard(db) == ["+alarm"]


@pytest.mark.parametrize("heard", [True, False])
def test_views_of_additions_are_told_what_is_there_in_the_end(heard: bool):
    db = hw.connect()
    db.define("n(x: int). p(X) :- n(X), X > 3.\n.kind p additions\non +n(X), X > 5 do delete n(X).")
    events = told(db, "p", on="added") if heard else []
    changes = db.apply(insert={"n": [(9,), (4,)]})
    assert (changes["p"].inserted, changes["p"].deleted) == ([(4,)], [])
    assert events == [([(4,)], [])] * heard
