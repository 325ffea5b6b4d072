"""Views that are not kept; relations that are dropped and renamed; the table of relations."""

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


def code_of(call: Any) -> str:
    with pytest.raises(hw.HeadwaterError) as caught:
        call()
    return caught.value.code


# ------------------------------------------------------------------ virtual views


@pytest.mark.parametrize("how", ["text", "call", "before"])
def test_a_virtual_view_is_read_as_any_other(how: str):
    with hw.connect() as db:
        if how == "before":
            db.define(f"link(src: string, dst: string). {REACH}\n.kind reach virtual\n")
        else:
            db.define(f"link(src: string, dst: string). {REACH}")
        db.apply(insert={"link": LINKS})
        if how == "text":
            db.define(".kind reach virtual")
        elif how == "call":
            db.keep("reach", "virtual")
        view = db["reach"]
        assert set(view.rows()) == set(view) == ALL and len(view) == 4
        assert ("a", "c") in view and ("c", "a") not in view and 3 not in view
        assert set(view.where(X="a").rows()) == {("a", "b"), ("a", "c")}
        assert sorted(view.arrow().column("Y").to_pylist()) == ["b", "c", "c", "y"]
        assert repr(view) == "<reach(X: string, Y: string), virtual>"
        assert "reach" not in db.engine.workspace.relations
        changes = db.apply(insert={"link": [("c", "d")]}, delete={"link": [("x", "y")]})
        assert list(changes) == ["link"]
        assert set(db.query("reach(a, X)").rows()) == {("b",), ("c",), ("d",)}


def test_it_is_stored_again_when_that_is_asked_for(db: Any):
    db.keep("reach", "virtual")
    db.apply(insert={"link": [("c", "d")]})
    assert db.keep("reach", "stored")["reach"].counts == (7, 0)
    assert db.apply(delete={"link": [("c", "d")]})["reach"].counts == (0, 3)
    assert set(db["reach"].rows()) == ALL


def test_views_over_virtual_views(db: Any):
    """Virtual over virtual is evaluated; what a stored view reads is kept, and a note says so."""
    db.keep("reach", "virtual")
    db.define("far(X) :- reach(X, Y), !link(X, Y).\n.kind far virtual")
    assert db["far"].rows() == [("a",)]
    assert "reach" not in db.engine.workspace.relations
    changes = db.define("near(X) :- reach(X, _), !far(X).")
    assert set(changes["near"].inserted) == {("b",), ("x",)}
    assert db.info("reach").kind.value == "stored"
    assert "reach is kept, although it is virtual: near, which is stored, reads it" in db.program.notes
    assert db.apply(delete={"link": [("b", "c")]})["near"].inserted == [("a",)]


def test_facts_and_rules_of_a_virtual_view(db: Any):
    db.define('reach("m", "n").\n.kind reach virtual')
    assert set(db["reach"].rows()) == ALL | {("m", "n")}
    db.apply(insert={"reach": [("m", "o")]})
    assert set(db.query("reach(m, X)").rows()) == {("n",), ("o",)}


@pytest.mark.parametrize("checkpoint", [False, True])
def test_kinds_and_names_are_there_after_a_restart(tmp_path: Path, checkpoint: bool):
    with hw.connect(tmp_path) as db:
        db.define(f"link(src: string, dst: string). {REACH} two(X, Z) :- link(X, Y), link(Y, Z).")
        db.define("spare(x: int).")
        db.apply(insert={"link": LINKS, "spare": [(1,)]})
        if checkpoint:
            db.checkpoint()
        db.keep("reach", "virtual")
        db.rename("link", "edge")
        db.drop("spare")
        if checkpoint:
            db.checkpoint()
            db.apply(insert={"edge": [("c", "d")]})
    with hw.connect(tmp_path) as db:
        assert set(db.relations) == {"edge", "reach", "two"}
        assert db.info("reach").kind.value == "virtual"
        assert set(LINKS) <= set(db["edge"].rows())
        assert set(db.query("reach(a, X)").rows()) >= {("b",), ("c",)}
        assert ("a", "c") in db["two"]
        db.define("spare(x: string).", insert={"spare": [("a text now",)]})
    with hw.connect(tmp_path) as db:
        assert db["spare"].rows() == [("a text now",)]


