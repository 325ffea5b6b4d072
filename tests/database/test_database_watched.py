"""Views that are watched: never stored, and what each version does to them is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headwater as hw

BASE = "link(src: string, dst: string). owner(name: string, at: string)."
REACH = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
LINKS = [("a", "b"), ("b", "c"), ("x", "y")]


def change(changes: Any, view: str) -> tuple[list[Any], list[Any]]:
    return sorted(changes[view].inserted), sorted(changes[view].deleted)


@pytest.fixture
def db() -> Any:
    with hw.connect() as db:
        db.define(f"{BASE} {REACH}\n.kind reach watched\n")
        db.apply(insert={"link": LINKS})
        yield db


def test_each_version_tells_what_it_did(db: Any):
    done = db.apply(insert={"link": [("c", "d")]}, delete={"link": [("x", "y")]})
    assert change(done, "reach") == ([("a", "d"), ("b", "d"), ("c", "d")], [("x", "y")])
    assert set(done) == {"link", "reach"} and "reach" not in db.engine.workspace.relations
    assert change(db.what_if(delete={"link": [("a", "b")]}), "reach")[1] == [
        ("a", "b"),
        ("a", "c"),
        ("a", "d"),
    ]
    assert list(db.apply(insert={"link": [("a", "d")]})) == ["link"]


def test_questions_are_answered_as_for_virtual_views(db: Any):
    assert set(db["reach"].rows()) == {("a", "b"), ("b", "c"), ("a", "c"), ("x", "y")}
    assert set(db.query("reach(a, X)").rows()) == {("b",), ("c",)}
    assert ("a", "c") in db["reach"] and len(db["reach"]) == 4
    assert repr(db["reach"]) == "<reach(X: string, Y: string), watched>"
    assert ("reach", "watched", "X: string, Y: string", None) in db.relations.rows()
    assert "watched" in str(db.explain("reach"))


def test_a_kind_is_changed_at_any_time(db: Any):
    for kind in ("stored", "watched", "virtual", "watched"):
        db.keep("reach", kind)
        assert db.info("reach").kind.value == kind
        assert ("reach" in db.engine.workspace.relations) == (kind == "stored")
        done = db.apply(insert={"link": [("y", "z")]})
        told = [] if kind == "virtual" else [("x", "z"), ("y", "z")]
        assert change(done, "reach") == (told, [])
        done = db.apply(delete={"link": [("y", "z")]})
        assert change(done, "reach") == ([], told)


def test_stored_views_over_watched_ones_and_the_other_way_round(db: Any):
    db.define("mine(P, Y) :- owner(P, X), reach(X, Y). many(P, count<Y>) :- mine(P, Y).")
    db.define("big(P) :- many(P, N), N > 1.\n.kind big watched\n")
    assert change(db.apply(insert={"owner": [("ann", "a"), ("bob", "x")]}), "mine") == (
        [("ann", "b"), ("ann", "c"), ("bob", "y")],
        [],
    )
    assert set(db["many"].rows()) == {("ann", 2), ("bob", 1)}
    assert {"mine", "many"} <= db.engine.workspace.relations.keys()
    assert db.engine.workspace.relations.keys().isdisjoint({"reach", "big"})
    done = db.apply(delete={"link": [("b", "c")]}, insert={"link": [("y", "z")]})
    assert change(done, "mine") == ([("bob", "z")], [("ann", "c")])
    assert change(done, "many") == ([("ann", 1), ("bob", 2)], [("ann", 2), ("bob", 1)])
    assert change(done, "big") == ([("bob",)], [("ann",)])
    db.keep("reach", "stored")
    done = db.apply(insert={"link": [("b", "c")]})
    assert change(done, "many") == ([("ann", 2)], [("ann", 1)])
    assert change(done, "big") == ([("ann",)], [])


def test_watched_over_virtual_and_watched_over_watched(db: Any):
    db.define("pair(X, Y) :- reach(X, Y), reach(Y, X). loop(X) :- pair(X, _).")
    db.define(".kind pair virtual\n.kind loop watched\n")
    done = db.apply(insert={"link": [("c", "a")]})
    assert change(done, "loop")[0] == [("a",), ("b",), ("c",)]
    assert "pair" not in done
    assert "pair" not in db.engine.workspace.relations


def test_stored_and_watched_in_one_recursion():
    with hw.connect() as db:
        db.define(
            "step(x: int, y: int). even(0). even(Y) :- odd(X), step(X, Y). odd(Y) :- even(X), step(X, Y).\n"
            ".kind odd watched\n"
        )
        steps = [(i, i + 1) for i in range(6)]
        done = db.apply(insert={"step": steps})
        assert change(done, "odd") == ([(1,), (3,), (5,)], [])
        assert change(done, "even") == ([(2,), (4,), (6,)], [])
        assert "odd" not in db.engine.workspace.relations and len(db["even"]) == 4
        done = db.apply(delete={"step": [(3, 4)]})
        assert change(done, "odd") == ([], [(5,)]) and change(done, "even") == ([], [(4,), (6,)])


def test_nothing_of_it_is_on_disk(tmp_path: Path):
    with hw.connect(tmp_path / "state") as db:
        db.define(f"{BASE} {REACH} mine(P, Y) :- owner(P, X), reach(X, Y).\n.kind reach watched\n")
        db.apply(insert={"link": LINKS, "owner": [("ann", "a")]})
        db.checkpoint()
        db.apply(insert={"link": [("c", "d")]})
    assert not [path for path in (tmp_path / "state").rglob("*") if "reach" in path.name]
    with hw.connect(tmp_path / "state") as db:
        assert db.info("reach").kind.value == "watched"
        assert set(db["mine"].rows()) == {("ann", "b"), ("ann", "c"), ("ann", "d")}
        done = db.apply(delete={"link": [("b", "c")]})
        assert change(done, "mine") == ([], [("ann", "c"), ("ann", "d")])
        assert change(done, "reach")[1] == [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]
        db.keep("reach", "stored")
        db.checkpoint()
    with hw.connect(tmp_path / "state") as db:
        done = db.apply(insert={"link": [("b", "c")]})
        assert change(done, "mine") == ([("ann", "c"), ("ann", "d")], [])


def test_a_refused_version_changes_nothing(db: Any):
    db.define("mine(P, Y) :- owner(P, X), reach(X, Y).")
    db.apply(insert={"owner": [("ann", "a")]})
    before = set(db["mine"].rows())
    with pytest.raises(hw.HeadwaterError):
        db.apply(insert={"link": [("c", "d")], "owner": [("too", "many", "columns")]})
    db.what_if(delete={"link": [("a", "b")]})
    assert set(db["mine"].rows()) == before
    assert change(db.apply(insert={"link": [("c", "d")]}), "mine") == ([("ann", "d")], [])


def test_rows_that_expire_are_told():
    with hw.connect() as db:
        db.define("seen(x: int). calm(x: int). materialize(seen, 5, infinity, keys(1)).")
        db.define("alarm(X) :- seen(X), !calm(X).\n.kind alarm watched\n")
        db.apply(insert={"seen": [(1,)], "calm": [(2,)]})
        assert change(db.advance(6), "alarm") == ([], [(1,)])


def test_only_views_are_watched(db: Any):
    with pytest.raises(hw.HeadwaterError) as caught:
        db.keep("link", "watched")
    assert caught.value.code == "not-a-view"


# ------------------------------------------------------------------ definitions


def test_a_new_watched_view_tells_its_rows_when_somebody_asks(db: Any):
    done = db.define("ends(Y) :- reach(_, Y), !link(Y, _).\n.kind ends watched\n")
    assert db.statistics.strata == []
    assert change(done, "ends") == ([("c",), ("y",)], [])
    late = db.define("starts(X) :- reach(X, _), !link(_, X).\n.kind starts watched\n")
    db.apply(delete={"link": [("a", "b")]})
    assert change(late, "starts") == ([("a",), ("x",)], [])


def test_rules_that_come_and_go_are_propagated(db: Any):
    db.apply(insert={"owner": [("ann", "a"), ("b", "c")]})
    done = db.define("reach(X, Y) :- owner(X, Y).")
    assert change(done, "reach") == ([("ann", "a")], [])
    (cost,) = [stratum.propagation for stratum in db.statistics.strata]
    assert (cost.potential, cost.disqualified, cost.added) == (2, 1, 1)
    rule = next(row[0] for row in db.rules.rows() if "owner" in row[1])
    assert change(db.drop_rule(rule), "reach") == ([], [("ann", "a")])


def test_another_kind_changes_no_rows(db: Any):
    for kind in ("stored", "virtual", "watched", "stored", "watched", "virtual"):
        assert not db.keep("reach", kind)
    db.keep("reach", "watched")
    done = db.define('link("c", "d").\n.kind reach stored\n')
    assert change(done, "reach") == ([("a", "d"), ("b", "d"), ("c", "d")], [])


# ------------------------------------------------------------------ refused, and told


def code_of(call: Any) -> str:
    with pytest.raises(hw.HeadwaterError) as caught:
        call()
    return caught.value.code


def test_an_error_in_a_rule_refuses_the_version_and_leaves_nothing_behind():
    with hw.connect() as db:
        db.define(
            "a(x: int). b(x: int, y: int). r(X, Z) :- b(X, Y), Z = 10 / Y. w(X) :- a(X), r(X, Z), Z > 1."
        )
        db.define(".kind r virtual\n.kind w watched\n")
        db.apply(insert={"a": [(1,)], "b": [(1, 2)]})
        with pytest.raises(hw.HeadwaterError, match="in rule r#1"):
            db.apply(insert={"b": [(1, 0)]})
        assert change(db.apply(insert={"b": [(2, 1)], "a": [(2,)]}), "w") == ([(2,)], [])
        assert change(db.apply(delete={"b": [(1, 2)]}), "w") == ([], [(1,)])


def test_a_recursion_without_end_is_refused_or_stopped():
    rules = "n(x: int). p(X) :- n(X). p(Y) :- p(X), Y = X + 1.\n.kind p watched\n"
    with hw.connect(max_rounds=30) as db:
        db.define(rules)
        with pytest.raises(hw.EvaluationError, match="error.no-fixpoint.: (the changes of )?p did not come"):
            db.apply(insert={"n": [(1,)]})
        assert db["n"].rows() == []
    with hw.connect(max_rounds=30, at_max_rounds="stop") as db:
        db.define(rules)
        assert len(db.apply(insert={"n": [(1,)]})["p"].inserted) == 30
        assert db.statistics.strata[0].stopped
        assert "stopped" in {event.code for event in db.statistics.events}


def test_nodes_refuse_watched_views():
    with hw.connect(run="threads", nodes=2) as db:
        db.define("n(x: int). p(X) :- n(X).")
        assert code_of(lambda: db.keep("p", "watched")) == "watched-on-nodes"
        db.keep("p", "auto")
        assert change(db.apply(insert={"n": [(1,)]}), "p") == ([(1,)], [])


def test_an_active_rule_must_be_told_what_it_waits_for(db: Any):
    db.keep("reach", "removals")
    assert code_of(lambda: db.define("seen(x: string). on +reach(X, _) do insert seen(X).")) == "unsupported"
    db.define("seen(x: string). on -reach(X, _) do insert seen(X).")
    assert code_of(lambda: db.keep("reach", "additions")) == "unsupported"
    assert db.apply(delete={"link": [("x", "y")]})["seen"].inserted == [("x",)]


def test_active_rules_over_watched_views_cascade():
    with hw.connect() as db:
        db.define(
            "n(x: int). t(x: int). p(X) :- n(X), X > 3. q(X) :- t(X), p(X)."
            "\n.kind p watched\n.kind q watched\n on +p(X) do insert t(X)."
        )
        done = db.apply(insert={"n": [(9,), (1,)]})
        assert [done[name].inserted for name in ("t", "q")] == [[(9,)]] * 2
        with pytest.raises(hw.HeadwaterError) as caught:
            _ = done["p"]  # only additions were computed: nobody listens to the others
        assert caught.value.code == "partly-known"


def test_scans_and_indexes_of_stored_relations_are_told(db: Any):
    db.define("pair(X, Y) :- owner(X, _), reach(Y, _).\n.kind pair watched\n")
    db.apply(insert={"owner": [("ann", "a")]})
    assert {"indexed", "scanned"} & {event.code for event in db.statistics.events}


def test_views_that_only_follow_from_themselves():
    with hw.connect() as db:
        db.define(f"""{BASE} above(X, Y) :- link(X, Z), above(Z, Y).
            pair(X, Y) :- above(X, Y).
            pair(X, Y) :- pair(X, Z), above(Z, Y).
            .kind above watched
            .kind pair watched""")
        assert list(db.apply(insert={"link": [("a", "a"), ("b", "c")]})) == ["link"]
        done = db.add_rule("above(X, Y) :- link(X, Y).")
        assert change(done, "pair") == ([("a", "a"), ("b", "c")], [])


def test_a_relation_below_loses_its_last_rule():
    with hw.connect() as db:
        db.define("e(x: int, y: int). .decl q(x: int, y: int)\nq(X, Y) :- e(X, Y). t(X, sum<Y>) :- q(Y, X).")
        db.apply(insert={"e": [(1, 2), (3, 2)]})
        db.keep("q", "virtual")
        db.keep("t", "watched")
        assert change(db.drop_rule("q#1"), "t") == ([], [(2, 4)])


@pytest.mark.parametrize("kind", ["watched", "virtual"])
def test_a_view_that_is_stored_from_now_on_is_no_news_to_its_readers(kind: str):
    """Also where rules are rewritten differently for views that are stored."""
    with hw.connect() as db:
        db.define(f"""e(a: int, b: int). h(a: int). g(a: int, b: int).
            hit(X) :- e(X, _).
            hit(X) :- e(X, X), g(4, W), hit(0).
            free(X) :- h(X), !hit(X).
            .kind hit {kind}
            .kind free watched""")
        db.apply(insert={"h": [(1,), (2,)], "e": [(1, 0)]})
        assert change(db.keep("hit", "stored"), "free") == ([], [])
        assert change(db.apply(delete={"e": [(1, 0)]}), "free") == ([(1,)], [])
        assert change(db.keep("hit", kind), "free") == ([], [])
