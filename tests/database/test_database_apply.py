"""Rows in and changes out: what a version does, says, and leaves alone."""

from __future__ import annotations

import random

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from database_support import closure, dense, reach, rows

import headwater as hw

# ------------------------------------------------------------------ what a version does


def test_a_version_says_what_came_and_went():
    db = reach([("a", "b"), ("b", "c"), ("c", "a")])
    changes = db.apply(insert={"link": [("c", "d")]}, delete={"link": [("c", "a")]})
    assert changes.version == db.version == 3
    assert sorted(changes) == ["link", "reach"]
    assert changes["link"].inserted == [("c", "d")] and changes["link"].deleted == [("c", "a")]
    assert sorted(changes["reach"].inserted) == [("a", "d"), ("b", "d"), ("c", "d")]
    assert changes["reach"].counts == (3, 6) and len(changes["reach"]) == 9


def test_deletes_come_before_inserts():
    db = reach([(1, 2)])
    changes = db.apply(insert={"link": [(1, 2), (3, 4)]}, delete={"link": [(1, 2), (3, 4)]})
    assert rows(db, "link") == [(1, 2), (3, 4)]
    assert changes["link"].inserted == [(3, 4)] and changes["link"].deleted == []


def test_a_view_that_stays_the_same_has_no_change():
    """1 reaches 3 by two ways; one is enough."""
    db = reach([(1, 2), (2, 3), (1, 3)])
    changes = db.apply(delete={"link": [(1, 3)]})
    assert list(changes) == ["link"]
    assert not changes["reach"] and changes["reach"].inserted == [] and changes["reach"].counts == (0, 0)


def test_no_ops_are_counted_and_emit_nothing():
    db = reach([(1, 2)], strict=False)
    changes = db.apply(
        insert={"link": [(1, 2), (1, 2)]}, delete={"link": [(7, 8)], "never heard of": [(1,), (2,)]}
    )
    assert (changes.statistics.no_ops, len(changes), changes.statistics.strata) == (5, 0, [])
    assert changes.version == 3 and repr(changes) == "<version 3: no change>"


def test_a_row_given_twice_counts_once():
    db = reach([(1, 2), (1, 2), (2, 3), (1, 2)])
    assert db.statistics.no_ops == 2 and db.statistics.inserted == 2
    assert rows(db, "link") == [(1, 2), (2, 3)]


def test_strings_never_seen_cannot_be_deleted():
    db = reach([("a", "b")])
    size = db.codec.strings.nbytes
    assert db.apply(delete={"link": [("a", "zebra"), ("b", "a")]}).statistics.no_ops == 2
    assert db.codec.strings.nbytes == size


@pytest.mark.parametrize("form", [tuple, list])
@pytest.mark.parametrize("count", [63, 64, 65, 300])
def test_many_rows_are_deleted_as_few_are(count: int, form: type):
    """Rows that were there, rows that were not, strings that nobody has seen, and the same row twice."""
    db = hw.connect()
    db.define("view(X, Y) :- base(X, Y).")
    there = {(number, f"name {number % 7}") for number in range(400)}
    db.apply(insert={"base": sorted(there)})
    rng = random.Random(count)
    gone = [(rng.randrange(500), f"name {rng.randrange(9)}") for _ in range(count - 2)]
    gone += [(5, "name 5"), (5, "name 5")]
    changes = db.apply(delete={"base": [form(row) for row in gone]})
    assert rows(db, "view") == sorted(there - set(gone))
    assert changes.statistics.deleted == len(there & set(gone))
    with pytest.raises(hw.DataError) as caught:
        db.apply(delete={"base": [*[form(row) for row in gone], form((1, 2, 3))]})
    assert caught.value.code == "wrong-arity" and f"row {count + 1}" in str(caught.value)


