"""The commands that explain: why, why-not, what-if, depends."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli_folder import Folder


def files(folder: Folder) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (folder.path / "state").rglob("*") if path.is_file()}


def test_why(state: Folder) -> None:
    assert state.done("why", "-s", "state", "reach(a,c)").splitlines() == [
        'reach("a", "c")  by reach#2: reach(x, y) :- link(x, z), reach(z, y).',
        '├─ link("a", "b")',
        '└─ reach("b", "c")  by reach#1: reach(x, y) :- link(x, y).',
        '   └─ link("b", "c")',
        "",
        "2 derivations of 2 rows from 2 base rows",
        'reach("a", "c") follows from link("a", "b"), link("b", "c")',
    ]


def test_every_derivation(state: Folder) -> None:
    state.done("apply", "-s", "state", "--insert", "link(a,c)")
    out = state.done("why", "-s", "state", "reach(a,c)", "--all")
    assert '  by reach#1: link("a", "c")' in out and '  by reach#2: link("a", "b"), reach("b", "c")' in out


def test_limits(state: Folder) -> None:
    out = state.done("why", "-s", "state", "reach(a,c)", "--all", "--depth", "1")
    assert "(and 1 row not looked into)" in out
    state.done("apply", "-s", "state", "--insert", "link(a,c)")
    assert "and 1 more" in state.done("why", "-s", "state", "reach(a,c)", "--terms", "1")


def test_formats(state: Folder) -> None:
    found = json.loads(state.done("why", "-s", "state", "reach(a,c)", "--format", "json"))
    assert (
        found["row"] == {"relation": "reach", "values": ["a", "c"]}
        and len(found["graph"]["derivations"]) == 2
    )
    assert state.done("why", "-s", "state", "reach(a,c)", "--format", "dot").startswith("digraph why {")
    picture = state.done("why", "-s", "state", "reach(a,c)", "--format", "svg")
    assert ElementTree.fromstring(picture).tag.endswith("svg")


def test_why_not_and_its_repair(state: Folder) -> None:
    out = state.done("why-not", "-s", "state", "reach(c,a)")
    assert out.startswith('reach("c", "a") is not there\n') and '  insert link("c", "a")\n' in out
    found = json.loads(
        state.done("why-not", "-s", "state", "reach(c,a)", "--format", "json", "--repairs", "1")
    )
    assert found["repairs"] == [
        {"insert": [{"relation": "link", "values": ["c", "a"]}], "delete": [], "free": False}
    ]
    state.done("apply", "-s", "state", "--insert", "link(c,a)")
    assert "row-there" in state.refused("why-not", "-s", "state", "reach(c,a)")


def test_what_if_applies_nothing(state: Folder) -> None:
    before = files(state)
    result = state.run("what-if", "-s", "state", "--delete", "link(a,b)", "--insert", "link(c,d)")
    assert result.exit_code == 0
    assert sorted(line.split() for line in result.stdout.splitlines()[2:4]) == [
        ["link", "base", "+1", "-1", "2"],
        ["reach", "view", "+2", "-2", "3"],
    ]
    assert '- reach("a", "c")' in result.stdout and '+ reach("b", "d")' in result.stdout
    assert result.stderr.startswith("nothing was applied, it is still version 1, ")
    assert files(state) == before
    found = json.loads(state.done("what-if", "-s", "state", "--delete", "link(a,b)", "--json"))
    assert found["version"] == 1 and found["changes"]["reach"]["deleted_rows"] == [["a", "b"], ["a", "c"]]


def test_what_if_takes_files(state: Folder) -> None:
    state.write("changes/link.delete.csv", "src,dst\nb,c\n")
    found = json.loads(state.done("what-if", "-s", "state", "changes", "--json"))
    assert found["changes"]["reach"]["deleted"] == 2


def test_depends(state: Folder) -> None:
    assert state.done("depends", "-s", "state", "link(a,b)").splitlines() == [
        'link("a", "b")',
        "2 rows would fall with it",
        '  reach("a", "b")  needs nothing else',
        '  reach("a", "c")',
        "0 use it and would stand without it",
    ]
    found = json.loads(state.done("depends", "-s", "state", "link(a,b)", "--format", "json"))
    assert len(found["falls"]) == 2 and len(found["alone"]) == 1


def test_a_writer_does_not_hinder_questions(state: Folder) -> None:
    import headwater

    with headwater.connect(state.path / "state"):
        state.done("why", "-s", "state", "reach(a,c)")
        state.done("what-if", "-s", "state", "--delete", "link(a,b)")


@pytest.mark.parametrize("command", ["why", "why-not", "depends"])
@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("nope(a,b)", "unknown-relation"),
        ("reach(a)", "wrong-arity"),
        ("reach(1,2)", "type-clash"),
        ("reach(a", "syntax"),
        ("reach(a,c) :- link(a,b)", "syntax"),
        ("reach(a,b). reach(a,c)", "syntax"),
    ],
)
def test_questions_that_make_no_sense(state: Folder, command: str, row: str, code: str) -> None:
    assert f"error[{code}]" in state.refused(command, "-s", "state", row)


@pytest.mark.parametrize("command", ["why", "depends"])
def test_rows_that_are_not_there(state: Folder, command: str) -> None:
    assert "why-not" in state.refused(command, "-s", "state", "reach(c,a)")


def test_nothing_to_suppose(state: Folder) -> None:
    assert "nothing to suppose" in state.refused("what-if", "-s", "state", code=2)


def test_no_state(folder: Folder) -> None:
    assert "error[missing]" in folder.refused("why", "-s", "state", "reach(a,c)", code=3)


# ------------------------------------------------------------------ hints


@pytest.mark.parametrize(
    ("command", "row", "said"),
    [
        ("why", "reach(c, a)", "headwater why-not -s state 'reach(c, a)'"),
        ("depends", "reach(c, a)", "headwater why-not -s state 'reach(c, a)'"),
        ("why-not", "reach(a, b)", "headwater why -s state 'reach(a, b)'"),
        ("why", "reach(a)", "reach has 2 columns (src, dst), not 1"),
        ("why", "reach(a)", "headwater show -s state 'reach(a, Dst)'"),
        ("why", "reach(a, b, c)", "reach has 2 columns (src, dst), not 3"),
        ("why", "raech(a, b)", "did you mean reach?"),
        ("why", "reach", "give a row: 'reach(a, 3)'"),
    ],
)
def test_hints_are_commands(state: Folder, command: str, row: str, said: str) -> None:
    done = state.run(command, "-s", "state", row)
    assert done.exit_code == 1 and said in done.stderr, done.stderr


@pytest.mark.parametrize("row", ["reach(a, b", "reach(a b)", "reach a, b", "reach(a,, b)"])
def test_no_full_stop_is_shown_that_nobody_wrote(state: Folder, row: str) -> None:
    done = state.run("why", "-s", "state", row)
    lines = done.stderr.splitlines()
    shown = next(line for line in lines if line.startswith("1 | "))
    assert shown == f"1 | {row}" and "'.'" not in lines[0], done.stderr
