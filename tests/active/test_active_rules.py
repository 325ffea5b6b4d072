"""Active rules that come and go: ids, labels, drops and renames; what is refused; what a restart leaves."""

from __future__ import annotations

from typing import Any

import pytest
from active_alarms import SENSORS, rows

import headwater as hw

# ------------------------------------------------------------------ defining, dropping, renaming


def test_rules_are_listed_dropped_and_replaced_by_their_ids():
    db = hw.connect()
    db.define("a(x: int). r: on +a(X) do insert b(X). on +a(X) do insert c(X).")
    assert db.rules == ("r", "on-a#1")
    db.drop_rule("on-a#1")
    db.add_rule("on +a(X), X > 5 do insert d(X).")
    assert db.rules == ("r", "on-a#2")
    db.replace_rule("on-a#2", "on +a(X), X > 1 do insert d(X).")
    assert db.rules == ("r", "on-a#2")
    db.apply(insert={"a": [(1,), (2,)]})
    assert rows(db) == {"a": {(1,), (2,)}, "b": {(1,), (2,)}, "c": set(), "d": {(2,)}}
    db.define(".drop rule r")
    db.apply(insert={"a": [(3,)]})
    assert set(db["b"]) == {(1,), (2,)}
    with pytest.raises(hw.RuleError) as error:
        db.drop_rule("r")
    assert error.value.code == "unknown-rule"


def test_a_label_is_given_once_and_the_same_rule_counts_once():
    db = hw.connect()
    db.define("a(x: int). r: on +a(X) do insert b(X).")
    db.define("r: on +a(X) do insert b(X).")
    assert db.rules == ("r",)
    with pytest.raises(hw.RuleError) as error:
        db.define("r: on -a(X) do insert b(X).")
    assert error.value.code == "duplicate-label"
    with pytest.raises(hw.RuleError) as error:
        db.define("r: v(X) :- a(X).")
    assert error.value.code == "duplicate-label"


def test_a_relation_that_an_active_rule_mentions_is_not_dropped():
    db = hw.connect()
    db.define("a(x: int). b(x: int). c(x: int). r: on +a(X), !c(X) do insert b(X).")
    for name in "abc":
        with pytest.raises(hw.RuleError) as error:
            db.drop(name)
        assert error.value.code == "still-read"
        assert "rule r" in error.value.message
    db.drop_rule("r")
    db.drop("a")


def test_a_view_that_an_active_rule_reads_keeps_its_last_rule():
    db = hw.connect()
    db.define("a(x: int). b(x: int). v(X) :- a(X). w(X) :- a(X). r: on +v(X), !w(X) do insert b(X).")
    for last in ("v#1", "w#1"):
        with pytest.raises(hw.RuleError) as error:
            db.drop_rule(last)
        assert error.value.code == "still-read" and "and r reads it" in error.value.message
    db.define(".drop rule r, v#1, w#1")
    assert tuple(db.relations) == ("a", "b")


def test_renaming_renames_in_active_rules_and_is_no_event():
    db = hw.connect()
    db.define(
        "a(x: int). b(x: int). r: on +a(X), !c(X) do insert b(X), delete c(X). c(x: int). v(X) :- a(X)."
    )
    db.apply(insert={"a": [(1,)]})
    db.apply(delete={"b": [(1,)]})
    db.rename("a", "first")
    db.rename("b", "second")
    assert set(db["second"]) == set()
    db.apply(insert={"first": [(2,)]})
    assert set(db["second"]) == {(2,)}
    assert "on +first(X), !c(X) do now insert second(X)" in db.rules.rows()[1][1]


@pytest.mark.parametrize(
    "text, code, said",
    [
        ("on +alarm(X) do insert t(X).", "arity-clash", "alarm"),
        ("on +alrm(X, Y) do insert t(X).", "unknown-relation", "alrm"),
        ("on +alarm(X, Y) do insert reading(X).", "arity-clash", "reading"),
        ("on +alarm(X, Y) do insert raeding(X, Y).", "unknown-relation", "raeding"),
        ("on +alarm(X, Y) do insert reading(Y, X).", "type-clash", ""),
        ("on +alarm(X, Y) do insert alarm(X, Y).", "derived-relation", "alarm"),
        ("on +alarm(X, Y) do delete alarm(X, Y).", "derived-relation", "alarm"),
        ("on +alarm(X, Y) do insert reading(X, Z).", "unsafe-variable", "Z occurs neither in the event"),
        ("on +alarm(X, Y) do call page(Z).", "unsafe-variable", "Z occurs neither in the event"),
        ("on +alarm(X, Y) do insert reading(X, _).", "unsafe-variable", "_"),
        ("on +alarm(X, Y) do delete reading(Z, Y).", "unsafe-variable", "Z"),
        ("on +alarm(X, Y), X > 3 do insert t(X).", "type-clash", "X > 3"),
        ("on +alarm(X, Y), !other(X, Z) do insert t(X).", "unsafe-variable", "Z"),
        ("on +alarm(X, Y) do refuse 'no {Z}'.", "unsafe-variable", "Z occurs neither in the event"),
        ("on +alarm(X, Y + 1) do insert t(X).", "unsupported", "computed"),
    ],
)
def test_what_does_not_fit_is_refused_where_it_is_written(text, code, said):
    db = hw.connect()
    db.define("reading(s: string, v: int). alarm(S, V) :- reading(S, V), V > 10.")
    with pytest.raises(hw.HeadwaterError) as error:
        db.define(text)
    assert error.value.code == code
    assert said in error.value.message
    assert "~" not in error.value.message
    assert error.value.place is not None
    assert db.version == 1 and db.rules == ("alarm#1",)


