"""Triggers: which of the rows that came or went they hold for, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from headwater.active.trigger import armed, parse_trigger
from headwater.language.program import Call, Constant, Variable
from headwater.maintain.goals import Means
from headwater.values.temporary import temporary_codec

TEXT = """
reading(sensor: string, value: int). owner(sensor: string, who: string). note(text: string?, size: int?).
alarm(S, V) :- reading(S, V), V > 10.
quiet(S) :- owner(S, _), !alarm(S, _).
many(count<S>) :- alarm(S, _).
"""


class Rig:
    def __init__(self) -> None:
        self.db = hw.connect()
        self.db.define(TEXT)

    def fired(self, changes: hw.Changes, goal: str, on: str = "added", when: str | None = None, **more: Any):
        trigger = armed(parse_trigger(goal, on, when), self.db.catalog, **more)
        means = Means(temporary_codec(self.db.codec), self.db.functions)
        rows = {name: change._rows for name, change in changes.items()}
        fired = trigger.fired(rows, self.db.runner, means)
        return sorted(fired.inserted, key=repr), sorted(fired.deleted, key=repr)


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.fixture
def first(rig: Rig) -> hw.Changes:
    readings = [("a", 11), ("b", 20), ("c", 3)]
    return rig.db.apply(
        insert={"reading": readings, "owner": [("a", "ann"), ("c", "cy")], "note": [(None, 1), ("n", None)]}
    )


@pytest.mark.parametrize(
    "goal, when, expected",
    [
        ("alarm(X, Y)", None, [("a", 11), ("b", 20)]),
        ("alarm(_, _)", None, [("a", 11), ("b", 20)]),
        ("alarm(X, 20)", None, [("b", 20)]),
        ("alarm('a', _)", None, [("a", 11)]),
        ("alarm('z', _)", None, []),
        ("alarm(X, Y)", "Y > 11", [("b", 20)]),
        ("alarm(X, Y), Y > 11", None, [("b", 20)]),
        ("alarm(X, Y)", "owner(X, W), Z = strlen(W), Z = 3", [("a", 11)]),
        ("alarm(X, _)", "!owner(X, _)", [("b", 20)]),
        ("reading(X, Y)", "(Y > 15 ; X = 'c')", [("b", 20), ("c", 3)]),
        ("reading(X, Y)", "Y = max : { reading(_, V), Z = V }".replace("max :", "max V :"), [("b", 20)]),
        ("note(X, Y)", "Y is null", [("n", None)]),
        ("note(X, _)", "X is null", [(None, 1)]),
        ("quiet(X)", None, [("c",)]),
        ("many(N)", "N = 2", [(2,)]),
        ("owner(X, X)", None, []),
    ],
)
def test_rows_that_came_are_told_by_event_and_condition(rig, first, goal, when, expected):
    assert rig.fired(first, goal, when=when) == (expected, [])


def test_rows_that_went_are_asked_about_in_the_state_after_the_version(rig, first):
    changes = rig.db.apply(delete={"reading": [("a", 11), ("b", 20)]})
    assert rig.fired(changes, "alarm(X, Y)") == ([], [])
    assert rig.fired(changes, "alarm(X, Y)", "removed", "owner(X, _)") == ([], [("a", 11)])
    assert rig.fired(changes, "quiet(X)", "changed") == ([("a",)], [])
    assert rig.fired(changes, "alarm(X, Y)", "changed", "reading(X, _)") == ([], [])


def test_a_relation_without_a_change_fires_nothing(rig, first):
    changes = rig.db.apply(insert={"owner": [("d", "dan")]})
    assert rig.fired(changes, "alarm(X, Y)", "changed", "Y > 3") == ([], [])


def test_answers_are_terms_over_the_variables(rig, first):
    answers = (Variable("W"), Constant("seen"), Call("+", (Variable("Y"), Constant(1))))
    assert rig.fired(first, "alarm(X, Y)", when="owner(X, W)", answers=answers) == ([("ann", "seen", 12)], [])


def test_answers_fit_the_columns_that_they_are_for(rig, first):
    rig.db.define("cost(what: string, much: float).")
    into = rig.db.info("cost").layout
    answers = (Variable("X"), Variable("Y"))
    with pytest.raises(hw.RuleError) as error:
        rig.fired(first, "alarm(X, Y)", answers=answers, into=into)
    assert error.value.code == "type-clash"
    assert "~" not in error.value.message


@pytest.mark.parametrize(
    "goal, when, code, said",
    [
        ("alrm(X, Y)", None, "unknown-relation", "alrm"),
        ("alarm(X)", None, "wrong-arity", "alarm has 2 columns, not 1"),
        ("alarm(X, 'high')", None, "type-clash", "column 2 of alarm"),
        ("alarm(X, Y)", "Z > 3", "unsafe-variable", "Z"),
        ("alarm(X, Y)", "X > 3", "type-clash", "X > 3"),
        ("alarm(X, Y)", "owners(X)", "unknown-relation", "owners"),
        ("alarm(X, Y)", "!owner(X, O)", "unsafe-variable", "O"),
        ("alarm(X, Y + 1)", None, "unsupported", "computed"),
    ],
)
def test_what_does_not_fit_is_refused_where_it_is_written(rig, first, goal, when, code, said):
    with pytest.raises(hw.RuleError) as error:
        rig.fired(first, goal, when=when)
    assert error.value.code == code
    assert said in error.value.message
    assert "~" not in str(error.value)
    assert error.value.place is not None
    assert error.value.place.source == ("<goal>" if when is None else "<when>")


@pytest.mark.parametrize(
    "goal, when",
    [
        ("alarm(X, Y", None),
        ("!alarm(X, Y)", None),
        ("X > 3", None),
        ("", None),
        ("alarm(X, Y)", "X >"),
        ("alarm(X, Y)", ""),
        ("p(X) :- alarm(X, _). ?- p(X).", None),
    ],
)
def test_what_is_no_goal_is_refused(goal, when):
    with pytest.raises(hw.LanguageError):
        parse_trigger(goal, "added", when)


def test_an_unknown_kind_of_event_is_refused():
    with pytest.raises(hw.DataError) as error:
        parse_trigger("alarm(X)", "add")
    assert error.value.code == "unknown-option"


@pytest.mark.parametrize("kind, told", [("additions", "added"), ("removals", "removed")])
def test_rows_that_are_not_told_cannot_be_waited_for(rig: Rig, kind: str, told: str):
    rig.db.keep("alarm", kind)
    for on in ("added", "removed", "changed"):
        if on == told:
            armed(parse_trigger("alarm(X, Y)", on), rig.db.catalog)
        else:
            with pytest.raises(hw.RuleError, match=f"of alarm only rows that are {told} are told"):
                armed(parse_trigger("alarm(X, Y)", on), rig.db.catalog)
    rig.db.watch("alarm(X, Y)", print, on=told)
    with pytest.raises(hw.DataError, match="could not go on"):
        rig.db.keep("alarm", "additions" if kind == "removals" else "removals")
