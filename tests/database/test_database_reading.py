"""Reading relations: rows, tables, single rows, and what there is."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from database_support import reach, rows

import headwater as hw

DAY, NOON = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.timezone.utc)
ROWS = [("a", 1, 0.5, True, DAY, NOON, ("x", "y")), ("b", -2, -1.5, False, DAY, NOON, ())]
COLUMNS = ("name", "count", "weight", "open", "day", "at", "tags")


def every_type() -> hw.database.Database:
    db = hw.connect()
    db.define(
        "item(name: string, count: int, weight: float, open: bool, day: date, at: timestamp, tags: list[string])."
    )
    db.apply(insert={"item": ROWS})
    return db


def test_rows_are_tuples_of_python_values():
    view = every_type()["item"]
    assert sorted(view.rows()) == sorted(view) == sorted(ROWS)
    assert view.name == "item" and view.columns == COLUMNS
    assert [str(type_) for type_ in view.types] == [
        "string", "int", "float", "bool", "date", "timestamp", "list[string]",
    ]  # fmt: skip


def test_tables():
    db = every_type()
    table = db["item"].arrow().sort_by("name")
    assert table.schema.names == list(COLUMNS)
    assert table.schema.field("count").type == pa.int64() and table.schema.field("at").type.unit == "us"
    assert [(*row[:6], tuple(row[6])) for row in zip(*table.to_pydict().values(), strict=True)] == ROWS
    frame = db["item"].pandas().sort_values("name")
    assert frame["count"].tolist() == [1, -2] and frame["name"].tolist() == ["a", "b"]
    polar = db["item"].polars().sort("name")
    assert polar.columns == list(COLUMNS) and polar["weight"].to_list() == [0.5, -1.5]


def test_tables_can_be_inserted_again():
    db, other = every_type(), hw.connect()
    other.apply(insert={"item": db["item"].arrow()})
    assert rows(other, "item") == sorted(ROWS)
    assert other["item"].types == db["item"].types and other["item"].columns == COLUMNS


def test_an_empty_view():
    view = reach()["reach"]
    assert len(view) == 0 and view.rows() == [] and list(view) == [] and (1, 2) not in view
    db = hw.connect()
    db.define("a(x: int, s: string). b(X, S) :- a(X, S).")
    assert db["b"].arrow().schema.names == ["X", "S"] and db["b"].pandas().shape == (0, 2)


def test_length_follows_the_rows():
    db = reach([(1, 2), (2, 3)])
    view = db["reach"]
    assert len(view) == 3
    db.apply(delete={"link": [(2, 3)]})
    assert len(view) == 1 and view.rows() == [(1, 2)], "a view is the relation as it is now"


def test_whether_a_row_is_there():
    db = reach([("a", "b"), ("b", "c")])
    view = db["reach"]
    assert ("a", "c") in view and ("c", "a") not in view and ("a", "never seen") not in view
    db.apply(delete={"link": [("b", "c")]})
    assert ("a", "c") not in view and ("a", "b") in view


@pytest.mark.parametrize("nothing", ["ab", ["a", "b"], ("a",), ("a", "b", "c"), (1, 2), None, 5, (None, "b")])
def test_what_could_not_be_a_row_is_not_there(nothing: object):
    assert nothing not in reach([("a", "b")])["reach"]


def test_only_the_best_rows_are_there():
    db = hw.connect()
    db.define("best(X, min<C>) :- offer(X, C).")
    db.apply(insert={"offer": [("a", 3), ("a", 2), ("b", 9)]})
    assert rows(db, "best") == [("a", 2), ("b", 9)]
    assert ("a", 2) in db["best"] and ("a", 3) not in db["best"] and len(db["best"]) == 2


def test_what_there_is():
    db = reach([(1, 2)])
    assert sorted(db.relations) == ["link", "reach"]
    assert "link" in db and "reach" in db and "road" not in db
    info = db.info("reach")
    assert (info.name, info.columns, info.base, info.arity) == ("reach", ("X", "Y"), False, 2)
    assert db.info("link").base
    assert repr(db["reach"]) == "<reach(X: int, Y: int), 1 rows>"


def test_relations_made_for_the_rules_own_use_are_not_shown():
    """A base relation with rules keeps the rows it was given in a relation of its own."""
    db = hw.connect()
    db.apply(insert={"reach": [(1, 2)]})
    db.define("reach(X, Y) :- link(X, Y).")
    hidden = set(db.program.relations) - set(db.relations)
    assert hidden
    for name in hidden:
        assert name not in db
        with pytest.raises(hw.DataError):
            db[name]


def test_asking_changes_for_a_relation():
    db = reach([(1, 2)])
    changes = db.apply()
    assert changes["reach"].inserted == [] and changes["link"].counts == (0, 0)
    assert dict(changes) == {} and changes.get("road") is None and "road" not in changes
    with pytest.raises((hw.DataError, KeyError)):
        changes["road"]


def test_an_explanation_is_text():
    explanation = reach([(1, 2)]).explain("reach")
    assert str(explanation) == repr(explanation) == "\n".join(explanation.lines)
    assert str(explanation).startswith("view reach: recursive, strategy support")


def test_bytes_grow_with_the_rows_and_shrink_again():
    db = reach()
    empty = db.nbytes
    db.apply(insert={"link": [(number, 0) for number in range(10_000)]})
    full = db.nbytes
    assert full > empty + 10_000 * 2 * 2 * 8
    db.apply(delete={"link": [(number, 0) for number in range(10_000)]})
    assert db.nbytes < full / 5


def test_types_if_rows_were_of_a_type():
    db = hw.connect()
    db.define("double(X) :- n(X).")
    assert db["double"].types == (None,)
    from headwater.values.types import INT

    assert db.types_if({"n": (INT,)})["double"] == (INT,)
    assert db["double"].types == (None,), "nothing was decided"


def test_many_rows_are_asked_for_together():
    db = hw.connect()
    db.define("a(x: int, s: string). v(S) :- a(_, S).")
    db.apply(insert={"a": [(n, f"s{n % 7}") for n in range(50)]}, delete={"a": [(3, "s3")]})
    asked = [(n, f"s{n % 9}") for n in range(60)] + [
        (1,),
        ("x", "s1"),
        (None, "s1"),
        (2**62, "unseen"),
        5,
        (1, "s1"),
    ]
    for some in (
        asked,
        [row for row in asked if isinstance(row, tuple) and len(row) == 2 and row[0] != "x"],
        [],
    ):
        assert db["a"].holds(some) == [row in db["a"] for row in some]
    assert db["v"].holds([("s1",), ("no",)]) == [True, False]
