"""Machine code for the kernel: numba functions compiled once per machine and kernel version.

numba's own disk cache looks only at the file of a function, not at what the function calls, so an edit in a
called module would go unnoticed. Compiled code therefore lives in a folder named after a hash of all kernel
sources, under `HEADWATER_CACHE` or the user's cache folder. A function is compiled when its module is
imported, because its signature is given: nothing compiles in the middle of a change.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

Function = Callable[..., Any]


@cache
def cache_folder() -> Path:
    """The folder of this kernel version's machine code; a temporary one where no folder can be written."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    digest.update(numba.__version__.encode())
    root = (
        os.environ.get("HEADWATER_CACHE") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    )
    folder = Path(root) / "headwater" / f"kernel-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="headwater-kernel-"))
    return folder


@cache
def _announce() -> None:
    if not any(cache_folder().rglob("*.nbi")):
        print("headwater: compiling the kernel for this machine (once, about half a minute)", file=sys.stderr)


def compiled(signature: str | None = None) -> Callable[[Function], Function]:
    """Compile a function with the given signature; without one, it is inlined into compiled functions.

    Kernels never allocate: they write into arrays they are given. So numba's reference counting is off, which
    makes them about five times as fast where small functions over arrays are called for every row.
    """

    def decorate(function: Function) -> Function:
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}
        if signature is None:
            inlined: Function = numba.njit(**options, forceinline=True)(function)
            return inlined
        _announce()
        config: Any = numba.config
        before = config.CACHE_DIR
        config.CACHE_DIR = str(cache_folder())
        try:
            kernel: Function = numba.njit(signature, **options, cache=True)(function)
            return kernel
        finally:
            config.CACHE_DIR = before

    return decorate
