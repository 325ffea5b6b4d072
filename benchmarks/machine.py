"""The machine and the versions that a report was measured with."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import Machine
from headwater import __version__


def machine(load_before: float) -> Machine:
    """This machine, with the load as it was before and is now."""
    return Machine(_cpu(), cores(), _memory(), platform.platform(), (load_before, load()))


def load() -> float:
    """How many processes want a core, over the last minute; 0 where the system does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions() -> dict[str, str]:
    """The versions of everything that has a part in the figures."""
    found = {"headwater": __version__, "python": platform.python_version()}
    for name in ("numpy", "numba", "pyarrow", "duckdb", "nemo-python", "pathway"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def resident_bytes() -> int:
    """The memory that this process holds now; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


class MemoryGrowth(NamedTuple):
    """By how many bytes a process has grown: what it holds in the end, and what it held at most on the way; 0 where
    the system does not tell."""

    held: int
    most: int


def growth_while(work: Callable[[], object]) -> MemoryGrowth:
    """By how much this process grows while it does some work; what that gives is kept until it is known."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the most is counted from here on
    before = resident_bytes()
    kept = work()
    held = resident_bytes()
    grown = MemoryGrowth(max(0, held - before), max(0, max(_most_resident(), held) - before))
    del kept
    return grown


def _most_resident() -> int:
    """The most memory that this process has held since somebody began to count; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")]
    return found[0] if found else 0


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0
