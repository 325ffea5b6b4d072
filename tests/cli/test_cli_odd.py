"""Odd values for every argument of every command: an exit code and a message, never a bug or a traceback."""

import os
import shutil

import click
import duckdb
import pytest
from cli_folder import Folder

from headwater.cli import main

ODD = [
    "", " ", "-", "--", "-1", "0", "1e400", "nan", "inf", "99999999999999999999", "\udcff", "ä",
    "x" * 5000, "../..", "/", "/dev/null", "reach.dl", "facts", "state", "nowhere", "link", "reach(a,b)", "link(",
    "link(a,b)x", "link(a,'b", "link(a,\"b\")", "link(a)", "link([[a]],{})", "zzz(1)", "p=1", "=", "%s{0}$HOME",
]  # fmt: skip

"""What a shell can hand over: no NUL, and bytes that are no text as single surrogates."""

EVERY = 1 if "HEADWATER_ORACLE_EXAMPLES" in os.environ else 3
"""Each argument is given every third of them, another third than the next one is; in the deep run, all."""
SKETCHED = "SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 300"
RIGHT: dict[str, list[str]] = {
    "run": ["reach.dl", "-F", "facts", "-D", "-"],
    "apply": ["-s", "state", "--insert", "link(x,y)"],
    "define": ["state", "more.dl", "--yes"],
    "show": ["-s", "state", "reach"],
    "query": ["-s", "state", "reach(a, X)"],
    "watch": ["state", "reach", "--once"],
    "why": ["-s", "state", "reach(a,c)"],
    "why-not": ["-s", "state", "reach(c,a)"],
    "what-if": ["-s", "state", "--delete", "link(a,b)"],
    "depends": ["-s", "state", "link(a,b)"],
    "explain": ["-s", "state"],
    "check": ["reach.dl"],
    "compact": ["-s", "state"],
    "pipeline run": ["pipeline.toml"],
    "pipeline status": ["pipeline.toml"],
    "net run": ["reachable", "-t", "grid:2"],
    "net check": ["reachable"],
    "net trace": ["reachable", "-t", "grid:2", "--out", "run.trace"],
    "net search": ["n0:n1", "-t", "grid:2"],
    "exchange init": ["other.toml"],
    "exchange edit": ["bio.toml", "GUS", "--insert", "G(1, 2, 3)"],
    "exchange publish": ["bio.toml"],
    "exchange update": ["bio.toml", "--yes"],
    "exchange status": ["bio.toml"],
    "exchange show": ["bio.toml", "GUS", "G"],
    "exchange why": ["bio.toml", "GUS", "G(1, 2, 3)"],
    "exchange trust": ["bio.toml", "BioSQL"],
    "exchange conflicts": ["bio.toml", "GUS"],
    "exchange resolve": ["bio.toml", "GUS", "--keep", "G(1, 2, 3)"],
    "sketch table": ["sketches", "t", "--database", "duckdb:///t.db"],
    "sketch sql": ["sketches", SKETCHED],
    "sketch list": ["sketches"],
    "sketch explain": ["sketches", SKETCHED],
    "sketch advise": ["sketches", SKETCHED],
    "sketch maintain": ["sketches"],
    "sketch drop": ["sketches", "0"],
    "sketch cluster": ["sketches", "t", "v"],
}
"""Arguments with which each command is done. (Benchmarks are no part of the package.)"""


def command(name: str) -> click.Command:
    """A command, or a command of a group."""
    group, _, inner = name.partition(" ")
    found = main.commands[group]
    return found.commands[inner] if inner and isinstance(found, click.Group) else found


def with_odd(name: str, odd: str) -> "list[list[str]]":
    """The right arguments, with an odd one: as each option, in place of each argument, and as one too many."""
    right = RIGHT[name]
    found = [[*right, odd]]
    for number, given in enumerate(right):
        if not given.startswith("-"):
            found.append([*right[:number], odd, *right[number + 1 :]])
    for option in command(name).params:
        if isinstance(option, click.Option) and not option.is_flag:
            found.append([*right, option.opts[-1], odd])
    return found


@pytest.mark.parametrize("name", RIGHT)
def test_odd_arguments(state: Folder, name: str) -> None:
    state.write("more.dl", "lone(x) :- link(x, _), !reach(x, x).")
    state.write("pipeline.toml", "[state]\n")
    if name.startswith("exchange"):
        state.done("exchange", "init", "bio.toml")
        state.done("exchange", "edit", "bio.toml", "GUS", "--insert", "G(1, 2, 3)")
    if name.startswith("sketch"):
        sketched(state)
    shutil.copytree("state", "kept")
    for number, odd in enumerate(ODD):
        shutil.rmtree("state")
        shutil.copytree("kept", "state")
        for arguments in with_odd(name, odd)[number % EVERY :: EVERY]:
            result = state.run(*name.split(), *arguments)
            said = (name, arguments, result.stderr, result.exception)
            assert result.exit_code in (0, 1, 2, 3), said
            assert "internal error" not in result.stderr and "Traceback" not in result.stderr, said
            assert (result.exit_code == 0) or result.stderr.strip(), said


def sketched(state: Folder) -> None:
    """A table of DuckDB with a sketch: commands of sketches start no Spark for it, nor for what is not there."""
    with duckdb.connect("t.db") as connection:
        connection.execute("CREATE TABLE t AS SELECT i // 10 AS g, i AS v FROM range(60) AS r(i)")
    state.done("sketch", "table", "sketches", "t", "--database", "duckdb:///t.db", "--partition", "v")
    state.done("sketch", "sql", "sketches", SKETCHED, "--way", "capture")


def test_every_command_is_attacked() -> None:
    names = {
        f"{name} {inner}" if inner else name
        for name, one in main.commands.items()
        for inner in (one.commands if isinstance(one, click.Group) else [""])
    }
    assert names - set(RIGHT) == {"bench"}