@pytest.mark.parametrize("kind", ["virtual", "watched", "removals"])
def test_why_a_row_is_there_that_is_not_stored(kind: str, tmp_path: Any):
    """Also where a view that is stored reads one that is not; nothing is left behind."""
    text = (
        f"link(src: string, dst: string?). {REACH} far(X) :- reach(X, Y), !link(X, Y). top(max<X>) :- far(X)."
    )
    rows = [("a", "b"), ("b", "c"), ("c", "b"), ("c", None)]
    stored, other = hw.connect(), hw.connect(tmp_path)
    stored.define(text, insert={"link": rows})
    views = ("reach", "far", "top")
    unkept = views if kind == "virtual" else views[:2]
    other.define(text + "".join(f"\n.kind {view} {kind}" for view in unkept) + "\n", insert={"link": rows})
    version = other.version
    for view in views:
        for row in stored[view].rows():
            expected, found = stored.why(view, row), other.why(view, row)
            assert found.to_json() == {**expected.to_json(), "notes": list(found.notes)}
    assert code_of(lambda: other.why("reach", ("b", "a"))) == "row-not-there"
    assert other.version == version and not any(other.info(view).kept for view in unkept)
    change = other.apply(insert={"link": [("c", "d")]}, delete={"link": [("a", "b")]})
    stored.apply(insert={"link": [("c", "d")]}, delete={"link": [("a", "b")]})
    assert all(set(other[view].rows()) == set(stored[view].rows()) for view in views)
    assert kind == "virtual" or change["reach"]
    other.close()
    with hw.connect(tmp_path, mode="r") as reader:
        assert str(reader.why("reach", ("b", "d")).proof()) == str(stored.why("reach", ("b", "d")).proof())


def test_what_is_refused_over_a_view_that_is_watched(db: Any):
    db.define("far(X) :- reach(X, Y), !link(X, Y).\n.kind reach watched\n")
    for call in (lambda: db.why_not("far", ("zz",)), lambda: db.evaluate("far", "trust")):
        with pytest.raises(hw.HeadwaterError, match="reach is watched") as caught:
            call()
        assert caught.value.code == "virtual-relation"


def test_what_a_virtual_view_does_not_have(db: Any):
    db.keep("reach", "virtual")
    for call in (
        lambda: db.subscribe("me", "reach"),
        lambda: db.why_not("reach", ("b", "a")),
        lambda: db.evaluate("reach", "counting"),
    ):
        assert code_of(call) == "virtual-relation"
    assert "virtual" in str(db.explain("reach")) and "virtual" in str(db.explain())


@pytest.mark.parametrize(
    "call, code",
    [
        (lambda db: db.keep("link", "virtual"), "not-a-view"),
        (lambda db: db.keep("reach", "sometimes"), "unknown-option"),
        (lambda db: db.keep("nothing", "virtual"), "unknown-relation"),
        (lambda db: db.define(".kind reach often"), "unknown-kind"),
        (lambda db: db.define(".kind nothing virtual"), "unknown-relation"),
        (lambda db: db.drop("link"), "still-read"),
        (lambda db: db.drop("nothing"), "unknown-relation"),
        (lambda db: db.rename("link", "reach"), "relation-taken"),
        (lambda db: db.rename("link", "link"), "relation-taken"),
        (lambda db: db.rename("link", "not a name"), "wrong-type"),
        (lambda db: db.rename("nothing", "other"), "unknown-relation"),
        (lambda db: db.drop(3), "unknown-relation"),
        (lambda db: db.define(".drop reach\nreach(X) :- link(X, _)."), "unsupported"),
        (lambda db: db.define(".rename link edge\nlink(1, 2)."), "unsupported"),
        (lambda db: db.define(".drop reach\n.rename link reach"), "relation-taken"),
    ],
)
def test_refusals(db: Any, call: Any, code: str):
    before = db.version, set(db["reach"].rows())
    assert code_of(lambda: call(db)) == code
    assert (db.version, set(db["reach"].rows())) == before