# ------------------------------------------------------------------ durable


def test_a_restart_gives_the_same_rows_and_does_not_act_again(tmp_path):
    with hw.connect(tmp_path / "state") as db:
        db.define(SENSORS)
        db.apply(insert={"reading": [("a", 11), ("b", 20), ("c", 30)]})
        db.apply(insert={"reading": [("d", 40)]})
        db.apply(delete={"ticket": [("d", 40, "open")]})
        before, ids = rows(db), db.rules
    for _ in range(2):
        with hw.connect(tmp_path / "state") as db:
            assert rows(db) == before
            assert db.rules == ids
            db.checkpoint()
    with hw.connect(tmp_path / "state") as db:
        assert rows(db) == before
        db.drop_rule("shut")
        db.apply(insert={"reading": [("e", 50)]}, delete={"reading": [("b", 20)]})
        assert ("e", 50, "open") in set(db["ticket"]) and ("b", 20, "open") in set(db["ticket"])
        before = rows(db)
    with hw.connect(tmp_path / "state") as db:
        assert rows(db) == before
        assert "shut" not in db.rules


def test_explain_lists_the_rules_of_a_relation():
    db = hw.connect()
    db.define(SENSORS)
    lines = db.explain("ticket").lines
    assert [line for line in lines if line.startswith("active rule")] == [
        'active rule open: on +alarm(X, Y), Y > 15 do insert ticket(X, Y, "open").',
        "active rule shut: on -alarm(X, _) do delete ticket(X, _, _).",
    ]
    assert sum(line.startswith("active rule") for line in db.explain().lines) == 3


def test_rules_act_on_nodes():
    text = """
        reading(sensor: string, value: int). alarm(S, V) :- reading(S, V), V > 10.
        on +alarm(X, Y), Y > 15 do insert ticket(X, Y, cat(X, "!")).
        on -alarm(X, _) do delete ticket(X, _, _).
        many(count<S>) :- ticket(S, _, _).
        on +many(N), N > 2 do refuse 'too many: {N}'.
    """
    with hw.connect(run="threads", nodes=2) as db:
        db.define(text)
        changes = db.apply(insert={"reading": [("a", 11), ("b", 20), ("c", 30)]})
        assert set(changes["ticket"].inserted) == {("b", 20, "b!"), ("c", 30, "c!")}
        assert changes.statistics.transitions == 2
        before = rows(db)
        with pytest.raises(hw.DataError, match="too many: 3"):
            db.apply(insert={"reading": [("d", 40)]})
        assert rows(db) == before
        assert db.what_if(delete={"reading": [("b", 20)]})["ticket"].counts == (0, 1)
        assert rows(db) == before
        changes = db.apply(insert={"reading": [("d", 40)]}, delete={"reading": [("b", 20), ("c", 30)]})
        assert set(db["ticket"]) == {("d", 40, "d!")} and set(db["many"]) == {(1,)}
        assert (changes["ticket"].counts, set(changes["many"].deleted)) == ((1, 2), {(2,)})


def test_another_kind_of_a_view_is_no_event():
    db = hw.connect()
    db.define("a(x: int). v(X) :- a(X). gone(x: int). come(x: int). w(X) :- v(X).")
    db.apply(insert={"a": [(1,)]})
    db.define("on -v(X) do insert gone(X). on +v(X) do insert come(X).")
    db.keep("v", "watched")
    db.keep("v", "stored")
    assert set(db["come"]) == set(db["gone"]) == set()
    db.apply(insert={"a": [(2,)]}, delete={"a": [(1,)]})
    assert (set(db["come"]), set(db["gone"])) == ({(2,)}, {(1,)})


def test_a_rule_that_is_dropped_takes_rows_of_its_view_along_and_that_is_an_event():
    db = hw.connect()
    db.define(
        "a(x: int). b(x: int). r: v(X) :- a(X). v(X) :- b(X). gone(x: int). on -v(X) do insert gone(X)."
    )
    db.apply(insert={"a": [(1,), (2,)], "b": [(2,)]})
    db.drop_rule("r")
    assert set(db["gone"]) == {(1,)}


def test_values_that_actions_compute_are_values_of_the_database(tmp_path):
    with hw.connect(tmp_path / "state") as db:
        db.define('a(x: string). on +a(X) do insert b(cat(X, "!"), ?f(X), [X, "y"], {name: X}).')
        db.apply(insert={"a": [("x",), ("y",)]})
        before = set(map(str, db["b"]))
        assert len(before) == 2 and db.query("b('x!', _, _, _)").rows() == [()]
    with hw.connect(tmp_path / "state") as db:
        assert set(map(str, db["b"])) == before


def test_a_reader_sees_what_rules_did(tmp_path):
    with hw.connect(tmp_path / "state") as db:
        db.define("a(x: int). v(count<X>) :- a(X). on +a(X), X < 3 do insert a(X + 1).")
        with hw.connect(tmp_path / "state", mode="r") as reader:
            told: list[Any] = []
            reader.watch("a", lambda event: told.append((event.version, sorted(event.inserted))))
            db.apply(insert={"a": [(1,)]})
            reader.refresh()
            assert told == [(2, [(1,), (2,), (3,)])]
            assert rows(reader) == rows(db) == {"a": {(1,), (2,), (3,)}, "v": {(3,)}}
