"""The optimisations of section 4 of Harrison and Dietrich (1994): what each saves, and what `explain` says."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from headwater.maintain.strategies.propagation.optimisations import WORDS

RULES = """
link(a: string, b: string). calm(x: string). limit(x: string, n: int).
reach(X, Y) :- link(X, Y).
reach(X, Y) :- reach(X, Z), link(Z, Y).
quiet(Y) :- calm(Y).
hot(X) :- limit(X, N), N > 10.
alarm(Y) :- reach("gate", Y), !quiet(Y), hot(Y).
.kind reach, quiet, hot virtual
"""
FIRST = {
    "link": [("gate", "a"), ("a", "b"), ("x", "y"), ("y", "z")],
    "limit": [("b", 20), ("z", 30), ("a", 3)],
}


def opened(optimise: list[str] | None, kind: str = "watched", rules: str = RULES) -> Any:
    db = hw.connect(optimise=optimise)
    db.define(rules)
    db.apply(insert=FIRST)
    db.keep("alarm", kind)
    return db


def costs(db: Any) -> dict[str, Any]:
    return {name: stratum.propagation for stratum in db.statistics.strata for name in stratum.relations}


@pytest.mark.parametrize("optimise", [None, [], *([name] for name in WORDS)], ids=str)
@pytest.mark.parametrize("kind", ["watched", "additions", "removals"])
def test_each_alone_gives_the_same_rows(optimise: list[str] | None, kind: str):
    db = opened(optimise, kind)
    inserts = {"link": [("b", "c"), ("z", "gate")], "limit": [("c", 50), ("q", 1)], "calm": [("b",)]}
    done = db.apply(insert=inserts)["alarm"]
    come, go = [("c",)] * (kind != "removals"), [("b",)] * (kind != "additions")
    assert (done.inserted, done.deleted) == (come, go)
    done = db.apply(delete={"calm": [("b",)], "link": [("b", "c")]})["alarm"]
    come, go = [("b",)] * (kind != "removals"), [("c",)] * (kind != "additions")
    assert (done.inserted, done.deleted) == (come, go)
    said = str(db.explain("alarm"))
    for name, words in WORDS.items():
        assert f"optimisation {name}: {words if optimise is None or name in optimise else 'off'}" in said


def test_parity_along_an_even_number_of_negations():
    """Rule 1: a listener to additions needs additions; rules 2 and 3: behind a negation, removals."""
    rules = """
    a(x: int). b(x: int). c(x: int).
    off(X) :- b(X), !on(X).
    on(X) :- c(X).
    alarm(X) :- a(X), !off(X).
    .kind off, on virtual
    """
    for optimise, calls in ((["parity"], [0, 0, 1]), ([], [1, 1, 2])):
        db = hw.connect(optimise=optimise)
        db.define(rules + ".kind alarm additions\n")
        db.apply(insert={"a": [(1,), (2,)], "b": [(1,), (2,)], "c": [(2,)]})
        done = db.apply(insert={"a": [(3,)]}, delete={"c": [(2,)]})
        assert done["alarm"].inserted == [(3,)]
        found = costs(db)
        assert [found[name].calls for name in ("on", "off", "alarm")] == calls
        assert db.apply(insert={"c": [(1,)]})["alarm"].inserted == [(1,)]
    assert "follows +a, -b, +c, -off, +on" in str(hw_explained(rules))


def hw_explained(rules: str) -> Any:
    db = hw.connect()
    db.define(rules + ".kind alarm additions\n")
    return db.explain("alarm")


def test_constants_are_pushed_down():
    db = opened(["constants"])
    db.apply(insert={"link": [("z", "q"), ("x", "w")]})
    (name,) = [name for name in costs(db) if name.startswith("reach")]
    assert name == "reach[0=str 'gate']" and costs(db)[name].potential == 0
    assert f"restricted to constants: {name}" in str(db.explain("alarm"))
    db = opened([])
    db.apply(insert={"link": [("z", "q"), ("x", "w")]})
    assert costs(db)["reach"].added == 4


def test_what_is_needed_whole_is_not_restricted():
    db = opened(["constants"], rules=RULES.replace(".kind reach,", ".kind")[:-1] + "\n.kind reach watched\n")
    assert db.apply(insert={"link": [("z", "q")]})["reach"].inserted
    assert "reach" in costs(db)
    assert "restricted" not in str(db.explain("alarm"))


def test_irrelevant_rows_are_set_aside_before_anything_is_asked():
    db = opened(["irrelevant", "constants"])
    done = db.apply(insert={"limit": [("c", 3), ("d", 10)]})
    assert not done["alarm"].inserted
    assert (costs(db)["hot"].irrelevant, costs(db)["hot"].queries, costs(db)["alarm"].queries) == (2, 0, 0)
    db = opened([])
    db.apply(insert={"limit": [("c", 3), ("d", 10)]})
    assert costs(db)["hot"].queries == 1


def test_the_order_of_subgoals_saves_what_is_looked_at():
    rules = """
    big(x: int, y: int). next(x: int, y: int). last(x: int).
    path(X, Y) :- next(X, Y).
    alarm(X) :- big(X, Y), path(Y, Z), last(Z).
    .kind path virtual
    .kind alarm watched
    """
    touched = {}
    for optimise in ([], ["order"]):
        db = hw.connect(optimise=optimise)
        db.define(rules)
        db.apply(
            insert={"big": [(i, i % 300) for i in range(3000)], "next": [(i, i + 1) for i in range(300)]}
        )
        assert len(db.apply(insert={"last": [(7,)]})["alarm"].inserted) == 10
        touched[bool(optimise)] = db.statistics.touched
    assert touched[True] * 20 < touched[False], touched


def test_an_unknown_optimisation_is_refused():
    with pytest.raises(hw.HeadwaterError) as caught:
        hw.connect(optimise=["ordre"])
    assert caught.value.code == "unknown-option"


def test_rows_are_judged_by_the_rule_that_is_there():
    """A version that replaces a rule and loses rows looks at these by the old rule; later ones by the new rule."""
    db = hw.connect()
    db.define("a(x: int). .kind v watched\n r: v(X) :- a(X), X > 3. a(5). a(1). a(7).")
    changes = db.redefine("a(x: int). .kind v watched\n r: v(X) :- a(X), X < 3. a(1). a(7).")
    assert (sorted(changes["v"].inserted), sorted(changes["v"].deleted)) == ([(1,)], [(5,), (7,)])
    assert db.apply(delete={"a": [(7,)]})["v"].deleted == []
    assert db.apply(delete={"a": [(1,)]})["v"].deleted == [(1,)]


@pytest.mark.parametrize("optimise", [3, "order", ["orders"], [3], {"order": True}], ids=str)
def test_what_is_no_optimisation(optimise: Any):
    with pytest.raises(hw.HeadwaterError) as caught:
        hw.connect(optimise=optimise)
    assert caught.value.code == "unknown-option"
