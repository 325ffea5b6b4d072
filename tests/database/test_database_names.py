"""Columns are matched by name wherever rows have names; position is for rows without any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headwater as hw
from headwater.errors import DataError, HeadwaterError

DECLARED = (
    "link(src: string, dst: string).\nreach(X, Y) :- link(X, Y).\nreach(X, Z) :- link(X, Y), reach(Y, Z)."
)
UNDECLARED = "reach(X, Y) :- link(X, Y). reach(X, Z) :- link(X, Y), reach(Y, Z)."


def frames(names: list[str], rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """The same rows in every form that has names."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return {
        "dicts": [dict(zip(names, row, strict=True)) for row in rows],
        "arrow": pa.table(columns),
        "batch": pa.record_batch(columns),
        "reader": pa.table(columns).to_reader(),
        "pandas": pandas.DataFrame(columns),
        "polars": polars.DataFrame(columns),
        "lazy": polars.DataFrame(columns).lazy(),
    }


FORMS = ["dicts", "arrow", "batch", "reader", "pandas", "polars", "lazy"]


def database(text: str = DECLARED) -> Any:
    found = hw.connect()
    found.define(text)
    return found


def refused(db: Any, rows: Any, relation: str = "link") -> HeadwaterError:
    before = db.version
    with pytest.raises(DataError) as caught:
        db.apply(insert={relation: rows})
    assert db.version == before
    return caught.value


# ------------------------------------------------------------------ declared names


@pytest.mark.parametrize("form", FORMS)
def test_names_in_any_order_go_by_name(form: str) -> None:
    db = database()
    db.apply(insert={"link": frames(["dst", "src"], [("b", "a"), ("c", "b")])[form]})
    assert sorted(db["link"]) == [("a", "b"), ("b", "c")]
    db.apply(delete={"link": frames(["dst", "src"], [("b", "a")])[form]})
    assert list(db["link"]) == [("b", "c")]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "names, hint",
    [
        (["src", "cost"], "rename cost"),
        (["Src", "dst"], "src is written Src there; names are compared letter by letter"),
        ([" src", "dst"], "src is written  src there"),
        (["sorc", "dst"], "is sorc meant to be src?"),
        (["one", "two"], "rename one, two"),
        (["src", "dst", "cost"], "leave out cost"),
        (["src"], "dst is missing"),
    ],
)
def test_other_names_are_refused_with_both_lists(form: str, names: list[str], hint: str) -> None:
    db = database()
    error = refused(db, frames(names, [("a",) * len(names)])[form])
    assert error.code == "column-names"
    assert f"have the columns {', '.join(names)}; link has src, dst" in error.message
    assert hint in str(error.hint)
    with pytest.raises(DataError, match="link has src, dst"):
        db.apply(delete={"link": frames(names, [("a",) * len(names)])[form]})


def test_rows_without_names_go_by_position() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for rows in (
        [("a", "b")],
        [["a", "b"]],
        {("a", "b")},
        iter([("a", "b")]),
        np.array([["a", "b"]]),
        pandas.DataFrame([("a", "b")]),
        pandas.DataFrame([("x", "a", "b")])[[1, 2]],
        polars.DataFrame([("a", "b")], orient="row"),
        pa.table({"f0": ["a"], "f1": ["b"]}),
        pa.table({"_1": ["a"], "_2": ["b"]}),
        pa.table({"_c0": ["a"], "_c1": ["b"]}),
    ):
        db = database()
        db.apply(insert={"link": rows})
        assert list(db["link"]) == [("a", "b")]


def test_a_name_twice_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    for rows in (
        pa.table([["a"], ["b"]], names=["src", "src"]),
        pandas.DataFrame([("a", "b")], columns=["src", "src"]),
    ):
        for text in (DECLARED, UNDECLARED):
            error = refused(database(text), rows)
            assert error.code == "duplicate-column" and "two are called src" in error.message


def test_an_index_is_no_column_and_the_hint_says_so() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"src": ["a"], "dst": ["b"]})
    assert "src is the frame's index; reset_index()" in str(refused(database(), frame.set_index("src")).hint)
    written = frame.assign(**{"Unnamed: 0": [0]})
    assert "Unnamed: 0 is the index of a pandas frame" in str(refused(database(), written).hint)
    levels = pa.Table.from_pandas(frame.set_index(np.array([7])))
    assert "__index_level_0__ is the index" in str(refused(database(), levels).hint)
    db = database()
    db.apply(insert={"link": frame.set_index(np.array([7]))})
    assert list(db["link"]) == [("a", "b")]


def test_rows_of_dicts_are_all_alike() -> None:
    error = refused(database(), [{"src": "a", "dst": "b"}, {"src": "a", "to": "b"}])
    assert "row 2: its columns are src, to, expected src, dst" in error.message


def test_rows_that_carry_names_of_their_own_go_by_them() -> None:
    import sqlite3
    from collections import namedtuple

    class SparkRow(tuple):
        """As PySpark's."""

        __fields__ = ("dst", "src")

    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    cursor = connection.execute("SELECT 'b' AS dst, 'a' AS src")
    named = namedtuple("named", "dst src")
    for rows in (
        [named("b", "a")],
        [SparkRow(("b", "a"))],
        cursor.fetchall(),
        np.array([("b", "a")], dtype=[("dst", "U1"), ("src", "U1")]),
        [named("b", "a"), ("a", "b")],
    ):
        db = database()
        db.apply(insert={"link": rows})
        assert list(db["link"]) == [("a", "b")]
    other = namedtuple("other", "source dst")
    assert refused(database(), [other("a", "b")]).code == "column-names"
    db = database(UNDECLARED)
    db.apply(insert={"link": [other("a", "b")]})
    assert db.info("link").columns == ("source", "dst") and list(db["link"]) == [("a", "b")]


