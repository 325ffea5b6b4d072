"""Commands that only read load no compiled code that they do not need."""

import subprocess
import sys

import pytest
from cli_folder import Folder

HEAVY = ("numba", "llvmlite", "pandas", "pyspark")
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
        ("explain", "-s", "state"),
        ("check", "reach.dl"),
    ],
    ids=" ".join,
)
def test_reading_a_state_loads_no_compiled_code(state: Folder, arguments: tuple[str, ...]) -> None:
    assert loaded(state, *arguments) == "loaded: []"


def test_nor_does_reading_a_state_that_was_changed_since(state: Folder) -> None:
    state.done("apply", "-s", "state", "--insert", "link(c,d)")
    state.write("more.dl", "back(x, y) :- reach(y, x).")
    state.done("define", "-s", "state", "more.dl")
    assert loaded(state, "show", "-s", "state", "back") == "loaded: []"


def test_asking_for_a_derivation_loads_what_it_needs(state: Folder) -> None:
    assert loaded(state, "why", "-s", "state", "reach(a,c)") == "loaded: ['numba', 'llvmlite']"
