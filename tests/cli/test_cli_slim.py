"""Commands that only read load no compiled code that they do not need."""

import subprocess
import sys

import pytest
from cli_folder import Folder

import headwater
from headwater.cli.screen import console, print_lines
from headwater.provenance.show.lines import Line, rich_text

HEAVY = ("numba", "llvmlite", "pandas", "pyspark", "pyarrow.compute", "cloudpickle")
COMMAND = f"""
import sys
from headwater.__main__ import command
try:
    command()
finally:
    print("loaded:", [name for name in {HEAVY} if sys.modules.get(name)], file=sys.stderr)
"""


def loaded(folder: Folder, *arguments: str) -> str:
    """Which of the heavy libraries a command loads, in a process of its own."""
    command = [sys.executable, "-c", COMMAND, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder.path, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "-s", "state"),
        ("show", "-s", "state", "reach"),
        ("show", "-s", "state", "reach(a, X)"),
        ("query", "-s", "state", "reach('a', X)"),
        ("query", "-s", "state", "reach(a, c)"),
        ("explain", "-s", "state"),
        ("why", "-s", "state", "reach(a,c)"),
        ("check", "reach.dl"),
    ],
    ids=" ".join,
)
def test_reading_a_state_loads_no_compiled_code(state: Folder, arguments: tuple[str, ...]) -> None:
    assert loaded(state, *arguments) == "loaded: []"


def test_a_proof_that_goes_to_a_file_needs_no_console(state: Folder) -> None:
    code = COMMAND.replace("finally:", "finally:\n    print('rich' in sys.modules, file=sys.stderr)")
    command = [sys.executable, "-c", code, "why", "-s", "state", "reach(a,c)"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=state.path, timeout=120, check=True)
    assert done.stderr.splitlines()[-2] == "False" and done.stdout.startswith("reach(")


@pytest.mark.parametrize(
    "lines",
    [
        [[("reach(", ""), ("a", "bold"), (", c)  ", "dim")], [], [("└─ [x] :smile: 界", "red")]],
        [[("x" * 300, "")], [("   y", "green")]],
        [[("tab\tbell\a", "")]],
        [],
    ],
    ids=["several", "long", "odd", "none"],
)
def test_lines_are_the_same_without_a_console(
    lines: list[Line], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    console().print(rich_text(lines), soft_wrap=True)
    expected = capsys.readouterr().out
    print_lines(lines)
    assert capsys.readouterr().out == expected


def test_opening_a_database_loads_no_functions_of_arrow() -> None:
    text = "import sys, headwater; headwater.connect(); print('pyarrow.compute' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "False\n"


def test_nor_does_reading_a_state_that_was_changed_since(state: Folder) -> None:
    state.done("apply", "-s", "state", "--insert", "link(c,d)")
    state.write("more.dl", "back(x, y) :- reach(y, x).")
    state.done("define", "-s", "state", "more.dl")
    assert loaded(state, "show", "-s", "state", "back") == "loaded: []"


def test_asking_for_a_derivation_among_many_rows_loads_what_it_needs(state: Folder) -> None:
    state.write("many/link.csv", "x,y\n" + "".join(f"n{i},n{i + 1}\n" for i in range(2000)))
    state.write(
        "near.dl", ".decl link(x: symbol, y: symbol)\n.input link\ntwo(X, Y) :- link(X, Z), link(Z, Y)."
    )
    state.done("run", "near.dl", "-F", "many", "-s", "large")
    assert loaded(state, "why", "-s", "large", "two(n7,n9)") == "loaded: ['numba', 'llvmlite']"


KINDS = """
.decl link(src: symbol, dst: symbol, cost: int)
.decl seen(day: date, share: float, sure: bool)
.decl flag()
.input link
.input seen
flag().
cheapest(x, y, min<c>) :- link(x, y, c).
cheapest(x, y, min<c>) :- link(x, z, a), cheapest(z, y, b), c = a + b.
degree(x, count<y>) :- link(x, y, _).
nothing(x) :- degree(x, 7).
"""


def test_a_state_at_rest_shows_what_its_engine_does(folder: Folder) -> None:
    """Best rows without the other candidates, aggregates, all plain types, no columns, no rows."""
    folder.write("kinds.dl", KINDS)
    folder.write("facts/link.csv", "src,dst,cost\na,b,1\nb,c,2\na,c,9\nc,a,1\n")
    folder.write("facts/seen.csv", "day,share,sure\n2024-02-29,0.5,true\n")
    folder.done("run", "kinds.dl", "-F", "facts", "-s", "state", "-D", "out")
    names = ("link", "seen", "flag", "cheapest", "degree", "nothing")
    forms = ("table", "csv", "json")
    goals = (
        "cheapest(a, X, C)", "cheapest(X, Y, 1)", "cheapest(a, b, 1)", "cheapest(a, b, 2)",
        "cheapest(X, X, C)", "cheapest(_, Y, C)", "link(z, X, Y)", "nothing(X)", "flag()", "seen(2024-02-29, S, T)",
        "seen(D, 0.5, T)", "seen(D, S, true)", "link(a, X, C), C > 1", "link(a, X, null)", "link(X, Y, Z)",
    )  # fmt: skip
    names += goals
    at_rest = {(name, form): _shown(folder, name, form) for name in names for form in forms}
    with headwater.connect(folder.path / "state") as database:
        database.advance(1.0)  # in the log, after the checkpoint: from now on it takes an engine
    for (name, form), out in at_rest.items():
        assert out == _shown(folder, name, form), (name, form)
    assert at_rest["cheapest", "csv"].splitlines()[1:3] == ["a,a,4", "a,b,1"]


def _shown(folder: Folder, name: str, form: str) -> str:
    return folder.done("show", "-s", "state", name, "--format", form)
