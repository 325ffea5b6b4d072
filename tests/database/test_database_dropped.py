"""A database that nobody holds any more is gone at once, with the memory of its rows."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

import headwater as hw
from headwater.database import Database


def views(path: Path) -> Database:
    database = hw.connect()
    database.define(
        """
        reach(X, Y) :- link(X, Y).
        reach(X, Y) :- link(X, Z), reach(Z, Y).
        best(X, min<Y>) :- reach(X, Y).
        out(X, count<Y>) :- reach(X, Y).
        far(X, Y) :- reach(X, Y), !link(X, Y).
        """
    )
    return database


def stored(path: Path) -> Database:
    database = hw.connect(path / "state")
    database.define("reach(X, Y) :- link(X, Y).\nreach(X, Y) :- link(X, Z), reach(Z, Y).")
    return database


def watched(path: Path) -> Database:
    database = views(path)
    database.define(".kind far watched\nlog(X, Y) :- entry(X, Y).\non +far(X, Y) do insert entry(X, Y).")
    database.watch("reach(X, Y)", lambda event: None)
    return database


@pytest.mark.parametrize("make", [views, stored, watched])
def test_a_dropped_database_is_gone_without_a_collection(make, tmp_path: Path):
    database = make(tmp_path)
    database.apply(insert={"link": [(1, 2), (2, 3)]})
    changes = database.apply(delete={"link": [(1, 2)]}, insert={"link": [(3, 4)]})
    database.query("reach(2, X)")
    relations = [weakref.ref(one) for one in database.engine.workspace.relations.values()]
    gc.collect()
    gc.disable()
    try:
        database.close()
        del database
        assert [held() for held in relations if held() is not None] == []
    finally:
        gc.enable()
    assert sorted(changes["link"].inserted) == [(3, 4)]