def test_a_view_of_which_all_is_deleted_goes_on():
    db = hw.connect()
    db.define("reach(X, Y) :- link(X, Y).  reach(X, Y) :- link(X, Z), reach(Z, Y).")
    edges = [(number, (number + 1) % 400) for number in range(400)]
    for _ in range(2):
        db.apply(insert={"link": edges})
        assert len(db["reach"]) == 160_000
        changes = db.apply(delete={"link": edges})
        assert changes["reach"].counts == (0, 160_000) and len(db["reach"]) == 0
    db.apply(insert={"link": [(1, 2), (2, 3)]})
    assert rows(db, "reach") == [(1, 2), (1, 3), (2, 3)]


def test_nothing_at_all_is_a_version():
    db = reach()
    assert (db.apply().version, db.apply({}, {}).version, db.apply(insert={"link": []}).version) == (2, 3, 4)


def test_a_row_with_the_key_of_another_replaces_it():
    db = hw.connect()
    db.define(
        "cost(x: string, y: int). materialize(cost, infinity, infinity, keys(1)). top(max<Y>) :- cost(_, Y)."
    )
    db.apply(insert={"cost": [("a", 1), ("b", 2), ("a", 3)]})
    assert rows(db, "cost") == [("a", 3), ("b", 2)]
    changes = db.apply(insert={"cost": [("a", 1)]})
    assert changes["cost"].deleted == [("a", 3)] and changes["cost"].inserted == [("a", 1)]
    assert changes["top"].inserted == [(2,)]
    assert db.apply(insert={"cost": [("a", 1)]}).statistics.no_ops == 1


# ------------------------------------------------------------------ forms of rows

