"""What a program may name: files in the folders that the user gave. And how Souffle's texts are read and written."""

from pathlib import Path

import pytest
from cli_folder import Folder

COPY = ".decl q(x: symbol)\n{input}\n.decl p(x: symbol)\n{output}\np(x) :- q(x).\n"


def copy(input: str = ".input q", output: str = ".output p") -> str:
    return COPY.format(input=input, output=output)


# ------------------------------------------------------------------ outside


@pytest.mark.parametrize("name", ["../x.csv", "a/../../x.csv", "{here}/x.csv", "sub/../../out2/x.csv"])
def test_outputs_stay_in_their_folder(folder: Folder, name: str) -> None:
    name = name.format(here=folder.path)
    folder.write("p.dl", copy(output=f'.output p(filename="{name}")'))
    folder.write("facts/q.facts", "a\n")
    said = folder.refused("run", "p.dl", "-F", "facts", "-D", "out")
    assert "error[outside]" in said and "--allow-outside" in said and "p.dl:4:1" in said
    assert sorted(path.name for path in folder.path.rglob("*.csv")) == []
    folder.done("run", "p.dl", "-F", "facts", "-D", "out", "--allow-outside")
    assert [path.read_text() for path in folder.path.rglob("x.csv")] == ["a\n"]


@pytest.mark.parametrize("name", ["../q.txt", "{here}/q.txt", "./../q.txt"])
def test_inputs_stay_in_their_folder(folder: Folder, name: str) -> None:
    name = name.format(here=folder.path)
    folder.write("p.dl", copy(input=f'.input q(filename="{name}")'))
    folder.write("q.txt", "secret\n")
    folder.write("facts/other.facts", "a\n")
    said = folder.refused("run", "p.dl", "-F", "facts")
    assert "error[outside]" in said and "secret" not in said
    assert "secret" in folder.done("run", "p.dl", "-F", "facts", "--allow-outside")


def test_names_that_stay_inside_need_no_leave(folder: Folder) -> None:
    inside = f"{folder.path}/facts/sub/../q.txt"
    folder.write("p.dl", copy(f'.input q(filename="{inside}")', '.output p(filename="sub/p.csv")'))
    folder.write("facts/q.txt", "a\n")
    folder.done("run", "p.dl", "-F", "facts", "-D", "out")
    assert folder.read("out/sub/p.csv") == "a\n"


def test_a_link_is_no_way_out(folder: Folder) -> None:
    folder.write("elsewhere/sub/x", "")
    folder.write("elsewhere/q.txt", "secret\n")
    folder.write("facts/q.txt", "a\n")
    (folder.path / "facts" / "link").symlink_to(folder.path / "elsewhere" / "sub")
    folder.write("p.dl", copy('.input q(filename="link/../q.txt")'))
    assert "\na\n" in folder.done("run", "p.dl", "-F", "facts")


def test_a_name_that_no_file_can_have(folder: Folder) -> None:
    folder.write("p.dl", copy(output='.output p(filename="a\0b")'))
    folder.write("facts/q.facts", "a\n")
    assert "error[" in folder.refused("run", "p.dl", "-F", "facts", "-D", "out")
    folder.write("p.dl", copy(input='.input q(filename="a\0b")'))
    assert "error[" in folder.refused("run", "p.dl", "-F", "facts", "-D", "out")


def test_an_output_whose_place_is_a_folder(folder: Folder) -> None:
    folder.write("p.dl", copy())
    folder.write("facts/q.facts", "a\n")
    folder.write("out/p.csv/keep.txt", "mine")
    assert "error[cannot-write]" in folder.refused("run", "p.dl", "-F", "facts", "-D", "out")
    assert sorted(path.name for path in (folder.path / "out").rglob("*")) == ["keep.txt", "p.csv"]


def test_an_output_beside_other_names_of_the_same_file(folder: Folder) -> None:
    """A file with two names is replaced under one of them; the other still has what it had."""
    folder.write("p.dl", copy())
    folder.write("facts/q.facts", "new\n")
    precious = folder.write("precious", "old\n")
    (folder.path / "out").mkdir()
    (folder.path / "out" / "p.csv").hardlink_to(precious)
    folder.done("run", "p.dl", "-F", "facts", "-D", "out")
    assert (folder.read("out/p.csv"), folder.read("precious")) == ("new\n", "old\n")


# ------------------------------------------------------------------ which files Souffle's texts read


def test_files_are_read_only_where_souffle_would(folder: Folder) -> None:
    folder.write("p.dl", copy(input=""))
    folder.write("facts/q.facts", "a\n")
    result = folder.run("run", "p.dl", "-F", "facts", "-D", "out")
    assert folder.read("out/p.csv") == ""
    assert "note: q is empty: facts/q.facts is not read without `.input q`" in result.stderr


def test_texts_without_declarations_read_the_files_that_are_there(folder: Folder) -> None:
    folder.write("p.dl", "p(X) :- q(X).\n")
    folder.write("facts/q.facts", "a\n")
    folder.done("run", "p.dl", "-F", "facts", "-D", "out")
    assert folder.read("out/p.csv") == "a\n"


