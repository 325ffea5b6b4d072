"""Machine code: kept by what it was made from, and loaded when it is first used."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

import headwater
from headwater.kernel import machine_code
from headwater.kernel.machine_code import digest_of

CALLED = """
FACTOR = {factor}
def below(x):
    return x {below}
"""
TEXT = """
def above(x):
    {document}
    return below(x) * FACTOR + {more}
"""


def made(
    *, factor: int = 3, below: str = "+ 1", more: int = 5, document: str = "pass", before: str = ""
) -> Callable[..., Any]:
    """A function that calls another and reads a constant."""
    space: dict[str, Any] = {}
    text = before + CALLED.format(factor=factor, below=below) + TEXT.format(document=document, more=more)
    exec(text, space)  # noqa: S102
    function: Callable[..., Any] = space["above"]
    return function


def digest(function: Callable[..., Any], signature: str = "int64(int64)") -> str:
    return digest_of(function, signature, lambda value: value if callable(value) else None)


def test_a_digest_is_of_all_that_matters_and_of_nothing_else():
    known = digest(made())
    assert digest(made()) == known
    assert digest(made(before="# further down\n\n\n")) == known
    assert digest(made(document="'what it does'")) == digest(made(document="'in other words'"))
    others = [made(factor=4), made(below="- 1"), made(more=6)]
    assert len({known, *map(digest, others), digest(made(), "int64(int32)")}) == 5


USE = """
import sys
import numpy as np
from headwater.kernel import compiled, rowops
from headwater.kernel.compiled import Kernel
print("numba" in sys.modules)
state = np.full(1000, 255, np.uint8)
rowops.clear_bits(np.arange(0, 1000, 2, dtype=np.int32), state, np.uint8(0xF7))
print(state[:3].tolist(), isinstance(rowops.clear_bits, Kernel), isinstance(rowops.add, Kernel))
print(sum(rowops.clear_bits.stats.cache_misses.values()))
"""


def used(package: Path, cache: Path) -> tuple[list[str], str]:
    """What another process says that settles rows with the package in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", USE],
        env={**os.environ, "PYTHONPATH": str(package), "HEADWATER_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.splitlines(), done.stderr


def test_a_function_is_compiled_once_wherever_the_package_is(tmp_path: Path):
    """The first call compiles the function and no other; an upgrade that did not change it takes what is there."""
    package = Path(headwater.__file__).parent
    said, told = used(package.parent, tmp_path / "cache")
    assert said == ["False", "[247, 255, 247] False True", "1"] and "compiling" in told
    kept = sorted((tmp_path / "cache").rglob("*.nbc"))
    assert [path.name.partition("-")[0] for path in kept] == ["rowops.clear_bits"]
    shutil.copytree(package, tmp_path / "upgrade" / "headwater", ignore=shutil.ignore_patterns("__pycache__"))
    source = tmp_path / "upgrade" / "headwater" / "kernel" / "rowops.py"
    source.write_text(source.read_text().replace('"""Clear all bits', '"""\nClear every bit'))
    said, told = used(tmp_path / "upgrade", tmp_path / "cache")
    assert said == ["False", "[247, 255, 247] False True", "0"] and told == ""
    assert sorted((tmp_path / "cache").rglob("*.nbc")) == kept


def misses(folder: Path, monkeypatch: pytest.MonkeyPatch, *signatures: str) -> int:
    """How often a function has to be compiled with the cache in a folder."""
    monkeypatch.setattr(machine_code, "machine_code_folder", lambda: folder)
    function = made()
    called: Any = numba.njit(lambda x: x * 3)
    signatures = signatures or ("int64(int64)",)
    digests = {signature: f"digest{number}" for number, signature in enumerate(signatures)}
    called._cache = machine_code.KeptFunction(function, digests)
    for signature in signatures:
        called.compile(signature)
    assert called(5) == 15
    return sum(called.stats.cache_misses.values())


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [0, 10, 200])
def test_what_is_damaged_is_compiled_again(
    ending: str, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Files that were cut short: the index, or what it leads to."""
    assert [misses(tmp_path, monkeypatch) for _ in range(2)] == [1, 0]
    (damaged,) = tmp_path.glob(f"*.{ending}")
    damaged.write_bytes(damaged.read_bytes()[:left])
    assert [misses(tmp_path, monkeypatch) for _ in range(2)] == [1, 0]


def test_machine_code_for_other_arguments_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    both = ("int32(int32)", "int64(int64)")
    assert [misses(tmp_path, monkeypatch, *both) for _ in range(2)] == [2, 0]
    first, second = sorted(tmp_path.glob("*.nbc"))
    first.write_bytes(second.read_bytes())
    assert [misses(tmp_path, monkeypatch, *both) for _ in range(2)] == [1, 0]


def test_what_cannot_be_kept_is_used_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As where a disk is full."""
    folder = tmp_path / "folder"
    folder.mkdir()

    def refuse(path: str, *_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    monkeypatch.setattr("numba.core.caching.open", refuse, raising=False)
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._load_index", lambda _: {})
    assert [misses(folder, monkeypatch) for _ in range(2)] == [1, 1]
    assert not list(folder.iterdir())


def test_without_a_home_there_is_a_folder(monkeypatch: pytest.MonkeyPatch):
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("HEADWATER_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine_code.Path, "home", homeless)
    assert machine_code.kept_folder.__wrapped__() is None
    monkeypatch.setattr(machine_code, "kept_folder", lambda: None)
    folder = machine_code.machine_code_folder.__wrapped__()
    assert folder.is_dir()
    folder.rmdir()
