"""Machine code for the kernel: numba functions compiled once per machine and kernel version.

numba's own disk cache looks only at the file of a function, not at what the function calls, so an edit in a
called module would go unnoticed. Compiled code therefore lives in a folder named after a hash of all kernel
sources, under `HEADWATER_CACHE` or the user's cache folder.

Importing the kernel loads neither numba nor machine code: whoever only reads rows needs none of it. `load` gets all
functions at once; calling one of them does so too. Writers and nodes call it before they change anything, so that
nothing compiles in the middle of a change.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache, update_wrapper
from pathlib import Path
from typing import Any

Function = Callable[..., Any]


@cache
def cache_folder() -> Path:
    """The folder of this kernel version's machine code; a temporary one where no folder can be written."""
    import numba

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


class Kernel:
    """A function that stands for its machine code until that is loaded, and then gives way to it in all modules."""

    def __init__(self, function: Function, signature: str | None):
        self.function = function
        self.signature = signature
        self.machine_code: Function | None = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        load()
        assert self.machine_code is not None
        return self.machine_code(*arguments)

    def compile(self) -> Function:
        """The machine code, from the cache if it is there.

        Kernels never allocate: they write into arrays they are given. So numba's reference counting is off, which
        makes them about five times as fast where small functions over arrays are called for every row.
        """
        import numba

        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}
        if self.signature is None:
            inlined: Function = numba.njit(**options, forceinline=True)(self.function)
            return inlined
        _announce()
        config: Any = numba.config
        before = config.CACHE_DIR
        config.CACHE_DIR = str(cache_folder())
        try:
            called: Function = numba.njit(self.signature, **options, cache=True)(self.function)
            return called
        finally:
            config.CACHE_DIR = before

    def give_way(self, machine_code: Function) -> None:
        """Let every module of the kernel that has this function have its machine code instead."""
        self.machine_code = machine_code
        for name, module in list(sys.modules.items()):
            if name.startswith(PACKAGE):
                names = [known for known, value in vars(module).items() if value is self]
                vars(module).update(dict.fromkeys(names, machine_code))


PACKAGE = __name__.removesuffix("compiled")
_waiting: list[Kernel] = []
"""Functions that have not been loaded, those that others call before the others."""
_loading = threading.Lock()


def compiled(signature: str | None = None) -> Callable[[Function], Function]:
    """A function to be compiled with the given signature; without one, it is inlined into compiled functions."""

    def decorate(function: Function) -> Function:
        kernel = Kernel(function, signature)
        _waiting.append(kernel)
        return kernel

    return decorate


def load() -> None:
    """Load the machine code of all functions, compiling what was never compiled on this machine."""
    if _waiting:
        with _loading:
            while _waiting:
                _waiting[0].give_way(_waiting[0].compile())
                del _waiting[0]