@pytest.mark.parametrize("options", ["", '(filename="nothing.txt")'])
def test_a_missing_file_is_an_empty_relation_in_souffles_texts(folder: Folder, options: str) -> None:
    folder.write("p.dl", copy(input=f".input q{options}"))
    folder.write("facts/other.facts", "a\n")
    result = folder.run("run", "p.dl", "-F", "facts", "-D", "out")
    assert (result.exit_code, folder.read("out/p.csv")) == (0, "")
    assert "note: q is empty: there is no file" in result.stderr


def test_a_file_that_goes_missing_empties_the_relation_of_a_state(folder: Folder) -> None:
    folder.write("p.dl", copy())
    path = folder.write("facts/q.facts", "a\n")
    folder.done("run", "p.dl", "-F", "facts", "-D", "out", "-s", "state")
    assert folder.read("out/p.csv") == "a\n"
    path.unlink()
    folder.done("run", "p.dl", "-F", "facts", "-D", "out", "-s", "state")
    assert folder.read("out/p.csv") == ""


# ------------------------------------------------------------------ how values are written


FLOATS = ".decl q(x: float)\n.input q\n.decl p(x: float)\n.output p{options}\np(x) :- q(x).\n"


def test_floats_are_written_as_souffle_writes_them(folder: Folder) -> None:
    folder.write("p.dl", FLOATS.format(options=""))
    folder.write("facts/q.facts", "5\n-2\n0.5\n1e300\nnan\ninf\n100000000000000000000\n")
    folder.done("run", "p.dl", "-F", "facts", "-D", "out")
    assert folder.read("out/p.csv").split() == ["-2", "0.5", "5", "1e+20", "1e+300", "inf", "nan"]
    folder.done("run", "p.dl", "-F", "facts", "-D", "again", "--format", "csv")
    assert folder.read("again/p.csv").split() == ["x", "-2", "0.5", "5", "1e+20", "1e+300", "inf", "nan"]
    folder.write("p.dl", FLOATS.format(options="").replace(".input q", '.input q(filename="../out/p.csv")'))
    folder.done("run", "p.dl", "-F", "facts", "-D", "third", "--allow-outside")
    assert folder.read("third/p.csv") == folder.read("out/p.csv"), "a round trip, by the declared type"


def test_floats_of_other_texts_stay_floats_when_read_undeclared(folder: Folder) -> None:
    folder.write("p.dl", "p(X) :- q(X).\n")
    folder.write("facts/q.facts", "5\n0.5\n")
    folder.done("run", "p.dl", "-F", "facts", "-D", "out")
    assert folder.read("out/p.csv") == "0.5\n5.0\n"


CELLS = ["=1+1", "+1", "-1", "@x", "\tx", "plain", "a=b", "'=quoted"]


def test_cells_that_look_like_formulas_are_escaped_on_request(folder: Folder) -> None:
    facts = "".join(f'"{cell}"\n' for cell in CELLS)
    folder.write("p.dl", "p(X, -5) :- q(X).\n")
    folder.write("facts/q.csv", facts)
    folder.done("run", "p.dl", "-F", "facts", "-D", "out", "--format", "csv", "-s", "state")
    plain = folder.read("out/p.csv")
    assert "\n=1+1,-5\n" in plain
    folder.done("run", "p.dl", "-F", "facts", "-D", "out", "--format", "csv", "--escape-formulas")
    escaped = folder.read("out/p.csv")
    assert sorted(line.partition(",")[0] for line in escaped.splitlines()[1:]) == sorted(
        ["'=1+1", "'+1", "'-1", "'@x", "'\tx", "plain", "a=b", "'=quoted"]
    )
    assert escaped.count(",-5\n") == len(CELLS), "numbers are no formulas"
    shown = folder.done("show", "-s", "state", "p", "--format", "csv", "--escape-formulas")
    assert shown == escaped
    assert folder.done("show", "-s", "state", "p", "--format", "csv") == plain


def test_an_output_that_cannot_be_finished_leaves_the_one_before(folder: Folder) -> None:
    """A full disk: a limit on the size of files stands for it."""
    import resource

    folder.write("p.dl", "p(X) :- q(X).\n")
    folder.write("facts/q.facts", "a\n")
    folder.done("run", "p.dl", "-F", "facts", "-D", "out")
    folder.write("facts/q.facts", "".join(f"row {i}\n" for i in range(50_000)))
    child = folder.process(
        "run", "p.dl", "-F", "facts", "-D", "out",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        env={"NUMBA_CACHE_DIR": str(Path.home() / ".cache")},
    )  # fmt: skip
    _, said = child.communicate()
    assert child.returncode == 1 and "error[cannot-write]" in said, said
    assert folder.read("out/p.csv") == "a\n"
    assert [path.name for path in (folder.path / "out").iterdir()] == ["p.csv"]
