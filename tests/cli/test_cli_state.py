"""The commands that work on a state folder: define, apply, show, explain, compact."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from cli_folder import Folder
from pyarrow import parquet

import headwater


def rows(state: Folder, relation: str) -> list[list[str]]:
    return [
        line.split(",") for line in state.done("show", "-s", "state", relation, "--format", "csv").split()[1:]
    ]


# ------------------------------------------------------------------ apply


def test_single_rows(state: Folder) -> None:
    result = state.run("apply", "-s", "state", "--insert", 'link("c", "d")', "--delete", "link(a,b)", "-v")
    assert result.exit_code == 0
    assert sorted(line.split() for line in result.stdout.splitlines()[2:4]) == [
        ["link", "base", "+1", "-1", "2"],
        ["reach", "view", "+2", "-2", "3"],
    ]
    changed = [line for line in result.stdout.splitlines() if line[:2] in ("+ ", "- ")]
    assert sorted(changed) == [
        '+ link("c", "d")',
        '+ reach("b", "d")',
        '+ reach("c", "d")',
        '- link("a", "b")',
        '- reach("a", "b")',
        '- reach("a", "c")',
    ]
    assert result.stderr.startswith("version 2, ")


def test_files_and_rows_are_one_version(state: Folder) -> None:
    state.write("more.csv", "dst,src\nd,c\n")
    state.write("gone.facts", "a\tb\n")
    out = state.done(
        "apply", "-s", "state", "--insert", "link=more.csv", "--delete", "link=gone.facts", "--insert", "link(d,e)",
        "--json",
    )  # fmt: skip
    found = json.loads(out)
    assert found["version"] == 2
    assert found["changes"]["link"] == {"kind": "base", "inserted": 2, "deleted": 1}
    assert rows(state, "link") == [["b", "c"], ["c", "d"], ["d", "e"]]


def test_json_with_rows(state: Folder) -> None:
    found = json.loads(
        state.done("apply", "-s", "state", "--insert", "link(c,d). link(d,e).", "--json", "-v")
    )
    assert found["changes"]["link"]["inserted_rows"] == [["c", "d"], ["d", "e"]]
    assert found["changes"]["reach"]["deleted_rows"] == []
    assert found["no_ops"] == 0


def test_rows_from_standard_input(state: Folder) -> None:
    state.done("apply", "-s", "state", "--insert", "link=-", input="c\td\n")
    assert ["c", "d"] in rows(state, "link")


def test_a_folder_of_changes(state: Folder) -> None:
    state.write("changes/link.insert.csv", "c,d\n")
    state.write("changes/link.delete.tsv", "b\tc\n")
    state.write("changes/_SUCCESS", "")
    state.write("changes/.hidden", "")
    assert "error[likely-header]" in state.refused("apply", "-s", "state", "changes")
    state.done("apply", "-s", "state", "changes", "--no-header")
    assert rows(state, "link") == [["a", "b"], ["c", "d"]]


def test_a_change_feed(state: Folder) -> None:
    state.write(
        "feed/link.csv",
        "_change_type,src,dst,_commit_version\nupdate_preimage,a,b,7\nupdate_postimage,a,z,7\ninsert,q,r,8\n"
        "delete,q,r,9\n",
    )
    state.done("apply", "-s", "state", "feed/link.csv")
    assert rows(state, "link") == [["a", "z"], ["b", "c"]]


def test_empty_files_change_nothing(state: Folder) -> None:
    state.write("changes/link.csv", "")
    state.write("changes/link.insert.csv", "src,dst\n")
    result = state.run("apply", "-s", "state", "changes")
    assert "version 2, no relation changed" in result.stderr


def test_what_does_nothing_is_counted(state: Folder) -> None:
    result = state.run("apply", "-s", "state", "--insert", "link(a,b)", "--delete", "link(x,y)")
    assert "2 changes did nothing" in result.stderr


def test_many_rows_are_cut(state: Folder) -> None:
    state.write("more.csv", "".join(f"n{i},m{i}\n" for i in range(30)))
    out = state.done("apply", "-s", "state", "--insert", "link=more.csv", "--no-header", "-v", "--limit", "3")
    assert "+ 27 more rows of link" in out
    assert out.count("+ link(") == 3


def test_lifetimes(folder: Folder) -> None:
    folder.write("p.dl", "materialize(ping, 10, infinity, keys(1)). alive(X) :- ping(X). ")
    folder.done("define", "-s", "state", "p.dl")
    folder.done("apply", "-s", "state", "--insert", "ping(1)")
    out = folder.done("apply", "-s", "state", "--advance-to", "5", "--insert", "ping(2)", "--json")
    assert [json.loads(line)["version"] for line in out.splitlines()] == [3, 4]
    found = json.loads(folder.done("apply", "-s", "state", "--advance-to", "12", "--json", "-v"))
    assert found["changes"]["alive"]["deleted_rows"] == [[1]]
    assert "error[time-goes-back]" in folder.refused("apply", "-s", "state", "--advance-to", "3")


def test_types_of_rows_follow_the_relation(folder: Folder) -> None:
    folder.write("p.dl", ".decl cost(item: symbol, price: float)\np(x) :- cost(x, _).\n")
    folder.done("define", "-s", "state", "p.dl")
    folder.done("apply", "-s", "state", "--insert", 'cost("pen", 2)')
    assert folder.done("show", "-s", "state", "cost", "--format", "csv") == "item,price\npen,2.0\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-s", "state"], 2, "nothing to apply"),
        (["-s", "state", "none"], 2, "'none' does not exist"),
        (["-s", "state", "--insert", "link=none.csv"], 2, "there is no file none.csv"),
        (["-s", "none", "--insert", "link(a,b)"], 3, "error[missing]: there is no state in none"),
        (["-s", "state", "--insert", "lnk(a,b)"], 1, "did you mean link?"),
        (["-s", "state", "--insert", "reach(a,b)"], 1, "error[derived-relation]"),
        (["-s", "state", "--insert", "link(a)"], 1, "error[wrong-arity]"),
        (["-s", "state", "--insert", "link(a, 1)"], 1, "error[type-clash]"),
        (["-s", "state", "--insert", "link(A, b)"], 1, "error[unsafe-variable]"),
        (["-s", "state", "--insert", "link(a"], 1, "error[syntax]"),
        (["-s", "state", "--insert", "link(X,Y) :- link(Y,X)"], 1, "is not a row"),
        (["-s", "state", "--insert", "link(a,b). reach(a,b)."], 1, "rows of several relations"),
        (["-s", "state", "facts"], 1, "has no column _change_type"),
        (["-s", "state", "reach.dl"], 1, "does not say what it changes"),
        (["-s", "state", "--delete", "link=bad.csv"], 1, "bad.csv, line 2: 1 cell, expected 2"),
        (["-s", "state", "--delete", "link=feed.csv"], 1, "error[change-feed]"),
    ],
)
def test_changes_that_are_refused(state: Folder, arguments: list[str], code: int, message: str) -> None:
    state.write("bad.csv", "a,b\nc\n")
    state.write("feed.csv", "src,dst,_change_type\na,b,delete\n")
    assert message in state.refused("apply", *arguments, code=code)
    assert rows(state, "link") == [["a", "b"], ["b", "c"]]


def test_files_of_different_kinds_for_one_relation(state: Folder) -> None:
    table = pa.table({"src": pa.array(["p"]).dictionary_encode(), "dst": pa.array(["q"]).dictionary_encode()})
    (state.path / "changes").mkdir()
    parquet.write_table(table, "changes/link.insert.parquet")
    state.write("changes/link.csv", "src,dst,_change_type\nr,s,insert\n")
    state.done("apply", "-s", "state", "changes", "--insert", "link(t,u)")
    assert rows(state, "link") == [["a", "b"], ["b", "c"], ["p", "q"], ["r", "s"], ["t", "u"]]


# ------------------------------------------------------------------ define, show, explain, compact


def test_defining_adds_views(state: Folder) -> None:
    state.write("more.dl", "back(Y, X) :- link(X, Y).")
    out = state.done("define", "-s", "state", "more.dl", "-v")
    assert '+ back("b", "a")' in out
    assert rows(state, "back") == [["b", "a"], ["c", "b"]]


def test_a_refused_definition_changes_nothing(state: Folder) -> None:
    state.write("more.dl", "back(Y, Z) :- link(X, Y).")
    assert "more.dl:1:9" in state.refused("define", "-s", "state", "more.dl")
    assert "back" not in state.done("show", "-s", "state")


def test_showing_all_relations(state: Folder) -> None:
    lines = state.done("show", "-s", "state").splitlines()
    assert lines[0].split() == ["relation", "kind", "columns", "rows", "bytes"]
    assert lines[2].split()[:-1] == ["link", "base", "src:", "string,", "dst:", "string", "2"]
    found = json.loads(state.done("show", "-s", "state", "--format", "json"))
    assert {row["relation"]: row["rows"] for row in found} == {"link": 2, "reach": 3}


def test_showing_rows(state: Folder) -> None:
    result = state.run("show", "-s", "state", "reach", "--limit", "2")
    assert [line.split() for line in result.stdout.splitlines()][2:] == [["a", "b"], ["a", "c"]]
    assert result.stderr == "reach: 3 rows, the first 2 shown, version 1\n"
    assert state.done("show", "-s", "state", "reach", "--format", "csv", "--limit", "1") == "src,dst\na,b\n"
    assert json.loads(state.done("show", "-s", "state", "link", "--format", "json"))[0] == {
        "src": "a",
        "dst": "b",
    }


def test_values_that_would_be_unclear_are_quoted(folder: Folder) -> None:
    folder.write("p.dl", r'p("[red]x", "a\tb", ""). p("\u001b[31m", "ok", "ok").')
    folder.done("define", "-s", "state", "p.dl")
    out = folder.done("show", "-s", "state", "p")
    assert "[red]x" in out
    assert r"'a\tb'" in out
    assert "\x1b" not in out


def test_readers_do_not_lock(state: Folder) -> None:
    with headwater.connect("state") as writer:
        writer.apply(insert={"link": [("c", "d")]})
        assert ["a", "d"] in rows(state, "reach")
        state.done("explain", "-s", "state")
        assert "error[locked]" in state.refused("apply", "-s", "state", "--insert", "link(x,y)", code=3)


@pytest.mark.parametrize("command", ["show", "explain", "apply", "compact"])
def test_no_command_makes_a_state_by_accident(folder: Folder, command: str) -> None:
    extra = ["--insert", "p(1)"] if command == "apply" else []
    assert "error[missing]" in folder.refused(command, "-s", "none", *extra, code=3)
    assert not Path("none").exists()


def test_unknown_relations(state: Folder) -> None:
    assert "did you mean reach?" in state.refused("show", "-s", "state", "reech")
    assert "error[unknown-relation]" in state.refused("explain", "-s", "state", "zzz")


def test_explaining(state: Folder) -> None:
    assert "view reach: recursive, strategy support" in state.done("explain", "-s", "state", "reach")
    assert "base link" in state.done("explain", "reach.dl")
    assert "base link" not in state.done("explain", "reach.dl", "reach")
    state.refused("explain", code=2)
    state.refused("explain", "none.dl", code=2)
    state.refused("explain", "reach.dl", "a", "b", code=2)


def test_compacting(state: Folder) -> None:
    for i in range(3):
        state.done("apply", "-s", "state", "--insert", f"link(x{i}, y{i})")
    result = state.run("compact", "-s", "state")
    assert result.exit_code == 0
    assert result.stderr.startswith("version 4: ")
    assert len(rows(state, "link")) == 5
    state.done("apply", "-s", "state", "--delete", "link(a,b)")
    assert ["a", "c"] not in rows(state, "reach")


def test_checking(folder: Folder) -> None:
    folder.write("p.dl", "p(X) :- q(X), !r(X).")
    assert "p#1: p(X) :- q(X), !r(X)." in folder.done("check", "p.dl")
    assert folder.done("check", "-q", "p.dl") == ""
    folder.write("p.dl", "p(X) :- !p(X).")
    assert "p.dl:1" in folder.refused("check", "p.dl")


def test_views_that_are_not_stored_are_not_counted(folder: Folder) -> None:
    folder.write("rules.dl", "a(x: int). v(X) :- a(X), X > 1. w(X) :- a(X). .kind v watched\n")
    folder.done("define", "-s", "state", "rules.dl")
    lines = folder.done("apply", "-s", "state", "--insert", "a(1)", "--insert", "a(2)").splitlines()
    assert ["v", "watched", "+1", "-0"] in [line.split() for line in lines]
    assert ["w", "view", "+2", "-0", "2"] in [line.split() for line in lines]


def test_active_rules_are_checked_and_listed(folder: Folder) -> None:
    folder.write("rules.dl", "a(x: int).\nr: on +a(X), X > 1 do insert b(X).\n")
    assert "r: on +a(X), X > 1 do now insert b(X)." in folder.done("check", "rules.dl")
    folder.done("run", "rules.dl", "-s", "state", "-D", "out")
    listed = "active rule r: on +a(X), X > 1 do insert b(X).\n"
    assert listed in folder.run("show", "-s", "state").stderr
    folder.done("apply", "-s", "state", "--insert", "a(1)", "--insert", "a(2)")
    assert folder.done("show", "-s", "state", "b", "--format", "csv").splitlines()[1:] == ["2"]
    assert listed in folder.run("show", "-s", "state").stderr
    folder.write("wrong.dl", "a(x: int).\nr: on +a(X), X > 1 do insert b(Y).\n")
    assert "unsafe-variable" in folder.run("check", "wrong.dl").stderr
