"""`headwater run`: facts in, views out."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from cli_folder import Folder
from pyarrow import parquet

PLAIN = "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).\n"


def test_as_with_souffle(reach: Folder) -> None:
    result = reach.run("run", "reach.dl", "-F", "facts", "-D", "out")
    assert result.exit_code == 0
    assert reach.read("out/reach.csv") == "a\tb\na\tc\nb\tc\n"
    assert result.stdout == ""
    assert result.stderr.startswith("2 rows read, 3 rows of 1 relation written, version 1, ")
    assert sorted(path.name for path in Path("out").iterdir()) == ["reach.csv"]


def test_printing(reach: Folder) -> None:
    ruler, line = "=" * 15, "-" * 15
    expected = f"{line}\nreach\n{ruler}\na\tb\na\tc\nb\tc\n{ruler}\n"
    assert reach.done("run", "reach.dl", "-F", "facts", "-D", "-") == expected
    assert reach.done("run", "reach.dl", "-F", "facts") == expected


def test_options_of_output(reach: Folder) -> None:
    program = reach.read("reach.dl").replace(
        ".output reach\n",
        '.output reach(filename="paths.txt", delimiter=";", headers=true)\n'
        '.output link(IO=stdout, headers=true)\n.printsize reach\n.output reach(filename="r.parquet")\n',
    )
    reach.write("reach.dl", program)
    printed = reach.done("run", "reach.dl", "-F", "facts", "-D", "out")
    assert reach.read("out/paths.txt") == "src;dst\na;b\na;c\nb;c\n"
    assert parquet.read_table("out/r.parquet").num_rows == 3
    assert printed == f"{'-' * 15}\nlink\nsrc\tdst\n{'=' * 15}\na\tb\nb\tc\n{'=' * 15}\nreach\t3\n"


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "arrow", "json"])
def test_formats_can_be_asked_for(reach: Folder, form: str) -> None:
    reach.done("run", "reach.dl", "-F", "facts", "-D", "out", "--format", form)
    path = Path(f"out/reach.{form}")
    if form == "parquet":
        rows = [tuple(row.values()) for row in parquet.read_table(path).to_pylist()]
    elif form == "arrow":
        rows = [tuple(row.values()) for row in pa.ipc.open_file(path.read_bytes()).read_all().to_pylist()]
    elif form == "json":
        rows = [tuple(row.values()) for row in json.loads(path.read_text())]
    else:
        separator = "," if form == "csv" else "\t"
        header, *lines = path.read_text().splitlines()
        assert header == separator.join(("src", "dst"))
        rows = [tuple(line.split(separator)) for line in lines]
    assert rows == [("a", "b"), ("a", "c"), ("b", "c")]


def test_json_on_standard_output(reach: Folder) -> None:
    reach.write("reach.dl", reach.read("reach.dl") + ".printsize link\n")
    result = reach.run("run", "reach.dl", "-F", "facts", "--format", "json")
    assert json.loads(result.stdout) == {
        "reach": [{"src": "a", "dst": "b"}, {"src": "a", "dst": "c"}, {"src": "b", "dst": "c"}]
    }
    assert "link\t2\n" in result.stderr


def test_without_output_all_views_are_written(folder: Folder) -> None:
    folder.write("p.dl", PLAIN + "back(Y, X) :- link(X, Y).\n")
    folder.write("facts/link.csv", "1,2\n2,3\n")
    folder.done("run", "p.dl", "-F", "facts", "-D", "out")
    assert sorted(path.name for path in Path("out").iterdir()) == ["back.csv", "reach.csv"]
    assert folder.read("out/reach.csv") == "1\t2\n1\t3\n2\t3\n"


def test_with_printsize_only_no_file_is_written(folder: Folder) -> None:
    folder.write("p.dl", PLAIN + ".printsize reach\n")
    folder.write("facts/link.csv", "1,2\n2,3\n")
    assert folder.done("run", "p.dl", "-F", "facts", "-D", "out") == "reach\t3\n"
    assert not Path("out").exists()


def test_types_nobody_declared_are_inferred_together(folder: Folder) -> None:
    folder.write("p.dl", PLAIN + "sum(S) :- S = sum C : { cost(_, C) }.\n")
    folder.write("facts/link.csv", "1,2\n2,x\n")
    folder.write("facts/cost.jsonl", '["pen", 2]\n["ink", 3]\n')
    folder.done("run", "p.dl", "-F", "facts", "-D", "out")
    assert folder.read("out/reach.csv") == "1\t2\n1\tx\n2\tx\n"
    assert folder.read("out/sum.csv") == "5\n"


def test_facts_of_a_view_that_takes_rows(folder: Folder) -> None:
    folder.write("p.dl", ".input reach\n" + PLAIN)
    folder.write("facts/link.facts", "a\tb\n")
    folder.write("facts/reach.facts", "b\tz\n")
    folder.done("run", "p.dl", "-F", "facts", "-D", "out")
    assert folder.read("out/reach.csv") == "a\tb\na\tz\nb\tz\n"


def test_facts_in_the_program_are_kept(reach: Folder) -> None:
    reach.write("reach.dl", reach.read("reach.dl") + 'link("c", "d").\n')
    assert "a\td\n" in reach.done("run", "reach.dl", "-F", "facts")


def test_input_options(folder: Folder) -> None:
    folder.write(
        "p.dl",
        '.decl a(x: number, y: symbol)\n.input a(IO=file, filename="data/a.txt", delimiter=",", headers=true)\n'
        ".decl b(x: number)\n.input b(IO=stdin)\n"
        ".decl c(x: number, y: symbol)\n.output c\nc(x, y) :- a(x, y), b(x).\n",
    )
    folder.write("facts/data/a.txt", 'x,y\n1,"one"\n2,two\n')
    assert '1\t"one"\n' in folder.done("run", "p.dl", "-F", "facts", input="1\n3\n")


def test_two_input_directives_are_both_read(folder: Folder) -> None:
    folder.write(
        "p.dl",
        '.decl a(x: number)\n.input a(filename="one.txt")\n.input a(filename="two.txt")\n.decl b(x: number)\n'
        ".output b\nb(x) :- a(x).\n",
    )
    folder.write("one.txt", "1\n")
    folder.write("two.txt", "2\n")
    assert "1\n2\n" in folder.done("run", "p.dl")


def test_without_a_folder_only_input_relations_are_read(folder: Folder) -> None:
    folder.write("p.dl", ".input link\n" + PLAIN + "p(X) :- other(X).\n")
    folder.write("link.csv", "1,2\n")
    folder.write("other.csv", "7\n")
    result = folder.run("run", "p.dl", "-D", "out")
    assert folder.read("out/p.csv") == ""
    assert folder.read("out/reach.csv") == "1\t2\n"
    assert "note: other is empty: no folder of facts was given" in result.stderr


def test_relations_without_columns(folder: Folder) -> None:
    folder.write("p.dl", "ok() :- yes(), n(X), X > 1.\nno() :- n(X), X > 5.\n")
    folder.write("facts/yes.facts", "()\n")
    folder.write("facts/n.facts", "2\n")
    folder.done("run", "p.dl", "-F", "facts", "-D", "out")
    assert (folder.read("out/ok.csv"), folder.read("out/no.csv")) == ("()\n", "")


def test_strings_that_plain_text_cannot_hold(folder: Folder) -> None:
    folder.write("p.dl", "p(X) :- q(X).\n")
    folder.write("facts/q.csv", '"a\tb"\n"c\nd"\n')
    assert "error[unquotable]" in folder.refused("run", "p.dl", "-F", "facts", "-D", "out")
    folder.done("run", "p.dl", "-F", "facts", "-D", "out", "--format", "csv")
    assert folder.read("out/p.csv") == 'X\na\tb\n"c\nd"\n'


def test_every_strategy_gives_the_same(reach: Folder) -> None:
    from headwater.cli.options import STRATEGY_NAMES
    from headwater.maintain.strategies import STRATEGIES

    assert set(STRATEGY_NAMES) == set(STRATEGIES)
    for strategy in ("dred", "recompute", "auto"):
        reach.done("run", "reach.dl", "-F", "facts", "-D", strategy, "--strategy", strategy)
        assert reach.read(f"{strategy}/reach.csv") == "a\tb\na\tc\nb\tc\n"


def test_unsorted_output_has_the_same_rows(reach: Folder) -> None:
    reach.done("run", "reach.dl", "-F", "facts", "-D", "out", "--no-sort")
    assert sorted(reach.read("out/reach.csv").splitlines()) == ["a\tb", "a\tc", "b\tc"]


def test_a_table_of_everything(reach: Folder) -> None:
    reach.write("facts/link.csv", "src,dst\na,b\n")
    (reach.path / "facts/link.facts").unlink()
    error = reach.run("run", "reach.dl", "-F", "facts", "-D", "out", "-v").stderr
    assert "facts/link.csv (with header)" in error
    assert "out/reach.csv" in error


def test_headers_can_be_said(folder: Folder) -> None:
    folder.write("p.dl", PLAIN)
    folder.write("facts/link.csv", "from,to\n1,2\n")
    assert "error[likely-header]" in folder.refused("run", "p.dl", "-F", "facts")
    folder.done("run", "p.dl", "-F", "facts", "-D", "out", "--header")
    assert folder.read("out/reach.csv") == "1\t2\n"
    folder.done("run", "p.dl", "-F", "facts", "-D", "out", "--no-header")
    assert folder.read("out/reach.csv") == "1\t2\nfrom\tto\n"


def test_a_program_from_standard_input(folder: Folder) -> None:
    assert "7\n" in folder.done("run", "-", input="q(7). p(X) :- q(X).")


@pytest.mark.parametrize("kept", [(), ("-s", "state")])
def test_files_are_there_when_rules_first_run(folder: Folder, kept: tuple[str, ...]) -> None:
    folder.write(
        "p.dl", "n(N) :- N = count : { e(_) }. r(100/N) :- n(N). m(X+1) :- m(X), !e(4). m(0) :- !e(4)."
    )
    folder.write("facts/e.csv", "4\n5\n")
    result = folder.run("run", "p.dl", "-F", "facts", "-D", "out", "--max-rounds", "50", *kept)
    assert "version 1, " in result.stderr
    assert (folder.read("out/r.csv"), folder.read("out/m.csv")) == ("50\n", "")


# ------------------------------------------------------------------ with a state


def test_a_state_is_kept_and_follows_the_files(state: Folder) -> None:
    state.write("facts/link.facts", "a\tb\nb\td\n")
    result = state.run("run", "reach.dl", "-F", "facts", "-D", "out", "-s", "state")
    assert "version 2" in result.stderr
    assert state.read("out/reach.csv") == "a\tb\na\td\nb\td\n"
    state.write("facts/link.facts", "")
    state.done("run", "reach.dl", "-F", "facts", "-D", "out", "-s", "state")
    assert state.read("out/reach.csv") == ""


def test_files_that_did_not_change_make_no_version(state: Folder) -> None:
    state.write("facts/link.facts", "a\tb\nb\tc\na\tb\n")
    assert "version 1, " in state.run("run", "reach.dl", "-F", "facts", "-s", "state").stderr


def test_of_rows_with_one_key_the_last_stays(folder: Folder) -> None:
    folder.write("p.dl", "materialize(w, infinity, infinity, keys(1)). v(X, Y) :- w(X, Y).\n")
    folder.write("facts/w.csv", "k,1\nk,2\n")
    for _ in range(3):
        folder.done("run", "p.dl", "-F", "facts", "-s", "state", "-D", "out")
        assert folder.read("out/v.csv") == "k\t2\n"


def test_following_keeps_what_the_program_states(folder: Folder) -> None:
    folder.write("p.dl", 'link("x", "y"). link("y", "z").\n' + PLAIN)
    folder.write("facts/link.csv", "a,b\n")
    folder.done("run", "p.dl", "-F", "facts", "-s", "state", "--no-header")
    folder.write("facts/link.csv", "c,d\n")
    folder.done("run", "p.dl", "-F", "facts", "-s", "state", "-D", "out", "--no-header")
    assert folder.read("out/reach.csv") == "c\td\nx\ty\nx\tz\ny\tz\n"


def test_a_state_of_another_program_is_refused(state: Folder) -> None:
    state.write("other.dl", PLAIN)
    assert "holds another program" in state.refused("run", "other.dl", "-F", "facts", "-s", "state")


def test_a_folder_of_something_else_is_no_state(reach: Folder) -> None:
    message = reach.refused("run", "reach.dl", "-F", "facts", "-s", "facts", code=3)
    assert "facts" in message
    assert sorted(path.name for path in Path("facts").iterdir()) == ["link.facts"]


def test_what_is_refused_leaves_no_state(reach: Folder) -> None:
    reach.write("facts/link.facts", "a\n")
    reach.refused("run", "reach.dl", "-F", "facts", "-s", "state")
    assert not Path("state").exists()


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("files", "arguments", "code", "message"),
    [
        ({}, ["reach.dl", "-F", "none"], 2, "Directory 'none' does not exist"),
        ({}, ["none.dl"], 2, "File 'none.dl' does not exist"),
        ({}, ["reach.dl", "--strategy", "magic"], 2, "Invalid value for '--strategy'"),
        ({}, ["reach.dl", "-F", "facts", "--format", "parquet"], 2, "needs a folder to write to (-D)"),
        ({"reach.dl": "reach(X :-"}, ["reach.dl"], 1, "error[syntax]"),
        ({"reach.dl": b"\xff"}, ["reach.dl"], 1, "error[not-utf8]: reach.dl, line 1"),
        ({"reach.dl": "p(X) :- q(Y)."}, ["reach.dl"], 1, "error[unsafe-variable]"),
        ({"reach.dl": "p(X) :- q(X)."}, ["reach.dl", "--strict"], 1, "error[unknown-relation]"),
        ({"reach.dl": ".input q\np(X) :- q(X)."}, ["reach.dl"], 1, "there is no file for q in ."),
        ({"reach.dl": ".input lonk\np(X) :- lonk(X)."}, ["reach.dl", "-F", "facts"], 1, "did you mean link.facts?"),
        (
            {"reach.dl": '.input q(filename="x.csv")\np(X) :- q(X).'},
            ["reach.dl"],
            1,
            "error[missing-file]: there is no file x.csv\n --> reach.dl:1:1",
        ),
        ({"reach.dl": ".input q(IO=sqlite)\np(X) :- q(X)."}, ["reach.dl"], 1, "IO=sqlite is not supported"),
        ({"reach.dl": ".input q(columns=1)\np(X) :- q(X)."}, ["reach.dl"], 1, "the option columns is not supported"),
        ({"reach.dl": ".output p(IO=sqlite)\np(X) :- q(X)."}, ["reach.dl"], 1, "IO=sqlite is not supported"),
        ({"facts/link.csv": "a,b\n"}, ["reach.dl", "-F", "facts"], 1, "link.csv and facts/link.facts"),
        ({"facts/link.facts": "a,b\n"}, ["reach.dl", "-F", "facts"], 1, "link.facts, line 1: 1 cell, expected 2"),
        (
            {"reach.dl": "p(x: int). q(X) :- p(X).", "facts/p.facts": "1\ntwo\n"},
            ["reach.dl", "-F", "facts"],
            1,
            "facts/p.facts, line 2, column x: 'two' is no int",
        ),
        (
            {"reach.dl": "p(x: int). q(X) :- p(X).", "facts/p.json": "[[1], [2.5]]"},
            ["reach.dl", "-F", "facts"],
            1,
            "facts/p.json, row 2, column x: 2.5 is a float, expected int",
        ),
        (
            {"reach.dl": "n(0). n(Y) :- n(X), Y = X + 1."},
            ["reach.dl", "--max-rounds", "50"],
            1,
            "error[",
        ),
        (
            {"reach.dl": ".input p\n.output p\n.decl p(x: number)\n", "p.csv": "1\n"},
            ["reach.dl", "-D", "."],
            1,
            "p cannot be written to p.csv: facts are read from it",
        ),
        (
            {"reach.dl": ".input p\n.decl p(x: number)\n", "p.csv": "x,_change_type\n1,insert\n"},
            ["reach.dl"],
            1,
            "is a change feed",
        ),
    ],
)  # fmt: skip
def test_refusals(
    reach: Folder, files: dict[str, str], arguments: list[str], code: int, message: str
) -> None:
    for name, text in files.items():
        reach.write(name, text)
    assert message in reach.refused("run", *arguments, code=code)


def test_types_in_a_table_that_do_not_fit(folder: Folder) -> None:
    folder.write("p.dl", "p(x: int). q(X) :- p(X).")
    Path("facts").mkdir()
    parquet.write_table(pa.table({"x": ["1", "two"]}), "facts/p.parquet")
    assert "facts/p.parquet: p, row 1, column x: '1' is a str" in folder.refused("run", "p.dl", "-F", "facts")


def test_included_files_and_macros(reach: Folder) -> None:
    Path("library").mkdir()
    reach.write("rules.dl", "p(X) :- n(X), X < LIMIT.\n")
    reach.write("library/facts.dl", "n(range(0, 5)).\n")
    reach.write("main.dl", '#include "rules.dl"\n#include <facts.dl>\n')
    options = ("run", "main.dl", "-D", "out", "-I", "library", "-s", "state")
    reach.done(*options, "-M", "LIMIT=2")
    assert reach.read("out/p.csv") == "0\n1\n"
    assert "error[other-program]" in reach.run(*options, "--macro", "LIMIT=3").stderr
    for name in ("rules.dl", "library/facts.dl"):
        Path(name).unlink()
    assert "1" in reach.done("show", "-s", "state", "p")


def test_an_error_in_an_included_file_names_it(reach: Folder) -> None:
    reach.write("rules.dl", "\np(X) :- q(X, Y.\n")
    reach.write("main.dl", '#include "rules.dl"\n')
    assert " --> rules.dl:2:15" in reach.run("check", "main.dl").stderr


def test_a_memory_budget(reach: Folder) -> None:
    reach.write("big.dl", "n(X) :- X = range(0, 400000).\n.output n\n")
    result = reach.run("run", "big.dl", "--memory", "4MB")
    assert result.exit_code == 1
    assert "error[out-of-memory]" in result.stderr and "4.0 MB" in result.stderr
    assert "big.dl:1:1" in result.stderr
    result = reach.run("run", "reach.dl", "-F", "facts", "-s", "state", "--memory", "much")
    assert result.exit_code == 1 and "error[unknown-option]: memory is 'much'" in result.stderr
    reach.done("run", "reach.dl", "-F", "facts", "-s", "state", "--memory", "64MB")
    assert "memory: " in reach.done("explain", "-s", "state", "--memory", "64MB")
    for command in ("why", "why-not", "depends", "show", "apply", "what-if", "compact", "define", "explain"):
        assert "--memory" in reach.done(command, "--help"), command


def test_labelled_nulls_that_files_cannot_hold_are_told(folder: Folder):
    folder.write("made.dl", "p(x: int). made(X, ?f(X)) :- p(X). plain(X) :- p(X). p(1). p(2).")
    done = folder.run("run", "made.dl", "-D", "out", "-s", "state")
    assert "note: 2 labelled nulls of made written as missing" in done.stderr
    assert "of plain" not in done.stderr
    assert (folder.path / "out" / "made.csv").read_text() == "1\t\n2\t\n"
