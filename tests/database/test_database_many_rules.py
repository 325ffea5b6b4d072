"""A version costs what it concerns, however many rules there are beside."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import headwater as hw
from headwater.database import Database

RULES = """
near(X, Y) :- link(X, Y).
two(X, Z) :- link(X, Y), link(Y, Z).
degree(X, count<Y>) :- link(X, Y).
reach(X, Y) :- link(X, Y).
reach(X, Y) :- reach(X, Z), link(Z, Y).
"""


def loaded(others: int) -> Database:
    """A database with so many rules that read other relations."""
    database = hw.connect()
    database.define(RULES + "".join(f"view{i}(X, Y) :- other{i}(X, Y).\n" for i in range(others)))
    database.apply(insert={"link": [(1, 2), (2, 3)], **{f"other{i}": [(1, 2)] for i in range(others)}})
    for _ in range(3):
        database.apply(insert={"link": [(3, 4)]})
        database.apply(delete={"link": [(3, 4)]})
    return database


def steps_of(call: Callable[[], Any]) -> tuple[int, int]:
    """How many lines of Python a call runs through, and how much the largest container holds that any function
    returns on the way."""
    lines = largest = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines, largest
        lines += 1
        if event == "return" and isinstance(argument, (dict, list, tuple, set, frozenset)):
            largest = max(largest, len(argument))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines, largest


def test_a_version_does_as_much_under_many_rules_that_it_does_not_concern():
    alone, among = loaded(0), loaded(200)
    for change in ("insert", "delete"):
        few = steps_of(lambda: alone.apply(**{change: {"link": [(3, 4)]}}))  # noqa: B023
        many = steps_of(lambda: among.apply(**{change: {"link": [(3, 4)]}}))  # noqa: B023
        assert many[0] < 1.1 * few[0] and many[1] < 100
    assert alone["reach"].rows() == among["reach"].rows()
