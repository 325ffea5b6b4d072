"""The user's cache folder: for what can be made again and takes time to make."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where such things are kept; nobody promises that it is there, or can be written.

    >>> str(cache_folder({"HEADWATER_CACHE": "/tmp/mine", "HOME": "/home/me"}))
    '/tmp/mine/headwater'
    >>> str(cache_folder({"HOME": "/home/me"}))
    '/home/me/.cache/headwater'
    """
    environment = os.environ if environment is None else environment
    root = environment.get("HEADWATER_CACHE") or environment.get("XDG_CACHE_HOME")
    return (Path(root) if root else _home(environment) / ".cache") / "headwater"


def _home(environment: Mapping[str, str]) -> Path:
    try:
        return Path(environment.get("HOME") or Path.home())
    except RuntimeError:  # a user whom the system does not know: nothing can be kept
        return Path(os.devnull)


def write_whole(path: Path, contents: bytes, *, mode: int = 0o644) -> None:
    """Write a file that others may be reading or writing: they see all of it or none. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}-{os.getpid()}")
    unfinished.write_bytes(contents)
    unfinished.chmod(mode)
    unfinished.replace(path)
