"""`headwater query`, and goals for `headwater show`."""

import json

import pytest
from cli_folder import Folder


@pytest.mark.parametrize("command", ["query", "show"])
def test_answers_to_a_goal(state: Folder, command: str) -> None:
    assert state.done(command, "-s", "state", "reach(a, X)", "--format", "csv").split() == ["X", "b", "c"]
    found = json.loads(state.done(command, "-s", "state", "reach(a, X), X != 'b'", "--format", "json"))
    assert found == [{"X": "c"}]
    result = state.run(command, "-s", "state", "reach(a, X)", "--limit", "1")
    assert "2 rows, the first 1 shown, version 1" in result.stderr


def test_rules_of_its_own(state: Folder) -> None:
    out = state.done(
        "query", "-s", "state", "two(X, Z) :- link(X, Y), link(Y, Z). ?- two(X, Z).", "--format", "csv"
    )
    assert out.split() == ["X,Z", "a,c"]


def test_yes_and_no(state: Folder) -> None:
    assert state.done("query", "-s", "state", "reach(a, c)") == "yes\n"
    assert state.done("query", "-s", "state", "reach(c, a)") == "no\n"


def test_explaining_a_goal(state: Folder) -> None:
    out = state.done("query", "-s", "state", "reach(a, X)", "--explain")
    assert "reads reach\n" in out and "2 rows of reach looked at" in out


def test_a_virtual_view(state: Folder) -> None:
    state.write("kind.dl", ".kind reach virtual\n")
    state.done("define", "-s", "state", "kind.dl")
    assert state.done("show", "-s", "state", "reach(a, X)", "--format", "csv").split() == ["X", "b", "c"]
    assert len(state.done("show", "-s", "state", "reach", "--format", "csv").split()) == 4
    assert "virtual" in state.done("show", "-s", "state")
    state.done("compact", "-s", "state")
    assert "virtual" in state.done("show", "-s", "state")


@pytest.mark.parametrize(
    "goal, code, message",
    [
        ("raech(a, X)", 1, "unknown-relation"),
        ("reach(a, X", 1, "found the end of the goal"),
        ("reach(a)", 1, "arity-clash"),
        ("", 1, "syntax"),
    ],
)
def test_goals_that_are_refused(state: Folder, goal: str, code: int, message: str) -> None:
    result = state.run("query", "-s", "state", goal)
    assert result.exit_code == code and message in result.stderr
