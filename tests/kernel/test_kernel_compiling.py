"""What is left out where kernels are compiled, and that all that is needed is there; how much a first load needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import codegen, cpu
from numba.core.types import functions

import headwater
from headwater.kernel import compiled, compiling, machine_code

ALONE = "void(int64[::1])"


def part(numbers):
    """What only compiled functions call."""
    return numbers[0] + numbers.shape[0]


def alone(numbers):
    """Called by Python, and by what is below."""
    numbers[1] = numbers[0] * 2


def between(numbers):
    """Part of its caller; it calls one that Python calls as well."""
    alone(numbers)
    return part(numbers) + numbers[1]


def above(numbers):
    """Both of them."""
    return between(numbers)


@pytest.fixture
def some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, compiled.Kernel]:
    """These functions as kernels that were never compiled."""
    monkeypatch.setattr(machine_code, "machine_code_folder", lambda: tmp_path)
    monkeypatch.setattr(machine_code, "_names", machine_code.cache(lambda: ""))
    monkeypatch.setattr(compiled, "_announce", lambda: None)
    monkeypatch.setattr(compiled, "_kernels", [])
    monkeypatch.setattr(compiled, "PACKAGE", __name__)
    for function, signature in (
        (part, None),
        (alone, ALONE),
        (between, None),
        (above, "int64(int64[::1])"),
    ):
        monkeypatch.setitem(globals(), function.__name__, compiled.compiled(signature)(function))
    return {kernel.function.__name__: kernel for kernel in compiled._kernels}


def has_machine_code(kernel: compiled.Kernel) -> bool:
    """Whether there is something to run for what numba compiled of it."""
    code = kernel.machine_code
    assert code is not None
    (result,) = code.overloads.values()  # type: ignore[attr-defined]
    engine = result.library.codegen._engine
    return bool(engine.is_symbol_defined(result.fndesc.mangled_name))


def test_what_is_part_of_its_callers_has_no_machine_code_of_its_own(some: dict[str, compiled.Kernel]):
    compiled.load([some["above"]])
    numbers = np.array([20, 0, 5])
    assert some["above"].machine_code(numbers) == 20 + 3 + 40  # type: ignore[misc]
    assert {name: has_machine_code(kernel) for name, kernel in some.items()} == {
        "part": False,
        "alone": True,
        "between": False,
        "above": True,
    }


def test_what_python_calls_has_some_where_a_part_of_another_was_the_first_to_call_it(
    some: dict[str, compiled.Kernel], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Nor is it taken as such a part then: what is kept of it crashed the next process that loaded it."""
    monkeypatch.setattr(compiled.Kernel, "calls", lambda kernel: [])
    numbers = np.array([20, 0, 5])
    called = numba.njit(**compiling.OPTIONS)(alone.function)  # type: ignore[attr-defined]
    called._cache = machine_code.KeptFunction(alone.function, {ALONE: "alone"})  # type: ignore[attr-defined]
    some["alone"].give_way(called)
    compiled.load([some["above"]])
    called(numbers)
    assert numbers.tolist() == [20, 40, 5]
    assert [result.fndesc.inline for result in called.overloads.values()] == [False]
    assert [path.name.partition("-")[0] for path in tmp_path.glob("*alone*.nbc")] == [f"{__name__}.alone"]


def test_others_compile_as_ever_afterwards():
    """Whoever uses numba beside us has all of it."""
    owners = (codegen.CPUCodeLibrary, cpu.CPUContext, functions.BaseFunction)
    before = [dict(vars(owner)) for owner in owners]
    with compiling.compiling():
        assert [dict(vars(owner)) for owner in owners] != before
    assert [dict(vars(owner)) for owner in owners] == before


FIRST_LOAD = """
import headwater
from headwater.kernel import compiled
from headwater.maintain import small_rounds
small_rounds.at_hand = lambda *_: False  # what is used where it was compiled before
db = headwater.connect()
db.define("reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y).")
db.apply(insert={"link": [(node, node + 1) for node in range(1000) if node % 50]})
for kernel in compiled._kernels:
    if kernel.signature is not None and kernel.machine_code is not None:
        print(kernel.function.__name__)
"""


def test_a_first_load_compiles_few_functions():
    """Each takes a tenth of a second to a second; what deletes rows, or puts them back, is not among them."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_LOAD],
        env={**os.environ, "PYTHONPATH": str(Path(headwater.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    first = {"fill_table", "add", "sift", "seal"}
    rules = {"gather", "enter", "move_slots", "extended", "show", "count_codes", "lay_out"}
    assert sorted(done.stdout.split()) == sorted(first | rules)


INTERRUPTED = """
import os, signal, sys
from headwater.kernel import accumulating, compiled

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.cpu":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, CtrlC())
kernels = compiled.kernels_of(accumulating.__name__)[:1]
try:
    compiled.load(kernels)
except KeyboardInterrupt:
    compiled.load(kernels)
    print("loaded")
"""


def test_ctrl_c_waits_for_what_is_loaded():
    """What was imported by half could not be imported again."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env={**os.environ, "PYTHONPATH": str(Path(headwater.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "loaded\n", done.stderr