# ------------------------------------------------------------------ dropping and renaming


def test_a_view_is_dropped_with_its_rules(db: Any):
    db.define("far(X) :- reach(X, _).")
    with pytest.raises(hw.HeadwaterError, match="reach cannot be dropped: far reads it"):
        db.drop("reach")
    db.drop("far")
    db.drop("reach")
    assert tuple(db.relations) == ("link",)
    assert list(db.apply(insert={"link": [("p", "q")]})) == ["link"]
    db.define("reach(X) :- link(X, _).")
    assert len(db["reach"]) == 4
    db.drop("reach")
    db.drop("link")
    assert tuple(db.relations) == ()
    db.define("link(a: int, b: int, c: int).", insert={"link": [(1, 2, 3)]})
    assert len(db["link"].columns) == 3 and db["link"].rows() == [(1, 2, 3)]


def test_a_relation_is_renamed_in_all_rules(db: Any):
    db.define("far(X, N) :- link(X, _), N = count : { reach(X, _) }, !(reach(Y, X), link(Y, X)).")
    before = set(db["far"].rows())
    db.rename("reach", "connected")
    assert set(db["connected"].rows()) == ALL and set(db["far"].rows()) == before
    db.rename("link", "edge")
    assert db.apply(insert={"edge": [("c", "d")]})["connected"].counts == (3, 0)
    assert "link" not in db and "reach" not in db
    assert "edge(X, Z), connected(Z, Y)" in str(db.explain("connected"))


def test_names_that_are_free_again_mean_something_new(db: Any):
    db.rename("link", "edge")
    db.define("link(x: int, y: int).", insert={"link": [(1, 2)]})
    db.apply(insert={"edge": [("c", "d")]})
    assert db["link"].rows() == [(1, 2)] and len(db["edge"]) == 4


def test_a_view_with_rows_from_outside_is_renamed_and_dropped_with_them(db: Any):
    db.define('reach("m", "n").')
    db.rename("reach", "connected")
    assert ("m", "n") in db["connected"] and len(db["connected"]) == 5
    db.apply(delete={"connected": [("m", "n")]})
    db.drop("connected")
    db.define("connected(x: string).")
    assert len(db["connected"]) == 0 and set(db.program.relations) == {"link", "connected"}


def test_a_failed_definition_leaves_names_and_kinds(db: Any):
    for text in (
        ".rename link edge\np(X) :- nothing_like_it(X, Y), !q(Z).",
        ".kind reach virtual\n.drop link",
    ):
        with pytest.raises(hw.HeadwaterError):
            db.define(text)
    assert db.relations == ("link", "reach") and set(db["reach"].rows()) == ALL
    assert db.apply(insert={"link": [("c", "d")]})["reach"].counts == (3, 0)


def test_what_is_subscribed_to_stays(db: Any):
    db.subscribe("me", "reach")
    for call in (
        lambda: db.drop("reach"),
        lambda: db.rename("reach", "other"),
        lambda: db.keep("reach", "virtual"),
    ):
        assert code_of(call) == "still-read"
    db.unsubscribe("me")
    db.drop("reach")


# ------------------------------------------------------------------ the table of relations


def test_relations_are_names_and_a_table(db: Any):
    db.keep("reach", "virtual")
    assert db.relations == ("link", "reach") and "link" in db.relations
    assert repr(db.relations).splitlines() == [
        "relation  kind     columns                   rows",
        "link      base     src: string, dst: string     3",
        "reach     virtual  X: string, Y: string",
    ]
    assert ">src: string, dst: string</td>" in db.relations._repr_html_()
    assert db.relations.arrow().column("rows").to_pylist() == [3, None]
