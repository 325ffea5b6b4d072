"""What the system lets this process have: in all, and now.

The least of several bounds counts: the machine's memory, the limits of the control groups that the process is
in and of all groups around them (versions 1 and 2), and the process's own limits (`ulimit -v`, `ulimit -d`). Of
these last, what the process has already is taken off: libraries take addresses too. A bound that cannot be read is
none.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
UNBOUNDED = 1 << 62
"""More than any machine has: what stands for no bound at all."""
LONGEST_FILE = 1 << 16
"""How much is read of a file of the system; each is a page or two."""


@dataclass(frozen=True)
class GroupFiles:
    """The files of a control group that tell its limit, its use, and how much of that is only a cache."""

    limit: str
    use: str
    cache: str


VERSION_1 = GroupFiles("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
VERSION_2 = GroupFiles("memory.max", "memory.current", "inactive_file")


def total_memory(root: Path = ROOT) -> int:
    """The bytes that this process may have in all, however much of the machine is in use."""
    bounds = [_physical(), *_left_to_process(root)]
    for folder, files in _groups(root):
        bounds.append(_number(folder + files.limit))
    return min(bounds)


def available_memory(root: Path = ROOT) -> int:
    """The bytes that this process can still get now; asking for more ends in a refusal, or in being killed."""
    bounds = [_left_on_machine(root), *_left_to_process(root)]
    for folder, files in _groups(root):
        limit = _number(folder + files.limit)
        if limit < UNBOUNDED:
            in_use = _number(folder + files.use, 0) - _field(folder + "memory.stat", files.cache, 0)
            bounds.append(limit - in_use)
    return max(0, min(bounds))


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return UNBOUNDED


def _left_to_process(root: Path) -> Iterator[int]:
    """What is left of the process's own limits: of addresses, and of data."""
    for kind, field in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        limit = resource.getrlimit(kind)[0]
        if limit == resource.RLIM_INFINITY:
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = int(_text(f"{root}/proc/self/statm").split()[field])
            yield max(0, limit - pages * os.sysconf("SC_PAGE_SIZE"))


def _left_on_machine(root: Path) -> int:
    """Free memory, what the system would give up for us, and free swap."""
    file = f"{root}/proc/meminfo"
    left = _field(file, "MemAvailable:", UNBOUNDED)
    return left if left >= UNBOUNDED else 1024 * (left + _field(file, "SwapFree:", 0))


def _groups(root: Path) -> Iterator[tuple[str, GroupFiles]]:
    """The folders of the control groups around this process that may limit memory.

    In a container the path that the system tells may not be there; what is mounted at the top is its own group.
    """
    try:
        lines = _text(f"{root}/proc/self/cgroup").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if "memory" in controllers.split(","):
            mounts, files = ["sys/fs/cgroup/memory"], VERSION_1
        elif controllers == "":
            mounts, files = ["sys/fs/cgroup", "sys/fs/cgroup/unified"], VERSION_2
        else:
            continue
        names = [name for name in path.split("/") if name]
        for mount in mounts:
            for depth in range(len(names), -1, -1):
                yield "/".join((str(root), mount, *names[:depth], "")), files


def _text(file: str) -> str:
    """What a file holds. (Every database that is opened reads several: files of `io` cost five times as much.)"""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return os.read(descriptor, LONGEST_FILE).decode()
    finally:
        os.close(descriptor)


def _number(file: str, otherwise: int = UNBOUNDED) -> int:
    """The number a file holds; `max` is no bound."""
    try:
        return min(int(_text(file)), UNBOUNDED)
    except (OSError, ValueError):
        return otherwise


def _field(file: str, name: str, otherwise: int) -> int:
    """The number after a name, in a file of names and numbers."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in _text(file).splitlines():
            if line.startswith(name) and line.split()[0] == name:
                return int(line.split()[1])
    return otherwise