FORMS = {
    "tuples": [("a", 1), ("b", 2)],
    "lists": [["a", 1], ["b", 2]],
    "dicts": [{"n": 1, "name": "a"}, {"name": "b", "n": 2}],
    "a set": {("a", 1), ("b", 2)},
    "a table": pa.table({"n": [1, 2], "name": ["a", "b"]}),
    "a record batch": pa.record_batch({"name": ["a", "b"], "n": [1, 2]}),
    "pandas": pandas.DataFrame({"n": [1, 2], "name": ["a", "b"]}),
    "polars": polars.DataFrame({"n": [1, 2], "name": ["a", "b"]}),
    "numpy": np.array([("a", 1), ("b", 2)], object),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_in_every_form(form: str):
    db = hw.connect()
    db.define("item(name: string, n: int). twice(X, N) :- item(X, M), N = 2 * M.")
    db.apply(insert={"item": FORMS[form]})
    assert rows(db, "item") == [("a", 1), ("b", 2)] and rows(db, "twice") == [("a", 2), ("b", 4)]
    db.apply(delete={"item": FORMS[form]})
    assert rows(db, "item") == rows(db, "twice") == []


@pytest.mark.parametrize("form", FORMS)
def test_rows_in_every_form_for_a_relation_nobody_declared(form: str):
    db = hw.connect()
    db.apply(insert={"item": FORMS[form]})
    order = db["item"].columns
    found = {frozenset(row) for row in rows(db, "item")}
    assert found == {frozenset(("a", 1)), frozenset(("b", 2))}
    if form in ("dicts", "a table", "pandas", "polars", "a record batch"):
        assert sorted(order) == ["n", "name"]


@pytest.mark.parametrize("declared", [True, False])
def test_rows_that_can_be_read_only_once(declared: bool):
    """A generator, a reader of record batches, a query not yet run, and what is iterable and nothing else."""

    class Iterable:
        def __iter__(self):
            return iter([("a", 1), ("b", 2)])

    once = {
        "generator": (row for row in FORMS["tuples"]),
        "reader": pa.table({"name": ["a", "b"], "n": [1, 2]}).to_reader(max_chunksize=1),
        "query": polars.DataFrame({"name": ["a", "b"], "n": [1, 2]}).lazy(),
        "iterable": Iterable(),
    }
    db = hw.connect()
    if declared:
        db.define("".join(f"{name}(name: string, n: int). " for name in once))
    for name, given in once.items():
        db.apply(insert={name: given})
        assert rows(db, name) == [("a", 1), ("b", 2)], name


def test_a_matrix_of_numbers():
    db = reach(np.array([[1, 2], [2, 3]]))
    assert rows(db, "reach") == [(1, 2), (1, 3), (2, 3)]
    db.apply(delete={"link": np.array([[2, 3]])})
    assert rows(db, "reach") == [(1, 2)]


def test_a_relation_without_columns():
    db = hw.connect()
    db.define("go(). quiet() :- !go(). item(X) :- thing(X), go().")
    db.apply(insert={"go": [()], "thing": [(1,)]})
    assert (rows(db, "go"), rows(db, "quiet"), rows(db, "item")) == ([()], [], [(1,)])
    changes = db.apply(delete={"go": [()]})
    assert changes["quiet"].inserted == [()] and changes["item"].deleted == [(1,)]


# ------------------------------------------------------------------ changes read later


def test_changes_stay_what_they_were():
    """Nobody looks at any change until many versions later; slots have been used again by then."""
    rng = random.Random(7)
    db, links, kept = reach(), set(), []
    for _ in range(40):
        insert = {(rng.randrange(12), rng.randrange(12)) for _ in range(3)}
        delete = set(rng.sample(sorted(links), min(len(links), rng.choice([0, 2, 5]))))
        before, after = links, (links - delete) | insert
        kept.append((db.apply(insert={"link": insert}, delete={"link": delete}), before, after))
        links = after
    for changes, before, after in kept:
        assert set(changes["link"].inserted) == after - before
        assert set(changes["link"].deleted) == before - after
        assert set(changes["reach"].inserted) == closure(after) - closure(before)
        assert set(changes["reach"].deleted) == closure(before) - closure(after)


def test_changes_stay_what_they_were_when_the_view_is_replaced():
    """The large deletes derive the view anew; changes of before, of then and of later all stay."""
    links, kept = dense(100), []
    db = reach(links)
    current = set(links)
    versions = [
        ([(500, 501)], []),
        ([], links[:300]),
        ([(0, 1)], [(500, 501)]),
        ([], links[300:400]),
        (links, []),
    ]
    for insert, delete in versions:
        after = (current - set(delete)) | set(insert)
        changes = db.apply(insert={"link": insert}, delete={"link": delete})
        kept.append((changes, changes.statistics.events, current, after))
        current = after
    assert [event.relations for event in kept[1][1] if event.code == "recomputed"] == [("reach",)]
    for changes, _, before, after in kept:
        assert set(changes["reach"].inserted) == closure(after) - closure(before)
        assert set(changes["reach"].deleted) == closure(before) - closure(after)
        assert changes["reach"].counts == (len(changes["reach"].inserted), len(changes["reach"].deleted))
    assert set(db["reach"].rows()) == closure(current)


def test_changes_stay_what_they_were_when_rules_are_added():
    db = reach([(1, 2)])
    first = db.apply(insert={"link": [(2, 3)]})
    second = db.define("reach(X, Y) :- bridge(X, Y). back(Y, X) :- reach(X, Y). bridge(7, 8).")
    db.apply(delete={"link": [(1, 2), (2, 3)], "bridge": [(7, 8)]})
    assert sorted(first["reach"].inserted) == [(1, 3), (2, 3)]
    assert second["reach"].inserted == [(7, 8)]
    assert sorted(second["back"].inserted) == [(2, 1), (3, 1), (3, 2), (8, 7)]


def test_changes_as_a_table():
    db = reach([("a", "b")])
    table = db.apply(insert={"link": [("b", "c")]}, delete={"link": [("a", "b")]})["link"].arrow()
    assert table.to_pydict() == {"X": ["b", "a"], "Y": ["c", "b"], "_change_type": ["insert", "delete"]}
