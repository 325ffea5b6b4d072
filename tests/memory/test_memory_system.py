"""What the system lets a process have: the least bound of machine, control groups and process."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.calls import public_class
from headwater.errors import DataError, HeadwaterError, OutOfMemory
from headwater.memory.budget import MemoryBudget, memory_budget
from headwater.memory.sizes import size_in_bytes
from headwater.memory.system import available_memory, total_memory

MACHINE = total_memory(Path("/nowhere"))
"""What the machine itself has: nothing else can be read there."""
GB = 10**9


def written(root: Path, **files: str) -> Path:
    """A file system with these files; `__` stands for a slash."""
    for name, text in files.items():
        file = root / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def group(root: Path, mount: str, path: str, **files: str) -> Path:
    folder = root / "sys/fs/cgroup" / mount / path
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("memory_", "memory.", 1)).write_text(text)
    return root


def test_a_machine_without_limits(tmp_path: Path):
    assert total_memory(tmp_path) == MACHINE
    written(tmp_path, proc__meminfo="MemTotal: 99 kB\nMemAvailable:   100 kB\nSwapFree:   11 kB\n")
    assert available_memory(tmp_path) == 111 * 1024


def test_a_group_of_version_2(tmp_path: Path):
    written(tmp_path, proc__self__cgroup="0::/a/b\n")
    group(tmp_path, "", "a/b", memory_max="max\n", memory_current="7000000\n")
    assert total_memory(tmp_path) == MACHINE
    group(tmp_path, "", "a", memory_max=f"{GB}\n", memory_current=f"{GB // 2}\n")
    assert total_memory(tmp_path) == GB, "a group around it has the limit"
    assert available_memory(tmp_path) == GB // 2
    group(tmp_path, "", "a", memory_stat=f"anon 5\ninactive_file {GB // 4}\n")
    assert available_memory(tmp_path) == GB // 2 + GB // 4, "a cache gives way"


def test_a_group_of_version_1(tmp_path: Path):
    written(tmp_path, proc__self__cgroup="5:cpu,cpuacct:/x\n4:memory:/x/y\n0::/\n")
    group(tmp_path, "memory", "", memory_limit_in_bytes="9223372036854771712\n")
    assert total_memory(tmp_path) == MACHINE
    group(tmp_path, "memory", "x/y", memory_limit_in_bytes=f"{GB}\n", memory_usage_in_bytes="1000\n")
    assert total_memory(tmp_path) == GB
    assert available_memory(tmp_path) == GB - 1000


def test_a_container_sees_its_own_group_at_the_top(tmp_path: Path):
    written(tmp_path, proc__self__cgroup="0::/../kubepods/pod7\n")
    group(tmp_path, "", "", memory_max=f"{GB}\n", memory_current="0\n")
    assert total_memory(tmp_path) == GB


@pytest.mark.parametrize("text", ["", "nonsense\n", "::\n", "0::\n", "4:memory\n"])
def test_what_cannot_be_read_is_no_bound(tmp_path: Path, text: str):
    written(tmp_path, proc__self__cgroup=text, proc__meminfo="?")
    assert total_memory(tmp_path) == MACHINE


# ------------------------------------------------------------------ sizes


@pytest.mark.parametrize(
    ("size", "bytes_"),
    [
        (1, 1), ("1", 1), ("2 kB", 2000), ("2KiB", 2048), ("1.5 GB", 1_500_000_000), ("1g", GB), ("1 TiB", 1 << 40),
        ("10%", 100), ("100 %", 1000),
    ],
)  # fmt: skip
def test_sizes(size: object, bytes_: int):
    assert size_in_bytes(size, of=1000) == bytes_


@pytest.mark.parametrize(
    "size", [0, -1, True, 1.5, "", "GB", "8 XB", "-1 GB", "101%", "0%", "1e9", "8 iB", b"8", [8], "9" * 400]
)
def test_sizes_that_are_none(size: object):
    with pytest.raises(DataError) as caught:
        size_in_bytes(size, of=1000)
    assert caught.value.code == "unknown-option" and caught.value.hint


def test_nodes_on_one_machine_share_it():
    alone, shared = (memory_budget("80%", lambda: None, share) for share in (1, 4))
    assert abs(shared.limit - alone.limit // 4) <= 4
    assert memory_budget("8 GB", lambda: None, 4).limit == 8 * GB


# ------------------------------------------------------------------ asking


class Held:
    def __init__(self, nbytes: int):
        self.nbytes = nbytes


def test_what_is_held_counts_until_it_is_gone():
    budget = MemoryBudget(1000)
    held = Held(900)
    budget.keep(held)
    budget.ask(100, "a little")
    with pytest.raises(OutOfMemory) as caught:
        budget.ask(101, "a matrix")
    assert "a matrix would take 101 bytes" in caught.value.message and "1.0 kB" in caught.value.message
    assert (budget.use.used, budget.use.budget) == (900, 1000)
    del held
    budget.ask(1000, "a matrix")


def test_memory_is_given_back_before_it_is_refused():
    released = []
    budget = MemoryBudget(1 << 61, lambda: released.append(1))
    with pytest.raises(OutOfMemory, match="the system has"):
        budget.ask(1 << 60, "everything")
    assert released == [1]


# ------------------------------------------------------------------ foreign errors


@public_class
class Public:
    def fails(self, error: BaseException) -> None:
        raise error

    @property
    def shown(self) -> int:
        raise MemoryError

    def many(self):
        yield 1
        raise MemoryError("Unable to allocate 8 EiB")

    def _own(self) -> None:
        raise MemoryError


class Further(Public):
    pass


def test_allocators_errors_become_ours():
    public = Public()
    zstd = OSError("ZSTD compression failed: Allocation error : not enough memory")
    no_addresses = OSError(12, "Cannot allocate memory")
    for error in (MemoryError(), MemoryError("Unable to allocate 8 EiB"), no_addresses, zstd):
        with pytest.raises(OutOfMemory, match="during fails") as caught:
            public.fails(error)
        assert isinstance(caught.value, HeadwaterError) and caught.value.__cause__ is error
    with pytest.raises(OutOfMemory, match="during shown"):
        _ = Further().shown
    found = Further().many()
    assert next(found) == 1
    with pytest.raises(OutOfMemory, match="8 EiB"):
        next(found)


def test_other_errors_stay():
    public = Public()
    for error in (OSError(2, "no such file"), ValueError(), OutOfMemory("out-of-memory", "ours")):
        with pytest.raises(type(error)) as caught:
            public.fails(error)
        assert caught.value is error
