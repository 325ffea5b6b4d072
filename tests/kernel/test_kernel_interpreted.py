"""Kernels that Python runs: they do what machine code does, and a small program needs nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from kernel_stream import Stream
from oracle_clingo import solve
from oracle_lockstep import Lockstep, examples
from oracle_programs import RandomProgram
from oracle_strategies import Version, programs, streams

import headwater
from headwater.kernel import compiled, interpreted, join, rowops
from headwater.kernel.compiled import Kernel
from headwater.kernel.interpreted import LONGEST_INTERPRETED, SHORT, Patience
from headwater.kernel.prefetch import BLOCK
from headwater.kernel.relation import Relation
from headwater.kernel.texts import TextColumn, Texts
from headwater.maintain import small_rounds


@contextmanager
def without_machine_code() -> Iterator[list[str]]:
    """Have Python run all kernels but those that go by addresses, for which there are other ways; the names of those
    that ran."""
    ran: list[str] = []
    swapped = []

    def runner(kernel: Kernel) -> Any:
        patience = Patience(kernel.function)

        def run(*arguments: Any) -> Any:
            ran.append(kernel.function.__name__)
            return patience.run(kernel.as_python, arguments)

        return run

    runners = {id(kernel): runner(kernel) for kernel in compiled._kernels if kernel.signature is not None}
    for name, module in list(sys.modules.items()):
        if name.startswith(compiled.PACKAGE):
            for known, value in list(vars(module).items()):
                kernel = compiled.kernel_of(value)
                if kernel is not None and id(kernel) in runners:
                    swapped.append((module, known, value))
                    setattr(module, known, runners[id(kernel)])
    swapped.append((small_rounds, "at_hand", small_rounds.at_hand))
    small_rounds.at_hand = lambda *_: False
    try:
        yield ran
    finally:
        for module, known, value in swapped:
            setattr(module, known, value)


@pytest.mark.parametrize("selected", [False, True])
@pytest.mark.parametrize("arity", [1, 2, 3])
def test_random_versions_of_a_relation(arity: int, selected: bool):
    with without_machine_code() as ran:
        stream = Stream(arity, arity, selected=selected, counts=(0, 1, 10, 40))
        stream.relation.index(list(range(arity))[:1])
        for number in range(6 * examples(2)):
            stream.version(8, keep=number % 3 != 1)
    assert {"add", "subtract", "kill", "fall", "revive", "show", "seal", "enter", "leave"} <= set(ran)


@pytest.mark.parametrize("seed", range(examples(4)))
def test_searches_of_a_crowded_table_end_where_machine_code_ends_them(seed: int):
    """The positions that `approach` leaves in `scratch`: in full groups, across their ends and that of the table."""
    rng = np.random.default_rng(seed)
    relation = Relation("r", 1)
    relation.add(np.column_stack([rng.permutation(4000)[:400], np.zeros(400, np.int64)]), 1)
    assert relation.slots.shape[0] == 1024
    relation.slots[:] = np.where(
        relation.slots == 0, rng.integers(0, 2, 1024) * relation.slots[7], relation.slots
    )
    relation.slots[-40:] = relation.slots.max()
    relation.slots[:20] = relation.slots.max()
    asked = rng.integers(0, 5000, (BLOCK, 1))
    compiled.load([kernel := compiled.kernel_of(rowops.find)], [4])
    found = []
    for run in (kernel.machine_code, kernel.as_python):
        scratch, out = np.empty(2 * BLOCK, np.int64), np.empty(BLOCK, np.int32)
        with np.errstate(all="ignore"):
            run(asked, 1, relation.rows, relation.state, relation.slots, out, scratch)
        found.append((scratch.tolist(), out.tolist()))
    assert found[0] == found[1]


@settings(max_examples=examples(4))
@given(programs(limited=True), streams(), st.sampled_from(["support", "dred", "recompute"]))
def test_random_programs(program: RandomProgram, stream: list[Version], strategy: str):
    with without_machine_code() as ran:
        lockstep = Lockstep(program.text(), [strategy], tables=program.tables)
        for version in stream:
            lockstep.follow(
                version, lambda state: solve(program, {name: state[name] for name in program.base})
            )
    assert ran or not any(lockstep.state.values())


def test_little_to_do(monkeypatch: pytest.MonkeyPatch):
    def kernel(numbers, limit, out):
        for i in range(numbers.shape[0]):
            out[i] = numbers[i] * limit

    patience, few, many = Patience(kernel), np.arange(3), np.arange(SHORT + 1)
    assert patience.lasts((few, 7, np.empty(10**6))) and not patience.lasts((many, 7, np.empty(3)))
    clock = iter([0.0, LONGEST_INTERPRETED / 2, 1.0, 1.0 + LONGEST_INTERPRETED])
    monkeypatch.setattr(interpreted.time, "thread_time", lambda: next(clock))
    patience.run(kernel, (few, 7, np.empty(3)))
    assert patience.lasts((few, 7, few))
    patience.run(kernel, (few, 7, np.empty(3)))
    assert not patience.lasts((few, 7, few))


def test_what_is_broken_off_has_done_nothing():
    """Machine code is not interrupted: a function that Python runs must not be left in the middle either."""

    def kernel(numbers, sizes, out):
        for i in range(numbers.shape[0]):
            numbers[i] += 1
            sizes[0] += 1
            if i == 3:
                raise KeyboardInterrupt

    numbers, sizes = np.arange(10), np.zeros(1, np.int64)
    with pytest.raises(KeyboardInterrupt):
        Patience(kernel).run(kernel, (numbers, sizes, np.empty(10**6)))
    assert numbers.tolist() == list(range(10)) and sizes.tolist() == [0]


def test_numbers_that_are_none_and_those_beyond_all_say_nothing():
    """Warnings may be errors where a program runs, and machine code gives none."""
    infinite = np.array([[np.inf, -np.inf, 0.0], [1.8e308, 1e308, 0.0]]).view(np.int64)
    out, constants, columns = np.empty((2, 4), np.int64), np.empty(0, np.int64), np.array([0])
    with without_machine_code(), warnings.catch_warnings():
        warnings.simplefilter("error")
        join.append_float_sum(infinite, 0, 1, constants, False, columns, out)
    assert np.isnan(out.view(np.float64)[0, 1]) and np.isposinf(out.view(np.float64)[1, 1])


def test_strings_are_found_by_python_too():
    words = [b"", b"a", b"a" * 7, b"a" * 8, b"abcdefgh" * 4, b"abcdefgh" * 9 + b"xyz", "漢字🐙".encode()]
    with without_machine_code() as ran:
        texts = Texts()
        assert texts.add(TextColumn.of([*words, *words])).tolist() == [*range(7), *range(7)]
    assert set(ran) == {"find_texts", "add_texts"}
    assert texts.find(TextColumn.of(words[::-1])).tolist() == [6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("ending", ["any", None])
def test_what_ends_a_version_needs_no_memory_for_machine_code(ending, monkeypatch: pytest.MonkeyPatch):
    def double(numbers):
        for i in range(numbers.shape[0]):
            numbers[i] *= 2

    def refuse(self: Kernel):
        raise MemoryError

    monkeypatch.setattr(Kernel, "compile", refuse)
    kernel, numbers = Kernel(double, "void(int64[::1])", ending=ending), np.arange(SHORT + 1)
    if ending is None:
        with pytest.raises(MemoryError):
            kernel(numbers)
    else:
        kernel(numbers)
        assert numbers.tolist() == list(range(0, 2 * SHORT + 2, 2))


def test_endings_are_loaded_for_all_widths_from_many_rows_on(monkeypatch: pytest.MonkeyPatch):
    loads: list[tuple[set[str], set[int]]] = []
    kernels = [Kernel(test_little_to_do, "void()", ending=where) for where in ("any", "chains", None)]
    monkeypatch.setattr(compiled, "_kernels", kernels)
    monkeypatch.setattr(compiled, "_widths", {4})
    monkeypatch.setattr(compiled, "_large", set())
    monkeypatch.setattr(
        compiled, "load", lambda which, widths: loads.append(({k.ending for k in which}, set(widths)))
    )
    compiled.load_endings(SHORT, 4)
    assert loads == []
    compiled.load_endings(SHORT, 8)
    assert loads == [(set(), {4, 8})]
    compiled.load_endings(SHORT + 1, 4)
    compiled.load_endings(SHORT + 1, 8)
    assert loads[1:] == [({"any"}, {4, 8})]
    compiled.load_endings(SHORT + 1, 4, "chains")
    assert loads[2:] == [({"any", "chains"}, {4, 8})]


FIRST_TRY = """
import sys
import headwater
db = headwater.connect()
db.define('''
reach(X, Y) :- link(X, Y).
reach(X, Y) :- link(X, Z), reach(Z, Y).
degree(X, count<Y>) :- reach(X, Y).
''')
db.apply(insert={'link': [(1, 2), (2, 3), (3, 1), (3, 4)]})
db.apply(delete={'link': [(3, 1)]})
print(sorted(db['reach'].rows()), sorted(db['degree'].rows()), 'numba' in sys.modules)
"""


def test_a_first_try_compiles_nothing(tmp_path: Path):
    """A few rows, on a machine where nothing was ever compiled."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_TRY],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(headwater.__file__).parent.parent),
            "HEADWATER_CACHE": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    expected = "[(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)] [(1, 3), (2, 2), (3, 1)] False"
    assert done.stdout.strip() == expected and done.stderr == ""
