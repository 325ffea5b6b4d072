"""Definitions that would give what is watched other types."""

from __future__ import annotations

import pytest

import headwater as hw


@pytest.mark.parametrize("first, second", [("int", "string"), ("string", "int"), ("int", "float")])
@pytest.mark.parametrize("by", ["watch", "rule"])
def test_what_is_watched_keeps_its_types(first, second, by):
    values = {"int": 7, "string": "x", "float": 0.5}
    db = hw.connect()
    db.define(
        f"f(a: {first}). g(a: {second}). r: v(X) :- f(X).",
        insert={"f": [(values[first],)], "g": [(values[second],)]},
    )
    if by == "watch":
        db.watch("v", lambda event: None, name="told")
    else:
        db.define("told: on +v(X) do refuse '{X}'.")
    with pytest.raises(
        hw.DataError, match="told watches v, a column of which would have another type"
    ) as caught:
        db.replace_rule("r", "v(X) :- g(X).")
    assert caught.value.code == "still-read" and db["v"].rows() == [(values[first],)]
    db.watches["told"].stop() if by == "watch" else db.drop_rule("told")
    db.replace_rule("r", "v(X) :- g(X).")
    assert db["v"].rows() == [(values[second],)]