# ------------------------------------------------------------------ names that nobody declared


@pytest.mark.parametrize("form", FORMS)
def test_the_first_rows_with_names_give_them(form: str, tmp_path: Path) -> None:
    with hw.connect(tmp_path / "state") as db:
        db.define(UNDECLARED)
        assert db.info("link").columns == ("X", "Y") and not db.info("link").named
        db.apply(insert={"link": frames(["src", "dst"], [("a", "b")])[form]})
        assert db.info("link").columns == ("src", "dst") and db.info("link").named
        db.apply(insert={"link": frames(["dst", "src"], [("c", "b")])[form]})
        assert sorted(db["reach"]) == [("a", "b"), ("a", "c"), ("b", "c")]
        assert refused(db, frames(["from", "to"], [("a", "b")])[form]).code == "column-names"
    with hw.connect(tmp_path / "state") as db:
        assert db.info("link").columns == ("src", "dst") and sorted(db["link"]) == [("a", "b"), ("b", "c")]
        assert refused(db, frames(["from", "to"], [("a", "b")])[form]).code == "column-names"
        db.checkpoint()
    with hw.connect(tmp_path / "state") as db:
        assert db.info("link").columns == ("src", "dst") and sorted(db["link"]) == [("a", "b"), ("b", "c")]


def test_rows_without_names_leave_the_names_open() -> None:
    db = database(UNDECLARED)
    db.apply(insert={"link": [("a", "b")]})
    db.apply(insert={"link": pa.table({"_1": ["b"], "_2": ["c"]})})
    assert db.info("link").columns == ("X", "Y")
    db.apply(insert={"link": pa.table({"src": ["c"], "dst": ["d"]})})
    assert db.info("link").columns == ("src", "dst")
    assert len(db["reach"]) == 6


def test_names_of_variables_that_all_match_count() -> None:
    db = database("reach(X, Y) :- link(X, Y).")
    db.apply(insert={"link": pa.table({"Y": ["b"], "X": ["a"]})})
    assert list(db["link"]) == [("a", "b")]


def test_a_shared_name_at_another_place_is_refused() -> None:
    db = database("reach(src, dst) :- link(src, dst).".replace("src", "Src").replace("dst", "Dst"))
    error = refused(db, pa.table({"Dst": ["b"], "from": ["a"]}))
    assert error.code == "column-names" and "link has Src, Dst" in error.message
    db.apply(insert={"link": pa.table({"Src": ["a"], "to": ["b"]})})
    assert db.info("link").columns == ("Src", "to")


def test_a_supposed_change_names_nothing() -> None:
    db = database(UNDECLARED)
    db.what_if(insert={"link": pa.table({"src": ["a"], "dst": ["b"]})})
    assert db.info("link").columns == ("X", "Y")


def test_a_later_declaration_names_the_columns_anew(tmp_path: Path) -> None:
    with hw.connect(tmp_path / "state") as db:
        db.define(UNDECLARED)
        db.apply(insert={"link": pa.table({"a": ["x"], "b": ["y"]})})
        db.define("link(b: string, a: string).")
        assert list(db["link"]) == [("x", "y")] and db.info("link").columns == ("b", "a")
        db.apply(insert={"link": pa.table({"a": ["p"], "b": ["q"]})})
        assert sorted(db["link"]) == [("q", "p"), ("x", "y")]
        db.checkpoint()
    with hw.connect(tmp_path / "state") as db:
        assert sorted(db["link"]) == [("q", "p"), ("x", "y")]


def test_a_view_that_takes_rows_goes_by_its_names() -> None:
    db = database(".decl reach(a: symbol, b: symbol)\n.input reach\nreach(x, y) :- link(x, y).")
    db.apply(insert={"reach": pa.table({"b": ["2"], "a": ["1"]})})
    assert list(db["reach"]) == [("1", "2")]
    assert refused(db, pa.table({"b": ["2"], "c": ["1"]}), "reach").code == "column-names"


# ------------------------------------------------------------------ names that the store and tables use themselves

TAKEN = {
    "x": [None, 2],
    "x?": ["a", "?f(1)"],
    "~rank": [1, 2],
    "~count": [1, 2],
    "~visible": [1, 2],
    "~time": [1, 2],
}


@pytest.mark.parametrize("checkpoint", [False, True])
def test_columns_may_be_called_as_those_of_the_store(checkpoint: bool, tmp_path: Path):
    with hw.connect(tmp_path, strict=False) as db:
        db.apply(insert={"r": pa.table(TAKEN)})
        db.apply(insert={"r": [(hw.LabelledNull("g", (1,)), "b", 3, 3, 3, 3)]})
        before = set(db["r"].rows())
        if checkpoint:
            db.checkpoint()
    with hw.connect(tmp_path) as db:
        assert db["r"].columns == tuple(TAKEN)
        assert set(db["r"].rows()) == before


def test_texts_of_labelled_nulls_need_a_name_of_their_own():
    db = hw.connect(strict=False)
    db.apply(insert={"r": pa.table(TAKEN)})
    db.apply(insert={"r": [(hw.LabelledNull("g", (1,)), "b", 3, 3, 3, 3)]})
    with pytest.raises(DataError) as caught:
        db["r"].arrow(labels=True)
    assert caught.value.code == "reserved-column"
    assert "x?" in caught.value.message


def test_made_up_names_are_no_variables_of_other_columns():
    db = hw.connect()
    db.define("q(x) :- p(c1, _, _), r(c1, x).")
    assert db.info("p").columns == ("c1", "c2", "c3")
    db.apply(insert={"p": [(1, 2, 3)], "r": [(1, 5)]})
    assert db["q"].rows() == [(5,)] and db["p"].where(c1=1).rows() == [(1, 2, 3)]
