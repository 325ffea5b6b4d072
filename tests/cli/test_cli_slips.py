"""Slips on the command line and in programs that it is given: refused or warned of, on standard error, once."""

import pytest
from cli_folder import Folder

REACH = "reach(X, Y) :- link(X, Y).\nreach(X, Y) :- link(X, Z), reach(Z, Y).\n"


@pytest.mark.parametrize("command", [("run", "-F", "facts"), ("check",), ("define", "-s", "new")])
def test_a_misspelt_relation_is_refused(reach: Folder, command: tuple[str, ...]) -> None:
    reach.write("slip.dl", f"{REACH}far(X) :- lnk(X, _).\n")
    said = reach.refused(command[0], "slip.dl", *command[1:])
    assert "error[unknown-relation]" in said and "slip.dl:3:11" in said and "did you mean link?" in said
    assert not (reach.path / "new" / "manifest.json").exists() or command[0] == "define"
    reach.done(command[0], "slip.dl", *command[1:], "--no-strict")


def test_a_file_of_facts_fills_its_relation(reach: Folder) -> None:
    reach.write("slip.dl", f"{REACH}far(X) :- lnk(X, _).\n")
    reach.write("facts/lnk.facts", "a\tb\n")
    assert "far" in reach.done("run", "slip.dl", "-F", "facts")


def test_strict_refuses_what_nothing_fills(reach: Folder) -> None:
    reach.write("open.dl", REACH)
    assert "error[unknown-relation]" in reach.refused("check", "open.dl", "--strict")
    reach.done("run", "open.dl", "-F", "facts", "--strict")


@pytest.mark.parametrize("command", [("run", "-F", "facts"), ("check",), ("define", "-s", "new")])
def test_a_warning_is_shown_once(reach: Folder, command: tuple[str, ...]) -> None:
    reach.write("slip.dl", f"{REACH}reach(X, y) :- link(X, y).\n")
    done = reach.run(command[0], "slip.dl", *command[1:])
    assert done.exit_code == 0
    assert done.stderr.count("warning[lower-case]") == 1 and "slip.dl:3:1" in done.stderr
    assert "UserWarning" not in done.stderr and ".py" not in done.stderr


def test_a_rule_of_strings_is_refused(reach: Folder) -> None:
    reach.write("slip.dl", f"{REACH}reach(x, y) :- link(x, y).\n")
    said = reach.refused("run", "slip.dl", "-F", "facts", "-s", "new")
    assert "error[lower-case]" in said and not (reach.path / "new").exists()


@pytest.mark.parametrize("macro", ["1x=3", "=3", "a b=3"])
def test_a_macro_that_is_none(reach: Folder, macro: str) -> None:
    assert "-M NAME=TEXT" in reach.refused("run", "reach.dl", "-F", "facts", "-M", macro)


def test_a_folder_that_cannot_be_written(reach: Folder) -> None:
    reach.write("file", "")
    said = reach.refused("run", "reach.dl", "-F", "facts", "-D", "file")
    assert "error[cannot-write]" in said and "-D" in said.splitlines()[-1]
